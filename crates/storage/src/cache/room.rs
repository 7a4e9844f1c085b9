//! What the caches count and take, and how the row cache gives way to memtables.

use runtime::Group;

use crate::cache::CacheCounters;
use crate::shard::Shard;
use crate::sstable::ReadCounts;

impl Shard {
    /// What the row cache counted since the start, and what is in it.
    pub fn cache_counters(&self) -> CacheCounters {
        self.engine_ref().cache.counters()
    }

    /// How often files were read from the device, and how often index pages were found in memory instead.
    pub fn read_counts(&self) -> ReadCounts {
        self.pages().counts()
    }

    /// What index pages take in memory, bytes.
    pub fn index_page_bytes(&self) -> usize {
        self.pages().bytes()
    }

    /// Evicts entries until memtables and cache take no more than they may together, little by little.
    #[cold]
    pub(crate) fn shrink_cache_in_background(&self) {
        self.engine().cache.is_shrinking = true;
        let shard = self.clone();
        self.runtime().spawn(Group::Maintenance, async move {
            stdx::sometimes!("the row cache gives way to memtables");
            while shard.shrink_cache() {
                shard.runtime().maybe_yield().await;
            }
            shard.engine().cache.is_shrinking = false;
        });
    }

    fn shrink_cache(&self) -> bool {
        let mut engine = self.engine();
        let used = engine.pool.used();
        engine.cache.shrink(used)
    }
}
