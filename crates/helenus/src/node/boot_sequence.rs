//! Duties of shard 0 beyond the other shards: folder, metadata log, ports, and the order of steps.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use cluster::paxos::with_state_table;
use internode::Boot;
use membership::{OperationsDomain, PlanError, Refusal, TopologyDomain};
use metadata::{ClusterState, Domains, FoundLog, LogState, MetadataLog, MetadataParts, Opened, Start, Started, Way};
use planted::Bug;
use query::{
    AccessDomain, LowBoundDomain, NodeInfo, SchemaDomain, TruncationsDomain, pending_truncations, truncations_of,
};
use runtime::{FileLock, Group, Mesh, Runtime, ShardId, TcpListener, UnixListener};
use schema::Schema;
use server::{ListenError, Listeners, Server};
use storage::{OpenError, Truncations};
use topology::operations::Operation;
use topology::{Epoch, HostId, ReplicationStrategy};

use super::cluster::Cluster;
use super::first_superuser::FirstSuperuser;
use super::shard::{Command, Handles, RingParts, Serving};
use super::{Answer, NodeError, Ready};
use crate::config::{Config, FixedRing, Recover, STORAGE_PORT};

/// The file whose lock says that a process uses the data folder.
const LOCK_FILE: &str = "helenus.lock";

/// Start, service and end of a node, step by step on all shards, driven from shard 0.
pub(super) struct BootSequence {
    pub(super) runtime: Runtime,
    pub(super) config: Config,
    pub(super) mesh: Mesh<Command, Answer>,
    pub(super) local: Handles,
}

/// The metadata log with this start in it, and what it states.
struct Metadata {
    parts: MetadataParts,
    host_id: HostId,
    boot: Boot,
    /// The node's part in a cluster of several.
    cluster: Option<Cluster>,
    /// The cluster's ring, if this node is in it.
    ring: Option<RingParts>,
    schema: Schema,
    truncations: Truncations,
}

/// The domains of the cluster's state that a node has.
fn domains() -> Domains {
    let of_nodes = Domains::none().with::<TopologyDomain>().with::<OperationsDomain>();
    let of_tables = of_nodes.with::<SchemaDomain>().with::<TruncationsDomain>().with::<LowBoundDomain>();
    of_tables.with::<AccessDomain>()
}

