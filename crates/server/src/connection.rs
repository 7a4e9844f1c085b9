//! One client's connection.

mod read_buffer;
