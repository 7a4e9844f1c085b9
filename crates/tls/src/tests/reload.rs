//! Files of certificates that change while they are in use, on a simulated machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::sim::{World, WorldOptions};
use runtime::{AlignedBuf, OpenOptions, Runtime};

use super::*;
use crate::{Credentials, OutsideCredentials, ServerCredentials, ServerOptions, Source, Sources};

const CERTIFICATE: &str = "/tmp/node.crt";
const KEY: &str = "/tmp/node.key";
const TRUSTED: &str = "/tmp/ca.crt";
/// Longer than it takes until a change counts.
const A_WHILE: Duration = Duration::from_secs(10);

fn with_machine<F, Fut>(main: F)
where
    F: FnOnce(Runtime) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(7));
    let host = world.add_host(&[address("10.0.0.1")]);
    world.with_disk(host, |disk| disk.prepare_directory("/tmp"));
    let started = world.start(host, false, vec![main]);
    world.run_until(|_| started.is_over(), Duration::from_secs(600));
    assert!(started.is_over(), "the test's main ends");
}

async fn write(runtime: &Runtime, path: &str, text: &str) {
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = runtime.open(Path::new(path), options).await.expect("the folder is there");
    let mut buffer = AlignedBuf::with_capacity(text.len());
    buffer.extend_from_slice(text.as_bytes());
    file.write_at(buffer, 0).await.0.expect("the disk works");
}

async fn write_all(runtime: &Runtime, issued: &Issued, trusted: &str) {
    write(runtime, CERTIFICATE, &issued.certificate).await;
    write(runtime, KEY, &issued.key).await;
    write(runtime, TRUSTED, trusted).await;
}

async fn start(runtime: &Runtime, issued: &Issued, trusted: &str) -> Identity {
    write_all(runtime, issued, trusted).await;
    let file = |path: &str| Source::File(PathBuf::from(path));
    let sources = Sources { certificate: file(CERTIFICATE), key: file(KEY), trusted: Some(file(TRUSTED)) };
    let pems = sources.read(runtime).await.expect("the files are there");
    Credentials::new(sources, pems, Options::default()).expect("the PEM is right").identity(runtime)
}

/// True if the identity is one of the authority.
fn is_of(runtime: &Runtime, identity: &Identity, authority: &Authority) -> bool {
    let now = runtime.wall_clock_micros();
    let mut dialler = member(authority, Options::default()).dial(now, address(ADDRESS));
    let mut listener = identity.accept(now, address(ADDRESS));
    shake(&mut dialler, &mut listener, usize::MAX).iter().all(Result::is_ok)
}

#[test]
fn changed_files_are_used_once_all_are_exchanged() {
    with_machine(async |runtime| {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        let identity = start(&runtime, &old.issue(&[ADDRESS], VALID), &old.pem).await;
        assert!(is_of(&runtime, &identity, &old));
        let next = new.issue(&[ADDRESS], VALID);
        // As long as the key is not that of the certificate, the old pair stays, however long that takes.
        write(&runtime, CERTIFICATE, &next.certificate).await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&runtime, &identity, &old));
        write(&runtime, KEY, &next.key).await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&runtime, &identity, &old), "its own trusted certificates would refuse it");
        write(&runtime, TRUSTED, &new.pem).await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&runtime, &identity, &new) && !is_of(&runtime, &identity, &old));
    });
}

#[test]
fn a_reload_that_is_asked_for_takes_the_files_at_once() {
    with_machine(async |runtime| {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        let identity = start(&runtime, &old.issue(&[ADDRESS], VALID), &old.pem).await;
        write_all(&runtime, &new.issue(&[ADDRESS], VALID), &new.pem).await;
        assert!(is_of(&runtime, &identity, &old));
        identity.reload();
        // Less than the time between two looks.
        runtime.sleep(Duration::from_secs(1)).await;
        assert!(is_of(&runtime, &identity, &new));
    });
}

#[test]
fn a_server_s_files_are_followed_and_an_expired_certificate_is_not_taken() {
    with_machine(async |runtime| {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        write_all(&runtime, &old.issue(&[ADDRESS], VALID), "").await;
        let file = |path: &str| Source::File(PathBuf::from(path));
        let sources = Sources { certificate: file(CERTIFICATE), key: file(KEY), trusted: None };
        let pems = sources.read(&runtime).await.expect("the files are there");
        let credentials = ServerCredentials::new(sources, pems, ServerOptions::default()).expect("the PEM is right");
        let identity = credentials.identity(&runtime);
        let is_of = |authority: &Authority| {
            let now = runtime.wall_clock_micros();
            let mut client = member(authority, Options::default()).dial(now, address(ADDRESS));
            let mut served = identity.accept(now);
            shake(&mut client, &mut served, usize::MAX).iter().all(Result::is_ok)
        };
        assert!(is_of(&old));
        write_all(&runtime, &new.issue(&[ADDRESS], EXPIRED), "").await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&old), "an expired certificate is not taken");
        write_all(&runtime, &new.issue(&[ADDRESS], VALID), "").await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&new) && !is_of(&old));
    });
}

