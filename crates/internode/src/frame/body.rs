//! The body of a frame as it was sent, which may be compressed.

use std::borrow::Cow;

use super::FrameError;
use super::compression::{decompress, plain_length};

/// A frame's body. Nothing is decompressed, and no memory taken for it, before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body<'a> {
    sent: &'a [u8],
    length: usize,
    is_compressed: bool,
}

impl<'a> Body<'a> {
    pub(super) fn of(sent: &'a [u8], is_compressed: bool) -> Result<Body<'a>, FrameError> {
        let length = if is_compressed { plain_length(sent)? } else { sent.len() };
        Ok(Body { sent, length, is_compressed })
    }

    /// The message's length.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The message.
    pub fn open(self) -> Result<Cow<'a, [u8]>, FrameError> {
        match self.is_compressed {
            true => decompress(self.sent).map(Cow::Owned),
            false => Ok(Cow::Borrowed(self.sent)),
        }
    }
}
