//! What a server's log must not say, whatever the test was about.

/// The lines that speak of a stalled shard, a panic, or an error that nobody expected.
pub fn complaints(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| is_complaint(line)).collect()
}

fn is_complaint(line: &str) -> bool {
    line.contains("panicked") || (line.contains(" WARN ") && line.contains("stall")) || line.contains(" ERROR ")
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
        assert_eq!(complaints(&lines).len(), 3);
    }
}
