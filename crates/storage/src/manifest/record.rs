//! A manifest's records.

use schema::TableId;
use sstable::Descriptor;
use stdx::{ReadError, Reader};
use topology::operations::OperationId;
use topology::{Token, TokenRange};

use crate::manifest::confirmed::{ConfirmedRecord, CopyName};
use crate::options::ReplayPosition;

/// Which SSTable it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName {
    /// Its table.
    pub table: TableId,
    /// The table's folder below the data's: `keyspace/table-id`.
    pub folder: String,
    /// What its components' names begin with.
    pub descriptor: Descriptor,
}

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRecord {
    /// Which one.
    pub name: FileName,
    /// Whether other shards name it too.
    pub is_shared: bool,
    /// Where the log ended when its memtable was frozen.
    pub end: ReplayPosition,
    /// Up to here the table's records in the log are in this file or in those before.
    pub covered: Option<ReplayPosition>,
}

/// What is to become of the components of a file that does not count any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// They are removed.
    Removed,
    /// They are moved to the table's snapshot of that tag.
    Snapshot(String),
}

/// A file that does not count any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneRecord {
    /// Which one.
    pub name: FileName,
    /// Whether other shards name it too, or did.
    pub is_shared: bool,
    /// Where its components go.
    pub destination: Destination,
}

/// A compaction's outputs count from here on, and its inputs do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedRecord {
    /// The table of all of them.
    pub table: TableId,
    /// Its folder below the data's.
    pub folder: String,
    /// The greatest of the inputs' ends: that of each output.
    pub end: ReplayPosition,
    /// The inputs, each with whether other shards name it too, or did.
    pub inputs: Vec<(Descriptor, bool)>,
    /// The outputs.
    pub outputs: Vec<Descriptor>,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A file is about to be written.
    Begun(FileName),
    /// A file counts from here on.
    Live(LiveRecord),
    /// Up to here the table's records in this shard's log are in files.
    Covered(TableId, ReplayPosition),
    /// A file does not count any more.
    Gone(GoneRecord),
    /// The manifests of this shard count hold.
    InForce(u16),
    /// A compaction's outputs count in the place of its inputs.
    Replaced(ReplacedRecord),
    /// The files of a copied unit count from here on, and the unit's range is confirmed.
    Copied(ReplacedRecord, ConfirmedRecord),
    /// Ranges of a copy that were confirmed before the manifest was compacted.
    Confirmed(ConfirmedRecord),
    /// An operation is over: what copies for it have confirmed means nothing any more.
    CopiesEnded(OperationId),
}

const BEGUN: u8 = 1;
const LIVE: u8 = 2;
const COVERED: u8 = 3;
const GONE: u8 = 4;
const IN_FORCE: u8 = 5;
const REPLACED: u8 = 6;
const COPIED: u8 = 7;
const CONFIRMED: u8 = 8;
const COPIES_ENDED: u8 = 9;

