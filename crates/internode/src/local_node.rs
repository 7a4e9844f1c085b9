//! This node's word about itself in greetings.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Duration;

use runtime::Runtime;
use tls::Identity;
use topology::HostId;

use crate::handshake::{Hello, VERSION, VERSION_MIN, Verdict, Welcome};
use crate::identity::{Boot, GroupTag};
use crate::purpose::Purpose;
use crate::secret::Secret;

/// Connections whose long bodies are compressed. Cassandra's `internode_compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// None of them.
    None,
    /// Those between datacenters.
    #[default]
    BetweenDatacenters,
    /// All of them.
    All,
}

/// Time for dialling and the handshake, at first. Cassandra's `internode_tcp_connect_timeout`.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// This node. Clones are the same.
#[derive(Debug, Clone)]
pub struct LocalNode {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    host_id: HostId,
    cluster_name: String,
    boot: Boot,
    secret: Option<Secret>,
    compression: Compression,
    tls: OnceCell<Identity>,
    group: Cell<GroupTag>,
    epoch: Cell<u64>,
    connect_time: Cell<Duration>,
}

impl LocalNode {
    /// A node of no group. With a secret, it talks only to nodes that prove the same one.
    pub fn new(
        host_id: HostId,
        cluster_name: String,
        boot: Boot,
        secret: Option<Secret>,
        compression: Compression,
    ) -> LocalNode {
        let (group, epoch, connect_time) = (Cell::default(), Cell::default(), Cell::new(CONNECT_TIME));
        let tls = OnceCell::new();
        let inner = Inner { host_id, cluster_name, boot, secret, compression, tls, group, epoch, connect_time };
        LocalNode { inner: Rc::new(inner) }
    }

    /// All its connections are under TLS: those that it dials, and those that it accepts.
    ///
    /// # Panics
    /// When it is called again: certificates are exchanged within the identity.
    pub fn use_tls(&self, identity: Identity) {
        assert!(self.inner.tls.set(identity).is_ok(), "a node has one identity");
    }

    /// Its certificates; `None`: its connections are plain.
    pub fn tls(&self) -> Option<&Identity> {
        self.inner.tls.get()
    }

    /// Its host id.
    pub fn host_id(&self) -> HostId {
        self.inner.host_id
    }

    /// Its cluster.
    pub fn cluster_name(&self) -> &str {
        &self.inner.cluster_name
    }

    /// Its group.
    pub fn group(&self) -> GroupTag {
        self.inner.group.get()
    }

    /// Greetings name this group from now on.
    pub fn set_group(&self, group: GroupTag) {
        self.inner.group.set(group);
    }

    /// Greetings and frames name this epoch from now on.
    pub fn set_epoch(&self, epoch: u64) {
        self.inner.epoch.set(epoch);
    }

    /// Connections that are dialled from now on have this time, with their handshakes.
    pub fn set_connect_time(&self, time: Duration) {
        self.inner.connect_time.set(time);
    }

    /// Time for dialling and the handshake.
    pub(crate) fn connect_time(&self) -> Duration {
        self.inner.connect_time.get()
    }

    /// The epoch that greetings and frames name.
    pub(crate) fn epoch(&self) -> u64 {
        self.inner.epoch.get()
    }

    /// True if connections to a node compress long bodies.
    pub(crate) fn compresses(&self, is_in_other_datacenter: bool) -> bool {
        match self.inner.compression {
            Compression::None => false,
            Compression::BetweenDatacenters => is_in_other_datacenter,
            Compression::All => true,
        }
    }

    pub(crate) fn secret(&self) -> Option<&Secret> {
        self.inner.secret.as_ref()
    }

    /// The hello of a connection to `wanted`.
    pub(crate) fn hello(&self, runtime: &Runtime, wanted: HostId, purpose: Purpose, compresses: bool) -> Hello {
        Hello {
            version: VERSION,
            version_min: VERSION_MIN,
            purpose,
            has_secret: self.secret().is_some(),
            compresses,
            shard: runtime.shard().0,
            shard_count: runtime.shard_count(),
            host_id: self.host_id(),
            wanted,
            group: self.group(),
            boot: self.inner.boot,
            epoch: self.inner.epoch.get(),
            random: self.random(runtime),
            cluster_name: self.cluster_name().to_owned(),
        }
    }

    /// The welcome to a hello, without a proof.
    pub(crate) fn welcome(&self, runtime: &Runtime, version: u16, verdict: Verdict) -> Welcome {
        Welcome {
            version,
            verdict,
            shard_count: runtime.shard_count(),
            host_id: self.host_id(),
            group: self.group(),
            boot: self.inner.boot,
            epoch: self.inner.epoch.get(),
            random: self.random(runtime),
            cluster_name: self.cluster_name().to_owned(),
            proof: None,
        }
    }

    /// Bytes that no greeting had before; with a secret, that none without it foresees.
    fn random(&self, runtime: &Runtime) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&runtime.random_u64().to_be_bytes());
        low.copy_from_slice(&runtime.random_u64().to_be_bytes());
        match self.secret() {
            Some(secret) => secret.unforeseen(&bytes),
            None => bytes,
        }
    }
}