impl BootSequence {
    /// With the folder locked: takes the ports, starts the node, serves until the process has to end, and ends in order. A node that cannot have its ports
    /// writes nothing.
    pub(super) async fn run(&self, taken: impl FnOnce(), ready: impl FnOnce(Ready)) -> Result<(), NodeError> {
        let trusts_network =
            self.config.insecure || self.config.internode_secret.is_some() || self.config.internode_tls.is_some();
        if let Some(problem) = self.config.fixed_ring.as_ref().and_then(|ring| ring.problem(trusts_network)) {
            return Err(NodeError::FixedRing { problem });
        }
        let listeners = Listeners::bind(&self.runtime, self.config.listen).await?;
        let listening = listeners.listening();
        taken();
        let Some(metadata) = self.open_metadata().await? else { return Ok(()) };
        let Metadata { parts, host_id, boot, cluster, ring, schema, truncations } = metadata;
        self.check_strategies(&schema)?;
        self.check_datacenter(&schema)?;
        let state = parts.member.state();
        let (epoch, low_bound) = (Epoch(state.epoch().0), state.cluster().of::<LowBoundDomain>().times());
        let access = state.cluster().of::<AccessDomain>().as_changes();
        *self.local.metadata.borrow_mut() = Some(parts);
        self.local.cluster.borrow_mut().clone_from(&cluster);
        if self.config.import_sstables {
            let found = storage::find_files_at_start(&self.runtime, &self.config.data_dir, &schema).await;
            found.map_err(|error| NodeError::Shard { sentence: error.to_string() })?;
        }
        self.all(&Command::Open { boot: boot.number, host_id, changes: schema.as_changes(), truncations }).await?;
        drop(schema);

        let for_peers = self.listen_for_peers().await?;
        let node = self.node_info(host_id, boot.number, ring.as_ref(), listening.native);
        let native = node.native_address;
        let group = cluster.as_ref().map(Cluster::group).unwrap_or_default();
        let serving = Serving { node, boot_word: boot.word, group, ring, access, epoch, low_bound };
        self.all(&Command::Serve(serving.into())).await?;
        self.all(&Command::Retire).await?;
        let server = self.local.server.borrow().clone();
        let server = server.ok_or_else(|| NodeError::Shard { sentence: "shard 0 has no CQL server".to_owned() })?;
        let engine = self.local.engine.borrow().clone();
        if let (Some(listener), Some(engine)) = (for_peers, &engine) {
            engine.coordinator().accept_peers(listener);
        }
        let mut registered = Some(());
        if let (Some(cluster), Some(engine)) = (&cluster, &engine) {
            cluster.serve(engine, native).await;
        }
        // A delivery may have to follow the cluster's state first.
        self.all(&Command::FinishBatches).await?;
        if let Some(cluster) = &cluster {
            registered = self.unless_terminated(cluster.register()).await.transpose()?;
        }
        self.accept_maintenance(&server)?;
        if registered.is_some() {
            registered = self.unless_terminated(self.ensure_superuser()).await.transpose()?;
        }
        let mut failed = Ok(());
        let accepted = registered.map(|()| server.accept(listeners));
        if let Some(Err(error)) = accepted {
            failed = Err(error.into());
        } else if accepted.is_some() {
            if let (Some(cluster), Some(engine)) = (&cluster, &engine) {
                cluster.accept_clients(engine);
            }
            let (reactor, shards) = (self.runtime.reactor_name(), self.runtime.shard_count());
            ready(Ready { listening, reactor, shards, boot: boot.number });
            failed = self.serve_clients(&server, cluster.as_ref()).await;
        }
        server.stop_accepting();
        if let Some(cluster) = cluster {
            cluster.stop_accepting_clients();
            cluster.hand_over().await;
            cluster.stop_accepting();
        }
        if let Some(engine) = engine {
            engine.coordinator().stop_accepting_peers();
        }
        let drained = self.all(&Command::Drain).await;
        failed.and(drained.and(self.all(&Command::Sync).await))
    }

    /// Makes the first superuser, where clients log in.
    async fn ensure_superuser(&self) -> Result<(), NodeError> {
        let (engine, hasher) = (self.local.engine.borrow().clone(), self.local.hasher.borrow().clone());
        let access = &self.config.access;
        let Some((engine, hasher)) = engine.zip(hasher).filter(|_| access.authenticator.requires_login()) else {
            return Ok(());
        };
        let (runtime, data_dir) = (&self.runtime, self.config.data_dir.as_path());
        FirstSuperuser { runtime, access, data_dir, engine: &engine, hasher: &hasher }.ensure().await
    }

