//! A run of steps in a directory of its own, driven through the library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reweave::engine::{
    Engine, EngineError, Goal, Leaves, MemoryCalls, MemoryVault, OnError, Report, Settings, Task, Vault,
};
use reweave::run::{Policy, Preset};
use reweave::step::{Execution, Kind, StepId, Stream, VersionNumber};

/// A run in a directory of its own, with what is remembered of its steps.
pub struct Run {
    pub dir: tempfile::TempDir,
    pub vault: Arc<dyn Vault>,
    pub engine: Engine,
    pub held: BTreeMap<StepId, Vec<Arc<Execution>>>,
    pub goal: Goal,
    python: PathBuf,
}

/// What an update came to: the outcome of every step, and which were executed for being stale.
#[derive(Debug, Default)]
pub struct Told {
    pub results: BTreeMap<String, String>,
    /// What else a person sees of each step: standard error, what it showed, and where its error stands.
    pub shown: BTreeMap<String, String>,
    pub ran: Vec<String>,
    pub rebuilt: usize,
    pub blocked: Vec<String>,
}

fn settings(dir: &Path, vault: &Arc<dyn Vault>) -> Settings {
    Settings {
        dir: dir.to_owned(),
        python: "python3".into(),
        seed: 0,
        timeout: Some(Duration::from_secs(60)),
        output_limit: 1 << 20,
        memory: None,
        processes: None,
        open_files: None,
        file_size: None,
        threads: 1,
        checkpoint_memory: None,
        answered: false,
        ignore: Vec::new(),
        vault: Arc::clone(vault),
        calls: Arc::new(MemoryCalls::default()),
        policy: Policy::of(Preset::Standard),
        asker: None,
        leaves: Leaves::default(),
    }
}

impl Run {
    pub fn new(on_error: OnError) -> Self {
        Self::with(on_error, |_| {})
    }

    /// With other settings.
    pub fn with(on_error: OnError, change: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let vault: Arc<dyn Vault> = Arc::new(MemoryVault::default());
        let mut settings = settings(dir.path(), &vault);
        change(&mut settings);
        let python = settings.python.clone();
        let engine = Engine::new(settings);
        Self { dir, vault, engine, held: BTreeMap::new(), goal: Goal { on_error, ..Goal::default() }, python }
    }

    /// Ends all processes, as if the program had been started anew.
    pub fn restart(&mut self) {
        let mut settings = settings(self.dir.path(), &self.vault);
        settings.python.clone_from(&self.python);
        self.engine = Engine::new(settings);
    }

    pub fn tasks(&self, steps: &[(&str, &str)]) -> Vec<Task> {
        let task = |&(id, source): &(&str, &str)| {
            let id: StepId = id.parse().unwrap();
            Task {
                held: self.held.get(&id).cloned().unwrap_or_default(),
                id,
                kind: Kind::Step,
                source: source.into(),
                version: VersionNumber(1),
                timeout: None,
                produces: Vec::new(),
                answers: Vec::new(),
                forced: None,
            }
        };
        steps.iter().map(task).collect()
    }

    pub fn update(&mut self, steps: &[(&str, &str)]) -> Told {
        let tasks = self.tasks(steps);
        let mut told = Told::default();
        let mut made = Vec::new();
        self.engine
            .update(&tasks, &self.goal.clone(), &mut |report| match report {
                Report::Executed { execution, rebuilt } => {
                    told.results.insert(execution.step.to_string(), outcome(&execution));
                    told.shown.insert(execution.step.to_string(), shown(&execution, self.dir.path()));
                    if rebuilt {
                        told.rebuilt += 1;
                    } else {
                        told.ran.push(execution.step.to_string());
                        made.push(execution);
                    }
                }
                Report::Kept { step, execution, .. } => {
                    told.results.insert(step.to_string(), outcome(&execution));
                    told.shown.insert(step.to_string(), shown(&execution, self.dir.path()));
                }
                Report::Blocked { step, .. } => told.blocked.push(step.to_string()),
                Report::Notice(text) => unreachable!("{text}"),
                _ => {}
            })
            .unwrap();
        for execution in made {
            self.held.entry(execution.step.clone()).or_default().insert(0, execution);
        }
        told
    }

    /// Every variable right after every step, as text.
    pub fn states(&mut self, steps: &[(&str, &str)]) -> Vec<BTreeMap<String, String>> {
        steps.iter().map(|(id, _)| self.try_state(steps, id).unwrap()).collect()
    }

    /// Every variable right after one of the steps, as text.
    pub fn try_state(&mut self, steps: &[(&str, &str)], id: &str) -> Result<BTreeMap<String, String>, EngineError> {
        let tasks = self.tasks(steps);
        let goal = self.goal.clone();
        let at = tasks.iter().find(|task| task.id.as_str() == id).unwrap();
        let variables = self.engine.state(&tasks, &goal, &at.id, &[])?;
        let told = variables.into_iter().filter(|v| !v.repr.contains(" at 0x"));
        Ok(told.map(|variable| (variable.name, variable.repr)).collect())
    }
}

pub fn outcome(execution: &Execution) -> String {
    let error = execution.error.as_ref().map(|e| format!("{}: {}", e.type_name, e.message));
    format!("{} {:?}", execution.output.text(Stream::Stdout), error)
}

fn shown(execution: &Execution, dir: &Path) -> String {
    let displays: Vec<&str> = execution.displays.iter().map(|display| display.repr.as_str()).collect();
    let place = execution.error.as_ref().map(|error| {
        let stack = error.stack.iter().map(|line| format!("{} {} {}", line.file, line.line, line.text));
        (error.line, error.columns, stack.collect::<Vec<_>>())
    });
    let text = format!("{:?} {displays:?} {place:?}", execution.output.text(Stream::Stderr));
    let parts: Vec<_> =
        text.split(" at 0x").map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit())).collect();
    parts.concat().replace(&*dir.to_string_lossy(), "")
}
