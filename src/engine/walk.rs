//! Going through the steps in order: keeping what holds, running what does not, and having a process in the
//! right state for that.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use super::answers::Answers;
use super::aside::Slots;
use super::disk::Disk;
use super::execute::{Bench, execute, file_of};
use super::line::{Key, Node};
use super::look::Looked;
use super::pass::Walk;
use super::process::{Place, Process};
use super::protocol::{Ask, CompileReply, RootReply};
use super::stand::leads_to;
use super::state::Verdict;
use super::task::{Action, EngineError, Goal, Halt, OnError, Planned, Report, Settings, StopHandle, Task};
use super::vault::Vault;
use super::wall;
use crate::step::{CallFrame, Digest, Execution, FileContent, Name, Outcome, Reason, StepId};

/// A checkpoint is made once this many times the fork's own time was spent since the last. The page faults that
/// follow a fork cost about as much again, or twice that.
const CHECKPOINT_PAYS: u64 = 50;
/// Nor is more time than this spent without one, in microseconds: any state is to be had again within it.
const CHECKPOINT_AFTER: u64 = 100_000;

/// The interpreter processes of one run, and the line of execution that they hold.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    pub(super) vault: Arc<dyn Vault>,
    pub(super) stop: StopHandle,
    answers: Answers,
    pub(super) disk: Disk,
    /// Waits in the state before the first step; never runs one.
    root: Option<(Process, RootReply)>,
    /// The process in which steps run.
    pub(super) live: Option<Node>,
    pub(super) checkpoints: Vec<Node>,
    /// A directory of the engine's own: copies of files as they were before a step changed them, until they are kept,
    /// and places for runs on the side.
    pub(super) base: Option<Arc<TempDir>>,
    /// The temporary directory of the run's steps.
    pub(super) tmp: PathBuf,
    /// Which places for runs on the side are taken.
    pub(super) slots: Slots,
    /// What code a text is, by the digest of the text.
    pub(super) compiled: HashMap<Digest, CompileReply>,
    /// The state that was looked at last.
    pub(super) looked: Option<Box<Looked>>,
    /// What a fork cost lately, and what was spent since the last checkpoint, in microseconds.
    pub(super) fork_us: u64,
    pub(super) spent_us: u64,
}

impl Drop for Engine {
    /// Takes the steps' temporary directory away where they left nothing in it. Engines on the side share it.
    fn drop(&mut self) {
        let last = self.base.as_ref().is_some_and(|base| Arc::strong_count(base) == 1);
        if last && self.tmp != std::env::temp_dir() {
            // What is not empty stays: a step may find it again tomorrow.
            let _ = std::fs::remove_dir(self.tmp.join("matplotlib"));
            let _ = std::fs::remove_dir(&self.tmp);
        }
    }
}

/// What was found for a step.
pub(super) enum Choice {
    Keep(Arc<Execution>),
    Run(Vec<Reason>),
}

impl Engine {
    /// An engine for the run in `settings.dir`. No process is started before one is needed.
    pub fn new(settings: Settings) -> Self {
        let vault = Arc::clone(&settings.vault);
        let disk = Disk::open(&settings.dir, Arc::clone(&vault));
        Self {
            settings,
            vault,
            stop: StopHandle::default(),
            answers: Answers::default(),
            disk,
            root: None,
            live: None,
            checkpoints: Vec::new(),
            base: None,
            tmp: PathBuf::new(),
            slots: Slots::default(),
            compiled: HashMap::new(),
            looked: None,
            fork_us: 2_000,
            spent_us: 0,
        }
    }

    /// What stops an update from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Where the answers to the questions of steps are put, from another thread.
    pub fn answers(&self) -> Answers {
        self.answers.clone()
    }

    /// Has answers taken from this place.
    pub fn answer_from(&mut self, answers: Answers) {
        self.answers = answers;
    }

    /// `CPython 3.12.1` once a process was started, `None` before.
    pub fn interpreter(&self) -> Option<String> {
        self.root.as_ref().map(|(_, info)| name_of(info))
    }

