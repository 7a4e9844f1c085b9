//! From CQL statement to answer: prepare, plan, execute; system tables.
