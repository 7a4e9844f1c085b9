//! The whole suite once more where a seccomp filter refuses io_uring, as Docker's default profile does, and the choice of
//! a reactor there. The filter is for a process of its own: this program again, which cannot take the filter off.
//!
//! Soundness: `prctl` is given plain numbers and a filter that lives throughout the call, between fork and exec, where it
//! takes no memory and no lock.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

use runtime::{Options, ReactorKind, Runtime};

/// Which calls are refused to this process: set for the inner run.
const REFUSED: &str = "HELENUS_CONTRACT_REFUSED";

/// Has the command run under a filter that answers EPERM to each of these calls.
fn refuse(command: &mut Command, calls: &[libc::c_long]) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (index, call) in calls.iter().enumerate() {
        // To the refusal, which stands behind the rest of the comparisons and the permission.
        let jt = u8::try_from(calls.len() - index).expect("a few calls");
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        filter.push(libc::sock_filter { code, jt, jf: 0, k: u32::try_from(*call).expect("a call's number") });
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    filter.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: plain numbers.
        let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        if result != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the program and its filter live throughout the call.
        match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: `install` makes two system calls and takes neither memory nor locks.
    unsafe { command.pre_exec(install) };
}

/// Runs tests of this program, by the start of their name, where the calls are refused.
fn run_where_refused(name: &str, calls: &[libc::c_long], tests: &str) {
    if std::env::var_os(REFUSED).is_some() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([tests, "--test-threads=2"]).env(REFUSED, name);
    refuse(&mut command, calls);
    let output = command.output().expect("the filter can be installed and this program started again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "where {name} is refused:\n{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("running 0 tests"), "{said}");
}

const URING: [libc::c_long; 3] = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

#[test]
fn the_suite_passes_where_io_uring_is_refused() {
    run_where_refused("io_uring", &URING, "");
}

#[test]
fn files_work_where_aio_is_refused_too() {
    let calls = [&URING[..], &[libc::SYS_io_setup]].concat();
    run_where_refused("io_uring and linux-aio", &calls, "files::epoll::");
    run_where_refused("io_uring and linux-aio", &calls, "refusal::what_is_there_is_chosen");
}

/// What runs if nothing is forced, or epoll is.
fn chosen(reactor: Option<ReactorKind>) -> &'static str {
    let options = Options { reactor, ..Options::default() };
    runtime::run(options, vec![|rt: Runtime| async move { rt.reactor_name() }]).expect("something can be used")[0]
}

#[test]
fn what_is_there_is_chosen() {
    let forced = Options { reactor: Some(ReactorKind::Uring), ..Options::default() };
    let uring = runtime::run(forced, vec![|_: Runtime| async {}]);
    match std::env::var(REFUSED).as_deref() {
        Ok("io_uring") => {
            let error = uring.expect_err("it is refused").to_string();
            assert!(error.starts_with("reactor uring is not available: Operation not permitted"), "{error}");
            assert_eq!((chosen(None), chosen(Some(ReactorKind::Epoll))), ("epoll+aio", "epoll+aio"));
        }
        Ok(_) => assert_eq!((chosen(None), chosen(Some(ReactorKind::Epoll))), ("epoll", "epoll")),
        Err(_) => {
            assert_eq!(chosen(None), if uring.is_ok() { "uring" } else { "epoll+aio" });
            assert_eq!(chosen(Some(ReactorKind::Epoll)), "epoll+aio");
        }
    }
    assert_eq!(chosen(Some(ReactorKind::EpollWorkers)), "epoll");
}