    /// What of the policy nothing enforces, in words; nothing is known of it before the first step runs.
    pub fn unguarded(&self) -> Vec<String> {
        let nodes = self.live.iter().chain(&self.checkpoints);
        let told = nodes.filter_map(|node| node.process.warden.as_ref()).next();
        told.map(|warden| warden.missing.clone()).unwrap_or_default()
    }

    /// How many checkpoints are held, and the memory in bytes that only they hold.
    pub fn checkpoints(&self) -> (usize, u64) {
        (self.checkpoints.len(), self.checkpoints.iter().map(|node| node.process.private_memory()).sum())
    }

    /// Brings `tasks` (the whole run, in order) up to date as far as `goal` asks.
    ///
    /// Each step gets a closing report: [`Report::Executed`], [`Report::Kept`], [`Report::Blocked`] or
    /// [`Report::NotReached`]; where a step turns out to answer differently with the same inputs, a later
    /// report for the same step counts. A step that was executed only to have its state again is told by a
    /// [`Report::Executed`] with `rebuilt`. Failed steps are no error of the update.
    ///
    /// # Errors
    /// When the interpreter can't be started or the workers can't be spoken to.
    pub fn update(&mut self, tasks: &[Task], goal: &Goal, report: &mut dyn FnMut(Report)) -> Result<(), EngineError> {
        self.stop.reset();
        self.looked = None;
        if self.root.is_some() && !wall::is_open(&self.settings.policy) {
            let protected = self.protected();
            self.root()?.protect(&protected)?;
        }
        let edited = self.disk.edited_outside();
        let mut walk = Walk::new(tasks, goal, edited);
        let last = tasks.iter().rposition(|task| goal.steps.contains(&task.id));
        let end = if goal.steps.is_empty() { tasks.len() } else { last.map_or(0, |at| at + 1) };
        let mut stopped: Option<StepId> = None;
        let mut halted = false;
        let mut at = 0;
        while let Some(task) = tasks.get(at) {
            if at >= end || halted || goal.at_most.is_some_and(|most| walk.executed >= most) {
                report(Report::NotReached { step: task.id.clone(), why: None });
                at += 1;
                continue;
            }
            if let Some(by) = &stopped {
                report(Report::NotReached { step: task.id.clone(), why: Some(Reason::Stopped { at: by.clone() }) });
                at += 1;
                continue;
            }
            if self.stop.is_stopped() {
                stopped = Some(task.id.clone());
                continue;
            }
            if let Some(why) = self.blocked_by_text(&walk, task)? {
                walk.lose(task, self.compiled.get(&Digest::of(task.source.as_bytes())), &why);
                report(Report::Blocked { step: task.id.clone(), why });
                at += 1;
                continue;
            }
            match self.choose(&mut walk, task, report)? {
                Choice::Keep(execution) => {
                    let blocked = walk.blocked_by_reads(&execution);
                    if let Some(why) = blocked {
                        walk.lose(task, self.compiled.get(&Digest::of(task.source.as_bytes())), &why);
                        report(Report::Blocked { step: task.id.clone(), why });
                    } else {
                        report(Report::Kept {
                            step: task.id.clone(),
                            execution: Arc::clone(&execution),
                            carried: false,
                        });
                        stopped = walk.take(at, &execution).or(stopped);
                    }
                    at += 1;
                }
                Choice::Run(_) if let Some(why) = self.halt_before(goal, task) => {
                    report(Report::Halted { before: Some(task.id.clone()), why });
                    halted = true;
                }
                Choice::Run(why) => match self.run(&mut walk, at, why, report)? {
                    Ran::Here(execution) => {
                        walk.executed += 1;
                        if let Some(why) = walk.blocked_by_reads(&execution) {
                            self.live = None;
                            walk.lose(task, self.compiled.get(&Digest::of(task.source.as_bytes())), &why);
                            report(Report::Blocked { step: task.id.clone(), why });
                        } else {
                            report(Report::Executed { execution: Arc::clone(&execution), rebuilt: false });
                            if execution.outcome == Outcome::Interrupted {
                                stopped = Some(task.id.clone());
                            } else {
                                let before = walk.watched();
                                stopped = walk.take(at, &execution).or(stopped);
                                if let Some(why) = walk.halt_after(&before, &execution) {
                                    report(Report::Halted {
                                        before: tasks.get(at + 1).map(|task| task.id.clone()),
                                        why,
                                    });
                                    halted = true;
                                }
                            }
                        }
                        at += 1;
                    }
                    Ran::Diverged(place) => at = place + 1,
                },
            }
        }
        for problem in self.disk.restore(&walk.state) {
            report(Report::Notice(problem));
        }
        Ok(())
    }

