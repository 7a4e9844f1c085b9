//! The bare echo server: what a request costs before a database does anything for it. It has the shape of the real
//! server (a reading and a writing task per connection, a read buffer that grows, one write per batch of replies) and
//! does nothing between cutting a request's frame and appending the reply's.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use runtime::sync::Notify;
use runtime::{Group, Runtime, TcpListener, TcpStream};

use crate::frame;

/// The size that a connection's read buffer begins with.
const READ_BYTES_MIN: usize = 4 << 10;
/// The size up to which it doubles when a read fills it.
const READ_BYTES_MAX: usize = 256 << 10;
/// Replies that may wait to be written before reading stops.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// Serves connections until the listener fails.
pub async fn serve(rt: Runtime, listener: TcpListener, reply: Vec<u8>) -> std::io::Error {
    let reply: Rc<[u8]> = reply.into();
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => return error,
        };
        let connection = Rc::new(Connection::new(rt.adopt(socket)));
        rt.spawn(Group::Query, write_replies(connection.clone()));
        rt.spawn(Group::Query, read_requests(rt.clone(), connection, reply.clone()));
    }
}

struct Connection {
    stream: TcpStream,
    /// Replies that wait for the writing task.
    replies: RefCell<Vec<u8>>,
    has_replies: Notify,
    has_room: Notify,
    is_over: Cell<bool>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Connection {
            stream,
            replies: RefCell::default(),
            has_replies: Notify::new(),
            has_room: Notify::new(),
            is_over: Cell::new(false),
        }
    }

    /// Lets both tasks end.
    fn end(&self) {
        self.is_over.set(true);
        self.has_replies.notify();
        self.has_room.notify();
    }

    /// Appends a reply for each whole frame in `bytes`. How many bytes those frames are; `None` if one is too long.
    fn answer(&self, bytes: &[u8], reply: &[u8]) -> Option<usize> {
        let mut replies = self.replies.borrow_mut();
        let mut rest = bytes;
        while let Some(length) = frame::frame_length(rest) {
            if length > frame::HEADER_BYTES + frame::BODY_BYTES_MAX {
                return None;
            }
            let Some((request, after)) = rest.split_at_checked(length) else { break };
            frame::append_reply(&mut replies, request, reply);
            rest = after;
        }
        let answered = bytes.len() - rest.len();
        if answered > 0 {
            self.has_replies.notify();
        }
        Some(answered)
    }
}

async fn read_requests(rt: Runtime, connection: Rc<Connection>, reply: Rc<[u8]>) {
    let mut buffer = Vec::with_capacity(READ_BYTES_MIN);
    while !connection.is_over.get() {
        let (result, back) = connection.stream.read(buffer).await;
        buffer = back;
        if !result.is_ok_and(|count| count > 0) {
            break;
        }
        let was_filled = buffer.len() == buffer.capacity();
        let Some(answered) = connection.answer(&buffer, &reply) else { break };
        buffer.drain(..answered);
        make_room(&mut buffer, was_filled);
        while connection.replies.borrow().len() > REPLY_BYTES_MAX && !connection.is_over.get() {
            connection.has_room.notified().await;
        }
        rt.maybe_yield().await;
    }
    connection.end();
}

/// Doubles a buffer that the last read filled, and gives room to a frame that is longer than it.
fn make_room(buffer: &mut Vec<u8>, was_filled: bool) {
    let mut wanted = buffer.capacity();
    if was_filled && wanted < READ_BYTES_MAX {
        wanted *= 2;
    }
    if let Some(length) = frame::frame_length(buffer) {
        wanted = wanted.max(length);
    }
    buffer.reserve_exact(wanted - buffer.len());
}

async fn write_replies(connection: Rc<Connection>) {
    let mut batch = Vec::new();
    loop {
        std::mem::swap(&mut batch, &mut connection.replies.borrow_mut());
        if batch.is_empty() {
            if connection.is_over.get() {
                return;
            }
            connection.has_replies.notified().await;
            continue;
        }
        let (result, back) = connection.stream.write_all(batch).await;
        batch = back;
        batch.clear();
        if result.is_err() {
            break;
        }
        connection.has_room.notify();
    }
    connection.end();
}
