//! The first superuser of a cluster: made by the first start whose clients log in, and by no other.
//!
//! A password that is drawn is written to a file before its hash is proposed, so no crash leaves a superuser whose password is unknown. Of several nodes one proposal
//! wins; the others remove their files. States: `docs/internals/access.md#the-first-superuser`.

use std::io;
use std::path::{Path, PathBuf};

use auth::{Credentials, PasswordHash};
use login::{Hasher, Overloaded};
use query::{Engine, propose_first_superuser};
use runtime::{AlignedBuf, OpenOptions, Runtime, fill_secret};

use super::NodeError;
use crate::config::AccessConfig;

/// The file with the password, in the data folder.
const FILE: &str = "initial-superuser";
/// Letters that no one takes for another.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Letters of a password: 120 bits.
const PASSWORD_LETTERS: usize = 24;
/// The line before the password.
const PASSWORD: &str = "password: ";
/// The most bytes of the file that are read: a name and a password.
const FILE_BYTES_MAX: u64 = 4096;

/// The start of a node whose clients log in.
pub(super) struct FirstSuperuser<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) access: &'a AccessConfig,
    pub(super) data_dir: &'a Path,
    pub(super) engine: &'a Engine,
    pub(super) hasher: &'a Hasher,
}

impl FirstSuperuser<'_> {
    /// Makes the superuser, unless one was ever made. Waits for the cluster's group.
    pub(super) async fn ensure(&self) -> Result<(), NodeError> {
        if self.engine.access().state().is_bootstrap_done() {
            return self.forget_unless_valid().await;
        }
        match &self.access.superuser_hash {
            Some(hash) => {
                if self.propose(hash).await {
                    tracing::info!(
                        role = self.access.superuser,
                        "created the first superuser, with the configured password"
                    );
                }
                self.forget_unless_valid().await
            }
            None => self.with_drawn_password().await,
        }
    }

    async fn with_drawn_password(&self) -> Result<(), NodeError> {
        // One that was written before a crash may have been proposed already.
        let password = match self.written_password().await? {
            Some(password) => password,
            None => {
                let password = self.draw()?;
                self.write(&password).await.map_err(|source| self.failed(source))?;
                password
            }
        };
        let hash = self.hash(password).await?;
        if self.propose(&hash).await {
            let file = self.path();
            tracing::warn!(
                role = self.access.superuser,
                file = %file.display(),
                "created the first superuser; its password is in this file: log in, change it, and delete the file"
            );
            return Ok(());
        }
        self.forget_unless_valid().await
    }

    /// Removes a file whose password is not that of the superuser: another node's proposal won, or the password was changed.
    async fn forget_unless_valid(&self) -> Result<(), NodeError> {
        let Some(password) = self.written_password().await? else { return Ok(()) };
        let name = self.access.superuser.clone();
        let hash = self.engine.access().state().hash_to_verify(&name);
        if self.is_of(hash, Credentials { name, password }).await? {
            return Ok(());
        }
        let removed = self.runtime.remove_file(&self.path()).await;
        removed.map_err(|source| self.failed(source))?;
        tracing::info!(file = %self.path().display(), "removed the file with the first superuser's password; it is not valid");
        Ok(())
    }

    async fn propose(&self, hash: &PasswordHash) -> bool {
        propose_first_superuser(self.engine, &self.access.superuser, hash).await
    }

    async fn hash(&self, password: String) -> Result<PasswordHash, NodeError> {
        self.hasher.hash(None, password).await.map_err(overloaded)
    }

    async fn is_of(&self, hash: PasswordHash, credentials: Credentials) -> Result<bool, NodeError> {
        self.hasher.verify_own(hash, credentials).await.map_err(overloaded)
    }

    fn draw(&self) -> Result<String, NodeError> {
        let mut bytes = [0; PASSWORD_LETTERS];
        fill_secret(self.runtime, &mut bytes).map_err(|source| self.failed(source))?;
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(byte % ALPHABET.len() as u8)]);
        Ok(bytes.iter().map(letter).collect())
    }

    /// The password in the file; `None` if there is no file, or one that was cut short.
    async fn written_password(&self) -> Result<Option<String>, NodeError> {
        let bytes = match self.runtime.read_file_at_most(&self.path(), FILE_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.failed(source)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let password = text.lines().find_map(|line| line.strip_prefix(PASSWORD));
        Ok(password.filter(|password| password.len() == PASSWORD_LETTERS && text.ends_with('\n')).map(str::to_owned))
    }

    /// Writes the file, and waits until it outlasts a power cut.
    async fn write(&self, password: &str) -> io::Result<()> {
        let options =
            OpenOptions { write: true, create: true, truncate: true, is_private: true, ..OpenOptions::default() };
        let file = self.runtime.open(&self.path(), options).await?;
        let text = format!("role: {}\n{PASSWORD}{password}\n", self.access.superuser.escape_debug());
        file.write_at(AlignedBuf::from(text.as_bytes()), 0).await.0?;
        file.sync_all().await?;
        self.runtime.sync_dir(self.data_dir).await
    }

    fn path(&self) -> PathBuf {
        self.data_dir.join(FILE)
    }

    fn failed(&self, source: io::Error) -> NodeError {
        NodeError::FirstSuperuser { file: self.path(), source }
    }
}

fn overloaded(error: Overloaded) -> NodeError {
    NodeError::Shard { sentence: format!("cannot create the first superuser: {error}") }
}
