//! Circles in a graph of a few hundred nodes.

use std::collections::{BTreeSet, VecDeque};

/// For each node those that it points to.
pub struct Graph(Vec<BTreeSet<usize>>);

impl Graph {
    pub fn of(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Graph {
        let mut graph = Graph(vec![BTreeSet::new(); nodes]);
        for (from, to) in edges {
            graph.0[from].insert(to);
        }
        graph
    }

    /// Sets of nodes each of which reaches all others of its set, the largest first.
    pub fn circles(&self) -> Vec<BTreeSet<usize>> {
        let reached: Vec<BTreeSet<usize>> = (0..self.0.len()).map(|node| self.reached_from(node)).collect();
        let mut circles = BTreeSet::new();
        for (node, others) in reached.iter().enumerate() {
            let circle: BTreeSet<usize> =
                others.iter().copied().filter(|&other| reached[other].contains(&node)).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        let mut circles: Vec<_> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    fn reached_from(&self, node: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![node];
        while let Some(at) = open.pop() {
            open.extend(self.0[at].iter().copied().filter(|&next| reached.insert(next)));
        }
        reached
    }

    /// A shortest way from one node to another, both named.
    pub fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut before = vec![None; self.0.len()];
        let mut open = VecDeque::from([from]);
        while let Some(at) = open.pop_front() {
            if at == to {
                let mut way: Vec<usize> = std::iter::successors(Some(to), |&at| before[at]).collect();
                way.reverse();
                return Some(way);
            }
            for &next in &self.0[at] {
                if next != from && before[next].is_none() {
                    before[next] = Some(at);
                    open.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_and_shortest_ways_are_found() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5), (1, 3), (5, 5)];
        let graph = Graph::of(6, edges.into_iter());
        assert_eq!(graph.circles(), [BTreeSet::from([0, 1, 2]), BTreeSet::from([3, 4])]);
        assert_eq!(graph.way(0, 3), Some(vec![0, 1, 3]));
        assert_eq!(graph.way(3, 0), None);
    }
}
