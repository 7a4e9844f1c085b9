//! `helenus stress --raw`: the generator's own client on the runtime.
//!
//! Prebuilt EXECUTE frames in which only the stream, the key and the values are patched, one write for all requests that are ready,
//! and a closed loop with a fixed number of requests outstanding. It is made to cost far less than the server that it measures.

mod arguments;
mod bind;
mod connection;
mod control;
mod pace;
mod phase;
mod report;
mod rows;
mod scan;
mod session;
mod setup;
mod silence;
mod statement;
mod statistics;
mod template;
mod updates;
mod wire;

pub(crate) use arguments::{Arguments, Reactor};

use crate::StressError;

/// Runs the load and prints its report. Fails also if any operation failed or the rate was not kept: the report is printed then too.
pub(crate) fn run(arguments: Arguments) -> Result<(), StressError> {
    arguments.check()?;
    let options = runtime::Options {
        reactor: arguments.reactor.map(Reactor::kind),
        cpus: arguments.cpu.into_iter().collect(),
        ..runtime::Options::default()
    };
    let main = move |runtime| async move { session::run(&runtime, &arguments).await };
    runtime::run(options, vec![main])?.into_iter().collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests read the reports that are written, and take their own time")]
mod tests;
