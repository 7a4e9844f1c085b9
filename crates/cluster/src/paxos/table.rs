//! The table that keeps the states: one row for each partition that was written to conditionally, beside the data on the shard that
//! owns the partition. Each register is one cell with its ballot's time. (Source of its columns: Cassandra's `system.paxos`.)

use cql_types::CqlType;
use mutation::{CellRef, ClusteringRef, Expiry, Item, LiveRow, MutationEncoder, MutationRef};
use schema::{
    Column, ColumnId, ColumnKind, DroppedColumn, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions,
};
use stdx::{ReadError, Reader};
use storage::{Flow, ReplayPosition, RowSink};
use topology::{ReplicationStrategy, Token};

use super::ballot::Ballot;
use super::low_bound::Bound;
use super::moved::VOID;
use super::state::{Commit, Proposal, State};

/// The table's id, which Cassandra gives it too: a UUID of its name.
pub const STATE_TABLE: TableId =
    TableId([0xb7, 0xb7, 0xf0, 0xc2, 0xfd, 0x0a, 0x34, 0x10, 0x8c, 0x05, 0x3e, 0xf6, 0x14, 0xbb, 0x7c, 0x2d]);

const KEYSPACE: &str = "system";

const KEY: ColumnId = ColumnId(0);
const CF_ID: ColumnId = ColumnId(1);
const PROMISED: ColumnId = ColumnId(2);
pub(super) const ACCEPTED: ColumnId = ColumnId(4);
const COMMITTED: ColumnId = ColumnId(5);
const READ_PROMISED: ColumnId = ColumnId(6);
const COMMITTED_AGAIN: ColumnId = ColumnId(7);

/// The fewest bytes of a mutation: version, flags, table and token, and the length of its key.
pub(crate) const MUTATION_BYTES_MIN: usize = 27;
/// Bytes of a ballot.
const BALLOT_BYTES: usize = 16;
/// Bytes of a position of the log.
pub(super) const POSITION_BYTES: usize = 18;

/// The shortest time for which a state is kept, seconds.
const KEPT_SECONDS_MIN: u32 = 3 * 60 * 60;

/// The schema as the storage is to know it: the users' tables and that of the states.
#[must_use]
pub fn with_state_table(schema: &Schema) -> Schema {
    let keyspace = KeyspaceDef {
        name: KEYSPACE.to_owned(),
        replication: [("class".to_owned(), "org.apache.cassandra.locator.LocalStrategy".to_owned())].into(),
        strategy: ReplicationStrategy::Local,
        durable_writes: true,
        tenure: 0,
    };
    schema.with_all(&[SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(state_table()))])
}

fn state_table() -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, KEY, "row_key", CqlType::Blob),
        Column::new(ColumnKind::Clustering, CF_ID, "cf_id", CqlType::Uuid),
        Column::new(ColumnKind::Regular, PROMISED, "in_progress_ballot", CqlType::Timeuuid),
        Column::new(ColumnKind::Regular, ACCEPTED, "proposal", CqlType::Blob),
        Column::new(ColumnKind::Regular, COMMITTED, "most_recent_commit_at", CqlType::Timeuuid),
        Column::new(ColumnKind::Regular, READ_PROMISED, "in_progress_read_ballot", CqlType::Timeuuid),
        Column::new(ColumnKind::Regular, COMMITTED_AGAIN, "most_recent_commit", CqlType::Blob),
    ];
    // All that is deleted is up to the low bound, and ignored wherever it comes from: no tombstone is needed.
    let options = TableOptions {
        comment: "in-progress paxos proposals".to_owned(),
        gc_grace_seconds: 0,
        ..TableOptions::default()
    };
    let mut table = Table::new(STATE_TABLE, KEYSPACE, "paxos", columns, options);
    // Files of the first versions name it.
    let column = Column::new(ColumnKind::Regular, ColumnId(3), "proposal_ballot", CqlType::Timeuuid);
    table.dropped.insert(column.name.clone(), DroppedColumn { column, dropped_at_micros: i64::MAX });
    table
}

