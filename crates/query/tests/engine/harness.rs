//! A node without sockets: engines on a real runtime, and a client that speaks frames to one of them.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use auth::networks::NetworkRules;
use auth::{Access, AccessChange, PasswordHash, Settings};
use cql_protocol::request::{Batch, BatchBuilder, BatchKind, BatchQuery, Execute, Prepare, Query, Request};
use cql_protocol::response::ResponsePrefix;
use cql_protocol::{
    Consistency, ErrorBody, Flags, FrameHeader, HEADER_LENGTH, Prepared, QueryParams, Response, ResultBody, Value,
    ValuesBuffer, Version,
};
use membership::{OperationsDomain, TopologyDomain};
use metadata::{Domains, MetadataLog, Opened, Start, Started, Way};
use planted::Planted;
use query::{
    AccessDomain, Engine, EngineOptions, EngineParts, EngineSeats, Guardrails, HasherIsBusy, Hashing, LowBoundDomain,
    NodeInfo, Outcome, PasswordHasher, SchemaDomain, Session, TruncationsDomain, engine_seats, pending_truncations,
    truncations_of,
};
use runtime::sync::oneshot;
use runtime::{MeshSeat, Options, Runtime, ShardId};
use schema::{Schema, SchemaChange};
use storage::{Shard, StorageOptions, Truncations};
use topology::{Epoch, HostId, Node, NodeIndex, Ring, Sharder, Token};

/// Aim for the longest poll. The tests' build is several times slower than the server's, whose polls the black-box suites look at.
const POLL_AIM: Duration = Duration::from_millis(25);

/// The settings of `AllowAllAuthenticator`.
const ALLOW_ALL: Settings = Settings { authenticates: false, has_passwords: false, authorizes: false };

/// The settings of `PasswordAuthenticator` and `CassandraAuthorizer`.
const SECURED: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };

/// Computes hashes at once, and refuses the password `busy`.
struct DirectHasher;

impl PasswordHasher for DirectHasher {
    fn hash(&self, password: String, _client: Option<SocketAddr>) -> Hashing<'_> {
        Box::pin(async move {
            match &*password {
                "busy" => Err(HasherIsBusy("Too many passwords are being hashed".to_owned())),
                password => Ok(PasswordHash::of_password(password, [7; 16])),
            }
        })
    }
}

/// A folder that goes when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("helenus-query-{name}-{}", std::process::id()));
        // What a killed run left behind is not this run's.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the temporary folder can be made");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What shard 0 reads from the metadata log and hands to all.
#[derive(Debug, Clone, Default)]
struct Boot {
    number: u64,
    /// The epoch of the state that the schema is of.
    epoch: Option<Epoch>,
    changes: Vec<SchemaChange>,
    access: Vec<AccessChange>,
    truncations: Truncations,
}

enum Command {
    Open(Boot),
    /// All are open: what an earlier shard count left may go.
    Retire,
    Drain,
    End,
}

/// The rules for a node's clients.
#[derive(Clone)]
struct Rules {
    guardrails: Guardrails,
    access: Settings,
    masks_enabled: bool,
    network_rules: NetworkRules,
}

impl Default for Rules {
    fn default() -> Self {
        let network_rules = NetworkRules::default();
        Rules { guardrails: Guardrails::default(), access: ALLOW_ALL, masks_enabled: false, network_rules }
    }
}

struct Seat {
    engine: EngineSeats,
    commands: MeshSeat<Command, ()>,
    dir: PathBuf,
    rules: Rules,
    alarm: Arc<AtomicBool>,
}