    /// Why an update stops before it would execute this step, if it does.
    fn halt_before(&self, goal: &Goal, task: &Task) -> Option<Halt> {
        if self.stop.is_paused() {
            return Some(Halt::Paused);
        }
        let stops = goal.breaks.contains(&task.id) && goal.past.as_ref() != Some(&task.id);
        stops.then_some(Halt::Breakpoint)
    }

    /// What [`Engine::update`] would do, without doing it: for each step whether it would run, whether that
    /// is certain, and why.
    pub fn plan(&mut self, tasks: &[Task], goal: &Goal) -> Vec<Planned> {
        let edited = self.disk.edited_outside();
        let mut walk = Walk::new(tasks, goal, edited);
        let mut planned = Vec::new();
        let mut uncertain = false;
        for (at, task) in tasks.iter().enumerate() {
            // Where no interpreter can be had, a text that is new stands for new code.
            let _ = self.compile_if_needed(task);
            let choice = self.compare(&walk, task);
            let (action, why) = match choice {
                Some(Choice::Keep(execution)) => {
                    walk.take(at, &execution);
                    (Action::Keep, Vec::new())
                }
                Some(Choice::Run(why)) => {
                    // What it will make is not known: the last that it made stands for it.
                    if let Some(execution) = task.held.first() {
                        walk.take(at, execution);
                    }
                    (Action::Run, why)
                }
                None => (Action::Run, vec![Reason::InDoubt { why: "what a step before it makes decides".into() }]),
            };
            let certain = !uncertain;
            uncertain |= action == Action::Run;
            planned.push(Planned { step: task.id.clone(), action, certain, why });
        }
        planned
    }

    // -- deciding -----------------------------------------------------------------------------------------

    /// What to do with `task`, asking processes where only they can tell.
    fn choose(
        &mut self,
        walk: &mut Walk<'_>,
        task: &Task,
        report: &mut dyn FnMut(Report),
    ) -> Result<Choice, EngineError> {
        if !task.held.is_empty() && task.forced.is_none() {
            self.compile_if_needed(task)?;
        }
        if let Some(choice) = self.compare(walk, task) {
            return Ok(choice);
        }
        // Some of what it used is known only to a process: have one that can tell.
        let line = walk.line.len();
        if let Some(place) = self.stand(walk, line, report)? {
            // What was rebuilt is other than it was: what comes after is looked at anew by the caller.
            let _ = place;
        }
        Ok(self.compare(walk, task).unwrap_or_else(in_doubt))
    }

    /// What to do with `task`, asking a process on the side where only one can tell.
    pub(super) fn compare_aside(&mut self, walk: &mut Walk<'_>, task: &Task) -> Result<Choice, EngineError> {
        if let Some(choice) = self.compare(walk, task) {
            return Ok(choice);
        }
        let target = walk.state.clone();
        let side = self.on_the_side(walk, &target)?;
        walk.settle(&side.node);
        Ok(self.compare(walk, task).unwrap_or_else(in_doubt))
    }

