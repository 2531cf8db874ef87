//! What a run finds that is neither its steps nor its files: how the interpreter is started, the environment, where the
//! run lies, and what a step may take and do.
//!
//! The record of an execution holds where they are as they were. How the interpreter is started counts for every step, the
//! rest for those that came by it. All of it is known without starting anything.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;
use std::time::Duration;

use super::start;
use super::task::{Settings, Task};
use super::vault::Vault;
use crate::run::{Area, Decision, Size};
use crate::step::{Digest, Effect, Execution, Name, Outcome, Reason};

// Variables, by their names or (with `*`) by how these begin.

/// Those that an interpreter can't do without, whatever the policy says of the environment.
const ALWAYS_THERE: &str = "PATH HOME LANG LC_* TZ USER LOGNAME LD_LIBRARY_PATH PYTHON*";

/// Those that tell of the terminal or shell in which reweave was started, and its own settings. Steps have no terminal, and
/// what they give must not hang on where they are run from.
const NOT_HANDED_ON: &str = "_ SHLVL PWD OLDPWD TERM TERM_* TERMCAP TERMINFO COLORTERM COLORFGBG COLUMNS LINES LS_COLORS \
    TMUX TMUX_* STY WINDOW WINDOWID WT_* VTE_VERSION ITERM_* KITTY_* WEZTERM_* ALACRITTY_* GHOSTTY_* KONSOLE_* ZELLIJ* \
    SSH_CLIENT SSH_CONNECTION SSH_TTY GPG_TTY XDG_SESSION_* DESKTOP_STARTUP_ID INVOCATION_ID JOURNAL_STREAM \
    SYSTEMD_EXEC_PID REWEAVE_*";

/// Those that an interpreter, or the libraries of C below it, read as they start. None of them is a secret.
const READ_AT_START: &str = "PYTHON* TZ LANG LANGUAGE LC_* LD_* MALLOC_* GLIBC_TUNABLES OMP_* OPENBLAS_* MKL_* KMP_* BLIS_* \
    NUMEXPR_NUM_THREADS";

/// Those that a library reads as it is imported: who uses it later sees what they said.
const READ_BY_LIBRARIES: &str = "HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME MPL* MATPLOTLIBRC NUMEXPR_* NUMBA_* NPY_* \
    NUMPY_* PANDAS_* SCIPY_* SKLEARN_* JOBLIB_* CUDA_* NVIDIA_* TORCH_* PYTORCH_* TF_* XLA_* JAX_* HF_* TRANSFORMERS_* \
    POLARS_* ARROW_* DASK_* RAY_*";

/// Those that say how many threads calculate: where none does, the run's settings do.
const THREADS: [&str; 4] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"];

/// What a step that sees where the run lies names.
const NAMES_DIRECTORY: [&str; 9] =
    ["getcwd", "cwd", "abspath", "absolute", "realpath", "resolve", "__file__", "sys.path", "argv"];
/// What one that sees how nice the process is names.
const NAMES_NICENESS: [&str; 2] = ["nice", "priority"];

const ENVIRONMENT: &str = "@env:";
const DIRECTORY: &str = "@cwd";
const LIBRARIES: &str = "@libraries";
const NICENESS: &str = "@nice";
const HASH_SEED: &str = "PYTHONHASHSEED";
const LIMITS: &str = "@limits";
const POLICY: &str = "@policy";

/// What an engine's runs find.
#[derive(Debug, Clone)]
pub struct Surroundings {
    environment: BTreeMap<OsString, OsString>,
    /// Digests of all of it, and of what libraries read.
    whole: Digest,
    libraries: Digest,
    /// How the interpreter is started, a line for each thing.
    start: String,
    /// Digest of that, and whether the vault has it.
    started: Digest,
    kept: OnceLock<Digest>,
    directory: Digest,
    niceness: i32,
    policy: Digest,
    limits: [Option<u64>; 3],
    /// As it was set: a share is of what is free, and gives other bytes each time.
    memory: Option<Size>,
    timeout: Option<Duration>,
}