/// Tells the other shards that this one has panicked: they wait for it in vain, and would for ever.
struct Alarm(Arc<AtomicBool>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// Panics too once another shard has.
async fn heed(runtime: Runtime, alarm: Arc<AtomicBool>) {
    while !alarm.load(Relaxed) {
        runtime.sleep(Duration::from_millis(50)).await;
    }
    panic!("another shard has panicked");
}

/// Starts a node of `shards` on `dir`, runs `test` on its last shard, and ends the node in good order.
pub fn run_node<F, Fut>(dir: &Path, shards: u16, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    run_node_with(dir, shards, |client, _, _| test(client));
}

/// The same for a node with guardrails.
pub fn run_guarded<F, Fut>(dir: &Path, shards: u16, guardrails: &Guardrails, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    run(dir, shards, &Rules { guardrails: guardrails.clone(), ..Rules::default() }, |client, _, _| test(client));
}

/// The same for a node whose clients log in and whose permissions are checked.
pub fn run_secured<F, Fut>(dir: &Path, shards: u16, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    run_strict(dir, shards, NetworkRules::default(), test);
}

/// The same for one whose columns may have masks.
pub fn run_masking<F, Fut>(dir: &Path, shards: u16, masks_enabled: bool, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    run(dir, shards, &Rules { access: SECURED, masks_enabled, ..Rules::default() }, |client, _, _| test(client));
}

/// A node whose clients log in, and may do all that is no superuser's.
pub fn run_with_logins<F, Fut>(dir: &Path, shards: u16, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    let access = Settings { authorizes: false, ..SECURED };
    run(dir, shards, &Rules { access, ..Rules::default() }, |client, _, _| test(client));
}

/// [`run_secured`] with network rules.
pub fn run_strict<F, Fut>(dir: &Path, shards: u16, network_rules: NetworkRules, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    run(dir, shards, &Rules { access: SECURED, network_rules, ..Rules::default() }, |client, _, _| test(client));
}

/// The same for a test that looks below the engine.
pub fn run_node_with<F, Fut>(dir: &Path, shards: u16, test: F)
where
    F: Fn(Client, Runtime, Shard) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    run(dir, shards, &Rules::default(), test);
}

fn run<F, Fut>(dir: &Path, shards: u16, rules: &Rules, test: F)
where
    F: Fn(Client, Runtime, Shard) -> Fut + Send + Sync + Copy,
    Fut: Future<Output = ()>,
{
    let alarm = Arc::new(AtomicBool::new(false));
    let commands = runtime::mesh(shards, 4);
    let seats = engine_seats(shards).into_iter().zip(commands);
    let mains: Vec<_> = seats
        .map(|(engine, commands)| {
            let seat = Seat { engine, commands, dir: dir.to_path_buf(), rules: rules.clone(), alarm: alarm.clone() };
            move |runtime: Runtime| shard_main(runtime, seat, test)
        })
        .collect();
    runtime::run(Options::default(), mains).expect("the shards start");
}

async fn shard_main<F, Fut>(runtime: Runtime, seat: Seat, test: F)
where
    F: Fn(Client, Runtime, Shard) -> Fut,
    Fut: Future<Output = ()>,
{
    let _alarm = Alarm(seat.alarm.clone());
    runtime.spawn(runtime::Group::Query, heed(runtime.clone(), seat.alarm));
    let shards = runtime.shard_count();
    let log = match runtime.shard() {
        ShardId(0) => Some(MetadataLog::open(&runtime, &seat.dir, &domains()).await.expect("the metadata log opens")),
        _ => None,
    };
    let inbox = runtime::sync::Queue::new(4);
    let arriving = inbox.clone();
    let mesh = seat.commands.open(&runtime, move |_, command, responder| {
        assert!(arriving.try_push((command, responder)).is_ok(), "commands come one by one");
    });
    let mut metadata = None;
    if let Some(opened) = log {
        let started = start(&runtime, &seat.dir, opened).await;
        let boot = boot_of(&started);
        metadata = Some(started.parts);
        let (mesh, runtime) = (mesh.clone(), runtime.clone());
        let opener = runtime.clone();
        opener.spawn(runtime::Group::Query, async move {
            for shard in 0..runtime.shard_count() {
                mesh.call(ShardId(shard), Command::Open(boot.clone())).await.expect("the shards live");
            }
        });
    }
    let mut node: Option<Engine> = None;
    let mut engine_seat = Some(seat.engine);
    let mut storage = None;
    while let Ok((command, responder)) = inbox.pop().await {
        match command {
            Command::Open(boot) => {
                let opened = open(&runtime, &seat.dir, &boot).await;
                let engine = Engine::new(EngineParts {
                    runtime: runtime.clone(),
                    seats: engine_seat.take().expect("opened once"),
                    storage: opened.0.clone(),
                    schema: opened.1,
                    access: Access::default().with_all(&boot.access),
                    access_settings: seat.rules.access,
                    password_hasher: seat.rules.access.has_passwords.then(|| Rc::new(DirectHasher) as _),
                    ring: Rc::new(ring()),
                    operations: Vec::new(),
                    tenure: 0,
                    epoch: boot.epoch,
                    low_bound: Default::default(),
                    internode: None,
                    metadata: metadata.take(),
                    links: None,
                    options: EngineOptions {
                        masks_enabled: seat.rules.masks_enabled,
                        network_rules: seat.rules.network_rules,
                        ..EngineOptions::default()
                    },
                    guardrails: seat.rules.guardrails.clone(),
                    strategies: Default::default(),
                    node: node_info(boot.number),
                })
                .await;
                storage = Some(opened.0.clone());
                node = Some(engine.clone());
                responder.reply(());
                if runtime.shard().0 + 1 == shards {
                    for shard in (0..shards).filter(|shard| *shard != runtime.shard().0) {
                        mesh.call(ShardId(shard), Command::Retire).await.expect("the shards live");
                    }
                    opened.0.retire_old_segments().await.expect("old segments can be removed");
                    let client = Client::new(engine);
                    test(client, runtime.clone(), opened.0.clone()).await;
                    for command in [|| Command::Drain, || Command::End] {
                        for shard in (0..shards).filter(|shard| *shard != runtime.shard().0) {
                            mesh.call(ShardId(shard), command()).await.expect("the shards live");
                        }
                    }
                    if let Some(storage) = &storage {
                        storage.drain().await.expect("the log syncs");
                    }
                    break;
                }
            }
            Command::Retire => {
                if let Some(storage) = &storage {
                    storage.retire_old_segments().await.expect("old segments can be removed");
                }
                responder.reply(());
            }
            Command::Drain => {
                if let Some(storage) = &storage {
                    storage.drain().await.expect("the log syncs");
                }
                responder.reply(());
            }
            Command::End => {
                responder.reply(());
                break;
            }
        }
    }
    tell_longest_poll(&runtime);
    drop(node);
}

