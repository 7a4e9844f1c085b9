//! A shard's way to the queue, and its part of the filter: category and user.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use runtime::{Runtime, ShardId, Workbench};

use crate::desk::{Desk, Figures, Put};
use crate::entry::Entry;
use crate::kind::{Categories, Category};
use crate::options::{Names, Options};
use crate::threads::Seat;

/// The audit log of a shard. Clones are the same.
#[derive(Clone)]
pub struct Audit {
    inner: Rc<Inner>,
}

struct Inner {
    shard: ShardId,
    bench: Workbench<Desk>,
    /// Those that are audited; none: the log is off.
    categories: Cell<Categories>,
    users: RefCell<Names>,
}

impl Audit {
    /// Takes the seat on its shard. `host` is the node, as entries name it. `has_room` is called, on the shard and between its polls, when a queue that an entry of this shard
    /// found full has room.
    pub fn open(runtime: &Runtime, seat: Seat, host: &str, mut has_room: impl FnMut() + 'static) -> Audit {
        let shard = runtime.shard();
        let hand: Rc<RefCell<Option<Workbench<Desk>>>> = Rc::default();
        let told = hand.clone();
        let bench = seat.0.open(runtime, move |()| {
            let bench = told.borrow().clone();
            bench.into_iter().for_each(|bench| bench.with(|desk| desk.has_looked(shard)));
            has_room();
        });
        *hand.borrow_mut() = Some(bench.clone());
        let settings = bench.with(|desk| {
            desk.name_host(host);
            desk.settings().clone()
        });
        let inner = Inner { shard, bench, categories: Cell::default(), users: RefCell::default() };
        let audit = Audit { inner: Rc::new(inner) };
        audit.filter_by(&settings.options, settings.is_on);
        audit
    }

    fn filter_by(&self, options: &Options, is_on: bool) {
        self.inner.categories.set(if is_on { options.audited() } else { Categories::NONE });
        options.users.clone_into(&mut self.inner.users.borrow_mut());
    }

    /// True if no entry is written.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.inner.categories.get().is_empty()
    }

    /// True if entries of this category are written.
    #[inline]
    pub fn wants(&self, category: Category) -> bool {
        self.inner.categories.get().contains(category)
    }

    /// True if entries of this user are written.
    pub fn wants_user(&self, user: &str) -> bool {
        self.inner.users.borrow().passes(user)
    }

    /// Puts an entry into the queue.
    pub fn put(&self, entry: Entry) -> Put {
        self.inner.bench.with(|desk| desk.put(self.inner.shard, entry))
    }

    /// Turns the log on with these options, or off. For each shard: an entry is filtered by the options of its own.
    pub fn set(&self, options: &Options, is_on: bool) {
        self.inner.bench.with(|desk| desk.set(options.clone(), is_on));
        self.filter_by(options, is_on);
    }

    /// The options in use, and true if the log is on.
    pub fn options(&self) -> (Options, bool) {
        self.inner.bench.with(|desk| (desk.settings().options.clone(), desk.settings().is_on))
    }

    /// Figures of the node.
    pub fn figures(&self) -> Figures {
        self.inner.bench.with(|desk| desk.figures())
    }
}
