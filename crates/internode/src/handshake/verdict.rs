//! Outcomes of a handshake.

use stdx::ReadError;
use tls::SessionError;
use topology::HostId;

/// Outcome of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The connection is accepted.
    Welcome = 0,
    /// They are of different clusters.
    OtherCluster = 1,
    /// They speak different versions.
    OtherVersion = 2,
    /// The address is another node's than the one that was wanted.
    OtherNode = 3,
    /// The dialling node is not in the ring.
    Stranger = 4,
    /// They are of different groups, or of different incarnations of one.
    OtherGroup = 5,
    /// The dialling node was removed from the cluster, or replaced.
    Removed = 6,
    /// The dialling node's data is older than what others have seen of it.
    OldDisk = 7,
    /// The shared secret is not proven.
    NotProven = 8,
    /// The dialling node has an address of another member.
    AddressTaken = 9,
    /// The dialled node serves no connections of that purpose.
    OtherPurpose = 10,
}

impl Verdict {
    const ALL: [Verdict; 11] = [
        Verdict::Welcome,
        Verdict::OtherCluster,
        Verdict::OtherVersion,
        Verdict::OtherNode,
        Verdict::Stranger,
        Verdict::OtherGroup,
        Verdict::Removed,
        Verdict::OldDisk,
        Verdict::NotProven,
        Verdict::AddressTaken,
        Verdict::OtherPurpose,
    ];

    pub(super) fn of(number: u8) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| *verdict as u8 == number)
    }

    /// The reason, for an operator.
    pub fn reason(self) -> &'static str {
        match self {
            Verdict::Welcome => "accepted",
            Verdict::OtherCluster => "the nodes are of different clusters",
            Verdict::OtherVersion => "the nodes have no protocol version in common",
            Verdict::OtherNode => "the dialled address is another node's",
            Verdict::Stranger => "the dialling node is not in the ring",
            Verdict::OtherGroup => "the nodes are of different groups",
            Verdict::Removed => "the dialling node was removed from the cluster",
            Verdict::OldDisk => "the dialling node's data is older than what this cluster has seen of it",
            Verdict::NotProven => "shared secret not proven; give all nodes the same internode_secret_file",
            Verdict::AddressTaken => "the dialling node has an address of another member",
            Verdict::OtherPurpose => "the dialled node serves no connections of that purpose",
        }
    }
}

impl GreetingError {
    /// The verdict of either end, if there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            GreetingError::Refused { verdict, .. } | GreetingError::Rejected { verdict } => Some(*verdict),
            _ => None,
        }
    }
}

/// Why two nodes did not meet.
#[derive(Debug, thiserror::Error)]
pub enum GreetingError {
    /// The connection failed.
    #[error("connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The other end is something else.
    #[error("the peer is not a Helenus node, or its handshake is damaged")]
    NotAPeer,
    /// The other end begins with TLS, which this node does not use.
    #[error("the peer uses TLS and this node does not; give all nodes the same server_encryption_options")]
    TlsPeer,
    /// The other end greets without TLS, which this node uses.
    #[error("the peer does not use TLS and this node does; give all nodes the same server_encryption_options")]
    PlainPeer,
    /// The two did not agree on a TLS session.
    #[error("TLS handshake failed: {0}")]
    Tls(SessionError),
    /// The other end hung up.
    #[error("connection closed during the handshake")]
    Closed,
    /// The body is cut or holds what it must not.
    #[error("malformed handshake: {0}")]
    Malformed(#[from] ReadError),
    /// The other end speaks a version with other greetings.
    #[error("the peer speaks protocol version {version}, which this node does not")]
    Older {
        /// Its version.
        version: u16,
    },
    /// The other end refuses.
    #[error("refused ({verdict:?}) by host {host_id} of cluster '{cluster_name}', which speaks version {version}: {}", .verdict.reason())]
    Refused {
        /// Why.
        verdict: Verdict,
        /// Its host id.
        host_id: HostId,
        /// Its cluster.
        cluster_name: String,
        /// Its version.
        version: u16,
    },
    /// This node refuses.
    #[error("{} ({verdict:?})", .verdict.reason())]
    Rejected {
        /// Why.
        verdict: Verdict,
    },
}
