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
