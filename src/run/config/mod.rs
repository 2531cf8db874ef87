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
mod policy;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use toml::de::{DeTable, DeValue};

use self::file::ConfigFile;
use self::key::{FromRun, find};
pub use self::key::{KEYS, Key, Value};
pub use self::policy::{Area, Decision, Layer, Opening, Policy, Preset, Rule};
use super::dir::{ReadFault, RunDir, read_within};
use super::exclude::Exclude;
use super::home::UserDirs;
use super::problem::{plain, show};
use super::toml_text;
use super::trust::{Claim, Subject, Trust};
use super::units::Size;
use crate::step::{Digest, OnError, StepId, plain_line};

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

/// What steps may use. `None` is no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The longest that a step may take.
    pub timeout: Option<Duration>,
    /// Memory of all the steps' processes; a share is of what is free.
    pub memory: Option<Size>,
    /// Bytes of output kept of a step.
    pub output: Option<Size>,
    /// Processes and threads at once.
    pub processes: u64,
    /// Files that a process may have open.
    pub open_files: u64,
    /// The largest file that a step may write; a share is of what is free on the disk.
    pub file_size: Option<Size>,
}

/// `[run]`.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// What is no step and holds none.
    pub exclude: Exclude,
    /// Once it runs, only accepted patches change steps.
    pub locked: bool,
}

/// `[verify]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifySettings {
    /// Steps that must pass in a trial.
    pub steps: Vec<StepId>,
    /// A program and its arguments that must pass; no shell is in between.
    pub command: Vec<String>,
}

/// `[agent]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// The program that is asked, and its arguments; no shell is in between.
    pub command: Vec<String>,
    /// A second program that judges, and its arguments.
    pub reviewer: Vec<String>,
    /// The longest that one answer may take.
    pub timeout: Option<Duration>,
    /// The most tries of one repair.
    pub tries: u32,
    /// Answers asked for at once.
    pub candidates: u32,
    /// Tokens of context.
    pub budget: u64,
}

/// `[ui]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UiSettings {
    /// A theme's name, or `auto`.
    pub theme: String,
    /// Draw with ASCII only.
    pub ascii: bool,
    /// Take the mouse.
    pub mouse: bool,
    /// Wrap long lines.
    pub wrap: bool,
    /// How figures are drawn: `auto`, `kitty`, `iterm2`, `sixel`, `blocks` or `off`.
    pub images: String,
    /// Run what a saved file makes stale at once.
    pub replay_on_save: bool,
    /// The editor, where it is not the environment's.
    pub editor: Option<String>,
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// What.
    pub value: Value,
    /// From where.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// Nobody says otherwise.
    Default,
    /// The user's `config.toml`.
    User {
        /// The file.
        file: PathBuf,
        /// 1-based.
        line: usize,
    },
    /// The run's `reweave.toml`.
    Run {
        /// 1-based.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { file, line } => write!(f, "{}:{line}", show(file)),
            Self::Run { line } => write!(f, "{}:{line}", super::CONFIG_FILE),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag => f.write_str("a flag"),
        }
    }
}

/// Something that the run's file asks for and does not get without an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waiting {
    /// The setting: a key's name, or `policy`.
    pub name: String,
    /// What it asks for, as people read it.
    pub asks: String,
    /// 1-based line in the run's file.
    pub line: usize,
}

/// How grave a problem of the settings is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something has no effect.
    Warning,
    /// A value is not one; the default, or for a policy the strictest, stands in.
    Error,
}

/// Something wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// How grave.
    pub severity: Severity,
    /// Which file; `None` for the environment and flags.
    pub file: Option<PathBuf>,
    /// 1-based.
    pub line: Option<usize>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", show(file))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&plain_line(&self.message))
    }
}

/// A table that another layer reads, with the lines of what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTable {
    /// The file that it stands in.
    pub file: PathBuf,
    /// What it holds.
    pub table: toml::Table,
    /// The 1-based line of each entry, by its dotted path in the table.
    pub lines: BTreeMap<String, usize>,
}

impl RawTable {
    fn of(file: &Path, text: &str, raw: &DeTable<'_>) -> Self {
        let mut lines = BTreeMap::new();
        let table = plain_table(text, raw, "", &mut lines);
        Self { file: file.to_owned(), table, lines }
    }
}

fn plain_table(text: &str, raw: &DeTable<'_>, above: &str, lines: &mut BTreeMap<String, usize>) -> toml::Table {
    let mut table = toml::Table::new();
    for (key, value) in raw {
        let name: &str = key.get_ref();
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        lines.insert(path.clone(), toml_text::line(text, key.span()));
        if let Some(value) = plain_value(text, value.get_ref(), &path, lines) {
            table.insert(name.to_owned(), value);
        }
    }
    table
}

