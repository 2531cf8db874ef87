//! Executing steps from a library's side: hand over texts, get executions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Engine, EngineError, Goal, Leaves, MemoryCalls, MemoryVault, Report, Settings, StopHandle, Task};
use crate::run::{Policy, Preset};
use crate::step::{Execution, Kind, Reason, StepId, Variable, VersionNumber};

/// Most executions of a step that are remembered, so that a text that comes back finds its result.
const REMEMBERED: usize = 16;

/// Executes steps in worker processes, in one namespace, and remembers what each used and made: a step whose record
/// still holds is not executed again.
///
/// What comes back of the namespace is names with digests ([`Execution::observation`]) and short forms
/// ([`Executor::variables`]); the objects stay in the workers. Values live as long as this value does.
#[derive(Debug)]
pub struct Executor {
    engine: Engine,
    held: HashMap<StepId, Vec<Arc<Execution>>>,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Executed {
    /// Its code was executed; it may have failed.
    Ran(Arc<Execution>),
    /// An earlier execution holds.
    Kept(Arc<Execution>),
    /// It would see what a failed step should have made.
    Blocked(Reason),
    /// It was not come to: somebody stopped it.
    NotReached,
}

impl Executed {
    /// The execution that holds for the step, with its reads, its writes, each with a digest, and its output.
    pub fn execution(&self) -> Option<&Arc<Execution>> {
        match self {
            Self::Ran(execution) | Self::Kept(execution) => Some(execution),
            Self::Blocked(_) | Self::NotReached => None,
        }
    }
}

impl Task {
    /// A step of kind `step` with this text, of which nothing is remembered.
    pub fn new(id: StepId, version: VersionNumber, source: &str) -> Self {
        Self {
            id,
            kind: Kind::Step,
            source: source.into(),
            version,
            timeout: None,
            produces: Vec::new(),
            held: Vec::new(),
            answers: Vec::new(),
            forced: None,
        }
    }
}

impl Executor {
    /// Executes steps in the directory `dir` with the interpreter `python`: a path, or a name to look up. Nothing is
    /// started yet. The seed is 0, and the policy the standard one with nobody to ask.
    pub fn new(dir: &Path, python: &Path) -> Self {
        let settings = Settings {
            dir: dir.to_owned(),
            python: python.to_owned(),
            seed: 0,
            timeout: None,
            output_limit: 64 << 20,
            memory: None,
            processes: None,
            open_files: None,
            file_size: None,
            threads: 1,
            checkpoint_memory: None,
            answered: false,
            ignore: [".reweave", "patches", "reweave.toml"].iter().map(PathBuf::from).collect(),
            vault: Arc::new(MemoryVault::default()),
            calls: Arc::new(MemoryCalls::default()),
            policy: Policy::of(Preset::Standard),
            asker: None,
            leaves: Leaves::default(),
        };
        Self::with(settings)
    }

    /// The same with all settings said.
    pub fn with(settings: Settings) -> Self {
        Self { engine: Engine::new(settings), held: HashMap::new() }
    }

    /// Stops what runs, from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.engine.stop_handle()
    }

    /// Takes executions that were recorded elsewhere, newest first: those that hold are kept.
    pub fn remember(&mut self, step: StepId, executions: Vec<Arc<Execution>>) {
        self.held.insert(step, executions);
    }

    /// Brings the whole run up to date, `tasks` being all of its steps in the order of the run, and gives what became
    /// of each. What a step printed, and each name that it wrote with the digest of its value, is in its execution.
    ///
    /// # Errors
    /// When the interpreter can't be started. A step that fails is no error: its execution says so.
    pub fn execute(&mut self, tasks: &[Task]) -> Result<Vec<Executed>, EngineError> {
        let mut became: HashMap<StepId, Executed> = HashMap::new();
        let tasks = self.recall(tasks);
        self.engine.update(&tasks, &Goal::default(), &mut |report| {
            let (step, now) = match report {
                Report::Executed { execution, rebuilt: false } => (execution.step.clone(), Executed::Ran(execution)),
                Report::Kept { step, execution, .. } => match became.get(&step) {
                    // A step that was brought over after it ran stays one that ran.
                    Some(Executed::Ran(_)) => return,
                    _ => (step, Executed::Kept(execution)),
                },
                Report::Blocked { step, why } => (step, Executed::Blocked(why)),
                _ => return,
            };
            became.insert(step, now);
        })?;
        let mut done = Vec::with_capacity(tasks.len());
        for task in tasks {
            let executed = became.remove(&task.id).unwrap_or(Executed::NotReached);
            if let Executed::Ran(execution) = &executed {
                let held = self.held.entry(task.id).or_default();
                held.insert(0, Arc::clone(execution));
                held.truncate(REMEMBERED);
            }
            done.push(executed);
        }
        Ok(done)
    }

    /// The variables right after step `at`, of the run as it was executed last: names with types and short forms,
    /// never the objects. `names` are asked for, or all if there are none.
    ///
    /// # Errors
    /// When `at` was never executed, or its state can't be had again.
    pub fn variables(&mut self, tasks: &[Task], at: &StepId, names: &[String]) -> Result<Vec<Variable>, EngineError> {
        let tasks = self.recall(tasks);
        self.engine.state(&tasks, &Goal::default(), at, names)
    }

    fn recall(&self, tasks: &[Task]) -> Vec<Task> {
        let mut tasks = tasks.to_vec();
        for task in &mut tasks {
            if let Some(held) = self.held.get(&task.id) {
                task.held.clone_from(held);
            }
        }
        tasks
    }
}
