//! A client that listens to events of nodes, and connects again whenever its connection ends.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::Event;
use runtime::Runtime;

use crate::client::{Client, ClientError};

/// Between two tries to connect.
const AGAIN: Duration = Duration::from_millis(200);

/// Events that one client heard.
#[derive(Debug, Clone, Default)]
pub struct NodeEvents {
    /// The events of each connection that was registered, in order.
    pub connections: Vec<Vec<Event>>,
}

/// The same, shared with the client.
pub type SharedNodeEvents = Rc<RefCell<NodeEvents>>;

impl NodeEvents {
    /// Nothing heard yet.
    pub fn shared() -> SharedNodeEvents {
        Rc::default()
    }

    /// Events of all connections.
    pub fn count(&self) -> usize {
        self.connections.iter().map(Vec::len).sum()
    }
}

/// Listens without end.
pub async fn listen_to_nodes(runtime: Runtime, address: SocketAddr, events: SharedNodeEvents) {
    loop {
        // An error ends the connection, as a node does that ends.
        let _: Result<(), ClientError> = listen(&runtime, address, &events).await;
        runtime.sleep(AGAIN).await;
    }
}

async fn listen(runtime: &Runtime, address: SocketAddr, events: &SharedNodeEvents) -> Result<(), ClientError> {
    let mut client = Client::connect(runtime, address).await?;
    client.register().await?;
    events.borrow_mut().connections.push(Vec::new());
    loop {
        let event = client.event().await?;
        events.borrow_mut().connections.last_mut().expect("it was begun").push(event);
    }
}
