//! CQL text that tries the parser's patience.

use helenus_tests::Random;

/// A statement that is deep, long, or nearly right.
pub fn hostile(random: &mut Random) -> String {
    let depth = 1 << random.below(16);
    // What is long rather than deep is planned in one poll, and may take its time: this many take a few milliseconds.
    let width = depth.min(4096);
    match random.below(12) {
        0 => format!("SELECT {}a{} FROM hostile.t", "f(".repeat(depth), ")".repeat(depth)),
        1 => format!("INSERT INTO hostile.t (who, what) VALUES (1, {}1{})", "[".repeat(depth), "]".repeat(depth)),
        2 => format!("INSERT INTO hostile.t (who, what) VALUES (1, {}", "{".repeat(depth)),
        3 => format!(
            "CREATE TABLE hostile.deep (a int PRIMARY KEY, b {}int{})",
            "frozen<list<".repeat(depth),
            ">>".repeat(depth)
        ),
        4 => format!("SELECT * FROM hostile.t WHERE {}who = 1{}", "(".repeat(depth), ")".repeat(depth)),
        5 => format!("SELECT {} FROM hostile.t", vec!["what"; width].join(", ")),
        6 => format!("SELECT * FROM hostile.t WHERE who IN ({})", vec!["1"; width].join(", ")),
        7 => format!("INSERT INTO hostile.t (who, what) VALUES ({}, 'x')", "9".repeat(depth)),
        8 => format!("SELECT * FROM hostile.t WHERE who = {}1", "-".repeat(depth)),
        9 => format!("{}SELECT * FROM hostile.t", "/* ".repeat(depth)),
        10 => format!(
            "BEGIN BATCH {} APPLY BATCH",
            "INSERT INTO hostile.t (who, what) VALUES (1, 'x'); ".repeat(depth.min(512))
        ),
        _ => mutated(random),
    }
}

/// A good statement with some bytes replaced; what is not UTF-8 any more is mended, for broken UTF-8 comes with the mutated frames.
fn mutated(random: &mut Random) -> String {
    const GOOD: [&str; 6] = [
        "SELECT what, writetime(what) FROM hostile.t WHERE who = 1 AND token(who) > -5 LIMIT 10 ALLOW FILTERING",
        "INSERT INTO hostile.t (who, what) VALUES (1, 'it''s') USING TTL 5 AND TIMESTAMP 7",
        "UPDATE hostile.t USING TIMESTAMP 1 SET what = $$text$$ WHERE who = 1",
        "DELETE what FROM hostile.t WHERE who = 0x01",
        "CREATE TABLE IF NOT EXISTS hostile.t (\"Quoted\" uuid, b map<text, frozen<tuple<int, double>>>, PRIMARY KEY ((\"Quoted\"), b))",
        "SELECT * FROM system.local WHERE key = 'local'",
    ];
    let mut bytes = random.choose(&GOOD).as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] = random.next_u64().to_le_bytes()[0];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Statements that are far beyond what a server can want, each of a kind.
pub fn beyond_measure() -> Vec<(&'static str, String)> {
    const DEEP: usize = 10_000;
    // More than a statement may have.
    const LONG: usize = 17 << 20;
    const MANY: usize = 1_000_000;
    let insert = |what: &str| format!("INSERT INTO hostile.t (who, what) VALUES (1, {what})");
    let list = |item: &str, count: usize| vec![item; count].join(",");
    vec![
        ("calls in calls", format!("SELECT {}who{} FROM hostile.t", "token(".repeat(DEEP), ")".repeat(DEEP))),
        ("lists in lists", insert(&format!("{}1{}", "[".repeat(DEEP), "]".repeat(DEEP)))),
        ("lists in lists without an end", insert(&"[".repeat(DEEP))),
        ("maps in maps", insert(&format!("{}1{}", "{1:".repeat(DEEP), "}".repeat(DEEP)))),
        ("tuples in tuples", insert(&format!("{}1{}", "(".repeat(DEEP), ")".repeat(DEEP)))),
        ("casts of casts", insert(&format!("{}1", "(int)".repeat(DEEP)))),
        ("minus of minus", insert(&format!("{}1", "- ".repeat(DEEP)))),
        (
            "relations in parentheses",
            format!("SELECT * FROM hostile.t WHERE {}who = 1{}", "(".repeat(DEEP), ")".repeat(DEEP)),
        ),
        (
            "types in types",
            format!(
                "CREATE TABLE hostile.d (k int PRIMARY KEY, v {}int{})",
                "frozen<list<".repeat(DEEP),
                ">>".repeat(DEEP)
            ),
        ),
        (
            "vectors in vectors",
            format!(
                "CREATE TABLE hostile.d (k int PRIMARY KEY, v {}int{})",
                "vector<".repeat(DEEP),
                ", 2>".repeat(DEEP)
            ),
        ),
        ("a vector of many", "CREATE TABLE hostile.d (k int PRIMARY KEY, v vector<float, 2147483648>)".to_owned()),
        ("a batch in a batch", "BEGIN BATCH ".repeat(DEEP)),
        ("a long text", insert(&format!("'{}'", "x".repeat(LONG)))),
        ("a long text without an end", insert(&format!("'{}", "x".repeat(LONG)))),
        ("a long blob", insert(&format!("0x{}", "ab".repeat(LONG / 2)))),
        ("a long number", insert(&"9".repeat(LONG))),
        ("a number of a megabyte", format!("SELECT * FROM hostile.numbers WHERE k = {}", "9".repeat(1 << 20))),
        ("a long name", format!("SELECT \"{}\" FROM hostile.t", "n".repeat(LONG))),
        ("a long comment", format!("/*{}", "x".repeat(LONG))),
        ("a great exponent in a key", "SELECT * FROM hostile.numbers WHERE k = 1E99999999999".to_owned()),
        ("a great exponent as a varint", "UPDATE hostile.numbers SET v = 1E5000000 WHERE k = 1".to_owned()),
        ("many digits behind the point", format!("SELECT * FROM hostile.numbers WHERE k = 0.{}1", "0".repeat(MANY))),
        ("many values", format!("SELECT * FROM hostile.t WHERE who IN ({})", list("1", MANY))),
        ("many values within the length", format!("SELECT * FROM hostile.t WHERE who IN ({})", list("1", 900_000))),
        ("many markers", format!("SELECT * FROM hostile.t WHERE who IN ({})", list("?", 900_000))),
        ("many columns", format!("SELECT {} FROM hostile.t", list("what", 400_000))),
        (
            "many columns of a table",
            format!(
                "CREATE TABLE hostile.wide (k int PRIMARY KEY, {})",
                (0..120_000).map(|n| format!("c{n} int")).collect::<Vec<_>>().join(",")
            ),
        ),
        (
            "many statements",
            format!("BEGIN BATCH {} APPLY BATCH", "INSERT INTO hostile.t (who, what) VALUES (1, 'x'); ".repeat(70_000)),
        ),
        ("many elements", insert(&format!("[{}]", list("1", 900_000)))),
        (
            "many relations",
            format!("SELECT * FROM hostile.t WHERE who = 1{} ALLOW FILTERING", " AND who = 1".repeat(150_000)),
        ),
        (
            "many options",
            format!("CREATE TABLE hostile.o (k int PRIMARY KEY) WITH {}", vec!["comment = 'x'"; 100_000].join(" AND ")),
        ),
    ]
}
