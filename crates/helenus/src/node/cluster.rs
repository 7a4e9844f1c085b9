//! This node among the others of its cluster, on shard 0: it finds its group, and keeps the connections by which the group agrees.
//!
//! The decisions are made elsewhere: to found, join or wait by [`membership::Search`], who may be talked to by [`membership::judge`], the voters by
//! [`topology::voters`], and the order of changes by the group's member, whose driver is the engine's. Here is what carries them out: the port for other
//! nodes and its verbs (`answers.rs`), the search (`search.rs`), recovery (`recover.rs`), the addresses of nodes that move (`contact.rs`, `moved.rs`),
//! disks that are older than they were (`disks.rs`), operations that move ranges (`operations.rs`), liveness (`alive.rs`, `vital.rs`), departures (`leaving.rs`, `departures.rs`), the operators' view (`facts.rs`), the events of nodes for clients (`announced.rs`), and what is done at intervals (`upkeep.rs`).

mod alive;
mod announced;
mod answers;
mod contact;
pub(super) mod departures;
mod disks;
mod driving;
pub(super) mod exchanging;
mod facts;
mod leaving;
mod low_bound;
mod moved;
mod operations;
pub(super) mod operations_asked;
pub(super) mod rebuilding;
mod recover;
mod search;
mod token_count;
mod tries;
pub(super) mod upgrade;
mod upkeep;
mod vital;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::time::Duration;

use internode::{
    ANY_NODE, Boot, Control, GroupTag, Incoming, LocalNode, News, Other, PeerSocket, Verdict, listen_for_peers,
};
use membership::{Liveness, LogEnd, Registration, Request, Search};
use metadata::group::{Answer, Driver, GroupId, GroupMessage, GroupWire, Index, NodeId, host_id, node_id};
use planted::Planted;
use query::{Engine, GroupLinks, MEMBERSHIP, announce_node, log_ends};
use raft::RoleName;
use runtime::sync::Notify;
use runtime::{Group, Mesh, Runtime, TaskHandle};
use server::ListenError;
use tls::Identity;
use topology::nodes::{self, NodeState, RegisteredNode, Registry};
use topology::operations::Operations;
use topology::{HostId, Strategies};

use self::announced::Announced;
use self::disks::Disks;
use self::driving::Driving;
use self::leaving::Leaving;
pub(super) use self::leaving::LeavingError;
use self::moved::Moved;
use self::vital::Vital;
use super::NodeError;
use crate::config::{ClusterConfig, Config, Tokens};

/// Limit of the time in which another node takes over leadership at this one's end.
const HAND_OVER: Duration = Duration::from_millis(500);
/// The same where the cluster has refused.
const AGAIN_REFUSED: Duration = Duration::from_secs(60);
/// The sentence of a node that ends since it was removed.
const REMOVED: &str = "this node was removed from the cluster and is never accepted again; to join as a new node, start with an empty data directory";
/// Between two tries of a registration.
const AGAIN: Duration = Duration::from_millis(500);

/// The node's part in its cluster. Clones are the same.
#[derive(Clone)]
pub(super) struct Cluster {
    inner: Rc<Inner>,
}

struct Inner {
    /// Itself, for tasks that outlive a call.
    own: Weak<Inner>,
    runtime: Runtime,
    config: ClusterConfig,
    /// Datacenter and rack.
    place: (String, String),
    tokens: Tokens,
    local: LocalNode,
    boot: Boot,
    /// Where clients reach the node, as far as that is known before its port is open.
    native: Cell<SocketAddr>,
    control: Control,
    incoming: Incoming,
    wire: RefCell<GroupWire>,
    /// Ends when the node has a group.
    search: RefCell<Search>,
    group: Cell<Option<GroupId>>,
    /// The end of the log, while the node recovers.
    log_end: Cell<Option<LogEnd>>,
    driver: OnceCell<Driver>,
    disks: Disks,
    is_reporting: Cell<bool>,
    is_finalizing: Cell<bool>,
    planted: Planted,
    registry: RefCell<Registry>,
    moved: RefCell<Moved>,
    /// The others as this node judges them. One that is up has said how far its disk is: that comes before all else.
    liveness: RefCell<Liveness>,
    /// Facts of all nodes for operators, this one's too.
    vital: Vital,
    /// Nodes that say that they do not vote.
    lost: RefCell<BTreeSet<HostId>>,
    /// This node accepts clients.
    is_ready: Cell<bool>,
    /// Other nodes that accept clients, or answer some still, as their last answers say.
    serving: RefCell<BTreeSet<HostId>>,
    announced: RefCell<Announced>,
    leaving: Leaving,
    driving: Rc<Driving>,
    strategies: Strategies,
    /// Signalled when there may be an event for clients.
    has_events: Notify,
    /// Signalled when nodes or operations have changed.
    has_news: Notify,
    requests: Rc<OnceCell<Mesh<PeerSocket, ()>>>,
    accepting: RefCell<Option<TaskHandle<()>>>,
    /// The sentence that ends the node.
    fatal: RefCell<Option<String>>,
    is_fatal: Notify,
}

