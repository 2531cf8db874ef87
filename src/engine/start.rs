//! Starting the interpreter, with the code that runs inside it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::brood::Brood;
use super::process::{Process, lost};
use super::protocol::{Ask, Done, RootReply};
use super::stream::{pair, pipe};
use super::task::{EngineError, Settings};
use super::wall::{self, WallHead};
use crate::step::Digest;

/// The modules of the worker, which import one another by name.
const MODULES: [(&str, &str); 40] = [
    ("arrays", include_str!("worker/arrays.py")),
    ("bytecode", include_str!("worker/bytecode.py")),
    ("calls", include_str!("worker/calls.py")),
    ("changes", include_str!("worker/changes.py")),
    ("closure", include_str!("worker/closure.py")),
    ("codec", include_str!("worker/codec.py")),
    ("compiled", include_str!("worker/compiled.py")),
    ("decimals", include_str!("worker/decimals.py")),
    ("errors", include_str!("worker/errors.py")),
    ("evidence", include_str!("worker/evidence.py")),
    ("files", include_str!("worker/files.py")),
    ("held", include_str!("worker/held.py")),
    ("hidden", include_str!("worker/hidden.py")),
    ("imports", include_str!("worker/imports.py")),
    ("inside", include_str!("worker/inside.py")),
    ("ipython", include_str!("worker/ipython.py")),
    ("kernel", include_str!("worker/kernel.py")),
    ("libraries", include_str!("worker/libraries.py")),
    ("lookups", include_str!("worker/lookups.py")),
    ("magics", include_str!("worker/magics.py")),
    ("module", include_str!("worker/module.py")),
    ("names", include_str!("worker/names.py")),
    ("packages", include_str!("worker/packages.py")),
    ("piece", include_str!("worker/piece.py")),
    ("placed", include_str!("worker/placed.py")),
    ("process", include_str!("worker/process.py")),
    ("rebuild", include_str!("worker/rebuild.py")),
    ("referred", include_str!("worker/referred.py")),
    ("shown", include_str!("worker/shown.py")),
    ("sets", include_str!("worker/sets.py")),
    ("sink", include_str!("worker/sink.py")),
    ("space", include_str!("worker/space.py")),
    ("standard", include_str!("worker/standard.py")),
    ("state_of_modules", include_str!("worker/state_of_modules.py")),
    ("uses", include_str!("worker/uses.py")),
    ("walk", include_str!("worker/walk.py")),
    ("wall", include_str!("worker/wall.py")),
    ("warned", include_str!("worker/warned.py")),
    ("wire", include_str!("worker/wire.py")),
    ("worker", include_str!("worker/worker.py")),
];
const BOOTSTRAP: &str = include_str!("worker/bootstrap.py");
/// Counts up when the engine's own side (not the modules above) comes to record, or to judge records, in another way.
const JUDGED_BY: u8 = 1;

/// Stands for the way in which executions are recorded and values kept. What was recorded in another way is no record:
/// what it says of a step may be less than what counts now, and the digests in it may stand for other things.
pub fn rules() -> Digest {
    static RULES: LazyLock<Digest> = LazyLock::new(|| {
        let modules = MODULES.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        Digest::of_parts(modules.chain([[JUDGED_BY].as_slice()]))
    });
    *RULES
}

/// What interpreters made of the modules, by their path: another start of the same one need not compile them again.
/// It comes from before any step ran and goes to no other interpreter, so it gives nobody a power that he had not.
static COMPILED: Mutex<BTreeMap<PathBuf, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

fn compiled() -> MutexGuard<'static, BTreeMap<PathBuf, Arc<[u8]>>> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The note that tells where the vault has the same, for the next command on the run.
const NOTE: &str = "worker";

/// What an interpreter made of the modules at an earlier start.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// Those that the modules follow: see [`rules`].
    rules: Digest,
    python: PathBuf,
    /// The blob that holds it.
    code: Digest,
}

/// What `python` made of the modules earlier, here or by what the run's vault vouches for; nothing where that is not known.
/// The interpreter itself looks whether it is of its kind.
fn made_earlier(settings: &Settings) -> Arc<[u8]> {
    let held = compiled().get(&settings.python).cloned();
    held.unwrap_or_else(|| {
        let vault = &settings.vault;
        let kept = vault.note(NOTE).and_then(|note| serde_json::from_slice::<Kept>(&note).ok());
        let kept = kept.filter(|kept| kept.rules == rules() && kept.python == settings.python);
        // The note is vouched for, and what it names is known by its content.
        let code = kept.and_then(|kept| vault.blob(&kept.code).filter(|code| Digest::of(code) == kept.code));
        code.unwrap_or_default().into()
    })
}

