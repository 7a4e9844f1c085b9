//! Greetings read back, cut and flipped.

use super::envelope::HEAD;
use super::*;

fn hello() -> Hello {
    Hello {
        version: VERSION,
        version_min: VERSION_MIN,
        purpose: Purpose::Control,
        has_secret: true,
        compresses: true,
        shard: 3,
        shard_count: 8,
        host_id: HostId([1; 16]),
        wanted: HostId([2; 16]),
        group: GroupTag { id: 3, incarnation: 4 },
        boot: Boot { number: 5, word: 6 },
        epoch: 7,
        random: [8; 16],
        cluster_name: "Test Cluster".into(),
    }
}

fn welcome() -> Welcome {
    Welcome {
        version: 9,
        verdict: Verdict::OtherVersion,
        shard_count: 2,
        host_id: HostId([2; 16]),
        group: GroupTag::default(),
        boot: Boot { number: 5, word: 6 },
        epoch: 7,
        random: [9; 16],
        cluster_name: String::new(),
        proof: Some([7; 32]),
    }
}

fn is_whole_alone<T: PartialEq + std::fmt::Debug>(
    value: &T,
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<Option<(T, usize)>, GreetingError>,
) {
    let (found, length) = decode(bytes).expect("the bytes are right").expect("they are whole");
    assert_eq!((&found, length), (value, bytes.len()));
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).expect("it is the beginning").is_none(), "{length} bytes are not all");
    }
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        // A shorter or longer length makes it wait or fail; what it says is never believed.
        assert!(!matches!(decode(&damaged), Ok(Some(_))), "bit {bit}");
    }
}

#[test]
fn greetings_round_trip_and_refuse_changes() {
    is_whole_alone(&hello(), &hello().encode(), Hello::decode);
    for proof in [None, Some([7; 32])] {
        let welcome = Welcome { proof, ..welcome() };
        is_whole_alone(&welcome, &welcome.encode(), Welcome::decode);
        let confirmation = Confirmation { verdict: Verdict::NotProven, proof };
        is_whole_alone(&confirmation, &confirmation.encode(), Confirmation::decode);
    }
}

#[test]
fn what_is_no_greeting_is_known_by_its_first_byte() {
    assert!(matches!(Hello::decode(b"G"), Err(GreetingError::NotAPeer)));
    assert!(matches!(Hello::decode(b"helepeer\xff\xff\xff\xff\0\0\0\0"), Err(GreetingError::NotAPeer)));
}

#[test]
fn the_newest_common_version_is_spoken() {
    let common = |version_min, version| Hello { version, version_min, ..hello() }.common_version();
    assert_eq!(common(2, 2), Some(2));
    assert_eq!(common(2, 9), Some(2));
    assert_eq!(common(3, 9), None);
    assert_eq!(common(9, 2), None);
}

#[test]
fn a_hello_of_a_later_version_may_have_more() {
    let longer = |version: u16| {
        let mut body = hello().encode().split_off(HEAD);
        body[..2].copy_from_slice(&version.to_be_bytes());
        body.push(1);
        Hello::decode(&seal(&body))
    };
    assert!(matches!(longer(3), Ok(Some((Hello { version: 3, version_min: 2, .. }, _)))));
    assert!(matches!(longer(2), Err(GreetingError::NotAPeer)));
    assert!(matches!(longer(1), Err(GreetingError::Older { version: 1 })));
}

#[test]
fn a_truncated_proof_is_none() {
    let mut body = Confirmation { verdict: Verdict::Welcome, proof: Some([7; 32]) }.encode().split_off(HEAD);
    body.pop();
    let (found, _) = Confirmation::decode(&seal(&body)).expect("the bytes are right").expect("they are whole");
    assert_eq!(found, Confirmation::of(Verdict::Welcome));
}
