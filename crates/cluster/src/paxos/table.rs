//! The table that keeps the states: one row for each partition that was written to conditionally, beside the data on the shard that
//! owns the partition. (Source of its columns: Cassandra's `system.paxos`.)

use cql_types::CqlType;
use mutation::{ClusteringRef, Expiry, LiveRow, MutationEncoder};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use stdx::Reader;
use storage::{Flow, RowSink};
use topology::{ReplicationStrategy, Token};

use super::ballot::Ballot;
use super::state::{Proposal, State};

/// The table's id, which Cassandra gives it too: a UUID of its name.
pub const STATE_TABLE: TableId =
    TableId([0xb7, 0xb7, 0xf0, 0xc2, 0xfd, 0x0a, 0x34, 0x10, 0x8c, 0x05, 0x3e, 0xf6, 0x14, 0xbb, 0x7c, 0x2d]);

const KEYSPACE: &str = "system";

const KEY: ColumnId = ColumnId(0);
const CF_ID: ColumnId = ColumnId(1);
const PROMISED: ColumnId = ColumnId(2);
const ACCEPTED: ColumnId = ColumnId(3);
const PROPOSAL: ColumnId = ColumnId(4);
const COMMITTED: ColumnId = ColumnId(5);

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
        Column::new(ColumnKind::Regular, ACCEPTED, "proposal_ballot", CqlType::Timeuuid),
        Column::new(ColumnKind::Regular, PROPOSAL, "proposal", CqlType::Blob),
        Column::new(ColumnKind::Regular, COMMITTED, "most_recent_commit_at", CqlType::Timeuuid),
    ];
    // States expire, so there is nothing for a tombstone to hide for longer than they live.
    let options = TableOptions {
        comment: "in-progress paxos proposals".to_owned(),
        gc_grace_seconds: 0,
        ..TableOptions::default()
    };
    Table::new(STATE_TABLE, KEYSPACE, "paxos", columns, options)
}

/// The clustering of the state of a partition of `table`, in byte-comparable form.
pub(crate) fn clustering_of(table: TableId) -> Vec<u8> {
    let mut clustering = Vec::with_capacity(24);
    cql_types::comparable::encode(&CqlType::Uuid, &table.0, false, &mut clustering);
    clustering
}

/// Appends the mutation that writes a state after a change of it at `ballot`.
pub(crate) fn encode_state(
    state: &State,
    ballot: Ballot,
    table: &Table,
    (token, key): (Token, &[u8]),
    now_in_seconds: u32,
    out: &mut Vec<u8>,
) {
    let ttl = table.options.gc_grace_seconds.max(KEPT_SECONDS_MIN);
    let expiry = Some(Expiry { ttl, local_deletion_time: now_in_seconds.saturating_add(ttl) });
    let timestamp = ballot.micros();
    let mut mutation = MutationEncoder::begin(out, STATE_TABLE, token, key);
    let mut row = mutation.row([&table.id.0[..]]);
    if let Some(promised) = &state.promised {
        row.cell(PROMISED, timestamp, expiry, &promised.0);
    }
    // One that was accepted before and is committed now is told to be by the ballot of the commit.
    if let Some(Proposal { ballot, mutations }) = &state.accepted {
        let mut bytes = Vec::with_capacity(mutations.iter().map(|mutation| mutation.len() + 4).sum());
        for mutation in mutations {
            let length = u32::try_from(mutation.len()).expect("a mutation is no longer than a record of the log");
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(mutation);
        }
        row.cell(ACCEPTED, timestamp, expiry, &ballot.0);
        row.cell(PROPOSAL, timestamp, expiry, &bytes);
    }
    if let Some(committed) = &state.committed {
        row.cell(COMMITTED, timestamp, expiry, &committed.0);
    }
    mutation.finish();
}

/// Takes a state from the row that a read gives.
#[derive(Debug, Default)]
pub(crate) struct StateReader {
    state: State,
}

impl StateReader {
    /// What was read; without a row nothing is remembered.
    pub(crate) fn finish(self) -> State {
        self.state
    }
}

impl RowSink for StateReader {
    fn partition(&mut self, _token: Token, _key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let ballot = |value: &[u8]| value.try_into().ok().map(Ballot);
        let (mut accepted, mut mutations) = (None, Vec::new());
        for cell in row.cells() {
            match cell.column {
                PROMISED => self.state.promised = ballot(cell.value),
                ACCEPTED => accepted = ballot(cell.value),
                PROPOSAL => mutations = split(cell.value),
                COMMITTED => self.state.committed = ballot(cell.value),
                _ => {}
            }
        }
        self.state.accepted = accepted.map(|ballot| Proposal { ballot, mutations });
        if self.state.unfinished().is_none() {
            self.state.accepted = None;
        }
        Flow::Stop
    }
}

/// The mutations of a proposal. Bytes that are none give fewer.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(bytes);
    let mut mutations = Vec::new();
    while let Ok(length) = reader.u32() {
        let Ok(mutation) = reader.bytes(length as usize) else { break };
        mutations.push(mutation.to_vec());
    }
    mutations
}

#[cfg(test)]
mod tests {
    use cql_types::timeuuid;
    use mutation::{Item, MutationRef};

    use super::*;

    fn ballot(at: u64) -> Ballot {
        Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + at * 10, 0, [1; 6]))
    }

    fn read_back(state: &State, at: Ballot) -> State {
        let table = Table::new(TableId([7; 16]), "ks", "t", state_table().columns().to_vec(), TableOptions::default());
        let mut bytes = Vec::new();
        encode_state(state, at, &table, (Token(5), b"key"), 1_000, &mut bytes);
        let mutation = MutationRef::decode(&bytes).unwrap();
        assert_eq!((mutation.table(), mutation.token(), mutation.key()), (STATE_TABLE, Token(5), &b"key"[..]));
        let mut reader = StateReader::default();
        for item in mutation.items() {
            let Item::Row(clustering, row) = item else { panic!("a state is a row") };
            assert_eq!(clustering.components().next(), Some(&[7; 16][..]));
            let _ = reader.row(clustering, LiveRow::new(row, None, 1_000));
        }
        reader.finish()
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        let mut state = State::default();
        state.promise(ballot(1)).unwrap();
        assert_eq!(read_back(&state, ballot(1)), state);
        state.accept(Proposal { ballot: ballot(1), mutations: vec![vec![1, 2, 3], Vec::new(), vec![9]] }).unwrap();
        assert_eq!(read_back(&state, ballot(1)), state);
        state.commit(ballot(1));
        assert_eq!(read_back(&state, ballot(1)), state);
    }

    #[test]
    fn the_storages_schema_has_the_users_tables_and_that_of_the_states() {
        let schema = with_state_table(&Schema::empty());
        assert_eq!(schema.table_by_id(STATE_TABLE).unwrap().name, "paxos");
        assert_eq!(schema.tables().count(), 1);
    }
}
