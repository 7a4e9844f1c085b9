//! Control connections between simulated machines: messages and heartbeats, who is up, and connections that are dialled again.

use std::cell::OnceCell;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use internode::{
    Answering, Boot, CallError, Compression, Control, GROUP, GroupTag, Hello, Incoming, Listening, LocalNode,
    Malformed, News, Other, Peer, PeerParts, Purpose, Request, Secret, Verbs, Verdict, control_verbs, listen_for_peers,
};
use runtime::Runtime;
use runtime::sim::{World, WorldOptions};
use topology::HostId;

const SERVER: HostId = HostId([1; 16]);
const CLIENT: HostId = HostId([2; 16]);
const AT_MOST: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(1);

type Messages = Rc<RefCell<Vec<(HostId, Vec<u8>)>>>;
/// The client's news, as text, with the moment of each.
type Heard = Rc<RefCell<Vec<(Duration, String)>>>;

fn address() -> SocketAddr {
    "10.0.0.1:7000".parse().expect("an address")
}

fn node(host_id: HostId) -> LocalNode {
    let secret = Secret::new(b"the secret of all nodes").expect("it is long enough");
    LocalNode::new(host_id, "Test Cluster".into(), Boot { number: 3, word: 4 }, Some(secret), Compression::default())
}

/// The server's part that a test changes under way.
#[derive(Clone)]
struct Server {
    messages: Messages,
    /// The control connections that it answers on.
    incoming: Incoming,
    verdict: Rc<RefCell<Verdict>>,
    has_control: bool,
}

impl Server {
    fn new(has_control: bool) -> Server {
        let server = Server {
            messages: Rc::default(),
            incoming: Incoming::default(),
            verdict: Rc::new(Verdict::Welcome.into()),
            has_control,
        };
        server.incoming.follow([CLIENT]);
        server
    }

    fn verbs(&self) -> Verbs {
        let messages = Rc::clone(&self.messages);
        let group = move |from, body: &[u8]| match body {
            b"none" => Err(Malformed::new("no message")),
            body => {
                messages.borrow_mut().push((from, body.to_vec()));
                Ok(())
            }
        };
        control_verbs(group, |from, body| Ok([&from.0[..1], body].concat()))
    }

    async fn run(self, runtime: Runtime) {
        let local = node(SERVER);
        local.set_group(GroupTag { id: 7, incarnation: 8 });
        local.set_epoch(9);
        let seat = runtime::mesh(1, 8).remove(0);
        let requests = Incoming::default();
        requests.follow([CLIENT]);
        let requests = requests.open(&runtime, seat, Verbs::new());
        let control = Answering { incoming: self.incoming.clone(), verbs: Rc::new(self.verbs()) };
        let judge = Rc::new(move |_: &Hello| *self.verdict.borrow());
        let listening = Listening {
            local,
            judge,
            requests: Rc::new(OnceCell::from(requests)),
            control: self.has_control.then_some(control),
        };
        let listener = runtime.listen(address()).await.expect("the address is this machine's");
        listen_for_peers(runtime, listener, listening).await;
    }
}

fn shown(news: News<'_>) -> String {
    match news {
        News::Up(welcome) => format!("up {}.{} {}", welcome.group.id, welcome.group.incarnation, welcome.epoch),
        News::Down => "down".into(),
        News::Refused(verdict) => format!("refused {verdict:?}"),
    }
}

/// Runs a client's `work` against the server, with its control connections and their news.
fn with_control<F, Fut>(server: &Server, work: F)
where
    F: FnOnce(Runtime, Control, Heard) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(7));
    let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let (machine, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let server = server.clone();
    world.start(machine, false, vec![|runtime| server.run(runtime)]);
    let main = |runtime: Runtime| async move {
        let (heard, clock) = (Heard::default(), runtime.clone());
        let (hearing, began) = (Rc::clone(&heard), runtime.now());
        let watch = Rc::new(move |host_id, news: News<'_>| {
            assert_eq!(host_id, SERVER);
            hearing.borrow_mut().push((clock.now() - began, shown(news)));
        });
        let control = Control::new(&runtime, node(CLIENT), watch);
        control.follow([Other { host_id: SERVER, address: address(), is_in_other_datacenter: false }]);
        work(runtime, control, heard).await;
    };
    let asking = world.start(client, false, vec![main]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}

async fn until(runtime: &Runtime, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        runtime.sleep(PAUSE).await;
    }
}

fn words(heard: &Heard) -> Vec<String> {
    heard.borrow().iter().map(|(_, words)| words.clone()).collect()
}