    /// Serves the owner of the process on the maintenance socket. Without a path of the configuration's a node does without, where none can be made.
    fn accept_maintenance(&self, server: &Server) -> Result<(), NodeError> {
        let access = &self.config.access;
        let Some(path) = &access.maintenance_socket else { return Ok(()) };
        match UnixListener::bound(&self.runtime, path) {
            Ok(listener) => {
                server.accept_maintenance(listener);
                tracing::info!(path = %path.display(), "maintenance socket listening");
                Ok(())
            }
            Err(source) if access.is_socket_given => Err(NodeError::MaintenanceSocket { path: path.clone(), source }),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "maintenance socket not started; set maintenance_socket to another path");
                Ok(())
            }
        }
    }

    /// Refuses a node that does not know where the data of a keyspace is.
    fn check_strategies(&self, schema: &Schema) -> Result<(), NodeError> {
        for keyspace in schema.keyspaces().values() {
            self.config.strategies.rules(keyspace.strategy()).map_err(|error| NodeError::Strategy {
                keyspace: keyspace.name().to_owned(),
                problem: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// Refuses a node that is alone and whose keyspaces are replicated in another datacenter than its own. The cluster judges nodes that are of one.
    fn check_datacenter(&self, schema: &Schema) -> Result<(), NodeError> {
        let datacenter = &self.config.datacenter;
        let named = schema.keyspaces().values().filter_map(|keyspace| match keyspace.strategy() {
            ReplicationStrategy::NetworkTopology { datacenters } => Some(datacenters.keys()),
            _ => None,
        });
        let named: BTreeSet<&String> = named.flatten().collect();
        let is_alone = self.config.cluster.is_none() && self.config.fixed_ring.is_none();
        match named.first() {
            Some(previous) if is_alone && !named.contains(datacenter) => {
                let (datacenter, previous) = (datacenter.clone(), (*previous).clone());
                Err(NodeError::Cluster { sentence: PlanError::OtherDatacenter { datacenter, previous }.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Waits for other nodes; `None` if the process has to end before.
    async fn unless_terminated<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let signalled = async {
            let signal = self.runtime.termination().await;
            tracing::info!(?signal, "shutting down before the node is of its cluster");
            None
        };
        first(async { Some(work.await) }, signalled).await
    }

    /// Serves clients until the node is to end. One that leaves the cluster ends them when its ranges have moved, before the other nodes refuse it: what it does for them
    /// would fail.
    async fn serve_clients(&self, server: &Server, cluster: Option<&Cluster>) -> Result<(), NodeError> {
        let Some(of) = cluster else { return self.ended(None).await };
        let ended = async { Some(self.ended(cluster).await) };
        let moved = async {
            of.ranges_moved().await;
            None
        };
        if let Some(ended) = first(ended, moved).await {
            return ended;
        }
        server.stop_accepting();
        self.all(&Command::EndClients).await?;
        of.stop_accepting_clients();
        tracing::info!("this node's ranges have moved; it serves no clients any more");
        self.ended(cluster).await
    }

    /// Waits until the node is to end: by a signal, since its cluster does not accept it, or since it was decommissioned.
    async fn ended(&self, cluster: Option<&Cluster>) -> Result<(), NodeError> {
        let signalled = async {
            let signal = self.runtime.termination().await;
            tracing::info!(?signal, "shutting down; completing requests in flight, then syncing the commit log");
            Ok(())
        };
        match cluster {
            None => signalled.await,
            Some(cluster) => first(signalled, cluster.ended()).await,
        }
    }

    /// Lets every other shard's main return, and the own steps end.
    pub(super) async fn end_all(&self) {
        if let Err(error) = self.all(&Command::End).await {
            tracing::error!(%error, "shard shutdown failed");
        }
    }

    /// Has all shards take a step side by side; the first error of any.
    async fn all(&self, command: &Command) -> Result<(), NodeError> {
        let calls: Vec<_> = (0..self.runtime.shard_count())
            .map(|shard| {
                let (mesh, command) = (self.mesh.clone(), command.clone());
                self.runtime.spawn(Group::Query, async move { mesh.call(ShardId(shard), command).await })
            })
            .collect();
        let mut result = Ok(());
        for call in calls {
            let answer = call.await.unwrap_or_else(|gone| Err(gone.to_string()));
            result = result.and(answer);
        }
        result.map_err(|sentence| NodeError::Shard { sentence })
    }

    /// Refuses a folder that holds data and whose metadata log is lost, before anything is written to it: a new log would have all
    /// tables taken for dropped ones at the next start.
    ///
    /// The data is looked for first: another process that is at its first start makes the log before any data.
    pub(super) async fn check_metadata(&self) -> Result<(), NodeError> {
        let dir = &self.config.data_dir;
        let found = storage::find_data(&self.runtime, dir).await;
        let Some(data) = found.map_err(|source| NodeError::Folder { dir: dir.clone(), source })? else { return Ok(()) };
        let problem = match MetadataLog::look(&self.runtime, dir, &domains()).await {
            Ok(FoundLog::Missing) => "is missing",
            Ok(FoundLog::Headless) => "is empty or its first bytes are damaged",
            Ok(FoundLog::WithoutStart) => "contains no record",
            // What else is wrong with it is said when it is opened: as long as another process may be writing to it, nothing is sure.
            Ok(FoundLog::LastBoot(_)) | Err(_) => return Ok(()),
        };
        Err(NodeError::LostMetadata { dir: dir.clone(), data, problem })
    }

    /// The number of the last start, which the data may name and the metadata log not: one that was put back from a backup. That is
    /// refused unless the data is to be salvaged.
    async fn last_boot(&self) -> Result<u64, NodeError> {
        let dir = &self.config.data_dir;
        let FoundLog::LastBoot(in_log) = MetadataLog::look(&self.runtime, dir, &domains()).await? else { return Ok(0) };
        let in_data = storage::last_boot_in_data(&self.runtime, dir).await;
        let in_data = in_data.map_err(|error| NodeError::Shard { sentence: error.to_string() })?;
        if in_data > in_log {
            if !self.config.salvage_commitlog {
                return Err(NodeError::OldMetadata { dir: dir.clone(), in_data, in_log });
            }
            tracing::error!(in_data, in_log, "metadata log is older than the data; dropping tables that it lacks");
        }
        Ok(in_log.max(in_data))
    }

    /// Refuses a folder whose manifests are lost, before anything but the lock is written: SSTables that no manifest names would be passed
    /// over, and their rows be missing.
    async fn check_manifests(&self) -> Result<(), NodeError> {
        let (runtime, dir) = (&self.runtime, &self.config.data_dir);
        let lost = |problem: String| NodeError::LostManifests { dir: dir.clone(), problem };
        let failed = |error: OpenError| match error {
            OpenError::MissingManifest { .. } | OpenError::DamagedManifest { .. } => lost(error.to_string()),
            error => NodeError::Shard { sentence: error.to_string() },
        };
        let Some(doubtful) = storage::doubt_manifests(runtime, dir).await.map_err(failed)? else { return Ok(()) };
        let Some(state) = MetadataLog::peek(runtime, dir, &domains()).await? else { return Ok(()) };
        let LogState { local, cluster, .. } = state;
        let Some(host) = local.host_id else { return Ok(()) };
        let schema = with_state_table(cluster.of::<SchemaDomain>());
        let forgotten = doubtful.forgotten(runtime, dir, &schema, host, self.config.import_sstables).await;
        match forgotten.map_err(failed)? {
            Some(file) => Err(lost(format!("{}, and no manifest names {}", doubtful.problem, file.display()))),
            None => Ok(()),
        }
    }

    /// Makes the data folder and locks it against another process. A process that was killed is waited for a moment: the
    /// kernel may still be ending it when the next one starts.
    pub(super) async fn lock_folder(&self) -> Result<FileLock, NodeError> {
        const TRIES: u32 = 10;
        const REST: Duration = Duration::from_millis(20);
        let dir = &self.config.data_dir;
        let unusable = |source| NodeError::Folder { dir: dir.clone(), source };
        self.runtime.create_dir_all(dir).await.map_err(unusable)?;
        if !MetadataLog::exists(&self.runtime, dir).await.map_err(unusable)? {
            self.sync_names_of(dir).await.map_err(unusable)?;
        }
        let path = dir.join(LOCK_FILE);
        for _ in 0..TRIES {
            if let Some(lock) = self.runtime.lock_file(&path).await.map_err(unusable)? {
                return Ok(lock);
            }
            self.runtime.sleep(REST).await;
        }
        Err(NodeError::InUse { dir: dir.clone() })
    }

    /// Makes the names of a new data folder, and of the folders above it, outlast a power cut: with one of them all that is in it
    /// would go. Done until there is a metadata log, since an earlier start may have been killed before it was done.
    async fn sync_names_of(&self, dir: &Path) -> io::Result<()> {
        for parent in dir.ancestors().skip(1) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            match self.runtime.sync_dir(parent).await {
                // A folder that this user may not read, or on a file system that syncs no folders, was there before.
                Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput) => break,
                result => result?,
            }
        }
        Ok(())
    }

    /// Reads the metadata log; the first start makes the node's identity and founds its group, and each start counts itself before anything
    /// else is written, so that positions of different starts are never taken for each other. `None` if the
    /// process has to end before the node has a group.
    async fn open_metadata(&self) -> Result<Option<Metadata>, NodeError> {
        let (dir, planted) = (Path::new(&self.config.data_dir), self.config.planted);
        let last_boot = self.last_boot().await?;
        self.check_manifests().await?;
        let opened = MetadataLog::open_planted(&self.runtime, dir, &domains(), planted).await?;
        let Opened { state: LogState { local, .. }, .. } = &opened;
        let given = self.config.fixed_ring.as_ref().map(|ring| ring.host_id);
        let host_id = match (local.host_id, given) {
            (Some(id), Some(given)) if given != id => {
                let problem = format!("fixed ring: host id {given} does not match host id {id} of the data directory");
                return Err(NodeError::FixedRing { problem });
            }
            (known, given) => known.or(given).unwrap_or_else(|| random_host_id(&self.runtime)),
        };
        let mut boot = local.boot.unwrap_or(0).max(last_boot);
        if boot == 0 || !planted.is(Bug::BootNotAdvanced) {
            boot += 1;
        }
        let boot = Boot { number: boot, word: self.runtime.random_u64() };
        let draw = || u128::from(self.runtime.random_u64());
        let registry = opened.state.cluster.of::<TopologyDomain>();
        let others = registry.nodes().filter(|(id, _)| *id != host_id).count();
        if registry.has_left(host_id) {
            return Err(NodeError::Cluster { sentence: Refusal::Removed { host_id }.to_string() });
        }
        if others > 0 && self.config.cluster.is_none() && given.is_none() {
            // It would answer clients by itself, and no other node would have what it acknowledges.
            let dir = dir.to_owned();
            return Err(NodeError::NoSeeds { dir, others });
        }
        let has_others = others > 0;
        let start = Start::new(host_id, boot.number, draw() << 64 | draw()).planted(planted).among_others(has_others);
        let entering = self.enter_cluster(&opened, (host_id, boot), start.group);
        let Some((node, way)) = self.unless_terminated(entering).await.transpose()? else { return Ok(None) };
        let mut started = opened.start(start, way, &domains()).await?;
        self.truncate_what_is_pending(&mut started, boot.number).await?;
        let Started { parts, local, cluster } = started;
        if let Some(node) = &node {
            node.set_group(parts.member.group());
        }
        let nodes = cluster.of::<TopologyDomain>().nodes_of_ring(host_id);
        let epoch = Epoch(parts.member.state().epoch().0);
        let operations = cluster.of::<OperationsDomain>();
        let (tenure, operations): (u64, Vec<Operation>) =
            (operations.tenure(host_id), operations.all().cloned().collect());
        let ring = nodes.filter(|_| node.is_some());
        let ring = ring.map(|(nodes, local)| RingParts { epoch, nodes, local, operations, tenure });
        let (schema, truncations) = (cluster.of::<SchemaDomain>().clone(), truncations_of(&local));
        Ok(Some(Metadata { parts, host_id, boot, cluster: node, ring, schema, truncations }))
    }

    /// Makes truncations durable that were decided while the node was down, or which it had no time to carry out, before any data is read.
    async fn truncate_what_is_pending(&self, started: &mut Started, boot: u64) -> Result<(), NodeError> {
        let dir = &self.config.data_dir;
        let found = storage::shards_in_data(&self.runtime, dir).await;
        let mut shards = found.map_err(|source| NodeError::Folder { dir: dir.clone(), source })?;
        shards.extend(0..self.runtime.shard_count());
        let pending = pending_truncations(&started.cluster, &started.local, (boot, &shards), self.config.planted);
        if !pending.is_empty() {
            tracing::info!(tables = pending.len(), "truncating tables, as was decided before this start");
            started.truncate(pending).await?;
        }
        Ok(())
    }

    /// Finds the cluster that the node is to be of, if it is to be of one with others.
    async fn enter_cluster(
        &self,
        opened: &Opened,
        identity: (HostId, Boot),
        group: u128,
    ) -> Result<(Option<Cluster>, Way), NodeError> {
        let Some(config) = &self.config.cluster else { return Ok((None, Way::OwnOrFounded)) };
        let cluster = Cluster::open(&self.runtime, &self.config, config, identity).await?;
        let is_empty = |state: &ClusterState| {
            let others = state.of::<TopologyDomain>().nodes().filter(|(id, _)| *id != identity.0).count();
            others == 0 && state.of::<SchemaDomain>().keyspaces().is_empty()
        };
        let is_only_seed = config.seeds.iter().all(|seed| *seed == config.broadcast);
        let LogState { cluster: state, group: found, .. } = &opened.state;
        let way = match config.recover {
            Some(Recover::Begin) => cluster.recover(found, state, self.runtime.random_u64()).await?,
            Some(Recover::Follow(at)) => cluster.follow_recovery(found, at).await?,
            None => match opened.group_to_keep(|state| is_empty(state) && !is_only_seed) {
                Some(group) => {
                    // Others ask already, and a seed among them may found one if this node is of none.
                    cluster.set_group(group);
                    Way::OwnOrFounded
                }
                None => cluster.find_group(opened, group).await?,
            },
        };
        Ok((Some(cluster), way))
    }

    fn node_info(&self, host_id: HostId, boot: u64, ring: Option<&RingParts>, native: SocketAddr) -> NodeInfo {
        let mut native_address = native;
        if let Some(address) = self.config.broadcast {
            native_address.set_ip(address);
        }
        let fixed = self.config.fixed_ring.as_ref().and_then(FixedRing::local).map(|(_, node)| node);
        let cluster = self.config.cluster.as_ref();
        let place = fixed.map(|node| (&node.datacenter, &node.rack));
        let (datacenter, rack) = place.unwrap_or((&self.config.datacenter, &self.config.rack));
        let tokens = fixed.map(|node| node.tokens.clone()).or(ring.map(|ring| ring.local_node().tokens.clone()));
        let internode = fixed.map(|node| node.internode).or(cluster.map(|cluster| cluster.broadcast));
        NodeInfo {
            cluster_name: self.config.cluster_name.clone(),
            datacenter: datacenter.clone(),
            rack: rack.clone(),
            host_id,
            tokens: tokens.unwrap_or_else(|| self.config.tokens.of_node_alone(host_id)),
            native_address,
            // A node that is alone has no port for others; Cassandra shows one all the same.
            listen_address: internode.unwrap_or(SocketAddr::new(native.ip(), STORAGE_PORT)),
            boot,
            settings: self.config.shown(),
        }
    }

    /// The port for other nodes, if there are any.
    async fn listen_for_peers(&self) -> Result<Option<TcpListener>, NodeError> {
        let Some((_, node)) = self.config.fixed_ring.as_ref().and_then(FixedRing::local) else { return Ok(None) };
        let address = node.internode;
        match self.runtime.listen(address).await {
            Ok(listener) => Ok(Some(listener)),
            Err(source) => Err(NodeError::Listen(ListenError::Refused { address, source })),
        }
    }
}

/// The outcome of whichever ends first.
async fn first<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(outcome) => Poll::Ready(outcome),
        Poll::Pending => other.as_mut().poll(context),
    })
    .await
}

/// A random UUID, version 4.
fn random_host_id(runtime: &Runtime) -> HostId {
    let mut id = [0; 16];
    let (high, low) = id.split_at_mut(8);
    high.copy_from_slice(&runtime.random_u64().to_be_bytes());
    low.copy_from_slice(&runtime.random_u64().to_be_bytes());
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    HostId(id)
}