/// The clustering of the state of a partition of `table`, in byte-comparable form.
pub(crate) fn clustering_of(table: TableId) -> Vec<u8> {
    let mut clustering = Vec::with_capacity(24);
    cql_types::comparable::encode(&CqlType::Uuid, &table.0, false, &mut clustering);
    clustering
}

/// A register as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Register<'r> {
    /// The last promise to a write.
    Promised(Ballot),
    /// The last promise to a read.
    ReadPromised(Ballot),
    /// The last accepted proposal, and the position of this shard's log when it was accepted.
    Accepted(&'r Proposal, ReplayPosition),
    /// The last commit.
    Committed(Commit),
}

/// For how long registers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Until so long after this second: no other replica knows of them.
    Expiring(u32),
    /// Until all replicas forget it, by the low bound.
    Always,
}

/// Appends the mutation that writes registers of a partition.
#[inline]
pub(crate) fn encode_registers(
    registers: &[Register<'_>],
    table: &Table,
    (token, key): (Token, &[u8]),
    kept: Kept,
    out: &mut Vec<u8>,
) {
    let expiry = match kept {
        Kept::Expiring(now_in_seconds) => {
            let ttl = table.options.gc_grace_seconds.max(KEPT_SECONDS_MIN);
            Some(Expiry { ttl, local_deletion_time: now_in_seconds.saturating_add(ttl) })
        }
        Kept::Always => None,
    };
    let mut mutation = MutationEncoder::begin(out, STATE_TABLE, token, key);
    let mut row = mutation.row([&table.id.0[..]]);
    for register in registers {
        match register {
            Register::Promised(ballot) => _ = row.cell(PROMISED, ballot.micros(), expiry, &ballot.0),
            Register::ReadPromised(ballot) => _ = row.cell(READ_PROMISED, ballot.micros(), expiry, &ballot.0),
            Register::Accepted(proposal, position) => {
                let mut bytes = Vec::new();
                encode_proposal(proposal, &mut bytes);
                let ReplayPosition { boot, sequence, shard } = position;
                bytes.extend_from_slice(&boot.to_be_bytes());
                bytes.extend_from_slice(&sequence.to_be_bytes());
                bytes.extend_from_slice(&shard.to_be_bytes());
                row.cell(ACCEPTED, proposal.ballot.micros(), expiry, &bytes);
            }
            Register::Committed(Commit { ballot, original }) if ballot == original => {
                row.cell(COMMITTED, ballot.micros(), expiry, &ballot.0);
            }
            Register::Committed(Commit { ballot, original }) => {
                row.cell(COMMITTED_AGAIN, ballot.micros(), expiry, &[ballot.0, original.0].concat());
            }
        }
    }
    mutation.finish();
}

/// Appends a proposal, whose ballot comes first: of two of the same microsecond the later ballot's is the greater value.
pub(crate) fn encode_proposal(proposal: &Proposal, out: &mut Vec<u8>) {
    let Proposal { ballot, original, mutations } = proposal;
    let bytes = mutations.iter().map(|mutation| mutation.len() + 4).sum::<usize>();
    out.reserve(2 * BALLOT_BYTES + bytes + POSITION_BYTES);
    out.extend_from_slice(&ballot.0);
    out.extend_from_slice(&original.0);
    for mutation in mutations {
        let length = u32::try_from(mutation.len()).expect("a mutation is no longer than a record of the log");
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(mutation);
    }
}

/// The proposal in these bytes, all of which are its.
pub(crate) fn decode_proposal(bytes: &[u8]) -> Result<Proposal, ReadError> {
    let mut reader = Reader::new(bytes);
    let (ballot, original) = (Ballot(reader.array()?), Ballot(reader.array()?));
    let mut mutations = Vec::new();
    while reader.remaining() > 0 {
        let (left, length) = (reader.remaining(), reader.u32()? as usize);
        // A vector of mutations takes 24 bytes for each: a frame of shorter ones would grow by being read.
        if length < MUTATION_BYTES_MIN {
            return Err(ReadError::Truncated { wanted: MUTATION_BYTES_MIN, left });
        }
        mutations.push(reader.bytes(length)?.to_vec());
    }
    Ok(Proposal { ballot, original, mutations })
}

/// A proposal in its register, and the position of the log when it was accepted.
fn decode_accepted(bytes: &[u8]) -> Result<(Proposal, ReplayPosition), ReadError> {
    let wanted = 2 * BALLOT_BYTES + POSITION_BYTES;
    let Some((proposal, position)) = bytes.split_last_chunk::<POSITION_BYTES>() else {
        return Err(ReadError::Truncated { wanted, left: bytes.len() });
    };
    let mut reader = Reader::new(position);
    let (boot, sequence) = (u64::from_be_bytes(reader.array()?), u64::from_be_bytes(reader.array()?));
    Ok((decode_proposal(proposal)?, ReplayPosition { boot, sequence, shard: reader.u16()? }))
}

/// The table that a mutation is about: of a register's it is that of the partition.
#[inline]
pub(crate) fn table_of(mutation: &MutationRef<'_>) -> TableId {
    if mutation.table() != STATE_TABLE {
        return mutation.table();
    }
    let of_row = |item: Item<'_>| match item {
        Item::Row(clustering, _) => table_of_row(clustering),
        _ => None,
    };
    mutation.items().next().and_then(of_row).unwrap_or(STATE_TABLE)
}