/// Prints how long the longest poll held the core. A machine that others use too charges a poll for more than it did, so only a soak fails by it.
fn tell_longest_poll(runtime: &Runtime) {
    let longest = runtime.stats().longest_poll;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let is_missed = longest > POLL_AIM;
    let missed = if is_missed { " MISSED" } else { "" };
    println!(
        "figure: {:.1} ms held by the engine's longest poll (aim {:.1} ms){missed}",
        millis(longest),
        millis(POLL_AIM)
    );
    let is_judged = std::env::var_os("HELENUS_SOAK").is_some();
    assert!(!is_missed || !is_judged, "a turn of the loop took too long: {longest:?}");
}

/// The domains of a node.
pub fn domains() -> Domains {
    let of_nodes = Domains::none().with::<TopologyDomain>().with::<OperationsDomain>();
    let of_tables = of_nodes.with::<SchemaDomain>().with::<TruncationsDomain>().with::<LowBoundDomain>();
    of_tables.with::<AccessDomain>()
}

/// A node's start, as far as the metadata log has a part in it.
async fn start(runtime: &Runtime, dir: &Path, opened: Opened) -> Started {
    let boot = opened.state.local.boot.map_or(1, |number| number + 1);
    let start = Start::new(node_info(0).host_id, boot, 7);
    let mut started = opened.start(start, Way::OwnOrFounded, &domains()).await.expect("the log takes a record");
    let mut shards = storage::shards_in_data(runtime, dir).await.expect("the folder can be read");
    shards.extend(0..runtime.shard_count());
    let pending = pending_truncations(&started.cluster, &started.local, (boot, &shards), Planted::NONE);
    started.truncate(pending).await.expect("the log takes a record");
    started
}

/// A start of a node on one shard that is not served: `change` is given what its metadata log restored.
pub fn with_metadata<T: Send, Fut: Future<Output = T>>(dir: &Path, change: impl FnOnce(Started) -> Fut + Send) -> T {
    let main = async move |runtime: Runtime| {
        let opened = MetadataLog::open(&runtime, dir, &domains()).await.expect("the metadata log opens");
        let boot = opened.state.local.boot.map_or(1, |number| number + 1);
        let start = Start::new(node_info(0).host_id, boot, 7);
        let started = opened.start(start, Way::OwnOrFounded, &domains()).await.expect("the log takes a record");
        change(started).await
    };
    let mut results = runtime::run(Options::default(), vec![main]).expect("a shard starts");
    results.pop().expect("one shard, one result")
}

