//! Searches in a component: ranges of terms, counts, and postings in the order of the file. After an error every call may be tried again.

mod count;
mod range;
mod seed;
mod terms;
mod union;
mod walk;

pub use count::Count;
pub use range::TermRange;
pub use terms::TermWalk;
pub use union::Union;
