//! Questions to shards from a thread that is no shard.
//!
//! A mesh is between shards, whose rings and credits suit threads that share nothing and never stop. What asks here is a thread
//! beside the shards, now and then: an operator's. So this is a queue behind a lock, which that thread and the shard hold for
//! as long as it takes to move a pointer. A shard that nobody asks reads one flag per turn. Each queue has so many places, and a
//! question keeps its place until it is answered, so that neither questions nor what is done for them pile up.
// Nothing of this is on a request's way.
#![allow(clippy::disallowed_types)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::mesh::Exchange;
use crate::reactor::Peers;
use crate::{Runtime, ShardId};

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The shard has not opened its seat yet.
    Starting,
    /// All places of the shard are taken.
    Busy,
    /// The shard has ended, or dropped the question.
    Gone,
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unanswered::Starting => "the shard is still starting",
            Unanswered::Busy => "the shard's admin request queue is full",
            Unanswered::Gone => "the shard has stopped",
        })
    }
}

impl std::error::Error for Unanswered {}

/// The asker's end, and one seat per shard whose queue has so many places.
pub fn outside<Req: Send + 'static, Rep: Send + 'static>(
    shards: u16,
    places: usize,
) -> (Outside<Req, Rep>, Vec<OutsideSeat<Req, Rep>>) {
    let inboxes: Arc<[Inbox<Req, Rep>]> = (0..shards).map(|_| Inbox::new(places)).collect();
    let seat = |shard| OutsideSeat { shard: ShardId(shard), inboxes: inboxes.clone() };
    (Outside { inboxes: inboxes.clone() }, (0..shards).map(seat).collect())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a holder that panicked has left is whole: nothing here is changed in two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Phase {
    Starting,
    /// The shard serves; how it is woken.
    Open(Peers),
    Gone,
}

struct InboxState<Req, Rep> {
    phase: Phase,
    questions: VecDeque<(Req, Arc<Place<Rep>>)>,
    /// Questions that are not answered yet, waiting or taken.
    under_way: usize,
    /// Who waits for the shard's end.
    end: Option<Waker>,
}

/// One shard's queue.
struct Inbox<Req, Rep> {
    places: usize,
    /// Whether the queue holds anything; read by the shard without the lock.
    has_questions: AtomicBool,
    state: Mutex<InboxState<Req, Rep>>,
}

impl<Req, Rep> Inbox<Req, Rep> {
    fn new(places: usize) -> Self {
        let state = InboxState { phase: Phase::Starting, questions: VecDeque::new(), under_way: 0, end: None };
        Inbox { places, has_questions: AtomicBool::new(false), state: Mutex::new(state) }
    }

    fn put(&self, shard: usize, question: Req) -> Result<Arc<Place<Rep>>, Unanswered> {
        let mut state = locked(&self.state);
        let peers = match &state.phase {
            Phase::Starting => return Err(Unanswered::Starting),
            Phase::Gone => return Err(Unanswered::Gone),
            Phase::Open(_) if state.under_way >= self.places => return Err(Unanswered::Busy),
            Phase::Open(peers) => peers.clone(),
        };
        let place = Arc::new(Place { state: Mutex::new(PlaceState::Waits(None)) });
        state.questions.push_back((question, place.clone()));
        state.under_way += 1;
        self.has_questions.store(true, Ordering::Release);
        drop(state);
        // The flag is set before this looks whether the shard sleeps, and the shard looks at it after it said so.
        peers.wake(shard);
        Ok(place)
    }

    /// No question is taken from here on, and those that wait are dropped.
    fn close(&self) {
        let mut state = locked(&self.state);
        state.phase = Phase::Gone;
        let (questions, end) = (std::mem::take(&mut state.questions), state.end.take());
        drop(state);
        self.has_questions.store(false, Ordering::Release);
        for (_, place) in questions {
            place.settle(Err(Unanswered::Gone));
        }
        end.into_iter().for_each(Waker::wake);
    }
}

enum PlaceState<Rep> {
    Waits(Option<Waker>),
    Answered(Result<Rep, Unanswered>),
    Over,
}

/// Where one answer is put.
struct Place<Rep> {
    state: Mutex<PlaceState<Rep>>,
}

impl<Rep> Place<Rep> {
    fn settle(&self, answer: Result<Rep, Unanswered>) {
        let before = std::mem::replace(&mut *locked(&self.state), PlaceState::Answered(answer));
        if let PlaceState::Waits(Some(waker)) = before {
            waker.wake();
        }
    }
}

/// The asker's end. Clones are the same.
pub struct Outside<Req, Rep> {
    inboxes: Arc<[Inbox<Req, Rep>]>,
}

impl<Req, Rep> Clone for Outside<Req, Rep> {
    fn clone(&self) -> Self {
        Outside { inboxes: self.inboxes.clone() }
    }
}

impl<Req: Send + 'static, Rep: Send + 'static> Outside<Req, Rep> {
    /// How many shards there are to ask.
    pub fn shard_count(&self) -> u16 {
        u16::try_from(self.inboxes.len()).expect("shards are counted in 16 bits")
    }

    /// Asks a shard. The question is on its way when this returns; dropped, the answer is thrown away, and what was begun for it is
    /// not ended. Runs under any executor of another thread, and never on a shard.
    ///
    /// # Panics
    /// If there is no shard `to`.
    pub fn call(&self, to: ShardId, question: Req) -> Answer<Rep> {
        Answer { place: self.inboxes[usize::from(to.0)].put(usize::from(to.0), question) }
    }

    /// Whether every shard has opened its seat and none has ended.
    pub fn is_open(&self) -> bool {
        self.inboxes.iter().all(|inbox| matches!(locked(&inbox.state).phase, Phase::Open(_)))
    }

    /// Waits until every shard has ended, or its seat was dropped unopened. For one waiter at a time.
    pub async fn ended(&self) {
        for inbox in &*self.inboxes {
            std::future::poll_fn(|context| {
                let mut state = locked(&inbox.state);
                if matches!(state.phase, Phase::Gone) {
                    return Poll::Ready(());
                }
                state.end = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
        }
    }
}

/// An answer that is to come.
pub struct Answer<Rep> {
    place: Result<Arc<Place<Rep>>, Unanswered>,
}

impl<Rep> Future for Answer<Rep> {
    type Output = Result<Rep, Unanswered>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let place = match &self.place {
            Ok(place) => place,
            Err(why) => return Poll::Ready(Err(*why)),
        };
        let mut state = locked(&place.state);
        if let PlaceState::Waits(waker) = &mut *state {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, PlaceState::Over) {
            PlaceState::Answered(answer) => Poll::Ready(answer),
            _ => unreachable!("an answer is taken once"),
        }
    }
}

/// One shard's place, on its way to the shard's thread.
pub struct OutsideSeat<Req, Rep> {
    shard: ShardId,
    inboxes: Arc<[Inbox<Req, Rep>]>,
}

impl<Req: Send + 'static, Rep: Send + 'static> OutsideSeat<Req, Rep> {
    /// Takes the seat on its shard. `handler` gets each question; it must be quick, and may spawn.
    ///
    /// # Panics
    /// On another shard than the seat's.
    pub fn open(self, runtime: &Runtime, handler: impl FnMut(Req, OutsideResponder<Req, Rep>) + 'static) {
        assert_eq!(self.shard, runtime.shard(), "a seat is opened on its own shard");
        let core = runtime.core();
        let end = Listener {
            shard: self.shard,
            inboxes: self.inboxes.clone(),
            handler: RefCell::new(Some(Box::new(handler))),
        };
        core.outside.borrow_mut().push(Rc::new(end));
        locked(&self.inbox().state).phase = Phase::Open(core.peers.clone());
    }
}

impl<Req, Rep> OutsideSeat<Req, Rep> {
    fn inbox(&self) -> &Inbox<Req, Rep> {
        &self.inboxes[usize::from(self.shard.0)]
    }
}

impl<Req, Rep> Drop for OutsideSeat<Req, Rep> {
    fn drop(&mut self) {
        // An open one is closed by its shard.
        let is_unopened = matches!(locked(&self.inbox().state).phase, Phase::Starting);
        if is_unopened {
            self.inbox().close();
        }
    }
}

type Handler<Req, Rep> = Box<dyn FnMut(Req, OutsideResponder<Req, Rep>)>;

/// A shard's end.
struct Listener<Req, Rep> {
    shard: ShardId,
    inboxes: Arc<[Inbox<Req, Rep>]>,
    handler: RefCell<Option<Handler<Req, Rep>>>,
}

impl<Req, Rep> Listener<Req, Rep> {
    fn inbox(&self) -> &Inbox<Req, Rep> {
        &self.inboxes[usize::from(self.shard.0)]
    }
}

impl<Req: Send + 'static, Rep: Send + 'static> Exchange for Listener<Req, Rep> {
    fn exchange(self: Rc<Self>) -> usize {
        if !self.has_incoming() {
            return 0;
        }
        let questions = {
            let mut state = locked(&self.inbox().state);
            self.inbox().has_questions.store(false, Ordering::Relaxed);
            std::mem::take(&mut state.questions)
        };
        let count = questions.len();
        for (question, place) in questions {
            let responder =
                OutsideResponder { shard: self.shard, inboxes: self.inboxes.clone(), place, is_answered: false };
            if let Some(handler) = self.handler.borrow_mut().as_mut() {
                handler(question, responder);
            }
        }
        count
    }

    fn has_incoming(&self) -> bool {
        self.inbox().has_questions.load(Ordering::Acquire)
    }

    fn drop_gone(self: Rc<Self>) {}

    fn close(&self) {
        let handler = self.handler.borrow_mut().take();
        drop(handler);
        self.inbox().close();
    }
}

/// The way back to the asker. Dropped without a reply, the asker gets [`Unanswered::Gone`].
pub struct OutsideResponder<Req, Rep> {
    shard: ShardId,
    inboxes: Arc<[Inbox<Req, Rep>]>,
    place: Arc<Place<Rep>>,
    is_answered: bool,
}

impl<Req, Rep> OutsideResponder<Req, Rep> {
    /// Answers the question.
    pub fn reply(mut self, reply: Rep) {
        self.settle(Ok(reply));
    }

    fn settle(&mut self, answer: Result<Rep, Unanswered>) {
        self.is_answered = true;
        // The place is free before the asker knows, who may ask again at once.
        locked(&self.inboxes[usize::from(self.shard.0)].state).under_way -= 1;
        self.place.settle(answer);
    }
}

impl<Req, Rep> Drop for OutsideResponder<Req, Rep> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.settle(Err(Unanswered::Gone));
        }
    }
}
