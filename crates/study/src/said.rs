//! The output of a program, as it is kept and shown: bounded, without what a terminal would obey, and the line of it that says what was wrong.

/// The most bytes that are kept of its beginning, where most programs say what was wrong, and of its end, where others do.
const BEGINNING_BYTES_MAX: usize = 3_000;
const END_BYTES_MAX: usize = 3_000;
/// Stands for the middle that is left out.
const LEFT_OUT: &str = "\n[…]\n";

/// The text as it is kept. None: there is none but white space.
pub(crate) fn kept(printed: &[u8]) -> Option<String> {
    let text = plain(&String::from_utf8_lossy(printed));
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return None;
    }
    if text.len() <= BEGINNING_BYTES_MAX + END_BYTES_MAX {
        return Some(text.to_owned());
    }
    let (beginning, end) = (floor(text, BEGINNING_BYTES_MAX), ceil(text, text.len() - END_BYTES_MAX));
    Some([&text[..beginning], LEFT_OUT, &text[end..]].concat())
}

/// The line that says what was wrong: the first that calls itself an error; else the last before a help that follows; else the last.
pub(crate) fn message(text: &str) -> &str {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_advice(line));
    let is_help = |line: &&str| line.to_lowercase().starts_with("usage:");
    let before_help = || lines().take_while(|line| !is_help(line)).last();
    lines().find(|line| is_error(line)).or_else(before_help).or_else(|| lines().next_back()).unwrap_or_default()
}

/// `error: …` and `error[E1]: …`, also after a name or a status (`exit status: 2: error: …`); `java.io.IOException: …` and `Exception in thread …`.
fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    ["error:", "error[", "exception in thread"].iter().any(|start| lower.starts_with(start))
        || lower.contains(": error: ")
        || line.split(' ').any(|word| word.ends_with("Exception:") || (word.contains('.') && word.ends_with("Error:")))
}

/// Advice of Rust's runtime after a panic's message.
fn is_advice(line: &str) -> bool {
    line.starts_with("note: run with `RUST_BACKTRACE")
}

/// The text without control characters and a terminal's sequences. Of a line that was written over, what stood there at last.
fn plain(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let line = line.trim_end_matches('\r');
            let shown = line.rsplit_once('\r').map_or(line, |(_, last)| last);
            without_sequences(shown).chars().filter(|letter| !letter.is_control() || *letter == '\t').collect()
        })
        .collect();
    lines.join("\n")
}

/// The line without `ESC [ … letter`.
fn without_sequences(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| ('@'..='~').contains(&letter)).map_or(part.len(), |end| end + 1);
        out.push_str(&part[end..]);
    }
    out
}

/// The last place between letters at or before that one.
fn floor(text: &str, place: usize) -> usize {
    (0..=place).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// The first place between letters at or after that one.
fn ceil(text: &str, place: usize) -> usize {
    (place..text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_what_was_wrong_is_found() {
        for (text, expected) in [
            (
                "error: unexpected argument '--rwos' found\n\nUsage: x\n\nFor more information, try '--help'.",
                "error: unexpected argument '--rwos' found",
            ),
            ("exit status: 2: error: no such\n\nTry '--help'.", "exit status: 2: error: no such"),
            ("starting\nhelenus: cannot connect to 127.0.0.1:1\n", "helenus: cannot connect to 127.0.0.1:1"),
            ("sh: 1: helenu: not found", "sh: 1: helenu: not found"),
            ("java.io.IOException: Broken\n\tat a.B.c(B.java:1)\n\tat d", "java.io.IOException: Broken"),
            (
                "thread 'main' panicked at a.rs:1:2:\nit is odd\nnote: run with `RUST_BACKTRACE=1` environment variable",
                "it is odd",
            ),
            ("errors: 0\nno error at all\nit ended", "it ended"),
            ("Invalid command: wirte\n\nUsage: stress <command>\n\n  read\n  write", "Invalid command: wirte"),
            ("usage: s [-h]\ns: error: unrecognized arguments: -x", "s: error: unrecognized arguments: -x"),
            ("", ""),
        ] {
            assert_eq!(message(text), expected);
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_plain() {
        assert_eq!(kept(b" \n\t\n"), None);
        assert_eq!(kept(b"1 %\r2 %\r\x1b[1;31mred\x1b[0m\r\n\x07b\xff\n").as_deref(), Some("red\nb\u{fffd}"));
        let long = format!("first{}last", "é".repeat(10_000));
        let kept = kept(long.as_bytes()).unwrap();
        assert!(kept.starts_with("firsté") && kept.ends_with("élast") && kept.contains("[…]"), "{kept}");
        assert!(kept.len() <= BEGINNING_BYTES_MAX + END_BYTES_MAX + LEFT_OUT.len());
    }
}
