//! The envelope of a greeting: its length and checksum.

use stdx::Reader;

use super::verdict::GreetingError;

const MAGIC: &[u8; 8] = b"helepeer";
/// Bytes before a greeting's body.
pub(super) const HEAD: usize = 16;
/// The most that a greeting's body may hold.
const BODY_MAX: usize = 1024;
/// The most bytes of a greeting.
pub(crate) const GREETING_BYTES_MAX: usize = HEAD + BODY_MAX;

/// The content types with which TLS answers what is no TLS, and begins (RFC 8446, section 5.1).
const TLS_ALERT: &u8 = &0x15;
const TLS_HANDSHAKE: &u8 = &0x16;

/// True if the bytes begin as greetings do.
pub(crate) fn is_greeting(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().zip(MAGIC).all(|(byte, magic)| byte == magic)
}

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
        return Err(match bytes.first() {
            Some(TLS_ALERT | TLS_HANDSHAKE) => GreetingError::TlsPeer,
            _ => GreetingError::NotAPeer,
        });
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
