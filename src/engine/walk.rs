//! Going through the steps in order: keeping what holds, running what does not, and having a process in the
//! right state for that.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::disk::Disk;
use super::execute::{Bench, execute, file_of, micros, written};
use super::line::{Delta, Key, Node};
use super::process::Process;
use super::protocol::{Ask, CompileReply, LoadReply, RootReply, StateReply, ValueHead};
use super::state::{Slot, State, Verdict};
use super::task::{Action, EngineError, Goal, OnError, Planned, Report, Settings, StopHandle, Task};
use super::vault::Vault;
use crate::step::{Digest, Execution, FileContent, Name, Observation, Outcome, Reason, StepId, Variable};

/// A checkpoint is made once this many times its cost was spent since the last.
const CHECKPOINT_PAYS: u64 = 20;
/// How many checkpoints are held at the most.
const CHECKPOINTS: usize = 200;
/// Longest `repr` of a variable, in bytes of UTF-8 as Python counts characters.
const REPR_LIMIT: usize = 64 << 10;

/// The interpreter processes of one run, and the line of execution that they hold.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    vault: Arc<dyn Vault>,
    stop: StopHandle,
    disk: Disk,
    /// Waits in the state before the first step; never runs one.
    root: Option<(Process, RootReply)>,
    /// The process in which steps run.
    live: Option<Node>,
    checkpoints: Vec<Node>,
    /// Copies of files as they were before a step changed them, until they are kept.
    spool: Option<Spool>,
    /// What code a text is, by the digest of the text.
    compiled: HashMap<Digest, CompileReply>,
    /// What a fork cost lately, and what was spent since the last checkpoint, in microseconds.
    fork_us: u64,
    spent_us: u64,
}

/// One pass through the steps.
struct Walk<'a> {
    tasks: &'a [Task],
    goal: &'a Goal,
    state: State,
    /// The executions that make up the state, with the places of their steps.
    line: Vec<(usize, Arc<Execution>)>,
    keys: Vec<Key>,
    /// Names and files that failed or blocked steps should have made: what made them missing.
    missing: BTreeMap<Name, StepId>,
    missing_files: BTreeMap<String, StepId>,
    /// Files that were changed from outside since a step left them.
    edited: BTreeMap<String, FileContent>,
    executed: usize,
}