impl Record {
    /// The greatest boot of the positions that it names; 0: it names none.
    pub fn boot(&self) -> u64 {
        match self {
            Record::Live(live) => live.covered.map_or(live.end.boot, |covered| covered.boot.max(live.end.boot)),
            Record::Covered(_, position) => position.boot,
            Record::Replaced(replaced) | Record::Copied(replaced, _) => replaced.end.boot,
            Record::Begun(_) | Record::Gone(_) | Record::InForce(_) => 0,
            Record::Confirmed(_) | Record::CopiesEnded(_) => 0,
        }
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Record::Begun(name) => {
                out.push(BEGUN);
                push_name(name, &mut out);
            }
            Record::Live(live) => {
                out.push(LIVE);
                push_name(&live.name, &mut out);
                out.push(u8::from(live.is_shared));
                push_position(&live.end, &mut out);
                out.push(u8::from(live.covered.is_some()));
                if let Some(covered) = &live.covered {
                    push_position(covered, &mut out);
                }
            }
            Record::Covered(table, position) => {
                out.push(COVERED);
                out.extend_from_slice(&table.0);
                push_position(position, &mut out);
            }
            Record::Gone(gone) => {
                out.push(GONE);
                push_name(&gone.name, &mut out);
                out.push(u8::from(gone.is_shared));
                match &gone.destination {
                    Destination::Removed => out.push(0),
                    Destination::Snapshot(tag) => {
                        out.push(1);
                        push_text(tag, &mut out);
                    }
                }
            }
            Record::InForce(count) => {
                out.push(IN_FORCE);
                out.extend_from_slice(&count.to_be_bytes());
            }
            Record::Replaced(replaced) => {
                out.push(REPLACED);
                push_replaced(replaced, &mut out);
            }
            Record::Copied(copied, confirmed) => {
                out.push(COPIED);
                push_confirmed(confirmed, &mut out);
                push_replaced(copied, &mut out);
            }
            Record::Confirmed(confirmed) => {
                out.push(CONFIRMED);
                push_confirmed(confirmed, &mut out);
            }
            Record::CopiesEnded(operation) => {
                out.push(COPIES_ENDED);
                out.extend_from_slice(&operation.0.to_be_bytes());
            }
        }
        out
    }

    /// From a payload; the error says what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Record, String> {
        let mut reader = Reader::new(bytes);
        let record = read(&mut reader)?;
        if !reader.is_empty() {
            return Err(format!("{} trailing bytes", reader.remaining()));
        }
        Ok(record)
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    let length = u16::try_from(text.len()).expect("names are short");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn push_count(count: usize, out: &mut Vec<u8>) {
    out.push(u8::try_from(count).expect("a compaction has few files"));
}

fn push_name(name: &FileName, out: &mut Vec<u8>) {
    out.extend_from_slice(&name.table.0);
    push_text(&name.folder, out);
    push_text(&name.descriptor.to_string(), out);
}

fn push_position(position: &ReplayPosition, out: &mut Vec<u8>) {
    out.extend_from_slice(&position.boot.to_be_bytes());
    out.extend_from_slice(&position.shard.to_be_bytes());
    out.extend_from_slice(&position.sequence.to_be_bytes());
}

fn push_replaced(replaced: &ReplacedRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(&replaced.table.0);
    push_text(&replaced.folder, out);
    push_position(&replaced.end, out);
    push_count(replaced.inputs.len(), out);
    for (descriptor, is_shared) in &replaced.inputs {
        push_text(&descriptor.to_string(), out);
        out.push(u8::from(*is_shared));
    }
    push_count(replaced.outputs.len(), out);
    for descriptor in &replaced.outputs {
        push_text(&descriptor.to_string(), out);
    }
}

fn push_confirmed(confirmed: &ConfirmedRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(&confirmed.name.operation.0.to_be_bytes());
    out.extend_from_slice(&confirmed.name.copy);
    push_count(confirmed.ranges.len(), out);
    for TokenRange { after, end } in &confirmed.ranges {
        assert!(after < end, "a range that a copy confirms does not wrap");
        out.extend_from_slice(&after.0.to_be_bytes());
        out.extend_from_slice(&end.0.to_be_bytes());
    }
}

fn read(reader: &mut Reader<'_>) -> Result<Record, String> {
    match reader.u8().map_err(short)? {
        BEGUN => Ok(Record::Begun(read_name(reader)?)),
        LIVE => {
            let name = read_name(reader)?;
            let is_shared = read_flag(reader)?;
            let end = read_position(reader)?;
            let covered = if read_flag(reader)? { Some(read_position(reader)?) } else { None };
            Ok(Record::Live(LiveRecord { name, is_shared, end, covered }))
        }
        COVERED => Ok(Record::Covered(TableId(reader.array().map_err(short)?), read_position(reader)?)),
        GONE => {
            let name = read_name(reader)?;
            let is_shared = read_flag(reader)?;
            let destination = match read_flag(reader)? {
                false => Destination::Removed,
                true => Destination::Snapshot(read_text(reader)?),
            };
            Ok(Record::Gone(GoneRecord { name, is_shared, destination }))
        }
        IN_FORCE => Ok(Record::InForce(reader.u16().map_err(short)?)),
        REPLACED => Ok(Record::Replaced(read_replaced(reader)?)),
        COPIED => {
            let confirmed = read_confirmed(reader)?;
            Ok(Record::Copied(read_replaced(reader)?, confirmed))
        }
        CONFIRMED => Ok(Record::Confirmed(read_confirmed(reader)?)),
        COPIES_ENDED => Ok(Record::CopiesEnded(OperationId(reader.u64().map_err(short)?))),
        kind => Err(format!("unknown record kind {kind}")),
    }
}

