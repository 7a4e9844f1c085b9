//! TCP.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use runtime::{Group, Options, ReactorKind, Runtime, Socket, TcpListener, TcpStream};

use crate::{on_every_reactor, run_one};

on_every_reactor!(
    bytes_go_both_ways,
    big_writes_arrive_whole,
    reads_append_to_what_the_buffer_has,
    a_half_closed_connection_still_answers,
    a_reset_is_an_error,
    connecting_to_nobody_is_an_error,
    a_port_that_is_bound_refuses_until_it_listens,
    many_connections_at_once,
    a_socket_moves_to_another_shard,
    a_shared_stream_cannot_leave,
    a_port_in_use_is_an_error,
    pipelined_batches;
    kernel: data_and_end_that_come_together_are_both_seen, a_shard_sleeps_when_its_lone_client_rests,
);

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// Both ends of a connection on this shard.
async fn pair(rt: &Runtime) -> (TcpStream, TcpStream) {
    let listener = rt.listen(local()).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let client = rt.connect(address).await.expect("it connects");
    let (socket, peer) = listener.accept().await.expect("it is accepted");
    assert_eq!(peer, client.local_addr().expect("an address"));
    (client, rt.adopt(socket))
}

/// Reads until there are `length` bytes or the end.
async fn read_all(stream: &TcpStream, length: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(length.max(1));
    while buffer.len() < length {
        let (result, back) = stream.read(buffer).await;
        buffer = back;
        if result.expect("it is read") == 0 {
            break;
        }
    }
    buffer
}

async fn echo(stream: TcpStream) {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        let (result, back) = stream.read(buffer).await;
        if result.is_ok_and(|count| count > 0) {
            let (result, back) = stream.write_all(back).await;
            buffer = back;
            buffer.clear();
            if result.is_ok() {
                continue;
            }
        }
        return;
    }
}

async fn serve(rt: Runtime, listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        let stream = rt.adopt(socket);
        rt.spawn(Group::Query, echo(stream));
    }
}

fn bytes_go_both_ways(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        assert_eq!(client.peer_addr().expect("an address"), server.local_addr().expect("an address"));
        for round in 0..100u32 {
            let (result, sent) = client.write_all(round.to_be_bytes().to_vec()).await;
            result.expect("it is sent");
            assert_eq!(sent, round.to_be_bytes());
            assert_eq!(read_all(&server, 4).await, sent);
            server.write_all(b"reply".to_vec()).await.0.expect("it is sent");
            assert_eq!(read_all(&client, 5).await, b"reply");
        }
        client.write_all(Vec::new()).await.0.expect("nothing is sent");
    });
}

fn big_writes_arrive_whole(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        let bytes: Vec<u8> = (0..20_000_000u32).map(|n| (n % 253) as u8).collect();
        let expected = bytes.clone();
        let writer = rt.spawn(Group::Query, async move {
            let (result, bytes) = client.write_all(bytes).await;
            result.expect("it is sent");
            bytes.len()
        });
        assert!(read_all(&server, expected.len()).await == expected);
        assert_eq!(writer.await, expected.len());
        // The writer's end is closed now.
        assert_eq!(read_all(&server, 1).await, b"");
    });
}

fn reads_append_to_what_the_buffer_has(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        client.write_all(b"world, and more".to_vec()).await.0.expect("it is sent");
        let mut buffer = Vec::with_capacity(12);
        buffer.extend_from_slice(b"hello ");
        let room = buffer.capacity() - buffer.len();
        let (result, buffer) = server.read(buffer).await;
        assert_eq!(result.expect("it is read"), room);
        assert_eq!(buffer, b"hello world,");
        assert_eq!(read_all(&server, 9).await, b" and more");
    });
}

fn a_half_closed_connection_still_answers(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        client.write_all(b"last words".to_vec()).await.0.expect("it is sent");
        client.shutdown().expect("it is shut");
        assert_eq!(read_all(&server, 100).await, b"last words");
        server.write_all(b"heard".to_vec()).await.0.expect("it is sent");
        assert_eq!(read_all(&client, 5).await, b"heard");
        drop(server);
        assert_eq!(read_all(&client, 5).await, b"");
        assert!(client.write_all(b"more".to_vec()).await.0.is_err(), "this end is shut");
    });
}

fn a_reset_is_an_error(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        client.write_all(b"never read".to_vec()).await.0.expect("it is sent");
        // Closing with unread bytes resets the connection.
        rt.sleep(Duration::from_millis(5)).await;
        drop(server);
        let (result, buffer) = client.read(Vec::with_capacity(10)).await;
        assert_eq!(result.expect_err("it was reset").kind(), ErrorKind::ConnectionReset);
        assert!(buffer.is_empty());
        let error = client.write_all(vec![0; 100]).await.0.expect_err("nobody is there");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

fn connecting_to_nobody_is_an_error(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = rt.listen(local()).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let error = rt.connect(address).await.err().expect("nobody listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

fn a_port_that_is_bound_refuses_until_it_listens(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = TcpListener::bound(&rt, local()).expect("a port");
        let address = listener.local_addr().expect("an address");
        let error = rt.connect(address).await.err().expect("it does not listen");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        listener.listen().expect("the port is free");
        let taken = rt.listen(address).await.err().expect("it listens there");
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
        let client = rt.connect(address).await.expect("it listens");
        let (_socket, peer) = listener.accept().await.expect("a connection");
        assert_eq!(peer, client.local_addr().expect("an address"));
    });
}

fn many_connections_at_once(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = rt.listen(local()).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        rt.spawn(Group::Query, serve(rt.clone(), listener));
        let client = |n: u32| {
            let rt = rt.clone();
            async move {
                let stream = rt.connect(address).await.expect("it connects");
                for round in 0..10 {
                    let message = format!("client {n} round {round}").into_bytes();
                    stream.write_all(message.clone()).await.0.expect("it is sent");
                    assert_eq!(read_all(&stream, message.len()).await, message);
                }
            }
        };
        let clients: Vec<_> = (0..300).map(|n| rt.spawn(Group::Query, client(n))).collect();
        for client in clients {
            client.await;
        }
        // The servers' ends see the clients' ends go.
        while rt.stats().tasks > 1 {
            rt.sleep(Duration::from_millis(1)).await;
        }
    });
}

