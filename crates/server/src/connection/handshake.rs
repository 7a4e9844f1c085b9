//! OPTIONS and STARTUP: what this server speaks, and what a connection chooses.

use cql_protocol::request::{self, Startup};
use cql_protocol::{
    Codec, Compression, ErrorBody, FrameHeader, Opcode, Version, write_error, write_ready, write_supported,
};
use topology::Sharder;

use super::Connection;
use super::login;
use super::output::Output;
use super::transport::Transport;
use super::violation::Violation;
use crate::stream::Stream;

/// Handles STARTUP, and a request that comes before it. Cassandra keeps the connection after such an error.
#[cold]
pub(super) fn before_startup(
    connection: &Connection,
    header: &FrameHeader,
    body: &[u8],
    output: &mut Output,
) -> Result<(), Violation> {
    match header.opcode {
        Opcode::Options => supported(connection, header, output),
        Opcode::Startup => {
            let message = request::message(header, body)?;
            let startup = Startup::decode(message)?;
            match choose(&startup, header.version) {
                Ok(transport) => {
                    match connection.must_log_in() {
                        None => {
                            write_ready(&mut output.ready, header.version, header.stream);
                            connection.begin_requests();
                            connection.server.auditing.maintenance(connection);
                        }
                        Some(logins) if !login::at_startup(connection, logins, header, output) => return Ok(()),
                        Some(_) => {}
                    }
                    connection.session.start(header.version.number(), startup.options());
                    // What comes before the choice, and this reply itself, goes as it is: the client begins to use the
                    // transport only when it has read it.
                    output.unframed = output.ready.len();
                    connection.transport.set(transport);
                }
                Err(text) => {
                    let error = ErrorBody::protocol_error(text);
                    write_error(&mut output.ready, header.version, header.stream, &error);
                }
            }
        }
        opcode => {
            let text = format!("Unexpected message {}, expecting STARTUP or OPTIONS", opcode.name());
            write_error(&mut output.ready, header.version, header.stream, &ErrorBody::protocol_error(text));
        }
    }
    Ok(())
}

/// The transport that STARTUP asks for, or Cassandra's words for why not.
fn choose(startup: &Startup<'_>, version: Version) -> Result<Transport, String> {
    let cql_version = startup.cql_version().ok_or("Missing value CQL_VERSION in STARTUP message")?;
    let major = cql_version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < 3) {
        return Err(format!(
            "CQL version {cql_version} is not supported by the binary protocol (supported version are >= 3.0.0)"
        ));
    }
    let compression = match startup.compression().map(str::to_ascii_lowercase).as_deref() {
        None | Some("") => None,
        Some("lz4") => Some(Compression::Lz4),
        Some("snappy") => Some(Compression::Snappy),
        Some(other) => return Err(format!("Unknown compression algorithm: {other}")),
    };
    Ok(match (version, compression) {
        (Version::V3 | Version::V4, None) => Transport::Plain,
        (Version::V3 | Version::V4, Some(compression)) => Transport::CompressedBodies(compression),
        (Version::V5, None) => Transport::Segments(Codec::Plain),
        (Version::V5, Some(Compression::Lz4)) => Transport::Segments(Codec::Lz4),
        (Version::V5, Some(Compression::Snappy)) => {
            return Err("Snappy compression is not supported in protocol V5".to_owned());
        }
    })
}

/// Answers OPTIONS. The keys with SCYLLA_ are those by which shard-aware drivers find the shard of a token.
#[cold]
pub(super) fn supported(connection: &Connection, header: &FrameHeader, output: &mut Output) {
    let runtime = &connection.server.runtime;
    let shard = runtime.shard().0.to_string();
    let shards = runtime.shard_count().to_string();
    let ignore_msb = Sharder::IGNORE_MSB.to_string();
    let (port_key, port) = match &connection.stream {
        Stream::Plain(_) => ("SCYLLA_SHARD_AWARE_PORT", connection.shard_aware.plain),
        Stream::Tls(_) => ("SCYLLA_SHARD_AWARE_PORT_SSL", connection.shard_aware.tls),
    };
    let port = port.map(|port| port.to_string());
    let one = [
        ("CQL_VERSION", Some("3.4.7")),
        ("SCYLLA_SHARD", Some(shard.as_str())),
        ("SCYLLA_NR_SHARDS", Some(shards.as_str())),
        ("SCYLLA_PARTITIONER", Some("org.apache.cassandra.dht.Murmur3Partitioner")),
        ("SCYLLA_SHARDING_ALGORITHM", Some("biased-token-round-robin")),
        ("SCYLLA_SHARDING_IGNORE_MSB", Some(ignore_msb.as_str())),
        (port_key, port.as_deref()),
    ];
    let lists: Vec<(&str, [&str; 1])> = one.iter().filter_map(|(key, value)| Some((*key, [(*value)?]))).collect();
    let mut options: Vec<(&str, &[&str])> = lists.iter().map(|(key, list)| (*key, list.as_slice())).collect();
    options.push(("COMPRESSION", &["snappy", "lz4"]));
    options.push(("PROTOCOL_VERSIONS", &Version::SUPPORTED));
    write_supported(&mut output.ready, header.version, header.stream, &options);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(version: Version, options: &[(&str, &str)]) -> Result<Transport, String> {
        choose(&Startup::of(options, &mut Vec::new()), version)
    }

    #[test]
    fn startup_chooses_how_frames_lie_on_the_wire() {
        let with = |version, compression| chosen(version, &[("CQL_VERSION", "3.0.0"), ("COMPRESSION", compression)]);
        for version in [Version::V3, Version::V4] {
            assert_eq!(chosen(version, &[("CQL_VERSION", "3.4.7")]), Ok(Transport::Plain));
            assert_eq!(with(version, "lz4"), Ok(Transport::CompressedBodies(Compression::Lz4)));
            assert_eq!(with(version, "Snappy"), Ok(Transport::CompressedBodies(Compression::Snappy)));
        }
        assert_eq!(with(Version::V5, ""), Ok(Transport::Segments(Codec::Plain)));
        assert_eq!(with(Version::V5, "LZ4"), Ok(Transport::Segments(Codec::Lz4)));
        let refused = with(Version::V5, "snappy").unwrap_err();
        assert_eq!(refused, "Snappy compression is not supported in protocol V5");
        assert_eq!(with(Version::V3, "zstd").unwrap_err(), "Unknown compression algorithm: zstd");
        assert_eq!(chosen(Version::V3, &[]).unwrap_err(), "Missing value CQL_VERSION in STARTUP message");
    }
}
