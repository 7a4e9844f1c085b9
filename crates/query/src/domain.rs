//! The schema, access and the last truncation of each table as domains of the cluster's state, and truncations between the metadata log's words and the storage
//! engine's: neither knows the other.

use std::collections::BTreeSet;

use auth::{Access, AccessChange};
use cluster::paxos::{LOW_BOUND_VERSION, LowBound, LowBoundChange, decode_low_bound, encode_low_bound};
use metadata::{ClusterState, DecodeError, Domain, DomainId, Entry, LocalState, Mark, Part, Position, Truncation};
use planted::{Bug, Planted};
use schema::truncations::{self, TableTruncations, TruncationChange};
use schema::{Schema, SchemaChange, TableId};
use storage::{ReplayPosition, Truncations};

/// The schema's changes and state. A node's start registers it.
#[derive(Debug)]
pub struct SchemaDomain;

impl SchemaDomain {
    /// The part of an entry whose changes take effect together.
    pub fn part(changes: &[SchemaChange]) -> Part {
        Part { domain: SchemaDomain::ID, version: SchemaDomain::VERSION, bytes: schema::domain::encode(changes) }
    }
}

impl Domain for SchemaDomain {
    const ID: DomainId = DomainId::SCHEMA;
    const NAME: &'static str = "schema";
    const VERSION: u8 = schema::domain::VERSION;
    type State = Schema;
    type Change = Vec<SchemaChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<SchemaChange>, DecodeError> {
        schema::domain::decode(bytes).map_err(decode_error)
    }

    fn apply(state: &Schema, changes: Vec<Vec<SchemaChange>>) -> Schema {
        state.with_all(&changes.into_iter().flatten().collect::<Vec<_>>())
    }

    fn snapshot(state: &Schema) -> Option<Vec<u8>> {
        schema::domain::snapshot(state)
    }

    fn gives_room_back(changes: &Vec<SchemaChange>) -> bool {
        schema::domain::gives_room_back(changes)
    }

    fn live_tables(state: &Schema) -> BTreeSet<[u8; 16]> {
        schema::domain::live_tables(state)
    }
}

fn decode_error(error: schema::DecodeError) -> DecodeError {
    match error {
        // A change has a version of its own beside the part's.
        schema::DecodeError::NewerVersion { version, supported } => DecodeError::NewerVersion { version, supported },
        error => DecodeError::Invalid { problem: error.to_string() },
    }
}

/// The last truncation of each table. A node's start registers it.
#[derive(Debug)]
pub struct TruncationsDomain;

impl TruncationsDomain {
    /// The part of an entry whose changes take effect together.
    pub fn part(changes: &[TruncationChange]) -> Part {
        Part { domain: TruncationsDomain::ID, version: TruncationsDomain::VERSION, bytes: truncations::encode(changes) }
    }

    /// The changes of an entry that the cluster's state has applied.
    pub(crate) fn changes_of(entry: &Entry) -> Vec<TruncationChange> {
        let own = entry.parts().iter().filter(|part| part.domain == TruncationsDomain::ID);
        let decoded = own.flat_map(|part| truncations::decode(&part.bytes).expect("the group's state has applied it"));
        decoded.collect()
    }
}

impl Domain for TruncationsDomain {
    const ID: DomainId = DomainId::TRUNCATIONS;
    const NAME: &'static str = "truncations";
    const VERSION: u8 = truncations::VERSION;
    type State = TableTruncations;
    type Change = Vec<TruncationChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<TruncationChange>, DecodeError> {
        truncations::decode(bytes).map_err(decode_error)
    }

    fn apply(state: &TableTruncations, changes: Vec<Vec<TruncationChange>>) -> TableTruncations {
        state.with_all(changes.into_iter().flatten())
    }

    fn snapshot(state: &TableTruncations) -> Option<Vec<u8>> {
        state.snapshot()
    }

    fn gives_room_back(_changes: &Vec<TruncationChange>) -> bool {
        true
    }
}

/// The low bound of attempts. A node's start registers it.
#[derive(Debug)]
pub struct LowBoundDomain;

