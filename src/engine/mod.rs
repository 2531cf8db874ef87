//! Worker processes, checkpoints, carrying, limits, effects, and the replay that uses them.
//!
//! # Architecture
//!
//! - [`Engine`]: owns the interpreter processes of one run. [`Engine::update`] brings a list of [`Task`]s
//!   up to date and tells what happens as [`Report`]s; [`Engine::state`] answers what stood after a step.
//! - [`Settings`]: what is fixed while an engine lives: directory, interpreter, seed, limits.

mod task;

pub use task::{Action, EngineError, Goal, OnError, Planned, Report, Settings, StopHandle, Task};

use crate::step::{StepId, Variable};

/// The interpreter processes of one run, and the line of execution that they hold.
#[derive(Debug)]
pub struct Engine {
    #[expect(dead_code, reason = "read once processes are started")]
    settings: Settings,
    stop: StopHandle,
}

impl Engine {
    /// An engine for the run in `settings.dir`. No process is started before one is needed.
    pub fn new(settings: Settings) -> Self {
        Self { settings, stop: StopHandle::default() }
    }

    /// What stops an update from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// `CPython 3.12.1` and its path once a process was started, `None` before.
    pub fn interpreter(&self) -> Option<String> {
        None
    }

    /// How many checkpoints are held, and the memory in bytes that only they hold.
    pub fn checkpoints(&self) -> (usize, u64) {
        (0, 0)
    }

    /// Brings `tasks` (the whole run, in order) up to date as far as `goal` asks.
    ///
    /// Each step gets exactly one closing report: [`Report::Executed`], [`Report::Kept`],
    /// [`Report::Blocked`] or [`Report::NotReached`]; a step that was executed only to have its state again
    /// is told by an [`Report::Executed`] with `rebuilt`. Failed steps are no error of the update.
    ///
    /// # Errors
    /// When the interpreter can't be started or the workers can't be spoken to.
    pub fn update(&mut self, tasks: &[Task], goal: &Goal, report: &mut dyn FnMut(Report)) -> Result<(), EngineError> {
        let _ = (tasks, goal, report);
        Err(EngineError { what: "this build executes nothing yet".into(), hint: None })
    }

    /// What [`Engine::update`] would do, without doing it: for each step whether it would run, whether that
    /// is certain, and why.
    pub fn plan(&self, tasks: &[Task], goal: &Goal) -> Vec<Planned> {
        let _ = (tasks, goal);
        Vec::new()
    }

    /// The variables right after step `at`, those in `names` or all; modules, functions and classes too,
    /// dunder names not. The steps' own files and record are not touched.
    ///
    /// # Errors
    /// When `at` was never reached, or its state can't be had again.
    pub fn state(&mut self, tasks: &[Task], at: &StepId, names: &[String]) -> Result<Vec<Variable>, EngineError> {
        let _ = (tasks, at, names);
        Err(EngineError { what: "this build executes nothing yet".into(), hint: None })
    }
}
