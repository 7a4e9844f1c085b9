//! Each row of the table of states, and the bounds.

use std::time::Duration;

use planted::Planted;
use proptest::prelude::*;
use runtime::Instant;

use super::{Crossing, Liveness, PhiThreshold, Pong, ROUND, Verdict};
use crate::examples::host;
use crate::planted_by_test;

const INTERVAL: Duration = Duration::from_millis(500);

/// A node whose judgement goes on by hand.
struct Judge {
    now: Instant,
    liveness: Liveness,
    convicted: Vec<(Instant, u8, bool)>,
}

impl Judge {
    fn of(others: &[u8], phi: f64) -> Judge {
        let now = Instant::from_nanos(7_000_000_000);
        let threshold = PhiThreshold::new(phi).expect("within the range");
        let mut liveness = Liveness::new(threshold, planted_by_test(), now);
        liveness.follow(others.iter().map(|number| host(*number)), now);
        Judge { now, liveness, convicted: Vec::new() }
    }

    /// Time in which this process listens, with a round each tenth of a second.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now = until.min(self.now + ROUND);
            let now = self.now;
            for (host_id, was_up) in self.liveness.round(now) {
                let number = (1..=9).find(|number| host(*number) == host_id).expect("one of ours");
                self.convicted.push((now, number, was_up));
            }
        }
    }

    fn pong(&mut self, number: u8) -> Pong {
        self.liveness.pong(host(number), true, self.now)
    }

    fn connect(&mut self, number: u8) {
        assert!(self.liveness.greeted(host(number), self.now));
        assert_eq!(self.pong(number), Pong::Again);
        assert_eq!(self.pong(number), Pong::Up);
    }

    fn verdict(&self, number: u8) -> Verdict {
        self.liveness.report(host(number), self.now).expect("it is known").verdict
    }

    /// Silence until the node is convicted.
    fn silence_of(&mut self, number: u8) -> Duration {
        let before = self.now;
        while self.liveness.is_up(host(number)) {
            self.pass(ROUND);
            assert!(self.now - before < Duration::from_secs(60), "it is never convicted");
        }
        self.now - before
    }
}

#[test]
fn a_node_is_up_after_a_handshake_and_two_pongs() {
    let mut judge = Judge::of(&[1], 8.0);
    assert_eq!(judge.verdict(1), Verdict::Down);
    assert_eq!(judge.pong(1), Pong::Same, "there is no connection");
    assert!(judge.liveness.greeted(host(1), judge.now));
    assert_eq!((judge.pong(1), judge.verdict(1)), (Pong::Again, Verdict::Greeted(1)));
    assert_eq!((judge.pong(1), judge.verdict(1)), (Pong::Up, Verdict::Up));
    assert_eq!(judge.pong(1), Pong::Same);
    assert!(!judge.liveness.greeted(host(2), judge.now), "it is no node of the cluster");
}

#[test]
fn a_node_that_starts_is_not_up_and_not_convicted() {
    let mut judge = Judge::of(&[1], 8.0);
    assert!(judge.liveness.greeted(host(1), judge.now));
    for _ in 0..40 {
        judge.pass(INTERVAL);
        assert_eq!(judge.liveness.pong(host(1), false, judge.now), Pong::Same);
    }
    assert_eq!((judge.verdict(1), judge.convicted.len()), (Verdict::Greeted(0), 0));
    judge.pass(Duration::from_secs(3));
    assert_eq!(judge.verdict(1), Verdict::Convicted);
    assert!(matches!(judge.convicted[..], [(_, 1, false)]), "{:?}", judge.convicted);
}

#[test]
fn the_end_of_a_connection_is_down_at_once() {
    let mut judge = Judge::of(&[1, 2], 8.0);
    judge.connect(1);
    assert!(judge.liveness.ended(host(1), judge.now));
    assert_eq!(judge.verdict(1), Verdict::Down);
    assert!(!judge.liveness.ended(host(1), judge.now), "it was down");
    // One pong on the next connection is not enough, whatever came on the one before.
    assert!(judge.liveness.greeted(host(1), judge.now));
    assert_eq!(judge.pong(1), Pong::Again);
    assert!(!judge.liveness.ended(host(1), judge.now), "it was not up yet");
}