#[test]
fn messages_arrive_in_order_and_heartbeats_are_answered() {
    let server = Server::new(true);
    let messages = Rc::clone(&server.messages);
    with_control(&server, |runtime, control, heard| async move {
        control.send(SERVER, b"early".to_vec());
        assert_eq!(control.heartbeat(SERVER, b"early").await, Err(CallError::Gone), "it is not greeted yet");
        until(&runtime, || control.is_up(SERVER)).await;
        assert_eq!(words(&heard), ["up 7.8 9"]);
        (0..1000u32).for_each(|number| control.send(SERVER, number.to_be_bytes().to_vec()));
        control.send(HostId([9; 16]), b"to no node".to_vec());
        assert_eq!(control.heartbeat(SERVER, b"there?").await, Ok(b"\x02there?".to_vec()));
        until(&runtime, || messages.borrow().len() == 1000).await;
        let all: Vec<_> = (0..1000u32).map(|number| (CLIENT, number.to_be_bytes().to_vec())).collect();
        assert_eq!(*messages.borrow(), all);
    });
}

#[test]
fn a_node_that_is_gone_is_dialled_again_after_two_to_three_seconds() {
    let server = Server::new(true);
    let (incoming, verdict, messages) = (server.incoming.clone(), Rc::clone(&server.verdict), server.messages.clone());
    with_control(&server, |runtime, control, heard| async move {
        until(&runtime, || control.is_up(SERVER)).await;
        *verdict.borrow_mut() = Verdict::Removed;
        incoming.follow([]);
        until(&runtime, || !control.is_up(SERVER)).await;
        control.send(SERVER, b"while it is down".to_vec());
        until(&runtime, || heard.borrow().len() == 3).await;
        runtime.sleep(Duration::from_secs(10)).await;
        *verdict.borrow_mut() = Verdict::Welcome;
        incoming.follow([CLIENT]);
        until(&runtime, || control.is_up(SERVER)).await;
        assert_eq!(words(&heard), ["up 7.8 9", "down", "refused Removed", "up 7.8 9"]);
        let rest = heard.borrow()[2].0 - heard.borrow()[1].0;
        assert!((Duration::from_secs(2)..Duration::from_millis(3_100)).contains(&rest), "{rest:?}");
        control.send(SERVER, b"after it".to_vec());
        until(&runtime, || !messages.borrow().is_empty()).await;
        assert_eq!(*messages.borrow(), [(CLIENT, b"after it".to_vec())]);

        control.follow([]);
        assert_eq!(words(&heard)[4..], ["down"]);
        assert_eq!(control.heartbeat(SERVER, b"there?").await, Err(CallError::Gone));
        runtime.sleep(Duration::from_secs(10)).await;
        assert_eq!(heard.borrow().len(), 5, "it is not dialled again");
    });
}

#[test]
fn a_node_that_shows_itself_is_dialled_soon() {
    let server = Server::new(true);
    *server.verdict.borrow_mut() = Verdict::Stranger;
    let verdict = Rc::clone(&server.verdict);
    with_control(&server, |runtime, control, heard| async move {
        until(&runtime, || !heard.borrow().is_empty()).await;
        *verdict.borrow_mut() = Verdict::Welcome;
        let began = runtime.now();
        control.hurry(SERVER);
        until(&runtime, || control.is_up(SERVER)).await;
        assert!(runtime.now() - began < Duration::from_millis(300), "{:?}", runtime.now() - began);
        // One that is up has no reason to.
        control.hurry(SERVER);
        runtime.sleep(Duration::from_secs(5)).await;
        assert_eq!(words(&heard), ["refused Stranger", "up 7.8 9"]);
    });
}

#[test]
fn a_message_that_is_none_ends_its_connection() {
    with_control(&Server::new(true), |runtime, control, heard| async move {
        until(&runtime, || control.is_up(SERVER)).await;
        control.send(SERVER, b"none".to_vec());
        until(&runtime, || heard.borrow().len() == 3).await;
        assert_eq!(words(&heard), ["up 7.8 9", "down", "up 7.8 9"]);
    });
}

#[test]
fn a_node_without_control_connections_refuses_them() {
    with_control(&Server::new(false), |runtime, control, heard| async move {
        until(&runtime, || !heard.borrow().is_empty()).await;
        assert_eq!(words(&heard), ["refused OtherPurpose"]);
        drop(control);
    });
}

#[test]
fn a_message_of_the_group_on_a_connection_for_requests_ends_it() {
    with_control(&Server::new(true), |runtime, _, _| async move {
        let (local, purpose) = (node(CLIENT), Purpose::Requests);
        let parts = PeerParts { address: address(), host_id: SERVER, local, purpose, compresses: false, watch: None };
        let peer = Peer::start(&runtime, parts);
        until(&runtime, || peer.is_up()).await;
        assert_eq!(peer.call(Request::of(GROUP), |_| {}).await.err(), Some(CallError::Gone));
    });
}
