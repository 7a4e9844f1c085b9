//! TOC.txt: the list of an SSTable's components, a name on each line.
//!
//! It tells whoever copies or removes the files what belongs together; a reader opens what it needs by name.

use crate::{Component, Corrupt};

/// The bytes of TOC.txt. Cassandra lists the list itself too.
pub fn encode(components: &[Component]) -> Vec<u8> {
    components.iter().flat_map(|component| [component.name().as_bytes(), b"\n"].concat()).collect()
}

/// The names in TOC.txt; those of others' components are among them.
pub fn decode(bytes: &[u8]) -> Result<Vec<&str>, Corrupt> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Corrupt::new(error.valid_up_to() as u64, "the list of components is not text"))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let bytes = encode(&[Component::Data, Component::Toc, Component::Helenus]);
        assert_eq!(decode(&bytes), Ok(vec!["Data.db", "TOC.txt", "Helenus.db"]));
        assert_eq!(decode(b"Data.db\r\nSAI+aa.db\n\n"), Ok(vec!["Data.db", "SAI+aa.db"]));
        decode(b"Data\xff").expect_err("no text");
    }
}
