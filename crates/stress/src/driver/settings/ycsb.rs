//! `ycsb load` and `ycsb run`: YCSB's core workloads by name, with the properties of its `CoreWorkload` and their defaults.

use super::command::{Kind, Length, Shares, parse_time};
use super::rows::VALUE_BYTES_MAX;
use super::words::{Group, refusal};
use crate::StressError;
use crate::distribution::{Distribution, parse_count};

/// Fields of a record at most.
const FIELDS_MAX: u64 = 1_000;
/// Records of a table at most.
const RECORDS_MAX: u64 = i64::MAX as u64 >> 8;
/// Records that a scan asks for at most.
const SCAN_MAX: u64 = 1_000_000;

/// What one operation of a workload does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transaction {
    /// Insert a new record.
    Insert,
    /// Read a record.
    Read,
    /// Read a record and update it.
    ReadModifyWrite,
    /// Read some records from one on, in the order of their tokens.
    Scan,
    /// Write fields of a record.
    Update,
}

impl Transaction {
    /// As YCSB's reports say it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transaction::Insert => "INSERT",
            Transaction::Read => "READ",
            Transaction::ReadModifyWrite => "READ-MODIFY-WRITE",
            Transaction::Scan => "SCAN",
            Transaction::Update => "UPDATE",
        }
    }
}

/// Which records are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// Each as likely.
    Uniform,
    /// Some, anywhere, far likelier than others.
    Zipfian,
    /// The younger the likelier.
    Latest,
}

/// How the lengths of scans are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanLength {
    Uniform,
    Zipfian,
}

/// A workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YcsbSettings {
    /// Whether records are loaded; else operations are run on those that are there.
    pub(crate) is_load: bool,
    pub(crate) table: String,
    /// Records that there are once all is loaded.
    pub(crate) records: u64,
    /// The first that this load writes, or this run asks for, and how many.
    pub(crate) insert_start: u64,
    pub(crate) insert_count: u64,
    pub(crate) requests: Requests,
    pub(crate) field_count: usize,
    pub(crate) field_prefix: String,
    pub(crate) field_length: Distribution,
    pub(crate) reads_all: bool,
    pub(crate) writes_all: bool,
    pub(crate) scan_length: ScanLength,
    /// The fewest and the most records that a scan asks for.
    pub(crate) scan_range: (u64, u64),
    /// Whether keys follow from the hash of a record's number, and how many digits they have at least.
    pub(crate) hashed: bool,
    pub(crate) digits: usize,
    /// Records that a run is likely to insert.
    pub(crate) inserts_expected: u64,
}

/// A workload's shares of operations, and what else its file sets.
struct Workload {
    shares: [(Transaction, f64); 5],
    requests: Requests,
    scan_most: u64,
}

impl Default for YcsbSettings {
    fn default() -> YcsbSettings {
        YcsbSettings {
            is_load: false,
            table: "usertable".to_owned(),
            records: 1_000,
            insert_start: 0,
            insert_count: 1_000,
            requests: Requests::Uniform,
            field_count: 10,
            field_prefix: "field".to_owned(),
            field_length: "FIXED(100)".parse().expect("is a distribution"),
            reads_all: true,
            writes_all: false,
            scan_length: ScanLength::Uniform,
            scan_range: (1, 1_000),
            hashed: true,
            digits: 1,
            inserts_expected: 0,
        }
    }
}

/// The workloads of YCSB's folder `workloads`.
fn workload(text: &str) -> Option<Workload> {
    use Transaction::{Insert, Read, ReadModifyWrite, Scan, Update};
    let name = text.to_ascii_lowercase();
    let (shares, requests) = match name.strip_prefix("workload").unwrap_or(&name) {
        "a" => ([(Read, 0.5), (Update, 0.5)], Requests::Zipfian),
        "b" => ([(Read, 0.95), (Update, 0.05)], Requests::Zipfian),
        "c" => ([(Read, 1.0), (Update, 0.0)], Requests::Zipfian),
        "d" => ([(Read, 0.95), (Insert, 0.05)], Requests::Latest),
        "e" => ([(Scan, 0.95), (Insert, 0.05)], Requests::Zipfian),
        "f" => ([(Read, 0.5), (ReadModifyWrite, 0.5)], Requests::Zipfian),
        _ => return None,
    };
    let share = |of: Transaction| (of, shares.iter().find(|(other, _)| *other == of).map_or(0.0, |(_, share)| *share));
    let scan_most = if shares[0].0 == Scan { 100 } else { 1_000 };
    Some(Workload { shares: [Read, Update, Scan, Insert, ReadModifyWrite].map(share), requests, scan_most })
}

