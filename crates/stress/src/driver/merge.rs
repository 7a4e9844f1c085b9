//! `helenus stress merge`: what several processes measured at one time, as if it had been one.
//!
//! It reads the logs of histograms that `-log hdrfile=` writes, HdrHistogram's format with cassandra-stress's tags, so also those of
//! cassandra-stress itself. Times of different logs are laid beside each other by the time of day, which the processes' hosts must have in common.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::{Value, json};

use super::output::create;
use super::progress::{Stretch, quantile_ms};
use super::recorder::{Measures, Time};
use super::report;
use super::statistics::{Lines, times_of};
use crate::StressError;

/// A histogram of a log.
struct Piece {
    kind: String,
    time: Time,
    /// Since 1970.
    begin: Duration,
    length: Duration,
    histogram: Histogram<u64>,
}

/// What a process measured.
struct Log {
    path: PathBuf,
    begin: Duration,
    end: Duration,
    pieces: Vec<Piece>,
}

impl Log {
    /// Whether its operations were due at a time.
    fn is_scheduled(&self) -> bool {
        self.pieces.iter().any(|piece| piece.time == Time::Response)
    }

    fn read(path: &Path) -> Result<Log, StressError> {
        let wrong = |reason: String| StressError::Merge { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let (mut start, mut base) = (None, None);
        let mut pieces = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with('#') {
                start = time_of(line, "#[StartTime: ").or(start);
                base = time_of(line, "#[BaseTime: ").or(base);
            } else if !line.starts_with('"') {
                let base = base.or(start).ok_or("the log lacks its start time before this line".to_owned());
                let piece = base.and_then(|base| Piece::read(base, line));
                pieces.push(piece.map_err(|reason| wrong(format!("line {number}: {reason}")))?);
            }
        }
        let begin = pieces.iter().map(|piece| piece.begin).min();
        let end = pieces.iter().map(|piece| piece.begin + piece.length).max();
        let (Some(begin), Some(end)) = (begin, end) else { return Err(wrong("the log has no measurement".to_owned())) };
        Ok(Log { path: path.to_owned(), begin, end, pieces })
    }
}

/// The time of a comment that says one, in seconds since 1970.
fn time_of(comment: &str, name: &str) -> Option<Duration> {
    seconds(comment.strip_prefix(name)?.split(' ').next()?)
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

impl Piece {
    /// A line: `Tag=READ-st,1.000,1.002,4.194,HISTF…`, of which the times count from `base` on.
    fn read(base: Duration, line: &str) -> Result<Piece, String> {
        let fields: Vec<&str> = line.split(',').collect();
        let [tag, begin, length, _, histogram] = fields[..] else {
            return Err("not a tagged interval histogram".to_owned());
        };
        let (kind, time) = tag
            .strip_prefix("Tag=")
            .and_then(|tag| tag.rsplit_once('-'))
            .and_then(|(kind, time)| Some((kind, Time::of_tag(time)?)))
            .ok_or_else(|| format!("`{tag}` is not a tag, for example READ-st, READ-rt or READ-wt"))?;
        let bytes = STANDARD.decode(histogram).map_err(|error| format!("cannot decode the histogram: {error}"))?;
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice());
        let no_time = || "the time is missing".to_owned();
        Ok(Piece {
            kind: kind.to_owned(),
            time,
            begin: base + seconds(begin).ok_or_else(no_time)?,
            length: seconds(length).ok_or_else(no_time)?,
            histogram: histogram.map_err(|error| format!("cannot decode the histogram: {error}"))?,
        })
    }
}

/// What all processes measured.
struct Merged {
    processes: usize,
    /// Between the first's beginning and the last's.
    began_within: Duration,
    elapsed: Duration,
    kinds: BTreeMap<String, Measures>,
    total: Measures,
    stretches: Vec<Stretch>,
}

