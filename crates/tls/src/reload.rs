//! Follows the files of certificates: sessions are made of the new ones once they have changed.
//!
//! The files' bytes are compared, not their times: a copy may keep a time, and three files of a few KiB cost less than the reasoning. A change counts when two looks
//! in a row have found the same, so that certificate and key are exchanged one after the other without a word. Material that cannot be used, or that this node
//! itself would refuse, is logged once, and the one in use stays. Each shard looks for itself and shares nothing; shard 0 speaks for all, and follows alone the files of
//! a thread beside the shards. What became of the files is counted.

use std::cell::Cell;
use std::time::Duration;

use runtime::sync::Notify;
use runtime::{Group, Runtime, ShardId};

use crate::flaw::Flaw;
use crate::identity::Identity;
use crate::material::Material;
use crate::pem::Pems;
use crate::server::ServerIdentity;
use crate::source::Sources;

/// The account of an identity's files on a shard.
#[derive(Debug, Default)]
pub(crate) struct FilesState {
    /// Signalled when they are to be looked at now.
    pub(crate) asked: Notify,
    reloads: Cell<u64>,
    failures: Cell<u64>,
    not_after: Cell<Option<u64>>,
}

/// Figures of an identity's files, since the shard began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileFigures {
    /// Times that new files were taken.
    pub reloads: u64,
    /// Times that files could not be used, for another reason than the time before.
    pub failures: u64,
    /// End of the certificate in use, seconds since the Unix epoch.
    pub not_after: Option<u64>,
}

impl FilesState {
    /// The figures of now.
    pub(crate) fn figures(&self) -> FileFigures {
        FileFigures { reloads: self.reloads.get(), failures: self.failures.get(), not_after: self.not_after.get() }
    }
}

/// An identity that takes new material.
pub(crate) trait Replaceable {
    /// The other ends of its connections, in log lines.
    const PEERS: &'static str;
    /// Those of them that judge as [`Replaceable::flaw`] does.
    const JUDGES: &'static str;

    /// The reason for which others refuse the material's certificate, at a wall clock's time.
    fn flaw(material: &Material, wall_clock_micros: i64) -> Option<Flaw>;

    /// Sessions are made of this material from now on.
    fn replace(&self, material: &Material);

    /// The account of the files.
    fn files(&self) -> &FilesState;
}

impl Replaceable for Identity {
    const PEERS: &'static str = "nodes";
    const JUDGES: &'static str = "nodes with the same trusted certificates";

    fn flaw(material: &Material, wall_clock_micros: i64) -> Option<Flaw> {
        material.own_flaw(wall_clock_micros)
    }

    fn replace(&self, material: &Material) {
        self.replace(material);
    }

    fn files(&self) -> &FilesState {
        self.files()
    }
}

impl Replaceable for ServerIdentity {
    const PEERS: &'static str = "clients";
    const JUDGES: &'static str = "clients that verify it";

    fn flaw(material: &Material, wall_clock_micros: i64) -> Option<Flaw> {
        material.time_flaw(wall_clock_micros)
    }

    fn replace(&self, material: &Material) {
        self.replace(material);
    }

    fn files(&self) -> &FilesState {
        self.files()
    }
}

/// Time between looks.
const LOOK: Duration = Duration::from_secs(2);

/// The files, and what was found in them.
pub(crate) struct Reload<I> {
    runtime: Runtime,
    sources: Sources,
    identity: I,
    /// The PEM in use.
    current: Pems,
    /// Other PEM, that was found at the last look.
    found: Option<Pems>,
    /// The last complaint, which is not repeated.
    complaint: Option<String>,
}

impl<I: Replaceable + 'static> Reload<I> {
    pub(crate) fn new(runtime: &Runtime, sources: Sources, current: Pems, identity: I) -> Reload<I> {
        Reload { runtime: runtime.clone(), sources, identity, current, found: None, complaint: None }
    }

    /// Judges the first material, and follows the files as long as the shard runs.
    pub(crate) fn start(self, material: &Material) {
        self.judge_first(material);
        self.identity.files().not_after.set(material.not_after());
        if self.sources.have_files() {
            let runtime = self.runtime.clone();
            drop(runtime.spawn(Group::Maintenance, self.follow()));
        }
    }

    /// Warns of a certificate that others will refuse. The node starts all the same: what needs none of them works.
    fn judge_first(&self, material: &Material) {
        let Some(flaw) = I::flaw(material, self.runtime.wall_clock_micros()) else { return };
        if self.runtime.shard() == ShardId(0) {
            let (file, judges) = (self.sources.certificate.name(), I::JUDGES);
            tracing::warn!(file, %flaw, "own TLS certificate fails validation; {judges} will refuse it");
        }
    }

    async fn follow(mut self) {
        loop {
            let is_asked = self.runtime.timeout(LOOK, self.identity.files().asked.notified()).await.is_ok();
            self.look(is_asked).await;
        }
    }

    /// Looks at the files. `is_whole`: no one writes them, and their bytes count at once.
    async fn look(&mut self, is_whole: bool) {
        let pems = match self.sources.read(&self.runtime).await {
            Ok(pems) => pems,
            Err(error) => return self.complain(error.to_string()),
        };
        if pems == self.current {
            (self.found, self.complaint) = (None, None);
            return;
        }
        if !is_whole && self.found.as_ref() != Some(&pems) {
            self.found = Some(pems);
            return;
        }
        let material = match Material::parse(&pems) {
            Ok(material) => material,
            Err(error) => return self.complain(error.to_string()),
        };
        if let Some(flaw) = I::flaw(&material, self.runtime.wall_clock_micros()) {
            return self.complain(format!("the certificate in {} fails validation: {flaw}", pems.certificate.name));
        }
        self.identity.replace(&material);
        let files = self.identity.files();
        files.reloads.set(files.reloads.get() + 1);
        files.not_after.set(material.not_after());
        self.current = pems;
        (self.found, self.complaint) = (None, None);
        let (file, peers) = (&self.current.certificate.name, I::PEERS);
        match self.runtime.shard() {
            ShardId(0) => tracing::info!(file, peers, "TLS certificates reloaded; new connections use them"),
            _ => tracing::debug!(file, peers, "TLS certificates reloaded"),
        }
    }

    fn complain(&mut self, reason: String) {
        if self.complaint.as_ref() == Some(&reason) {
            return;
        }
        let (files, peers) = (self.identity.files(), I::PEERS);
        files.failures.set(files.failures.get() + 1);
        match self.runtime.shard() {
            ShardId(0) => tracing::error!(%reason, peers, "cannot reload TLS certificates; keeping those in use"),
            _ => tracing::debug!(%reason, peers, "cannot reload TLS certificates"),
        }
        self.complaint = Some(reason);
    }
}