fn read_replaced(reader: &mut Reader<'_>) -> Result<ReplacedRecord, String> {
    let table = TableId(reader.array().map_err(short)?);
    let folder = read_folder(reader)?;
    let end = read_position(reader)?;
    let mut inputs = Vec::new();
    for _ in 0..reader.u8().map_err(short)? {
        inputs.push((read_descriptor(reader)?, read_flag(reader)?));
    }
    let mut outputs = Vec::new();
    for _ in 0..reader.u8().map_err(short)? {
        outputs.push(read_descriptor(reader)?);
    }
    Ok(ReplacedRecord { table, folder, end, inputs, outputs })
}

fn read_confirmed(reader: &mut Reader<'_>) -> Result<ConfirmedRecord, String> {
    let operation = OperationId(reader.u64().map_err(short)?);
    let name = CopyName { operation, copy: reader.array().map_err(short)? };
    let mut ranges = Vec::new();
    for _ in 0..reader.u8().map_err(short)? {
        let token = |reader: &mut Reader<'_>| reader.u64().map(|token| Token(token.cast_signed())).map_err(short);
        let (after, end) = (token(reader)?, token(reader)?);
        if after >= end {
            return Err(format!("the range after {after} up to {end} wraps"));
        }
        ranges.push(TokenRange { after, end });
    }
    Ok(ConfirmedRecord { name, ranges })
}

fn short(error: ReadError) -> String {
    error.to_string()
}

fn read_flag(reader: &mut Reader<'_>) -> Result<bool, String> {
    match reader.u8().map_err(short)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(format!("expected 0 or 1, got {other}")),
    }
}

fn read_text(reader: &mut Reader<'_>) -> Result<String, String> {
    let length = reader.u16().map_err(short)?;
    Ok(reader.str(usize::from(length)).map_err(short)?.to_owned())
}

fn read_name(reader: &mut Reader<'_>) -> Result<FileName, String> {
    let table = TableId(reader.array().map_err(short)?);
    let folder = read_folder(reader)?;
    let descriptor = read_descriptor(reader)?;
    Ok(FileName { table, folder, descriptor })
}

fn read_folder(reader: &mut Reader<'_>) -> Result<String, String> {
    let folder = read_text(reader)?;
    let is_below = folder.split('/').count() == 2 && folder.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_below {
        return Err(format!("{folder:?} is not a table directory"));
    }
    Ok(folder)
}

fn read_descriptor(reader: &mut Reader<'_>) -> Result<Descriptor, String> {
    let text = read_text(reader)?;
    // A descriptor is what is left of a component's name.
    let parsed = Descriptor::parse(&format!("{text}-{}", sstable::Component::Data.name()));
    let (descriptor, _) = parsed.ok_or_else(|| format!("{text:?} is not an sstable name"))?;
    Ok(descriptor)
}

fn read_position(reader: &mut Reader<'_>) -> Result<ReplayPosition, String> {
    let boot = reader.u64().map_err(short)?;
    let shard = reader.u16().map_err(short)?;
    let sequence = reader.u64().map_err(short)?;
    Ok(ReplayPosition { boot, shard, sequence })
}

#[cfg(test)]
mod tests {
    use sstable::{Generation, Version};

    use super::*;

