//! The operators of arithmetic.

/// An operator of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl Operator {
    /// Its sign.
    pub fn symbol(self) -> char {
        match self {
            Operator::Add => '+',
            Operator::Subtract => '-',
            Operator::Multiply => '*',
            Operator::Divide => '/',
            Operator::Modulo => '%',
        }
    }

    /// The name of the function that it is in Cassandra, which some of its messages show.
    pub fn function(self) -> &'static str {
        match self {
            Operator::Add => "_add",
            Operator::Subtract => "_substract",
            Operator::Multiply => "_multiply",
            Operator::Divide => "_divide",
            Operator::Modulo => "_modulo",
        }
    }
}
