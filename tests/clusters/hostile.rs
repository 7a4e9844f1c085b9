//! Ten thousand hostile inputs on the port for other nodes: the cluster lives, clients are served meanwhile, and memory stays within its bounds.
//!
//! Half of them meet a cluster with a secret, where nothing but greetings can be tried. The other half meet one without, where an attacker may say that it is any node:
//! one that looks for its cluster, or the second member.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use helenus_tests::{Random, Server, pick, resident_bytes};
use internode::{ANY_NODE, Boot, FRAME_BODY_MAX, GroupTag, Head, Hello, Purpose, Welcome, write_frame};
use topology::HostId;

use super::meeting::secret_file;
use super::nodes::{KEYSPACE_OF_ONE, Net, connect, has, host_id, kill_despite_errors, until};

const ATTACKERS: usize = 4;
/// Connections that say nothing. With those of the attackers they are fewer than half of the places for handshakes: all come from one host,
/// whose greetings would not be read beyond that.
const HALF_OPEN: usize = 24;
/// Of both shards' connections for requests and of those for control: the bounds, and one frame beyond each.
const GROWTH_MAX: u64 = 3 * ((32 + 64) << 20);
/// A node that no cluster has, which looks for one.
const STRANGER: Pretended = Pretended {
    host_id: HostId([9; 16]),
    wanted: ANY_NODE,
    group: GroupTag { id: 0, incarnation: 0 },
    boot: Boot { number: 0, word: 0 },
};

/// A node that an attacker pretends to be.
#[derive(Clone, Copy)]
struct Pretended {
    host_id: HostId,
    /// The attacked node.
    wanted: HostId,
    group: GroupTag,
    boot: Boot,
}

/// A connection whose other end may close it at any byte.
struct Attack {
    stream: TcpStream,
    random: Random,
}

impl Attack {
    /// Sends bytes, or fails because the other end has closed.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Reads a welcome; none of a connection that is closed.
    fn welcome(&mut self) -> Option<Welcome> {
        let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
        loop {
            match self.stream.read(&mut piece) {
                Ok(count @ 1..) => bytes.extend_from_slice(&piece[..count]),
                _ => return None,
            }
            if let Ok(Some((welcome, _))) = Welcome::decode(&bytes) {
                return Some(welcome);
            }
        }
    }

    /// Reads what comes until the other end closes, or is quiet.
    fn drain(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut piece = [0; 4096];
        while matches!(self.stream.read(&mut piece), Ok(1..)) {}
    }

    fn hello(&mut self, purpose: Purpose, of: Pretended) -> Hello {
        Hello {
            version: 2,
            version_min: 2,
            purpose,
            has_secret: false,
            compresses: self.random.below(2) == 0,
            shard: self.random.below(4) as u16,
            shard_count: 4,
            host_id: of.host_id,
            wanted: of.wanted,
            group: of.group,
            boot: of.boot,
            epoch: self.random.next_u64(),
            random: [7; 16],
            cluster_name: "Test Cluster".into(),
        }
    }

    /// A greeting that no node says.
    fn strange_greeting(&mut self) -> Vec<u8> {
        let mut hello = self.hello(Purpose::Control, STRANGER);
        match self.random.below(9) {
            0 => {
                let count = self.random.below(2_000);
                return self.random.bytes(count);
            }
            1 => return b"GET / HTTP/1.1\r\nHost: helenus\r\n\r\n".to_vec(),
            2 => return [&b"helepeer"[..], &[0xff; 4], &[0; 500]].concat(),
            3 => {
                let count = self.random.below(1_024);
                return sealed(&self.random.bytes(count));
            }
            4 => hello.cluster_name = "Another Cluster".into(),
            5 => (hello.version, hello.version_min) = (90, 80),
            6 => hello.purpose = Purpose::Other(77),
            7 => hello.group = GroupTag { id: 1, incarnation: 2 },
            _ => hello.has_secret = true,
        }
        let mut bytes = hello.encode();
        if self.random.below(4) == 0 {
            bytes.truncate(self.random.below(bytes.len()));
        }
        bytes
    }

