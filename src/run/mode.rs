//! Permissions of files and directories, as far as they are other than those that new ones get: only such are worth a word.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// Read, write and execute for all, with the bits for set-user-id, set-group-id and sticky.
const PERMISSIONS: u32 = 0o7777;

/// What this process takes away from the permissions of files that it makes.
fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        // To ask the kernel by `umask(2)` would set it for a moment, for all threads.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let told = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        told.and_then(|told| u32::from_str_radix(told.trim(), 8).ok()).unwrap_or(0o022)
    })
}

/// Which permissions are usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    File,
    Directory,
}

impl Node {
    /// The permissions that a new one gets.
    fn usual(self) -> u32 {
        let all = if self == Self::Directory { 0o777 } else { 0o666 };
        all & !umask()
    }

    /// The permissions in `mode` (as in `st_mode`); `None` if a new one would have the same.
    pub(crate) fn unusual(self, mode: u32) -> Option<u32> {
        let permissions = mode & PERMISSIONS;
        (permissions != self.usual()).then_some(permissions)
    }

    /// Gives it these permissions; `None` are the usual ones.
    pub(crate) fn set(self, path: &Path, mode: Option<u32>) -> io::Result<()> {
        #[cfg(unix)]
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode.unwrap_or(self.usual())))?;
        Ok(())
    }
}

/// The permissions of what `meta` tells of, `None` if they are the usual ones; always where a system has none of this kind.
pub(crate) fn of(meta: &fs::Metadata) -> Option<u32> {
    let node = if meta.is_dir() { Node::Directory } else { Node::File };
    #[cfg(unix)]
    return node.unusual(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()));
    #[cfg(not(unix))]
    return None;
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_unusual_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "").unwrap();
        let mode = |path| of(&fs::metadata(path).unwrap());
        assert_eq!(mode(&path), None);
        Node::File.set(&path, Some(0o751)).unwrap();
        assert_eq!(mode(&path), Some(0o751));
        Node::File.set(&path, None).unwrap();
        assert_eq!(mode(&path), None);
        let path = dir.path().join("inner");
        fs::create_dir(&path).unwrap();
        assert_eq!(mode(&path), None);
        Node::Directory.set(&path, Some(0o711)).unwrap();
        assert_eq!(mode(&path), Some(0o711));
    }
}
