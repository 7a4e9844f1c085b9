//! Unix sockets, with the standard library at the other end.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use runtime::{Group, ReactorKind, Runtime, Socket, UnixListener};

use crate::{Folder, is_simulated, on_every_reactor, run_one};

on_every_reactor!(a_simulated_machine_has_no_unix_sockets; kernel: a_unix_socket_carries_bytes_both_ways, a_pair_carries_bytes_both_ways);

fn a_unix_socket_carries_bytes_both_ways(kind: ReactorKind) {
    let folder = Folder::new();
    let path = folder.path.join("sockets").join("cql.m");
    run_one(kind, move |rt: Runtime| async move {
        let listener = UnixListener::bound(&rt, &path).expect("a socket");
        let clients: Vec<_> = (0..3u8)
            .map(|number| {
                let path = path.clone();
                std::thread::spawn(move || {
                    let mut client = UnixStream::connect(path).expect("it listens");
                    client.write_all(&[number; 70_000]).expect("it is read");
                    client.shutdown(std::net::Shutdown::Write).expect("it is open");
                    let mut reply = Vec::new();
                    client.read_to_end(&mut reply).expect("it is answered");
                    assert_eq!(reply, [number; 70_000]);
                })
            })
            .collect();
        let mut served = Vec::new();
        for _ in 0..clients.len() {
            let socket = listener.accept().await.expect("a client");
            let stream = rt.adopt(socket);
            assert!(stream.peer_addr().is_err(), "its client has no address");
            served.push(rt.spawn(Group::Query, async move {
                let mut read = Vec::with_capacity(100_000);
                loop {
                    let (count, back) = stream.read(read).await;
                    read = back;
                    if count.expect("it is open") == 0 {
                        break;
                    }
                }
                stream.write_all(read).await.0.expect("it is read");
                stream.shutdown().expect("it is open");
            }));
        }
        for served in served {
            served.await;
        }
        clients.into_iter().for_each(|client| client.join().expect("it has its reply"));
    });
}

fn a_pair_carries_bytes_both_ways(kind: ReactorKind) {
    run_one(kind, move |rt: Runtime| async move {
        let (socket, mut other) = Socket::pair(&rt).expect("a pair");
        let client = std::thread::spawn(move || {
            other.write_all(&[7; 300_000]).expect("it is read");
            let mut reply = vec![0; 300_000];
            other.read_exact(&mut reply).expect("it is answered");
            assert_eq!(reply, [8; 300_000]);
        });
        let stream = rt.adopt(socket);
        assert!(stream.peer_addr().is_err(), "its client has no address");
        let mut read = Vec::with_capacity(300_000);
        while read.len() < 300_000 {
            let (count, back) = stream.read(read).await;
            read = back;
            assert_ne!(count.expect("it is open"), 0, "the other end waits for its reply");
        }
        assert_eq!(read, [7; 300_000]);
        stream.write_all(vec![8; 300_000]).await.0.expect("it is read");
        let (count, _) = stream.read(Vec::with_capacity(1)).await;
        assert_eq!(count.expect("the end is no error"), 0, "the other end was dropped");
        client.join().expect("it has its reply");
    });
}

fn a_simulated_machine_has_no_unix_sockets(kind: ReactorKind) {
    let folder = Folder::new();
    let path = folder.path.join("cql.m");
    let made = run_one(kind, move |rt: Runtime| async move {
        [UnixListener::bound(&rt, &path).map(drop), Socket::pair(&rt).map(drop)]
    });
    for made in made {
        match is_simulated(kind) {
            true => assert_eq!(made.expect_err("there is none").kind(), ErrorKind::Unsupported),
            false => made.expect("a socket"),
        }
    }
}
