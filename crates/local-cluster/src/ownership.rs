//! Folders and files that other users cannot have prepared or changed.
//!
//! A cluster's folder has its secret, and pid files that say which processes get signals. In a folder of another user, or one that others may write to, both could be theirs.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use crate::error::LocalClusterError;
use crate::folder::failed;
use crate::system::effective_user;

/// Mode bits of other users: writing, and any access.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS: u32 = 0o077;

/// Makes a folder that only its owner may enter, and its parents as usual; no error if it is there.
pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Fails unless the folder is this user's, and no other user may write to it. `shown` is its name in messages. True if there is one.
pub(crate) fn check_folder(dir: &Path, shown: &Path) -> Result<bool, LocalClusterError> {
    let unsafe_because =
        |reason| LocalClusterError::Unsafe { path: shown.to_owned(), reason, hint: "choose another with --dir" };
    let link = match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        link => link.map_err(failed("look at", shown))?,
    };
    // A link of another user may lead elsewhere a moment later.
    if !is_own(&link) {
        return Err(unsafe_because("it belongs to another user"));
    }
    let folder = fs::metadata(dir).map_err(failed("look at", shown))?;
    match () {
        () if !folder.is_dir() => Err(unsafe_because("it is not a directory")),
        () if !is_own(&folder) => Err(unsafe_because("it belongs to another user")),
        () if folder.mode() & OTHERS_WRITE > 0 => Err(LocalClusterError::Unsafe {
            path: shown.to_owned(),
            reason: "other users may write to it",
            hint: "take that from them with chmod go-w, or choose another with --dir",
        }),
        () => Ok(true),
    }
}

/// Fails unless a file with a secret is this user's, and no other user may read it. True if there is one.
pub(crate) fn check_secret(path: &Path) -> Result<bool, LocalClusterError> {
    let unsafe_because = |reason, hint| LocalClusterError::Unsafe { path: path.to_owned(), reason, hint };
    let remove = "remove it, for the next start to make another";
    let file = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(failed("look at", path))?,
    };
    match () {
        () if !file.is_file() => Err(unsafe_because("it is not a regular file", remove)),
        () if !is_own(&file) => Err(unsafe_because("it belongs to another user", remove)),
        () if file.mode() & OTHERS > 0 => {
            Err(unsafe_because("other users have access to it", "take that from them with chmod 600"))
        }
        () => Ok(true),
    }
}

fn is_own(file: &Metadata) -> bool {
    file.uid() == effective_user()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("helenus-ownership-{}-{name}", std::process::id()));
        create_private(&path).expect("the temporary folder can be written");
        path
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn a_folder_is_its_owner_s_alone() {
        let parent = scratch("folder");
        let dir = parent.join("cluster");
        let check = || check_folder(&dir, Path::new("shown")).map_err(|error| error.to_string());
        assert_eq!(check(), Ok(false), "there is none");
        create_private(&dir).expect("its parent is ours");
        create_private(&dir).expect("it is there");
        assert_eq!(fs::metadata(&dir).expect("it is there").mode() & 0o777, 0o700);
        assert_eq!(check(), Ok(true));
        for mode in [0o720, 0o702, 0o777] {
            set_mode(&dir, mode);
            let said = check().expect_err("others may write to it");
            assert!(said.starts_with("cannot use shown: other users may write to it; take that from them"), "{said}");
        }
        fs::remove_dir_all(&parent).expect("it is ours");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        // This user's own are refused to any other one: of / one of the two is always another's.
        let (user, of_root) = (effective_user(), fs::metadata("/").expect("it is there").uid());
        if user == of_root {
            let parent = scratch("other");
            let dir = parent.join("cluster");
            create_private(&dir).expect("its parent is ours");
            std::os::unix::fs::chown(&dir, Some(65_534), None).expect("this user is root");
            assert!(check_folder(&dir, &dir).is_err());
            let link = parent.join("link");
            symlink(&parent, &link).expect("it is ours");
            assert_eq!(check_folder(&link, &link).map_err(|error| error.to_string()), Ok(true));
            std::os::unix::fs::lchown(&link, Some(65_534), None).expect("this user is root");
            let said = check_folder(&link, &link).expect_err("the link may be changed").to_string();
            assert!(said.contains("it belongs to another user"), "{said}");
            fs::remove_dir_all(&parent).expect("it is ours");
        } else {
            assert!(check_folder(Path::new("/"), Path::new("/")).is_err());
        }
    }

    #[test]
    fn a_secret_is_a_file_that_its_owner_alone_can_read() {
        let parent = scratch("secret");
        let path = parent.join("secret");
        let check = || check_secret(&path).map_err(|error| error.to_string());
        assert_eq!(check(), Ok(false));
        fs::write(&path, "x").expect("it can be written");
        set_mode(&path, 0o640);
        assert!(check().expect_err("the group can read it").ends_with("take that from them with chmod 600"));
        set_mode(&path, 0o400);
        assert_eq!(check(), Ok(true));
        let real = parent.join("real");
        fs::rename(&path, &real).expect("it is ours");
        symlink(&real, &path).expect("it is ours");
        assert!(check().expect_err("it is a link").contains("it is not a regular file"));
        fs::remove_dir_all(&parent).expect("it is ours");
    }
}