fn plain_value(
    text: &str,
    value: &DeValue<'_>,
    path: &str,
    lines: &mut BTreeMap<String, usize>,
) -> Option<toml::Value> {
    Some(match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(_) => toml::Value::Integer(toml_text::integer(value)?),
        DeValue::Float(_) => toml::Value::Float(toml_text::number(value)?),
        DeValue::Boolean(on) => toml::Value::Boolean(*on),
        DeValue::Datetime(at) => toml::Value::Datetime(*at),
        DeValue::Array(items) => {
            toml::Value::Array(items.iter().filter_map(|item| plain_value(text, item.get_ref(), path, lines)).collect())
        }
        DeValue::Table(table) => toml::Value::Table(plain_table(text, table, path, lines)),
    })
}

/// What settings are made of. All but the run's own file is the user's.
#[derive(Debug, Default)]
pub struct Sources {
    /// The user's `config.toml`: its path and text.
    pub user: Option<(PathBuf, String)>,
    /// The run's `reweave.toml`: its path, as it is shown, and text.
    pub run: Option<(PathBuf, String)>,
    /// Whether the user approved the run's file as it is.
    pub approved: bool,
    /// The environment: names and values.
    pub environment: Vec<(String, String)>,
    /// Flags: names of settings and values.
    pub flags: Vec<(String, String)>,
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