/// Reads the words behind `ycsb` that only it has: the workload, its operations with their shares, and how many there are.
pub(super) fn of(group: &mut Group) -> Result<(YcsbSettings, Shares, Length), StressError> {
    const NAMES: &str = "a, b, c, d, e or f";
    group.refuse(&[
        ("n=", "use recordcount= and operationcount="),
        ("dataintegrity=", "values are always compared; disable it with -errors skip-read-validation"),
        ("clustering=", "each operation is drawn by itself"),
    ])?;
    let is_load = group.flag("load")?;
    if group.flag("run")? && is_load {
        return Err(refusal("ycsb: load and run exclude each other"));
    }
    let Some(workload) = group.parsed("workload=", NAMES, workload)? else {
        return Err(refusal(format!("ycsb: workload= is missing: {NAMES}")));
    };
    let mut settings = YcsbSettings { is_load, requests: workload.requests, ..YcsbSettings::default() };
    settings.scan_range.1 = workload.scan_most;
    settings.take_records(group)?;
    settings.take_fields(group)?;
    settings.take_requests(group)?;
    let shares = shares(group, workload.shares)?;
    let length = length(group, &settings)?;
    if is_load {
        return Ok((settings, vec![(Kind::Ycsb(Transaction::Insert), 1.0)], length));
    }
    if let Length::Operations(count) = length {
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        let inserts: f64 =
            shares.iter().filter(|(kind, _)| *kind == Kind::Ycsb(Transaction::Insert)).map(|(_, share)| share).sum();
        settings.inserts_expected = (count as f64 * inserts / all) as u64;
    }
    Ok((settings, shares, length))
}

fn shares(group: &mut Group, of_workload: [(Transaction, f64); 5]) -> Result<Shares, StressError> {
    let mut shares = Vec::new();
    for (transaction, share) in of_workload {
        let name = transaction.name().to_ascii_lowercase().replace('-', "");
        let said = group.parsed(&format!("{name}proportion="), "a share from 0 to 1", |text| {
            text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))
        })?;
        let share = said.unwrap_or(share);
        if share > 0.0 {
            shares.push((Kind::Ycsb(transaction), share));
        }
    }
    match shares.is_empty() {
        true => Err(refusal("ycsb: one of the proportions must be above 0")),
        false => Ok(shares),
    }
}

/// A load is over when all is loaded; a run as it is told.
fn length(group: &mut Group, settings: &YcsbSettings) -> Result<Length, StressError> {
    let operations = group.parsed("operationcount=", "a number of operations, such as 1000000 or 1M", parse_count)?;
    let time = group.parsed("duration=", "a time such as 30s, 10m or 2h", parse_time)?;
    match (settings.is_load, operations, time) {
        // What belongs to a run is no harm to a load: the command lines of both may be the same, as YCSB's are.
        (true, ..) => Ok(Length::Operations(settings.insert_count)),
        (false, Some(_), Some(_)) => Err(refusal("ycsb: operationcount= and duration= exclude each other")),
        (false, _, Some(time)) => Ok(Length::Time(time)),
        (false, operations, None) => Ok(Length::Operations(operations.unwrap_or(1_000))),
    }
}

impl YcsbSettings {
    fn take_records(&mut self, group: &mut Group) -> Result<(), StressError> {
        const COUNT: &str = "a number of records from 1, such as 1000000 or 1M";
        let count = |text: &str| parse_count(text).filter(|count| (1..=RECORDS_MAX).contains(count));
        self.records = group.parsed("recordcount=", COUNT, count)?.unwrap_or(self.records);
        self.insert_start = group.parsed("insertstart=", "a record's number", parse_count)?.unwrap_or(0);
        let left = self.records.saturating_sub(self.insert_start);
        self.insert_count = group.parsed("insertcount=", COUNT, count)?.unwrap_or(left);
        if self.insert_count == 0 || self.insert_count > left {
            return Err(refusal("ycsb: recordcount= must not be below insertstart= and insertcount= together"));
        }
        let order = |text: &str| match text.to_ascii_lowercase().as_str() {
            "hashed" => Some(true),
            "ordered" => Some(false),
            _ => None,
        };
        self.hashed = group.parsed("insertorder=", "hashed or ordered", order)?.unwrap_or(true);
        let digits = |text: &str| text.parse().ok().filter(|digits| (1..=64).contains(digits));
        self.digits = group.parsed("zeropadding=", "a number of digits from 1 to 64", digits)?.unwrap_or(1);
        Ok(())
    }

