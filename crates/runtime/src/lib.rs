//! Shard executor, scheduling groups, timers, files, sockets and cross-shard calls: the one door to the outside world.
