//! The envelope of a greeting: its length and checksum, and greetings on a connection.

use runtime::TcpStream;
use stdx::Reader;

use super::verdict::GreetingError;

const MAGIC: &[u8; 8] = b"helepeer";
/// Bytes before a greeting's body.
pub(super) const HEAD: usize = 16;
/// The most that a greeting's body may hold.
const BODY_MAX: usize = 1024;

/// The greeting's bytes.
pub(super) fn seal(body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The body of a greeting, and how many bytes it takes in all; `None`: more must come.
pub(super) fn open(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, GreetingError> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(GreetingError::NotAPeer);
    }
    let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let mut reader = Reader::new(&head[MAGIC.len()..]);
    let (length, crc) = (reader.u32()? as usize, reader.u32()?);
    if length > BODY_MAX {
        return Err(GreetingError::NotAPeer);
    }
    let Some(body) = bytes.get(HEAD..HEAD + length) else { return Ok(None) };
    match crc32fast::hash(body) == crc {
        true => Ok(Some((body, HEAD + length))),
        false => Err(GreetingError::NotAPeer),
    }
}

/// Reads one greeting, and gives its bytes too. Nothing may follow it: each side waits for the other before it goes on.
pub(crate) async fn receive<T>(
    stream: &TcpStream,
    decode: impl Fn(&[u8]) -> Result<Option<(T, usize)>, GreetingError>,
) -> Result<(T, Vec<u8>), GreetingError> {
    let mut buffer = Vec::with_capacity(HEAD + BODY_MAX);
    loop {
        let (result, read) = stream.read(buffer).await;
        buffer = read;
        if result? == 0 {
            return Err(GreetingError::Closed);
        }
        match decode(&buffer)? {
            Some((greeting, length)) if length == buffer.len() => return Ok((greeting, buffer)),
            Some(_) => return Err(GreetingError::NotAPeer),
            // A greeting fits the buffer: one that does not is none.
            None if buffer.len() == buffer.capacity() => return Err(GreetingError::NotAPeer),
            None => {}
        }
    }
}

pub(crate) async fn send(stream: &TcpStream, greeting: Vec<u8>) -> Result<(), GreetingError> {
    let (result, _) = stream.write_all(greeting).await;
    Ok(result?)
}