impl Surroundings {
    /// What is found with these settings in this process's own environment.
    pub fn of(settings: &Settings) -> Self {
        let environment = environment(settings, std::env::vars_os());
        let start = told(settings, &environment);
        Self {
            whole: digest_of(&environment, |_| true),
            libraries: digest_of(&environment, |name| matches(READ_BY_LIBRARIES, name)),
            started: Digest::of(&start),
            start,
            kept: OnceLock::new(),
            environment,
            policy: Digest::of(format!("{:?}", settings.policy)),
            directory: Digest::of(settings.dir.as_os_str().as_encoded_bytes()),
            niceness: rustix::process::getpriority_process(None).unwrap_or_default(),
            limits: [settings.processes, settings.open_files, settings.file_size],
            memory: settings.memory.map(|limit| limit.set),
            timeout: settings.timeout,
        }
    }

    /// The environment that an interpreter is started with.
    pub(super) fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// Notes in a record what the step came by. `shows_directory` where what it left tells where the run lies.
    pub(super) fn note(&self, execution: &mut Execution, task: &Task, shows_directory: bool, vault: &dyn Vault) {
        self.kept.get_or_init(|| vault.put_blob(self.start.as_bytes()));
        let names_any = |words: &[&str]| words.iter().any(|word| task.source.contains(word));
        let is_outside = execution.effects.iter().any(is_ruled);
        let failed = execution.outcome == Outcome::Failed;
        let seen = &mut execution.observation;
        seen.start = Some(self.started);
        // A variable that a step set is a value like others.
        let read = seen.reads.iter().filter(|(name, digest)| digest.is_none() && name.starts_with(ENVIRONMENT));
        let mut names: BTreeSet<Name> = read.map(|(name, _)| Name::clone(name)).collect();
        let more = [
            (ENVIRONMENT, seen.saw_prefixes.contains_key(ENVIRONMENT)),
            (DIRECTORY, shows_directory || names_any(&NAMES_DIRECTORY)),
            (LIBRARIES, !seen.packages.is_empty()),
            (NICENESS, names_any(&NAMES_NICENESS)),
            (LIMITS, failed),
            (POLICY, failed || is_outside),
        ];
        names.extend(more.into_iter().filter(|(_, counts)| *counts).map(|(name, _)| Name::from(name)));
        seen.surroundings =
            names.into_iter().map(|name| (Name::clone(&name), self.digest(&name, task.timeout))).collect();
    }

    /// What of an execution's surroundings is another now, or may be.
    pub fn changed(&self, execution: &Execution, timeout: Option<Duration>, vault: &dyn Vault) -> Option<Reason> {
        let seen = &execution.observation;
        if let Some(why) = seen.doubts.first() {
            return Some(Reason::InDoubt { why: why.clone() });
        }
        if seen.interpreter.is_some() && seen.start != Some(self.started) {
            return Some(Reason::InterpreterChanged { what: self.other_start(seen.start, vault) });
        }
        let (name, _) = seen.surroundings.iter().find(|(name, digest)| self.digest(name, timeout) != **digest)?;
        Some(Reason::AmbientChanged { what: in_words(name) })
    }

    fn digest(&self, name: &str, timeout: Option<Duration>) -> Option<Digest> {
        match name {
            DIRECTORY => Some(self.directory),
            POLICY => Some(self.policy),
            NICENESS => Some(Digest::of(self.niceness.to_string())),
            LIMITS => {
                let time = timeout.or(self.timeout).map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
                Some(Digest::of(format!("{:?} {:?} {time:?}", self.limits, self.memory)))
            }
            LIBRARIES => Some(self.libraries),
            ENVIRONMENT => Some(self.whole),
            other => {
                let value = self.environment.get(OsStr::new(other.strip_prefix(ENVIRONMENT)?))?;
                Some(Digest::of(value.as_encoded_bytes()))
            }
        }
    }

    /// In words how the interpreter was started at another time, as far as it is another.
    fn other_start(&self, then: Option<Digest>, vault: &dyn Vault) -> String {
        let then = then.and_then(|digest| vault.blob(&digest)).unwrap_or_default();
        let then = String::from_utf8_lossy(&then);
        let pairs = |text| str::lines(text).filter_map(|line| line.split_once('=')).collect::<BTreeMap<&str, &str>>();
        let (then, now) = (pairs(&then), pairs(&self.start));
        let names: BTreeSet<&str> = then.keys().chain(now.keys()).copied().collect();
        let is_other = |name: &&str| then.get(name) != now.get(name);
        let Some(name) = names.into_iter().find(is_other) else { return "another version of reweave".into() };
        match (name, then.get(name), now.get(name)) {
            (RULES, ..) | (_, None, None) => "another version of reweave".into(),
            (_, Some(then), Some(now)) => format!("{name}={then}, not {now}"),
            (_, Some(then), None) => format!("{name}={then}, which is not set now"),
            (_, None, Some(now)) => format!("no {name}, which is {now} now"),
        }
    }
}

