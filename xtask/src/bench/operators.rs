//! The operators' port of a server under test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long what must come is waited for.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Asks a server over HTTP.
#[derive(Clone, Copy, Debug)]
pub struct Operators {
    /// Where it listens, on loopback.
    pub port: u16,
}

/// What the row cache of all shards has counted.
pub struct RowCache {
    /// Reads that it answered.
    pub hits: u64,
    /// Reads that it could not.
    pub misses: u64,
}

impl Operators {
    /// On a port that nobody had a moment ago.
    pub fn on_a_free_port() -> Result<Operators, String> {
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        listener.map(|address| Operators { port: address.port() }).map_err(|error| format!("no port is free: {error}"))
    }

    /// Has something done, and waits for it.
    pub fn post(&self, path: &str) -> Result<(), String> {
        self.ask("POST", path).map(drop)
    }

    /// What the row cache has counted since the start.
    pub fn row_cache(&self) -> Result<RowCache, String> {
        let figure = |name: &str| {
            let text = self.ask("GET", &format!("/cache_service/metrics/row/{name}"))?;
            text.trim().parse::<u64>().map_err(|_| format!("the row cache's {name} are '{text}'"))
        };
        let (hits, requests) = (figure("hits")?, figure("requests")?);
        Ok(RowCache { hits, misses: requests - hits })
    }

    /// Compactions running.
    pub fn compactions(&self) -> Result<usize, String> {
        Ok(self.ask("GET", "/compaction_manager/compactions")?.matches("\"id\"").count())
    }

    /// Polls of shard 0 that held the core for more than 5 ms, since the start.
    pub fn stalls(&self) -> Result<u64, String> {
        let text = self.ask("GET", "/metrics")?;
        let line =
            text.lines().find_map(|line| line.strip_prefix("helenus_reactor_stalls_over_5ms_total{shard=\"0\"} "));
        let count = line.and_then(|count| count.trim().parse::<f64>().ok());
        count.map(|count| count as u64).ok_or_else(|| "the metrics do not tell of stalls".to_owned())
    }

    /// The body of the answer; an error if it is not 200.
    fn ask(&self, method: &str, path: &str) -> Result<String, String> {
        let failed = |error| format!("{method} {path}: {error}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(failed)?;
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(failed)?;
        match answer.split_once("\r\n\r\n") {
            Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
            _ => Err(format!("{method} {path} was answered: {}", answer.chars().take(300).collect::<String>())),
        }
    }
}

/// Asks again and again until it is so.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let began = Instant::now();
    while !is_so()? {
        if began.elapsed() > WAIT_MAX {
            return Err(format!("{what} did not come within {} s", WAIT_MAX.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