#[test]
fn the_files_of_a_thread_beside_the_shards_are_followed_and_counted() {
    with_machine(async |runtime| {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        write_all(&runtime, &old.issue(&[ADDRESS], VALID), "").await;
        let file = |path: &str| Source::File(PathBuf::from(path));
        let sources = Sources { certificate: file(CERTIFICATE), key: file(KEY), trusted: None };
        let pems = sources.read(&runtime).await.expect("the files are there");
        let credentials = OutsideCredentials::new(sources, pems, ServerOptions::default()).expect("the PEM is right");
        let (identity, files) = (credentials.identity(), credentials.follow(&runtime));
        let is_of = |authority: &Authority| {
            let now = runtime.wall_clock_micros();
            let mut client = member(authority, Options::default()).dial(now, address(ADDRESS));
            let mut served = Session::accept(identity.context());
            shake(&mut client, &mut served, usize::MAX).iter().all(Result::is_ok)
        };
        assert!(is_of(&old));
        let first = files.figures();
        assert_eq!((first.reloads, first.failures), (0, 0));
        // 2090-01-01, when all of the tests' certificates end.
        assert_eq!(first.not_after, Some(3_786_912_000));
        write_all(&runtime, &new.issue(&[ADDRESS], EXPIRED), "").await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&old), "an expired certificate is not taken");
        assert_eq!((files.figures().reloads, files.figures().failures), (0, 1), "one reason counts once");
        write_all(&runtime, &new.issue(&[ADDRESS], (2020, 2080)), "").await;
        files.reload();
        runtime.sleep(Duration::from_secs(1)).await;
        assert!(is_of(&new) && !is_of(&old));
        let last = files.figures();
        assert_eq!((last.reloads, last.failures), (1, 1));
        assert!(last.not_after < first.not_after && last.not_after.is_some());
    });
}

#[test]
fn bad_files_change_nothing_and_good_ones_after_them_do() {
    with_machine(async |runtime| {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        let identity = start(&runtime, &old.issue(&[ADDRESS], VALID), &old.pem).await;
        write_all(&runtime, &new.issue(&[ADDRESS], EXPIRED), &new.pem).await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&runtime, &identity, &old), "an expired certificate is not taken");
        for bad in ["", "hello", "-----BEGIN CERTIFICATE-----\n"] {
            write(&runtime, TRUSTED, bad).await;
            runtime.sleep(A_WHILE).await;
            assert!(is_of(&runtime, &identity, &old), "{bad:?}");
        }
        runtime.remove_file(Path::new(KEY)).await.expect("it is there");
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&runtime, &identity, &old), "a file is missing");
        write_all(&runtime, &new.issue(&[ADDRESS], VALID), &new.pem).await;
        runtime.sleep(A_WHILE).await;
        assert!(is_of(&runtime, &identity, &new));
    });
}

#[test]
fn a_file_that_is_too_long_is_refused_by_its_name_without_being_read() {
    with_machine(async |runtime| {
        write(&runtime, CERTIFICATE, "").await;
        let options = OpenOptions { write: true, ..OpenOptions::default() };
        let file = runtime.open(Path::new(CERTIFICATE), options).await.expect("it is there");
        // Longer than the runtime would read.
        for length in [crate::PEM_BYTES_MAX + 1, 2 * runtime::READ_FILE_BYTES_MAX] {
            file.set_len(length).await.expect("the disk has room");
            let source = Source::File(PathBuf::from(CERTIFICATE));
            let sources = Sources { certificate: source.clone(), key: source.clone(), trusted: Some(source) };
            let refused = sources.read(&runtime).await.expect_err("it is too long").to_string();
            assert_eq!(refused, "/tmp/node.crt has more than 1048576 bytes");
        }
    });
}

#[test]
fn a_file_of_other_bytes_and_the_same_length_is_a_change() {
    with_machine(async |runtime| {
        let old = Authority::new("old");
        let first = old.issue(&[ADDRESS], VALID);
        let identity = start(&runtime, &first, &old.pem).await;
        let other = Authority::new("new");
        // Both authorities are trusted from here on, and only one of them later.
        write(&runtime, TRUSTED, &format!("{}{}", old.pem, other.pem)).await;
        runtime.sleep(A_WHILE).await;
        let both = identity.clone();
        assert!(is_of(&runtime, &both, &old));
        write(&runtime, TRUSTED, &format!("{}{}", old.pem, "#".repeat(other.pem.len()))).await;
        let stranger = |runtime: &Runtime| {
            let now = runtime.wall_clock_micros();
            let guest = crate::tests::identity(&other.issue(&[ADDRESS], VALID), &old.pem, Options::default());
            let (mut dialler, mut listener) = (guest.dial(now, address(ADDRESS)), both.accept(now, address(ADDRESS)));
            shake(&mut dialler, &mut listener, usize::MAX).iter().all(Result::is_ok)
        };
        assert!(stranger(&runtime), "it is trusted until the change counts");
        runtime.sleep(A_WHILE).await;
        assert!(!stranger(&runtime) && is_of(&runtime, &both, &old));
    });
}
