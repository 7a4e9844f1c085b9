//! Questions from a thread beside the shards.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use runtime::{
    Companion, Group, Options, Outside, OutsideResponder, OutsideSeat, ReactorKind, Runtime, ShardId, Unanswered,
    outside,
};

use crate::on_every_reactor;

on_every_reactor!(
    ; kernel: questions_are_answered_by_every_shard,
    a_sleeping_shard_is_woken_by_a_question,
    places_bound_the_questions_under_way,
    nobody_answers_before_a_seat_is_open_or_after_its_shard_ended,
    a_dropped_responder_is_no_answer,
    an_answer_nobody_waits_for_is_thrown_away,
);

/// The standard library's way of waiting on a thread.
struct Parked(std::thread::Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_for<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    let mut future = pin!(future);
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(Instant::now() < deadline, "no answer came");
        std::thread::park_timeout(Duration::from_secs(1));
    }
}

type Question = u32;

/// The events that end a shard.
const DONE: Question = u32::MAX;

/// Longer than any question is waited for. A shard has no other timer, so that only questions wake it.
const HANGS: Duration = Duration::from_secs(90);

/// Runs shards that are asked by `asker`, until that ends.
fn run_asked<T: Send + 'static>(
    kind: ReactorKind,
    shards: u16,
    places: usize,
    handler: impl Fn(&Runtime, Question, OutsideResponder<Question, u32>) + Clone + Send + 'static,
    asker: impl FnOnce(&Outside<Question, u32>) -> T + Send + 'static,
) -> T {
    let (ask, seats) = outside::<Question, u32>(shards, places);
    let (told, result) = mpsc::channel();
    let main = |seat: OutsideSeat<Question, u32>| {
        let handler = handler.clone();
        move |rt: Runtime| async move {
            let door = rt.clone();
            let (done, is_done) = runtime::sync::oneshot();
            let done = std::cell::Cell::new(Some(done));
            seat.open(&rt, move |question, responder| match question {
                DONE => {
                    responder.reply(0);
                    let _ = done.take().expect("a shard ends once").send(());
                }
                question => handler(&door, question, responder),
            });
            rt.timeout(HANGS, is_done).await.expect("the asker comes to its end").expect("it is told");
        }
    };
    let mains = seats.into_iter().map(main).collect();
    let body = Box::new(move || {
        while !ask.is_open() {
            std::thread::yield_now();
        }
        let _ = told.send(asker(&ask));
        for shard in 0..ask.shard_count() {
            assert_eq!(wait_for(ask.call(ShardId(shard), DONE)), Ok(0));
        }
        wait_for(ask.ended());
        assert_eq!(wait_for(ask.call(ShardId(0), 1)), Err(Unanswered::Gone));
    });
    let options = Options { reactor: Some(kind), ..Options::default() };
    runtime::run_beside(options, mains, vec![Companion { name: "asker", is_background: false, body }])
        .expect("the shards start");
    result.recv().expect("the asker has said what came of it")
}

fn questions_are_answered_by_every_shard(kind: ReactorKind) {
    let answers = run_asked(
        kind,
        3,
        4,
        |rt, question, responder| responder.reply(question * 10 + u32::from(rt.shard().0)),
        |ask| (0..ask.shard_count()).map(|shard| wait_for(ask.call(ShardId(shard), 7))).collect::<Vec<_>>(),
    );
    assert_eq!(answers, [Ok(70), Ok(71), Ok(72)]);
}

fn a_sleeping_shard_is_woken_by_a_question(kind: ReactorKind) {
    run_asked(
        kind,
        1,
        4,
        |rt, _, responder| responder.reply(u32::try_from(rt.stats().sleeps).expect("it slept a few times")),
        |ask| {
            let sleeps = || wait_for(ask.call(ShardId(0), 3)).expect("it is answered");
            let (first, deadline) = (sleeps(), Instant::now() + Duration::from_secs(60));
            // A question that found it asleep and did not wake it would have no answer.
            while sleeps() < first + 5 {
                assert!(Instant::now() < deadline, "the shard does not sleep");
                std::thread::sleep(Duration::from_millis(5));
            }
        },
    );
}

fn places_bound_the_questions_under_way(kind: ReactorKind) {
    let late = |rt: &Runtime, question, responder: OutsideResponder<Question, u32>| {
        let door = rt.clone();
        rt.spawn(Group::Maintenance, async move {
            door.sleep(Duration::from_millis(10)).await;
            responder.reply(question);
        });
    };
    let (refused, answered, again) = run_asked(kind, 1, 2, late, |ask| {
        let both = [ask.call(ShardId(0), 1), ask.call(ShardId(0), 2)];
        let refused = wait_for(ask.call(ShardId(0), 3));
        (refused, both.map(wait_for), wait_for(ask.call(ShardId(0), 4)))
    });
    assert_eq!(refused, Err(Unanswered::Busy));
    assert_eq!(answered, [Ok(1), Ok(2)]);
    assert_eq!(again, Ok(4), "an answered question has given its place back");
}

fn nobody_answers_before_a_seat_is_open_or_after_its_shard_ended(kind: ReactorKind) {
    let (ask, seats) = outside::<Question, u32>(2, 4);
    assert_eq!(wait_for(ask.call(ShardId(1), 1)), Err(Unanswered::Starting));
    assert!(!ask.is_open());
    drop(seats);
    assert_eq!(wait_for(ask.call(ShardId(1), 1)), Err(Unanswered::Gone));
    wait_for(ask.ended());
    // The ends of shards that served are looked at by every test here.
    run_asked(kind, 2, 1, |_, question, responder| responder.reply(question), |_| ());
}

fn a_dropped_responder_is_no_answer(kind: ReactorKind) {
    let answers = run_asked(
        kind,
        1,
        1,
        |_, question, responder| if question == 1 { drop(responder) } else { responder.reply(question) },
        |ask| [wait_for(ask.call(ShardId(0), 1)), wait_for(ask.call(ShardId(0), 2))],
    );
    assert_eq!(answers, [Err(Unanswered::Gone), Ok(2)]);
}

fn an_answer_nobody_waits_for_is_thrown_away(kind: ReactorKind) {
    let answer = run_asked(
        kind,
        1,
        2,
        |_, question, responder| responder.reply(question),
        |ask| {
            drop(ask.call(ShardId(0), 1));
            wait_for(ask.call(ShardId(0), 2))
        },
    );
    assert_eq!(answer, Ok(2));
}