/// The table that a row of registers is about.
pub(super) fn table_of_row(clustering: ClusteringRef<'_>) -> Option<TableId> {
    clustering.components().next().and_then(|id| id.try_into().ok()).map(TableId)
}

/// The times of a row of registers, microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterTimes {
    /// The earliest that does not expire.
    pub(crate) earliest: i64,
    /// The last commit's.
    committed: Option<i64>,
    /// The committed proposal is accepted again under a later ballot: it would be taken for another one once the commit is forgotten.
    pub(crate) is_again: bool,
}

impl RegisterTimes {
    /// True unless something later than a time is committed: all that was chosen before that commit is written at a majority, and what was not can not be chosen any more.
    /// An acceptance beyond the time says nothing: it may be of what was chosen before it, proposed again.
    pub(crate) fn may_have_left(&self, below: i64) -> bool {
        self.committed <= Some(below)
    }
}

/// The times of a row's registers; `None` if all of them expire. Beside those of several replicas a row may have some of one replica's rounds.
pub(crate) fn registers_of(row: LiveRow<'_>) -> Option<RegisterTimes> {
    let mut state = StateReader::default();
    let mut times: Option<RegisterTimes> = None;
    for cell in row.cells().filter(|cell| cell.expiry.is_none()) {
        let at = cell.timestamp;
        state.take(cell);
        let times = times.get_or_insert(RegisterTimes { earliest: at, committed: None, is_again: false });
        times.earliest = times.earliest.min(at);
        if matches!(cell.column, COMMITTED | COMMITTED_AGAIN) {
            times.committed = times.committed.max(Some(at));
        }
    }
    let State { accepted, committed, .. } = state.state;
    let again = accepted.zip(committed).filter(|(accepted, commit)| accepted.original == commit.original);
    times.map(|times| RegisterTimes {
        is_again: again.is_some_and(|(accepted, commit)| accepted.ballot > commit.ballot),
        ..times
    })
}

/// Takes a state from the row that a read gives.
#[derive(Debug, Default)]
pub(crate) struct StateReader {
    state: State,
    accepted_at: Option<ReplayPosition>,
}

