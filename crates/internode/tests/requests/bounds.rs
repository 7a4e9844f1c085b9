//! Diallers that keep to the protocol and to no measure: memory stays within its bounds, and other connections are served.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use internode::{CANCEL, FRAME_BODY_MAX, Frame, FrameReader, Head, Incoming, PING, PONG, write_frame};
use runtime::{Runtime, TcpStream};

use super::world::{ANSWER, CLIENT, ECHO, STAY, greeted, send, with_server};

/// The bound of a shard's memory.
const MEMORY_MAX: usize = 32 << 20;

fn frame(number: u64, kind: u8, deadline: Option<u32>, body: &[u8]) -> Vec<u8> {
    let (mut out, head) = (Vec::new(), Head { number, kind, deadline, ..Head::default() });
    write_frame(&mut out, &head, false, |out| out.extend_from_slice(body)).expect("it is short");
    out
}

/// The number, kind and body of the next frame; `None`: the connection has ended.
async fn next(stream: &TcpStream, frames: &mut FrameReader) -> Option<(u64, u8, Vec<u8>)> {
    loop {
        if let Some(Frame { head, body }) = frames.next_frame().expect("the bytes are right") {
            return Some((head.number, head.kind, body.open().expect("the bytes are right").into_owned()));
        }
        let (result, buffer) = stream.read(frames.take_for_read()).await;
        frames.put_back(buffer);
        if !matches!(result, Ok(1..)) {
            return None;
        }
    }
}

/// The reading of the connection's clock.
async fn reading(stream: &TcpStream, frames: &mut FrameReader) -> u32 {
    send(stream, frame(1, PING, None, &[])).await;
    let (_, kind, body) = next(stream, frames).await.expect("the connection works");
    assert_eq!(kind, PONG);
    u32::from_be_bytes(body.try_into().expect("a reading has four bytes"))
}

#[test]
fn a_request_that_arrives_after_its_deadline_is_not_served() {
    with_server(|runtime, served| async move {
        let (stream, mut frames) = (greeted(&runtime, CLIENT).await, FrameReader::new());
        runtime.sleep(Duration::from_secs(3)).await;
        let now = reading(&stream, &mut frames).await;
        assert!((2_900..3_500).contains(&now), "the clock has begun with the connection: {now} ms");
        for (number, deadline) in
            [(7, Some(now - 1)), (8, Some(now + 1_000)), (9, None), (10, Some(now.wrapping_sub(1 << 30)))]
        {
            send(&stream, frame(number, ECHO, deadline, b"late?")).await;
        }
        let mut answered = Vec::new();
        while answered.len() < 2 {
            answered.push(next(&stream, &mut frames).await.expect("the connection works").0);
        }
        // Whatever else was served would be answered by now.
        reading(&stream, &mut frames).await;
        assert_eq!((answered, served.begun.get()), (vec![8, 9], 2));
    });
}

#[test]
fn a_cancelled_request_ends_and_one_of_another_kind_goes_on() {
    with_server(|runtime, served| async move {
        let (stream, mut frames) = (greeted(&runtime, CLIENT).await, FrameReader::new());
        send(&stream, frame(7, STAY, None, &[])).await;
        send(&stream, frame(8, ECHO, None, b"slow")).await;
        served.wait_for(&runtime, |served| served.begun.get() == 2).await;
        for number in [7, 8, 99] {
            send(&stream, frame(number, CANCEL, None, &[])).await;
        }
        served.wait_for(&runtime, |served| served.dropped.get() == 1).await;
        let (number, kind, _) = next(&stream, &mut frames).await.expect("the connection works");
        assert_eq!((number, kind), (8, ANSWER), "an echo is not cancellable");
        // Its caller is gone with the connection.
        send(&stream, frame(12, STAY, None, &[])).await;
        served.wait_for(&runtime, |served| served.begun.get() == 3).await;
        drop(stream);
        served.wait_for(&runtime, |served| served.dropped.get() == 2).await;
    });
}

#[test]
fn a_cancellable_request_ends_at_its_deadline() {
    with_server(|runtime, served| async move {
        let (stream, mut frames) = (greeted(&runtime, CLIENT).await, FrameReader::new());
        let now = reading(&stream, &mut frames).await;
        send(&stream, frame(7, STAY, Some(now + 2_000), &[])).await;
        served.wait_for(&runtime, |served| served.begun.get() == 1).await;
        runtime.sleep(Duration::from_millis(1_500)).await;
        assert_eq!(served.dropped.get(), 0);
        runtime.sleep(Duration::from_secs(1)).await;
        assert_eq!(served.dropped.get(), 1);
    });
}

/// The first bytes of a frame with a long body.
fn part_of_a_long_frame(bytes: usize) -> Vec<u8> {
    let mut whole = frame(1, ECHO, None, &vec![7; 24 << 20]);
    whole.truncate(bytes);
    whole
}