    fn replaced(inputs: usize, outputs: usize) -> ReplacedRecord {
        let descriptor = |number: usize| {
            let generation = Generation::Unique(format!("3gw5_0lzc_1cb5c2ghfzwy2irq{number:02}"));
            Descriptor { version: Version::DA, generation }
        };
        ReplacedRecord {
            table: TableId([3; 16]),
            // The longest that a keyspace's and a table's name make.
            folder: format!("{}/{}-{}", "k".repeat(48), "t".repeat(48), "0".repeat(32)),
            end: ReplayPosition { boot: 3, shard: 1, sequence: 1 << 40 },
            inputs: (0..inputs).map(|number| (descriptor(number), number % 2 == 0)).collect(),
            outputs: (inputs..inputs + outputs).map(descriptor).collect(),
        }
    }

    #[test]
    fn the_largest_compaction_fits_in_a_block() {
        let most = crate::compaction::strategy::INPUTS_MAX;
        let outputs = crate::compaction::strategy::FILES_MAX - most;
        let bytes = Record::Replaced(replaced(most, outputs)).encode();
        assert!(bytes.len() <= crate::manifest::layout::PAYLOAD_MAX, "{} bytes", bytes.len());
        let bytes = Record::Copied(replaced(0, crate::copying::FILES_MAX), confirmed(1)).encode();
        assert!(bytes.len() <= crate::manifest::layout::PAYLOAD_MAX, "{} bytes of a unit", bytes.len());
    }

    fn confirmed(count: i64) -> ConfirmedRecord {
        let name = CopyName { operation: OperationId(9), copy: [5; 16] };
        let range = |number: i64| TokenRange { after: Token(-10 * number), end: Token(5 - 10 * number) };
        ConfirmedRecord { name, ranges: (0..count).map(range).collect() }
    }

    fn examples() -> Vec<Record> {
        let generation = Generation::Unique("3gw5_0lzc_1cb5c2ghfzwy2irqxx".to_owned());
        let descriptor = Descriptor { version: Version::DA, generation };
        let name = FileName { table: TableId([3; 16]), folder: "ks/t-0303".to_owned(), descriptor };
        let end = ReplayPosition { boot: 3, shard: 1, sequence: 1 << 40 };
        let snapshot = Destination::Snapshot("truncated-1-t".to_owned());
        vec![
            Record::Begun(name.clone()),
            Record::Live(LiveRecord { name: name.clone(), is_shared: false, end, covered: Some(end) }),
            Record::Live(LiveRecord { name: name.clone(), is_shared: true, end, covered: None }),
            Record::Covered(TableId([9; 16]), end),
            Record::Gone(GoneRecord { name: name.clone(), is_shared: true, destination: Destination::Removed }),
            Record::Gone(GoneRecord { name, is_shared: false, destination: snapshot }),
            Record::InForce(7),
            Record::Replaced(ReplacedRecord { outputs: Vec::new(), ..replaced(1, 0) }),
            Record::Replaced(replaced(2, 3)),
            Record::Copied(replaced(0, 3), confirmed(1)),
            Record::Confirmed(confirmed(7)),
            Record::CopiesEnded(OperationId(1 << 40)),
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        for record in examples() {
            assert_eq!(Record::decode(&record.encode()), Ok(record));
        }
    }

    #[test]
    fn other_bytes_are_errors() {
        for record in examples() {
            let bytes = record.encode();
            for length in 0..bytes.len() {
                Record::decode(&bytes[..length]).expect_err("a shorter record");
            }
            Record::decode(&[&bytes[..], &[0]].concat()).expect_err("a longer record");
        }
        Record::decode(&[99]).expect_err("an unknown kind");
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let Record::Begun(mut name) = examples().remove(0) else { panic!("the first of them") };
        for folder in ["../etc", "/etc", "ks", "ks/t/u", "ks/..", ""] {
            name.folder = folder.to_owned();
            Record::decode(&Record::Begun(name.clone()).encode()).expect_err(folder);
        }
    }
}