impl StateReader {
    fn take(&mut self, cell: CellRef<'_>) {
        let ballot = |value: &[u8]| value.try_into().ok().map(Ballot);
        match cell.column {
            PROMISED => self.state.promised = ballot(cell.value),
            READ_PROMISED => self.state.read_promised = ballot(cell.value),
            ACCEPTED => {
                let accepted = decode_accepted(cell.value).ok();
                (self.state.accepted, self.accepted_at) = accepted.unzip();
            }
            COMMITTED => ballot(cell.value).into_iter().for_each(|ballot| {
                self.state.commit(Commit { ballot, original: ballot });
            }),
            COMMITTED_AGAIN => commit_of(cell.value).into_iter().for_each(|commit| self.state.commit(commit)),
            _ => {}
        }
    }

    /// The state that was read, beside a low bound; without a row it is empty. `is_truncated`: the table was truncated after that position, and what was accepted
    /// before is void.
    pub(crate) fn finish(mut self, bound: Bound, is_truncated: impl Fn(ReplayPosition) -> bool) -> State {
        let is_void = |position| position == VOID || is_truncated(position);
        if let Some(accepted) = self.state.accepted.as_mut().filter(|_| self.accepted_at.is_some_and(is_void)) {
            stdx::sometimes!("a proposal is void");
            accepted.mutations.clear();
        }
        State { low_bound: bound.refused, ..self.state.without(bound.closed) }
    }
}

impl RowSink for StateReader {
    fn partition(&mut self, _token: Token, _key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        row.cells().for_each(|cell| self.take(cell));
        Flow::Stop
    }
}

/// The commit of a proposal that was proposed again: its ballot, then the original's.
fn commit_of(value: &[u8]) -> Option<Commit> {
    let (ballot, original) = value.split_at_checked(BALLOT_BYTES)?;
    Some(Commit { ballot: Ballot(ballot.try_into().ok()?), original: Ballot(original.try_into().ok()?) })
}

#[cfg(test)]
pub(super) mod tests {
    use cql_types::timeuuid;
    use mutation::RowRef;

    use super::*;

