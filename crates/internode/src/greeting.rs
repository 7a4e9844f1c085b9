//! How a connection begins, on both ends: greetings in turn, until both accept.
//!
//! | dialler | listener |
//! |---|---|
//! | says hello | |
//! | | judges the hello, and says so in its welcome, with its proof |
//! | checks the proof, then the verdict; confirms with its own proof | |
//! | | checks the proof, and confirms |
//!
//! Without a secret on both ends the last two lines are left out. Under TLS the proofs are of the session they come in. A refusal is proven too: no host without the secret can have a node believe that it was removed.

use runtime::Runtime;
use topology::HostId;

use crate::handshake::{Confirmation, GREETING_BYTES_MAX, GreetingError, Hello, VERSION, Verdict, Welcome};
use crate::identity::ANY_NODE;
use crate::local_node::LocalNode;
use crate::purpose::Purpose;
use crate::secret::{Exchanged, Secret, Side};
use crate::stream::Stream;

/// The dialler's end: greets the node that is expected on the other end.
pub(crate) async fn greet(
    runtime: &Runtime,
    stream: &Stream,
    local: &LocalNode,
    (wanted, purpose, compresses): (HostId, Purpose, bool),
) -> Result<Welcome, GreetingError> {
    let hello = local.hello(runtime, wanted, purpose, compresses).encode();
    send(stream, hello.clone()).await?;
    let (welcome, _) = receive(stream, Welcome::decode).await?;
    let Some(secret) = local.secret() else {
        accept(local, wanted, &welcome)?;
        return Ok(welcome);
    };
    let binding = stream.binding()?;
    let exchanged = Exchanged { hello: &hello, welcome: &welcome.unproven(), binding: binding.as_ref() };
    let is_proven = |proof: [u8; 32]| secret.is_proven(Side::Listener, exchanged, &proof);
    if !welcome.proof.is_some_and(is_proven) {
        // For the other end's log, which may be read sooner.
        let _ = send(stream, Confirmation::of(Verdict::NotProven).encode()).await;
        return Err(GreetingError::Rejected { verdict: Verdict::NotProven });
    }
    accept(local, wanted, &welcome)?;
    let proof = Some(secret.prove(Side::Dialler, exchanged));
    send(stream, Confirmation { verdict: Verdict::Welcome, proof }.encode()).await?;
    let (last, _) = receive(stream, Confirmation::decode).await?;
    match last.verdict {
        Verdict::Welcome => Ok(welcome),
        verdict => Err(refused(&welcome, verdict)),
    }
}

/// Fails unless the welcome is one, of the expected node of this cluster.
fn accept(local: &LocalNode, wanted: HostId, welcome: &Welcome) -> Result<(), GreetingError> {
    match welcome.verdict {
        Verdict::Welcome => {}
        verdict => return Err(refused(welcome, verdict)),
    }
    let verdict = match () {
        () if welcome.version != VERSION => Verdict::OtherVersion,
        () if (welcome.host_id != wanted && wanted != ANY_NODE) || welcome.shard_count == 0 => Verdict::OtherNode,
        () if welcome.cluster_name != local.cluster_name() => Verdict::OtherCluster,
        () => return Ok(()),
    };
    Err(GreetingError::Rejected { verdict })
}

fn refused(welcome: &Welcome, verdict: Verdict) -> GreetingError {
    let Welcome { host_id, version, cluster_name, .. } = welcome;
    GreetingError::Refused { verdict, host_id: *host_id, cluster_name: cluster_name.clone(), version: *version }
}

