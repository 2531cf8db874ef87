//! One owner for a run: a lock and a socket in the user's runtime directory.
//!
//! Whoever changes things in a run owns it. A second workbench or command learns who does and speaks to it through
//! the socket. The lock is the kernel's, on an open file: it ends with its process however that ends, so a dead
//! owner's run can be taken over at once. It does not lie in the run, where a step could reach it, and the name
//! comes from the directory's identity, so that it holds whatever path leads there and however long that is.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::run::UserDirs;
use crate::step::Millis;

/// What came of asking for a run.
#[derive(Debug)]
pub enum Claim {
    /// It is ours until the ownership is dropped.
    Ours(Ownership),
    /// Another process owns it.
    Taken(Incumbent),
}

/// The process that owns a run, as it wrote of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incumbent {
    /// Its process.
    pub pid: u32,
    /// The name of its machine: the user's directories may lie on a shared disk.
    pub host: String,
    /// Where it listens.
    pub socket: PathBuf,
    /// Since when it owns the run.
    pub since: Millis,
}

/// Why a run could not be claimed.
#[derive(Debug, thiserror::Error)]
#[error("the lock of the run at {}: {error}", path.display())]
pub struct OwnerError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub error: io::Error,
}

impl OwnerError {
    /// What a person may do about it.
    pub fn hint(&self) -> String {
        match self.path.parent() {
            Some(directory) => format!("see that {} can be written, or set XDG_RUNTIME_DIR", directory.display()),
            None => "set XDG_RUNTIME_DIR to a directory that can be written".to_owned(),
        }
    }
}

#[cfg(unix)]
pub use unix::{Ownership, claim};

#[cfg(unix)]
mod unix {
    use std::fs::{self, File};
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::Duration;

    use rustix::fs::{FlockOperation, OFlags, flock};
    use rustix::io::Errno;

    use super::{Claim, Incumbent, Millis, OwnerError, Path, PathBuf, UserDirs, io};
    use crate::step::Digest;

    /// That this process owns a run.
    #[derive(Debug)]
    pub struct Ownership {
        /// Held for its lock.
        _lock: File,
        path: PathBuf,
        listener: UnixListener,
        me: Incumbent,
    }

    impl Ownership {
        /// Where others connect.
        pub fn listener(&self) -> &UnixListener {
            &self.listener
        }

        /// What others are told of this process.
        pub fn me(&self) -> &Incumbent {
            &self.me
        }
    }

    impl Drop for Ownership {
        fn drop(&mut self) {
            // Both go while the lock is still held; a process that waits for it looks whether its file is there.
            let _ = fs::remove_file(&self.me.socket);
            let _ = fs::remove_file(&self.path);
        }
    }

    impl Incumbent {
        /// Opens a connection to the owner.
        ///
        /// # Errors
        /// When it does not listen, any more or on this machine.
        pub fn connect(&self) -> io::Result<UnixStream> {
            UnixStream::connect(&self.socket)
        }
    }

    /// Asks for the run in `run_dir`, now being `now`.
    ///
    /// # Errors
    /// When the run or the user's runtime directory can't be used.
    pub fn claim(run_dir: &Path, dirs: &UserDirs, now: Millis) -> Result<Claim, OwnerError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| OwnerError { path, error }
        };
        let run = fs::metadata(run_dir).map_err(at(run_dir))?;
        let identity = Digest::of_parts([run.dev().to_le_bytes().as_slice(), &run.ino().to_le_bytes()]);
        let runtime = dirs.runtime();
        UserDirs::make_private(&runtime).map_err(at(&runtime))?;
        let path = runtime.join(format!("{}.lock", identity.short()));
        // A lock file can go away between opening and locking it, and its owner may not have written of itself yet.
        for _ in 0..TRIES {
            let mut file = fs::OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)
                .map_err(at(&path))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path) => {
                    let (socket, listener) = listen(&runtime, &identity).map_err(at(&path))?;
                    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
                    let me = Incumbent { pid: std::process::id(), host, socket, since: now };
                    write(&mut file, &me).map_err(at(&path))?;
                    return Ok(Claim::Ours(Ownership { _lock: file, path, listener, me }));
                }
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => match read(&mut file) {
                    Some(incumbent) => return Ok(Claim::Taken(incumbent)),
                    None => std::thread::sleep(Duration::from_millis(5)),
                },
                Err(error) => return Err(at(&path)(error.into())),
            }
        }
        Err(at(&path)(io::Error::new(io::ErrorKind::TimedOut, "its owner does not say who it is")))
    }

    /// How often to look again: with the waits in between, a second.
    const TRIES: usize = 200;

    /// Room for a socket's path: 104 bytes on some systems, with the closing NUL.
    const SOCKET_PATH: usize = 103;

    /// Whether `file` is what stands at `path`.
    fn is_at(file: &File, path: &Path) -> bool {
        match (file.metadata(), fs::symlink_metadata(path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }

    fn write(file: &mut File, me: &Incumbent) -> io::Result<()> {
        let text = serde_json::to_vec(me)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&text)
    }

    fn read(file: &mut File) -> Option<Incumbent> {
        let mut text = String::new();
        file.take(64 << 10).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// A socket of our own; one that a dead owner left is removed. The lock is held.
    fn listen(runtime: &Path, identity: &Digest) -> io::Result<(PathBuf, UnixListener)> {
        let name = format!("{}.sock", identity.short());
        let mut path = runtime.join(&name);
        if path.as_os_str().len() > SOCKET_PATH {
            path = short_place()?.join(&name);
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        Ok((path, listener))
    }

    /// A directory with a short path that is the user's alone, where the runtime directory's is too long.
    fn short_place() -> io::Result<PathBuf> {
        let user = rustix::process::geteuid().as_raw();
        let path = PathBuf::from(format!("/tmp/reweave-{user}"));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // Anybody may make things in /tmp.
        let found = fs::symlink_metadata(&path)?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} is not this user's alone", path.display()),
            ));
        }
        Ok(path)
    }
}

/// That this process owns a run. Where steps are not executed, nobody else asks for it.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Ownership(());

/// Asks for the run in `run_dir`.
///
/// # Errors
/// Never here.
#[cfg(not(unix))]
pub fn claim(_run_dir: &Path, _dirs: &UserDirs, _now: Millis) -> Result<Claim, OwnerError> {
    Ok(Claim::Ours(Ownership(())))
}