impl Cluster {
    /// Opens the port for other nodes. The node is of no group yet, or of one that its log names.
    pub(super) async fn open(
        runtime: &Runtime,
        config: &Config,
        cluster: &ClusterConfig,
        (host_id, boot): (HostId, Boot),
    ) -> Result<Cluster, NodeError> {
        let address = cluster.listen;
        let listener = runtime.listen(address).await;
        let listener = listener.map_err(|source| NodeError::Listen(ListenError::Refused { address, source }))?;
        let (name, secret) = (config.cluster_name.clone(), config.internode_secret.clone());
        let local = LocalNode::new(host_id, name, boot, secret, config.internode_compression);
        local.set_connect_time(config.timeouts.connect);
        config.internode_tls.iter().for_each(|credentials| local.use_tls(credentials.identity(runtime)));
        let mut native = config.listen.native.address;
        native.set_ip(config.broadcast.unwrap_or(native.ip()));
        let inner = Rc::new_cyclic(|of: &Weak<Inner>| {
            let watching = of.clone();
            let watch = move |host_id, news: News<'_>| {
                if let Some(inner) = watching.upgrade() {
                    inner.hear(host_id, news);
                }
            };
            Inner {
                own: of.clone(),
                runtime: runtime.clone(),
                config: cluster.clone(),
                place: (config.datacenter.clone(), config.rack.clone()),
                tokens: config.tokens.clone(),
                local: local.clone(),
                boot,
                native: Cell::new(native),
                control: Control::new(runtime, local, Rc::new(watch)),
                incoming: Incoming::for_all(),
                wire: RefCell::new(GroupWire::new()),
                search: RefCell::new(Search::new(host_id, cluster.broadcast, cluster.seeds.clone())),
                group: Cell::new(None),
                log_end: Cell::new(None),
                driver: OnceCell::new(),
                disks: Disks::new(&config.data_dir, config.planted),
                is_reporting: Cell::new(false),
                is_finalizing: Cell::new(false),
                planted: config.planted,
                registry: RefCell::default(),
                moved: RefCell::default(),
                liveness: RefCell::new(Liveness::new(cluster.phi_convict_threshold, config.planted, runtime.now())),
                vital: Vital::new(runtime),
                lost: RefCell::default(),
                is_ready: Cell::new(false),
                serving: RefCell::default(),
                announced: RefCell::default(),
                leaving: Leaving::default(),
                driving: Rc::default(),
                strategies: config.strategies.clone(),
                has_events: Notify::new(),
                has_news: Notify::new(),
                requests: Rc::default(),
                accepting: RefCell::default(),
                fatal: RefCell::default(),
                is_fatal: Notify::new(),
            }
        });
        let listening = inner.listening();
        let accepting = runtime.spawn(Group::Query, listen_for_peers(runtime.clone(), listener, listening));
        *inner.accepting.borrow_mut() = Some(accepting);
        Ok(Cluster { inner })
    }

    /// The way from the engine to the other nodes.
    pub(super) fn links(&self) -> Rc<dyn GroupLinks> {
        Rc::new(Links(Rc::downgrade(&self.inner)))
    }

    /// The node is of this group, as its greetings say from now on.
    pub(super) fn set_group(&self, group: GroupId) {
        self.inner.group.set(Some(group));
        self.inner.local.set_group(GroupTag { id: group.id, incarnation: group.incarnation });
    }

    /// Connections that shard 0 dials from now on, for heartbeats and the group, have this time.
    pub(super) fn set_connect_time(&self, time: Duration) {
        self.inner.local.set_connect_time(time);
    }

    /// The certificates of this shard, which follow their files.
    pub(super) fn tls(&self) -> Option<Identity> {
        self.inner.local.tls().cloned()
    }

    /// The node's group, as greetings have it.
    pub(super) fn group(&self) -> GroupTag {
        self.inner.local.group()
    }

    /// The engine runs: messages of the group have a receiver, and connections for requests have shards.
    pub(super) async fn serve(&self, engine: &Engine, native: SocketAddr) {
        let (inner, driver) = (&self.inner, engine.group());
        inner.native.set(native);
        inner.requests.set(engine.coordinator().peer_sockets()).ok().expect("the engine is made once");
        inner.disks.load(&inner.runtime, inner.local.group().id).await;
        inner.look_at_own_disk(engine).await;
        inner.driver.set(driver.clone()).ok().expect("the engine is made once");
        let (epoch, state) = driver.with_member(|member, _| {
            let state = member.state();
            (state.epoch(), state.cluster().clone())
        });
        inner.follow(epoch, state.of::<membership::TopologyDomain>(), state.of::<membership::OperationsDomain>());
        contact::ask_seeds(inner);
        upkeep::begin(inner, engine);
    }

    /// Clients are accepted from now on: the others hear of it with the next heartbeat, and clients of what becomes of the others.
    pub(super) fn accept_clients(&self, engine: &Engine) {
        let inner = &self.inner;
        inner.is_ready.set(true);
        inner.announced.borrow_mut().begin();
        let (of, has_events, engine) = (Rc::downgrade(inner), inner.has_events.clone(), engine.clone());
        drop(inner.runtime.spawn(Group::Query, async move {
            while let Some(inner) = of.upgrade() {
                let event = inner.announced.borrow_mut().next();
                drop(inner);
                match event {
                    Some(event) => announce_node(&engine, event).await,
                    None => has_events.notified().await,
                }
            }
        }));
    }

    /// Waits until this node's ranges have moved, if it leaves.
    pub(super) async fn ranges_moved(&self) {
        let inner = &self.inner;
        let has_moved = || {
            let registry = inner.registry.borrow();
            let own = registry.node(inner.local.host_id());
            own.is_some_and(|node| node.state == NodeState::Leaving && node.tokens.is_empty())
        };
        while !has_moved() {
            inner.has_news.notified().await;
        }
    }

    /// No further clients are accepted.
    pub(super) fn stop_accepting_clients(&self) {
        self.inner.is_ready.set(false);
    }

    /// Registers this start. Waits for it where the cluster does not know the node yet, and then until the node owns its tokens: a node that joins has no data to
    /// answer with.
    pub(super) async fn register(&self) -> Result<(), NodeError> {
        let is_known = self.inner.registry.borrow().node(self.inner.local.host_id()).is_some();
        if self.register_start(is_known).await? {
            self.joined().await?;
        }
        Ok(())
    }

    /// Waits until the node owns its tokens, if it joins.
    async fn joined(&self) -> Result<(), NodeError> {
        let inner = &self.inner;
        let is_joining = || {
            let registry = inner.registry.borrow();
            registry.node(inner.local.host_id()).is_none_or(|node| node.state == NodeState::Joining)
        };
        if is_joining() {
            tracing::info!("joining the cluster; waiting for this node's ranges to be copied");
        }
        while is_joining() {
            if let Some(sentence) = inner.fatal.borrow().clone() {
                return Err(NodeError::Cluster { sentence });
            }
            inner.has_news.notified().await;
        }
        Ok(())
    }

    /// True if the node has to wait until it is one of the cluster with tokens.
    async fn register_start(&self, is_known: bool) -> Result<bool, NodeError> {
        let inner = Rc::clone(&self.inner);
        let registering = self.inner.runtime.spawn(Group::Query, async move {
            let result = inner.register().await;
            if let Err(sentence) = &result {
                inner.fail(sentence.clone());
            }
            result
        });
        let own = self.inner.local.host_id();
        let is_joining = || self.inner.registry.borrow().node(own).is_some_and(|node| node.state == NodeState::Joining);
        match is_known {
            true => Ok(is_joining()),
            false => registering.await.map(|()| true).map_err(|sentence| NodeError::Cluster { sentence }),
        }
    }

    /// Waits until the node is to end: by a sentence that says why, or since its operator has taken it out of the cluster.
    pub(super) async fn ended(&self) -> Result<(), NodeError> {
        loop {
            if let Some(sentence) = self.inner.fatal.borrow().clone() {
                return Err(NodeError::Cluster { sentence });
            }
            if self.inner.leaving.is_over() {
                return Ok(());
            }
            self.inner.is_fatal.notified().await;
        }
    }

    /// Hands leadership of the group to another voter, if this node leads, and waits a moment for that: the others need not notice its end first.
    pub(super) async fn hand_over(&self) {
        let inner = &self.inner;
        let Some(driver) = inner.driver.get() else { return };
        inner.keep_reports().await;
        let begun = driver.with_member(|member, _| {
            let voters = member.raft().configuration().voters();
            let heir = voters
                .filter(|voter| inner.is_up(host_id(*voter)) && inner.may_vote(host_id(*voter)))
                .max_by_key(|voter| member.epoch_of(*voter));
            heir.is_some_and(|heir| member.transfer(heir).is_ok())
        });
        let leads = || driver.with_member(|member, _| member.raft().role() == RoleName::Leader);
        let until = inner.runtime.now() + HAND_OVER;
        while begun && leads() && inner.runtime.now() < until {
            inner.runtime.sleep(HAND_OVER / 50).await;
        }
    }

    /// Accepts no further connections of other nodes.
    pub(super) fn stop_accepting(&self) {
        if let Some(accepting) = self.inner.accepting.take() {
            accepting.abort();
        }
    }
}

