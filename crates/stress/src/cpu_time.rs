//! How much CPU time both ends have used, to the nanosecond. It is the kernel's clock of a whole process, threads that have ended included:
//! servers in a virtual machine of their own start and end threads all the time.

use std::time::Duration;

use crate::StressError;

/// The CPU time of the generator and, if its processes are known, of the server: of all nodes together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTimes {
    pub(crate) generator: Duration,
    pub(crate) server: Option<Duration>,
}

impl CpuTimes {
    /// From the start of each process until now.
    pub(crate) fn so_far(server: &[u32]) -> Result<CpuTimes, StressError> {
        let of = |pid: Option<u32>| {
            runtime::process_cpu_time(pid)
                .map_err(|source| StressError::CpuTime { pid: pid.unwrap_or_else(std::process::id), source })
        };
        let sum = server.iter().map(|pid| of(Some(*pid))).sum::<Result<Duration, _>>()?;
        Ok(CpuTimes { generator: of(None)?, server: (!server.is_empty()).then_some(sum) })
    }

    /// The CPU time used since then. There is none of a server of which a process has ended meanwhile.
    pub(crate) fn until_now(self, server: &[u32]) -> Result<CpuTimes, StressError> {
        let now = CpuTimes::so_far(server).or_else(|_| CpuTimes::so_far(&[]))?;
        Ok(CpuTimes {
            generator: now.generator.saturating_sub(self.generator),
            server: now.server.zip(self.server).map(|(now, before)| now.saturating_sub(before)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error = CpuTimes::so_far(&[u32::MAX]).expect_err("there is none").to_string();
        assert!(error.contains(&u32::MAX.to_string()), "{error}");
        let before = CpuTimes::so_far(&[std::process::id()]).expect("this one is");
        let since = before.until_now(&[std::process::id()]).expect("this one is");
        let after = CpuTimes::so_far(&[std::process::id()]).expect("this one is");
        let between = after.server.zip(before.server).map(|(after, before)| after - before);
        assert!(since.server.is_some() && since.server <= between, "{since:?} of {between:?}");
        let since = before.until_now(&[u32::MAX]).expect("the generator is there");
        let after = CpuTimes::so_far(&[]).expect("this one is");
        assert!(since.server.is_none() && since.generator <= after.generator - before.generator);
    }

    #[test]
    fn processes_are_added() {
        let own = std::process::id();
        let before = CpuTimes::so_far(&[own]).expect("this one is").server;
        let twice = CpuTimes::so_far(&[own, own]).expect("this one is").server;
        let after = CpuTimes::so_far(&[own]).expect("this one is").server;
        assert!(before.map(|time| time * 2) <= twice && twice <= after.map(|time| time * 2), "{twice:?}");
        assert!(CpuTimes::so_far(&[own, u32::MAX]).is_err());
    }
}
