//! What the kernel grants a process.

use super::Check;
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};
use crate::procfs::{limit, print_limit};

pub(super) const CHECKS: [Check; 3] = [
    Check {
        area: Area::Limits,
        name: "open files",
        why: "Each connection is a file, and so are two components of each SSTable; at the limit no connection is taken and no flush succeeds.",
        judge: open_files,
    },
    Check {
        area: Area::Limits,
        name: "io_uring",
        why: "With it a shard enters the kernel once in a turn for all that it reads, writes and waits for.",
        judge: uring,
    },
    Check {
        area: Area::Limits,
        name: "linux-aio",
        why: "Where io_uring is refused it carries the commit log; each shard takes room for 128 requests of those that all processes share.",
        judge: linux_aio,
    },
];

fn open_files(host: &Host) -> Result<Judgement, NotKnown> {
    const PATH: &str = "/proc/self/limits";
    let limit = limit(&host.text(PATH)?, "Max open files")
        .ok_or_else(|| NotKnown::because(format!("{PATH} has no 'Max open files'")))?;
    let found = format!("{} (at most {})", print_limit(limit.soft), print_limit(limit.hard));
    let mend = "LimitNOFILE=1048576 in the service's unit, or ulimit -n 1048576 in the shell that starts it";
    Ok(match limit.soft {
        // Fewer than the 10,000 connections that are taken by default.
        Some(..10_000) => Judgement::warning(found, mend),
        Some(10_000..65_536) => Judgement::advice(found, mend),
        _ => Judgement::ok(found),
    })
}

fn uring(host: &Host) -> Result<Judgement, NotKnown> {
    let disabled = host.number("/proc/sys/kernel/io_uring_disabled").unwrap_or(0);
    match &host.answers.uring {
        Ok(()) => Ok(Judgement::ok("available, with the features that shards use")),
        Err(reason) if disabled > 0 => {
            let found = format!("refused by kernel.io_uring_disabled = {disabled} ({})", shown(reason));
            Ok(Judgement::advice(found, "sysctl -w kernel.io_uring_disabled=0"))
        }
        Err(reason) => {
            let found = format!("refused: {}", shown(reason));
            let is_forbidden = matches!(reason.as_str(), "Operation not permitted" | "Permission denied");
            let mend = match is_forbidden {
                true => {
                    "let the seccomp profile of the container allow io_uring_setup, io_uring_enter and io_uring_register"
                }
                false => "install a kernel of version 6.1 or newer",
            };
            Ok(Judgement::advice(found, mend))
        }
    }
}

fn linux_aio(host: &Host) -> Result<Judgement, NotKnown> {
    const REQUESTS_PER_SHARD: u64 = 128;
    let needs_it = host.answers.uring.is_err();
    if let Err(reason) = &host.answers.linux_aio {
        let found = format!("refused: {}", shown(reason));
        let mend = "let the container's seccomp profile allow io_setup, io_submit and io_getevents";
        return Ok(if needs_it {
            Judgement::warning(format!("{found}; worker threads will write the commit log"), mend)
        } else {
            Judgement::ok(format!("{found}; not needed with io_uring"))
        });
    }
    let (most, used) = (host.number("/proc/sys/fs/aio-max-nr")?, host.number("/proc/sys/fs/aio-nr")?);
    let shards = super::processors::allowed(host)?.len() as u64;
    let needed = shards.saturating_mul(REQUESTS_PER_SHARD);
    let left = most.saturating_sub(used);
    let found = format!("{left} of {most} requests free, {needed} needed");
    if needs_it && left < needed {
        return Ok(Judgement::warning(found, "sysctl -w fs.aio-max-nr=1048576"));
    }
    Ok(Judgement::ok(if needs_it { found } else { format!("{found}; not needed with io_uring") }))
}
