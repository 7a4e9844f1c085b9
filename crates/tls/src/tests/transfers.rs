//! Transfers through a session, however its bytes arrive.

use super::*;
use crate::{OUTPUT_BYTES_MAX, Versions};

const ALL_VERSIONS: [Versions; 3] = [Versions::Both, Versions::Tls12, Versions::Tls13];

fn options(versions: Versions) -> Options {
    Options { versions, ..Options::default() }
}

#[test]
fn both_ends_meet_and_talk_in_each_version_and_by_single_bytes() {
    let authority = Authority::new("one");
    for versions in ALL_VERSIONS {
        for step in [1, 7, usize::MAX] {
            let identity = member(&authority, options(versions));
            let mut dialler = identity.dial(NOW, address(ADDRESS));
            let mut listener = identity.accept(NOW, address(ADDRESS));
            assert!(dialler.has_output() && !listener.has_output(), "the dialler begins");
            assert_eq!(shake(&mut dialler, &mut listener, step), [Ok(()), Ok(())], "{versions:?}");
            assert!(!dialler.is_handshaking() && !listener.is_handshaking());
            assert_eq!(dialler.write(b"question"), Ok(8));
            carry(&mut dialler, &mut listener, step).expect("it is what was sent");
            assert_eq!(read_all(&mut listener), b"question");
            assert_eq!(listener.write(b"answer"), Ok(6));
            carry(&mut listener, &mut dialler, step).expect("it is what was sent");
            assert_eq!(read_all(&mut dialler), b"answer");
        }
    }
}

#[test]
fn the_bytes_on_the_wire_are_not_the_plain_text() {
    let (mut dialler, _) = pair(&member(&Authority::new("one"), Options::default()));
    let plain = [b'x'; 1000];
    assert_eq!(dialler.write(&plain), Ok(1000));
    let mut sent = Vec::new();
    dialler.send(&mut sent);
    assert!(sent.len() > plain.len() && !sent.windows(8).any(|window| window == b"xxxxxxxx"));
}

#[test]
fn a_large_transfer_goes_through_small_buffers_in_order() {
    for versions in ALL_VERSIONS {
        let (mut dialler, mut listener) = pair(&member(&Authority::new("one"), options(versions)));
        let plain: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
        let (mut written, mut received) = (0, Vec::new());
        while received.len() < plain.len() {
            written += dialler.write(&plain[written..]).expect("the session goes on");
            let mut wire = Vec::new();
            dialler.send(&mut wire);
            assert!(wire.len() <= OUTPUT_BYTES_MAX + 4096, "{} bytes wait to be sent", wire.len());
            let mut used = 0;
            while used < wire.len() {
                let taken = listener.receive(&wire[used..]).expect("it is what was sent");
                used += taken;
                let mut piece = Vec::with_capacity(1000);
                let read = listener.read(&mut piece);
                assert!(taken + read > 0, "it goes on");
                received.extend_from_slice(&piece);
            }
            let mut piece = Vec::with_capacity(1 << 17);
            listener.read(&mut piece);
            received.extend_from_slice(&piece);
        }
        assert!(received == plain, "all bytes arrive in order");
    }
}

#[test]
fn a_session_takes_nothing_more_before_its_plain_text_is_read_nor_beyond_its_bound() {
    let (mut dialler, mut listener) = pair(&member(&Authority::new("one"), Options::default()));
    let plain = vec![1; 1 << 20];
    let taken = dialler.write(&plain).expect("the session goes on");
    assert!((1..=OUTPUT_BYTES_MAX).contains(&taken), "{taken}");
    assert_eq!(dialler.write(&plain[taken..]), Ok(0), "there is no room");
    let mut wire = Vec::new();
    dialler.send(&mut wire);
    let fed = listener.receive(&wire).expect("it is what was sent");
    assert!(fed < wire.len(), "a part of {} bytes is enough", wire.len());
    assert_eq!(listener.receive(&wire[fed..]), Ok(0), "what was received is to be read first");
    assert!(!read_all(&mut listener).is_empty());
    assert!(listener.receive(&wire[fed..]).expect("it is what was sent") > 0);
}