    /// What to do with `task` by records alone; `None` where they can't tell.
    pub(super) fn compare(&mut self, walk: &Walk<'_>, task: &Task) -> Option<Choice> {
        if let Some(reason) = &task.forced {
            return Some(Choice::Run(vec![reason.clone()]));
        }
        let source = Digest::of(task.source.as_bytes());
        let code = self.compiled.get(&source).map(|reply| reply.code);
        let mut newest: Option<Vec<Reason>> = None;
        for execution in &task.held {
            let seen = &execution.observation;
            let same_code = seen.source == Some(source) || (code.is_some() && seen.code == code);
            let reasons = if !matches!(execution.outcome, Outcome::Done | Outcome::Failed) {
                vec![Reason::NeverRun]
            } else if !same_code {
                vec![Reason::SourceChanged]
            } else if walk.goal.retry_failed && execution.outcome == Outcome::Failed {
                vec![Reason::Retried]
            } else {
                match walk.state.check_names(seen) {
                    Verdict::Unsure => return None,
                    Verdict::Stale(reasons) => reasons,
                    Verdict::Fresh => match self.changed_file(walk, execution) {
                        Some(path) => vec![Reason::FileChanged { path }],
                        None => match (self.changed_answer(execution), self.other_interpreter(execution)) {
                            (Some(what), _) => vec![Reason::AmbientChanged { what }],
                            (None, Some(what)) => vec![Reason::InterpreterChanged { what }],
                            (None, None) => return Some(Choice::Keep(Arc::clone(execution))),
                        },
                    },
                }
            };
            newest.get_or_insert(reasons);
        }
        Some(Choice::Run(newest.unwrap_or_else(|| vec![Reason::NeverRun])))
    }

    /// The first file that a recorded execution used and that is another now.
    fn changed_file(&mut self, walk: &Walk<'_>, execution: &Execution) -> Option<String> {
        for (path, content) in &execution.observation.files_read {
            let now = match content {
                FileContent::Directory { .. } => self.disk.listing_at(&walk.state, path),
                _ => self.disk.at(&walk.state, path),
            };
            if now != *content {
                return Some(path.clone());
            }
        }
        None
    }

    /// The first call of a recorded execution whose answer is not kept any more, or is another.
    fn changed_answer(&self, execution: &Execution) -> Option<String> {
        let calls = &self.settings.calls;
        let mut frames = execution.observation.calls.iter();
        let changed =
            |frame: &&CallFrame| frame.rounds.iter().any(|round| calls.kept(&round.key) != Some(round.answer));
        frames.find(changed).map(|frame| format!("the answer of {}", frame.name))
    }

    /// The interpreter or package that is another than the one that ran `execution`. Known once a process
    /// was started; before, the settings name the same interpreter.
    fn other_interpreter(&self, execution: &Execution) -> Option<String> {
        let (_, info) = self.root.as_ref()?;
        let ran = execution.observation.interpreter.as_deref()?;
        let name = ran.split(';').next().unwrap_or(ran);
        let now = name_of(info);
        (name != now).then(|| format!("{name} then, {now}"))
    }

    pub(super) fn compile_if_needed(&mut self, task: &Task) -> Result<(), EngineError> {
        let source = Digest::of(task.source.as_bytes());
        if task.held.iter().any(|execution| execution.observation.source == Some(source)) {
            return Ok(());
        }
        self.compile(task).map(|_| ())
    }

    /// What code the step's text is, by the interpreter's own word.
    fn compile(&mut self, task: &Task) -> Result<CompileReply, EngineError> {
        let source = Digest::of(task.source.as_bytes());
        if let Some(reply) = self.compiled.get(&source) {
            return Ok(reply.clone());
        }
        let file = file_of(&self.settings, task);
        let root = self.root()?;
        root.ask(&Ask::Compile { step: task.id.as_str(), file: &file }, task.source.as_bytes(), &[])?;
        let reply: CompileReply = root.answer()?;
        self.compiled.insert(source, reply.clone());
        Ok(reply)
    }

    /// Whether a step's text alone says that it would see what a failed step should have made.
    pub(super) fn blocked_by_text(&mut self, walk: &Walk<'_>, task: &Task) -> Result<Option<Reason>, EngineError> {
        if walk.missing.is_empty() || walk.goal.on_error != OnError::Block {
            return Ok(None);
        }
        let reply = self.compile(task)?;
        let names: Vec<Name> = reply.loads.iter().filter(|name| walk.missing.contains_key(*name)).cloned().collect();
        Ok(walk.missing_reason(names))
    }