/// The listener's end. Gives the hello of a dialler that is accepted; `judge` has the last word on one that fits this node and its cluster.
pub(crate) async fn meet(
    runtime: &Runtime,
    stream: &Stream,
    local: &LocalNode,
    judge: impl Fn(&Hello) -> Verdict,
) -> Result<Hello, GreetingError> {
    let (hello, bytes) = match receive(stream, Hello::decode).await {
        Err(GreetingError::Older { version: 1 }) => {
            let refusal = local.welcome(runtime, VERSION, Verdict::OtherVersion);
            send(stream, refusal.encode_for_version_1()).await?;
            return Err(GreetingError::Rejected { verdict: Verdict::OtherVersion });
        }
        received => received?,
    };
    let (version, verdict) = match hello.common_version() {
        None => (VERSION, Verdict::OtherVersion),
        Some(version) if hello.has_secret != local.secret().is_some() => (version, Verdict::NotProven),
        Some(version) => (version, fits(local, &hello).unwrap_or_else(|| judge(&hello))),
    };
    let mut welcome = local.welcome(runtime, version, verdict);
    // One that says to have no secret gets no proof: it could try out secrets on it.
    let secret = local.secret().filter(|_| hello.has_secret);
    // The flag is among the bytes that are proven.
    welcome.proof = secret.map(|_| [0; 32]);
    let (unproven, binding) = (welcome.unproven(), stream.binding()?);
    let exchanged = Exchanged { hello: &bytes, welcome: &unproven, binding: binding.as_ref() };
    welcome.proof = secret.map(|secret| secret.prove(Side::Listener, exchanged));
    send(stream, welcome.encode()).await?;
    if verdict != Verdict::Welcome {
        return Err(GreetingError::Rejected { verdict });
    }
    if let Some(secret) = secret {
        check(stream, secret, exchanged).await?;
    }
    Ok(hello)
}

/// The verdict on a hello that is not for this node and its cluster.
fn fits(local: &LocalNode, hello: &Hello) -> Option<Verdict> {
    match () {
        () if hello.cluster_name != local.cluster_name() => Some(Verdict::OtherCluster),
        () if hello.host_id == local.host_id() => Some(Verdict::OtherNode),
        () if hello.wanted == ANY_NODE && hello.purpose == Purpose::Control => None,
        () if hello.wanted != local.host_id() => Some(Verdict::OtherNode),
        () => None,
    }
}

/// Waits for the dialler's proof, and says the last word.
async fn check(stream: &Stream, secret: &Secret, exchanged: Exchanged<'_>) -> Result<(), GreetingError> {
    let (confirmation, _) = receive(stream, Confirmation::decode).await?;
    let is_proven = |proof: [u8; 32]| secret.is_proven(Side::Dialler, exchanged, &proof);
    let verdict = match confirmation.verdict {
        Verdict::Welcome if confirmation.proof.is_some_and(is_proven) => Verdict::Welcome,
        Verdict::Welcome => Verdict::NotProven,
        // The dialler has closed, and needs no answer.
        verdict => return Err(GreetingError::Rejected { verdict }),
    };
    send(stream, Confirmation::of(verdict).encode()).await?;
    match verdict {
        Verdict::Welcome => Ok(()),
        verdict => Err(GreetingError::Rejected { verdict }),
    }
}

/// Reads one greeting, and gives its bytes too. Nothing may follow it: each side waits for the other before it goes on.
async fn receive<T>(
    stream: &Stream,
    decode: impl Fn(&[u8]) -> Result<Option<(T, usize)>, GreetingError>,
) -> Result<(T, Vec<u8>), GreetingError> {
    let mut buffer = Vec::with_capacity(GREETING_BYTES_MAX);
    loop {
        let (result, read) = stream.read(buffer).await;
        buffer = read;
        if result? == 0 {
            return Err(GreetingError::Closed);
        }
        match decode(&buffer)? {
            Some((greeting, length)) if length == buffer.len() => return Ok((greeting, buffer)),
            Some(_) => return Err(GreetingError::NotAPeer),
            // A greeting fits the buffer: one that does not is none.
            None if buffer.len() == buffer.capacity() => return Err(GreetingError::NotAPeer),
            None => {}
        }
    }
}

async fn send(stream: &Stream, greeting: Vec<u8>) -> Result<(), GreetingError> {
    let (result, _) = stream.write_all(greeting).await;
    Ok(result?)
}
