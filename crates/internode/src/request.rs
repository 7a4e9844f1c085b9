//! The terms of a request to another node: its verb, its time, its connection.

use std::time::Duration;

/// A request without its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub(crate) verb: u8,
    pub(crate) time: Option<Duration>,
    pub(crate) is_cancelled: bool,
    pub(crate) bytes: usize,
    pub(crate) is_bulk: bool,
    pub(crate) is_measured: bool,
    /// `None`: the epoch that greetings name.
    pub(crate) epoch: Option<u64>,
}

impl Request {
    /// A short request, which is served however late it arrives.
    pub fn of(verb: u8) -> Request {
        let (is_bulk, is_measured) = (false, false);
        Request { verb, time: None, is_cancelled: false, bytes: 0, is_bulk, is_measured, epoch: None }
    }

    /// It is dropped, without an answer, if the other node gets to it later than this. An hour at most.
    pub fn within(self, time: Duration) -> Request {
        Request { time: Some(time), ..self }
    }

    /// A caller that drops the call cancels the request.
    pub fn cancelled_when_dropped(self) -> Request {
        Request { is_cancelled: true, ..self }
    }

    /// True if it is made on the connection for bulk: also if it has more bytes than others may.
    pub(crate) fn is_large(&self, bytes_max: usize) -> bool {
        self.is_bulk || self.bytes > bytes_max
    }

    /// It is made on the connection for bulk, however short it is.
    pub fn in_bulk(self) -> Request {
        Request { is_bulk: true, ..self }
    }

    /// The time of its answer counts for the choice among replicas.
    pub fn measured(self) -> Request {
        Request { is_measured: true, ..self }
    }

    /// Its frame names this epoch, which its plan rests on; 0 says nothing.
    pub fn planned_at(self, epoch: u64) -> Request {
        Request { epoch: Some(epoch), ..self }
    }

    /// Its body has about so many bytes: above 64 KiB it is made on the connection for bulk.
    pub fn of_size(self, bytes: usize) -> Request {
        Request { bytes, ..self }
    }
}