#[test]
fn an_end_in_order_differs_from_a_cut_one() {
    let (mut dialler, mut listener) = pair(&member(&Authority::new("one"), Options::default()));
    assert_eq!(dialler.write(b"last"), Ok(4));
    let mut wire = Vec::new();
    dialler.send(&mut wire);
    // Cut anywhere, the record gives nothing and the session is not finished.
    assert_eq!(listener.receive(&wire[..wire.len() - 1]), Ok(wire.len() - 1));
    assert_eq!((read_all(&mut listener), listener.is_finished()), (Vec::new(), false));
    dialler.close();
    let mut end = wire.split_off(wire.len() - 1);
    dialler.send(&mut end);
    let taken = listener.receive(&end).expect("it is what was sent");
    assert!(!listener.is_finished(), "something is to be read");
    assert_eq!(read_all(&mut listener), b"last");
    assert_eq!(listener.receive(&end[taken..]), Ok(end.len() - taken));
    assert!(listener.is_finished());
    assert_eq!(listener.receive(b"anything"), Ok(8), "what follows the end is ignored");
    assert_eq!(read_all(&mut listener), b"");
}

#[test]
fn a_changed_byte_ends_the_session_and_nothing_of_its_record_is_given() {
    let (mut dialler, mut listener) = pair(&member(&Authority::new("one"), Options::default()));
    assert_eq!(dialler.write(b"question"), Ok(8));
    let mut wire = Vec::new();
    dialler.send(&mut wire);
    *wire.last_mut().expect("there are bytes") ^= 1;
    assert!(matches!(listener.receive(&wire), Err(SessionError::Damaged { .. })));
    assert_eq!(read_all(&mut listener), b"");
    assert!(matches!(listener.receive(b"more"), Err(SessionError::Damaged { .. })), "it stays so");
}

#[test]
fn new_material_is_for_new_sessions_and_running_ones_go_on() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let identity = member(&old, Options::default());
    let (mut dialler, mut listener) = pair(&identity);
    let material = Material::parse(&pems(&new.issue(&[ADDRESS], VALID), &new.pem)).expect("the PEM is right");
    identity.replace(&material);
    assert_eq!(dialler.write(b"question"), Ok(8));
    carry(&mut dialler, &mut listener, usize::MAX).expect("it is what was sent");
    assert_eq!(read_all(&mut listener), b"question");
    // A new session is of the new authority: one of the old is a stranger to it.
    let (mut dialler, mut listener) =
        (member(&old, Options::default()).dial(NOW, address(ADDRESS)), identity.accept(NOW, address(ADDRESS)));
    assert!(shake(&mut dialler, &mut listener, usize::MAX).iter().all(Result::is_err));
    pair(&identity);
}

#[test]
fn a_session_takes_no_plain_text_before_its_handshake_nor_after_it_has_failed() {
    let identity = member(&Authority::new("one"), Options::default());
    let mut early = identity.accept(NOW, address(ADDRESS));
    assert_eq!(early.write(b"early"), Ok(0), "the other end is not proven yet");
    let (mut dialler, mut listener) = pair(&identity);
    assert_eq!(dialler.write(b"question"), Ok(8));
    let mut wire = Vec::new();
    dialler.send(&mut wire);
    *wire.last_mut().expect("there are bytes") ^= 1;
    let damaged = listener.receive(&wire).expect_err("a byte was changed");
    assert_eq!(listener.write(b"answer"), Err(damaged.clone()));
    assert_eq!(listener.keying_material(b"label"), Err(damaged));
}

#[test]
fn keying_material_is_of_both_ends_one_session_and_one_label() {
    let authority = Authority::new("one");
    for versions in ALL_VERSIONS {
        let identity = member(&authority, options(versions));
        assert!(identity.accept(NOW, address(ADDRESS)).keying_material(b"label").is_err(), "nothing is agreed yet");
        let [(one_dialler, one_listener), (other, _)] = [pair(&identity), pair(&identity)];
        let material = one_dialler.keying_material(b"label").expect("both ends are proven");
        assert_eq!(one_listener.keying_material(b"label"), Ok(material), "{versions:?}");
        assert_ne!(one_listener.keying_material(b"other"), Ok(material), "{versions:?}");
        assert_ne!(other.keying_material(b"label"), Ok(material), "{versions:?}");
    }
}
