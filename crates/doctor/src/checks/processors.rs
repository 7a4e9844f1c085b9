//! Processors: how many a node gets, how fast they are, and whether they stay its own.

use super::{Check, counted};
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};
use crate::procfs::{Controller, colon_field, cpu_list, folders, print_cpu_list};

pub(super) const CHECKS: [Check; 6] = [
    Check {
        area: Area::Processors,
        name: "processors",
        why: "Helenus starts one shard, pinned, on each processor of its affinity mask.",
        judge: processors,
    },
    Check {
        area: Area::Processors,
        name: "threads per core",
        why: "A shard often waits for memory, and another one on the same core works meanwhile: the published tuning has all threads on.",
        judge: threads_per_core,
    },
    Check {
        area: Area::Processors,
        name: "frequency governor",
        why: "A shard sleeps whenever it has nothing to do, so a governor that follows the load makes it wake up on a slow processor.",
        judge: governor,
    },
    Check {
        area: Area::Processors,
        name: "turbo",
        why: "A shard is one thread, which is as fast as its processor's frequency.",
        judge: turbo,
    },
    Check {
        area: Area::Processors,
        name: "cpu quota",
        why: "When a quota is used up all shards stand still until its period ends, usually tens of milliseconds.",
        judge: quota,
    },
    Check {
        area: Area::Processors,
        name: "instructions",
        why: "Each record of the log and each chunk that is read has a CRC-32, which takes many times longer without instructions for it.",
        judge: instructions,
    },
];

/// The processors that this process may run on.
pub(super) fn allowed(host: &Host) -> Result<Vec<usize>, NotKnown> {
    const PATH: &str = "/proc/self/status";
    let status = host.text(PATH)?;
    let list = colon_field(&status, "Cpus_allowed_list").unwrap_or_default();
    cpu_list(list).filter(|cpus| !cpus.is_empty()).ok_or_else(|| NotKnown::unexpected(PATH, list))
}

fn processors(host: &Host) -> Result<Judgement, NotKnown> {
    const ONLINE: &str = "/sys/devices/system/cpu/online";
    let allowed = allowed(host)?;
    let text = host.value(ONLINE)?;
    let online = cpu_list(&text).ok_or_else(|| NotKnown::unexpected(ONLINE, &text))?;
    let shards = counted(allowed.len(), "shard");
    if allowed.len() >= online.len() {
        return Ok(Judgement::ok(format!("all {} ({}): {shards}", online.len(), print_cpu_list(&allowed))));
    }
    Ok(Judgement::ok(format!("{} of {} ({}): {shards}", allowed.len(), online.len(), print_cpu_list(&allowed))))
}

fn threads_per_core(host: &Host) -> Result<Judgement, NotKnown> {
    let control = host.value("/sys/devices/system/cpu/smt/control").unwrap_or_default();
    let allowed = allowed(host)?;
    let first = allowed[0];
    let path = format!("/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list");
    let text = host.value(&path)?;
    let threads =
        cpu_list(&text).filter(|cpus| cpus.contains(&first)).ok_or_else(|| NotKnown::unexpected(&path, &text))?;
    if control == "off" {
        let command = if host.answers.architecture.starts_with("powerpc") {
            "ppc64_cpu --smt=on"
        } else {
            "echo on > /sys/devices/system/cpu/smt/control"
        };
        return Ok(Judgement::advice("switched off, although the processor supports them", command));
    }
    let usable = threads.iter().filter(|cpu| allowed.contains(cpu)).count();
    Ok(match threads.len() {
        threads if usable < threads => Judgement::ok(format!("{threads}, of which {usable} may be used")),
        1 => Judgement::ok(if control == "forceoff" { "1, switched off by the kernel's command line" } else { "1" }),
        threads => Judgement::ok(format!("{threads}, so {threads} shards share a core")),
    })
}

fn governor(host: &Host) -> Result<Judgement, NotKnown> {
    const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
    let frequencies = |reason: NotKnown| match reason {
        NotKnown::Absent { .. } => {
            NotKnown::because("the kernel does not control frequencies, as is usual in a virtual machine")
        }
        other => other,
    };
    let names = host.names(POLICIES).map_err(frequencies)?;
    let policies: Vec<String> = names.into_iter().filter(|name| name.starts_with("policy")).collect();
    let Some(first) = policies.first() else {
        return Err(frequencies(NotKnown::Absent { path: POLICIES.to_owned() }));
    };
    let driver = host.value(&format!("{POLICIES}/{first}/scaling_driver")).unwrap_or_default();
    let mut governors = Vec::new();
    for policy in &policies {
        governors.push(host.value(&format!("{POLICIES}/{policy}/scaling_governor"))?);
    }
    let others: Vec<&String> = governors.iter().filter(|governor| *governor != "performance").collect();
    let Some(other) = others.first() else {
        return Ok(Judgement::ok(format!("performance for {}", counted(governors.len(), "frequency domain"))));
    };
    let with = if driver.is_empty() { String::new() } else { format!(" (driver {})", shown(&driver)) };
    let found =
        format!("{} for {} of {}{with}", shown(other), others.len(), counted(governors.len(), "frequency domain"));
    let mend = "cpupower frequency-set --governor performance";
    // These drivers follow the load under the name of powersave too; with others it is the lowest frequency there is.
    let follows = driver.starts_with("intel_pstate") || driver.starts_with("amd-pstate");
    Ok(match other.as_str() {
        "powersave" if follows => Judgement::advice(found, mend),
        "schedutil" | "ondemand" => Judgement::advice(found, mend),
        _ => Judgement::warning(found, mend),
    })
}