/// The cluster as the engine knows it. It does not keep it: the cluster has the engine's driver.
struct Links(Weak<Inner>);

impl GroupLinks for Links {
    fn send(&self, to: NodeId, message: GroupMessage) {
        if let Some(inner) = self.0.upgrade() {
            inner.send(to, &message);
        }
    }

    fn follow(&self, epoch: Index, registry: &Registry, operations: &Operations) {
        if let Some(inner) = self.0.upgrade() {
            inner.follow(epoch, registry, operations);
        }
    }

    fn is_up(&self, host_id: HostId) -> bool {
        self.0.upgrade().is_some_and(|inner| host_id == inner.local.host_id() || inner.is_up(host_id))
    }
}

impl Inner {
    fn send(&self, to: NodeId, message: &GroupMessage) {
        if !self.is_up(host_id(to)) {
            return;
        }
        let bodies = self.wire.borrow_mut().encode(to, message);
        match bodies {
            Ok(bodies) => bodies.into_iter().for_each(|body| self.control.send(host_id(to), body)),
            Err(error) => tracing::error!(host = %host_id(to), %error, "metadata message not sent"),
        }
    }

    /// Follows the nodes of the cluster: dials those that are new.
    fn follow(&self, epoch: Index, registry: &Registry, operations: &Operations) {
        self.driving.note(operations);
        self.local.set_epoch(epoch.0);
        self.incoming.set_epoch(epoch.0);
        let driver = self.driver.get();
        let votes =
            |id| driver.is_some_and(|of| of.with_member(|member, _| member.raft().configuration().has(node_id(id))));
        leaving::check_departures(&self.registry.borrow(), registry, votes);
        if registry.has_left(self.local.host_id()) {
            self.removed(None);
        }
        self.registry.replace(registry.clone());
        self.has_news.notify_all();
        self.moved.borrow_mut().follow(registry);
        let others = registry.nodes().map(|(id, _)| id).filter(|id| *id != self.local.host_id());
        self.liveness.borrow_mut().follow(others, self.runtime.now());
        self.vital.follow(registry);
        self.announced.borrow_mut().follow(self.local.host_id(), registry);
        self.has_events.notify();
        self.dial();
        self.set_peers();
    }

