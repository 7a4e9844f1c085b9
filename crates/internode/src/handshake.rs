//! How two nodes meet: the one that dials says hello, the other welcomes it or names what does not fit.
//!
//! ```text
//! greeting   "helepeer" │ length u32 ≤ 1024 │ crc u32 of the body │ body
//! hello      version u16 │ shard u16 │ shard count u16 │ host id 16 │ wanted host id 16 │ cluster name
//! welcome    version u16 │ verdict u8 │ shard count u16 │ host id 16 │ cluster name
//! ```

use runtime::TcpStream;
use stdx::{ReadError, Reader};
use topology::HostId;

/// The version of all that nodes say to each other.
pub const VERSION: u16 = 1;

const MAGIC: &[u8; 8] = b"helepeer";
const HEAD: usize = 16;
/// The most that a greeting's body may hold.
const BODY_MAX: usize = 1024;

/// Handshake message of the dialling node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The version that it speaks.
    pub version: u16,
    /// The shard that dials.
    pub shard: u16,
    /// How many shards its node has.
    pub shard_count: u16,
    /// Its host id.
    pub host_id: HostId,
    /// Host id of the node that it expects at the address.
    pub wanted: HostId,
    /// Its cluster.
    pub cluster_name: String,
}

/// Outcome of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The connection is accepted.
    Welcome = 0,
    /// They are of different clusters.
    OtherCluster = 1,
    /// They speak different versions.
    OtherVersion = 2,
    /// The address is another node's than the one that was wanted.
    OtherNode = 3,
    /// The dialling node is not in the ring.
    Stranger = 4,
}

impl Verdict {
    const ALL: [Verdict; 5] =
        [Verdict::Welcome, Verdict::OtherCluster, Verdict::OtherVersion, Verdict::OtherNode, Verdict::Stranger];
}

/// Reply of the dialled node to a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The version that it speaks.
    pub version: u16,
    /// Outcome of the handshake.
    pub verdict: Verdict,
    /// How many shards it has.
    pub shard_count: u16,
    /// Its host id.
    pub host_id: HostId,
    /// Its cluster.
    pub cluster_name: String,
}

/// Why two nodes did not meet.
#[derive(Debug, thiserror::Error)]
pub enum GreetingError {
    /// The connection failed.
    #[error("connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The other end is something else.
    #[error("the peer is not a Helenus node, or its handshake is damaged")]
    NotAPeer,
    /// The other end hung up.
    #[error("connection closed during the handshake")]
    Closed,
    /// The body is cut or holds what it must not.
    #[error("malformed handshake: {0}")]
    Malformed(#[from] ReadError),
    /// The other end refuses.
    #[error("refused ({verdict:?}) by host {host_id} of cluster '{cluster_name}', which speaks version {version}")]
    Refused {
        /// Why.
        verdict: Verdict,
        /// Its host id.
        host_id: HostId,
        /// Its cluster.
        cluster_name: String,
        /// Its version.
        version: u16,
    },
}

fn seal(body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The body of a greeting, and how many bytes it takes in all; `None`: more must come.
fn open(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, GreetingError> {
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

fn name(reader: &mut Reader<'_>) -> Result<String, ReadError> {
    std::str::from_utf8(reader.rest()).map(str::to_owned).map_err(|_| ReadError::NotUtf8)
}

impl Hello {
    /// The greeting's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(64);
        body.extend_from_slice(&self.version.to_be_bytes());
        body.extend_from_slice(&self.shard.to_be_bytes());
        body.extend_from_slice(&self.shard_count.to_be_bytes());
        body.extend_from_slice(&self.host_id.0);
        body.extend_from_slice(&self.wanted.0);
        body.extend_from_slice(cut(&self.cluster_name).as_bytes());
        seal(&body)
    }

    /// The hello at the front of `bytes` with its length; `None`: more must come.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Hello, usize)>, GreetingError> {
        let Some((body, length)) = open(bytes)? else { return Ok(None) };
        let mut reader = Reader::new(body);
        let hello = Hello {
            version: reader.u16()?,
            shard: reader.u16()?,
            shard_count: reader.u16()?,
            host_id: HostId(reader.array()?),
            wanted: HostId(reader.array()?),
            cluster_name: name(&mut reader)?,
        };
        Ok(Some((hello, length)))
    }
}

impl Welcome {
    /// The greeting's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(64);
        body.extend_from_slice(&self.version.to_be_bytes());
        body.push(self.verdict as u8);
        body.extend_from_slice(&self.shard_count.to_be_bytes());
        body.extend_from_slice(&self.host_id.0);
        body.extend_from_slice(cut(&self.cluster_name).as_bytes());
        seal(&body)
    }

    /// The welcome at the front of `bytes` with its length; `None`: more must come.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Welcome, usize)>, GreetingError> {
        let Some((body, length)) = open(bytes)? else { return Ok(None) };
        let mut reader = Reader::new(body);
        let version = reader.u16()?;
        let number = reader.u8()?;
        let verdict = Verdict::ALL.into_iter().find(|verdict| *verdict as u8 == number);
        let welcome = Welcome {
            version,
            verdict: verdict.ok_or(GreetingError::NotAPeer)?,
            shard_count: reader.u16()?,
            host_id: HostId(reader.array()?),
            cluster_name: name(&mut reader)?,
        };
        Ok(Some((welcome, length)))
    }
}

