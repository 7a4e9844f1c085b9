//! Follows the files of certificates: sessions are made of the new ones once they have changed.
//!
//! The files' bytes are compared, not their times: a copy may keep a time, and three files of a few KiB cost less than the reasoning. A change counts when two looks
//! in a row have found the same, so that certificate and key are exchanged one after the other without a word. Material that cannot be used, or that this node
//! itself would refuse, is logged once, and the one in use stays. Each shard looks for itself and shares nothing; shard 0 speaks for all.

use std::time::Duration;

use runtime::{Runtime, ShardId};

use crate::identity::Identity;
use crate::material::Material;
use crate::pem::Pems;
use crate::source::Sources;

/// Time between looks.
const LOOK: Duration = Duration::from_secs(2);

/// The files, and what was found in them.
pub(crate) struct Reload {
    runtime: Runtime,
    sources: Sources,
    identity: Identity,
    /// The PEM in use.
    current: Pems,
    /// Other PEM, that was found at the last look.
    found: Option<Pems>,
    /// The last complaint, which is not repeated.
    complaint: Option<String>,
}

impl Reload {
    pub(crate) fn new(runtime: &Runtime, sources: Sources, current: Pems, identity: Identity) -> Reload {
        Reload { runtime: runtime.clone(), sources, identity, current, found: None, complaint: None }
    }

    /// Warns of a certificate that others will refuse. The node starts all the same: what needs no other node works.
    pub(crate) fn judge_first(&self, material: &Material) {
        let Some(flaw) = material.own_flaw(self.runtime.wall_clock_micros()) else { return };
        if self.runtime.shard() == ShardId(0) {
            let file = self.sources.certificate.name();
            tracing::warn!(file, %flaw, "own TLS certificate fails validation; nodes with the same trusted certificates will refuse it");
        }
    }

    /// Looks at the files for ever.
    pub(crate) async fn follow(mut self) {
        loop {
            self.runtime.sleep(LOOK).await;
            self.look().await;
        }
    }

    async fn look(&mut self) {
        let pems = match self.sources.read(&self.runtime).await {
            Ok(pems) => pems,
            Err(error) => return self.complain(error.to_string()),
        };
        if pems == self.current {
            (self.found, self.complaint) = (None, None);
            return;
        }
        if self.found.as_ref() != Some(&pems) {
            self.found = Some(pems);
            return;
        }
        let material = match Material::parse(&pems) {
            Ok(material) => material,
            Err(error) => return self.complain(error.to_string()),
        };
        if let Some(flaw) = material.own_flaw(self.runtime.wall_clock_micros()) {
            return self.complain(format!("the certificate in {} fails validation: {flaw}", pems.certificate.name));
        }
        self.identity.replace(&material);
        self.current = pems;
        (self.found, self.complaint) = (None, None);
        let file = &self.current.certificate.name;
        match self.runtime.shard() {
            ShardId(0) => tracing::info!(file, "TLS certificates reloaded; new connections use them"),
            _ => tracing::debug!(file, "TLS certificates reloaded"),
        }
    }

    fn complain(&mut self, reason: String) {
        if self.complaint.as_ref() == Some(&reason) {
            return;
        }
        match self.runtime.shard() {
            ShardId(0) => tracing::error!(%reason, "cannot reload TLS certificates; keeping those in use"),
            _ => tracing::debug!(%reason, "cannot reload TLS certificates"),
        }
        self.complaint = Some(reason);
    }
}
