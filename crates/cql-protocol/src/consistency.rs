//! Consistency levels.

use crate::DecodeError;

/// How many replicas must take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Consistency {
    /// Any node, even one that only holds a hint. Writes only.
    Any = 0,
    /// One replica.
    One = 1,
    /// Two replicas.
    Two = 2,
    /// Three replicas.
    Three = 3,
    /// Most of all replicas.
    Quorum = 4,
    /// All replicas.
    All = 5,
    /// Most replicas of the coordinator's datacenter.
    LocalQuorum = 6,
    /// Most replicas of every datacenter.
    EachQuorum = 7,
    /// Linearizable, over all datacenters.
    Serial = 8,
    /// Linearizable, within the coordinator's datacenter.
    LocalSerial = 9,
    /// One replica of the coordinator's datacenter.
    LocalOne = 10,
}

impl Consistency {
    /// All levels, in the order of their codes.
    pub const ALL: [Consistency; 11] = [
        Consistency::Any,
        Consistency::One,
        Consistency::Two,
        Consistency::Three,
        Consistency::Quorum,
        Consistency::All,
        Consistency::LocalQuorum,
        Consistency::EachQuorum,
        Consistency::Serial,
        Consistency::LocalSerial,
        Consistency::LocalOne,
    ];

    /// The level of a code.
    #[inline]
    pub fn of(code: u16) -> Result<Consistency, DecodeError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(DecodeError::UnknownConsistency { code })
    }

    /// The code on the wire.
    #[inline]
    pub fn code(self) -> u16 {
        self as u16
    }

    /// Whether it is one of the two levels of a conditional statement's serial phase.
    #[inline]
    pub fn is_serial(self) -> bool {
        matches!(self, Consistency::Serial | Consistency::LocalSerial)
    }

    /// The name as CQL and messages write it.
    pub fn name(self) -> &'static str {
        match self {
            Consistency::Any => "ANY",
            Consistency::One => "ONE",
            Consistency::Two => "TWO",
            Consistency::Three => "THREE",
            Consistency::Quorum => "QUORUM",
            Consistency::All => "ALL",
            Consistency::LocalQuorum => "LOCAL_QUORUM",
            Consistency::EachQuorum => "EACH_QUORUM",
            Consistency::Serial => "SERIAL",
            Consistency::LocalSerial => "LOCAL_SERIAL",
            Consistency::LocalOne => "LOCAL_ONE",
        }
    }

    /// The level of a name, in any case.
    pub fn of_name(name: &str) -> Option<Consistency> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

impl std::fmt::Display for Consistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