#[test]
fn silence_is_judged_by_the_longest_gap() {
    for (gap_ms, phi, limit_ms) in [
        (500, 8.0, 2000),
        (500, 16.0, 4000),
        (500, 5.0, 1250),
        (900, 8.0, 3600),
        (1900, 8.0, 7600),
        (1900, 16.0, 15200),
        (9000, 16.0, 20000),
    ] {
        let mut judge = Judge::of(&[1], phi);
        judge.connect(1);
        for _ in 0..4 {
            judge.pass(INTERVAL);
            judge.pong(1);
        }
        // A gap that is longer than the limit so far would convict; so it grows in steps.
        let mut gap = Duration::from_millis(500);
        while gap < Duration::from_millis(gap_ms) {
            gap = Duration::from_millis(gap_ms).min(gap * 2);
            judge.pass(gap.min(Duration::from_millis(gap_ms)));
            judge.pong(1);
        }
        assert_eq!(judge.convicted, [], "{gap_ms} ms at {phi}");
        let silence = judge.silence_of(1);
        let limit = Duration::from_millis(limit_ms);
        assert!(silence >= limit && silence <= limit + ROUND, "{gap_ms} ms at {phi}: {silence:?}, not {limit:?}");
    }
}

#[test]
fn a_gap_is_forgotten_after_ten_minutes() {
    let mut judge = Judge::of(&[1], 8.0);
    judge.connect(1);
    judge.pass(Duration::from_millis(1900));
    judge.pong(1);
    let limit = |judge: &Judge| judge.liveness.report(host(1), judge.now).expect("it is known").limit;
    for _ in 0..(9 * 60 * 2) {
        judge.pass(INTERVAL);
        judge.pong(1);
    }
    assert!(limit(&judge) > Duration::from_secs(7));
    for _ in 0..(60 * 2) {
        judge.pass(INTERVAL);
        judge.pong(1);
    }
    assert_eq!(limit(&judge), Duration::from_secs(2));
}

#[test]
fn a_pause_of_the_judge_convicts_no_other() {
    // The round comes first after the pause, or a pong does.
    for pong_first in [false, true] {
        let mut judge = Judge::of(&[1, 2], 8.0);
        judge.connect(1);
        judge.connect(2);
        judge.now += Duration::from_secs(30);
        if pong_first {
            judge.pong(1);
        }
        judge.pass(ROUND);
        assert_eq!((judge.verdict(1), judge.verdict(2)), (Verdict::Up, Verdict::Up), "{:?}", judge.convicted);
        judge.pong(1);
        let report = judge.liveness.report(host(1), judge.now).expect("it is known");
        assert!(report.limit == Duration::from_secs(2), "the pause counts as a gap: {report:?}");
        // The one that says nothing from now on is found out all the same.
        let silence = judge.silence_of(2);
        assert!(silence <= Duration::from_millis(2100), "{silence:?}");
    }
}

#[test]
fn the_offset_is_that_of_the_least_round_trip() {
    let mut judge = Judge::of(&[1], 8.0);
    judge.connect(1);
    let mut wall = 1_800_000_000_000_000;
    let (offset, ways) = (120_000, [(900, 100), (10, 10), (10, 700), (300, 20)]);
    for (there_ms, back_ms) in ways {
        let round_trip = Duration::from_millis(there_ms + back_ms);
        let theirs = wall + there_ms as i64 * 1000 + offset;
        wall += round_trip.as_micros() as i64;
        judge.pass(round_trip);
        judge.pong(1);
        assert_eq!(judge.liveness.clocks(host(1), (theirs, wall), round_trip, judge.now), None);
    }
    let best = judge.liveness.report(host(1), judge.now).and_then(|report| report.offset).expect("it was measured");
    assert_eq!((best.micros, best.error_micros), (offset, 10_000));
}

