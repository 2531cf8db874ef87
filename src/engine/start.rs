//! Starting the interpreter, with the code that runs inside it.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::brood::Brood;
use super::process::{Process, lost};
use super::protocol::{Ask, Done, RootReply};
use super::stream::{pair, pipe};
use super::task::{EngineError, Settings};
use super::wall::{self, WallHead};
use crate::run::{Area, Decision};
use crate::step::Digest;

/// The modules of the worker, which import one another by name.
const MODULES: [(&str, &str); 34] = [
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
    ("shown", include_str!("worker/shown.py")),
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

/// Variables that an interpreter can't do without, whatever the policy says of the environment.
const ALWAYS_THERE: [&str; 10] =
    ["PATH", "HOME", "LANG", "LC_*", "TZ", "TERM", "USER", "LOGNAME", "LD_LIBRARY_PATH", "PYTHON*"];

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
    /// Digest of the modules' own text.
    sources: Digest,
    python: PathBuf,
    /// The blob that holds it.
    code: Digest,
}

/// What `python` made of the modules earlier, here or by what the run's vault vouches for; nothing where that is not known.
/// The interpreter itself looks whether it is of its kind.
fn made_earlier(sources: &Digest, settings: &Settings) -> Arc<[u8]> {
    let held = compiled().get(&settings.python).cloned();
    held.unwrap_or_else(|| {
        let vault = &settings.vault;
        let kept = vault.note(NOTE).and_then(|note| serde_json::from_slice::<Kept>(&note).ok());
        let kept = kept.filter(|kept| kept.sources == *sources && kept.python == settings.python);
        // The note is vouched for, and what it names is known by its content.
        let code = kept.and_then(|kept| vault.blob(&kept.code).filter(|code| Digest::of(code) == kept.code));
        code.unwrap_or_default().into()
    })
}

fn keep(made: Vec<u8>, sources: Digest, settings: &Settings) {
    let code = settings.vault.put_blob(&made);
    if let Ok(note) = serde_json::to_vec(&Kept { sources, python: settings.python.clone(), code }) {
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
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            let always = ALWAYS_THERE
                .iter()
                .any(|kept| name == *kept || kept.strip_suffix('*').is_some_and(|k| name.starts_with(k)));
            if !always && settings.policy.decide(Area::Environment, &name) != Decision::Allow {
                command.env_remove(&variable);
            }
        }
        command
            .args(["-s", "-c", BOOTSTRAP])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(out_write))
            .stderr(Stdio::from(err_write))
            .env("PYTHONHASHSEED", settings.seed.to_string())
            .env("PYTHONIOENCODING", "utf-8:surrogateescape")
            .env("PYTHONUNBUFFERED", "")
            .env_remove("PYTHONSTARTUP")
            .env_remove("PYTHONINSPECT")
            .current_dir(&settings.dir);
        if place.wall.is_some() {
            command.env("TMPDIR", place.tmp).env("MPLCONFIGDIR", place.tmp.join("matplotlib"));
        }
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"] {
            if std::env::var_os(variable).is_none() {
                command.env(variable, settings.threads.to_string());
            }
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
        let digest = Digest::of(&sources);
        let known = made_earlier(&digest, settings);
        self.write_all(&u32::try_from(known.len()).unwrap_or_default().to_le_bytes())?;
        self.write_all(&known)?;
        let (_, made): (Done, Vec<u8>) = self.answer_with_data()?;
        if !made.is_empty() {
            keep(made, digest, settings);
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
