//! What a statement says about key columns: a value each, a list of values, or the ends of a slice.

use super::operand::Operand;

/// The values that an IN gives.
#[derive(Debug, Clone)]
pub(crate) enum InList {
    /// One operand per value.
    Operands(Vec<Operand>),
    /// One marker that is bound to a list of values.
    Marker(Operand),
}

/// What a partition key column may be.
#[derive(Debug)]
pub(crate) enum KeyChoice {
    /// `=`.
    One(Operand),
    /// `IN`.
    In(InList),
}

/// What one clustering column, or several together, may be.
#[derive(Debug)]
pub(crate) enum ClusteringChoice {
    /// `=` of one column.
    One(Operand),
    /// `IN` of one column.
    In(InList),
    /// `(a, b) IN ((1, 2), (3, 4))`: each entry has a value for each of the columns.
    Tuples {
        /// The entries; there may be none.
        tuples: Vec<Vec<Operand>>,
        /// How many columns there are.
        width: usize,
    },
    /// `(a, b) IN ?`: a marker bound to a list of tuples.
    TupleList {
        /// The list.
        list: Operand,
        /// How many columns there are.
        width: usize,
    },
}

/// One end of a slice: values for one clustering column or, in a multi-column relation, for several.
#[derive(Debug)]
pub(crate) struct SliceEnd {
    /// The values, by column.
    pub(crate) operands: Vec<Operand>,
    /// Whether the values themselves are inside.
    pub(crate) is_inclusive: bool,
}

impl SliceEnd {
    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.operands.iter().map(|one| size_of::<Operand>() + one.bytes()).sum()
    }
}

impl InList {
    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            InList::Operands(operands) => operands.iter().map(|one| size_of::<Operand>() + one.bytes()).sum(),
            InList::Marker(_) => size_of::<Operand>(),
        }
    }
}

impl KeyChoice {
    /// Whether it is one value.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, KeyChoice::One(_))
    }

    /// Whether it is a list of no values.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, KeyChoice::In(InList::Operands(operands)) if operands.is_empty())
    }

    /// Whether IN says it, of however many values: IN of one is planned as `=`.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self, KeyChoice::In(_))
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            KeyChoice::One(operand) => size_of::<Self>() + operand.bytes(),
            KeyChoice::In(list) => size_of::<Self>() + list.bytes(),
        }
    }
}

impl ClusteringChoice {
    /// Whether it is one value of one column.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, ClusteringChoice::One(_))
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let of_all =
            |operands: &[Operand]| operands.iter().map(|one| size_of::<Operand>() + one.bytes()).sum::<usize>();
        size_of::<Self>()
            + match self {
                ClusteringChoice::One(operand) => operand.bytes(),
                ClusteringChoice::In(list) => list.bytes(),
                ClusteringChoice::TupleList { list, .. } => list.bytes(),
                ClusteringChoice::Tuples { tuples, .. } => {
                    tuples.iter().map(|tuple| size_of::<Vec<Operand>>() + of_all(tuple)).sum()
                }
            }
    }

    /// How many columns it is about.
    pub(crate) fn width(&self) -> usize {
        match self {
            ClusteringChoice::One(_) | ClusteringChoice::In(_) => 1,
            ClusteringChoice::Tuples { width, .. } | ClusteringChoice::TupleList { width, .. } => *width,
        }
    }
}
