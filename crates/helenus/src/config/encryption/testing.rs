//! Files and configurations of this folder's tests.

#[path = "../../../../tls/src/tests/authority.rs"]
mod authority;

use std::path::PathBuf;

pub(in crate::config) use authority::{Authority, VALID};

use crate::config::{Config, Machine, Settings, file};

pub(in crate::config) fn config_of(text: &str) -> Result<Config, String> {
    let mut settings = Settings::default();
    let mut pointless = Vec::new();
    file::read("c.yaml", text, &mut settings, &mut pointless).map_err(|error| error.to_string())?;
    assert_eq!(pointless, Vec::<String>::new());
    let machine = Machine { cpus: vec![0], memory_bytes: 4 << 30 };
    settings.complete(&machine).map_err(|error| error.to_string())
}

/// Files of a test's own folder.
pub(in crate::config) struct Folder(pub(in crate::config) PathBuf);

impl Folder {
    pub(in crate::config) fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("helenus-encryption-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
        Folder(folder)
    }

    /// A line that names a file with this text.
    pub(in crate::config) fn file(&self, option: &str, text: &str) -> String {
        let path = self.0.join(option);
        std::fs::write(&path, text).expect("the file can be written");
        format!("{option}: {}", path.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