    /// Puts the sources together. Pure.
    pub fn resolve(sources: &Sources) -> Self {
        let read = |source: &Option<(PathBuf, String)>| {
            source.as_ref().map(|(path, text)| ConfigFile::read(path, text)).unwrap_or_default()
        };
        let (mut user, mut run) = (read(&sources.user), read(&sources.run));
        let mut problems = std::mem::take(&mut user.problems);
        problems.append(&mut run.problems);
        let mut waiting = Vec::new();
        let mut settings = BTreeMap::new();
        for key in KEYS {
            // A default is a value of its own setting: a test says so.
            let default = key.parse(key.default).unwrap_or(Value::None);
            let mut setting = Setting { value: default, origin: Origin::Default };
            if let Some((value, line)) = user.values.remove(key.name) {
                setting = Setting { value, origin: Origin::User { file: user.path.clone(), line } };
            }
            if let Some((value, line)) = run.values.remove(key.name) {
                let granted = sources.approved
                    || match key.from_run {
                        FromRun::Free => true,
                        FromRun::Lower => value.is_within(&setting.value),
                        FromRun::Tighten => file::preset(&value) >= file::preset(&setting.value),
                        FromRun::Approve => false,
                    };
                if granted {
                    setting = Setting { value, origin: Origin::Run { line } };
                } else {
                    waiting.push(Waiting { name: key.name.to_owned(), asks: format!("{} = {value}", key.name), line });
                }
            }
            override_by_hand(key, &mut setting, sources, &mut problems);
            settings.insert(key.name, setting);
        }
        for raw in [&run.keys, &run.themes].into_iter().flatten() {
            let line = raw.lines.values().min().copied();
            let message = "keys and themes are the user's own: they belong in config.toml".to_owned();
            problems.push(problem(Severity::Warning, Some(&run.path), line, message));
        }
        for (name, _) in &sources.flags {
            if find(name).is_none() {
                let near = toml_text::nearest(name, KEYS.iter().map(|key| key.name));
                let near = near.map(|near| format!(": did you mean {near:?}?")).unwrap_or_default();
                problems.push(problem(Severity::Error, None, None, format!("there is no setting {name:?}{near}")));
            }
        }
        let policy = policy(&mut user, run, &settings, sources.approved, &mut waiting);
        let (keys, themes) = (user.keys, user.themes);
        Self::typed(settings, policy, keys, themes, waiting, problems)
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

    fn typed(
        settings: BTreeMap<&'static str, Setting>,
        policy: Policy,
        keys: Option<RawTable>,
        themes: Option<RawTable>,
        waiting: Vec<Waiting>,
        mut problems: Vec<ConfigProblem>,
    ) -> Self {
        let value = |name: &str| settings.get(name).map(|setting| &setting.value);
        let text = |name: &str| match value(name) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let texts = |name: &str| match value(name) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        };
        let on = |name: &str| matches!(value(name), Some(Value::OnOff(true)));
        let whole = |name: &str| match value(name) {
            Some(Value::Whole(number)) => *number,
            _ => 0,
        };
        let small = |name: &str| u32::try_from(whole(name)).unwrap_or(u32::MAX);
        let time = |name: &str| match value(name) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        let amount = |name: &str| match value(name) {
            Some(Value::Amount(size)) => Some(*size),
            _ => None,
        };
        let exclude = texts("run.exclude");
        let exclude = Exclude::new(exclude.iter().map(String::as_str)).unwrap_or_else(|(glob, why)| {
            problems.push(problem(Severity::Error, None, None, format!("run.exclude: {glob:?} is no glob: {why}")));
            Exclude::default()
        });
        Self {
            python: text("python"),
            on_error: match text("on_error").as_deref() {
                Some("stop") => OnError::Stop,
                Some("continue") => OnError::Continue,
                _ => OnError::Block,
            },
            seed: small("seed"),
            threads: small("threads"),
            limits: Limits {
                timeout: time("timeout"),
                memory: amount("memory"),
                output: amount("output_limit"),
                processes: whole("processes"),
                open_files: whole("open_files"),
                file_size: amount("file_size"),
            },
            checkpoint_memory: amount("checkpoint_memory"),
            run: RunSettings { exclude, locked: on("run.locked") },
            policy,
            verify: VerifySettings {
                steps: texts("verify.steps").iter().filter_map(|id| id.parse().ok()).collect(),
                command: texts("verify.command"),
            },
            agent: AgentSettings {
                command: texts("agent.command"),
                reviewer: texts("agent.reviewer"),
                timeout: time("agent.timeout"),
                tries: small("agent.tries"),
                candidates: small("agent.candidates"),
                budget: whole("agent.budget"),
            },
            ui: UiSettings {
                theme: text("ui.theme").unwrap_or_else(|| "auto".to_owned()),
                ascii: on("ui.ascii"),
                mouse: on("ui.mouse"),
                wrap: on("ui.wrap"),
                images: text("ui.images").unwrap_or_else(|| "auto".to_owned()),
                replay_on_save: on("ui.replay_on_save"),
                editor: text("ui.editor"),
            },
            keys,
            themes,
            waiting,
            claim: None,
            problems,
            settings,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::resolve(&Sources::default())
    }
}

fn problem(severity: Severity, file: Option<&Path>, line: Option<usize>, message: String) -> ConfigProblem {
    ConfigProblem { severity, file: file.map(Path::to_owned), line, message }
}

/// Lets the environment and then the flags have their say.
fn override_by_hand(key: &Key, setting: &mut Setting, sources: &Sources, problems: &mut Vec<ConfigProblem>) {
    let variable = key.variable();
    let from_environment = sources
        .environment
        .iter()
        .filter(|(name, _)| *name == variable)
        .map(|(_, text)| (text, Origin::Environment { variable: variable.clone() }));
    let from_flags = sources.flags.iter().filter(|(name, _)| name == key.name).map(|(_, text)| (text, Origin::Flag));
    for (text, origin) in from_environment.chain(from_flags) {
        match key.parse(text) {
            Ok(value) => *setting = Setting { value, origin },
            Err(message) => {
                let by = match &origin {
                    Origin::Environment { variable } => format!("{variable}: "),
                    _ => String::new(),
                };
                problems.push(problem(Severity::Error, None, None, format!("{by}{message}")));
            }
        }
    }
}

/// The policy in force. `settings` hold the preset that the user chose, by file, environment or flag.
fn policy(
    user: &mut ConfigFile,
    run: ConfigFile,
    settings: &BTreeMap<&'static str, Setting>,
    approved: bool,
    waiting: &mut Vec<Waiting>,
) -> Policy {
    let mut base = std::mem::take(&mut user.policy);
    if let Some(setting) = settings.get("policy.preset")
        && !matches!(setting.origin, Origin::Run { .. })
        && !user.policy_unread
    {
        base.preset = file::preset(&setting.value);
    }
    let run_layer = run.policy;
    if run_layer == Layer::default() {
        return Policy::new(base, Vec::new());
    }
    if run_layer.loosens(&base) {
        if approved {
            // The run's word counts where it says something, the user's elsewhere.
            let mut rules = base.rules;
            rules.extend(run_layer.rules);
            return Policy::new(Layer { preset: run_layer.preset.or(base.preset), rules }, Vec::new());
        }
        for (area, rule) in &run_layer.rules {
            let alone = Layer { preset: None, rules: BTreeMap::from([(*area, rule.clone())]) };
            if alone.loosens(&base) {
                let line = run.policy_lines.get(area).copied().unwrap_or(1);
                let asks = format!("policy.{} = {rule}", area.word());
                waiting.push(Waiting { name: format!("policy.{}", area.word()), asks, line });
            }
        }
    }
    Policy::new(base, vec![run_layer])
}

#[cfg(test)]
mod tests;
