//! Patches run on the side: each in an engine of its own beside the untouched run, several at once.
//!
//! [`run`] is called on the engine's thread and gives a [`Ran`] for each candidate; [`view`] puts what it did beside what
//! stood before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::update::status_of;
use super::{GateView, TrialStep, TrialView, ValueChange};
use crate::engine::{Aside, Engine, EngineError, Goal, Isolation, Report, StopHandle, Task};
use crate::patch::review::Review;
use crate::patch::weakenings;
use crate::step::{Digest, Execution, FileChange, Kind, PatchId, Status, StepId, Variable};

/// A choice of a patch to be tried.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub patch: PatchId,
    pub choice: Vec<FileChange>,
    /// The run with it.
    pub tasks: Vec<Task>,
    pub goal: Goal,
}

/// Candidates that are tried at once.
#[derive(Debug)]
pub(super) struct Bench {
    /// The run as it is.
    pub base: Vec<Task>,
    /// What of it must be known first, where it is not up to date.
    pub unknown: Option<Goal>,
    pub candidates: Vec<Candidate>,
    /// A program that must pass.
    pub command: Vec<String>,
}

/// How a step stood, and the execution that says so.
pub(super) type Stood = (Status, Option<Arc<Execution>>);

/// What a run on the side gave.
#[derive(Debug, Clone, Default)]
pub(super) struct Ran {
    /// How each step that was come to stands.
    pub steps: BTreeMap<StepId, Stood>,
    /// Steps whose code was executed because they were stale.
    pub executed: BTreeSet<StepId>,
    /// Variables that have another value, as they are with the patch and without.
    pub values: BTreeMap<StepId, Vec<ValueChange>>,
    /// Why it could not be kept from the run's files by the system.
    pub unisolated: Option<String>,
    pub duration_us: u64,
    /// How the program ended that must pass: nothing if it passed.
    pub command: Option<Result<(), String>>,
}

/// What trying several candidates gave.
#[derive(Debug)]
pub(super) struct Tried {
    /// How the run stands without any of them, where that had to be found out.
    pub before: Option<Ran>,
    pub candidates: Vec<(Candidate, Result<Ran, EngineError>)>,
}

/// What one run on the side gave, and the engine that it was run in.
type Attempt = Result<(Ran, Aside), EngineError>;

/// What stops the runs on the side.
pub(super) type Stops = Arc<Mutex<Vec<StopHandle>>>;

/// Most steps, and names of each, whose values are told.
const VALUED: (usize, usize) = (24, 12);
/// Most characters of a value.
const SHORT: usize = 200;
/// The longest that a program may take that must pass.
const LONGEST: Duration = Duration::from_secs(600);

/// Tries candidates, as many at once as the machine has processors.
pub(super) fn run(engine: &mut Engine, bench: Bench, stops: &Stops) -> Result<Tried, EngineError> {
    let before = match &bench.unknown {
        Some(goal) => {
            let mut aside = engine.aside(&bench.base)?;
            Some(update(&mut aside, &bench.base, goal, stops)?)
        }
        None => None,
    };
    let at_once = thread::available_parallelism().map_or(1, std::num::NonZero::get).clamp(1, 4);
    let mut queue = bench.candidates;
    let mut done = Vec::new();
    while !queue.is_empty() {
        let rest = queue.split_off(at_once.min(queue.len()));
        let started: Vec<(Candidate, Result<Aside, EngineError>)> = std::mem::replace(&mut queue, rest)
            .into_iter()
            .map(|one| {
                let aside = engine.aside(&one.tasks);
                (one, aside)
            })
            .collect();
        let finished: Vec<(Candidate, Attempt)> = thread::scope(|scope| {
            let command = &bench.command;
            let threads: Vec<_> = started
                .into_iter()
                .map(|(candidate, aside)| {
                    let copy = candidate.clone();
                    (copy, scope.spawn(move || aside.and_then(|aside| attempt(&candidate, aside, command, stops))))
                })
                .collect();
            let lost = || EngineError {
                what: "the trial failed at a fault of its own".to_owned(),
                hint: Some("please report this, with the patch".to_owned()),
            };
            threads.into_iter().map(|(one, thread)| (one, thread.join().unwrap_or_else(|_| Err(lost())))).collect()
        });
        for (candidate, result) in finished {
            let ran = result.map(|(mut ran, mut aside)| {
                ran.values = values(engine, &bench.base, before.as_ref(), &candidate, &ran, &mut aside);
                ran
            });
            done.push((candidate, ran));
        }
    }
    stops.lock().unwrap_or_else(PoisonError::into_inner).clear();
    Ok(Tried { before, candidates: done })
}

