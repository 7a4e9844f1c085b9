//! The bytes of this crate's own messages: both greetings, ping and pong.

use topology::HostId;

use crate::{Hello, PING, PONG, Verdict, Welcome, write_frame};

/// As nodes of version 1 exchange them: `name: bytes in hexadecimal`. These bytes do not change while the version does not.
const MESSAGES: &str = include_str!("../testdata/frames.txt");

#[test]
fn each_message_has_the_bytes_that_version_1_gave_it() {
    let (host_id, wanted) = (HostId([1; 16]), HostId([2; 16]));
    let cluster_name = "Test Cluster".to_owned();
    let hello = Hello { version: 1, shard: 3, shard_count: 8, host_id, wanted, cluster_name: cluster_name.clone() };
    let welcome = Welcome { version: 1, verdict: Verdict::OtherVersion, shard_count: 2, host_id, cluster_name };
    let frame = |kind| {
        let mut out = Vec::new();
        write_frame(&mut out, 7, kind, |_| {}).expect("it is short");
        out
    };
    let messages =
        [("hello", hello.encode()), ("welcome", welcome.encode()), ("ping", frame(PING)), ("pong", frame(PONG))];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text: String = messages.iter().map(|(name, bytes)| format!("{name}: {}\n", hex(bytes))).collect();
    assert_eq!(text, MESSAGES);
}