    /// Dials the other nodes, each where it was last known to be.
    fn dial(&self) {
        let (registry, moved) = (self.registry.borrow(), self.moved.borrow());
        let others = registry.nodes().filter(|(id, _)| *id != self.local.host_id());
        let at = |id, registered| moved.address_of(id).unwrap_or(registered);
        let other = |(host_id, node): (HostId, &RegisteredNode)| Other {
            host_id,
            address: at(host_id, node.start.internode.into()),
            is_in_other_datacenter: node.datacenter != self.place.0,
        };
        let others: Vec<Other> = others.map(other).collect();
        drop((registry, moved));
        self.control.follow(others);
    }

    /// Gives the member the other nodes, and which of them are up.
    fn set_peers(&self) {
        let Some(driver) = self.driver.get() else { return };
        let peers: Vec<(NodeId, bool)> =
            self.registry.borrow().nodes().map(|(id, _)| (node_id(id), self.is_up(id))).collect();
        driver.with_member(|member, _| member.set_peers(peers));
    }

    /// News of a node that this one dials.
    fn hear(&self, host_id: HostId, news: News<'_>) {
        match news {
            News::Up(_) => self.greeted(host_id),
            News::Down => self.disconnected(host_id),
            News::Refused(verdict) => self.refused(host_id, verdict),
        }
    }

