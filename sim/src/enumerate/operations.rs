//! The course *operations*: a small cluster carries out one operation beside a client, run after run of the same seed. In each run one node ends at another boundary of its
//! disk and starts again: the operation must end, and no acknowledged write may be lost.
//!
//! | operation | members before | the leader | the source | the receiver |
//! |---|---|---|---|---|
//! | join, aborted join | three | leads the metadata group | another member | the node that joins |
//! | decommission, aborted decommission | four | the same | the node that leaves | another member |
//! | removal of a dead node | four | the same | another member | the last member |
//! | replacement of a dead node at its address | four | the same | another member | the node in its place |
//! | another number of tokens | four | the same | another member | the node that gets them |
//! | replication of 3 → 4 and of 3 → 1, rebuild | four | the same | another member | another member |
//!
//! A run is the same as the recorded one up to its crash point: the harness looks at nodes without stopping the world for an answer. All begin with the disks of a cluster
//! that was made once.

mod ground;
mod judge;
mod kind;
mod point;
mod run;

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use topology::murmur3;

use self::ground::Ground;
use self::kind::Kind;
use self::point::{End, Point, Role, Stage};
use self::run::run;
use super::{EnumerateOptions, Enumerated};

/// A crash point of an operation.
#[derive(Debug, Clone, Copy)]
struct Image {
    kind: Kind,
    point: Point,
    stage: Stage,
}

/// More boundaries than any node has in a run.
const BOUNDARIES_MAX: usize = 1 << 20;

impl Image {
    /// Its number says all of it.
    fn number(&self) -> usize {
        let at = |all: &[u8], one: u8| all.iter().position(|of| *of == one).expect("it is one of all");
        let kind = at(&Kind::ALL.map(|kind| kind as u8), self.kind as u8);
        let role = at(&Role::ALL.map(|role| role as u8), self.point.role as u8);
        let end = at(&End::ALL.map(|end| end as u8), self.point.end as u8);
        ((kind * Role::ALL.len() + role) * End::ALL.len() + end) * BOUNDARIES_MAX + self.point.boundary
    }
}

/// Crash points of one seed: a sample of so many over the whole of them, or all.
pub(super) fn enumerate(seed: u64, options: &EnumerateOptions, all: &mut Enumerated) -> Result<(), String> {
    let grounds = [Ground::prepare(seed, 3, options.planted)?, Ground::prepare(seed, 4, options.planted)?];
    let ground_of = |kind: Kind| &grounds[usize::from(!kind.is_join())];
    let mut images = Vec::new();
    for kind in Kind::ALL {
        let recorded = run(ground_of(kind), kind, None, options.planted)?;
        if !recorded.violations.is_empty() {
            return Err(format!("{kind:?} without a crash: {:?}", recorded.violations));
        }
        for (role, stages) in Role::ALL.into_iter().zip(recorded.boundaries) {
            all.boundaries += stages.len() as u64;
            for (boundary, stage) in stages.into_iter().enumerate() {
                images.extend(End::ALL.map(|end| Image { kind, point: Point { role, boundary, end }, stage }));
            }
        }
    }
    match options.only {
        Some(only) => images.retain(|image| image.number() == only),
        None => images = sample(seed, images, options.images.saturating_sub(all.images)),
    }
    check(seed, &images, &ground_of, options, all);
    Ok(())
}

/// So many images of all, chosen by a hash: of each operation, role and stage as many, as long as there are some.
fn sample(seed: u64, mut images: Vec<Image>, wanted: u64) -> Vec<Image> {
    let hash = |image: &Image| murmur3::hash(&[seed.to_be_bytes(), (image.number() as u64).to_be_bytes()].concat());
    images.sort_by_cached_key(hash);
    let mut groups: BTreeMap<(u8, u8, Stage), VecDeque<Image>> = BTreeMap::new();
    for image in images {
        groups.entry((image.kind as u8, image.point.role as u8, image.stage)).or_default().push_back(image);
    }
    let mut rounds: Vec<VecDeque<Image>> = groups.into_values().collect();
    rounds.sort_by_cached_key(|group| group.front().map(hash));
    let mut chosen = Vec::new();
    while !rounds.is_empty() {
        chosen.extend(rounds.iter_mut().filter_map(VecDeque::pop_front));
        rounds.retain(|group| !group.is_empty());
    }
    chosen.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
    chosen
}

fn check<'g>(
    seed: u64,
    images: &[Image],
    ground_of: &(impl Fn(Kind) -> &'g Ground + Sync),
    options: &EnumerateOptions,
    all: &mut Enumerated,
) {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(all);
    let work = || {
        stdx::marks::take();
        while let Some(image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = AssertUnwindSafe(|| run(ground_of(image.kind), image.kind, Some(image.point), options.planted));
            let violations = match std::panic::catch_unwind(run) {
                Ok(Ok(ran)) => ran.violations,
                Ok(Err(what)) => vec![what],
                Err(_) => vec!["a panic".to_owned()],
            };
            let mut all = results.lock().expect("runs catch their panics");
            all.images += 1;
            if !violations.is_empty() {
                let what = format!("{:?}, {:?}, {:?}", image.kind, image.stage, image.point);
                all.failures.push((seed, image.number(), what, violations));
            }
            if all.failures.len() >= options.failures_max {
                break;
            }
        }
        let mut all = results.lock().expect("runs catch their panics");
        stdx::marks::take().into_iter().for_each(|(name, count)| *all.marks.entry(name).or_default() += count);
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(work);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_sample_has_each_stage_of_each_role_and_numbers_tell_images_apart() {
        let stages = [Stage::Before, Stage::Copy, Stage::Copy, Stage::Copy, Stage::Copy, Stage::ReadNew];
        let mut images = Vec::new();
        for kind in Kind::ALL {
            for role in Role::ALL {
                for (boundary, stage) in stages.into_iter().enumerate() {
                    images.extend(End::ALL.map(|end| Image { kind, point: Point { role, boundary, end }, stage }));
                }
            }
        }
        let numbers: BTreeSet<usize> = images.iter().map(Image::number).collect();
        assert_eq!(numbers.len(), images.len());
        let groups = (Kind::ALL.len() * 3 * 3) as u64;
        let chosen = sample(7, images.clone(), groups);
        let of = |image: &Image| (image.kind as u8, image.point.role as u8, image.stage);
        assert_eq!(chosen.iter().map(of).collect::<BTreeSet<_>>().len() as u64, groups);
        assert_eq!(sample(7, images.clone(), u64::MAX).len(), images.len());
    }
}