/// The most that the connections hold while the test runs.
fn watch_memory(runtime: &Runtime, incoming: Incoming) -> Rc<Cell<usize>> {
    let most = Rc::new(Cell::new(0));
    let (seen, clock) = (Rc::clone(&most), runtime.clone());
    runtime.spawn(runtime::Group::Query, async move {
        loop {
            seen.set(seen.get().max(incoming.memory_used()));
            clock.sleep(Duration::from_millis(1)).await;
        }
    });
    most
}

#[test]
fn frames_that_do_not_end_take_no_more_than_the_bound_and_end_by_themselves() {
    with_server(|runtime, served| async move {
        let most = watch_memory(&runtime, served.incoming.clone());
        let mut greedy = Vec::new();
        for _ in 0..12 {
            let stream = Rc::new(greeted(&runtime, CLIENT).await);
            let (sending, clock) = (Rc::clone(&stream), runtime.clone());
            let task = runtime.spawn(runtime::Group::Query, async move {
                // Its peer ends the connection before all is sent.
                let _ = sending.write_all(part_of_a_long_frame(12 << 20)).await;
                // It shows that it is there, and never ends its frame.
                while sending.write_all(vec![7]).await.0.is_ok() {
                    clock.sleep(Duration::from_secs(2)).await;
                }
            });
            greedy.push((stream, task));
        }
        served.wait_for(&runtime, |served| served.incoming.memory_used() > 6 << 20).await;
        // Short requests are served meanwhile.
        let (stream, mut frames) = (greeted(&runtime, CLIENT).await, FrameReader::new());
        for number in 1..100 {
            send(&stream, frame(number, ECHO, None, b"short")).await;
            let answer = next(&stream, &mut frames).await.expect("the connection works");
            assert_eq!(answer, (number, ANSWER, b"short".to_vec()));
            runtime.sleep(Duration::from_millis(20)).await;
        }
        // And a frame that is longer than all memory that is left has its turn.
        let long = greeted(&runtime, CLIENT).await;
        send(&long, frame(5, ECHO, None, &vec![9; FRAME_BODY_MAX / 2])).await;
        let answer = next(&long, &mut FrameReader::new()).await.expect("the connection works");
        assert_eq!((answer.0, answer.2.len()), (5, FRAME_BODY_MAX / 2));
        assert!(most.get() <= MEMORY_MAX + FRAME_BODY_MAX, "{} bytes", most.get());
        for (_, task) in greedy {
            task.abort();
        }
    });
}

#[test]
fn requests_wait_for_the_memory_of_those_before_and_pings_do_not() {
    with_server(|runtime, served| async move {
        let greedy = greeted(&runtime, CLIENT).await;
        // Each may be answered by a megabyte.
        for number in 1..=24 {
            send(&greedy, frame(number, STAY, None, &[])).await;
        }
        served.wait_for(&runtime, |served| served.begun.get() == 24).await;
        assert_eq!(served.incoming.memory_used(), 24 << 20);
        let (other, mut frames) = (greeted(&runtime, CLIENT).await, FrameReader::new());
        reading(&other, &mut frames).await;
        send(&other, frame(7, ECHO, None, b"waits")).await;
        runtime.sleep(Duration::from_secs(1)).await;
        assert_eq!(served.begun.get(), 24);
        send(&greedy, frame(3, CANCEL, None, &[])).await;
        let answer = next(&other, &mut frames).await.expect("the connection works");
        assert_eq!(answer, (7, ANSWER, b"waits".to_vec()));
        drop(greedy);
        served.wait_for(&runtime, |served| served.incoming.memory_used() == 0).await;
    });
}

#[test]
fn a_number_that_is_in_use_ends_the_connection() {
    with_server(|runtime, served| async move {
        let stream = greeted(&runtime, CLIENT).await;
        for _ in 0..2 {
            send(&stream, frame(7, STAY, None, &[])).await;
        }
        assert_eq!(next(&stream, &mut FrameReader::new()).await, None);
        served.wait_for(&runtime, |served| served.dropped.get() == 2).await;
        assert_eq!(served.incoming.memory_used(), 0);
    });
}

#[test]
fn a_dialler_that_reads_no_answers_is_closed() {
    with_server(|runtime, served| async move {
        let stream = Rc::new(greeted(&runtime, CLIENT).await);
        let (sending, clock) = (Rc::clone(&stream), runtime.clone());
        let most = watch_memory(&runtime, served.incoming.clone());
        let is_over = Rc::new(Cell::new(false));
        let over = Rc::clone(&is_over);
        runtime.spawn(runtime::Group::Query, async move {
            let body = vec![7; 64 << 10];
            for number in 1.. {
                if sending.write_all(frame(number, ECHO, None, &body)).await.0.is_err() {
                    break;
                }
                clock.maybe_yield().await;
            }
            over.set(true);
        });
        served.wait_for(&runtime, |_| is_over.get()).await;
        assert!(most.get() <= MEMORY_MAX, "{} bytes", most.get());
        served.wait_for(&runtime, |served| served.incoming.memory_used() == 0).await;
    });
}