    /// A start of a node is ready for clients, or none is. Answers on the connection that this node dials say so, in their order; heartbeats of the
    /// connection that the other one dials may be overtaken by them.
    fn hear_ready(&self, host_id: HostId, ready: Option<u64>) {
        match ready {
            Some(_) => self.serving.borrow_mut().insert(host_id),
            None => self.serving.borrow_mut().remove(&host_id),
        };
        // Until its start is registered, clients have no address of a node that has moved.
        let is_moved = self.moved.borrow().address_of(host_id).is_some();
        let is_up = self.is_up(host_id);
        if self.announced.borrow_mut().hear(host_id, ready.filter(|_| is_up && !is_moved)) {
            self.has_events.notify();
        }
    }

    fn refused(&self, host_id: HostId, verdict: Verdict) {
        match verdict {
            Verdict::Removed => self.removed(Some(host_id)),
            Verdict::OldDisk => self.fail(format!(
                "the data of this node is older than the cluster knows it: its disk was restored from a copy; start with an empty data directory and --replace {}",
                self.local.host_id()
            )),
            Verdict::OtherGroup => {
                let group = self.group.get().map_or_else(String::new, |group| group.to_string());
                tracing::error!(
                    host = %host_id, group,
                    "node is of another metadata group, or of another incarnation of this one; clusters never merge: if the group was recovered, start the others with --recover-metadata"
                );
            }
            verdict => tracing::warn!(host = %host_id, ?verdict, "connection to node refused; retrying"),
        }
    }

    /// A node that is asked for its cluster refuses this one.
    fn refused_by_seed(&self, at: SocketAddr, verdict: Verdict) {
        match verdict {
            // By this name it has dialled itself.
            Verdict::OtherNode => {
                let mut search = self.search.borrow_mut();
                let own = search.introduction();
                search.answered_by(at, &own);
            }
            verdict => self.refused(ANY_NODE, verdict),
        }
    }

    /// The cluster has removed this node.
    fn removed(&self, by: Option<HostId>) {
        if self.leaving.removed(by) {
            stdx::sometimes!("removed node learns of it");
            self.fail(REMOVED.to_owned());
        }
    }

    fn fail(&self, sentence: String) {
        self.fatal.borrow_mut().get_or_insert(sentence);
        self.is_fatal.notify_all();
        self.has_news.notify_all();
    }