impl Merged {
    fn of(logs: &[Log]) -> Result<Merged, StressError> {
        let wrong = |log: &Log, reason: String| StressError::Merge { path: log.path.clone(), reason };
        let first = logs.iter().map(|log| log.begin).min().unwrap_or_default();
        let last = logs.iter().map(|log| log.begin).max().unwrap_or_default();
        let end = logs.iter().map(|log| log.end).max().unwrap_or_default();
        let mut merged = Merged {
            processes: logs.len(),
            began_within: last - first,
            elapsed: end - first,
            kinds: BTreeMap::new(),
            total: Measures::new(),
            stretches: Vec::new(),
        };
        if let Some(log) = logs.iter().find(|log| log.end <= last) {
            return Err(wrong(log, "ended before another began; the logs are not of one time".to_owned()));
        }
        if let Some(log) = logs.iter().find(|log| log.is_scheduled() != logs[0].is_scheduled()) {
            let other = logs[0].path.display();
            let reason = format!("and {other} cannot be merged: only one of them has response times (fixed rate)");
            return Err(wrong(log, reason));
        }
        let lengths = logs.iter().flat_map(|log| log.pieces.iter().map(|piece| piece.length));
        let length = lengths.max().unwrap_or_default().max(Duration::from_millis(1));
        let mut intervals: BTreeMap<u64, Measures> = BTreeMap::new();
        for log in logs {
            for piece in &log.pieces {
                // That in which its middle lies: pieces may be shorter, and the hosts' clocks somewhat apart.
                let middle = piece.begin + piece.length / 2 - first;
                let number = (middle.as_secs_f64() / length.as_secs_f64()) as u64;
                let of_kind = merged.kinds.entry(piece.kind.clone()).or_insert_with(Measures::new);
                let of_interval = intervals.entry(number).or_insert_with(Measures::new);
                for measures in [of_kind, of_interval, &mut merged.total] {
                    let added = measures.add_times(piece.time, &piece.histogram);
                    added.map_err(|error| wrong(log, format!("has times that are too long: {error}")))?;
                }
            }
        }
        for (number, measures) in &intervals {
            let since = (length * (*number as u32 + 1)).min(merged.elapsed);
            let lasted = since.saturating_sub(length * *number as u32).as_secs_f64();
            let per_second = if lasted > 0.0 { measures.count() as f64 / lasted } else { 0.0 };
            merged.stretches.push(Stretch { since, per_second, p99_ms: quantile_ms(measures.latency(), 0.99) });
        }
        Ok(merged)
    }

    fn per_second(&self, measures: &Measures) -> f64 {
        measures.count() as f64 / self.elapsed.as_secs_f64()
    }

    fn text(&self) -> String {
        let kinds = self.kinds.iter().map(|(kind, measures)| (kind.as_str(), measures));
        let mut lines = Lines::of(&self.total, kinds);
        lines.figure("Op rate", " op/s", 0, |measures| self.per_second(measures));
        lines.times();
        lines.figure("Total operations", "", 0, |measures| measures.count() as f64);
        lines.operation_time(self.elapsed);
        let within = self.began_within.as_secs_f64();
        lines.line("Processes", &format!("{}, which began within {within:.3} s", self.processes));
        lines.into_text()
    }

    fn json(&self) -> Value {
        let json_of = |measures: &Measures| {
            let mut object = times_of(measures);
            object.insert("operations".to_owned(), json!(measures.count()));
            object.insert("operations_per_second".to_owned(), json!(self.per_second(measures)));
            Value::Object(object)
        };
        let kinds = self.kinds.iter().map(|(kind, measures)| (kind.clone(), json_of(measures)));
        json!({
            "processes": self.processes,
            "began_within_seconds": self.began_within.as_secs_f64(),
            "seconds": self.elapsed.as_secs_f64(),
            "total": json_of(&self.total),
            "kinds": kinds.collect::<serde_json::Map<_, _>>(),
            "intervals": self.stretches.iter().map(report::stretch).collect::<Vec<_>>(),
        })
    }
}

