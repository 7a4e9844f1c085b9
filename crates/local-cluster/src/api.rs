//! Questions to the admin API of a node. Answers are bounded in length and in time.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// A node that takes longer is not ready, or paused.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// A node with ten thousands of tables answers with less.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A client of all nodes.
#[derive(Debug)]
pub(crate) struct Api {
    agent: ureq::Agent,
}

/// The ring as one node sees it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) live: BTreeSet<IpAddr>,
    pub(crate) down: BTreeSet<IpAddr>,
}

/// The host id of an address.
#[derive(Debug, Deserialize)]
struct Identity {
    key: IpAddr,
    value: String,
}

/// The metadata group as one node sees it.
#[derive(Debug, Deserialize)]
pub(crate) struct Group {
    voters: Vec<IgnoredAny>,
    is_changing: bool,
}

impl Group {
    /// True if it has all voters of a ring of so many nodes: with fewer, the end of one node may take its majority.
    pub(crate) fn is_settled(&self, nodes: usize) -> bool {
        let voters = match nodes {
            0..=2 => 1,
            3..=4 => 3,
            _ => 5,
        };
        self.voters.len() >= voters && !self.is_changing
    }
}

/// A refusal.
#[derive(Debug, Deserialize)]
struct Refusal {
    message: String,
}

impl Api {
    /// A client.
    pub(crate) fn new() -> Api {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(ANSWER_TIME_MAX))
            .max_redirects(0)
            .proxy(None)
            .user_agent("helenus-cluster")
            .build();
        Api { agent: ureq::Agent::new_with_config(config) }
    }

    fn get<T: DeserializeOwned>(&self, node: SocketAddr, path: &str) -> Result<T, String> {
        let read = || -> Result<String, ureq::Error> {
            let mut response = self.agent.get(format!("http://{node}{path}")).call()?;
            response.body_mut().with_config().limit(BODY_BYTES_MAX).lossy_utf8(true).read_to_string()
        };
        let body = read().map_err(|error| error.to_string())?;
        serde_json::from_str(&body).map_err(|error| format!("the answer to {path} is not understood: {error}"))
    }

    /// The node's operation mode: NORMAL once it accepts clients.
    pub(crate) fn mode(&self, node: SocketAddr) -> Result<String, String> {
        self.get(node, "/storage_service/operation_mode")
    }

    /// The version of the schema that it has applied.
    pub(crate) fn schema_version(&self, node: SocketAddr) -> Result<String, String> {
        self.get(node, "/storage_service/schema_version")
    }

    /// The metadata group.
    pub(crate) fn group(&self, node: SocketAddr) -> Result<Group, String> {
        self.get(node, "/helenus/metadata_group")
    }

    /// The nodes that it knows.
    pub(crate) fn view(&self, node: SocketAddr) -> Result<View, String> {
        let (live, down) = (self.get(node, "/gossiper/endpoint/live")?, self.get(node, "/gossiper/endpoint/down")?);
        Ok(View { live, down })
    }

    /// The host id of the node at an address, if the node that is asked knows one.
    pub(crate) fn host_id(&self, node: SocketAddr, of: IpAddr) -> Result<Option<String>, String> {
        let known: Vec<Identity> = self.get(node, "/storage_service/host_id")?;
        Ok(known.into_iter().find(|identity| identity.key == of).map(|identity| identity.value))
    }

    /// Has a node leave, by itself or by another one, and waits until its ranges are copied and the ring has let it go, however long that takes. Fails with the node's own sentence.
    pub(crate) fn leave(&self, node: SocketAddr, path: &str) -> Result<(), String> {
        let call = || -> Result<(u16, String), ureq::Error> {
            let request = self.agent.post(format!("http://{node}{path}")).config();
            let request = request.timeout_global(None).http_status_as_error(false).build();
            let mut response = request.send_empty()?;
            let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).lossy_utf8(true).read_to_string()?;
            Ok((response.status().as_u16(), body))
        };
        match call().map_err(|error| error.to_string())? {
            (200, _) => Ok(()),
            (status, body) => {
                let refusal = serde_json::from_str(&body);
                Err(refusal.map_or_else(|_| format!("HTTP status {status}"), |refusal: Refusal| refusal.message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// A node that gives each of these answers to one request, and the paths that it was asked for.
    fn node(answers: &'static [&'static str]) -> (SocketAddr, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let served = std::thread::spawn(move || {
            let mut paths = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a client connects");
                let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines().map_while(Result::ok);
                let first = lines.next().expect("a request has a line");
                paths.push(first.split(' ').nth(1).unwrap_or_default().to_owned());
                lines.find(|line| line.is_empty());
                let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len());
                stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes())).expect("it reads");
            }
            paths
        });
        (address, served)
    }

    #[test]
    fn the_view_of_a_node_is_its_lists_of_addresses() {
        let (address, served) = node(&["[\"127.0.0.1\"]", "[\"127.0.0.2\"]"]);
        let view = Api::new().view(address).expect("both answers are right");
        let set = |text: &str| BTreeSet::from([text.parse::<IpAddr>().expect("an address")]);
        assert_eq!(view, View { live: set("127.0.0.1"), down: set("127.0.0.2") });
        assert_eq!(served.join().expect("it does not panic"), ["/gossiper/endpoint/live", "/gossiper/endpoint/down"]);
    }

    #[test]
    fn an_answer_that_is_none_is_an_error() {
        let (address, served) = node(&["<html>"]);
        let said = Api::new().mode(address).expect_err("it is no JSON");
        assert!(said.starts_with("the answer to /storage_service/operation_mode is not understood"), "{said}");
        served.join().expect("it does not panic");
        let gone = Api::new().mode(address);
        assert!(gone.is_err(), "no node listens there any more");
    }
}
