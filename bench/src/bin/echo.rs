//! `echo`: the bare echo server. See `bench::echo`.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use bench::{echo, frame};
use clap::{Parser, ValueEnum};
use runtime::{Options, ReactorKind, Runtime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reactor {
    Uring,
    Epoll,
}

/// Answers every request of the native protocol, version 4, with the same reply.
#[derive(Debug, Parser)]
struct Arguments {
    /// The port on 127.0.0.1; 0 for any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The interface of the kernel; the default is uring where it works.
    #[arg(long)]
    reactor: Option<Reactor>,
    /// The processor to stay on.
    #[arg(long)]
    cpu: Option<usize>,
    /// Bytes of the reply's body; the default is a RESULT of 4 bytes that says nothing.
    #[arg(long)]
    reply_bytes: Option<usize>,
}

fn reply(bytes: Option<usize>) -> Vec<u8> {
    let mut reply = frame::VOID.to_vec();
    reply.resize(bytes.unwrap_or(reply.len()), 0);
    reply
}

async fn serve(rt: Runtime, arguments: &Arguments) -> std::io::Error {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = match rt.listen(address).await {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    match listener.local_addr() {
        Ok(address) => println!("echo listening on {address}"),
        Err(error) => return error,
    }
    echo::serve(rt, listener, reply(arguments.reply_bytes)).await
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let reactor = arguments.reactor.map(|reactor| match reactor {
        Reactor::Uring => ReactorKind::Uring,
        Reactor::Epoll => ReactorKind::Epoll,
    });
    let options = Options { reactor, cpus: arguments.cpu.into_iter().collect(), ..Options::default() };
    let error = match runtime::run(options, vec![|rt| serve(rt, &arguments)]) {
        Ok(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
        Err(error) => error.to_string(),
    };
    eprintln!("echo: {error}");
    ExitCode::FAILURE
}