fn boot_of(started: &Started) -> Boot {
    Boot {
        epoch: Some(Epoch(started.parts.member.state().epoch().0)),
        number: started.local.boot.map_or(1, |number| number + 1),
        changes: started.cluster.of::<SchemaDomain>().as_changes(),
        access: started.cluster.of::<AccessDomain>().as_changes(),
        truncations: truncations_of(&started.local),
    }
}

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
fn planted() -> Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return Planted::named(&name).expect("a bug of the list");
    }
    Planted::NONE
}

async fn open(runtime: &Runtime, dir: &Path, boot: &Boot) -> (Shard, Schema) {
    let schema = Schema::empty().with_all(&boot.changes);
    let options = StorageOptions { planted: planted(), ..StorageOptions::new(dir, boot.number, 64 << 20) };
    let sharder = Sharder::new(runtime.shard_count());
    let stored = cluster::paxos::with_state_table(&schema);
    let shard = Shard::open(runtime, options, sharder, &stored, &boot.truncations).await;
    (shard.expect("the storage opens"), schema)
}

fn node_info(boot: u64) -> NodeInfo {
    NodeInfo {
        cluster_name: "Test Cluster".into(),
        datacenter: "datacenter1".into(),
        rack: "rack1".into(),
        host_id: HostId([7; 16]),
        tokens: vec![Token(0)],
        native_address: ([127, 0, 0, 1], 9042).into(),
        listen_address: ([127, 0, 0, 1], 7000).into(),
        boot,
        settings: Vec::new(),
    }
}

fn ring() -> Ring {
    let info = node_info(0);
    let node = Node {
        host_id: info.host_id,
        address: info.native_address,
        internode: info.listen_address,
        datacenter: info.datacenter,
        rack: info.rack,
        tokens: info.tokens,
    };
    Ring::new(Epoch::FIRST, vec![node], NodeIndex(0))
}

/// A reply's frame.
pub struct Reply {
    pub header: FrameHeader,
    body: Vec<u8>,
}

impl Reply {
    /// The answer as it came.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    pub fn response(&self) -> (ResponsePrefix, Response<'_>) {
        Response::decode(&self.header, &self.body).expect("the engine's replies can be decoded")
    }

    /// The error, which it must be.
    pub fn error(&self) -> ErrorBody {
        match self.response().1 {
            Response::Error(error) => error,
            other => panic!("an error was expected, not {other:?}"),
        }
    }
}

/// A client of one shard's engine.
#[derive(Clone)]
pub struct Client {
    pub engine: Engine,
    pub session: Session,
    pub version: Version,
}

impl Client {
    /// The same engine's client that has logged in as a role.
    pub fn as_role(&self, role: &str) -> Client {
        let session = Session::new();
        session.log_in(role);
        Client { session, ..self.clone() }
    }

    /// The same with an address.
    pub fn as_role_at(&self, address: SocketAddr, role: &str) -> Client {
        let session = Session::new();
        session.log_in(role);
        query::list_client(&self.engine, &session, address);
        Client { session, ..self.clone() }
    }

    /// The same engine's client on the maintenance socket.
    pub fn as_owner(&self) -> Client {
        let session = Session::new();
        session.log_in_maintenance();
        Client { session, ..self.clone() }
    }

    fn new(engine: Engine) -> Client {
        Client { engine, session: Session::new(), version: Version::V4 }
    }

    /// A client that has logged in as a role.
    pub fn of(&self, role: &str) -> Client {
        let session = Session::new();
        session.log_in(role);
        Client { session, ..self.clone() }
    }

