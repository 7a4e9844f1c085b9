//! How long this machine takes at present for what the machine of the bounds does in a known time.
//!
//! A guest's processors slow down with what its host does beside it, by two and three times, and no counter of the guest's says so. A bound in
//! processor time would then be a bound on the neighbours. So the same small work is done again and again while a suite runs: fresh memory,
//! whose pages the kernel clears, and then a walk through it with some text made of it, as a server's polls do.

use std::fmt::Write;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the work takes in thread time: the quickest of five hundred times on 2026-11-25, on one of 2 processors of an EPYC at 2.4 GHz.
const NANOS_ON_RECORD: u64 = 450_000;

/// A machine that seems slower than this is none to judge on: what is so slow may be the code.
const SLOWNESS_MAX: f64 = 4.0;

const INTERVAL: Duration = Duration::from_millis(100);

/// Above what the C library keeps of stacks, so that each thread's is fresh.
const STACK: usize = 64 << 20;

/// Takes samples for a whole run, to be asked how slow the machine was since some moment.
pub struct Pace {
    samples: Arc<Mutex<Vec<(Instant, u64)>>>,
}

impl Pace {
    /// Begins; its thread ends with the process.
    pub fn begin() -> Pace {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&samples);
        std::thread::spawn(move || {
            loop {
                if let Some(nanos) = sample() {
                    shared.lock().expect("no holder panics").push((Instant::now(), nanos));
                }
                std::thread::sleep(INTERVAL);
            }
        });
        Pace { samples }
    }

    /// How many times as long as on record the machine took for the same work since `began`. It may be below 1: that machine is quicker.
    pub fn since(&self, began: Instant) -> f64 {
        let samples = self.samples.lock().expect("no holder panics");
        let mut nanos: Vec<u64> = samples.iter().filter(|(at, _)| *at >= began).map(|(_, nanos)| *nanos).collect();
        quickest_tenth(&mut nanos).map_or(1.0, |quick| quick as f64 / NANOS_ON_RECORD as f64)
    }
}

/// What `work` gives, and how many times as long as on record this machine took for the same work meanwhile; at least 1.
pub fn beside<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let samples = scope.spawn(|| {
            let mut samples = vec![sample()];
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(INTERVAL);
                samples.push(sample());
            }
            samples
        });
        // Also when the work panics: the scope waits for the samples.
        let end = End { over: &over, thread: samples.thread().clone() };
        let outcome = work();
        drop(end);
        (outcome, slowness(samples.join().expect("taking samples does not panic").into_iter().flatten().collect()))
    })
}

struct End<'a> {
    over: &'a AtomicBool,
    thread: std::thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// By the quickest tenth, for what is on record was the quickest too: moments in which the machine is slow widen nothing.
fn slowness(mut nanos: Vec<u64>) -> f64 {
    let quick = quickest_tenth(&mut nanos).unwrap_or(NANOS_ON_RECORD);
    (quick as f64 / NANOS_ON_RECORD as f64).clamp(1.0, SLOWNESS_MAX)
}

fn quickest_tenth(nanos: &mut [u64]) -> Option<u64> {
    nanos.sort_unstable();
    nanos.get(nanos.len() / 10).copied()
}

/// The thread time of the work. None where the kernel does not tell: if the thread was not stopped, it has not added up.
fn sample() -> Option<u64> {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(|| {
        let start = thread_nanos()?;
        fixed_work();
        thread_nanos()?.checked_sub(start).filter(|&nanos| nanos > 0)
    });
    thread.ok()?.join().ok()?
}

fn fixed_work() {
    let mut memory = [0u8; 1 << 19];
    black_box(&mut memory);
    let mut text = String::with_capacity(1 << 15);
    for (index, byte) in memory.iter_mut().enumerate().step_by(128) {
        *byte = index.to_le_bytes()[1];
        let _ = write!(text, "{index}, ");
    }
    black_box((&memory, &text));
}

/// What this thread used of a processor. The kernel adds it up when a thread stops, so this one does.
fn thread_nanos() -> Option<u64> {
    std::thread::sleep(Duration::from_micros(100));
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_machine_has_the_bounds_themselves_and_a_slow_one_wider_ones() {
        assert_eq!(slowness(vec![]), 1.0);
        assert_eq!(slowness(vec![NANOS_ON_RECORD / 3]), 1.0);
        assert_eq!(slowness(vec![90 * NANOS_ON_RECORD, 2 * NANOS_ON_RECORD, 3 * NANOS_ON_RECORD]), 2.0);
        assert_eq!(slowness([vec![NANOS_ON_RECORD; 2], vec![90 * NANOS_ON_RECORD; 18]].concat()), SLOWNESS_MAX);
        assert_eq!(slowness([vec![NANOS_ON_RECORD; 3], vec![90 * NANOS_ON_RECORD; 17]].concat()), 1.0);
        assert_eq!(slowness(vec![90 * NANOS_ON_RECORD]), SLOWNESS_MAX);
    }

    #[test]
    fn samples_are_taken_beside_the_work() {
        let (outcome, slowness) = beside(|| "done");
        assert_eq!(outcome, "done");
        assert!((1.0..=SLOWNESS_MAX).contains(&slowness));
        assert!((0..100).any(|_| sample().is_some()));
    }
}