    /// A frame that no node sends, after a greeting that was accepted.
    fn strange_frame(&mut self) -> Vec<u8> {
        let kind = *self.random.choose(&[1, 2, 3, 4, 5, 16, 17, 18, 19, 20, 21, 77, 129, 132, 255]);
        let body = self.body();
        let deadline = (self.random.below(3) == 0).then(|| self.random.next_u64() as u32);
        let head = Head { number: self.random.next_u64() % 8, kind, epoch: u64::MAX, deadline, is_traced: true };
        let mut bytes = Vec::new();
        let compresses = self.random.below(2) == 0;
        write_frame(&mut bytes, &head, compresses, |out| out.extend_from_slice(&body)).expect("it is short");
        match self.random.below(8) {
            0 => bytes.truncate(self.random.below(bytes.len())),
            1 => {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
            }
            // Lengths that are as long as may be, with the checksum of an honest head.
            2 => {
                bytes[..4].copy_from_slice(&(FRAME_BODY_MAX as u32).to_be_bytes());
                let crc = crc32fast::hash(&bytes[..30]);
                bytes[30..34].copy_from_slice(&crc.to_be_bytes());
                bytes.resize(bytes.len() + (1 << 20), 0);
            }
            _ => {}
        }
        bytes
    }

    fn body(&mut self) -> Vec<u8> {
        let count = self.random.below(3_000);
        match self.random.below(5) {
            0 => Vec::new(),
            // Counts of more than there is.
            1 => [&[0xff; 9][..], &self.random.bytes(count)].concat(),
            2 => [&[1, 0xc0, 0xff, 0xff][..], &vec![0; count]].concat(),
            3 => vec![self.random.next_u64() as u8; count],
            _ => self.random.bytes(count),
        }
    }
}

/// A greeting with that body, and its checksum.
fn sealed(body: &[u8]) -> Vec<u8> {
    [b"helepeer", &(body.len() as u32).to_be_bytes()[..], &crc32fast::hash(body).to_be_bytes(), body].concat()
}

fn dial(address: SocketAddr, random: Random) -> Option<Attack> {
    let stream = TcpStream::connect(address).ok()?;
    let set = |stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(50)))?;
        stream.set_write_timeout(Some(Duration::from_millis(200)))
    };
    set(&stream).expect("a socket has times");
    Some(Attack { stream, random })
}

/// One input. With a node that is pretended, some go on after the greeting.
fn attack(address: SocketAddr, random: Random, pretended: Option<Pretended>) {
    let Some(mut attack) = dial(address, random) else { return };
    let Some(of) = pretended.filter(|_| attack.random.below(4) > 0) else {
        let greeting = attack.strange_greeting();
        if attack.send(&greeting) {
            attack.drain();
        }
        return;
    };
    let (purpose, of) = match attack.random.below(3) {
        0 => (Purpose::Control, STRANGER),
        1 => (Purpose::Requests, of),
        _ => (Purpose::Bulk, of),
    };
    let hello = attack.hello(purpose, of);
    if !attack.send(&hello.encode()) || attack.welcome().is_none() {
        return;
    }
    for _ in 0..1 + attack.random.below(4) {
        let frame = attack.strange_frame();
        if !attack.send(&frame) {
            return;
        }
    }
    match attack.random.below(20) {
        // Many requests whose answers are not read.
        0 => {
            let frame = attack.strange_frame();
            let _ = (0..200).all(|_| attack.send(&frame));
        }
        1 => {}
        _ => attack.drain(),
    }
}

