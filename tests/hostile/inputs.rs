//! The kinds of hostile input, each made from a seed.

use cql_protocol::Version;
use helenus_tests::{Random, query_frame, startup_frame};

use super::{frames, statements};

/// What was agreed on before the input begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing: the input is the first that the server hears.
    None,
    /// Version 4.
    V4,
    /// Version 4 with LZ4 bodies.
    V4Lz4,
    /// Version 3 with Snappy bodies.
    V3Snappy,
    /// Version 5: what follows are plain segments.
    V5,
    /// Version 5: what follows are LZ4 segments.
    V5Lz4,
}

impl Greeting {
    /// All of them.
    pub const ALL: [Greeting; 6] =
        [Greeting::None, Greeting::V4, Greeting::V4Lz4, Greeting::V3Snappy, Greeting::V5, Greeting::V5Lz4];

    /// The frames to send, each answered by one. The answer to a version 5 STARTUP is still unsegmented.
    pub fn frames(self) -> Vec<Vec<u8>> {
        match self {
            Greeting::None => vec![],
            Greeting::V4 => vec![startup_frame(Version::V4, None)],
            Greeting::V4Lz4 => vec![startup_frame(Version::V4, Some("lz4"))],
            Greeting::V3Snappy => vec![startup_frame(Version::V3, Some("snappy"))],
            Greeting::V5 => vec![startup_frame(Version::V5, None)],
            Greeting::V5Lz4 => vec![startup_frame(Version::V5, Some("lz4"))],
        }
    }
}

/// How the attacker goes on once the bytes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Sends and closes at once.
    Close,
    /// Sends, says that it is done, and reads what comes.
    Answered,
    /// Sends a few bytes at a time, with pauses.
    Dribble,
    /// Sends the same again and again and never reads.
    Deaf,
}

/// One attack.
#[derive(Debug)]
pub struct Input {
    /// What comes first.
    pub greeting: Greeting,
    /// The hostile bytes.
    pub bytes: Vec<u8>,
    /// How they are sent.
    pub manner: Manner,
}

/// The input of that number: kinds take turns, so that each is met often.
pub fn input(random: &mut Random, number: usize) -> Input {
    let greeting = *random.choose(&Greeting::ALL);
    let manner = match random.below(100) {
        0..=9 => Manner::Close,
        10 => Manner::Dribble,
        _ => Manner::Answered,
    };
    let answered = |greeting, bytes| Input { greeting, bytes, manner };
    match number % 16 {
        0 => {
            let count = random.below(4096);
            answered(greeting, random.bytes(count))
        }
        1 => answered(Greeting::V4, cut(random, Version::V4)),
        2 => answered(Greeting::V4, frames::with_lying_length(random)),
        3 => answered(Greeting::V5, frames::broken_segment(random, false)),
        4 => answered(Greeting::V5Lz4, frames::broken_segment(random, true)),
        5 => answered(Greeting::V4Lz4, frames::compression_bomb(random)),
        6 if random.below(2) == 0 => answered(Greeting::V3Snappy, frames::snappy_bomb(random)),
        6 => answered(Greeting::V5Lz4, frames::segment_bomb(random)),
        7 => answered(greeting, frames::with_wrong_opcode(random)),
        8 => answered(Greeting::V4, frames::lying_batch(random)),
        9 => answered(Greeting::V4, frames::lying_values(random)),
        10 | 11 => answered(Greeting::V4, query_frame(Version::V4, 1, &statements::hostile(random))),
        12 => answered(Greeting::V4, frames::mutated_request(random)),
        13 => answered(Greeting::V5, frames::mutated_request_in_segment(random)),
        14 => answered(Greeting::None, frames::strange_greeting(random)),
        _ if number % 256 == 15 => Input { greeting: Greeting::V4, bytes: deafening(), manner: Manner::Deaf },
        _ => answered(Greeting::V4, frames::many_at_once(random)),
    }
}

/// A good frame that ends early.
fn cut(random: &mut Random, version: Version) -> Vec<u8> {
    let mut frame = query_frame(version, 1, "SELECT what FROM hostile.t WHERE who = 1");
    frame.truncate(random.below(frame.len()));
    frame
}

/// Requests with large answers, for a client that does not read them.
fn deafening() -> Vec<u8> {
    (0..32).flat_map(|stream| query_frame(Version::V4, stream, "SELECT * FROM system_schema.columns")).collect()
}
