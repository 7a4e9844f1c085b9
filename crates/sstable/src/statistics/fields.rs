//! The plain fields that the parts of Statistics.db are made of.

use stdx::Reader;

use crate::error::Corrupt;

/// A cursor that knows where in the file it is.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    reader: Reader<'a>,
    /// Where in the file the cursor's bytes end.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over `bytes`, which begin at `start` in the file.
    pub(super) fn new(bytes: &'a [u8], start: usize) -> Self {
        Cursor { reader: Reader::new(bytes), end: start + bytes.len() }
    }

    /// Where in the file it stands.
    pub(super) fn at(&self) -> usize {
        self.end - self.reader.remaining()
    }

    pub(super) fn remaining(&self) -> usize {
        self.reader.remaining()
    }

    pub(super) fn corrupt(&self, what: impl Into<String>) -> Corrupt {
        Corrupt::new(self.at() as u64, what)
    }

    /// Reads with the plain cursor.
    pub(super) fn with<T, E: ToString>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, E>,
    ) -> Result<T, Corrupt> {
        read(&mut self.reader).map_err(|error| self.corrupt(error.to_string()))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Corrupt> {
        self.with(Reader::u8)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Corrupt> {
        self.with(Reader::u32)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Corrupt> {
        self.with(Reader::i64)
    }

    pub(super) fn f64(&mut self) -> Result<f64, Corrupt> {
        self.with(|reader| reader.array().map(f64::from_be_bytes))
    }

    pub(super) fn bool(&mut self) -> Result<bool, Corrupt> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            byte => Err(self.corrupt(format!("{byte} is not a boolean"))),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupt> {
        self.with(Reader::array)
    }

    /// A u16 length and that many bytes.
    pub(super) fn short_bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        self.with(|reader| {
            let length = reader.u16()?;
            reader.bytes(usize::from(length))
        })
    }

    /// A u32 length and that many bytes.
    pub(super) fn sized_bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        self.with(|reader| {
            let length = reader.u32()?;
            reader.bytes(length as usize)
        })
    }

    /// A vint length and that many bytes.
    pub(super) fn vint_bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        self.with(Reader::varint_bytes)
    }

    /// Text as Java writes it, a u16 length before it. Class names have only letters that it writes as UTF-8.
    pub(super) fn java_text(&mut self) -> Result<&'a str, Corrupt> {
        self.with(|reader| {
            let length = reader.u16()?;
            reader.str(usize::from(length))
        })
    }

    /// The count of things of `length` bytes each that follow.
    pub(super) fn count(&mut self, length: usize) -> Result<usize, Corrupt> {
        let count = self.u32()? as usize;
        match count.checked_mul(length).filter(|&needed| needed <= self.remaining()) {
            Some(_) => Ok(count),
            None => Err(self.corrupt(format!("{count} entries in {} bytes", self.remaining()))),
        }
    }

    /// That nothing is left but zeros.
    pub(super) fn end_of_padding(&self) -> Result<(), Corrupt> {
        match self.reader.peek().iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(_) => Err(self.corrupt("trailing bytes are not zero")),
        }
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), Corrupt> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.corrupt(format!("{left} trailing bytes"))),
        }
    }
}

/// A length or position as Java writes it, in 32 bits.
pub(super) fn length(length: usize) -> u32 {
    let fits = i32::try_from(length).is_ok();
    assert!(fits, "Statistics.db is shorter than 2 GiB");
    length as u32
}

/// Appends text as Java writes it.
pub(super) fn write_java_text(text: &str, out: &mut Vec<u8>) {
    let length = u16::try_from(text.len()).expect("a class name is shorter than 64 KiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Appends bytes with a u32 length before them.
pub(super) fn write_sized_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&length(bytes.len()).to_be_bytes());
    out.extend_from_slice(bytes);
}