/// A cluster of two nodes under attack. `pretended` learns what an attacker may say that it is.
fn withstands(
    nodes: [helenus_tests::Builder; 2],
    storage: SocketAddr,
    pretended: Option<Pretended>,
    mut servers: [Server; 2],
) {
    let count = pick(5_000, 100_000);
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let seed = Random::from_environment(44).next_u64();
    let before = resident_bytes(servers[0].pid());
    let half_open: Vec<TcpStream> = (0..HALF_OPEN).filter_map(|_| TcpStream::connect(storage).ok()).collect();
    half_open.iter().step_by(2).for_each(|mut stream| _ = stream.write_all(b"helepeer\0\0"));
    let peak = std::thread::scope(|scope| {
        let first = &servers[0];
        let honest = scope.spawn(|| {
            let (mut client, mut peak, mut answered) = (connect(first), 0, 0u64);
            while !over.load(Ordering::Relaxed) {
                client.query("SELECT host_id FROM system.local").expect("an honest request is answered");
                peak = resident_bytes(first.pid()).max(peak);
                answered += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            (peak, answered)
        });
        let attackers: Vec<_> = (0..ATTACKERS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        attack(storage, Random::new(seed ^ number as u64), pretended);
                    }
                })
            })
            .collect();
        attackers.into_iter().for_each(|attacker| attacker.join().expect("an attacker does not fail"));
        over.store(true, Ordering::Relaxed);
        let (peak, answered) = honest.join().expect("an honest client is served");
        assert!(answered > 0);
        peak
    });
    assert!(peak <= before + GROWTH_MAX, "{} MiB more", (peak - before) >> 20);
    // The two are still one cluster, which changes.
    connect(&servers[0]).query(KEYSPACE_OF_ONE).expect("a majority is up");
    let mut second = connect(&servers[1]);
    until("the change on the other node", || {
        let found = second.query("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = 'lone'");
        has(&found.expect("a local read").body, "lone")
    });
    assert!(servers.iter_mut().all(Server::is_alive));
    servers[0].wait_for_line(&["handshake timed out"]);
    drop(half_open);
    let said = servers.map(|server| kill_despite_errors(server).join("\n"));
    // The inputs have met what they were made for.
    let met: &[&str] = match pretended {
        None => &["handshake failed", "NotProven"],
        Some(_) => {
            &["frame header damaged", "frame body damaged", "unknown verb", "cannot decode request", "OtherCluster"]
        }
    };
    met.iter().for_each(|met| assert!(said[0].contains(met), "no input was met by '{met}'"));
    println!("{} MiB more at the peak", peak.saturating_sub(before) >> 20);
    drop(nodes);
}

#[test]
fn hostile_greetings_change_nothing_for_a_cluster_with_a_secret() {
    let net = Net::new();
    let nodes = [1, 2].map(|number| net.node(number, &[1]));
    let nodes = nodes.map(|node| {
        let file = secret_file(&node, "the secret of the cluster");
        node.with(&["--internode-secret-file", &file])
    });
    let servers = nodes.each_ref().map(helenus_tests::Builder::start);
    withstands(nodes, net.seed(1).parse().expect("an address"), None, servers);
}

#[test]
fn hostile_nodes_change_nothing_for_a_cluster_without_one() {
    let net = Net::new();
    let nodes = [1, 2].map(|number| net.node(number, &[1]));
    let servers = nodes.each_ref().map(helenus_tests::Builder::start);
    let storage = net.seed(1).parse().expect("an address");
    // The second node, as it is known: its id by its own word, and its group by the first one's.
    let host_id = HostId(host_id(&mut connect(&servers[1])));
    let mut asking = dial(storage, Random::new(1)).expect("the port is open");
    let hello = asking.hello(Purpose::Control, STRANGER).encode();
    assert!(asking.send(&hello));
    let first = asking.welcome().expect("one that looks for its cluster is welcome");
    let boot = Boot { number: 1_000, word: 1 };
    withstands(nodes, storage, Some(Pretended { host_id, wanted: first.host_id, group: first.group, boot }), servers);
}
