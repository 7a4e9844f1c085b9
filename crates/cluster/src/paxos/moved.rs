//! Registers on their way to another node. The position of an accepted proposal is that of the log of the shard that accepted it; it says whether a truncation came
//! later, and means nothing elsewhere.

use mutation::{Item, MutationRef};
use schema::TableId;
use stdx::Reader;
use storage::ReplayPosition;

use super::table::{ACCEPTED, POSITION_BYTES, table_of_row};

/// In place of a position: a truncation came after the acceptance. Starts of a node are numbered from 1, so it is none of a log.
pub(crate) const VOID: ReplayPosition = ReplayPosition { boot: 0, sequence: 0, shard: 0 };

/// Gives each accepted proposal in a mutation of registers the position that `replace` makes of the table and the position that it has. What is no register stays.
pub(crate) fn replace_positions(mutation: &mut [u8], replace: impl Fn(TableId, ReplayPosition) -> ReplayPosition) {
    let mut places = Vec::new();
    let Ok(decoded) = MutationRef::decode(mutation) else { return };
    for item in decoded.items() {
        let Item::Row(clustering, row) = item else { continue };
        let Some(table) = table_of_row(clustering) else { continue };
        let accepted = row.cells().filter(|cell| cell.column == ACCEPTED && cell.value.len() >= POSITION_BYTES);
        places.extend(accepted.map(|cell| {
            let end = cell.value.as_ptr_range().end as usize - mutation.as_ptr() as usize;
            (table, end - POSITION_BYTES)
        }));
    }
    for (table, at) in places {
        let bytes = &mut mutation[at..at + POSITION_BYTES];
        let replaced = replace(table, decode(bytes));
        bytes[..8].copy_from_slice(&replaced.boot.to_be_bytes());
        bytes[8..16].copy_from_slice(&replaced.sequence.to_be_bytes());
        bytes[16..].copy_from_slice(&replaced.shard.to_be_bytes());
    }
}

fn decode(bytes: &[u8]) -> ReplayPosition {
    let mut reader = Reader::new(bytes);
    let read = (|| Ok::<_, stdx::ReadError>((reader.u64()?, reader.u64()?, reader.u16()?)))();
    let (boot, sequence, shard) = read.expect("a position has its bytes");
    ReplayPosition { boot, sequence, shard }
}

#[cfg(test)]
mod tests {
    use topology::Token;

    use super::*;
    use crate::paxos::table::tests::{POSITION, accepted_registers};

    #[test]
    fn an_accepted_proposal_gets_another_position_and_nothing_else() {
        let before = accepted_registers();
        let mut same = before.clone();
        replace_positions(&mut same, |table, position| {
            assert_eq!((table, position), (TableId([7; 16]), POSITION));
            position
        });
        assert_eq!(same, before);
        let other = ReplayPosition { boot: 9, sequence: 8, shard: 7 };
        let mut moved = before.clone();
        replace_positions(&mut moved, |_, _| other);
        let differ = before.iter().zip(&moved).filter(|(one, other)| one != other).count();
        assert!(moved != before && moved.len() == before.len() && differ <= POSITION_BYTES);
        replace_positions(&mut moved, |_, position| {
            assert_eq!(position, other);
            POSITION
        });
        assert_eq!(moved, before);
        assert_eq!(MutationRef::decode(&moved).map(|of| of.token()).ok(), Some(Token(5)));
    }
}
