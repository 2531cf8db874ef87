//! Settings: from the defaults, the user's file, the run's own file, the environment and flags, in this order.
//!
//! # Architecture
//!
//! - [`Config`]: every setting as a typed value, and for each where it comes from ([`Origin`]).
//! - [`Key`], [`KEYS`]: the table of settings. `reweave config`, the environment's variables and what an unknown
//!   setting was likely meant to be all come from it.
//! - [`Policy`]: what steps may do. A run's own file can only tighten it.
//! - [`Waiting`]: what a run's file asks for that counts only once the user approved that file as it is.
//! - [`ConfigProblem`]: what is wrong, with file and line; the rest counts all the same.

mod file;
mod key;
mod origin;
mod policy;
mod raw;
mod resolve;
mod settings;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

pub use self::key::{KEYS, Key, Value};
pub use self::origin::{ConfigProblem, Origin, Setting, Severity, Waiting};
pub(crate) use self::policy::normal;
pub use self::policy::{Area, Decision, Layer, Opening, Policy, Preset, Rule};
pub use self::raw::RawTable;
pub use self::resolve::Sources;
pub use self::settings::{AgentSettings, Limits, RunSettings, UiSettings, VerifySettings};
use super::dir::RunDir;
use super::home::UserDirs;
use super::problem::plain;
use super::read::{ReadFault, read_within};
use super::trust::{Claim, Subject, Trust};
use super::units::Size;
use crate::step::{Digest, OnError};

/// The largest file of settings that is read, in bytes.
const LIMIT: u64 = 1 << 20;

/// Every setting.
#[derive(Debug, Clone)]
pub struct Config {
    /// The interpreter that was chosen by hand, if one was.
    pub python: Option<String>,
    /// What follows from a failed step.
    pub on_error: OnError,
    /// Seeds `random`, numpy's generator and `PYTHONHASHSEED`.
    pub seed: u32,
    /// Threads of BLAS and OpenMP.
    pub threads: u32,
    /// What steps may use.
    pub limits: Limits,
    /// Memory that checkpoints may hold; a share is of all memory.
    pub checkpoint_memory: Option<Size>,
    /// What is no step, and whether only patches may change steps.
    pub run: RunSettings,
    /// What steps may do.
    pub policy: Policy,
    /// What must pass before a patch is accepted.
    pub verify: VerifySettings,
    /// Who is asked for patches.
    pub agent: AgentSettings,
    /// The screen.
    pub ui: UiSettings,
    /// `[keys]` of the user's file, which the screen reads.
    pub keys: Option<RawTable>,
    /// `[themes]` of the user's file.
    pub themes: Option<RawTable>,
    /// What the run's file asks for and does not get without an approval.
    pub waiting: Vec<Waiting>,
    /// What approving the run's file as it is would be; `None` where it asks for nothing.
    pub claim: Option<Claim>,
    /// What is wrong with the files, the environment or the flags.
    pub problems: Vec<ConfigProblem>,
    settings: BTreeMap<&'static str, Setting>,
}

impl Config {
    /// Reads the settings for a run. `flags` are names of settings and their values, as of `--limit` and the like.
    /// Nothing here fails: see [`Config::problems`].
    pub fn load(run: &RunDir, user: Option<&UserDirs>, flags: Vec<(String, String)>) -> Self {
        let mut problems = Vec::new();
        let mut sources = Sources {
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            flags,
            ..Sources::default()
        };
        let mut refuse = |file: PathBuf, message: String| {
            problems.push(ConfigProblem { severity: Severity::Error, file: Some(file), line: None, message });
        };
        if let Some(path) = user.map(UserDirs::config_file) {
            match std::fs::read(&path) {
                Ok(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => sources.user = Some((path, text)),
                    Err(_) => refuse(path, "it is not UTF-8: save it as UTF-8".to_owned()),
                },
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => refuse(path, format!("it can't be read: {}", plain(&error))),
            }
        }
        let mut claim = None;
        let own = Path::new(super::CONFIG_FILE);
        match read_within(run.path(), own, LIMIT) {
            Ok((bytes, _)) => {
                let subject = Subject::Config;
                claim = Some(Claim { run: run.path().to_owned(), subject, content: Digest::of(&bytes) });
                match String::from_utf8(bytes) {
                    Ok(text) => sources.run = Some((own.to_owned(), text)),
                    Err(_) => refuse(own.to_owned(), "it is not UTF-8: save it as UTF-8".to_owned()),
                }
            }
            Err(ReadFault::Gone) => {}
            Err(ReadFault::Directory) => refuse(own.to_owned(), "it is a directory: rename it".to_owned()),
            Err(ReadFault::TooLarge(_)) => refuse(own.to_owned(), "it is over 1 MB: no settings are".to_owned()),
            Err(ReadFault::Problem(kind)) => refuse(own.to_owned(), format!("{kind}; {}", kind.remedy())),
        }
        let trust = user.map(Trust::new);
        sources.approved = trust.zip(claim.as_ref()).is_some_and(|(trust, claim)| trust.approval(claim).is_granted());
        let mut config = Self::resolve(&sources);
        if !problems.is_empty() {
            // What an unreadable file would have refused is not known.
            let sealed = Layer { preset: Some(Preset::Sealed), ..Layer::default() };
            config.policy = Policy::new(sealed, Vec::new());
        }
        config.problems.splice(0..0, problems);
        config.claim = claim.filter(|_| sources.approved || !config.waiting.is_empty());
        config
    }

    /// Every setting of [`KEYS`], in their order, with where it comes from.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Key, &Setting)> {
        KEYS.iter().filter_map(|key| Some((key, self.settings.get(key.name)?)))
    }

    /// Where a setting's value comes from.
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.settings.get(name).map(|setting| &setting.origin)
    }

    /// The problems for which a command should not go on.
    pub fn errors(&self) -> impl Iterator<Item = &ConfigProblem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::resolve(&Sources::default())
    }
}

#[cfg(test)]
mod tests;