    // -- processes ----------------------------------------------------------------------------------------

    pub(super) fn root_with_info(&mut self) -> Result<(&mut Process, RootReply), EngineError> {
        if self.root.is_none() {
            self.start_root()?;
        }
        match &mut self.root {
            Some((process, info)) => Ok((process, info.clone())),
            None => Err(EngineError { what: "the interpreter is gone".into(), hint: None }),
        }
    }

    fn start_root(&mut self) -> Result<(), EngineError> {
        let base = scratch()?;
        let mut places = vec![wall::spool(base.path())];
        for number in 0..wall::SLOTS {
            let (copy, tmp) = wall::slot(base.path(), number);
            places.extend([copy, tmp]);
        }
        let own = base.path().join("tmp");
        self.tmp = if wall::is_open(&self.settings.policy) {
            std::env::temp_dir()
        } else {
            wall::temporary(&self.settings.dir).unwrap_or_else(|| {
                places.push(own.clone());
                own
            })
        };
        for place in places {
            std::fs::create_dir(&place).map_err(|error| EngineError {
                what: format!("{} can't be made: {error}", place.display()),
                hint: Some("set TMPDIR to a directory that may be written".into()),
            })?;
        }
        let head = wall::wanted(&self.settings, base.path(), &self.tmp, self.protected());
        if head.is_some() {
            wall::seed_matplotlib(&self.tmp.join("matplotlib"));
        }
        self.root = Some(Process::start(&self.settings, &Place { base: base.path(), tmp: &self.tmp, wall: head })?);
        self.base = Some(Arc::new(base));
        Ok(())
    }

    /// Paths of the run that steps may not write.
    fn protected(&self) -> Vec<String> {
        wall::protected(&self.settings.dir, &|path| self.disk.is_tracked(path))
    }

    /// A fresh process, behind the wall if there is one, in the state before the first step.
    pub(super) fn line(&mut self) -> Result<Process, EngineError> {
        self.root()?;
        let (settings, tmp) = (self.settings.clone(), self.tmp.clone());
        let own = vec![settings.dir.clone(), tmp];
        self.root()?.fork_line(&settings, own)
    }

    pub(super) fn root(&mut self) -> Result<&mut Process, EngineError> {
        self.root_with_info().map(|(process, _)| process)
    }

    /// The root, and the process that holds the latest state that the sources of `tasks` lead to, if one is held.
    pub(super) fn root_and_nearest(
        &mut self,
        tasks: &[Task],
    ) -> Result<(&mut Process, Option<&mut Node>), EngineError> {
        let Some((root, _)) = &mut self.root else {
            return Err(EngineError { what: "the interpreter is gone".into(), hint: None });
        };
        let nodes = self.checkpoints.iter_mut().chain(&mut self.live);
        Ok((root, nodes.filter(|node| leads_to(tasks, node)).max_by_key(|node| node.line.len())))
    }

    /// Another engine that goes on from processes that are forks of this one's.
    pub(super) fn branch(
        &self,
        settings: Settings,
        disk: Disk,
        root: (Process, RootReply),
        checkpoints: Vec<Node>,
    ) -> Self {
        Self {
            vault: Arc::clone(&settings.vault),
            settings,
            stop: StopHandle::default(),
            answers: Answers::default(),
            disk,
            root: Some(root),
            live: None,
            checkpoints,
            base: self.base.clone(),
            tmp: self.tmp.clone(),
            slots: self.slots.clone(),
            compiled: self.compiled.clone(),
            looked: None,
            fork_us: self.fork_us,
            spent_us: 0,
        }
    }

