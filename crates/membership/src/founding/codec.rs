//! Introductions, and answers to a node that asks to join, as bytes.
//!
//! ```text
//! introduction: u8 version (1) · 16 host id · address · u8 flags (1 seed, 2 of a group) · 16 group · u64 incarnation, if it is of one · varint count · address*
//! address:      u8 length (4 or 16) · IP · u16 port
//! join answer:  u8 version (1) · u8 kind · body
//!    1 accepted: 16 group · u64 incarnation · the record of a snapshot
//!    2 refused, 3 not now: reason, UTF-8
//! ```

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use metadata::group::{GroupId, GroupRecord, Snapshot};
use metadata::{DecodeError, Record};
use stdx::{Reader, varint};
use topology::HostId;

use super::Introduction;

const VERSION: u8 = 1;
/// The fewest bytes of an address.
const ADDRESS_BYTES_MIN: usize = 7;

/// A member's answer to a node that asks to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinAnswer {
    /// It is registered: the group, and its state.
    Accepted(GroupId, Box<Snapshot>),
    /// It is refused for good, for this reason.
    Refused(String),
    /// It is to ask again.
    NotNow(String),
}

impl Introduction {
    /// The body of a question, and of its answer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.host_id.0);
        put(self.address, &mut out);
        out.push(u8::from(self.is_seed) | u8::from(self.group.is_some()) << 1);
        if let Some(group) = self.group {
            put_group(group, &mut out);
        }
        varint::encode(self.knows.len() as u64, &mut out);
        self.knows.iter().for_each(|address| put(*address, &mut out));
        out
    }

    /// The introduction that all of the bytes are.
    pub fn decode(bytes: &[u8]) -> Result<Introduction, DecodeError> {
        let mut reader = Reader::new(bytes);
        check_version(reader.u8()?)?;
        let (host_id, address) = (HostId(reader.array()?), take(&mut reader)?);
        let flags = reader.u8()?;
        if flags > 3 {
            return Err(invalid(format!("unknown flags {flags:#04x}")));
        }
        let group = if flags & 2 > 0 { Some(take_group(&mut reader)?) } else { None };
        let count = reader.varint()?;
        if count > (reader.remaining() / ADDRESS_BYTES_MIN) as u64 {
            return Err(invalid(format!("{count} addresses do not fit their message")));
        }
        let knows = (0..count).map(|_| take(&mut reader)).collect::<Result<BTreeSet<SocketAddr>, DecodeError>>()?;
        end(&reader)?;
        Ok(Introduction { host_id, address, is_seed: flags & 1 > 0, group, knows })
    }
}

impl JoinAnswer {
    /// The body of the answer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        match self {
            JoinAnswer::Accepted(group, snapshot) => {
                out.push(1);
                put_group(*group, &mut out);
                Record::Group(GroupRecord::Snapshot((**snapshot).clone())).encode(&mut out);
            }
            JoinAnswer::Refused(reason) => {
                out.push(2);
                out.extend_from_slice(reason.as_bytes());
            }
            JoinAnswer::NotNow(reason) => {
                out.push(3);
                out.extend_from_slice(reason.as_bytes());
            }
        }
        out
    }

    /// The answer that all of the bytes are.
    pub fn decode(bytes: &[u8]) -> Result<JoinAnswer, DecodeError> {
        let mut reader = Reader::new(bytes);
        check_version(reader.u8()?)?;
        let kind = reader.u8()?;
        let text = |reader: &mut Reader<'_>| String::from_utf8_lossy(reader.rest()).into_owned();
        match kind {
            1 => {
                let group = take_group(&mut reader)?;
                match Record::decode(reader.rest())? {
                    Record::Group(GroupRecord::Snapshot(snapshot)) => Ok(JoinAnswer::Accepted(group, snapshot.into())),
                    _ => Err(invalid("a node is accepted without a snapshot")),
                }
            }
            2 => Ok(JoinAnswer::Refused(text(&mut reader))),
            3 => Ok(JoinAnswer::NotNow(text(&mut reader))),
            kind => Err(invalid(format!("unknown answer {kind} to a node that asks to join"))),
        }
    }
}

pub(crate) fn put(address: SocketAddr, out: &mut Vec<u8>) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(16);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

pub(crate) fn take(reader: &mut Reader<'_>) -> Result<SocketAddr, DecodeError> {
    let ip = match reader.u8()? {
        4 => IpAddr::from(reader.array::<4>()?),
        16 => IpAddr::from(reader.array::<16>()?),
        length => return Err(invalid(format!("an address has {length} bytes"))),
    };
    Ok(SocketAddr::new(ip, reader.u16()?))
}

fn put_group(group: GroupId, out: &mut Vec<u8>) {
    out.extend_from_slice(&group.id.to_be_bytes());
    out.extend_from_slice(&group.incarnation.to_be_bytes());
}

fn take_group(reader: &mut Reader<'_>) -> Result<GroupId, DecodeError> {
    Ok(GroupId { id: u128::from_be_bytes(reader.array()?), incarnation: reader.u64()? })
}

fn check_version(version: u8) -> Result<(), DecodeError> {
    match version {
        0 => Err(invalid("a message has format version 0")),
        VERSION => Ok(()),
        version => Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
}

fn end(reader: &Reader<'_>) -> Result<(), DecodeError> {
    match reader.is_empty() {
        true => Ok(()),
        false => Err(invalid(format!("{} trailing bytes in a message", reader.remaining()))),
    }
}

fn invalid(problem: impl Into<String>) -> DecodeError {
    DecodeError::Invalid { problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use raft::{Configuration, Index, NodeId, Origin, Term};

    use super::*;

    #[test]
    fn answers_come_back() {
        let configuration = Configuration::new([NodeId(1)]).expect("there is a voter");
        let origin = Origin { index: Index(5), term: Term(2), leader: None, configuration };
        let snapshot = Snapshot { origin, recent: Vec::new(), parts: Vec::new() };
        let group = GroupId { id: 7, incarnation: 8 };
        let accepted = JoinAnswer::Accepted(group, snapshot.into());
        for answer in [accepted, JoinAnswer::Refused("no".into()), JoinAnswer::NotNow(String::new())] {
            assert_eq!(JoinAnswer::decode(&answer.to_bytes()), Ok(answer));
        }
        assert!(JoinAnswer::decode(&[1, 1, 0]).is_err());
    }

    proptest! {
        #[test]
        fn introductions_come_back(
            host_id: [u8; 16],
            ports in proptest::collection::btree_set(any::<u16>(), 0..9),
            group: Option<(u128, u64)>,
            is_seed: bool,
            is_v6: bool,
        ) {
            let ip: IpAddr = if is_v6 { [0xfd; 16].into() } else { [10, 0, 0, 1].into() };
            let knows = ports.iter().map(|port| SocketAddr::new(ip, *port)).collect();
            let group = group.map(|(id, incarnation)| GroupId { id, incarnation });
            let introduction =
                Introduction { host_id: HostId(host_id), address: SocketAddr::new(ip, 7), is_seed, group, knows };
            let bytes = introduction.to_bytes();
            prop_assert!((0..bytes.len()).all(|length| Introduction::decode(&bytes[..length]).is_err()));
            prop_assert_eq!(Introduction::decode(&bytes), Ok(introduction));
        }

        #[test]
        fn no_bytes_make_them_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Introduction::decode(&bytes), JoinAnswer::decode(&bytes));
        }
    }
}
