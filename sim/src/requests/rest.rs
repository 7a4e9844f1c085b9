//! The answers by which a node shows that the cluster is at rest. One that does not answer shows nothing: it may be ending.

use admin::{Answer, NodeFacts};

/// A node of the registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shown {
    pub(super) host_id: String,
    tokens: Vec<i64>,
    is_joining: bool,
    is_leaving: bool,
}

/// True of a node that knows of no operation and no leftovers. An error says what it knows, or that it does not answer.
pub(super) fn has_no_operations(node: usize, answer: Option<Answer>) -> Result<(), String> {
    match answer {
        Some(Answer::Operations(facts)) if facts.operations.is_empty() && facts.unclean.is_empty() => Ok(()),
        Some(Answer::Operations(facts)) => Err(format!("node {node} has {facts:?}")),
        _ => Err(format!("node {node} does not answer")),
    }
}

/// The registry of a node, in which none comes or goes. An error says who does, or that the node does not answer: one that leaves has answered the question before.
pub(super) fn registry_at_rest(node: usize, facts: Option<&NodeFacts>) -> Result<Vec<Shown>, String> {
    let shown = shown(facts.ok_or_else(|| format!("node {node} does not show its registry"))?);
    match shown.iter().find(|other| other.is_joining || other.is_leaving) {
        Some(other) => Err(format!("node {node} has {other:?} in its registry")),
        None => Ok(shown),
    }
}

/// The registry as a node shows it.
fn shown(facts: &NodeFacts) -> Vec<Shown> {
    let of = |node: &admin::RingNode| Shown {
        host_id: node.host_id.clone(),
        tokens: node.tokens.clone(),
        is_joining: node.is_joining,
        is_leaving: node.is_leaving,
    };
    let mut all: Vec<Shown> = facts.ring.iter().map(of).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use admin::OperationsFacts;

    use super::*;

    /// Seed 46000746 of `operations`: a node whose decommission went on after its start ended between the two answers, and was taken for a member.
    #[test]
    fn a_node_that_ends_between_two_questions_is_not_at_rest() {
        let none = OperationsFacts { operations: Vec::new(), unclean: Vec::new(), leads: false };
        assert_eq!(has_no_operations(3, Some(Answer::Operations(none.clone()))), Ok(()));
        assert_eq!(registry_at_rest(3, None), Err("node 3 does not show its registry".to_owned()));
        assert_eq!(has_no_operations(3, None), Err("node 3 does not answer".to_owned()));
        let unclean = OperationsFacts { unclean: vec!["a".to_owned()], ..none };
        assert!(has_no_operations(3, Some(Answer::Operations(unclean))).is_err(), "it has leftovers");
    }
}
