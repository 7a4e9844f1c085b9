//! Medians of the rounds, and their table.

use std::collections::BTreeMap;
use std::fmt;

use super::load::{Measurement, Workload};
use super::subject::Subject;

/// The medians of each figure.
pub struct Results {
    medians: BTreeMap<(Workload, Subject), Measurement>,
}

impl Results {
    /// Of all rounds' samples.
    pub fn of(samples: BTreeMap<(Workload, Subject), Vec<Measurement>>) -> Results {
        Results { medians: samples.into_iter().map(|(key, samples)| (key, median(&samples))).collect() }
    }

    /// The medians of a server under a load, if it was measured.
    pub fn median(&self, workload: Workload, subject: Subject) -> Option<Measurement> {
        self.medians.get(&(workload, subject)).copied()
    }
}

/// The median of each figure.
pub fn median(samples: &[Measurement]) -> Measurement {
    let of = |figure: fn(&Measurement) -> f64| {
        let mut figures: Vec<f64> = samples.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Measurement {
        per_second: of(|sample| sample.per_second),
        server_micros: of(|sample| sample.server_micros),
        generator_micros: of(|sample| sample.generator_micros),
        p50: of(|sample| sample.p50),
        p99: of(|sample| sample.p99),
        p999: of(|sample| sample.p999),
    }
}

impl fmt::Display for Results {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "| load | server | ops/s | server µs/op | above echo | generator µs/op | p50 µs | p99 µs | p99.9 µs |\n\
             |---|---|---|---|---|---|---|---|---|"
        )?;
        for (&(workload, subject), median) in &self.medians {
            let echo = self
                .median(workload, Subject::Echo)
                .map_or("–".into(), |echo| format!("{:+.2}", median.server_micros - echo.server_micros));
            writeln!(
                formatter,
                "| {} | {} | {:.0} | {:.2} | {echo} | {:.2} | {:.0} | {:.0} | {:.0} |",
                workload.name(),
                subject.name(),
                median.per_second,
                median.server_micros,
                median.generator_micros,
                median.p50,
                median.p99,
                median.p999
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_taken_figure_by_figure() {
        let sample = |per_second, server_micros| Measurement { per_second, server_micros, ..Measurement::default() };
        let samples = BTreeMap::from([(
            (Workload::Write, Subject::Echo),
            vec![sample(3.0, 1.0), sample(1.0, 9.0), sample(2.0, 5.0)],
        )]);
        let median = Results::of(samples).median(Workload::Write, Subject::Echo).expect("there");
        assert_eq!((median.per_second, median.server_micros), (2.0, 5.0));
    }
}
