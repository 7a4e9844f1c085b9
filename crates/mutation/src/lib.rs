//! Partition updates, rows, cells, tombstones, reconciliation and read commands, as values with a versioned encoding.
