//! The listening shard: accepts connections of other nodes, greets each, and hands it to the shard that answers on it.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::Semaphore;
use runtime::{Group, Mesh, Runtime, ShardId, TcpListener, TcpStream};
use topology::HostId;

use crate::connection::PeerSocket;
use crate::handshake::{self, GreetingError, Hello, VERSION, Verdict, Welcome};
use crate::incoming::Incoming;

/// Greetings under way on shard 0.
const GREETINGS_MAX: usize = 64;
/// Timeout of a handshake.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// The rest after an accept that failed: out of descriptors, most likely.
const REST: Duration = Duration::from_millis(100);

/// The cluster as the listening shard knows it.
pub struct Listening {
    /// This node.
    pub local: HostId,
    /// The shard's connections of other nodes, which know the nodes that may dial.
    pub incoming: Incoming,
    /// The cluster.
    pub cluster_name: String,
}

/// Accepts connections of other nodes, greets each, and hands it to its shard, until it is dropped.
pub async fn listen_for_peers(
    runtime: Runtime,
    listener: TcpListener,
    listening: Listening,
    mesh: Mesh<PeerSocket, ()>,
) {
    let listening = Rc::new(listening);
    let greetings = Semaphore::new(GREETINGS_MAX);
    loop {
        match listener.accept().await {
            Ok((socket, from)) => {
                // Without a permit the socket is dropped, which closes it: the other end dials again.
                let Some(permit) = greetings.try_acquire() else { continue };
                let (runtime, listening, mesh) = (runtime.clone(), listening.clone(), mesh.clone());
                let greeter = runtime.clone();
                greeter.spawn(Group::Query, async move {
                    let stream = runtime.adopt(socket);
                    let met = runtime.timeout(GREETING_TIME, meet(&runtime, &stream, &listening)).await;
                    drop(permit);
                    match met {
                        Ok(Ok((host_id, shard))) => hand_over(stream, from, host_id, shard, &mesh).await,
                        Ok(Err(error)) => {
                            tracing::info!(%from, %error, "rejected internode connection: handshake failed")
                        }
                        Err(_) => {
                            tracing::info!(%from, "rejected internode connection: handshake timed out")
                        }
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept internode connection; retrying");
                runtime.sleep(REST).await;
            }
        }
    }
}

/// The greeting. Gives the node that dials, and the shard that is to have the connection.
async fn meet(
    runtime: &Runtime,
    stream: &TcpStream,
    listening: &Listening,
) -> Result<(HostId, ShardId), GreetingError> {
    let hello = handshake::receive(stream, Hello::decode).await?;
    let verdict = match () {
        () if hello.version != VERSION => Verdict::OtherVersion,
        () if hello.cluster_name != listening.cluster_name => Verdict::OtherCluster,
        () if hello.wanted != listening.local => Verdict::OtherNode,
        () if !listening.incoming.is_member(hello.host_id) => Verdict::Stranger,
        () => Verdict::Welcome,
    };
    let welcome = Welcome {
        version: VERSION,
        verdict,
        shard_count: runtime.shard_count(),
        host_id: listening.local,
        cluster_name: listening.cluster_name.clone(),
    };
    let (result, _) = stream.write_all(welcome.encode()).await;
    result?;
    if verdict != Verdict::Welcome {
        let Hello { host_id, cluster_name, version, .. } = hello;
        return Err(GreetingError::Refused { verdict, host_id, cluster_name, version });
    }
    Ok((hello.host_id, ShardId(hello.shard % runtime.shard_count())))
}

async fn hand_over(stream: TcpStream, from: SocketAddr, host_id: HostId, shard: ShardId, mesh: &Mesh<PeerSocket, ()>) {
    match stream.into_socket() {
        Ok(socket) => {
            if let Err(error) = mesh.call(shard, PeerSocket { socket, host_id }).await {
                tracing::info!(%from, %error, "closed internode connection; its shard has stopped");
            }
        }
        Err(error) => tracing::warn!(%from, %error, "closed internode connection; cannot hand it to its shard"),
    }
}