/// What was found for a step.
enum Choice {
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
            disk,
            root: None,
            live: None,
            checkpoints: Vec::new(),
            spool: None,
            compiled: HashMap::new(),
            fork_us: 2_000,
            spent_us: 0,
        }
    }

    /// What stops an update from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// `CPython 3.12.1` once a process was started, `None` before.
    pub fn interpreter(&self) -> Option<String> {
        self.root.as_ref().map(|(_, info)| name_of(info))
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
        let edited = self.disk.edited_outside();
        let mut walk = Walk::new(tasks, goal, edited);
        let last = tasks.iter().rposition(|task| goal.steps.contains(&task.id));
        let end = if goal.steps.is_empty() { tasks.len() } else { last.map_or(0, |at| at + 1) };
        let mut stopped: Option<StepId> = None;
        let mut at = 0;
        while let Some(task) = tasks.get(at) {
            if at >= end || goal.at_most.is_some_and(|most| walk.executed >= most) {
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
                                stopped = walk.take(at, &execution).or(stopped);
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

    /// What [`Engine::update`] would do, without doing it: for each step whether it would run, whether that
    /// is certain, and why.
    pub fn plan(&mut self, tasks: &[Task], goal: &Goal) -> Vec<Planned> {
        let edited = self.disk.edited_outside();
        let mut walk = Walk::new(tasks, goal, edited);
        let mut planned = Vec::new();
        let mut uncertain = false;
        for (at, task) in tasks.iter().enumerate() {
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

    /// The variables right after step `at`, those in `names` or all; modules, functions and classes too,
    /// dunder names not. The run's own record is not touched, and its files are as they were afterwards.
    ///
    /// # Errors
    /// When `at` was never reached, or its state can't be had again.
    pub fn state(
        &mut self,
        tasks: &[Task],
        goal: &Goal,
        at: &StepId,
        names: &[String],
    ) -> Result<Vec<Variable>, EngineError> {
        let end = tasks.iter().position(|task| task.id == *at).ok_or_else(|| EngineError {
            what: format!("there is no step {at}"),
            hint: Some("see the steps with: reweave status".into()),
        })?;
        let mut walk = Walk::new(tasks, goal, BTreeMap::new());
        let mut after: Option<State> = None;
        for (place, task) in tasks.iter().enumerate() {
            let blocked = match self.blocked_by_text(&walk, task)? {
                Some(why) => Some(why),
                None => task.held.first().and_then(|execution| walk.blocked_by_reads(execution)),
            };
            let chosen = match self.compare(&walk, task) {
                _ if blocked.is_some() => None,
                Some(Choice::Keep(execution)) => Some(execution),
                _ => task.held.first().cloned(),
            };
            if let Some(why) = blocked {
                walk.lose(task, self.compiled.get(&Digest::of(task.source.as_bytes())), &why);
                if place == end {
                    after = Some(walk.state.clone());
                    break;
                }
                continue;
            }
            match chosen {
                Some(execution) => {
                    walk.take(place, &execution);
                }
                None if place == end => {
                    return Err(EngineError {
                        what: format!("{at} has not run, so there is no state after it"),
                        hint: Some("bring it up to date with: reweave run".into()),
                    });
                }
                None => {}
            }
            if place == end {
                after = Some(walk.state.clone());
                break;
            }
        }
        let target = after.unwrap_or_default();
        let mut side = self.on_the_side(&walk, &target)?;
        let names: Vec<String> = names.to_vec();
        side.process.ask(&Ask::State { names: &names, limit: REPR_LIMIT }, &[], &[])?;
        let reply: StateReply = side.process.answer()?;
        let mut writers: BTreeMap<&str, &StepId> = BTreeMap::new();
        for (_, execution) in &walk.line {
            for name in execution.observation.writes.keys() {
                writers.insert(name, &execution.step);
            }
        }
        Ok(reply
            .variables
            .into_iter()
            .map(|variable| Variable {
                written_by: writers.get(variable.name.as_str()).map(|step| (*step).clone()),
                name: variable.name,
                type_name: variable.type_name,
                repr: variable.repr,
                truncated: variable.truncated,
                digest: variable.digest,
                shape: variable.shape,
            })
            .collect())
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
        Ok(self
            .compare(walk, task)
            .unwrap_or_else(|| Choice::Run(vec![Reason::InDoubt { why: "what it used can't be compared".into() }])))
    }

    /// What to do with `task` by records alone; `None` where they can't tell.
    fn compare(&mut self, walk: &Walk<'_>, task: &Task) -> Option<Choice> {
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
                        None => match self.other_interpreter(execution) {
                            Some(what) => vec![Reason::InterpreterChanged { what }],
                            None => return Some(Choice::Keep(Arc::clone(execution))),
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

    /// The interpreter or package that is another than the one that ran `execution`. Known once a process
    /// was started; before, the settings name the same interpreter.
    fn other_interpreter(&self, execution: &Execution) -> Option<String> {
        let (_, info) = self.root.as_ref()?;
        let ran = execution.observation.interpreter.as_deref()?;
        let name = ran.split(';').next().unwrap_or(ran);
        let now = name_of(info);
        (name != now).then(|| format!("{name} then, {now}"))
    }

    fn compile_if_needed(&mut self, task: &Task) -> Result<(), EngineError> {
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
    fn blocked_by_text(&mut self, walk: &Walk<'_>, task: &Task) -> Result<Option<Reason>, EngineError> {
        if walk.missing.is_empty() || walk.goal.on_error != OnError::Block {
            return Ok(None);
        }
        let reply = self.compile(task)?;
        let names: Vec<Name> = reply.loads.iter().filter(|name| walk.missing.contains_key(*name)).cloned().collect();
        Ok(walk.missing_reason(names))
    }

    // -- processes ----------------------------------------------------------------------------------------

    fn root(&mut self) -> Result<&mut Process, EngineError> {
        if self.root.is_none() {
            let spool = Spool::new()?;
            let started = Process::start(&self.settings, &spool.0)?;
            self.spool = Some(spool);
            self.root = Some(started);
        }
        match &mut self.root {
            Some((process, _)) => Ok(process),
            None => Err(EngineError { what: "the interpreter is gone".into(), hint: None }),
        }
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
        if self.spent_us > CHECKPOINT_PAYS * self.fork_us || node.line.is_empty() && !self.checkpoints.is_empty() {
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

    fn execute_in(
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
            interpreter: &interpreter,
        };
        let done = execute(&mut bench, node, task, why, report)?;
        self.spent_us = self.spent_us.saturating_add(done.execution.duration_us);
        let undone = done.execution.outcome == Outcome::Failed && on_error == OnError::Block;
        Ok(Done { keep: done.alive && !undone, execution: done.execution })
    }

    /// Leaves a copy of `node` behind.
    fn checkpoint(&mut self, node: &mut Node) -> Result<(), EngineError> {
        let start = std::time::Instant::now();
        let process = node.process.fork()?;
        self.fork_us = (self.fork_us * 3 + micros(start.elapsed())) / 4;
        self.spent_us = 0;
        self.checkpoints.push(Node {
            process,
            state: node.state.clone(),
            line: node.line.clone(),
            ran: node.ran.clone(),
        });
        if self.checkpoints.len() > CHECKPOINTS {
            // The oldest but one: the spread stays wide, the newest are the likeliest to serve.
            self.checkpoints.remove(self.checkpoints.len() / 4);
        }
        Ok(())
    }

    /// Has the live process hold the state after the first `line` executions of the walk. Where an execution
    /// had to be made again and came out differently, the walk goes on from there: its place is returned.
    fn stand(
        &mut self,
        walk: &mut Walk<'_>,
        line: usize,
        report: &mut dyn FnMut(Report),
    ) -> Result<Option<usize>, EngineError> {
        self.root()?;
        let keys = walk.keys.get(..line).unwrap_or_default().to_vec();
        if let Some(node) = self.bring_over(&keys, &walk.state)? {
            walk.settle(&node);
            self.live = Some(node);
            return Ok(None);
        }
        self.rebuild(walk, line, report)
    }

    /// A process for `target` made from one that runs clean, by bringing values over; `None` where that
    /// can't be done.
    fn bring_over(&mut self, keys: &[Key], target: &State) -> Result<Option<Node>, EngineError> {
        if let Some(node) = self.live.take() {
            if node.is_clean(keys)
                && let Ok(delta) = Delta::between(&node.state, target, &*self.vault)
            {
                if let Some(node) = self.load(node, &delta, target, keys)? {
                    return Ok(Some(node));
                }
            } else if node.line.len() > 1 {
                // It holds a state that may be wanted again.
                self.checkpoints.push(node);
            }
        }
        let mut order: Vec<usize> = (0..self.checkpoints.len())
            .filter(|&i| self.checkpoints.get(i).is_some_and(|n| n.is_clean(keys)))
            .collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.checkpoints.get(i).map_or(0, |n| n.ran.len())));
        for index in order.into_iter().take(3) {
            let Some(checkpoint) = self.checkpoints.get_mut(index) else { continue };
            let Ok(delta) = Delta::between(&checkpoint.state, target, &*self.vault) else { continue };
            let Ok(process) = checkpoint.process.fork() else { continue };
            let node = Node {
                process,
                state: checkpoint.state.clone(),
                line: checkpoint.line.clone(),
                ran: checkpoint.ran.clone(),
            };
            if let Some(node) = self.load(node, &delta, target, keys)? {
                return Ok(Some(node));
            }
        }
        let delta = match Delta::between(&State::default(), target, &*self.vault) {
            Ok(delta) => delta,
            Err(names) => {
                tracing::debug!(?names, "values that can't be brought over");
                return Ok(None);
            }
        };
        let process = self.root()?.fork()?;
        self.load(Node::new(process), &delta, target, keys)
    }

    /// Brings values over into `node`; `None` if something did not come over as it was.
    fn load(
        &mut self,
        mut node: Node,
        delta: &Delta,
        target: &State,
        keys: &[Key],
    ) -> Result<Option<Node>, EngineError> {
        if !delta.is_empty() {
            let mut data = Vec::new();
            let mut sizes = Vec::new();
            for component in &delta.load {
                let Some(value) = self.vault.value(&component.digest) else { return Ok(None) };
                sizes.push(value.len());
                data.extend_from_slice(&value);
            }
            let values: Vec<ValueHead<'_>> = delta
                .load
                .iter()
                .zip(sizes)
                .map(|(component, size)| ValueHead { members: &component.members, size })
                .collect();
            node.process.ask(&Ask::Load { delete: &delta.delete, values: &values }, &data, &[])?;
            let reply: LoadReply = node.process.answer()?;
            if !reply.bad.is_empty() {
                tracing::debug!(bad = ?reply.bad, "values that could not be unpacked");
                return Ok(None);
            }
            for name in &delta.delete {
                node.state.names.remove(name);
            }
            for (name, component) in reply.components {
                let now = written(component);
                if let Some(Slot::Known(wanted)) = target.names.get(&name)
                    && wanted.digest != now.digest
                {
                    tracing::debug!(%name, ?wanted, ?now, "a value that came over is another");
                    return Ok(None);
                }
                node.state.names.insert(name, Slot::Known(Arc::new(now)));
            }
        }
        let same = node.state.names.len() == target.names.len()
            && target.names.iter().all(|(name, slot)| match (node.state.names.get(name), slot) {
                (Some(Slot::Known(now)), Slot::Known(wanted)) => now.digest == wanted.digest,
                (Some(_), Slot::Unknown(_)) => true,
                _ => false,
            });
        if !same {
            return Ok(None);
        }
        node.state.files = target.files.clone();
        node.line = keys.to_vec();
        Ok(Some(node))
    }

    /// Executes kept steps again from the nearest state that is held whole, since something that they made
    /// can't be brought over.
    fn rebuild(
        &mut self,
        walk: &mut Walk<'_>,
        line: usize,
        report: &mut dyn FnMut(Report),
    ) -> Result<Option<usize>, EngineError> {
        let keys = walk.keys.get(..line).unwrap_or_default().to_vec();
        let best = self
            .checkpoints
            .iter()
            .enumerate()
            .filter_map(|(index, node)| node.prefix(&keys).map(|length| (length, index)))
            .max();
        let mut node = match best {
            Some((_, index)) if let Some(checkpoint) = self.checkpoints.get_mut(index) => {
                let process = checkpoint.process.fork()?;
                Node {
                    process,
                    state: checkpoint.state.clone(),
                    line: checkpoint.line.clone(),
                    ran: checkpoint.ran.clone(),
                }
            }
            _ => Node::new(self.root()?.fork()?),
        };
        for index in node.line.len()..line {
            let Some((place, expected)) = walk.line.get(index).cloned() else { break };
            let Some(task) = walk.tasks.get(place) else { break };
            self.disk.restore(&node.state);
            let why = vec![Reason::Rebuilt { names: Vec::new() }];
            report(Report::Started { step: task.id.clone(), why: why.clone(), rebuilt: true });
            if self.spent_us > CHECKPOINT_PAYS * self.fork_us {
                self.checkpoint(&mut node)?;
            }
            let done = self.execute_in(&mut node, task, why, walk.goal.on_error, report)?;
            let same = done.keep && same_result(&expected, &done.execution);
            report(Report::Executed { execution: Arc::clone(&done.execution), rebuilt: same });
            if same {
                node.line.push(Key::of(&expected));
                node.ran.push(Key::of(&expected));
                continue;
            }
            tracing::debug!(
                step = %task.id, difference = ?difference(&expected, &done.execution), "an execution made again is another"
            );
            // It answers differently with the same inputs: from here on the line is another.
            walk.line.truncate(index);
            walk.keys.truncate(index);
            if done.keep {
                walk.state = State { ..node.state.clone() };
                node.line.push(Key::of(&done.execution));
                node.ran.push(Key::of(&done.execution));
                walk.keys.push(Key::of(&done.execution));
                walk.line.push((place, done.execution));
                self.live = Some(node);
            } else {
                walk.state = node.state.clone();
            }
            return Ok(Some(place));
        }
        walk.settle(&node);
        self.live = Some(node);
        Ok(None)
    }

    /// A process on the side that holds `target`, to be asked and thrown away.
    fn on_the_side(&mut self, walk: &Walk<'_>, target: &State) -> Result<Node, EngineError> {
        self.root()?;
        if let Some(live) = &mut self.live
            && live.line == walk.keys
        {
            let process = live.process.fork()?;
            return Ok(Node { process, state: live.state.clone(), line: Vec::new(), ran: Vec::new() });
        }
        let kept = self.live.take();
        let brought = self.bring_over(&walk.keys, target);
        self.live = kept;
        if let Some(node) = brought? {
            return Ok(node);
        }
        let kept = self.live.take();
        let mut again = Walk::new(walk.tasks, walk.goal, BTreeMap::new());
        again.state = target.clone();
        again.line = walk.line.clone();
        again.keys = walk.keys.clone();
        let files = self.disk_state();
        let length = again.line.len();
        let rebuilt = self.rebuild(&mut again, length, &mut |_| {});
        self.disk.restore(&files);
        let node = self.live.take();
        self.live = kept;
        match (rebuilt?, node) {
            (None, Some(node)) => Ok(node),
            _ => Err(EngineError {
                what: "a step before it answers differently each time, so that this state can't be had again".into(),
                hint: Some("bring the run up to date with: reweave run".into()),
            }),
        }
    }

    /// The files as they are now, as a state to come back to.
    fn disk_state(&mut self) -> State {
        State { names: BTreeMap::new(), files: self.disk.left() }
    }
}

/// What running a step came to.
enum Ran {
    Here(Arc<Execution>),
    /// A step before it, at this place, came out differently when it was made again.
    Diverged(usize),
}

/// An execution, and whether its process may be gone on with.
struct Done {
    execution: Arc<Execution>,
    keep: bool,
}

fn name_of(info: &RootReply) -> String {
    let implementation = if info.implementation == "cpython" { "CPython" } else { &info.implementation };
    format!("{implementation} {}", info.version)
}

/// Whether an execution made again did what it did before.
fn same_result(expected: &Execution, again: &Execution) -> bool {
    difference(expected, again).is_none()
}

/// The first thing in which an execution made again is another, in words.
fn difference(expected: &Execution, again: &Execution) -> Option<String> {
    if expected.outcome != again.outcome {
        return Some(format!("it ended {:?} and now {:?}", expected.outcome, again.outcome));
    }
    let (then, now) = (&expected.observation, &again.observation);
    let direct = |seen: &Observation| -> BTreeMap<Name, Option<Digest>> {
        let own = seen.writes.iter().filter(|(name, _)| !seen.incidental.contains_key(*name));
        own.map(|(name, written)| (Arc::clone(name), written.as_ref().map(|w| w.digest))).collect()
    };
    let (direct_then, direct_now) = (direct(then), direct(now));
    if let Some(name) = direct_then.keys().chain(direct_now.keys()).find(|n| direct_then.get(*n) != direct_now.get(*n))
    {
        return Some(format!("{name}: {:?} and now {:?}", direct_then.get(name), direct_now.get(name)));
    }
    then.files_written.iter().find_map(|(path, write)| {
        let other = now.files_written.get(path)?;
        (other.after != write.after).then(|| format!("file {path}"))
    })
}

impl<'a> Walk<'a> {
    fn new(tasks: &'a [Task], goal: &'a Goal, edited: BTreeMap<String, FileContent>) -> Self {
        Self {
            tasks,
            goal,
            state: State::default(),
            line: Vec::new(),
            keys: Vec::new(),
            missing: BTreeMap::new(),
            missing_files: BTreeMap::new(),
            edited,
            executed: 0,
        }
    }

    /// Moves over an execution that stands. Returns the step at which the run stops, if it does.
    fn take(&mut self, at: usize, execution: &Arc<Execution>) -> Option<StepId> {
        let failed = execution.outcome != Outcome::Done;
        if failed && self.goal.on_error == OnError::Block {
            self.fail(execution);
            return None;
        }
        let seen = &execution.observation;
        for (name, slot) in &seen.writes {
            if slot.is_some() && !seen.reads.contains_key(name) {
                self.missing.remove(name);
            }
        }
        if failed {
            self.fail(execution);
        }
        self.state.apply(seen);
        for path in seen.files_written.keys() {
            self.missing_files.remove(path);
            if let Some(now) = self.edited.get(path)
                && Some(at) == self.last_kept_writer(path, at)
            {
                self.state.files.insert(path.clone(), now.clone());
            }
        }
        self.line.push((at, Arc::clone(execution)));
        self.keys.push(Key::of(execution));
        (failed && self.goal.on_error == OnError::Stop).then(|| execution.step.clone())
    }

    /// The place of the last step whose newest record writes `path`: an edit from outside was made after it.
    fn last_kept_writer(&self, path: &str, at: usize) -> Option<usize> {
        self.tasks
            .iter()
            .enumerate()
            .rev()
            .find(|(_, task)| task.held.first().is_some_and(|e| e.observation.files_written.contains_key(path)))
            .map(|(place, _)| place)
            .or(Some(at))
    }

    /// Notes what a failed step should have made and did not.
    fn fail(&mut self, execution: &Execution) {
        let root = execution.error.as_ref().and_then(|error| error.caused_by.as_ref()).unwrap_or(&execution.step);
        let stands = self.goal.on_error != OnError::Block;
        for name in &execution.observation.undone {
            // What it did before it failed stands, unless failures are undone.
            if !(stands && execution.observation.writes.contains_key(name)) {
                self.missing.insert(Arc::clone(name), root.clone());
            }
        }
        if !stands {
            for path in execution.observation.files_written.keys() {
                self.missing_files.insert(path.clone(), root.clone());
            }
        }
    }

    /// The failed step of which this failure is only a consequence: it lacks a name that the other should have made.
    fn cause(&self, execution: &Execution) -> Option<StepId> {
        let error = execution.error.as_ref()?;
        let named = error.attributes.get("name").and_then(|name| self.missing.get(name.as_str()));
        let absent = || {
            let mut reads = execution.observation.reads.iter().filter(|(_, digest)| digest.is_none());
            reads.find_map(|(name, _)| self.missing.get(name))
        };
        named.or_else(|| (error.type_name == "NameError").then(absent).flatten()).cloned()
    }

    /// Notes what a blocked step should have made.
    fn lose(&mut self, task: &Task, compiled: Option<&CompileReply>, why: &Reason) {
        let root = match why {
            Reason::BlockedBy { step, .. } => step.clone(),
            _ => task.id.clone(),
        };
        if let Some(reply) = compiled {
            for name in &reply.stores {
                self.missing.insert(Arc::clone(name), root.clone());
            }
        }
        if let Some(good) = task.held.iter().find(|execution| execution.outcome == Outcome::Done) {
            for name in good.observation.writes.keys().filter(|name| !name.starts_with('@')) {
                self.missing.insert(Arc::clone(name), root.clone());
            }
            for path in good.observation.files_written.keys() {
                self.missing_files.insert(path.clone(), root.clone());
            }
        }
    }

    /// Whether what an execution really used is something that a failed step should have made.
    fn blocked_by_reads(&self, execution: &Execution) -> Option<Reason> {
        if self.goal.on_error != OnError::Block {
            return None;
        }
        let seen = &execution.observation;
        let mut names: Vec<Name> = seen.reads.keys().filter(|name| self.missing.contains_key(*name)).cloned().collect();
        if names.is_empty() {
            names.extend(
                seen.files_read.keys().filter(|p| self.missing_files.contains_key(*p)).map(|p| Name::from(p.as_str())),
            );
        }
        self.missing_reason(names)
    }

    fn missing_reason(&self, names: Vec<Name>) -> Option<Reason> {
        let first = names.first()?;
        let step = self.missing.get(first).or_else(|| self.missing_files.get(&**first))?.clone();
        Some(Reason::BlockedBy { step, names })
    }

    /// Takes over what a process knows of names that were unknown.
    fn settle(&mut self, node: &Node) {
        for (name, slot) in &mut self.state.names {
            if matches!(slot, Slot::Unknown(_))
                && let Some(known) = node.state.names.get(name)
            {
                *slot = known.clone();
            }
        }
    }
}

/// A directory of the engine's own, gone with it.
#[derive(Debug)]
struct Spool(PathBuf);

impl Spool {
    fn new() -> Result<Self, EngineError> {
        let base = std::env::temp_dir();
        for attempt in 0..100_u32 {
            let path =
                base.join(format!("reweave-{}-{:x}", std::process::id(), super::execute::now() + i64::from(attempt)));
            if std::fs::create_dir(&path).is_ok() {
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    // Only this user may look in.
                    let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700));
                }
                return Ok(Self(path));
            }
        }
        Err(EngineError {
            what: format!("no directory can be made in {}", base.display()),
            hint: Some("set TMPDIR to a directory that may be written".into()),
        })
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // What is left is a few copies of files; nothing depends on their going.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