    /// Sends any request.
    pub async fn send(&self, request: &Request<'_>) -> Reply {
        let mut frame = Vec::new();
        request.encode_frame(self.version, 5, &mut frame);
        let (header, body) = split(&frame);
        let mut out = Vec::new();
        let outcome = match Request::decode(&header, body).expect("the client's requests can be decoded") {
            Request::Query(query) => self.engine.try_query(&self.session, &header, &query, &mut out),
            Request::Execute(execute) => self.engine.try_execute(&self.session, &header, &execute, &mut out),
            Request::Batch(batch) => self.engine.try_batch(&self.session, &header, &batch, &mut out),
            _ => Outcome::MustWait,
        };
        match outcome {
            Outcome::Ready => {}
            Outcome::AfterSync(sequence) => self.engine.wait_synced(sequence).await.expect("the disk works"),
            Outcome::OfShard(shard) => {
                assert!(out.is_empty(), "what is another shard's leaves nothing behind");
                let (done, back) = oneshot();
                let handed = self.engine.hand_over(shard, &header, body.to_vec(), move |back| {
                    let _ = done.send(back);
                });
                out = match handed {
                    Ok(()) => {
                        let back = back.await.expect("a request that is handed over comes back");
                        assert_eq!(back.body, body);
                        back.frame
                    }
                    Err(given_back) => self.engine.run(&self.session, &header, &given_back).await.frame,
                };
            }
            Outcome::MustWait => {
                assert!(out.is_empty(), "what must wait leaves nothing behind");
                out = self.engine.run(&self.session, &header, body).await.frame;
            }
        }
        let (header, body) = split(&out);
        assert_eq!(header.stream, 5);
        assert_eq!(header.length as usize, body.len());
        Reply { header, body: body.to_vec() }
    }

    /// Sends any request as one that asks to be traced.
    pub async fn send_traced(&self, request: &Request<'_>) -> Reply {
        let mut frame = Vec::new();
        request.encode_frame(self.version, 5, &mut frame);
        let (mut header, body) = split(&frame);
        header.flags = header.flags.with(Flags::TRACING);
        let out = self.engine.run_traced(&self.session, &header, body).await.frame;
        let (header, body) = split(&out);
        Reply { header, body: body.to_vec() }
    }

    /// Sends a statement as text.
    pub async fn query(&self, text: &str) -> Reply {
        self.query_with(text, QueryParams::new(Consistency::One)).await
    }

    /// Sends a statement as text, with parameters.
    pub async fn query_with(&self, text: &str, params: QueryParams<'_>) -> Reply {
        self.send(&Request::Query(Query { text, params })).await
    }

    /// Prepares a statement, which must succeed.
    pub async fn prepare(&self, text: &str) -> Prepared {
        let reply = self.send(&Request::Prepare(Prepare { text, keyspace: None })).await;
        match reply.response().1 {
            Response::Result(ResultBody::Prepared(prepared)) => prepared,
            other => panic!("{text} cannot be prepared: {other:?}"),
        }
    }

    /// Runs a prepared statement.
    pub async fn execute(&self, id: &[u8], params: QueryParams<'_>) -> Reply {
        self.send(&Request::Execute(Execute { id, result_metadata_id: Some(&[]), params })).await
    }

    /// Runs a prepared statement with values.
    pub async fn execute_values(&self, id: &[u8], values: &[Value<'_>]) -> Reply {
        let values = buffer(values);
        let params = QueryParams { values: values.values(), ..QueryParams::new(Consistency::One) };
        self.execute(id, params).await
    }

    /// Sends a batch of prepared statements with their values.
    pub async fn batch(&self, kind: BatchKind, statements: &[(BatchQuery<'_>, &[Value<'_>])]) -> Reply {
        let mut builder = BatchBuilder::new();
        for (query, values) in statements {
            builder.push(*query, buffer(values).values()).expect("few statements");
        }
        let batch: Batch<'_> = builder.batch(kind, QueryParams::new(Consistency::One));
        self.send(&Request::Batch(batch)).await
    }
}

/// On the shard that the test runs on; the other one waits for its commands.
#[test]
#[should_panic(expected = "panicked")]
fn a_panic_on_one_shard_ends_the_others() {
    let folder = Folder::new("panic");
    run_node(folder.path(), 2, |_| async { panic!("this one") });
}

/// Lays down values.
pub fn buffer(values: &[Value<'_>]) -> ValuesBuffer {
    let mut buffer = ValuesBuffer::new();
    for value in values {
        buffer.push(*value).expect("few values");
    }
    buffer
}

fn split(frame: &[u8]) -> (FrameHeader, &[u8]) {
    let (header, body) = frame.split_first_chunk::<HEADER_LENGTH>().expect("a frame has a header");
    (FrameHeader::decode(header).expect("the header is right"), body)
}
