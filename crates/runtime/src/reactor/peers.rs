//! How other threads wake a sleeping shard.
//!
//! A shard that is about to sleep says so, then looks once more for messages, then sleeps. Who has put a message looks
//! whether the shard sleeps, and only then signals. With a sequentially consistent fence between the two steps of each,
//! one of them sees the other: either the shard finds the message or the sender finds the sleeper. A shard that is busy
//! costs its peers no call to the kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

use crate::sys;

/// One shard as other threads see it.
#[repr(align(128))]
struct Peer {
    is_sleeping: AtomicBool,
    is_gone: AtomicBool,
    /// None in a simulated world, which needs no kernel to wake its shards.
    event: Option<OwnedFd>,
}

impl Peer {
    fn new(event: Option<OwnedFd>) -> Self {
        Peer { is_sleeping: AtomicBool::new(false), is_gone: AtomicBool::new(false), event }
    }
}

struct Shared {
    peers: Box<[Peer]>,
    gone_count: AtomicU32,
    #[cfg(feature = "sim")]
    simulated: Option<crate::sim::Waking>,
}

/// All shards as other threads see them.
#[derive(Clone)]
pub(crate) struct Peers {
    shared: Arc<Shared>,
}

impl Peers {
    /// The shards before any of them runs.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let peers = (0..count).map(|_| Ok(Peer::new(Some(sys::event::event(true)?))));
        let peers = peers.collect::<io::Result<Box<[Peer]>>>()?;
        Ok(Peers {
            shared: Arc::new(Shared {
                peers,
                gone_count: AtomicU32::new(0),
                #[cfg(feature = "sim")]
                simulated: None,
            }),
        })
    }

    /// The shards of one simulated process, which the world wakes.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated(count: usize, waking: crate::sim::Waking) -> Self {
        let peers = (0..count).map(|_| Peer::new(None)).collect();
        Peers { shared: Arc::new(Shared { peers, gone_count: AtomicU32::new(0), simulated: Some(waking) }) }
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.peers.len()
    }

    /// What becomes readable when the shard is woken.
    pub(super) fn event(&self, index: usize) -> &OwnedFd {
        self.shared.peers[index].event.as_ref().expect("only reactors of the kernel's watch it")
    }

    /// Says that the shard sleeps from now on. It must look for messages once more before it does.
    pub(crate) fn announce_sleep(&self, index: usize) {
        self.shared.peers[index].is_sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that the shard is awake.
    pub(crate) fn announce_awake(&self, index: usize) {
        self.shared.peers[index].is_sleeping.store(false, Ordering::Relaxed);
    }

    /// Wakes the shard if it sleeps, after a message was put for it. Whether it slept.
    pub(crate) fn wake(&self, index: usize) -> bool {
        #[cfg(feature = "sim")]
        if let Some(waking) = &self.shared.simulated {
            return waking.wake(index);
        }
        fence(Ordering::SeqCst);
        let peer = &self.shared.peers[index];
        let is_sleeping = peer.is_sleeping.load(Ordering::Relaxed);
        if is_sleeping {
            sys::event::signal(peer.event.as_ref().expect("a thread's shard has one"));
        }
        is_sleeping
    }

    /// Says that the shard has ended and answers nobody any more.
    pub(crate) fn announce_gone(&self, index: usize) {
        self.shared.peers[index].is_gone.store(true, Ordering::Release);
        self.shared.gone_count.fetch_add(1, Ordering::Release);
        for other in 0..self.count() {
            self.wake(other);
        }
    }

    /// How many shards have ended: a change says to look which.
    #[inline]
    pub(crate) fn gone_count(&self) -> u32 {
        self.shared.gone_count.load(Ordering::Acquire)
    }

    /// Whether the shard has ended. All that it sent is in its rings then.
    pub(crate) fn is_gone(&self, index: usize) -> bool {
        self.shared.peers[index].is_gone.load(Ordering::Acquire)
    }
}
