//! How a run is executed: its settings, put together once at the edge.

use std::path::PathBuf;
use std::sync::Arc;

use super::book::Book;
use super::calls::StoreCalls;
use super::vault::StoreVault;
use super::{Failure, Options};
use crate::agent::{AgentCommand, NoAnswer};
use crate::engine::{Leaves, Memory, MemoryVault, OnError, Settings, Surroundings, Vault, rules};
use crate::run::{
    AgentSettings, Area, CONFIG_FILE, Config, ConfigProblem, Decision, Interpreter, Origin, PATCHES, RunDir, STORE_DIR,
    UserDirs, choose_interpreter, show,
};
use crate::store::{Key, Store};

/// The settings of a run, and what is wrong with them.
#[derive(Debug)]
pub(super) struct Setup {
    /// All settings.
    pub config: Config,
    /// The interpreter, or why there is none.
    python: Result<Interpreter, Failure>,
    /// Whether somebody is there to answer what steps ask.
    answered: bool,
    /// Where the user's own things are.
    pub user: Option<UserDirs>,
}

impl Setup {
    /// Reads the settings of `dir`, those of `options` being stronger.
    ///
    /// # Errors
    /// When a limit of the options can't be understood.
    pub(super) fn load(dir: &RunDir, options: &Options) -> Result<Self, Failure> {
        let user = UserDirs::from_env();
        let mut flags = Vec::new();
        for limit in &options.limits {
            let (name, value) = limit.split_once('=').ok_or_else(|| Failure {
                what: format!("--limit {limit}: a limit is KEY=VALUE"),
                hint: Some("for example `--limit time=30s`, `--limit memory=2GB`".to_owned()),
            })?;
            let name = match name.trim() {
                "time" => "timeout",
                "output" => "output_limit",
                name => name,
            };
            flags.push((name.to_owned(), value.trim().to_owned()));
        }
        if let Some(python) = &options.python {
            flags.push(("python".to_owned(), python.to_string_lossy().into_owned()));
        }
        let config = Config::load(dir, user.as_ref(), flags);
        let python = choose_interpreter(dir, &config, user.as_ref())
            .map_err(|error| Failure { hint: Some(error.hint().to_owned()), what: error.to_string() });
        Ok(Self { config, python, user, answered: options.answered })
    }

    /// What follows from a failed step.
    pub(super) fn on_error(&self) -> OnError {
        self.config.on_error
    }

    /// Whether no engine can be started with them.
    pub(super) fn is_amiss(&self) -> bool {
        self.config.errors().next().is_some() || self.python.is_err()
    }

    /// The interpreter to look at texts with: any will do.
    pub(super) fn parser(&self) -> PathBuf {
        self.python.as_ref().map_or_else(|_| PathBuf::from("python3"), |found| found.path.clone())
    }

    /// Has what a run finds be told to the book, as an engine would find it; where none can be started, nothing is known.
    pub(super) fn look_around(&self, book: &mut Book, calls: &Arc<StoreCalls>) {
        let store = book.store().another().ok();
        let settings = store.and_then(|store| self.engine(book.dir(), store, Arc::clone(calls)).ok());
        if let Some(settings) = settings {
            book.look_around(Surroundings::of(&settings), settings.vault);
        }
    }