    fn take_fields(&mut self, group: &mut Group) -> Result<(), StressError> {
        let count = |text: &str| parse_count(text).filter(|count| (1..=FIELDS_MAX).contains(count));
        let length = |text: &str| parse_count(text).filter(|length| *length <= VALUE_BYTES_MAX);
        let is_name =
            |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = |text: &str| is_name(text).then(|| text.to_owned());
        const NAME: &str = "a name of letters, digits and underscores";
        const BYTES: &str = "a number of bytes";
        self.table = group.parsed("table=", NAME, name)?.unwrap_or_else(|| self.table.clone());
        self.field_prefix = group.parsed("fieldnameprefix=", NAME, name)?.unwrap_or_else(|| self.field_prefix.clone());
        self.field_count = group.parsed("fieldcount=", "a number from 1 to 1000", count)?.unwrap_or(10) as usize;
        let most = group.parsed("fieldlength=", BYTES, length)?.unwrap_or(100);
        let least = group.parsed("minfieldlength=", BYTES, length)?.unwrap_or(1);
        let shape = group.parsed("fieldlengthdistribution=", "constant or uniform", |text| {
            ["constant", "uniform"].iter().position(|name| text.eq_ignore_ascii_case(name))
        })?;
        let text = if shape == Some(1) { format!("UNIFORM({least}..{most})") } else { format!("FIXED({most})") };
        self.field_length =
            text.parse().map_err(|error| refusal(format!("ycsb: minfieldlength=, fieldlength=: {error}")))?;
        self.reads_all = group.parsed("readallfields=", "true or false", |text| text.parse().ok())?.unwrap_or(true);
        self.writes_all = group.parsed("writeallfields=", "true or false", |text| text.parse().ok())?.unwrap_or(false);
        Ok(())
    }

    fn take_requests(&mut self, group: &mut Group) -> Result<(), StressError> {
        let requests = |text: &str| match text.to_ascii_lowercase().as_str() {
            "uniform" => Some(Requests::Uniform),
            "zipfian" => Some(Requests::Zipfian),
            "latest" => Some(Requests::Latest),
            _ => None,
        };
        let said = group.parsed("requestdistribution=", "uniform, zipfian or latest", requests)?;
        self.requests = said.unwrap_or(self.requests);
        let count = |text: &str| parse_count(text).filter(|count| (1..=SCAN_MAX).contains(count));
        const COUNT: &str = "a number of records from 1 to 1000000";
        let least = group.parsed("minscanlength=", COUNT, count)?.unwrap_or(self.scan_range.0);
        let most = group.parsed("maxscanlength=", COUNT, count)?.unwrap_or(self.scan_range.1);
        if least > most {
            return Err(refusal(format!("ycsb: minscanlength={least} is above maxscanlength={most}")));
        }
        self.scan_range = (least, most);
        let shape = |text: &str| match text.to_ascii_lowercase().as_str() {
            "uniform" => Some(ScanLength::Uniform),
            "zipfian" => Some(ScanLength::Zipfian),
            _ => None,
        };
        let said = group.parsed("scanlengthdistribution=", "uniform or zipfian", shape)?;
        self.scan_length = said.unwrap_or(self.scan_length);
        Ok(())
    }

    /// The fields' names, in the order in which a table has them.
    pub(crate) fn fields(&self) -> Vec<String> {
        let mut fields: Vec<String> =
            (0..self.field_count).map(|number| format!("{}{number}", self.field_prefix)).collect();
        fields.sort();
        fields
    }

    /// Records beyond those that are there that popular numbers are drawn from: twice what a run is likely to insert, as YCSB has it.
    pub(crate) fn new_records_expected(&self) -> u64 {
        2 * self.inserts_expected
    }
}

#[cfg(test)]
mod tests;
