//! The protocol's notations: how strings, byte values, lists and maps are laid down. (Source: `native_protocol_v5.spec`,
//! section 3.)
//!
//! Readers borrow. Writers append; what cannot be written in a notation's length (a string over 65,535 bytes) is cut
//! there, since the texts that can be so long are error messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use stdx::Reader;

use crate::{Consistency, DecodeError};

/// `[string]`: u16 length and UTF-8.
#[inline]
pub fn read_string<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let length = reader.u16()?;
    Ok(reader.str(usize::from(length))?)
}

/// `[long string]`: i32 length and UTF-8.
#[inline]
pub fn read_long_string<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let length = reader.i32()?;
    let length = usize::try_from(length).map_err(|_| stdx::ReadError::NegativeLength { length: i64::from(length) })?;
    Ok(reader.str(length)?)
}

/// `[bytes]`: i32 length and bytes; a negative length is null.
#[inline]
pub fn read_bytes<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, DecodeError> {
    match usize::try_from(reader.i32()?) {
        Ok(length) => Ok(Some(reader.bytes(length)?)),
        Err(_) => Ok(None),
    }
}

/// `[short bytes]`: u16 length and bytes.
#[inline]
pub fn read_short_bytes<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = reader.u16()?;
    Ok(reader.bytes(usize::from(length))?)
}

/// `[consistency]`.
#[inline]
pub fn read_consistency(reader: &mut Reader<'_>) -> Result<Consistency, DecodeError> {
    Consistency::of(reader.u16()?)
}

/// `[string list]`, which takes memory in proportion to the bytes that are there.
pub fn read_string_list(reader: &mut Reader<'_>) -> Result<Vec<String>, DecodeError> {
    let count = reader.u16()?;
    (0..count).map(|_| read_string(reader).map(str::to_owned)).collect()
}

/// `[bytes map]`, skipped.
pub fn skip_bytes_map(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    let count = reader.u16()?;
    for _ in 0..count {
        read_string(reader)?;
        read_bytes(reader)?;
    }
    Ok(())
}

/// `[inetaddr]`: an address without a port.
pub fn read_address(reader: &mut Reader<'_>) -> Result<IpAddr, DecodeError> {
    match reader.u8()? {
        4 => Ok(IpAddr::V4(Ipv4Addr::from(reader.array::<4>()?))),
        16 => Ok(IpAddr::V6(Ipv6Addr::from(reader.array::<16>()?))),
        length => Err(DecodeError::InvalidAddress { length }),
    }
}

/// `[inet]`: an address with a port.
pub fn read_inet(reader: &mut Reader<'_>) -> Result<SocketAddr, DecodeError> {
    let address = read_address(reader)?;
    let port = reader.i32()?;
    let port = u16::try_from(port).map_err(|_| DecodeError::InvalidCount { what: "ports", count: i64::from(port) })?;
    Ok(SocketAddr::new(address, port))
}

/// `[string]`; cut at 65,535 bytes.
#[inline]
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let text = if text.len() > usize::from(u16::MAX) { cut(text, usize::from(u16::MAX)) } else { text };
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// The longest start of `text` that has at most `length_max` bytes and ends between characters.
fn cut(text: &str, length_max: usize) -> &str {
    let mut end = length_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `[long string]`.
#[inline]
pub fn write_long_string(out: &mut Vec<u8>, text: &str) {
    write_length(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// `[bytes]`.
#[inline]
pub fn write_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            write_length(out, bytes.len());
            out.extend_from_slice(bytes);
        }
        None => out.extend_from_slice(&(-1i32).to_be_bytes()),
    }
}

/// `[short bytes]`. Ids are what is written so, and they are short: a longer one is a fault of this process.
#[inline]
pub fn write_short_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("ids have at most 65,535 bytes");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// `[consistency]`.
#[inline]
pub fn write_consistency(out: &mut Vec<u8>, level: Consistency) {
    out.extend_from_slice(&level.code().to_be_bytes());
}

/// `[string list]`.
pub fn write_string_list<S: AsRef<str>>(out: &mut Vec<u8>, strings: &[S]) {
    let count = u16::try_from(strings.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    for text in strings.iter().take(usize::from(count)) {
        write_string(out, text.as_ref());
    }
}

/// `[inetaddr]`.
pub fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.push(16);
            out.extend_from_slice(&address.octets());
        }
    }
}

/// `[inet]`.
pub fn write_inet(out: &mut Vec<u8>, address: SocketAddr) {
    write_address(out, address.ip());
    out.extend_from_slice(&i32::from(address.port()).to_be_bytes());
}

/// An i32 length. A value of 2 GiB cannot come here: frames are limited to 256 MiB.
#[inline]
pub(crate) fn write_length(out: &mut Vec<u8>, length: usize) {
    let length = i32::try_from(length).expect("values are far below 2 GiB");
    out.extend_from_slice(&length.to_be_bytes());
}
