//! What a user approved of a run that came from elsewhere, pinned to what was approved.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::home::UserDirs;
use crate::step::{Digest, Millis};

/// What of a run a user may approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// What the run's `reweave.toml` asks for beyond tightening: an interpreter, an agent, looser limits or policy.
    Config,
    /// The virtual environment beside the run.
    Environment,
}

/// Something that needs an approval: what, of which run, and with which content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The run's directory, absolute and without symbolic links.
    pub run: PathBuf,
    /// What.
    pub subject: Subject,
    /// Hash of what is approved. With another content the approval is gone.
    pub content: Digest,
}

/// How a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Approved as it is.
    Granted {
        /// When.
        at: Millis,
    },
    /// Never approved.
    Missing,
    /// Approved once, with another content.
    Outdated {
        /// When.
        at: Millis,
    },
}

impl Approval {
    /// Whether it is approved as it is.
    pub fn is_granted(self) -> bool {
        matches!(self, Self::Granted { .. })
    }
}

/// The approvals that a user gave, kept in the user's own directory.
#[derive(Debug, Clone)]
pub struct Trust {
    dir: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    run: PathBuf,
    subject: Subject,
    content: Digest,
    at: Millis,
}

impl Trust {
    /// The approvals of this user.
    pub fn new(dirs: &UserDirs) -> Self {
        Self { dir: dirs.state().join("trust") }
    }

    /// How a claim stands. What can't be read is not approved.
    pub fn approval(&self, claim: &Claim) -> Approval {
        let kept = fs::read(self.file(claim)).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        match kept.filter(|kept| kept.run == claim.run && kept.subject == claim.subject) {
            None => Approval::Missing,
            Some(kept) if kept.content == claim.content => Approval::Granted { at: kept.at },
            Some(kept) => Approval::Outdated { at: kept.at },
        }
    }

    /// Approves a claim as it is now.
    ///
    /// # Errors
    /// When the user's directory can't be written.
    pub fn approve(&self, claim: &Claim, at: Millis) -> io::Result<()> {
        UserDirs::make_private(&self.dir)?;
        let kept = Kept { run: claim.run.clone(), subject: claim.subject, content: claim.content, at };
        let path = self.file(claim);
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&temporary, serde_json::to_vec(&kept)?)?;
        fs::rename(&temporary, &path)
    }

    /// Takes an approval back.
    ///
    /// # Errors
    /// When the user's directory can't be written.
    pub fn revoke(&self, claim: &Claim) -> io::Result<()> {
        match fs::remove_file(self.file(claim)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self, claim: &Claim) -> PathBuf {
        let subject: &[u8] = match claim.subject {
            Subject::Config => b"config",
            Subject::Environment => b"environment",
        };
        let name = Digest::of_parts([claim.run.as_os_str().as_encoded_bytes(), subject]);
        self.dir.join(format!("{name}.json"))
    }
}

/// The key with which saved values are signed: made at the first use, and only the user may read it.
///
/// # Errors
/// When it can't be read or made, or is not as it was made.
pub fn signing_key(dirs: &UserDirs) -> io::Result<[u8; 32]> {
    let path = dirs.state().join("key");
    let read = || -> io::Result<[u8; 32]> {
        let mut key = [0; 32];
        let mut file = fs::File::open(&path)?;
        file.read_exact(&mut key)?;
        Ok(key)
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_key(dirs.state(), &path)?;
            read()
        }
        other => other,
    }
}

/// Makes the key whole under another name and links it in place: of two processes that do so at once, one wins.
fn make_key(dir: &Path, path: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    UserDirs::make_private(dir)?;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!(".key-{}-{count}.tmp", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(&key)?;
    file.sync_all()?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_holds_for_one_content_of_one_run() {
        let dir = tempfile::tempdir().unwrap();
        let trust = Trust::new(&UserDirs::at(dir.path()));
        let claim = Claim { run: "/runs/a".into(), subject: Subject::Config, content: Digest::of("x") };
        assert_eq!(trust.approval(&claim), Approval::Missing);
        trust.approve(&claim, 7).unwrap();
        assert_eq!(trust.approval(&claim), Approval::Granted { at: 7 });
        let changed = Claim { content: Digest::of("y"), ..claim.clone() };
        assert_eq!(trust.approval(&changed), Approval::Outdated { at: 7 });
        let other_run = Claim { run: "/runs/b".into(), ..claim.clone() };
        let other_subject = Claim { subject: Subject::Environment, ..claim.clone() };
        assert_eq!(trust.approval(&other_run), Approval::Missing);
        assert_eq!(trust.approval(&other_subject), Approval::Missing);
        trust.revoke(&claim).unwrap();
        trust.revoke(&claim).unwrap();
        assert_eq!(trust.approval(&claim), Approval::Missing);
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_made_once_and_only_for_the_user() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let dirs = UserDirs::at(dir.path());
        let keys: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| signing_key(&dirs).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]) && keys[0] != [0; 32]);
        let mode = fs::metadata(dirs.state().join("key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(dirs.state().join("key"), "short").unwrap();
        assert!(signing_key(&dirs).is_err());
    }
}