/// Merges the logs that the words behind `merge` name. `--json FILE` has the report too.
pub(crate) fn run(words: &[String]) -> Result<(), StressError> {
    let mut json = None;
    let mut logs = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = words.next().map(PathBuf::from),
            option if option.starts_with('-') => {
                let reason = format!("merge: unknown option `{option}`; the only one is --json FILE");
                return Err(StressError::Arguments { reason });
            }
            path => logs.push(Log::read(Path::new(path))?),
        }
    }
    if logs.is_empty() {
        let reason = "merge: no logs given; list the files that -log hdrfile= wrote".to_owned();
        return Err(StressError::Arguments { reason });
    }
    let merged = Merged::of(&logs)?;
    println!("{}", merged.text());
    let Some(path) = json else { return Ok(()) };
    let failed = |source: std::io::Error| StressError::Report { path: path.clone(), source };
    serde_json::to_writer_pretty(create(&path)?, &merged.json()).map_err(|error| failed(error.into()))
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use super::super::hdr_log::HdrLog;
    use super::super::recorder::{Recorder, Sample};
    use super::super::settings::Kind;
    use super::super::target::Done;
    use super::*;

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("helenus-merge-{}-{name}.hdr", std::process::id()))
    }

    /// A log of two seconds, `kind`s of `millis` each, 100 in the first and 50 in the second, from so long after 1970 on.
    fn log(name: &str, epoch: Duration, kind: Kind, millis: u64) -> PathBuf {
        log_of(name, epoch, &[(1000, 100), (1000, 50)], |start| {
            let ended = start + Duration::from_millis(millis);
            Sample { kind, due: Some(start), began: start, ended, done: Done::ROW, has_failed: false }
        })
    }

    /// A log of pieces, each of so many milliseconds in which so many operations ended.
    fn log_of(name: &str, epoch: Duration, pieces: &[(u64, u64)], sample: impl Fn(Instant) -> Sample) -> PathBuf {
        let path = file(name);
        let start = Instant::now();
        let mut log = HdrLog::create_at(&path, SystemTime::UNIX_EPOCH + epoch, start).unwrap();
        let mut from = start;
        for (length, count) in pieces {
            let recorder = Recorder::new(1);
            (0..*count).for_each(|_| recorder.record(0, &sample(start)));
            let to = from + Duration::from_millis(*length);
            log.write(&recorder.take().with_kinds(&[Kind::Read]), from, to);
            from = to;
        }
        log.finish().unwrap();
        path
    }

    fn read_in(start: Instant, due: Option<Instant>) -> Sample {
        let ended = start + Duration::from_millis(1);
        Sample { kind: Kind::Read, due, began: start, ended, done: Done::ROW, has_failed: false }
    }

    #[test]
    fn intervals_are_as_long_as_the_longest_and_empty_ones_count() {
        let at = Duration::from_secs(500);
        // The first is over soon; the second is stalled at its start.
        let closed = |start| read_in(start, None);
        let paths = [
            log_of("short", at, &[(200, 20)], closed),
            log_of("stalled", at, &[(1000, 0), (1000, 100), (500, 50)], closed),
        ];
        let logs: Vec<Log> = paths.iter().map(|path| Log::read(path).unwrap()).collect();
        let merged = Merged::of(&logs).unwrap();
        assert_eq!((merged.elapsed.as_millis(), merged.began_within.as_millis()), (2500, 0));
        let stretches: Vec<(u128, f64)> =
            merged.stretches.iter().map(|stretch| (stretch.since.as_millis(), stretch.per_second.round())).collect();
        assert_eq!(stretches, [(1000, 20.0), (2000, 100.0), (2500, 100.0)]);
        paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    #[test]
    fn response_times_are_not_added_up_with_service_times() {
        let at = Duration::from_secs(500);
        let open = log_of("open", at, &[(1000, 10)], |start| read_in(start, Some(start)));
        let closed = log_of("closed", at, &[(1000, 10)], |start| read_in(start, None));
        let words = [&open, &closed].map(|path| path.display().to_string());
        let error = run(&words).unwrap_err().to_string();
        assert!(error.contains("only one of them has response times"), "{error}");
        [open, closed].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    #[test]
    fn logs_of_one_time_are_put_together() {
        let at = Duration::from_secs(1_000_000);
        let paths = [
            log("one", at, Kind::Read, 2),
            log("two", at + Duration::from_millis(10), Kind::Read, 4),
            log("three", at, Kind::Write, 8),
        ];
        let out = file("out");
        let words: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        run(&[words, vec!["--json".to_owned(), out.display().to_string()]].concat()).unwrap();
        let json: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert_eq!((&json["processes"], &json["total"]["operations"]), (&json!(3), &json!(450)));
        assert_eq!(
            (&json["kinds"]["READ"]["operations"], &json["kinds"]["WRITE"]["operations"]),
            (&json!(300), &json!(150))
        );
        let near = |path: &str, expected: f64| {
            let found = json.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {json:#}"));
            assert!((found - expected).abs() < expected * 0.02, "{path}: {found}");
        };
        near("/began_within_seconds", 0.01);
        near("/seconds", 2.01);
        near("/total/operations_per_second", 450.0 / 2.01);
        near("/kinds/READ/response_time_ms/p95", 4.0);
        near("/kinds/READ/service_time_ms/mean", 3.0);
        near("/total/response_time_ms/max", 8.0);
        assert_eq!(json["intervals"].as_array().map(Vec::len), Some(2));
        near("/intervals/0/operations_per_second", 300.0);
        near("/intervals/0/p99_ms", 8.0);
        paths.iter().chain([&out]).for_each(|path| std::fs::remove_file(path).unwrap());
    }

    #[test]
    fn what_cannot_be_put_together_is_refused() {
        let refused = |words: &[&Path]| {
            let words: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
            run(&words).unwrap_err().to_string()
        };
        let early = log("early", Duration::from_secs(100), Kind::Read, 1);
        let late = log("late", Duration::from_secs(103), Kind::Read, 1);
        assert!(refused(&[&early, &late]).contains("ended before another began"));
        assert!(refused(&[]).contains("no logs given"));
        assert!(refused(&[Path::new("--jsn")]).contains("unknown option"));
        assert!(refused(&[&file("none")]).contains("No such file"));
        let text = std::fs::read_to_string(&early).unwrap();
        std::fs::write(&late, text.replace("Tag=READ-st", "Tag=READ-xx")).unwrap();
        assert!(refused(&[&late]).contains("line 6: `Tag=READ-xx` is not a tag"), "{}", refused(&[&late]));
        std::fs::write(&late, &text[..text.len() - 30]).unwrap();
        assert!(refused(&[&late]).contains("cannot decode the histogram"), "{}", refused(&[&late]));
        let head: String =
            text.lines().filter(|line| !line.starts_with("Tag=")).map(|line| format!("{line}\n")).collect();
        std::fs::write(&late, &head).unwrap();
        assert!(refused(&[&late]).contains("the log has no measurement"));
        std::fs::write(&late, text.lines().rfind(|line| line.starts_with("Tag=")).unwrap()).unwrap();
        assert!(refused(&[&late]).contains("line 1: the log lacks its start time"), "{}", refused(&[&late]));
        std::fs::write(&late, "a text\n").unwrap();
        refused(&[&late]);
        [early, late].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
}