    /// This start, as the registry has it.
    fn registration(&self) -> Registration {
        let tokens = self.tokens.at_random(|| self.runtime.random_u64());
        Registration {
            host_id: self.local.host_id(),
            datacenter: self.place.0.clone(),
            rack: self.place.1.clone(),
            tokens,
            has_given_tokens: matches!(self.tokens, Tokens::Given(_)),
            is_without_copy: self.config.is_without_copy,
            replaces: self.config.replaces,
            start: nodes::Start {
                boot: nodes::Boot { number: self.boot.number, word: self.boot.word },
                internode: self.config.broadcast.into(),
                native: self.native.get().into(),
                shard_count: self.runtime.shard_count(),
                release: nodes::Release { major: 0, minor: 1, patch: 0 },
                features: self.config.features,
            },
        }
    }

    /// Registers this start with the group, however long that takes. Fails where it is refused.
    async fn register(&self) -> Result<(), String> {
        let registration = self.registration();
        registration.check().map_err(|error| error.to_string())?;
        loop {
            match self.propose(&Request::Register(registration.clone())).await {
                Answer::Applied { .. } => break,
                Answer::Refused { reason, .. } if reason.is_empty() => break,
                Answer::Refused { reason, .. } => return Err(String::from_utf8_lossy(&reason).into_owned()),
                answer => tracing::warn!(?answer, "registration of this start not answered; retrying"),
            }
            self.runtime.sleep(AGAIN).await;
        }
        tracing::info!(boot = self.boot.number, address = %self.config.broadcast, "registered this start with the cluster");
        let has = self.registry.borrow().node(self.local.host_id()).map(|node| (node.state, node.tokens.len()));
        if let (Some((NodeState::Normal, tokens)), Some(count)) = (has, self.config.token_count)
            && tokens != usize::from(count)
        {
            let driver = self.driver.get().expect("the engine runs");
            token_count::ask_for(&self.runtime, driver, self.local.host_id(), (tokens, count)).await;
        }
        Ok(())
    }

    /// True unless the node's disk is known to lack what it acknowledged.
    fn may_vote(&self, host_id: HostId) -> bool {
        !self.disks.is_older(host_id) && !self.lost.borrow().contains(&host_id)
    }

    /// Takes note of where this node's commit logs end, and of its schema.
    async fn look_at_own_disk(&self, engine: &Engine) {
        self.vital.note_schema(engine.schema().version());
        if let Some(ends) = log_ends(engine).await {
            self.disks.note_ends(ends);
        }
    }

    /// Makes durable what other nodes have reported of their disks.
    async fn keep_reports(&self) {
        let is_of_cluster = |id| self.registry.borrow().node(id).is_some();
        self.disks.keep(&self.runtime, self.local.group().id, is_of_cluster).await;
    }

    /// Has the cluster note this node's data as in doubt, and the node as regressed, if its disk is older than it was.
    fn report_older_disk(&self) {
        let Some(driver) = self.driver.get() else { return };
        let own = self.local.host_id();
        let has_lost_log = driver.with_member(|member, _| member.raft().is_lost());
        let is_due = self.disks.is_to_be_noted(&self.registry.borrow(), own, self.boot.number, has_lost_log);
        if !is_due || self.is_reporting.replace(true) {
            return;
        }
        let Some(inner) = self.own.upgrade() else { return };
        drop(self.runtime.spawn(Group::Query, async move {
            let mut rest = AGAIN;
            match inner.propose(&Request::SetState(own, NodeState::Regressed)).await {
                Answer::Applied { .. } => {
                    stdx::sometimes!("regressed node noted");
                    tracing::error!("this node is noted as regressed: its data is older than what it acknowledged");
                }
                Answer::Refused { reason, .. } => {
                    let reason = String::from_utf8_lossy(&reason);
                    tracing::error!(%reason, "this node is not noted as regressed; retrying in a minute");
                    rest = AGAIN_REFUSED;
                }
                answer => tracing::warn!(?answer, "this node is not noted as regressed yet; retrying"),
            }
            inner.runtime.sleep(rest).await;
            inner.is_reporting.set(false);
        }));
    }

    /// Proposes a change of the nodes.
    async fn propose(&self, request: &Request) -> Answer {
        let driver = self.driver.get().expect("the engine runs");
        let intention = [&[MEMBERSHIP][..], &request.to_bytes()].concat();
        driver.propose(driver.new_id(), intention).await
    }
}
