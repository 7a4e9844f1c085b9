//! Prometheus' text format, version 0.0.4.

use std::fmt::Write;

/// What a metric's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rises from 0 at the start of the process.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts by upper bound, with their sum.
    Histogram,
}

/// A text in the making.
#[derive(Debug, Default)]
pub(super) struct Text {
    out: String,
}

impl Text {
    /// Begins a family: all its samples follow.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One sample.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.out.push_str(name);
        if !labels.is_empty() {
            self.out.push('{');
            for (index, (label, value)) in labels.iter().enumerate() {
                if index > 0 {
                    self.out.push(',');
                }
                let _ = write!(self.out, "{label}=\"");
                self.escaped(value);
                self.out.push('"');
            }
            self.out.push('}');
        }
        // Whole numbers are written as such: counters stay exact as long as they can be.
        let _ = writeln!(self.out, " {value}");
    }

    fn escaped(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '\\' => self.out.push_str("\\\\"),
                '"' => self.out.push_str("\\\""),
                '\n' => self.out.push_str("\\n"),
                other => self.out.push(other),
            }
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_under_their_family() {
        let mut text = Text::default();
        text.family("a_total", Kind::Counter, "What is counted.");
        text.sample("a_total", &[("shard", "0"), ("table", "a\"b\\c\nd")], 12345678901.0);
        text.sample("a_total", &[], 0.5);
        assert_eq!(
            text.finish(),
            "# HELP a_total What is counted.\n# TYPE a_total counter\n\
             a_total{shard=\"0\",table=\"a\\\"b\\\\c\\nd\"} 12345678901\na_total 0.5\n"
        );
    }
}