fn turbo(host: &Host) -> Result<Judgement, NotKnown> {
    const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
    for (path, on, command) in [(NO_TURBO, 0, format!("echo 0 > {NO_TURBO}")), (BOOST, 1, format!("echo 1 > {BOOST}"))]
    {
        match host.number(path) {
            Ok(value) if value == on => return Ok(Judgement::ok("on")),
            Ok(value) if value <= 1 => return Ok(Judgement::advice("off", command)),
            Ok(value) => return Err(NotKnown::unexpected(path, &value.to_string())),
            Err(NotKnown::Absent { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Err(NotKnown::because("the kernel has no switch for it"))
}

fn quota(host: &Host) -> Result<Judgement, NotKnown> {
    let cgroups = host.text("/proc/self/cgroup")?;
    let shards = allowed(host)?.len();
    let mut least: Option<f64> = None;
    for (folder, is_second) in folders(&cgroups, Controller::Cpu) {
        let processors = if is_second { quota_of_second(host, &folder)? } else { quota_of_first(host, &folder)? };
        least = [least, processors].into_iter().flatten().reduce(f64::min);
    }
    let Some(processors) = least else { return Ok(Judgement::ok("none")) };
    let found = format!("{processors:.1} processors for {}", counted(shards, "shard"));
    if processors >= shards as f64 {
        return Ok(Judgement::ok(found));
    }
    let whole = (processors.floor() as usize).max(1);
    let flags = format!(
        "assign whole processors instead (docker run --cpuset-cpus 0-{}), or start with --smp {whole}",
        whole.max(2) - 1
    );
    Ok(Judgement::warning(found, flags))
}

/// `cpu.max`: a quota, or `max`, and a period.
fn quota_of_second(host: &Host, folder: &str) -> Result<Option<f64>, NotKnown> {
    let path = format!("{folder}/cpu.max");
    let text = match host.value(&path) {
        Ok(text) => text,
        Err(NotKnown::Absent { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let mut words = text.split_whitespace();
    match (words.next(), words.next().and_then(|period| period.parse::<u64>().ok())) {
        (Some("max"), _) => Ok(None),
        (Some(quota), Some(period)) if period > 0 => match quota.parse::<u64>() {
            Ok(quota) => Ok(Some(quota as f64 / period as f64)),
            Err(_) => Err(NotKnown::unexpected(&path, &text)),
        },
        _ => Err(NotKnown::unexpected(&path, &text)),
    }
}

/// `cpu.cfs_quota_us`, -1 for none, and `cpu.cfs_period_us`.
fn quota_of_first(host: &Host, folder: &str) -> Result<Option<f64>, NotKnown> {
    let path = format!("{folder}/cpu.cfs_quota_us");
    let text = match host.value(&path) {
        Ok(text) => text,
        Err(NotKnown::Absent { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let quota: i64 = text.parse().map_err(|_| NotKnown::unexpected(&path, &text))?;
    if quota < 0 {
        return Ok(None);
    }
    let period_path = format!("{folder}/cpu.cfs_period_us");
    let period = host.number(&period_path)?;
    if period == 0 { Err(NotKnown::unexpected(&period_path, "0")) } else { Ok(Some(quota as f64 / period as f64)) }
}

fn instructions(host: &Host) -> Result<Judgement, NotKnown> {
    const INFO: &str = "/proc/cpuinfo";
    let info = host.text(INFO)?;
    let (field, checksum, aes): (&str, &[&str], &str) = match host.answers.architecture.as_str() {
        // What the library for CRC-32 asks for.
        "x86_64" => ("flags", &["pclmulqdq", "sse4_1", "ssse3"], "aes"),
        "aarch64" => ("Features", &["crc32"], "aes"),
        other => {
            let model = colon_field(&info, "cpu").or_else(|| colon_field(&info, "model name"));
            let model = model.ok_or_else(|| NotKnown::unexpected(INFO, info.lines().next().unwrap_or_default()))?;
            return Ok(Judgement::ok(format!("{} ({other}): checksums use portable code", shown(model))));
        }
    };
    let flags = colon_field(&info, field).ok_or_else(|| NotKnown::because(format!("{INFO} has no '{field}'")))?;
    let has = |name: &str| flags.split_whitespace().any(|flag| flag == name);
    let missing: Vec<&str> = checksum.iter().copied().filter(|name| !has(name)).collect();
    let encryption = if has(aes) { "AES too" } else { "no AES for encrypted connections" };
    if missing.is_empty() {
        return Ok(Judgement::ok(format!("{} for CRC-32; {encryption}", checksum.join(", "))));
    }
    let mend = "pass the processor's features through the hypervisor (host-passthrough), or use another processor";
    Ok(Judgement::warning(format!("no {} for CRC-32; {encryption}", missing.join(", ")), mend))
}