    fn ballot(at: u64) -> Ballot {
        Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + at * 10, 0, [1; 6]))
    }

    pub(in crate::paxos) const POSITION: ReplayPosition = ReplayPosition { boot: 3, sequence: 1 << 40, shard: 2 };

    /// A promise, and a proposal that was accepted at that position.
    pub(in crate::paxos) fn accepted_registers() -> Vec<u8> {
        let table = Table::new(TableId([7; 16]), "ks", "t", state_table().columns().to_vec(), TableOptions::default());
        let proposal = Proposal { ballot: ballot(7), original: ballot(3), mutations: vec![vec![1; 27]] };
        let registers = [Register::Promised(ballot(8)), Register::Accepted(&proposal, POSITION)];
        let mut bytes = Vec::new();
        encode_registers(&registers, &table, (Token(5), b"key"), Kept::Always, &mut bytes);
        bytes
    }

    fn read_back(state: &State) -> State {
        let table = Table::new(TableId([7; 16]), "ks", "t", state_table().columns().to_vec(), TableOptions::default());
        let promised = state.promised.map(Register::Promised);
        let read_promised = state.read_promised.map(Register::ReadPromised);
        let accepted = state.accepted.as_ref().map(|proposal| Register::Accepted(proposal, POSITION));
        let committed = state.committed.map(Register::Committed);
        let registers: Vec<Register<'_>> =
            [promised, read_promised, accepted, committed].into_iter().flatten().collect();
        let mut bytes = Vec::new();
        encode_registers(&registers, &table, (Token(5), b"key"), Kept::Expiring(1_000), &mut bytes);
        let mutation = MutationRef::decode(&bytes).unwrap();
        assert_eq!((mutation.table(), mutation.token(), mutation.key()), (STATE_TABLE, Token(5), &b"key"[..]));
        let mut reader = StateReader::default();
        for item in mutation.items() {
            let Item::Row(clustering, row) = item else { panic!("a state is a row") };
            assert_eq!(clustering.components().next(), Some(&[7; 16][..]));
            let _ = reader.row(clustering, LiveRow::new(row, None, 1_000));
        }
        reader.finish(Bound::default(), |position| position != POSITION)
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        let mutations = vec![vec![1; 27], vec![2; 300]];
        let proposal = Proposal { ballot: ballot(7), original: ballot(3), mutations };
        let commits = [proposal.commit(), Commit { ballot: ballot(4), original: ballot(4) }];
        let empty = Proposal { mutations: Vec::new(), ..proposal.clone() };
        for accepted in [None, Some(proposal), Some(empty)] {
            for committed in [None, Some(commits[0]), Some(commits[1])] {
                for (promised, read_promised) in
                    [(None, None), (Some(ballot(1)), None), (Some(ballot(1)), Some(ballot(2)))]
                {
                    let state = State { promised, read_promised, accepted: accepted.clone(), committed, low_bound: 0 };
                    assert_eq!(read_back(&state), state);
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_proposal_are_refused() {
        let mut bytes = Vec::new();
        let mutations = vec![vec![1; 40]];
        encode_proposal(&Proposal { ballot: ballot(1), original: ballot(1), mutations }, &mut bytes);
        let head = 2 * BALLOT_BYTES;
        for length in (0..bytes.len()).filter(|length| *length != head) {
            assert!(decode_proposal(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn the_storages_schema_has_the_users_tables_and_that_of_the_states() {
        let schema = with_state_table(&Schema::empty());
        assert_eq!(schema.table_by_id(STATE_TABLE).unwrap().name, "paxos");
        assert_eq!(schema.tables().count(), 1);
    }

    fn times_of(rows: &[Vec<u8>]) -> Option<RegisterTimes> {
        let mut merged = Vec::new();
        for bytes in rows {
            let mutation = MutationRef::decode(bytes).unwrap();
            for item in mutation.items() {
                let Item::Row(_, row) = item else { panic!("a state is a row") };
                let mut next = Vec::new();
                match merged.is_empty() {
                    true => next.extend_from_slice(row.bytes()),
                    false => mutation::merge_rows(&RowRef::trusted(&merged), &row, &mut next),
                }
                merged = next;
            }
        }
        registers_of(LiveRow::new(RowRef::trusted(&merged), None, 1_000))
    }

    #[test]
    fn registers_that_expire_hide_no_others() {
        let table = Table::new(TableId([7; 16]), "ks", "t", state_table().columns().to_vec(), TableOptions::default());
        let write = |register, kept| {
            let mut bytes = Vec::new();
            encode_registers(&[register], &table, (Token(5), b"key"), kept, &mut bytes);
            bytes
        };
        let proposal = Proposal { ballot: ballot(7), original: ballot(7), mutations: vec![vec![1; 27]] };
        let accepted = write(Register::Accepted(&proposal, POSITION), Kept::Always);
        let of_rounds =
            write(Register::Committed(Commit { ballot: ballot(9), original: ballot(9) }), Kept::Expiring(1_000));
        assert_eq!(times_of(std::slice::from_ref(&of_rounds)), None, "it goes by itself");
        let earliest = ballot(7).micros();
        let times = times_of(&[of_rounds, accepted.clone()]).expect("one does not expire");
        assert_eq!(times, RegisterTimes { earliest, committed: None, is_again: false });
        assert!(times.may_have_left(earliest), "an acceptance says nothing of what was committed");
        let committed = write(Register::Committed(proposal.commit()), Kept::Always);
        let times = times_of(&[accepted, committed.clone()]).expect("they do not expire");
        assert!(times.may_have_left(earliest) && !times.may_have_left(earliest - 1), "something later is committed");
        assert!(!times.is_again);
        let again = Proposal { ballot: ballot(8), ..proposal.clone() };
        let again = write(Register::Accepted(&again, POSITION), Kept::Always);
        assert!(times_of(&[committed, again]).expect("they do not expire").is_again);
    }
}
