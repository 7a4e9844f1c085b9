//! Levels as sets of replicas: which reads must see which writes.

use cql_protocol::Consistency;

/// The replicas that a request has reached at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// So many, wherever they are.
    Some(u32),
    /// So many in each datacenter, by its number.
    Each(Vec<u32>),
}

impl Reach {
    /// The replicas of a request at that level, which a node of `datacenter` coordinates. `factors` are the replicas of each datacenter.
    pub fn of(level: Consistency, datacenter: usize, factors: &[u32]) -> Reach {
        let all: u32 = factors.iter().sum();
        let here = |count: u32| {
            let of_one = |number: usize| if number == datacenter { count } else { 0 };
            Reach::Each((0..factors.len()).map(of_one).collect())
        };
        match level {
            // A hint may be all that there is.
            Consistency::Any => Reach::Some(0),
            Consistency::One => Reach::Some(1),
            Consistency::Two => Reach::Some(2),
            Consistency::Three => Reach::Some(3),
            Consistency::Quorum | Consistency::Serial => Reach::Some(quorum(all)),
            Consistency::All => Reach::Some(all),
            Consistency::LocalOne => here(1),
            Consistency::LocalQuorum | Consistency::LocalSerial => here(quorum(factors[datacenter])),
            Consistency::EachQuorum => Reach::Each(factors.iter().map(|factor| quorum(*factor)).collect()),
        }
    }

    /// The replicas that have it at least.
    pub fn count(&self) -> u32 {
        match self {
            Reach::Some(count) => *count,
            Reach::Each(each) => each.iter().sum(),
        }
    }

    /// True if any replicas of one and any of the other have one in common.
    pub fn meets(&self, other: &Reach, factors: &[u32]) -> bool {
        let rest = |each: &[u32]| each.iter().zip(factors).map(|(reached, factor)| factor - reached).sum::<u32>();
        match (self, other) {
            (Reach::Some(one), Reach::Some(other)) => one + other > factors.iter().sum(),
            (Reach::Each(each), Reach::Some(count)) | (Reach::Some(count), Reach::Each(each)) => *count > rest(each),
            (Reach::Each(one), Reach::Each(other)) => {
                one.iter().zip(other).zip(factors).any(|((one, other), factor)| one + other > *factor)
            }
        }
    }
}

fn quorum(factor: u32) -> u32 {
    factor / 2 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [Consistency; 9] = [
        Consistency::Any,
        Consistency::One,
        Consistency::Two,
        Consistency::Three,
        Consistency::Quorum,
        Consistency::All,
        Consistency::LocalOne,
        Consistency::LocalQuorum,
        Consistency::EachQuorum,
    ];

    /// All sets of replicas that answer so; replicas are numbered datacenter by datacenter.
    fn sets(reach: &Reach, factors: &[u32]) -> Vec<u32> {
        let all: u32 = factors.iter().sum();
        let in_each = |set: u32| {
            let mut from = 0;
            let counts = factors.iter().map(|factor| {
                let mask = ((1 << factor) - 1) << from;
                from += factor;
                (set & mask).count_ones()
            });
            counts.collect::<Vec<u32>>()
        };
        let is_enough = |set: &u32| match reach {
            Reach::Some(count) => set.count_ones() >= *count,
            Reach::Each(each) => in_each(*set).iter().zip(each).all(|(has, needs)| has >= needs),
        };
        (0..1 << all).filter(is_enough).collect()
    }

    #[test]
    fn two_levels_meet_where_all_their_sets_do() {
        for factors in [&[3][..], &[1], &[2, 2], &[3, 2], &[1, 1, 1], &[3, 1, 1], &[2, 1]] {
            for (one, other) in LEVELS.into_iter().flat_map(|one| LEVELS.map(move |other| (one, other))) {
                for place in 0..factors.len() * factors.len() {
                    let (here, there) = (place / factors.len(), place % factors.len());
                    let (of_one, of_other) = (Reach::of(one, here, factors), Reach::of(other, there, factors));
                    // A level that no set satisfies is answered with UNAVAILABLE, and meets whatever it likes.
                    let all = sets(&of_one, factors);
                    let expected = all.iter().all(|one| sets(&of_other, factors).iter().all(|other| one & other != 0));
                    let said = of_one.meets(&of_other, factors);
                    assert_eq!(said, expected, "{one:?} in {here} and {other:?} in {there} of {factors:?}");
                }
            }
        }
    }
}