fn a_socket_moves_to_another_shard(kind: ReactorKind) {
    let (send, receive) = std::sync::mpsc::channel::<Socket>();
    let ends = std::sync::Mutex::new((Some(send), Some(receive)));
    let main = |rt: Runtime| {
        let mut ends = ends.lock().expect("nobody panicked");
        let (send, receive) = if rt.shard().0 == 0 { (ends.0.take(), None) } else { (None, ends.1.take()) };
        async move {
            if let Some(send) = send {
                let (client, server) = pair(&rt).await;
                // It is in use here before it moves.
                client.write_all(b"one".to_vec()).await.0.expect("it is sent");
                assert_eq!(read_all(&server, 3).await, b"one");
                send.send(server.into_socket().expect("it is free")).expect("the other shard waits");
                client.write_all(b"two".to_vec()).await.0.expect("it is sent");
                assert_eq!(read_all(&client, 3).await, b"two");
                client.shutdown().expect("it is shut");
            }
            if let Some(receive) = receive {
                let socket = loop {
                    if let Ok(socket) = receive.try_recv() {
                        break socket;
                    }
                    rt.sleep(Duration::from_millis(1)).await;
                };
                echo(rt.adopt(socket)).await;
            }
        }
    };
    let options = Options { reactor: Some(kind), ..Options::default() };
    runtime::run(options, vec![main, main]).expect("the shards start");
}

fn a_shared_stream_cannot_leave(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        let clone = server.clone();
        assert_eq!(server.into_socket().expect_err("it is shared").kind(), ErrorKind::ResourceBusy);
        let back = rt.adopt(clone.into_socket().expect("it is free"));
        client.write_all(b"still here".to_vec()).await.0.expect("it is sent");
        assert_eq!(read_all(&back, 10).await, b"still here");
    });
}

/// More turns than fit into the 20 µs of a look, as each asks the kernel; one that looks on has them within milliseconds.
const LOOKS_MAX: u64 = 1_000;

/// It looks for the next request while they come one after another, and hardly turns when none comes.
fn a_shard_sleeps_when_its_lone_client_rests(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = rt.listen(local()).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let rest = Duration::from_millis(400);
        let client = std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(address).expect("it connects");
            for _ in 0..3 {
                for _ in 0..500 {
                    stream.write_all(b"ping").expect("it is sent");
                    stream.read_exact(&mut [0; 4]).expect("it is answered");
                }
                std::thread::sleep(rest);
            }
        });
        let server = rt.adopt(listener.accept().await.expect("it comes").0);
        for _ in 0..3 {
            for _ in 0..500 {
                let request = read_all(&server, 4).await;
                server.write_all(request).await.0.expect("it is sent");
            }
            let before = rt.stats();
            rt.sleep(rest / 2).await;
            let after = rt.stats();
            let turns = after.turns - before.turns;
            assert!(after.sleeps > before.sleeps && turns < LOOKS_MAX, "{before:?} {after:?}");
        }
        client.join().expect("it is done");
    });
}

fn data_and_end_that_come_together_are_both_seen(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = rt.listen(local()).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        for round in 0..50 {
            let other = std::thread::spawn(move || {
                let mut stream = std::net::TcpStream::connect(address).expect("it connects");
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("it is told to go on");
                stream.write_all(b"data").expect("it is sent");
            });
            let (socket, _) = listener.accept().await.expect("it is accepted");
            let stream = rt.adopt(socket);
            stream.write_all(vec![1]).await.0.expect("it is sent");
            if round % 2 == 0 {
                rt.sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(read_all(&stream, 100).await, b"data");
            other.join().expect("the other end is content");
        }
    });
}

fn a_port_in_use_is_an_error(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let listener = rt.listen(local()).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let error = rt.listen(address).await.err().expect("it is taken");
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}

fn pipelined_batches(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (client, server) = pair(&rt).await;
        rt.spawn(Group::Query, echo(server));
        let writer = client.clone();
        let writing = rt.spawn(Group::Query, async move {
            for n in 0..2_000u32 {
                let batch: Vec<u8> = n.to_be_bytes().repeat((n % 300) as usize + 1);
                writer.write_all(batch).await.0.expect("it is sent");
            }
        });
        for n in 0..2_000u32 {
            let batch = n.to_be_bytes().repeat((n % 300) as usize + 1);
            assert_eq!(read_all(&client, batch.len()).await, batch);
        }
        writing.await;
    });
}
