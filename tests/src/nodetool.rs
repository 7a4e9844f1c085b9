//! `helenus nodetool` as a person or a script runs it.

use std::process::{Command, Stdio};

use crate::{Builder, Server};

/// The end of one command.
#[derive(Debug, Clone)]
pub struct Printed {
    /// Its exit code.
    pub code: i32,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

/// Runs one command line against a node, words apart at blanks, to its end.
pub fn nodetool(server: &Server, line: &str) -> Printed {
    let mut command = Command::new(Builder::binary());
    command.args(["nodetool", "-h", "127.0.0.1", "-p", &server.api_port.to_string()]);
    let run = command.args(line.split(' ')).stdin(Stdio::null()).output().expect("the binary can be run");
    Printed {
        code: run.status.code().expect("it ends by itself"),
        output: String::from_utf8(run.stdout).expect("it prints text"),
        errors: String::from_utf8(run.stderr).expect("it prints text"),
    }
}
