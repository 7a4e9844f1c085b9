//! The report of cassandra-stress, which is for people: lines such as `Latency median : 0.7 ms [READ: 0.6 ms, WRITE: 0.9 ms]` behind
//! `Results:`. A load of one kind has that kind in brackets, too.

use std::collections::BTreeMap;

use super::Figures;

/// Its names of the percentiles, and ours.
const PERCENTILES: [(&str, &str); 4] = [
    ("Latency median", "p50"),
    ("Latency 95th percentile", "p95"),
    ("Latency 99th percentile", "p99"),
    ("Latency 99.9th percentile", "p99.9"),
];

/// What a report says. None: a figure is missing, or an operation failed.
pub(super) fn figures(text: &str) -> Option<Figures> {
    let (_, results) = text.rsplit_once("\nResults:")?;
    let value = |name: &str| {
        let line = results.lines().find(|line| line.split_once(':').is_some_and(|(head, _)| head.trim_end() == name));
        line.map(|line| line.split_once(':').map_or("", |(_, value)| value))
    };
    if number(value("Total errors")?)? > 0.0 {
        return None;
    }
    let mut latency_micros: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for (theirs, ours) in PERCENTILES {
        for (kind, millis) in by_kind(value(theirs)?)? {
            latency_micros.entry(kind).or_default().insert(ours.to_owned(), millis * 1000.0);
        }
    }
    let (operations, per_second) = (number(value("Total partitions")?)?, number(value("Op rate")?)?);
    Some(Figures {
        operations,
        // The report has whole seconds.
        seconds: operations / per_second,
        per_second,
        latency_micros,
        ..Figures::default()
    })
}

/// `1.5 ms [READ: 1.4 ms, WRITE: 1.7 ms]`: each kind's, in small letters. Commas within numbers have no space behind them.
fn by_kind(value: &str) -> Option<Vec<(String, f64)>> {
    let (_, kinds) = value.trim().strip_suffix(']')?.split_once('[')?;
    let pair = |text: &str| text.split_once(':').and_then(|(kind, value)| Some((kind.to_lowercase(), number(value)?)));
    kinds.split(", ").map(pair).collect()
}

/// The number that a text begins with: `39,412 op/s [WRITE: …`.
fn number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Metric;

    const REPORT: &str = "
total,      12000,   12000
Results:
Op rate                   :   12,345 op/s  [READ: 9,876 op/s, WRITE: 2,469 op/s]
Partition rate            :   12,345 pk/s  [READ: 9,876 pk/s, WRITE: 2,469 pk/s]
Row rate                  :   12,345 row/s [READ: 9,876 row/s, WRITE: 2,469 row/s]
Latency mean              :    1.5 ms [READ: 1.4 ms, WRITE: 1.7 ms]
Latency median            :    1.1 ms [READ: 1.0 ms, WRITE: 1.3 ms]
Latency 95th percentile   :    3.1 ms [READ: 3.0 ms, WRITE: 3.3 ms]
Latency 99th percentile   :    7.1 ms [READ: 7.0 ms, WRITE: 1,007.3 ms]
Latency 99.9th percentile :   20.1 ms [READ: 20.0 ms, WRITE: 1,020.3 ms]
Latency max               :   60.1 ms [READ: 60.0 ms, WRITE: 1,060.3 ms]
Total partitions          :     24,690 [READ: 19,752, WRITE: 4,938]
Total errors              :          0 [READ: 0, WRITE: 0]
Total GC count            : 0
Total GC memory           : 0.000 KiB
Total operation time      : 00:00:02

END
";

    #[test]
    fn the_report_is_read() {
        let figures = figures(REPORT).unwrap();
        assert_eq!((figures.operations, figures.per_second, figures.seconds), (24_690.0, 12_345.0, 2.0));
        assert_eq!(figures.latency_micros["read"]["p50"], 1000.0);
        assert_eq!(figures.metric(Metric::P99), Some(1_007_300.0), "the worst kind's");
    }

    #[test]
    fn what_failed_or_did_not_end_has_no_figures() {
        assert_eq!(figures(&REPORT.replace("Total errors              :          0", "Total errors : 3")), None);
        assert_eq!(figures(&REPORT[..REPORT.len() / 2]), None);
        assert_eq!(figures("Failed to connect over JMX; not collecting these stats"), None);
    }
}