    /// What an engine is started with; `store` is a handle of its own.
    ///
    /// # Errors
    /// When a setting is wrong or there is no interpreter.
    pub(super) fn engine(&self, dir: &RunDir, store: Store, calls: Arc<StoreCalls>) -> Result<Settings, Failure> {
        if let Some(problem) = self.config.errors().next() {
            return Err(Failure { what: problem.to_string(), hint: Some(remedy(problem)) });
        }
        let python = self.python.as_ref().map_err(Clone::clone)?.path.clone();
        let vault: Arc<dyn Vault> = match self.key() {
            // Another reweave may keep values in another way.
            Some(key) => Arc::new(StoreVault::new(store, key, format!("{} {}", python.display(), rules()))),
            // What would be unpickled tomorrow must be marked, and there is nothing to mark it with.
            None => Arc::new(MemoryVault::default()),
        };
        Ok(Settings {
            dir: dir.path().to_owned(),
            python,
            seed: self.config.seed,
            timeout: self.config.limits.timeout,
            output_limit: self.config.limits.output.map_or(u64::MAX, |limit| limit.of(total_memory())),
            memory: self.config.limits.memory.map(|set| Memory { set, bytes: set.of(free_memory()) }),
            processes: Some(self.config.limits.processes),
            open_files: Some(self.config.limits.open_files),
            file_size: self.config.limits.file_size.map(|limit| limit.of(u64::MAX)),
            threads: self.config.threads,
            checkpoint_memory: Some(
                self.config.checkpoint_memory.map_or(total_memory() / 4, |share| share.of(total_memory())),
            ),
            answered: self.answered,
            ignore: [STORE_DIR, PATCHES, CONFIG_FILE].iter().map(PathBuf::from).collect(),
            vault,
            calls,
            policy: self.config.policy.clone(),
            asker: None,
            leaves: Leaves::default(),
        })
    }

    /// The user's key, where there is one.
    pub(super) fn key(&self) -> Option<Key> {
        self.user.as_ref().and_then(|user| Key::of_user(user).ok())
    }

    /// The program that answers agentic functions, or why there is none. What a step asks leaves the run with it: who
    /// named the program gave leave for that, unless the policy denies to start it.
    pub(super) fn agent(&self, dir: &RunDir) -> Result<AgentCommand, String> {
        let AgentSettings { command, timeout, .. } = &self.config.agent;
        let Some(program) = command.first() else {
            return Err(format!("{}: name one as `agent.command` in reweave.toml", NoAnswer::NoProgram));
        };
        if self.config.policy.decide(Area::Process, program) == Decision::Deny {
            return Err(format!("the policy does not let this run start {program}"));
        }
        Ok(AgentCommand { words: command.clone(), timeout: *timeout, dir: dir.path().to_owned() })
    }

    /// What a person should know of the settings.
    pub(super) fn notices(&self) -> Vec<String> {
        let mut notices: Vec<String> = self.config.problems.iter().map(ToString::to_string).collect();
        if let Ok(Interpreter { passed_over: Some(passed), .. }) = &self.python {
            let environment = show(&passed.environment);
            notices.push(format!("{environment} is not used until it is approved: reweave config --approve"));
        }
        notices.extend(self.waits());
        notices
    }

    /// What the run's file asks for in vain, unless somebody said otherwise by hand.
    pub(super) fn waits(&self) -> Option<String> {
        let by_hand = |name: &str| matches!(self.config.origin(name), Some(Origin::Flag | Origin::Environment { .. }));
        let mut asks =
            self.config.waiting.iter().filter(|waiting| !by_hand(&waiting.name)).map(|waiting| &waiting.asks);
        let first = asks.next()?;
        let more = match asks.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        Some(format!(
            "{CONFIG_FILE} asks for {first}{more}, not in force until you approve it: reweave config --approve"
        ))
    }
}

/// What to do about a wrong setting.
fn remedy(problem: &ConfigProblem) -> String {
    match (&problem.file, problem.line) {
        (Some(file), _) => format!("correct {}; `reweave config` lists the settings", file.display()),
        (None, _) => "`reweave config` lists the settings".to_owned(),
    }
}

/// Memory of the machine in bytes; 4 GiB where it can't be told.
fn total_memory() -> u64 {
    memory("MemTotal:").unwrap_or(4 << 30)
}

/// What may be had without pushing anything out, in bytes.
fn free_memory() -> u64 {
    memory("MemAvailable:").unwrap_or(2 << 30)
}

/// A line of what Linux says of memory, in bytes.
fn memory(what: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(what))?.trim().strip_suffix("kB")?.trim();
    Some(line.parse::<u64>().ok()? << 10)
}
