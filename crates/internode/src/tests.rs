//! The bytes of this crate's own messages: all greetings, ping and pong.

use topology::HostId;

use crate::handshake::Confirmation;
use crate::{Boot, CANCEL, GroupTag, Head, Hello, PING, PONG, Purpose, Verdict, Welcome, write_frame};

/// As nodes of version 2 exchange them: `name: bytes in hexadecimal`. These bytes do not change while the version does not.
const MESSAGES: &str = include_str!("../testdata/frames.txt");

#[test]
fn each_message_has_the_bytes_that_version_2_gave_it() {
    let (host_id, wanted) = (HostId([1; 16]), HostId([2; 16]));
    let cluster_name = "Test Cluster".to_owned();
    let (group, boot, epoch) = (GroupTag { id: 0x77, incarnation: 5 }, Boot { number: 6, word: 0x88 }, 9);
    let hello = Hello {
        version: 2,
        version_min: 2,
        purpose: Purpose::Requests,
        has_secret: true,
        compresses: true,
        shard: 3,
        shard_count: 8,
        host_id,
        wanted,
        group,
        boot,
        epoch,
        random: [0xaa; 16],
        cluster_name: cluster_name.clone(),
    };
    let random = [0xbb; 16];
    let welcome = Welcome {
        version: 2,
        verdict: Verdict::OtherGroup,
        shard_count: 2,
        host_id,
        group,
        boot,
        epoch,
        random,
        cluster_name,
        proof: None,
    };
    let proven = Welcome { verdict: Verdict::Welcome, proof: Some([0xcc; 32]), ..welcome.clone() };
    let confirmation = Confirmation { verdict: Verdict::Welcome, proof: Some([0xdd; 32]) };
    let frame = |kind, body: &[u8]| {
        let mut out = Vec::new();
        write_frame(
            &mut out,
            &Head { number: 7, kind, is_traced: true, epoch: 9, deadline: Some(0x1234) },
            true,
            |out| out.extend_from_slice(body),
        )
        .expect("it is short");
        out
    };
    let messages = [
        ("hello", hello.encode()),
        ("welcome", welcome.encode()),
        ("welcome with a proof", proven.encode()),
        ("refusal of version 1", welcome.encode_for_version_1()),
        ("confirmation with a proof", confirmation.encode()),
        ("confirmation", Confirmation::of(Verdict::NotProven).encode()),
        ("ping", frame(PING, &[])),
        ("pong", frame(PONG, &[0, 0, 0, 5])),
        ("cancel", frame(CANCEL, &[])),
        ("compressed", frame(1, &[7; 2000])),
    ];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text: String = messages.iter().map(|(name, bytes)| format!("{name}: {}\n", hex(bytes))).collect();
    assert_eq!(text, MESSAGES);
}