/// Before all others in the order of their names: where this is another, nothing else can be told.
const RULES: &str = "!rules";

fn told(settings: &Settings, environment: &BTreeMap<OsString, OsString>) -> String {
    let mut lines = vec![format!("{RULES}={}", start::rules()), format!("seed={}", settings.seed)];
    lines.extend(umask().map(|mask| format!("umask={mask}")));
    for (name, value) in environment {
        // That one is the seed.
        if matches(READ_AT_START, name) && name != HASH_SEED {
            let value: String = value.to_string_lossy().escape_debug().collect();
            lines.push(format!("{}={value}", name.to_string_lossy().escape_debug()));
        }
    }
    lines.join("\n")
}

/// The permissions that files of this process, and of those that it starts, do not get; only Linux tells without a change.
fn umask() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    Some(mask.trim().to_owned())
}

fn environment(settings: &Settings, own: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    let mut found: BTreeMap<OsString, OsString> = own
        .filter(|(name, _)| !matches(NOT_HANDED_ON, name))
        .filter(|(name, _)| {
            let decision = settings.policy.decide(Area::Environment, &name.to_string_lossy());
            matches(ALWAYS_THERE, name) || decision == Decision::Allow
        })
        .collect();
    for gone in ["PYTHONSTARTUP", "PYTHONINSPECT"] {
        found.remove(OsStr::new(gone));
    }
    found.insert("TERM".into(), "dumb".into());
    found.insert("PWD".into(), settings.dir.clone().into());
    found.insert(HASH_SEED.into(), settings.seed.to_string().into());
    found.insert("PYTHONIOENCODING".into(), "utf-8:surrogateescape".into());
    found.insert("PYTHONUNBUFFERED".into(), OsString::new());
    for variable in THREADS {
        found.entry(variable.into()).or_insert_with(|| settings.threads.to_string().into());
    }
    found
}

/// A digest of the variables with such names.
fn digest_of(environment: &BTreeMap<OsString, OsString>, is_meant: impl Fn(&OsStr) -> bool) -> Digest {
    let pairs = environment.iter().filter(|(name, _)| is_meant(name)).flat_map(|(name, value)| [name, value]);
    Digest::of_parts(pairs.map(|part| part.as_encoded_bytes()))
}

/// Whether a variable is one of those that are listed.
fn matches(listed: &str, name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    listed
        .split_ascii_whitespace()
        .any(|one| name == one || one.strip_suffix('*').is_some_and(|start| name.starts_with(start)))
}

/// Whether the policy has a say in an effect, or had its say.
fn is_ruled(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Process { .. }
            | Effect::Connect { .. }
            | Effect::Resolve { .. }
            | Effect::Load { .. }
            | Effect::Refused { .. }
            | Effect::Granted { .. }
    )
}

fn in_words(name: &str) -> String {
    match name {
        DIRECTORY => "where the run lies".into(),
        LIMITS => "its limits".into(),
        POLICY => "the policy".into(),
        ENVIRONMENT => "the environment".into(),
        LIBRARIES => "a variable that libraries read as they are imported".into(),
        NICENESS => "how nice the process is".into(),
        other => super::state::hidden_in_words(other).unwrap_or_else(|| other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_known_by_name_or_beginning() {
        let is = |listed, name: &str| matches(listed, OsStr::new(name));
        assert!(is(NOT_HANDED_ON, "TERM") && is(NOT_HANDED_ON, "TERM_PROGRAM") && is(NOT_HANDED_ON, "_"));
        assert!(!is(NOT_HANDED_ON, "TERMS") && !is(NOT_HANDED_ON, "PATH") && !is(NOT_HANDED_ON, ""));
        assert!(is(READ_AT_START, "LC_ALL") && is(READ_BY_LIBRARIES, "MPLBACKEND") && !is(READ_AT_START, "LANGUAGES"));
    }
}
