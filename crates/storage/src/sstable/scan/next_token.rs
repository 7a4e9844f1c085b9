//! The next token that a file has, by its index and the heads of partitions.

use std::rc::Rc;

use topology::Token;

use super::{At, Scan};
use crate::sstable::error::ReadError;
use crate::sstable::reader::Sstable;

impl Sstable {
    /// The first token after another one of which the file has a partition; none where there is no further one. Reads pages of the index, and the head of one partition or
    /// of a few.
    pub async fn next_token(self: &Rc<Self>, after: Token) -> Result<Option<Token>, ReadError> {
        let mut between = self.index.seek(Some((after, None))).await?;
        let mut scan = Scan::idle(self, 0)?;
        // The index leads to the partition, or a little before it.
        while let Some(place) = self.index.next(&mut between).await? {
            // Any partition may come next.
            scan.token = Token(i64::MIN);
            scan.key.clear();
            scan.seek_at(place.data_position).await?;
            if scan.at() != At::Partition {
                return Err(self.data.corrupt(place.data_position, "no partition begins where the index says so"));
            }
            if scan.token > after {
                return Ok(Some(scan.token));
            }
        }
        Ok(None)
    }
}
