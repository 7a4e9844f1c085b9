//! What a server's log must not say, whatever the test was about.

use std::io::Write;

/// Whether a stall is held against the server: not where `HELENUS_STALLS=allowed` says that it is of a build that is not optimised.
pub fn stalls_count() -> bool {
    std::env::var("HELENUS_STALLS").as_deref() != Ok("allowed")
}

/// Hands stalls over to whoever runs the suite, if it asked for them by `HELENUS_STALLS_TO`: it decides then. Each line has the server's
/// configuration before it. False: they are to be judged here.
pub fn hand_over_stalls(lines: &[String], configuration: &str) -> bool {
    let Some(path) = std::env::var_os("HELENUS_STALLS_TO") else { return false };
    let stalls: String =
        lines.iter().filter(|line| is_stall(line)).map(|line| format!("{configuration} {line}\n")).collect();
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(stalls.as_bytes()));
    written.unwrap_or_else(|error| panic!("stalls cannot be handed over in {}: {error}", path.display()));
    true
}

/// The lines that speak of a panic or of an error that nobody expected, and of a stalled shard if stalls count.
pub fn complaints(lines: &[String], stalls_count: bool) -> Vec<&String> {
    lines.iter().filter(|line| is_failure(line) || (stalls_count && is_stall(line))).collect()
}

fn is_failure(line: &str) -> bool {
    line.contains("panicked") || line.contains(" ERROR ")
}

fn is_stall(line: &str) -> bool {
    line.contains(" WARN ") && line.contains("stall")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_panics_and_errors_are_found() {
        let lines = [
            "2026-01-01T00:00:00Z  INFO ready native=127.0.0.1:9042",
            "2026-01-01T00:00:00Z  WARN a stalled poll held the shard for 7 ms shard=0",
            "thread 'shard-0' panicked at src/x.rs:1:1:",
            "2026-01-01T00:00:00Z ERROR the disk failed",
            "2026-01-01T00:00:00Z  WARN accepted without effect",
        ]
        .map(String::from);
        assert_eq!(complaints(&lines, true).len(), 3);
        assert_eq!(complaints(&lines, false).len(), 2);
    }
}
