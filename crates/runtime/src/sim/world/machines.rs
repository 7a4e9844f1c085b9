//! A world's machines, changed from outside: their processes, disks, clocks and links.

use std::net::IpAddr;

use super::{World, first_timer};
use crate::sim::disk::{Disk, Keep};
use crate::sim::fault::DiskFault;
use crate::sim::network::{Link, Object};
use crate::sim::shared::{DiskSpeed, HostId, ProcessId};

impl World<'_> {
    /// SIGKILL: the processes on the machine are gone, and what they wrote is in its page cache.
    pub fn kill(&mut self, host: HostId) {
        self.end_processes(|on| on == host);
        let mut state = self.shared.state();
        state.trace.note(0x6b69_6c6c);
        state.hosts[host.0].disk.all_ended();
    }

    /// A power cut, after which the machine is there again with what its disk kept.
    pub fn crash(&mut self, host: HostId, keep: Keep) {
        self.end_processes(|on| on == host);
        let mut state = self.shared.state();
        state.trace.note(0x0063_7261_7368);
        let host = &mut state.hosts[host.0];
        host.epoch += 1;
        host.disk = host.disk.after_power_cut(keep);
    }

    /// SIGTERM to the processes on the machine that handle it. It waits for one that does not look for it yet.
    pub fn terminate(&mut self, host: HostId) {
        let mut state = self.shared.state();
        let processes = self.processes.iter().enumerate();
        let running =
            processes.filter(|(_, process)| process.host == host && process.running > 0 && process.handles_signals);
        state.signalled.extend(running.map(|(number, _)| ProcessId(number)));
        let mut readers = Vec::new();
        for owned in state.descriptors.iter_mut() {
            if self.processes[owned.process.0].host == host
                && let Object::Signals { reader } = &mut owned.object
            {
                readers.push(reader.take());
            }
        }
        for reader in readers {
            state.retry(reader);
        }
    }

    /// SIGSTOP to the processes on the machine: no task of theirs is polled, and timers whose moment comes are late. The kernel goes on: disk
    /// operations end, connections are accepted and stay open, and what arrives waits in buffers, until those are full.
    pub fn pause(&mut self, host: HostId) {
        self.shared.state().trace.note(0x0070_6175_7365);
        self.set_paused(host, true);
    }

    /// SIGCONT to the processes on the machine.
    pub fn resume(&mut self, host: HostId) {
        self.shared.state().trace.note(0x7265_7375_6d65);
        self.set_paused(host, false);
    }

    fn set_paused(&mut self, host: HostId, is_paused: bool) {
        for process in self.processes.iter_mut().filter(|process| process.host == host && process.running > 0) {
            process.is_paused = is_paused;
        }
        for shard in &self.shards {
            if self.processes[shard.process.0].host == host {
                if is_paused { self.due.stop(shard.number) } else { self.due.go_on(shard.number) }
            }
        }
    }

    /// True if a process on the machine is paused.
    pub fn is_paused(&self, host: HostId) -> bool {
        self.processes.iter().any(|process| process.host == host && process.running > 0 && process.is_paused)
    }

    /// The machine is reached at these addresses from now on. It must be down.
    pub fn set_addresses(&mut self, host: HostId, addresses: &[IpAddr]) {
        assert!(!self.is_running(host), "a running machine keeps its addresses");
        let mut state = self.shared.state();
        state.trace.note(0x6164_6472);
        state.give_addresses(host, addresses);
    }

    /// Puts another disk into the machine, which must be down: an empty one, or a clone of an earlier moment, which is what
    /// [`Disk::after_power_cut`] makes of a fork. Gives the disk that was in it. Faults and speed are the machine's and stay.
    pub fn exchange_disk(&mut self, host: HostId, mut disk: Disk) -> Disk {
        assert!(!self.is_running(host), "the disk of a running machine is not exchanged");
        // Of a fork that was taken while something was written, as of a disk whose process was killed.
        disk.all_ended();
        let mut state = self.shared.state();
        state.trace.note(0x6469_736b);
        state.trace.note(disk.digest());
        let host = &mut state.hosts[host.0];
        // What was under way on the old disk does not end on this one.
        host.epoch += 1;
        std::mem::replace(&mut host.disk, disk)
    }

    /// Looks at, or changes, a machine's disk.
    pub fn with_disk<R>(&mut self, host: HostId, work: impl FnOnce(&mut Disk) -> R) -> R {
        work(&mut self.shared.state().hosts[host.0].disk)
    }

    /// A fork of the machine's disk as it is now, pending changes included.
    pub fn fork_disk(&self, host: HostId) -> Disk {
        self.shared.state().hosts[host.0].disk.clone()
    }

    /// From now on a fork of the disk is kept at each boundary: when an operation has begun, and when one has changed what
    /// is durable.
    pub fn keep_boundaries(&mut self, host: HostId) {
        self.shared.state().hosts[host.0].boundaries.get_or_insert_default();
    }

    /// The forks since the last call.
    pub fn take_boundaries(&mut self, host: HostId) -> Vec<Disk> {
        self.shared.state().hosts[host.0].boundaries.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Disk operations begun on the machine so far.
    pub fn disk_calls(&self, host: HostId) -> u64 {
        self.shared.state().hosts[host.0].disk_calls
    }

    /// Disk operations that failed because they were told to.
    pub fn disk_faults_hit(&self, host: HostId) -> u64 {
        self.shared.state().hosts[host.0].faults_hit
    }

    /// Faults of the machine's disk from now on.
    pub fn set_disk_faults(&mut self, host: HostId, faults: Vec<DiskFault>) {
        self.shared.state().hosts[host.0].faults = faults;
    }

    /// How fast the machine's disk is from now on.
    pub fn set_disk_speed(&mut self, host: HostId, speed: DiskSpeed) {
        self.shared.state().hosts[host.0].speed = speed;
    }

    /// Sets how far the machine's wall clock is from the world's time, microseconds, at once and for all its processes. Its rate stays.
    pub fn set_wall_clock_skew(&mut self, host: HostId, micros: i64) {
        let now = self.shared.time();
        if self.is_running(host) {
            stdx::sometimes!("wall clock jumped under a process");
        }
        let mut state = self.shared.state();
        state.trace.note(micros as u64);
        state.hosts[host.0].clocks.set_skew(now, micros);
    }

    /// Has the machine's wall clock jump, forwards or back, as when an operator or a time server sets it. The monotonic clock, and so each
    /// timer, stays as it is.
    pub fn jump_wall_clock(&mut self, host: HostId, micros: i64) {
        if self.is_running(host) {
            stdx::sometimes!("wall clock jumped under a process");
        }
        let mut state = self.shared.state();
        state.trace.note(micros as u64);
        state.hosts[host.0].clocks.jump(micros);
    }

    /// Sets how much faster the machine's clocks run than the world's time, in parts per million: -50,000 is 5 % slower. Of both its clocks,
    /// as they hang on one oscillator: timers come sooner or later too. Times that processes on several machines note can be compared only
    /// where no rate was set.
    pub fn set_clock_rate(&mut self, host: HostId, ppm: i32) {
        let now = self.shared.time();
        {
            let mut state = self.shared.state();
            state.trace.note(ppm as u64);
            state.hosts[host.0].clocks.set_rate(now, ppm);
        }
        let on_host = self.shards.iter().filter(|shard| self.processes[shard.process.0].host == host);
        let timers: Vec<_> =
            on_host.map(|shard| (shard.number, first_timer(&self.shared, &shard.core, host))).collect();
        if timers.iter().any(|(_, timer)| timer.is_some()) {
            stdx::sometimes!("timer at another rate");
        }
        for (shard, timer) in timers {
            self.due.set_timer(shard, timer);
        }
    }

    /// The machine's wall clock, microseconds since the Unix epoch.
    pub fn wall_clock_micros(&self, host: HostId) -> i64 {
        let now = self.shared.time();
        self.shared.state().hosts[host.0].clocks.wall_micros(now)
    }

    /// How one machine reaches another from now on. What a cut held back passes once the link is whole.
    pub fn set_link(&mut self, from: HostId, to: HostId, link: Link) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        state.links.insert((from, to), link);
        state.release_held(now);
    }

    /// How machines reach each other where nothing else was said.
    pub fn set_default_link(&mut self, link: Link) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        state.default_link = link;
        state.release_held(now);
    }

    /// How often a cut held something back so far, in all of the world.
    pub fn held_count(&self) -> u64 {
        self.shared.state().held_count
    }

    /// Resets all connections between the two machines.
    pub fn reset_connections(&mut self, one: HostId, other: HostId) {
        self.shared.state().reset_between(one, other);
    }
}
