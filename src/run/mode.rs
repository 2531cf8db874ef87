//! Permissions of files, as far as they are other than those that a new file gets: only such are worth a word.

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

/// The permissions of a regular file in `mode` (as in `st_mode`); `None` if a new file would have the same.
pub(crate) fn unusual(mode: u32) -> Option<u32> {
    let permissions = mode & PERMISSIONS;
    (permissions != 0o666 & !umask()).then_some(permissions)
}

/// The permissions of a file, `None` if they are the usual ones; always where a system has none of this kind.
pub(crate) fn of(meta: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    return unusual(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()));
    #[cfg(not(unix))]
    return None;
}

/// Gives a file these permissions; `None` are the usual ones.
pub(crate) fn set(path: &Path, mode: Option<u32>) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode.unwrap_or(0o666 & !umask())))?;
    Ok(())
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
        set(&path, Some(0o751)).unwrap();
        assert_eq!(mode(&path), Some(0o751));
        set(&path, None).unwrap();
        assert_eq!(mode(&path), None);
    }
}
