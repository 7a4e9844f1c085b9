//! STARTUP: begins the connection.

use stdx::Reader;

use crate::{DecodeError, notation};

/// Options that the client asks for, as a map of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Startup<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Startup<'a> {
    /// Decodes a message.
    pub fn decode(message: &'a [u8]) -> Result<Startup<'a>, DecodeError> {
        let mut reader = Reader::new(message);
        let count = reader.u16()?;
        let bytes = reader.peek();
        for _ in 0..count {
            notation::read_string(&mut reader)?;
            notation::read_string(&mut reader)?;
        }
        Ok(Startup { count, bytes: &bytes[..bytes.len() - reader.remaining()] })
    }

    /// A message with these options, whose map is laid down in `buffer`.
    pub fn of(options: &[(&str, &str)], buffer: &'a mut Vec<u8>) -> Startup<'a> {
        let count = u16::try_from(options.len()).unwrap_or(u16::MAX);
        let start = buffer.len();
        for (name, value) in options.iter().take(usize::from(count)) {
            notation::write_string(buffer, name);
            notation::write_string(buffer, value);
        }
        Startup { count, bytes: &buffer[start..] }
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(self.bytes);
    }

    /// All options, in the order sent.
    pub fn options(&self) -> StartupOptions<'a> {
        StartupOptions { left: self.count, reader: Reader::new(self.bytes) }
    }

    /// An option's value; names are the same in any case, as in Cassandra.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.options().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// `CQL_VERSION`, which a client must name.
    pub fn cql_version(&self) -> Option<&'a str> {
        self.get("CQL_VERSION")
    }

    /// `COMPRESSION`, if the client asks for any.
    pub fn compression(&self) -> Option<&'a str> {
        self.get("COMPRESSION")
    }
}

/// Walks a [`Startup`]'s options.
#[derive(Debug, Clone)]
pub struct StartupOptions<'a> {
    left: u16,
    reader: Reader<'a>,
}

impl<'a> Iterator for StartupOptions<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let name = notation::read_string(&mut self.reader).ok()?;
        let value = notation::read_string(&mut self.reader).ok()?;
        Some((name, value))
    }
}