fn keep(made: Vec<u8>, settings: &Settings) {
    let code = settings.vault.put_blob(&made);
    if let Ok(note) = serde_json::to_vec(&Kept { rules: rules(), python: settings.python.clone(), code }) {
        settings.vault.put_note(NOTE, &note);
    }
    compiled().insert(settings.python.clone(), made.into());
}

/// What a root is made for, besides its settings.
pub(super) struct Place<'a> {
    /// A directory of the engine's own.
    pub(super) base: &'a Path,
    /// The run's temporary directory.
    pub(super) tmp: &'a Path,
    pub(super) environment: &'a BTreeMap<OsString, OsString>,
    /// What steps are kept behind; nothing where everything is allowed.
    pub(super) wall: Option<WallHead>,
}

impl Process {
    /// Starts the interpreter and makes it the root of the run.
    pub(super) fn start(settings: &Settings, place: &Place<'_>) -> Result<(Self, RootReply), EngineError> {
        let (ours, theirs) = pair()?;
        let (out, out_write) = pipe()?;
        let (err, err_write) = pipe()?;
        let (life, life_write) = pipe()?;
        let python = &settings.python;
        let mut command = Command::new(python);
        command
            .args(["-s", "-c", BOOTSTRAP])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(out_write))
            .stderr(Stdio::from(err_write))
            .env_clear()
            .envs(place.environment)
            .current_dir(&settings.dir);
        if place.wall.is_some() {
            command.env("TMPDIR", place.tmp).env("MPLCONFIGDIR", place.tmp.join("matplotlib"));
        }
        let child = command.spawn().map_err(|error| EngineError {
            what: format!("the interpreter {} can't be started: {error}", python.display()),
            hint: Some("install python3 (3.9 or later), or name one with --python or `python` in reweave.toml".into()),
        })?;
        let pid = i32::try_from(child.id()).unwrap_or_default();
        let mut root = Self {
            socket: ours,
            stdout: out,
            stderr: err,
            pid,
            child: Some(child),
            _lifeline: Some(life_write),
            brood: Brood::of(pid),
            has_wall: place.wall.is_some(),
            warden: None,
        };
        let reply = root.introduce(settings, place, &life);
        match reply {
            Ok(reply) => Ok((root, reply)),
            Err(error) => {
                let said = root.said();
                let hint = said.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
                Err(EngineError {
                    what: format!("{} did not start as an interpreter: {}", python.display(), error.what),
                    hint: hint.or(error.hint),
                })
            }
        }
    }

    /// Sends the worker's own code and makes it the root.
    fn introduce(&mut self, settings: &Settings, place: &Place<'_>, life: &OwnedFd) -> Result<RootReply, EngineError> {
        let modules: BTreeMap<&str, &str> = MODULES.into_iter().collect();
        let sources = serde_json::to_vec(&modules).map_err(|e| lost("the worker's code", &e))?;
        let length = u32::try_from(sources.len()).unwrap_or_default().to_le_bytes();
        self.write_all(&length)?;
        self.write_all(&sources)?;
        let known = made_earlier(settings);
        self.write_all(&u32::try_from(known.len()).unwrap_or_default().to_le_bytes())?;
        self.write_all(&known)?;
        let (_, made): (Done, Vec<u8>) = self.answer_with_data()?;
        if !made.is_empty() {
            keep(made, settings);
        }
        let ignored: Vec<String> = settings.ignore.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let spool = wall::spool(place.base);
        let ask = Ask::SetUp {
            dir: &settings.dir.to_string_lossy(),
            spool: &spool.to_string_lossy(),
            seed: settings.seed,
            ignored: &ignored,
            open_files: settings.open_files,
            file_size: settings.file_size,
            wall: place.wall.as_ref(),
        };
        self.ask(&ask, &[], &[life.as_fd()])?;
        self.answer()
    }

    /// What came on the standard streams without a step running: the interpreter's own complaints.
    fn said(&self) -> String {
        let mut text = Vec::new();
        for fd in [&self.stdout, &self.stderr] {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = rustix::io::read(fd, &mut buffer) {
                text.extend_from_slice(buffer.get(..count).unwrap_or_default());
                if text.len() > 64 << 10 {
                    break;
                }
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}
