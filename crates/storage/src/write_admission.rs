//! Writes that wait for room: in the commit log's buffer, or in the memory for data while a flush makes some.
//!
//! Memory is waited for only while that is of use. A flush that fails is tried again by itself, but whoever writes is told at once;
//! and a write that has waited for [`MEMORY_WAIT_MAX`] is told that flushing does not keep up. Nobody queues here: who waits is
//! woken in the order in which it came and tries again, before requests that the shard has not read yet.

use std::time::Duration;

use runtime::Instant;

use crate::error::ApplyError;
use crate::memtable::ChunkPool;
use crate::shard::{CHUNK_RESERVE, Shard};

/// How long a write waits for memory: as long as replicas have to answer one.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(2);
/// Between two looks of a write that nobody wakes: a long read may be what holds a memtable that is in a file already.
const LOOK: Duration = Duration::from_millis(50);

const TOO_LARGE: &str = "the write needs more than the whole budget";
const FLUSH_FAILS: &str = "flushes fail (see the log)";
const FLUSH_SLOW: &str = "flushes do not keep up";

/// One write that waits for room as often as it takes.
pub struct WriteAdmission {
    shard: Shard,
    /// When memory is not waited for any more.
    until: Option<Instant>,
}

impl WriteAdmission {
    /// Waits until the write may be tried again after `refused`. Gives the refusal back where waiting is of no use.
    pub async fn after(&mut self, refused: ApplyError) -> Result<(), ApplyError> {
        match refused {
            ApplyError::LogBusy => {
                self.shard.room().await;
                Ok(())
            }
            ApplyError::MemoryBusy => self.after_memory_busy().await,
            refused => Err(refused),
        }
    }

    async fn after_memory_busy(&mut self) -> Result<(), ApplyError> {
        let runtime = self.shard.runtime();
        let now = runtime.now();
        let until = *self.until.get_or_insert(now + MEMORY_WAIT_MAX);
        if now >= until {
            return Err(overloaded(&self.shard.engine_ref().pool, FLUSH_SLOW));
        }
        let look = LOOK.min(until - now);
        // Whether it was woken or not: it looks again.
        let _ = runtime.timeout(look, self.shard.flush_makes_room()).await;
        self.shard.put_back();
        Ok(())
    }
}

impl Shard {
    /// For one write: waits for room where it is refused for lack of some.
    pub fn write_admission(&self) -> WriteAdmission {
        WriteAdmission { shard: self.clone(), until: None }
    }

    /// Whether memtables may take so many bytes more.
    #[inline]
    pub(crate) fn check_room(&self, pool: &ChunkPool, needed: usize) -> Result<(), ApplyError> {
        let needed = needed.saturating_add(CHUNK_RESERVE);
        if pool.has_room(needed) { Ok(()) } else { Err(self.no_room(pool, needed)) }
    }

    #[cold]
    fn no_room(&self, pool: &ChunkPool, needed: usize) -> ApplyError {
        if needed > pool.budget() {
            overloaded(pool, TOO_LARGE)
        } else if self.flusher().is_failing() {
            overloaded(pool, FLUSH_FAILS)
        } else {
            ApplyError::MemoryBusy
        }
    }
}

fn overloaded(pool: &ChunkPool, why: &'static str) -> ApplyError {
    ApplyError::Overloaded { used: pool.used(), budget: pool.budget(), why }
}
