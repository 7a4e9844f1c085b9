//! Records that a client wrote into a value: no file, torn or damaged, gives them as hints.

use std::path::Path;

use runtime::{OpenOptions, Runtime};
use storage::ReplayPosition;
use topology::HostId;

use super::store::on_a_machine;
use crate::hints::reader::HintReader;
use crate::hints::record::{FILE_HEAD, HEAD, Salt, Start, body_len, file_head, push_record, seal_records};
use crate::hints::store::aligned;

const PATH: &str = "/data/forged.hints";

fn salt() -> Salt {
    Salt::new(0x0123_4567_89ab_cdef)
}

fn record(salt: Salt, mutation: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let position = ReplayPosition { boot: 1, shard: 0, sequence: 1 };
    push_record(&Start { created: 1, epoch: 1, position }, &[mutation], &mut bytes);
    seal_records(salt, &mut bytes);
    bytes
}

/// The mutations that a file of these records gives, and the bytes of it that are damaged.
async fn read(runtime: &Runtime, records: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = runtime.open(Path::new(PATH), options).await.expect("the disk works");
    let bytes = [file_head(HostId([1; 16]), 1, 0, salt()), records.to_vec()].concat();
    file.write_at(aligned(&bytes), 0).await.0.expect("the disk works");
    let mut reader = HintReader::open(runtime, Path::new(PATH), 0).await.expect("it is there");
    let mut mutations = Vec::new();
    while let Some(hint) = reader.next().await.expect("the disk works") {
        mutations.extend(hint.mutations);
    }
    (mutations, reader.damaged())
}

/// A value full of records with a right checksum by this salt.
fn value(salt: Salt) -> Vec<u8> {
    record(salt, b"forged").repeat(20)
}

#[test]
fn a_torn_end_gives_none_of_what_it_begins() {
    on_a_machine(async |runtime| {
        // Even by the file's own salt.
        let (sound, torn) = (record(salt(), b"sound"), record(salt(), &value(salt())));
        for length in [HEAD, HEAD + 200, torn.len() - 1] {
            let records = [&sound[..], &torn[..length]].concat();
            assert_eq!(read(&runtime, &records).await, (vec![b"sound".to_vec()], 0), "{length} bytes");
        }
    });
}

#[test]
fn a_damaged_record_gives_none_of_what_stands_in_it() {
    on_a_machine(async |runtime| {
        let (sound, value) = (record(salt(), b"sound"), value(Salt::new(0)));
        let damaged = record(salt(), &value);
        assert_eq!(damaged.len(), HEAD + body_len(&[&value]));
        for at in [0, 5, HEAD - 1, HEAD + 1] {
            let mut damaged = damaged.clone();
            damaged[at] ^= 1;
            let bytes = damaged.len() as u64;
            let records = [&sound[..], &damaged, &sound].concat();
            assert!(records.len() > FILE_HEAD);
            let expected = (vec![b"sound".to_vec(); 2], bytes);
            assert_eq!(read(&runtime, &records).await, expected, "byte {at} is damaged");
        }
    });
}
