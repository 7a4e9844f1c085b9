//! Components as files: are they there, and are their bytes those that were written.

use runtime::{OpenOptions, Runtime};
use sstable::helenus_component::HelenusComponent;
use sstable::{Component, Corrupt, checksum, toc};
use stdx::AlignedBuf;

use crate::error::ToolError;
use crate::files::Files;

const READ_BYTES: usize = 1 << 20;

/// Checks the list of components, the digest of the data, and what Helenus.db says of the others.
pub(super) async fn verify(runtime: &Runtime, files: &Files) -> Result<(), ToolError> {
    if files.has(Component::Toc).await? {
        let bytes = files.read(Component::Toc).await?;
        let path = files.path(Component::Toc);
        for name in toc::decode(&bytes).map_err(ToolError::corrupt(&path))? {
            // Others' components, such as those of secondary indexes, are none of ours.
            let Some(component) = Component::parse(name) else { continue };
            if !is_dispensable(component) && !files.has(component).await? {
                return Err(ToolError::corrupt(&path)(Corrupt::new(0, format!("lists {name}, which is missing"))));
            }
        }
    }
    if files.has(Component::Digest).await? {
        let bytes = files.read(Component::Digest).await?;
        let path = files.path(Component::Digest);
        let expected = checksum::decode_digest(&bytes).map_err(ToolError::corrupt(&path))?;
        let (given, _) = crc_of(runtime, files, Component::Data).await?;
        if expected != given {
            let what = format!("checksum of the data is {given}, expected {expected}");
            return Err(ToolError::corrupt(&path)(Corrupt::new(0, what)));
        }
    }
    if files.has(Component::Helenus).await? {
        let bytes = files.read(Component::Helenus).await?;
        let own = HelenusComponent::decode(&bytes).map_err(ToolError::corrupt(&files.path(Component::Helenus)))?;
        for sum in &own.sums {
            let (crc, length) = crc_of(runtime, files, sum.component).await?;
            if (crc, length) != (sum.crc, sum.length) {
                let what = format!(
                    "{length} bytes with checksum {crc:08x}, expected {} bytes with {:08x} (Helenus.db)",
                    sum.length, sum.crc
                );
                return Err(ToolError::corrupt(&files.path(sum.component))(Corrupt::new(0, what)));
            }
        }
    }
    Ok(())
}

/// True for components that only check others, or can be told from them: rows are read without.
fn is_dispensable(component: Component) -> bool {
    matches!(component, Component::Crc | Component::Digest | Component::Filter | Component::Summary | Component::Toc)
}

/// The checksum of all of a component, and its length.
async fn crc_of(runtime: &Runtime, files: &Files, component: Component) -> Result<(u32, u64), ToolError> {
    let path = files.path(component);
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let file = runtime.open(&path, options).await.map_err(ToolError::read(&path))?;
    let mut hasher = crc32fast::Hasher::new();
    let mut length = 0;
    let mut buffer = AlignedBuf::with_capacity(READ_BYTES);
    loop {
        let (result, read) = file.read_at(buffer, length).await;
        let count = result.map_err(ToolError::read(&path))?;
        if count == 0 {
            return Ok((hasher.finalize(), length));
        }
        hasher.update(&read);
        length += count as u64;
        buffer = read;
        buffer.clear();
    }
}
