//! Futures that are dropped while their operation is under way: the kernel may still use the buffer, and everything
//! else goes on.

use std::net::SocketAddr;
use std::time::Duration;

use runtime::{AlignedBuf, Group, OpenOptions, ReactorKind, Runtime, TcpStream};

use crate::{Folder, on_every_reactor, run_one};

on_every_reactor!(
    a_dropped_read_lets_the_connection_close,
    a_dropped_write_lets_the_connection_close,
    a_dropped_accept_leaves_the_listener_usable,
    dropped_file_operations_end_by_themselves,
    a_shard_ends_with_everything_in_flight,
    slots_are_reused_after_a_storm_of_drops,
);

async fn pair(rt: &Runtime) -> (TcpStream, TcpStream) {
    let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let listener = rt.listen(address).await.expect("a port");
    let client = rt.connect(listener.local_addr().expect("an address")).await.expect("it connects");
    let (socket, _) = listener.accept().await.expect("it is accepted");
    (client, rt.adopt(socket))
}

/// Waits until nothing is in flight.
async fn settle(rt: &Runtime) {
    let all = async {
        while rt.stats().operations > 0 {
            rt.sleep(Duration::from_millis(1)).await;
        }
    };
    rt.timeout(Duration::from_secs(60), all).await.expect("orphaned operations end");
}

const SHORT: Duration = Duration::from_millis(2);

fn a_dropped_read_lets_the_connection_close(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        assert!(rt.timeout(SHORT, server.read(Vec::with_capacity(100))).await.is_err());
        settle(&rt).await;
        // A new read is possible, and gets what comes now.
        client.write_all(b"late".to_vec()).await.0.expect("it is sent");
        let (result, buffer) = server.read(Vec::with_capacity(100)).await;
        assert_eq!((result.expect("it is read"), &buffer[..]), (4, &b"late"[..]));
        assert!(rt.timeout(SHORT, server.read(Vec::with_capacity(100))).await.is_err());
        drop(server);
        let (result, _) = client.read(Vec::with_capacity(1)).await;
        assert_eq!(result.expect("it is closed"), 0);
    });
}

fn a_dropped_write_lets_the_connection_close(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        // More than the kernel buffers, and nobody reads.
        assert!(rt.timeout(SHORT, client.write_all(vec![7; 30_000_000])).await.is_err());
        settle(&rt).await;
        drop(client);
        let mut buffer = Vec::with_capacity(1 << 20);
        loop {
            let (result, back) = server.read(buffer).await;
            buffer = back;
            buffer.clear();
            if result.is_ok_and(|count| count == 0) {
                break;
            }
        }
    });
}

fn a_dropped_accept_leaves_the_listener_usable(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = rt.listen("127.0.0.1:0".parse().expect("an address")).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        for _ in 0..20 {
            assert!(rt.timeout(Duration::from_micros(300), listener.accept()).await.is_err());
            settle(&rt).await;
            let client = rt.connect(address).await.expect("it connects");
            let (_, peer) = listener.accept().await.expect("it is accepted");
            assert_eq!(peer, client.local_addr().expect("an address"));
        }
    });
}

fn dropped_file_operations_end_by_themselves(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let options = OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() };
        folder.make(&rt).await;
        let path = folder.path.join("file");
        let file = rt.open(&path, options).await.expect("the file is made");
        for n in 0..200u64 {
            let mut buffer = AlignedBuf::with_capacity(64 << 10);
            buffer.resize(64 << 10, 7);
            let _ = rt.timeout(Duration::ZERO, file.write_at(buffer, n * (64 << 10))).await;
            let _ = rt.timeout(Duration::ZERO, file.read_at(AlignedBuf::with_capacity(64 << 10), 0)).await;
            let _ = rt.timeout(Duration::ZERO, file.sync_data()).await;
            let _ = rt.timeout(Duration::ZERO, rt.open(&path, options)).await;
        }
        settle(&rt).await;
        assert_eq!(file.len().await.expect("it has a length"), 200 * (64 << 10));
    });
}

fn a_shard_ends_with_everything_in_flight(kind: ReactorKind) {
    let folder = Folder::new();
    for _ in 0..5 {
        run_one(kind, |rt| {
            let folder = &folder;
            async move {
                folder.make(&rt).await;
                let (client, server) = pair(&rt).await;
                let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
                let file = rt.open(&folder.path.join("file"), options).await.expect("the file is made");
                rt.spawn(Group::Query, async move {
                    let _server = &server;
                    let _ = server.read(Vec::with_capacity(100)).await;
                });
                rt.spawn(Group::Query, async move {
                    client.write_all(vec![7; 30_000_000]).await.0.expect("it ends first");
                });
                rt.spawn(Group::Flush, async move {
                    file.write_at(AlignedBuf::zeroed(8 << 20), 0).await.0.expect("it is written");
                });
                rt.yield_now().await;
                rt.yield_now().await;
            }
        });
    }
}

fn slots_are_reused_after_a_storm_of_drops(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        for round in 0..500u32 {
            let mut reads = Vec::new();
            for _ in 0..3 {
                let read = rt.timeout(Duration::ZERO, server.read(Vec::with_capacity(10)));
                reads.push(read.await.is_err());
                settle(&rt).await;
            }
            assert_eq!(reads, [true; 3]);
            client.write_all(round.to_be_bytes().to_vec()).await.0.expect("it is sent");
            let (result, buffer) = server.read(Vec::with_capacity(10)).await;
            assert_eq!((result.expect("it is read"), &buffer[..]), (4, &round.to_be_bytes()[..]));
        }
    });
}