    /// Whether enough was executed since the last checkpoint for another to be worth its cost.
    pub(super) fn checkpoint_pays(&self) -> bool {
        self.spent_us > (CHECKPOINT_PAYS * self.fork_us).min(CHECKPOINT_AFTER)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Executes step `at` in a process that holds the state before it.
    fn run(
        &mut self,
        walk: &mut Walk<'_>,
        at: usize,
        why: Vec<Reason>,
        report: &mut dyn FnMut(Report),
    ) -> Result<Ran, EngineError> {
        let Some(task) = walk.tasks.get(at) else {
            return Err(EngineError { what: "there is no such step".into(), hint: None });
        };
        let line = walk.line.len();
        if let Some(place) = self.stand(walk, line, report)? {
            return Ok(Ran::Diverged(place));
        }
        for problem in self.disk.restore(&walk.state) {
            report(Report::Notice(problem));
        }
        let Some(mut node) = self.live.take() else {
            return Err(EngineError { what: "no process holds the state before the step".into(), hint: None });
        };
        if self.checkpoint_pays() || node.line.is_empty() && !self.checkpoints.is_empty() {
            self.checkpoint(&mut node)?;
        }
        report(Report::Started { step: task.id.clone(), why: why.clone(), rebuilt: false });
        let execution = self.execute_in(&mut node, task, why, walk.goal.on_error, report)?;
        let Done { mut execution, keep } = execution;
        if execution.outcome == Outcome::Failed {
            let mut with = (*execution).clone();
            with.observation.undone = self.would_make(task, &with)?;
            let cause = walk.cause(&with);
            if let Some(error) = &mut with.error {
                error.caused_by = cause;
            }
            execution = Arc::new(with);
        }
        if keep {
            node.line = walk.keys.clone();
            node.line.push(Key::of(&execution));
            node.ran.push(Key::of(&execution));
            self.live = Some(node);
        }
        Ok(Ran::Here(execution))
    }

    /// Names that a failed step should have made or changed: what its text stores, what it changed before it
    /// failed, and what it made when it last went well.
    fn would_make(&mut self, task: &Task, failed: &Execution) -> Result<Vec<Name>, EngineError> {
        let mut names: Vec<Name> = self.compile(task)?.stores;
        names.extend(failed.observation.writes.keys().filter(|n| !n.starts_with('@')).cloned());
        if let Some(good) = task.held.iter().find(|execution| execution.outcome == Outcome::Done) {
            names.extend(good.observation.writes.keys().filter(|n| !n.starts_with('@')).cloned());
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    pub(super) fn execute_in(
        &mut self,
        node: &mut Node,
        task: &Task,
        why: Vec<Reason>,
        on_error: OnError,
        report: &mut dyn FnMut(Report),
    ) -> Result<Done, EngineError> {
        let interpreter = self.interpreter().unwrap_or_default();
        let mut bench = Bench {
            settings: &self.settings,
            disk: &mut self.disk,
            vault: &*self.vault,
            stop: &self.stop,
            answers: &self.answers,
            interpreter: &interpreter,
        };
        let done = execute(&mut bench, node, task, why, report)?;
        self.spent_us = self.spent_us.saturating_add(done.execution.duration_us);
        let undone = done.execution.outcome == Outcome::Failed && on_error == OnError::Block;
        let keep = done.alive && !undone;
        if !keep {
            node.process.end_step();
        }
        Ok(Done { keep, execution: done.execution })
    }
}

fn in_doubt() -> Choice {
    Choice::Run(vec![Reason::InDoubt { why: "what it used can't be compared".into() }])
}

/// What running a step came to.
enum Ran {
    Here(Arc<Execution>),
    /// A step before it, at this place, came out differently when it was made again.
    Diverged(usize),
}

/// An execution, and whether its process may be gone on with.
pub(super) struct Done {
    pub(super) execution: Arc<Execution>,
    pub(super) keep: bool,
}

fn name_of(info: &RootReply) -> String {
    let implementation = if info.implementation == "cpython" { "CPython" } else { &info.implementation };
    format!("{implementation} {}", info.version)
}

/// A directory of the engine's own, outside the run, that only this user may look into; gone with its owner.
pub(super) fn scratch() -> Result<TempDir, EngineError> {
    tempfile::Builder::new().prefix("reweave-").tempdir().map_err(|error| EngineError {
        what: format!("no directory can be made in {}: {error}", std::env::temp_dir().display()),
        hint: Some("set TMPDIR to a directory that may be written".into()),
    })
}