#[test]
fn an_offset_above_half_a_second_is_reported_once_per_crossing() {
    let mut judge = Judge::of(&[1], 8.0);
    judge.connect(1);
    let way = Duration::from_millis(20);
    let mut crossings = Vec::new();
    let offsets = [0, 450, 520, 900, 480, 600, 300, -600, -450, 0].map(|millis: i64| millis * 1000);
    for offset in offsets {
        judge.pass(way);
        judge.pong(1);
        let crossing = judge.liveness.clocks(host(1), (5_000_000 - 10_000 + offset, 5_000_000), way, judge.now);
        crossings.extend(crossing.map(|crossing| match crossing {
            Crossing::Above(offset) => ("above", offset.micros / 1000),
            Crossing::Below(offset) => ("below", offset.micros / 1000),
        }));
    }
    assert_eq!(crossings, [("above", 520), ("below", 300), ("above", -600), ("below", 0)]);
    // Half of the round trip may be error.
    let far = Duration::from_secs(2);
    assert_eq!(judge.liveness.clocks(host(1), (5_000_000, 5_000_000), far, judge.now), None);
}

#[test]
fn nodes_that_left_are_forgotten() {
    let mut judge = Judge::of(&[1, 2], 8.0);
    judge.connect(1);
    judge.connect(2);
    judge.liveness.follow([host(2), host(3)], judge.now);
    assert_eq!(judge.liveness.report(host(1), judge.now), None);
    assert_eq!((judge.verdict(2), judge.verdict(3)), (Verdict::Up, Verdict::Down));
    assert_eq!(judge.pong(1), Pong::Same);
    assert!(!judge.liveness.ended(host(1), judge.now));
}

#[test]
fn thresholds_are_cassandras() {
    for (value, is_right) in [(5.0, true), (16.0, true), (8.0, true), (4.9, false), (16.1, false), (f64::NAN, false)] {
        assert_eq!(PhiThreshold::new(value).is_some(), is_right, "{value}");
    }
}

proptest! {
    /// The estimate is within its own error, whatever the ways and the pauses between; and again from the first answer on that follows a jump.
    #[test]
    fn the_offset_is_right_within_its_error(
        ways in proptest::collection::vec((0u32..2_000_000, 0u32..2_000_000, 0u64..20), 2..60),
        offset in -600_000_000i64..600_000_000,
        jump in 5_000_000i64..600_000_000,
        jumps_at in 1usize..60,
    ) {
        let mut judge = Judge::of(&[1], 8.0);
        let (mut wall, mut offset) = (1_700_000_000_000_000i64, offset);
        for (place, (there, back, pause)) in ways.into_iter().enumerate() {
            offset += if place == jumps_at { jump } else { 0 };
            judge.now += Duration::from_secs(pause);
            let round_trip = Duration::from_micros(u64::from(there) + u64::from(back));
            let theirs = wall + i64::from(there) + offset;
            wall += round_trip.as_micros() as i64;
            judge.now += round_trip;
            judge.liveness.clocks(host(1), (theirs, wall), round_trip, judge.now);
            let best = judge.liveness.report(host(1), judge.now).and_then(|report| report.offset).expect("measured");
            prop_assert!((best.micros - offset).abs() <= best.error_micros + 1, "{best:?}, not {offset}");
        }
    }

    /// A connection that answers is never convicted, and one that does not always is, whatever happens to the judge.
    #[test]
    fn who_answers_is_up(steps in proptest::collection::vec((0u64..4, any::<bool>()), 1..80)) {
        let mut judge = Judge { liveness: Liveness::new(PhiThreshold::default(), Planted::NONE, Instant::from_nanos(0)), now: Instant::from_nanos(0), convicted: Vec::new() };
        judge.liveness.follow([host(1), host(2)], judge.now);
        judge.connect(1);
        judge.connect(2);
        for (pause_s, listens) in steps {
            match listens {
                true => judge.pass(INTERVAL),
                false => judge.now += Duration::from_secs(2 + pause_s),
            }
            judge.pong(1);
        }
        prop_assert_eq!(judge.verdict(1), Verdict::Up);
        for _ in 0..25 {
            judge.pass(INTERVAL);
            judge.pong(1);
        }
        prop_assert_eq!((judge.verdict(1), judge.verdict(2)), (Verdict::Up, Verdict::Convicted));
    }
}
