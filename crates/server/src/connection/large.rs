//! A large request on its way in: gathered, joined and decompressed in steps, so that none holds the core for long.
//!
//! Its bytes are kept in pieces while they arrive, so nothing is copied again as it grows. When it is whole, memory for all of it is
//! taken, filled piece by piece, and each piece is let go: together they take hardly more than the request.

use std::rc::Rc;

use cql_protocol::compression::Decompressor;
use cql_protocol::{Compression, FrameHeader};

use super::violation::Violation;
use crate::budget::Budget;
use crate::buffers::{Buffer, Buffers};

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
    whole: Option<Buffer>,
    joined: usize,
    decompressing: Option<(Decompressor, Buffer)>,
    buffers: Rc<Buffers>,
}

/// What a step came to.
#[derive(Debug)]
pub(super) enum Step {
    /// There is more to do.
    More,
    /// The body, decompressed.
    Whole(Buffer),
}

impl Large {
    /// A request of which nothing but the header is there.
    pub(super) fn new(header: FrameHeader, compression: Option<Compression>, buffers: &Rc<Buffers>) -> Large {
        Large {
            header,
            compression,
            pieces: Vec::new(),
            arrived: 0,
            whole: None,
            joined: 0,
            decompressing: None,
            buffers: buffers.clone(),
        }
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
        if let Some((mut decompressor, mut out)) = self.decompressing.take() {
            let is_whole = decompressor.step(self.joined_bytes(), DECOMPRESSED_PER_STEP, &mut out);
            if is_whole.map_err(|error| self.violation(error.to_string()))? {
                return Ok(Step::Whole(out));
            }
            self.decompressing = Some((decompressor, out));
            return Ok(Step::More);
        }
        if self.joined < self.pieces.len() {
            self.join();
            return Ok(Step::More);
        }
        let Some(compression) = self.compression else {
            return Ok(Step::Whole(self.whole.take().unwrap_or_else(|| self.buffers.take(0))));
        };
        let body = self.joined_bytes();
        let limit = budget.limits.frame_bytes_max;
        let decompressor =
            Decompressor::begin(compression, body, limit).map_err(|error| self.violation(error.to_string()))?;
        let grown = compression.decompressed_length(body);
        if !budget.take_bytes(*counted, *counted + grown) {
            return Err(super::inbound::too_many_bytes(&self.header));
        }
        *counted += grown;
        let out = self.buffers.take(decompressor.declared());
        self.decompressing = Some((decompressor, out));
        Ok(Step::More)
    }

    fn join(&mut self) {
        let Some(piece) = self.pieces.get_mut(self.joined).map(std::mem::take) else { return };
        self.joined += 1;
        let whole = self.whole.get_or_insert_with(|| self.buffers.take(self.arrived));
        whole.extend_from_slice(&piece);
    }

    /// The body as it came, once all of it is joined.
    fn joined_bytes(&self) -> &[u8] {
        self.whole.as_ref().map_or(&[], AsRef::as_ref)
    }

    fn violation(&self, text: String) -> Violation {
        Violation::protocol(text).on(self.header.version, self.header.stream).passed_over()
    }
}
