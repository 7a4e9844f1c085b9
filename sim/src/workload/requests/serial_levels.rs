//! The levels of conditional statements.
//!
//! Clients of one partition must use serial levels that have a majority in common. In clusters of one datacenter both are the same, and each request has one
//! of them. In clusters of several, every other partition is of one datacenter, whose clients alone use it, at LOCAL_SERIAL; the rest is used from anywhere at
//! SERIAL. The level of the commit is any at all: it decides when a plain read has what was written, and nothing about serial reads.

use cql_protocol::Consistency;

use crate::client::Client;

/// The datacenter whose clients alone use a partition, at LOCAL_SERIAL; `None` for one that is used from anywhere.
pub(super) fn home_of(partition: i32, datacenters: usize) -> Option<usize> {
    (datacenters > 1 && partition % 2 == 1).then(|| (partition / 2) as usize % datacenters)
}

/// The serial level of a request.
pub(super) fn serial_level(partition: i32, datacenters: usize, random: u64) -> Consistency {
    match (datacenters, home_of(partition, datacenters)) {
        (0 | 1, _) if random.is_multiple_of(2) => Consistency::Serial,
        (0 | 1, _) | (_, Some(_)) => Consistency::LocalSerial,
        (_, None) => Consistency::Serial,
    }
}

/// Sets the levels of a request: `commit` is that of what it writes.
pub(super) fn set_levels(client: &mut Client, is_read: bool, serial: Consistency, commit: Consistency) {
    client.consistency = if is_read { serial } else { commit };
    client.serial_consistency = (!is_read).then_some(serial);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_one_partition_have_a_majority_in_common() {
        for partition in 0..8 {
            assert_eq!(home_of(partition, 1), None);
            let home = home_of(partition, 3);
            assert!(home.is_none_or(|home| home < 3));
            let levels: Vec<Consistency> = (0..4).map(|random| serial_level(partition, 3, random)).collect();
            let expected = if home.is_some() { Consistency::LocalSerial } else { Consistency::Serial };
            assert!(levels.iter().all(|level| *level == expected), "partition {partition}: {levels:?}");
        }
        let of_one = [0, 1].map(|random| serial_level(5, 1, random));
        assert_eq!(of_one, [Consistency::Serial, Consistency::LocalSerial]);
        assert_eq!((0..8).filter_map(|partition| home_of(partition, 3)).collect::<Vec<_>>(), [0, 1, 2, 0]);
    }
}
