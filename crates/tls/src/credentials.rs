//! Certificates of a node for other nodes, as the configuration has them, and how a shard makes its identity of them.

use runtime::Runtime;

use crate::contexts::Options;
use crate::identity::Identity;
use crate::material::Material;
use crate::material_error::MaterialError;
use crate::pem::Pems;
use crate::reload::Reload;
use crate::source::Sources;

/// All that shards make their identities of: plain data, which was checked before any shard runs.
#[derive(Debug, Clone)]
pub struct Credentials {
    sources: Sources,
    pems: Pems,
    options: Options,
}

impl Credentials {
    /// Checks what was read from the sources.
    pub fn new(sources: Sources, pems: Pems, options: Options) -> Result<Credentials, MaterialError> {
        assert!(pems.trusted.is_some(), "nodes judge each other");
        Material::parse(&pems)?;
        Ok(Credentials { sources, pems, options })
    }

    /// How sessions are made.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Where the PEM is.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The identity of the runtime's shard, which follows changes of the files from now on, as long as the shard runs.
    pub fn identity(&self, runtime: &Runtime) -> Identity {
        let material = Material::parse(&self.pems).expect("the same PEM was parsed before");
        let identity = Identity::new(&material, self.options);
        Reload::new(runtime, self.sources.clone(), self.pems.clone(), identity.clone()).start(&material);
        identity
    }
}