/// A name that fits a greeting.
fn cut(name: &str) -> &str {
    let mut end = name.len().min(512);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Reads one greeting. Nothing may follow it: each side waits for the other before it goes on.
pub(crate) async fn receive<T>(
    stream: &TcpStream,
    decode: impl Fn(&[u8]) -> Result<Option<(T, usize)>, GreetingError>,
) -> Result<T, GreetingError> {
    let mut buffer = Vec::with_capacity(HEAD + BODY_MAX);
    loop {
        let (result, read) = stream.read(buffer).await;
        buffer = read;
        if result? == 0 {
            return Err(GreetingError::Closed);
        }
        match decode(&buffer)? {
            Some((greeting, length)) if length == buffer.len() => return Ok(greeting),
            Some(_) => return Err(GreetingError::NotAPeer),
            // A greeting fits the buffer: one that does not is none.
            None if buffer.len() == buffer.capacity() => return Err(GreetingError::NotAPeer),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let (host_id, wanted) = (HostId([1; 16]), HostId([2; 16]));
        Hello { version: VERSION, shard: 3, shard_count: 8, host_id, wanted, cluster_name: "Test Cluster".into() }
    }

    #[test]
    fn greetings_round_trip_and_refuse_changes() {
        let bytes = hello().encode();
        assert_eq!(Hello::decode(&bytes).unwrap(), Some((hello(), bytes.len())));
        for length in 0..bytes.len() {
            assert!(Hello::decode(&bytes[..length]).unwrap().is_none(), "{length} bytes are not all");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A shorter or longer length makes it wait or fail; what it says is never believed.
            assert!(!matches!(Hello::decode(&damaged), Ok(Some(_))), "bit {bit}");
        }
        let welcome = Welcome {
            version: 9,
            verdict: Verdict::OtherVersion,
            shard_count: 2,
            host_id: HostId([2; 16]),
            cluster_name: String::new(),
        };
        let bytes = welcome.encode();
        assert_eq!(Welcome::decode(&bytes).unwrap(), Some((welcome, bytes.len())));
    }

    #[test]
    fn what_is_no_greeting_is_known_by_its_first_byte() {
        assert!(matches!(Hello::decode(b"G"), Err(GreetingError::NotAPeer)));
        assert!(matches!(Hello::decode(b"helepeer\xff\xff\xff\xff\0\0\0\0"), Err(GreetingError::NotAPeer)));
    }
}