fn attempt(candidate: &Candidate, mut aside: Aside, command: &[String], stops: &Stops) -> Attempt {
    lay(aside.directory(), &candidate.choice)?;
    let mut ran = update(&mut aside, &candidate.tasks, &candidate.goal, stops)?;
    if let [program, arguments @ ..] = command {
        ran.command = Some(check(program, arguments, aside.directory(), &aside.stop_handle()));
    }
    Ok((ran, aside))
}

/// Puts the changed files into the copy of the run.
fn lay(copy: &Path, files: &[FileChange]) -> Result<(), EngineError> {
    let real = copy.canonicalize().unwrap_or_else(|_| copy.to_owned());
    for file in files {
        let path = copy.join(&file.path);
        let failed = |error: std::io::Error| EngineError {
            what: format!("{} can't be put into the copy of the run: {error}", file.path),
            hint: Some("a trial works on a copy of the run's directory, in TMPDIR".to_owned()),
        };
        // A link in the copy may lead to the run itself.
        let parent = path.parent().unwrap_or(copy);
        if let Some(above) = parent.ancestors().find(|above| above.exists())
            && !above.canonicalize().is_ok_and(|above| above.starts_with(&real))
        {
            return Err(EngineError {
                what: format!("{} lies behind a link: it can't be tried on the side", file.path),
                hint: Some("accept it, and take it back if it is not right".to_owned()),
            });
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        if let Some(text) = &file.result {
            fs::create_dir_all(parent).map_err(failed)?;
            fs::write(&path, text).map_err(failed)?;
        }
    }
    Ok(())
}

fn update(aside: &mut Aside, tasks: &[Task], goal: &Goal, stops: &Stops) -> Result<Ran, EngineError> {
    stops.lock().unwrap_or_else(PoisonError::into_inner).push(aside.stop_handle());
    let begun = Instant::now();
    let mut ran = Ran::default();
    if let Isolation::Copy { why } = aside.isolation() {
        ran.unisolated = Some(why.clone());
    }
    // An empty goal would be everything.
    if !goal.steps.is_empty() {
        aside.update(tasks, goal, &mut |report| match report {
            Report::Executed { execution, rebuilt } => {
                if !rebuilt {
                    ran.executed.insert(execution.step.clone());
                }
                ran.steps.insert(execution.step.clone(), (status_of(&execution), Some(execution)));
            }
            Report::Kept { step, execution, .. } => {
                ran.steps.insert(step, (status_of(&execution), Some(execution)));
            }
            Report::Blocked { step, .. } => {
                ran.steps.insert(step, (Status::Blocked, None));
            }
            _ => {}
        })?;
    }
    ran.duration_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(ran)
}

/// Runs the program that must pass, in the copy of the run.
fn check(program: &str, arguments: &[String], copy: &Path, stop: &StopHandle) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{program} can't be started: {error}");
    let mut output = tempfile::tempfile().map_err(wrong)?;
    let to = |output: &File| output.try_clone().map(Stdio::from);
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(copy)
        .stdin(Stdio::null())
        .stdout(to(&output).map_err(wrong)?)
        .stderr(to(&output).map_err(wrong)?)
        .spawn()
        .map_err(wrong)?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() > LONGEST || stop.is_stopped() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} was stopped after {} s", begun.elapsed().as_secs()));
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("{program}: {error}")),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    let _ = output.seek(SeekFrom::Start(0)).and_then(|_| output.take(1 << 20).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(format!("{program} ended with {status}: {}", short(last)))
}

