//! Going through the steps in order: keeping what holds, running what does not, and having a process in the
//! right state for that.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use super::answers::Answers;
use super::aside::Slots;
use super::decide::Choice;
use super::disk::Disk;
use super::execute::{Bench, execute};
use super::guard::{Guard, OwnFiles};
use super::line::{Key, Node};
use super::look::Looked;
use super::opens::Opens;
use super::packages::Installed;
use super::pass::Walk;
use super::process::Process;
use super::protocol::{CompileReply, RootReply};
use super::root::name_of;
use super::surroundings::Surroundings;
use super::task::{Action, EngineError, Goal, Halt, OnError, Planned, Report, Settings, StopHandle, Task};
use super::vault::Vault;
use super::wall;
use crate::step::{Digest, Effect, Execution, Outcome, Reason, StepId};

/// A checkpoint is made once this many times the fork's own time was spent since the last. The page faults that
/// follow a fork cost about as much again, or twice that.
const CHECKPOINT_PAYS: u64 = 50;
/// Nor is more time than this spent without one, in microseconds: any state is to be had again by executing no longer.
const CHECKPOINT_AFTER: u64 = 100_000;
/// What steps made can mostly be brought over without executing them: then this many times as much may be spent.
const CHECKPOINT_IF_CARRIED: u64 = 4;

/// How often a step may come out differently when it is executed again in one update.
const MOST_AGAIN: usize = 3;

/// The interpreter processes of one run, and the line of execution that they hold.
#[derive(Debug)]
pub struct Engine {
    pub(super) settings: Settings,
    pub(super) surroundings: Surroundings,
    pub(super) vault: Arc<dyn Vault>,
    pub(super) stop: StopHandle,
    answers: Answers,
    pub(super) disk: Disk,
    opens: Opens,
    /// Waits in the state before the first step; never runs one.
    pub(super) root: Option<(Process, RootReply)>,
    /// The process in which steps run.
    pub(super) live: Option<Node>,
    pub(super) checkpoints: Vec<Node>,
    /// A directory of the engine's own: copies of files as they were before a step changed them, until they are kept,
    /// and places for runs on the side.
    pub(super) base: Option<Arc<TempDir>>,
    /// The run's own files, which steps may not change.
    pub(super) own_files: OwnFiles,
    pub(super) guard: Guard,
    /// The temporary directory of the run's steps.
    pub(super) tmp: PathBuf,
    /// Whether that was not there before.
    pub(super) made_tmp: bool,
    /// Which places for runs on the side are taken.
    pub(super) slots: Slots,
    /// What code a text is, by the digest of the text.
    pub(super) compiled: HashMap<Digest, CompileReply>,
    /// What is known of the interpreter's packages during an update.
    pub(super) installed: Installed,
    /// The state that was looked at last.
    pub(super) looked: Option<Box<Looked>>,
    /// What a fork cost lately, and what was spent since the last checkpoint, in microseconds.
    pub(super) fork_us: u64,
    pub(super) spent_us: u64,
    /// Whether something that was made since the last checkpoint can only be had again by executing its step.
    pub(super) uncarried: bool,
    /// Whether a step since then imported something: who is brought over elsewhere imports it again.
    pub(super) imported: bool,
}

impl Drop for Engine {
    /// Takes the steps' temporary directory away where it was made here and no step has looked into it: one that did finds
    /// it as it was tomorrow. Engines on the side share it.
    fn drop(&mut self) {
        let last = self.base.as_ref().is_some_and(|base| Arc::strong_count(base) == 1);
        if last && self.made_tmp && !self.disk.has_looked_into_temporary() {
            super::wall::clear_matplotlib(&self.tmp.join("matplotlib"));
            let _ = std::fs::remove_dir(&self.tmp);
        }
    }
}

