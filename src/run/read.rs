//! Reading a file of the run: whole, never through a link out of it, never waiting.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::problem::{ProblemKind, plain};

/// Why a file of the run was not read.
#[derive(Debug)]
pub(super) enum ReadFault {
    /// It is not there any more.
    Gone,
    /// It is a directory.
    Directory,
    /// It is larger than asked for.
    TooLarge(Box<Metadata>),
    /// It can't be used.
    Problem(ProblemKind),
}

/// Reads a file of the run, whole, and its metadata as of the reading. Never blocks on a pipe, never follows a link out
/// of the run.
pub(super) fn read_within(root: &Path, path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), ReadFault> {
    // A writer may be at it: what is not touched meanwhile is whole.
    for _ in 0..3 {
        let mut file = open_within(root, path)?;
        let before = file.metadata().map_err(|error| fault(&error))?;
        if before.is_dir() {
            return Err(ReadFault::Directory);
        }
        if !before.is_file() {
            return Err(ReadFault::Problem(ProblemKind::NotAFile(what_it_is(&before))));
        }
        if before.len() > limit {
            return Err(ReadFault::TooLarge(Box::new(before)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default() + 1);
        file.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| fault(&error))?;
        let after = file.metadata().map_err(|error| fault(&error))?;
        if bytes.len() as u64 == after.len() && before.modified().ok() == after.modified().ok() {
            return Ok((bytes, after));
        }
    }
    // Still being written: told as it is at the end of the last look, and looked at again when the writer is done.
    let mut bytes = Vec::new();
    let mut file = open_within(root, path)?;
    file.by_ref().take(limit).read_to_end(&mut bytes).map_err(|error| fault(&error))?;
    let metadata = file.metadata().map_err(|error| fault(&error))?;
    Ok((bytes, metadata))
}

/// The real path of something in the run, refused when it leads out.
pub(super) fn resolve(root: &Path, path: &Path) -> Result<PathBuf, ReadFault> {
    let full = root.join(path);
    let real = match fs::canonicalize(&full) {
        Ok(real) => real,
        Err(error) => {
            let dangling = fs::symlink_metadata(&full).is_ok_and(|found| found.is_symlink());
            return Err(match error.kind() {
                io::ErrorKind::NotFound if dangling => ReadFault::Problem(ProblemKind::LinkDangling),
                _ => fault(&error),
            });
        }
    };
    if real.starts_with(root) {
        Ok(real)
    } else {
        let directory = real.is_dir();
        Err(ReadFault::Problem(ProblemKind::LinkOutside { target: real, directory }))
    }
}

/// Opens a file of the run without following a link out of it, even one that is made at this moment where the kernel
/// can see to that. Never waits, as it would for the other end of a pipe.
fn open_within(root: &Path, path: &Path) -> Result<File, ReadFault> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = open_beneath(root, path) {
        return Ok(file);
    }
    // Why it failed is found out here, and links with an absolute target within the run are followed.
    let real = resolve(root, path)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options.open(real).map_err(|error| fault(&error))
}

/// `openat2` with `RESOLVE_BENEATH`; older kernels and some sandboxes refuse it.
#[cfg(target_os = "linux")]
fn open_beneath(root: &Path, path: &Path) -> rustix::io::Result<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
    let within = open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat2(within, path, flags, Mode::empty(), ResolveFlags::BENEATH).map(File::from)
}

pub(super) fn fault(error: &io::Error) -> ReadFault {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadFault::Gone,
        _ if is_loop(error) => ReadFault::Problem(ProblemKind::LinkLoop),
        _ => ReadFault::Problem(ProblemKind::Unreadable(plain(error))),
    }
}

fn is_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    return {
        let _ = error;
        false
    };
}

fn what_it_is(found: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return "pipe";
        } else if kind.is_socket() {
            return "socket";
        }
    }
    let _ = found;
    "device"
}
