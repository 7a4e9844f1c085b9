//! Clocks.

use super::Check;
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};

pub(super) const CHECKS: [Check; 2] = [
    Check {
        area: Area::Time,
        name: "clock source",
        why: "A shard reads the clock after each step of its work, which from the processor's own counter needs no call into the kernel.",
        judge: clock_source,
    },
    Check {
        area: Area::Time,
        name: "time synchronisation",
        why: "Of two writes to one cell the later timestamp counts, and servers' clocks make the timestamps that clients do not.",
        judge: synchronisation,
    },
];

fn clock_source(host: &Host) -> Result<Judgement, NotKnown> {
    const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
    let current = host.value(&format!("{FOLDER}/current_clocksource"))?;
    let available = host.value(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    // Those that are read without entering the kernel.
    const QUICK: [&str; 6] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase", "stp"];
    let found = shown(&current);
    if QUICK.contains(&current.as_str()) {
        return Ok(Judgement::ok(found));
    }
    let others: Vec<&str> = available.split_whitespace().filter(|name| QUICK.contains(name)).collect();
    Ok(match others.first() {
        Some(better) => Judgement::warning(
            format!("{found}, though there is {better}"),
            format!("echo {better} > {FOLDER}/current_clocksource"),
        ),
        None => Judgement::warning(
            found,
            "check why the kernel rejects the tsc (dmesg | grep -i clocksource); boot with clocksource=tsc tsc=reliable if that is wrong",
        ),
    })
}

fn synchronisation(host: &Host) -> Result<Judgement, NotKnown> {
    let clock = host.answers.clock.clone().map_err(NotKnown::because)?;
    let error = clock.error_micros_max as f64 / 1_000.0;
    if !clock.is_synchronised {
        // The guest's clock is then as good as the host's, which cannot be seen from here.
        return Ok(Judgement::warning(
            "no time service synchronises the clock",
            "systemctl enable --now chronyd, or systemd-timesyncd",
        ));
    }
    let found = format!("synchronised, off by at most {error:.1} ms");
    const ERROR_MILLIS_MAX: f64 = 100.0;
    if error > ERROR_MILLIS_MAX {
        return Ok(Judgement::advice(found, "configure a nearer time server for chrony"));
    }
    Ok(Judgement::ok(found))
}