impl LowBoundDomain {
    /// The part of an entry whose changes take effect together.
    pub(crate) fn part(changes: &[LowBoundChange]) -> Part {
        Part { domain: LowBoundDomain::ID, version: LowBoundDomain::VERSION, bytes: encode_low_bound(changes) }
    }
}

impl Domain for LowBoundDomain {
    const ID: DomainId = DomainId::LOW_BOUND;
    const NAME: &'static str = "low bound";
    const VERSION: u8 = LOW_BOUND_VERSION;
    type State = LowBound;
    type Change = Vec<LowBoundChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<LowBoundChange>, DecodeError> {
        decode_low_bound(bytes).map_err(|error| DecodeError::Invalid { problem: error.to_string() })
    }

    fn apply(state: &LowBound, changes: Vec<Vec<LowBoundChange>>) -> LowBound {
        state.with_all(changes.into_iter().flatten())
    }

    fn snapshot(state: &LowBound) -> Option<Vec<u8>> {
        state.snapshot()
    }
}

/// Roles, permissions, identities and CIDR groups. A node's start registers it.
#[derive(Debug)]
pub struct AccessDomain;

impl AccessDomain {
    /// The part of an entry whose changes take effect together.
    pub fn part(changes: &[AccessChange]) -> Part {
        Part { domain: AccessDomain::ID, version: AccessDomain::VERSION, bytes: auth::codec::encode(changes) }
    }
}

impl Domain for AccessDomain {
    const ID: DomainId = DomainId::ACCESS;
    const NAME: &'static str = "access";
    const VERSION: u8 = auth::domain::VERSION;
    type State = Access;
    type Change = Vec<AccessChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<AccessChange>, DecodeError> {
        auth::codec::decode(bytes).map_err(|error| match error {
            auth::DecodeError::NewerVersion { version, supported } => DecodeError::NewerVersion { version, supported },
            error => DecodeError::Invalid { problem: error.to_string() },
        })
    }

    fn apply(state: &Access, changes: Vec<Vec<AccessChange>>) -> Access {
        state.with_all(&changes.into_iter().flatten().collect::<Vec<_>>())
    }

    fn snapshot(state: &Access) -> Option<Vec<u8>> {
        auth::domain::snapshot(state)
    }

    fn gives_room_back(changes: &Vec<AccessChange>) -> bool {
        auth::domain::gives_room_back(changes)
    }
}

/// A truncation as the metadata log records it.
pub(crate) fn truncation(table: TableId, positions: impl Iterator<Item = ReplayPosition>, mark: Mark) -> Truncation {
    let position = |ReplayPosition { boot, shard, sequence }| Position { boot, shard, sequence };
    Truncation { table: table.0, positions: positions.map(position).collect(), mark: Some(mark) }
}

/// The truncations that the cluster has decided and this node has not carried out, with positions after all that it wrote before the start number `boot`
/// on any of `shards`. A start makes them durable before it reads its data: else the next one would truncate again, and take what was written
/// meanwhile.
pub fn pending_truncations(
    cluster: &ClusterState,
    local: &LocalState,
    (boot, shards): (u64, &BTreeSet<u16>),
    planted: Planted,
) -> Vec<Truncation> {
    let is_done =
        |table: TableId, mark: Mark| local.mark(table.0) == Some(mark) && !planted.is(Bug::TruncatedAgainAtStart);
    let all = cluster.of::<TruncationsDomain>().iter().map(|(table, mark)| (table, Mark(mark.0)));
    let positions = || shards.iter().map(|shard| ReplayPosition::before_boot(boot, *shard));
    let pending = all.filter(|(table, mark)| !is_done(*table, *mark));
    pending.map(|(table, mark)| truncation(table, positions(), mark)).collect()
}

/// The truncations that a node's metadata log states, for its storage.
pub fn truncations_of(local: &LocalState) -> Truncations {
    let position = |Position { boot, shard, sequence }| ReplayPosition { boot, shard, sequence };
    let of_table = |of: Truncation| (TableId(of.table), of.positions.into_iter().map(position).collect());
    local.truncations().map(of_table).collect()
}