/// The variables that a candidate changes, told in short from both sides.
fn values(
    engine: &mut Engine,
    base: &[Task],
    before: Option<&Ran>,
    candidate: &Candidate,
    ran: &Ran,
    aside: &mut Aside,
) -> BTreeMap<StepId, Vec<ValueChange>> {
    let remembered = |tasks: &[Task], ran: &Ran| -> Vec<Task> {
        let with = |task: &Task| {
            let mut task = task.clone();
            if let Some((_, Some(execution))) = ran.steps.get(&task.id) {
                task.held.insert(0, Arc::clone(execution));
                task.forced = None;
            }
            task
        };
        tasks.iter().map(with).collect()
    };
    let tasks = remembered(&candidate.tasks, ran);
    let base = remembered(base, before.unwrap_or(&Ran::default()));
    let goal = Goal { on_error: candidate.goal.on_error, ..Goal::default() };
    let mut all = BTreeMap::new();
    for task in &tasks {
        if all.len() >= VALUED.0 || !ran.executed.contains(&task.id) {
            continue;
        }
        let Some((_, Some(after))) = ran.steps.get(&task.id) else { continue };
        let old = base.iter().find(|old| old.id == task.id).and_then(|old| old.held.first());
        let names = differing(old, after);
        if names.is_empty() {
            continue;
        }
        let tell = |found: Result<Vec<Variable>, EngineError>| found.unwrap_or_default();
        let now = tell(aside.state(&tasks, &goal, &task.id, &names));
        let then = match old {
            Some(_) => tell(engine.state(&base, &goal, &task.id, &names)),
            None => Vec::new(),
        };
        let find = |found: &[Variable], name: &String| found.iter().find(|one| one.name == *name).cloned();
        let changes: Vec<ValueChange> = names
            .iter()
            .filter_map(|name| change(name, find(&then, name).as_ref(), find(&now, name).as_ref()))
            .collect();
        if !changes.is_empty() {
            all.insert(task.id.clone(), changes);
        }
    }
    all
}

/// Names whose value after a step is another than it was.
fn differing(old: Option<&Arc<Execution>>, new: &Execution) -> Vec<String> {
    let digest = |execution: &Execution, name: &str| -> Option<Digest> {
        execution.observation.writes.get(name).and_then(|written| written.as_ref().map(|written| written.digest))
    };
    let mut names: BTreeSet<&str> = new.observation.writes.keys().map(|name| &**name).collect();
    names.extend(old.iter().flat_map(|old| old.observation.writes.keys()).map(|name| &**name));
    let differs = |name: &&str| {
        let was = old.and_then(|old| digest(old, name));
        !name.starts_with('@') && !name.starts_with("__") && was != digest(new, name)
    };
    names.into_iter().filter(differs).take(VALUED.1).map(str::to_owned).collect()
}

