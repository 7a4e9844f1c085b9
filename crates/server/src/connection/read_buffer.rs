//! The bytes of one connection that have arrived and are not yet used.
//!
//! The buffer begins small, doubles while reads fill it, and shrinks when reads stay small. For a large frame it grows
//! beyond its usual greatest size, but only as the frame's bytes really arrive: at most twice what is there, never what a
//! header claims.

/// Size of an idle connection's buffer.
const SMALL: usize = 4 << 10;
/// Greatest size that many small frames lead to: at 100 bytes a frame about 2,600 requests in one read.
const LARGE: usize = 256 << 10;
/// Reads in a row that use less than a quarter of the buffer before it shrinks: one short read in a burst is normal.
const SHORT_READS: u8 = 2;

/// Buffer between the socket and the decoder.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    /// Bytes before this are used.
    used: usize,
    /// Capacity that the next read of small frames gets.
    target: usize,
    /// The greatest that `target` gets.
    target_max: usize,
    short_reads: u8,
}

impl ReadBuffer {
    pub(crate) fn new() -> ReadBuffer {
        ReadBuffer { bytes: Vec::new(), used: 0, target: SMALL, target_max: LARGE, short_reads: 0 }
    }

    /// Keeps the buffer as small as a client that nothing is known of needs, or lets it grow as usual.
    pub(crate) fn keep_small(&mut self, is_kept: bool) {
        self.target_max = if is_kept { SMALL } else { LARGE };
        self.target = self.target.min(self.target_max);
    }

    /// What has arrived and is not used.
    pub(crate) fn unused(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    /// Marks the first `count` unused bytes as used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.used = (self.used + count).min(self.bytes.len());
    }

    /// The first `count` unused bytes, which are used from now on.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.used;
        self.consume(count);
        self.bytes.get(from..self.used).unwrap_or_default()
    }

    /// Bytes of memory that the buffer holds.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives the buffer away for a read, with spare room. `wanted` is how many bytes the decoder still lacks for the frame
    /// at hand (0 when unknown). The buffer must come back with [`ReadBuffer::put_back`].
    pub(crate) fn take_for_read(&mut self, wanted: usize) -> Vec<u8> {
        self.drop_used();
        let held = self.bytes.len();
        let room = if held == 0 {
            self.target
        } else {
            // Twice what is there bounds memory by what arrived; a frame that is nearly complete gets just its rest.
            let rest = wanted.clamp(1, held.max(SMALL));
            rest.max(self.target.saturating_sub(held))
        };
        if held == 0 && self.bytes.capacity() > self.target {
            self.bytes = Vec::with_capacity(self.target);
        } else if self.bytes.capacity() - held < room {
            self.bytes.reserve_exact(room);
        }
        std::mem::take(&mut self.bytes)
    }

    /// Takes the buffer back after a read of `count` bytes.
    pub(crate) fn put_back(&mut self, bytes: Vec<u8>, count: usize) {
        let filled = bytes.len() == bytes.capacity();
        self.bytes = bytes;
        if filled {
            self.target = (self.target * 2).min(self.target_max);
            self.short_reads = 0;
        } else if count < self.target / 4 && self.target > SMALL {
            self.short_reads += 1;
            if self.short_reads >= SHORT_READS {
                self.target = (count * 2).next_power_of_two().clamp(SMALL, self.target_max);
                self.short_reads = 0;
            }
        } else {
            self.short_reads = 0;
        }
    }

    /// Moves what is unused to the front.
    fn drop_used(&mut self) {
        if self.used == self.bytes.len() {
            self.bytes.clear();
        } else if self.used > 0 {
            self.bytes.drain(..self.used);
        }
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read of as many bytes as fit, at most `arrived`.
    fn read(buffer: &mut ReadBuffer, wanted: usize, arrived: usize) -> usize {
        let mut bytes = buffer.take_for_read(wanted);
        let count = arrived.min(bytes.capacity() - bytes.len());
        assert!(bytes.capacity() > bytes.len(), "a read needs room");
        bytes.resize(bytes.len() + count, 7);
        buffer.put_back(bytes, count);
        count
    }

    #[test]
    fn doubles_while_reads_fill_it_and_shrinks_when_they_do_not() {
        let mut buffer = ReadBuffer::new();
        let mut sizes = Vec::new();
        for _ in 0..10 {
            let count = read(&mut buffer, 0, usize::MAX);
            buffer.consume(count);
            sizes.push(count);
        }
        assert_eq!(sizes[..7], [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10]);
        assert_eq!(sizes.last(), Some(&LARGE));
        for _ in 0..3 {
            let count = read(&mut buffer, 0, 100);
            buffer.consume(count);
        }
        let bytes = buffer.take_for_read(0);
        assert_eq!(bytes.capacity(), SMALL);
    }

    #[test]
    fn the_buffer_of_an_unknown_client_stays_small() {
        let mut buffer = ReadBuffer::new();
        buffer.keep_small(true);
        for _ in 0..10 {
            let count = read(&mut buffer, 0, usize::MAX);
            assert_eq!(count, SMALL);
            buffer.consume(count);
        }
        buffer.keep_small(false);
        let counts: Vec<usize> = (0..2)
            .map(|_| {
                let count = read(&mut buffer, 0, usize::MAX);
                buffer.consume(count);
                count
            })
            .collect();
        assert_eq!(counts, [SMALL, 2 * SMALL]);
    }

    #[test]
    fn a_large_frame_takes_memory_only_as_it_arrives() {
        let mut buffer = ReadBuffer::new();
        let frame = 200 << 20;
        let mut arrived = read(&mut buffer, 0, 9);
        while arrived < 1 << 20 {
            arrived += read(&mut buffer, frame - arrived, 1_000);
            assert!(buffer.capacity() <= (2 * arrived).max(LARGE) + SMALL, "{} for {arrived}", buffer.capacity());
        }
        assert_eq!(buffer.unused().len(), arrived);
    }

    #[test]
    fn consumed_bytes_go_and_the_rest_stays() {
        let mut buffer = ReadBuffer::new();
        read(&mut buffer, 0, 100);
        buffer.consume(30);
        assert_eq!(buffer.unused().len(), 70);
        read(&mut buffer, 0, 5);
        assert_eq!(buffer.unused().len(), 75);
        buffer.consume(1_000);
        assert_eq!(buffer.unused(), b"");
    }
}