impl Engine {
    /// An engine for the run in `settings.dir`. No process is started before one is needed.
    pub fn new(settings: Settings) -> Self {
        let vault = Arc::clone(&settings.vault);
        let disk = Disk::open(&settings.dir, Arc::clone(&vault));
        let own_files = OwnFiles::of(&settings.dir);
        let guard = Guard::new(&settings.dir);
        let surroundings = Surroundings::of(&settings);
        Self {
            settings,
            surroundings,
            vault,
            stop: StopHandle::default(),
            answers: Answers::default(),
            disk,
            opens: Opens::default(),
            root: None,
            live: None,
            checkpoints: Vec::new(),
            base: None,
            own_files,
            guard,
            tmp: PathBuf::new(),
            made_tmp: false,
            slots: Slots::default(),
            compiled: HashMap::new(),
            installed: Installed::default(),
            looked: None,
            fork_us: 2_000,
            spent_us: 0,
            uncarried: false,
            imported: false,
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
        self.installed = Installed::default();
        self.looked = None;
        if self.root.is_some() && !wall::is_open(&self.settings.policy) {
            let protected = self.protected();
            self.set_own(&protected);
            self.root()?.protect(&protected)?;
        }
        let edited = self.disk.edited_outside();
        // It may have to go while a step from before it runs, and is put back after.
        for path in edited.keys() {
            self.disk.keep(path);
        }
        let came = self.disk.code_that_came();
        let mut walk = Walk::new(tasks, goal, edited);
        let last = tasks.iter().rposition(|task| goal.steps.contains(&task.id));
        let end = if goal.steps.is_empty() { tasks.len() } else { last.map_or(0, |at| at + 1) };
        let mut stopped: Option<StepId> = None;
        let mut halted = false;
        let mut reached = tasks.len();
        let mut at = 0;
        while let Some(task) = tasks.get(at) {
            self.let_go_of_edited(&mut walk, at.min(reached), report);
            if at >= end || halted || goal.at_most.is_some_and(|most| walk.executed >= most) {
                report(Report::NotReached { step: task.id.clone(), why: None });
                reached = reached.min(at);
                at += 1;
                continue;
            }
            if let Some(by) = &stopped {
                report(Report::NotReached { step: task.id.clone(), why: Some(Reason::Stopped { at: by.clone() }) });
                reached = reached.min(at);
                at += 1;
                continue;
            }
            if self.stop.is_stopped() {
                stopped = Some(task.id.clone());
                continue;
            }
            if let Some(why) = self.blocked_by_text(&walk, task)? {
                self.lose(&mut walk, task, &why)?;
                report(Report::Blocked { step: task.id.clone(), why });
                at += 1;
                continue;
            }
            match self.choose(&mut walk, task, report)? {
                Choice::Keep(execution) => {
                    let blocked = walk.blocked_by_reads(&execution);
                    if let Some(why) = blocked {
                        self.lose(&mut walk, task, &why)?;
                        report(Report::Blocked { step: task.id.clone(), why });
                    } else {
                        report(Report::Kept {
                            step: task.id.clone(),
                            execution: Arc::clone(&execution),
                            carried: false,
                        });
                        stopped = self.take(&mut walk, at, &execution)?.or(stopped);
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
                            self.lose(&mut walk, task, &why)?;
                            report(Report::Blocked { step: task.id.clone(), why });
                        } else {
                            report(Report::Executed { execution: Arc::clone(&execution), rebuilt: false });
                            if execution.outcome == Outcome::Interrupted {
                                stopped = Some(task.id.clone());
                            } else {
                                let before = walk.watched();
                                stopped = self.take(&mut walk, at, &execution)?.or(stopped);
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
                    Ran::Diverged(place) => at = self.go_on_after(&mut walk, place)?,
                },
                Choice::Again(place) => at = self.go_on_after(&mut walk, place)?,
            }
        }
        self.note_interpreter();
        if walk.executed > 0 {
            self.evict();
        }
        self.let_go_of_edited(&mut walk, reached, report);
        let left = walk.left_from(reached);
        // Who made it may have been a person: that is the one thing that must not be lost.
        for (path, content) in came.iter().filter(|(path, _)| !left.files.contains_key(path)) {
            if let Err(problem) = self.disk.let_go(path, content) {
                report(Report::Notice(problem));
            }
        }
        for problem in self.disk.restore(&left) {
            report(Report::Notice(problem));
        }
        Ok(())
    }

    /// A file that a person changed, and that no step writes any more, is an input from here on.
    fn let_go_of_edited(&mut self, walk: &mut Walk<'_>, at: usize, report: &mut dyn FnMut(Report)) {
        let mut edited = std::mem::take(&mut walk.edited);
        edited.retain(|path, content| {
            let written = walk.state.files.contains_key(path) || walk.is_written_from(at, path);
            if !written && let Err(problem) = self.disk.let_go(path, content) {
                report(Report::Notice(problem));
            }
            written
        });
        walk.edited = edited;
    }

    /// Where the walk goes on after the step at `place` was executed again and came out differently. From now on each
    /// state is kept before a step runs from it, so that none has to be made again; where even that does not help,
    /// since what a step left can't be kept, there is no end to it.
    fn go_on_after(&self, walk: &mut Walk<'_>, place: usize) -> Result<usize, EngineError> {
        let times = walk.again.entry(place).or_default();
        *times += 1;
        match walk.tasks.get(place) {
            Some(task) if *times > MOST_AGAIN => Err(EngineError {
                what: format!(
                    "{} answers differently each time, and what it leaves can be had again only by running it: the steps \
                     after it can't be brought up to date, since one of them fails and what it did is undone",
                    task.id
                ),
                hint: Some("on_error = \"continue\" in reweave.toml lets what a failed step did stand".into()),
            }),
            _ => Ok(place + 1),
        }
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
        self.installed = Installed::default();
        let edited = self.disk.edited_outside();
        let mut walk = Walk::new(tasks, goal, edited);
        let mut planned = Vec::new();
        let mut uncertain = false;
        let mut again = BTreeSet::new();
        for (at, task) in tasks.iter().enumerate() {
            // One that failed and runs again may go well.
            let stays = |why: &Reason| matches!(why, Reason::BlockedBy { step, .. } if !again.contains(step));
            if let Ok(Some(why)) = self.blocked_by_text(&walk, task)
                && stays(&why)
            {
                let _ = self.lose(&mut walk, task, &why);
                planned.push(Planned {
                    step: task.id.clone(),
                    action: Action::Blocked,
                    certain: !uncertain,
                    why: vec![why],
                });
                continue;
            }
            let choice = self.by_records(&walk, task);
            let (action, why) = match choice {
                Some(Choice::Keep(execution)) => {
                    let _ = self.take(&mut walk, at, &execution);
                    (Action::Keep, Vec::new())
                }
                Some(Choice::Run(why)) => {
                    again.insert(task.id.clone());
                    // What it will make is not known: the last that it made stands for it.
                    if let Some(execution) = task.held.first() {
                        let _ = self.take(&mut walk, at, execution);
                    }
                    (Action::Run, why)
                }
                Some(Choice::Again(_)) | None => {
                    (Action::Run, vec![Reason::InDoubt { why: "what a step before it makes decides".into() }])
                }
            };
            let certain = !uncertain;
            uncertain |= action == Action::Run;
            planned.push(Planned { step: task.id.clone(), action, certain, why });
        }
        planned
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
            surroundings: self.surroundings.clone(),
            stop: StopHandle::default(),
            answers: Answers::default(),
            disk,
            opens: Opens::default(),
            root: Some(root),
            live: None,
            checkpoints,
            base: self.base.clone(),
            own_files: self.own_files.clone(),
            guard: self.guard.apart(),
            tmp: self.tmp.clone(),
            made_tmp: false,
            slots: self.slots.clone(),
            compiled: self.compiled.clone(),
            installed: Installed::default(),
            looked: None,
            fork_us: self.fork_us,
            spent_us: 0,
            uncarried: false,
            imported: false,
        }
    }

    /// Whether enough was executed since the last checkpoint for another to be worth its cost.
    pub(super) fn checkpoint_pays(&self) -> bool {
        let enough = (CHECKPOINT_PAYS * self.fork_us).min(CHECKPOINT_AFTER);
        self.spent_us > if self.uncarried || self.imported { enough } else { CHECKPOINT_IF_CARRIED * enough }
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
        // What a step that fails did is undone, by going back to a process from before it.
        let at_stake = self.uncarried && walk.goal.on_error == OnError::Block || !walk.again.is_empty();
        if at_stake && node.can_begin()
            || self.checkpoint_pays()
            || node.line.is_empty() && !self.checkpoints.is_empty()
        {
            self.checkpoint(&mut node)?;
        }
        report(Report::Started { step: task.id.clone(), why: why.clone(), rebuilt: false });
        let execution = self.execute_in(&mut node, task, why, None, walk.goal.on_error, report)?;
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
            node.executed(Key::of(&execution));
            self.live = Some(node);
        }
        Ok(Ran::Here(execution))
    }

    pub(super) fn execute_in(
        &mut self,
        node: &mut Node,
        task: &Task,
        why: Vec<Reason>,
        again: Option<&Execution>,
        on_error: OnError,
        report: &mut dyn FnMut(Report),
    ) -> Result<Done, EngineError> {
        let interpreter = self.interpreter().unwrap_or_default();
        let mut bench = Bench {
            settings: &self.settings,
            disk: &mut self.disk,
            opens: &mut self.opens,
            vault: &*self.vault,
            stop: &self.stop,
            answers: &self.answers,
            interpreter: &interpreter,
            surroundings: &self.surroundings,
            guard: &self.guard,
        };
        let done = execute(&mut bench, node, task, why, again, report)?;
        self.loaded(&done.execution);
        self.spent_us = self.spent_us.saturating_add(done.execution.duration_us);
        self.uncarried |= !self.can_be_carried(&done.execution);
        self.imported |= done.execution.effects.iter().any(|effect| matches!(effect, Effect::Import { .. }));
        let undone = done.execution.outcome == Outcome::Failed && on_error == OnError::Block;
        let keep = done.alive && !undone;
        if !keep {
            node.process.end_step();
        }
        Ok(Done { keep, execution: done.execution })
    }
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