/// How a variable changed, in short: where both values are long, from where they differ on. Nothing where nobody could
/// tell them apart, and for code, which the patch itself shows.
fn change(name: &str, before: Option<&Variable>, after: Option<&Variable>) -> Option<ValueChange> {
    let code = ["function", "builtin_function_or_method", "module", "type"];
    let is_code = |variable: Option<&Variable>| variable.is_none_or(|v| code.contains(&v.type_name.as_str()));
    if is_code(before) && is_code(after) {
        return None;
    }
    let repr = |variable: Option<&Variable>| variable.map(|variable| variable.repr.clone()).unwrap_or_default();
    let (old, new) = (repr(before), repr(after));
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    let from = if same > SHORT / 2 { same - SHORT / 4 } else { 0 };
    let form = |variable: &Variable| {
        let text: String = variable.repr.chars().skip(from).collect();
        let text = format!("{}{}", if from > 0 { "…" } else { "" }, short(&text));
        match &variable.shape {
            Some(shape) => format!("{} {shape} {text}", variable.type_name),
            None => text,
        }
    };
    let (before, after) = (before.map(form), after.map(form));
    (before != after).then(|| ValueChange { name: name.to_owned(), before, after })
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(SHORT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// What stood before a trial.
pub(super) struct Before<'a> {
    /// How a step stood.
    pub stood: &'a dyn Fn(&StepId) -> Option<Stood>,
    /// The steps that must pass.
    pub gates: &'a [StepId],
    /// The program that must.
    pub command: &'a [String],
}

/// What a candidate did, beside what stood before.
pub(super) fn view(candidate: &Candidate, ran: &Ran, before: &Before<'_>) -> TrialView {
    let mut view = TrialView {
        isolated: ran.unisolated.is_none(),
        duration_us: ran.duration_us,
        stale: candidate.goal.steps.iter().filter(|step| ran.executed.contains(*step)).cloned().collect(),
        ..TrialView::default()
    };
    for weakening in weakenings(&Review::new(&candidate.choice)) {
        view.remarks.push(format!("it {weakening}"));
    }
    if let Some(why) = &ran.unisolated {
        view.remarks.push(format!("run on a copy, not isolated by the system: {why}"));
    }
    for task in &candidate.tasks {
        let Some((after, execution)) = ran.steps.get(&task.id) else { continue };
        let stood = (before.stood)(&task.id);
        let (was, held) = match &stood {
            Some((status, execution)) => (*status, execution.as_deref()),
            None => (Status::Never, None),
        };
        let step = TrialStep {
            id: task.id.clone(),
            test: task.kind == Kind::Test,
            before: was,
            after: *after,
            output_before: held.map(shown).unwrap_or_default(),
            output_after: execution.as_deref().map(shown).unwrap_or_default(),
            values: ran.values.get(&task.id).cloned().unwrap_or_default(),
            effects: execution.as_deref().map(effects).unwrap_or_default(),
        };
        let same = step.before == step.after && step.output_before == step.output_after && step.values.is_empty();
        if ran.executed.contains(&task.id) || !same || (step.test && candidate.goal.steps.contains(&task.id)) {
            view.steps.push(step);
        }
    }
    for gate in before.gates {
        let status = ran.steps.get(gate).map(|(status, _)| *status);
        let why = match status {
            Some(Status::Fresh) => None,
            Some(Status::Failed) => Some(format!("{gate} fails with it")),
            Some(status) => Some(format!("{gate} is {status} with it")),
            None if candidate.tasks.iter().any(|task| task.id == *gate) => Some(format!("{gate} did not run")),
            None => Some(format!("{gate} is not in the run")),
        };
        view.gates.push(GateView { name: gate.to_string(), passed: why.is_none(), why });
    }
    if let Some(result) = &ran.command {
        let why = result.as_ref().err().cloned();
        view.gates.push(GateView { name: before.command.join(" "), passed: why.is_none(), why });
    }
    view
}

/// What a step printed and showed, and the error that ended it.
fn shown(execution: &Execution) -> String {
    let mut text: String = execution.output.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let mut push = |line: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
    };
    for display in &execution.displays {
        push(&display.repr);
    }
    if let Some(error) = &execution.error {
        let at = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        push(&format!("{}: {}{at}", error.type_name, error.message));
    }
    text
}

/// What a step did outside its namespace, in words. What it read says nothing of what it does.
fn effects(execution: &Execution) -> Vec<String> {
    let mut all: Vec<String> =
        execution.effects.iter().filter(|effect| effect.matters()).map(|effect| effect.to_string()).collect();
    all.dedup();
    all.truncate(50);
    all.extend(execution.observation.nondeterministic.iter().map(|what| format!("consulted {what}")));
    all
}

/// What is kept of a trial: what it was made on, and what it did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The choice of the patch.
    pub choice: Digest,
    /// All other sources of the run.
    pub run: Digest,
    /// What it did.
    pub view: TrialView,
}
