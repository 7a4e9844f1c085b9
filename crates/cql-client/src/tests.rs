//! Greetings and replies, cut at any byte.

use cql_protocol::segment::{self, Codec};
use cql_protocol::{
    Consistency, ErrorBody, Flags, Query, QueryParams, Request, Response, ResultBody, Version, write_auth_success,
    write_authenticate, write_error, write_ready, write_void,
};

use client::Login;

use super::*;

fn ada() -> Login {
    Login { username: "ada".to_owned(), password: "hidden".to_owned() }
}

/// A dialog to which STARTUP was answered with these frames.
fn answered(version: Version, answer: &[u8]) -> (Dialog, Reply) {
    let mut dialog = Dialog::new(version);
    dialog.greet("a test");
    assert!(!dialog.take_outgoing().is_empty());
    dialog.received(answer).expect("frames are plain");
    let reply = dialog.next_reply().expect("it is whole").expect("it is there");
    (dialog, reply)
}

#[test]
fn requests_of_version_5_are_in_segments_after_the_greeting() {
    for (version, is_segmented) in [(Version::V4, false), (Version::V5, true)] {
        let mut ready = Vec::new();
        write_ready(&mut ready, version, 0);
        let (mut dialog, reply) = answered(version, &ready);
        assert_eq!(dialog.greeted(&reply, None).expect("ready"), Step::Ready);
        let params = QueryParams::new(Consistency::One);
        let request = Request::Query(Query { text: "SELECT", params });
        dialog.request(&request, 7, Flags::TRACING);
        let sent = dialog.take_outgoing();
        let mut frames = Vec::new();
        match is_segmented {
            true => drop(segment::decode(&sent, Codec::Plain, &mut frames).expect("a segment")),
            false => frames = sent,
        }
        assert_eq!(frames[1], Flags::TRACING.0);
        assert_eq!(frames[2..4], [0, 7]);
    }
}

#[test]
fn replies_are_cut_wherever_the_bytes_are() {
    let mut ready = Vec::new();
    write_ready(&mut ready, Version::V5, 0);
    let (mut dialog, reply) = answered(Version::V5, &ready);
    dialog.greeted(&reply, None).expect("ready");
    let mut frames = Vec::new();
    for stream in 0..3 {
        write_void(&mut frames, Version::V5, stream);
    }
    let mut segments = Vec::new();
    segment::encode_frames(&frames, Codec::Plain, &mut segments);
    let mut streams = Vec::new();
    for byte in segments {
        dialog.received(&[byte]).expect("a part of a segment");
        while let Some(reply) = dialog.next_reply().expect("a reply") {
            assert!(matches!(reply.decode().expect("a result").1, Response::Result(ResultBody::Void)));
            streams.push(reply.stream());
        }
    }
    assert_eq!(streams, [0, 1, 2]);
}

#[test]
fn a_login_is_sent_when_it_is_asked_for_and_there_is_one() {
    let mut asked = Vec::new();
    write_authenticate(&mut asked, Version::V4, 0, "org.apache.cassandra.auth.PasswordAuthenticator");
    let (mut dialog, reply) = answered(Version::V4, &asked);
    assert!(matches!(dialog.greeted(&reply, None), Err(DialogError::LoginRequired { .. })));
    assert!(dialog.take_outgoing().is_empty());

    let (mut dialog, reply) = answered(Version::V4, &asked);
    assert_eq!(dialog.greeted(&reply, Some(&ada())).expect("a login"), Step::Send);
    assert!(dialog.take_outgoing().ends_with(b"\0ada\0hidden"));
    let mut success = Vec::new();
    write_auth_success(&mut success, Version::V4, 0, None);
    dialog.received(&success).expect("plain");
    let reply = dialog.next_reply().expect("whole").expect("there");
    assert_eq!(dialog.greeted(&reply, Some(&ada())).expect("logged in"), Step::Ready);
}

#[test]
fn a_refusal_is_the_servers_error() {
    let mut refused = Vec::new();
    write_error(&mut refused, Version::V4, 0, &ErrorBody::overloaded("too many"));
    let (mut dialog, reply) = answered(Version::V4, &refused);
    let error = dialog.greeted(&reply, None).expect_err("refused").to_string();
    assert!(error.contains("too many"), "{error}");
}
