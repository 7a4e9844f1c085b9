//! A large request on its way in: gathered, joined and decompressed in steps, so that none holds the core for long.
//!
//! Its bytes are kept in pieces while they arrive, so nothing is copied again as it grows. When it is whole, memory for all of it is
//! taken, filled piece by piece, and each piece is let go: together they take hardly more than the request.

use std::rc::Rc;

use cql_protocol::compression::Decompressor;
use cql_protocol::{Compression, FrameHeader};

use super::violation::Violation;
use crate::budget::Budget;

/// A body that is longer than this, as it came or decompressed, comes this way and is run by a task.
pub(super) const LARGE_BODY_MIN: usize = 64 << 10;
/// One of the pieces, and what one step copies.
const PIECE: usize = 128 << 10;
/// What one step decompresses.
const DECOMPRESSED_PER_STEP: usize = 64 << 10;

/// A large request that is not whole yet.
#[derive(Debug)]
pub(super) struct Large {
    header: FrameHeader,
    compression: Option<Compression>,
    pieces: Vec<Vec<u8>>,
    arrived: usize,
    /// The pieces that were joined so far, in memory for all of them.
    whole: Vec<u8>,
    joined: usize,
    decompressing: Option<(Decompressor, Vec<u8>)>,
}

/// What a step came to.
#[derive(Debug)]
pub(super) enum Step {
    /// There is more to do.
    More,
    /// The body, decompressed.
    Whole(Vec<u8>),
}

impl Large {
    /// A request of which nothing but the header is there.
    pub(super) fn new(header: FrameHeader, compression: Option<Compression>) -> Large {
        Large { header, compression, pieces: Vec::new(), arrived: 0, whole: Vec::new(), joined: 0, decompressing: None }
    }

    /// Its header.
    pub(super) fn header(&self) -> FrameHeader {
        self.header
    }

    /// How many bytes of the body have not arrived.
    pub(super) fn lacking(&self) -> usize {
        self.header.length as usize - self.arrived
    }

    /// The memory that it holds and that was written to.
    pub(super) fn held(&self) -> usize {
        let decompressed = self.decompressing.as_ref().map_or(0, |(_, out)| out.len());
        self.arrived + decompressed
    }

    /// Takes the first of `bytes`, at most one step's worth and no more than is lacking. Gives how many.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.lacking()).min(PIECE);
        let bytes = bytes.get(..count).unwrap_or_default();
        match self.pieces.last_mut() {
            Some(piece) if piece.len() + count <= PIECE => piece.extend_from_slice(bytes),
            _ => {
                let mut piece = Vec::with_capacity(PIECE.min(self.lacking()));
                piece.extend_from_slice(bytes);
                self.pieces.push(piece);
            }
        }
        self.arrived += count;
        count
    }

    /// Goes on with a request that has arrived.
    pub(super) fn step(&mut self, budget: &Rc<Budget>, counted: &mut usize) -> Result<Step, Violation> {
        if let Some((decompressor, out)) = &mut self.decompressing {
            let is_whole = decompressor.step(&self.whole, DECOMPRESSED_PER_STEP, out);
            return match is_whole.map_err(|error| self.violation(error.to_string()))? {
                true => Ok(Step::Whole(self.decompressing.take().map(|(_, out)| out).unwrap_or_default())),
                false => Ok(Step::More),
            };
        }
        if self.joined < self.pieces.len() {
            self.join();
            return Ok(Step::More);
        }
        let Some(compression) = self.compression else {
            return Ok(Step::Whole(std::mem::take(&mut self.whole)));
        };
        let limit = budget.limits.frame_bytes_max;
        let decompressor =
            Decompressor::begin(compression, &self.whole, limit).map_err(|error| self.violation(error.to_string()))?;
        let grown = compression.decompressed_length(&self.whole);
        if !budget.take_bytes(*counted, *counted + grown) {
            return Err(super::inbound::too_many_bytes(&self.header));
        }
        *counted += grown;
        let out = Vec::with_capacity(decompressor.declared());
        self.decompressing = Some((decompressor, out));
        Ok(Step::More)
    }

    fn join(&mut self) {
        let Some(piece) = self.pieces.get_mut(self.joined).map(std::mem::take) else { return };
        self.joined += 1;
        if self.pieces.len() == 1 {
            self.whole = piece;
            return;
        }
        if self.whole.capacity() == 0 {
            self.whole.reserve_exact(self.arrived);
        }
        self.whole.extend_from_slice(&piece);
    }

    fn violation(&self, text: String) -> Violation {
        Violation::protocol(text).on(self.header.version, self.header.stream).passed_over()
    }
}
