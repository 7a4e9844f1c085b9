//! The operators of arithmetic.

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOperator {
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

impl ArithmeticOperator {
    /// Its sign.
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOperator::Add => "+",
            ArithmeticOperator::Subtract => "-",
            ArithmeticOperator::Multiply => "*",
            ArithmeticOperator::Divide => "/",
            ArithmeticOperator::Modulo => "%",
        }
    }

    /// The name of the function that it is in Cassandra, which some of its messages show.
    pub fn function(self) -> &'static str {
        match self {
            ArithmeticOperator::Add => "_add",
            ArithmeticOperator::Subtract => "_substract",
            ArithmeticOperator::Multiply => "_multiply",
            ArithmeticOperator::Divide => "_divide",
            ArithmeticOperator::Modulo => "_modulo",
        }
    }
}
