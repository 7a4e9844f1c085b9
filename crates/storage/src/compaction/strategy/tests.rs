//! What each strategy chooses, from readable cases in `testdata/*.txt`. `HELENUS_REWRITE=1` writes what is chosen now into them.
//!
//! ```text
//! case      what it shows
//! options   class=SizeTieredCompactionStrategy min_threshold=4
//! table     now=1000 grace=100 flush=10MiB expired
//! file      a 10MiB tokens=0..100 times=1..2 level=0 over=500 droppable=0.5 partitions=1000 written=0
//! chooses   a b c · cut never · level 0 · Size
//! ```
//!
//! Tokens are hundredths of the ring. `all` in the table's line asks for all that a request compacts.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::Path;

use super::*;

#[derive(Default)]
struct Case {
    lines: Vec<String>,
    options: BTreeMap<String, String>,
    table: TableFacts,
    is_request: bool,
    names: Vec<String>,
    files: Vec<FileDescription>,
}

fn bytes(text: &str) -> u64 {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().expect("a number of bytes");
    match &text[digits..] {
        "" => number,
        "KiB" => number << 10,
        "MiB" => number << 20,
        "GiB" => number << 30,
        unit => panic!("{unit} is no unit"),
    }
}

fn pair<T: std::str::FromStr>(text: &str) -> (T, T) {
    let (first, last) = text.split_once("..").expect("first..last");
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} is no number"));
    (number(first), number(last))
}

fn token(hundredth: i64) -> Token {
    let part = i128::from(hundredth) * (1i128 << 64) / 100 + i128::from(i64::MIN);
    Token(i64::try_from(part.min(i128::from(i64::MAX))).expect("within the ring"))
}

impl Case {
    fn table(&mut self, words: &str) {
        for word in words.split_whitespace() {
            match word.split_once('=') {
                Some(("now", value)) => self.table.now = value.parse().expect("a second"),
                Some(("grace", value)) => self.table.gc_grace_seconds = value.parse().expect("seconds"),
                Some(("flush", value)) => self.table.flush_bytes = bytes(value),
                Some(("most", value)) => self.table.inputs_max = value.parse().expect("a count"),
                Some(("last", value)) => {
                    self.table.compacted_up_to = vec![None, Some(token(value.parse().expect("a hundredth")))];
                }
                None if word == "expired" => self.table.checks_expired = true,
                None if word == "all" => self.is_request = true,
                _ => panic!("{word} says nothing of a table"),
            }
        }
    }

    fn file(&mut self, words: &str) {
        let mut words = words.split_whitespace();
        self.names.push(words.next().expect("a name").to_owned());
        let mut file = FileDescription {
            bytes: bytes(words.next().expect("its bytes")),
            tokens: (token(0), token(100)),
            partitions: 1000,
            timestamps: (0, self.files.len() as i64),
            local_deletion_time_max: None,
            droppable: 0.0,
            level: 0,
            written_at: 0,
        };
        for word in words {
            let (name, value) = word.split_once('=').expect("name=value");
            match name {
                "tokens" => {
                    let (first, last) = pair(value);
                    file.tokens = (token(first), token(last));
                }
                "times" => file.timestamps = pair(value),
                "level" => file.level = value.parse().expect("a level"),
                "over" => file.local_deletion_time_max = Some(value.parse().expect("a second")),
                "droppable" => file.droppable = value.parse().expect("a share"),
                "partitions" => file.partitions = value.parse().expect("a count"),
                "written" => file.written_at = value.parse().expect("a second"),
                _ => panic!("{name} says nothing of a file"),
            }
        }
        self.table.partitions += file.partitions;
        self.files.push(file);
    }

    fn outcome(&self) -> String {
        let options = CompactionOptions::of(&self.options);
        let task = match self.is_request {
            true => choose_all(&options, &self.files, &self.table),
            false => choose(&options, &self.files, &self.table),
        };
        let Some(task) = task else { return "nothing".to_owned() };
        let names = |files: &[usize]| files.iter().map(|file| &self.names[*file][..]).collect::<Vec<_>>().join(" ");
        let cut = match task.cut {
            Cut::Never => "never".to_owned(),
            Cut::AtBytes(bytes) => format!("at {} MiB", bytes >> 20),
            Cut::AtParts(parts) => format!("in {parts} parts"),
        };
        if task.inputs.is_empty() {
            return format!("expired {}", names(&task.expired));
        }
        assert!(task.expired.is_empty(), "what is expired goes by itself");
        assert!(task.inputs.is_sorted(), "inputs ascend");
        format!("{} · cut {cut} · level {} · {:?}", names(&task.inputs), task.level, task.why)
    }
}

/// Runs the cases of a file and gives the file with what was chosen.
fn run(text: &str) -> (String, Vec<String>) {
    let mut out = Vec::new();
    let mut failures = Vec::new();
    let mut case = Case { table: TableFacts { inputs_max: 64, ..TableFacts::default() }, ..Case::default() };
    for line in text.lines() {
        let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
        match word {
            "" | "#" => out.push(line.to_owned()),
            "case" => {
                case = Case { table: TableFacts { inputs_max: 64, ..TableFacts::default() }, ..Case::default() };
                case.lines.push(rest.to_owned());
                out.push(line.to_owned());
            }
            "options" => {
                let pairs = rest.split_whitespace().map(|word| word.split_once('=').expect("name=value"));
                case.options = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                out.push(line.to_owned());
            }
            "table" => {
                case.table(rest);
                out.push(line.to_owned());
            }
            "file" => {
                case.file(rest);
                out.push(line.to_owned());
            }
            "chooses" => {
                let outcome = case.outcome();
                if outcome != rest {
                    failures.push(format!("{}\n  expected {rest}\n  chosen   {outcome}", case.lines[0]));
                }
                out.push(format!("chooses   {outcome}"));
            }
            _ => panic!("{word} begins no line of a case"),
        }
    }
    (out.join("\n") + "\n", failures)
}

fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/compaction/strategy/testdata");
    let path = folder.join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).expect("the cases can be read");
    let (now, failures) = run(&text);
    if std::env::var_os("HELENUS_REWRITE").is_some() {
        std::fs::write(&path, now).expect("the cases can be written");
        return;
    }
    assert!(failures.is_empty(), "{}:\n{}", path.display(), failures.join("\n"));
}

#[test]
fn size_tiered_chooses_as_its_cases_say() {
    check("size_tiered");
}

#[test]
fn leveled_chooses_as_its_cases_say() {
    check("leveled");
}

#[test]
fn time_window_chooses_as_its_cases_say() {
    check("time_window");
}

#[test]
fn unified_chooses_as_its_cases_say() {
    check("unified");
}
