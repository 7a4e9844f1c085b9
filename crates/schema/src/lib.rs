//! Keyspaces, tables and columns; a schema change as a pure function.
