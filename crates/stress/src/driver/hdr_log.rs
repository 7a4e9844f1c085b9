//! `-log hdrfile=`: the histograms of each interval, as HdrHistogram's log of format 1.3, which its tools read.
//!
//! The tags are cassandra-stress's: the kind, and `st` for service, `rt` for response and `wt` for waiting time, in nanoseconds. The lines' maxima
//! are in milliseconds, as Java's writer has them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::output::create;
use super::recorder::Interval;
use crate::StressError;

/// Nanoseconds of a millisecond.
const MAX_DIVISOR: f64 = 1e6;
const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"";

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct HdrLog {
    path: PathBuf,
    file: File,
    start: Instant,
    /// The first failure: it is told at the end.
    failure: Option<StressError>,
}

impl HdrLog {
    /// A log whose time begins now.
    pub(crate) fn create(path: &Path) -> Result<HdrLog, StressError> {
        HdrLog::create_at(path, SystemTime::now(), Instant::now())
    }

    /// The same of a log whose time begins at `start`, which is `epoch` by the time of day.
    pub(super) fn create_at(path: &Path, epoch: SystemTime, start: Instant) -> Result<HdrLog, StressError> {
        let mut file = create(path)?;
        let failed = |source| StressError::Report { path: path.to_owned(), source };
        file.write_all(&header(epoch).map_err(failed)?).map_err(failed)?;
        Ok(HdrLog { path: path.to_owned(), file, start, failure: None })
    }

    /// Writes what was measured between two times.
    pub(crate) fn write(&mut self, measured: &Interval, from: Instant, to: Instant) {
        let text = lines(measured, from.saturating_duration_since(self.start), to - from);
        if let Err(source) = text.and_then(|text| self.file.write_all(&text)) {
            self.failure.get_or_insert(StressError::Report { path: self.path.clone(), source });
        }
    }

    /// Fails if not all could be written.
    pub(crate) fn finish(self) -> Result<(), StressError> {
        self.failure.map_or(Ok(()), Err)
    }
}

fn header(epoch: SystemTime) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    IntervalLogWriterBuilder::new()
        .add_comment("Latencies of helenus stress, in nanoseconds")
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(epoch)
        .with_base_time(epoch)
        .begin_log_with(&mut out, &mut V2DeflateSerializer::new())?;
    out.extend_from_slice(LEGEND.as_bytes());
    out.push(b'\n');
    Ok(out)
}

/// `from` is counted from the log's base time.
fn lines(measured: &Interval, from: Duration, length: Duration) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    // The head, which each writer begins with, stands in the file already.
    let mut head = Vec::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.with_max_value_divisor(MAX_DIVISOR);
    builder.begin_log_with(&mut head, &mut V2DeflateSerializer::new())?;
    let mut writer = builder.begin_log_with(&mut out, &mut serializer)?;
    let mut write = |tag: String, histogram: &Histogram<u64>| {
        let tag = Tag::new(&tag).expect("has neither comma nor space");
        let written = writer.write_histogram(histogram, from, length, Some(tag));
        written.map_err(|error| std::io::Error::other(error.to_string()))
    };
    for (kind, measures) in measured.kinds() {
        for (time, histogram) in measures.times() {
            write(format!("{}-{}", kind.name(), time.tag()), histogram)?;
        }
    }
    out.drain(..head.len());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;

    use super::super::recorder::{Recorder, Sample};
    use super::super::settings::Kind;
    use super::super::target::Done;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let recorder = Recorder::new(1);
        let due = Instant::now();
        for number in 1..=100 {
            let (began, ended) = (due + Duration::from_millis(number), due + Duration::from_millis(3 * number));
            recorder.record(
                0,
                &Sample { kind: Kind::Write, due: Some(due), began, ended, done: Done::ROW, has_failed: false },
            );
        }
        let mut text = header(SystemTime::UNIX_EPOCH + Duration::from_secs(5)).unwrap();
        text.extend(lines(&recorder.take(), Duration::from_millis(1500), Duration::from_secs(1)).unwrap());
        let lines = String::from_utf8(text).unwrap();
        assert!(lines.contains("#[Histogram log format version 1.3]\n#[StartTime: 5.000"), "{lines}");
        assert!(lines.contains(LEGEND) && lines.contains("\nTag=WRITE-st,1.500,1.000,"), "{lines}");

        let mut found = Vec::new();
        for line in lines.lines().filter(|line| line.starts_with("Tag=")) {
            let fields: Vec<&str> = line.split(',').collect();
            let [tag, _, _, max, payload] = fields[..] else { panic!("{line}") };
            let payload = base64(payload);
            let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut payload.as_slice()).unwrap();
            let max = max.parse::<f64>().unwrap().round();
            found.push((tag.trim_start_matches("Tag=").to_owned(), histogram.len(), histogram.max() / 1_000_000, max));
        }
        let tagged = |tag: &str, max: u64| (tag.to_owned(), 100, max, max as f64);
        assert_eq!(found, [tagged("WRITE-st", 200), tagged("WRITE-rt", 300), tagged("WRITE-wt", 100)]);
    }

    /// Reads base64, for the test's sake.
    fn base64(text: &str) -> Vec<u8> {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
        for digit in text.bytes().filter(|digit| *digit != b'=') {
            bits = bits << 6 | DIGITS.iter().position(|other| *other == digit).unwrap() as u32;
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push((bits >> count) as u8);
            }
        }
        bytes
    }
}
