//! The contract of a strategy's rules.

use std::collections::BTreeMap;

use crate::ring::{NodeIndex, Ring};
use crate::strategy::factor::Factor;
use crate::token::TokenRange;

/// A strategy's options by name, without its class.
pub type StrategyOptions = BTreeMap<String, String>;

/// The rules of a replication strategy with one keyspace's options, which it was made of.
///
/// Both methods are pure: two nodes with equal rings and options have equal answers, which is what the data's place rests on.
pub trait Strategy {
    /// How many replicas a token should have, whether the ring has as many nodes or not: levels count by it.
    fn factor(&self) -> Factor;

    /// The replicas of the tokens of a range, each once, in the order in which Cassandra would list them: the first is the range's primary one.
    ///
    /// Called for each range of a ring, when the ring or the schema changes. The ranges are those between neighbouring tokens of the ring, so
    /// all tokens of one have the same replicas. A ring whose nodes own no tokens has one range, of all tokens.
    fn place(&self, range: TokenRange, ring: &Ring) -> Vec<NodeIndex>;
}

/// Options that a strategy does not accept. CREATE KEYSPACE fails with it, as with Cassandra's ConfigurationException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// An option that the strategy does not know.
    #[error("Unrecognized strategy option {{{option}}}")]
    Unrecognized {
        /// Its name.
        option: String,
    },
    /// An option is missing, or has a value that does not fit.
    #[error("{problem}")]
    Invalid {
        /// The problem, as a sentence.
        problem: String,
    },
}

impl OptionsError {
    /// An option is missing, or has a value that does not fit.
    pub fn invalid(problem: impl Into<String>) -> OptionsError {
        OptionsError::Invalid { problem: problem.into() }
    }
}
