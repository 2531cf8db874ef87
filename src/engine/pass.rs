//! One pass through the steps: the state so far, and what failed steps should have made.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::blocking::{made, went_well};
use super::line::{Key, Line, Node};
use super::protocol::CompileReply;
use super::state::{Slot, State};
use super::task::{Goal, Halt, OnError, Task};
use crate::step::{Execution, FileContent, Name, Outcome, Reason, StepId};

/// One pass through the steps.
pub(super) struct Walk<'a> {
    pub(super) tasks: &'a [Task],
    pub(super) goal: &'a Goal,
    pub(super) state: State,
    /// The executions that make up the state, with the places of their steps.
    pub(super) line: Vec<(usize, Arc<Execution>)>,
    pub(super) keys: Line,
    /// Names and files that failed or blocked steps should have made: what made them missing.
    pub(super) missing: BTreeMap<Name, StepId>,
    pub(super) missing_files: BTreeMap<String, StepId>,
    /// Files that were changed from outside since a step left them.
    pub(super) edited: BTreeMap<String, FileContent>,
    pub(super) executed: usize,
    /// How often the step at a place was executed again and came out differently.
    pub(super) again: BTreeMap<usize, usize>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(tasks: &'a [Task], goal: &'a Goal, edited: BTreeMap<String, FileContent>) -> Self {
        Self {
            tasks,
            goal,
            state: State::default(),
            line: Vec::new(),
            keys: Line::default(),
            missing: BTreeMap::new(),
            missing_files: BTreeMap::new(),
            edited,
            executed: 0,
            again: BTreeMap::new(),
        }
    }

    /// Moves over an execution that stands. Returns the step at which the run stops, if it does.
    pub(super) fn take(&mut self, at: usize, execution: &Arc<Execution>) -> Option<StepId> {
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

    /// The state that the files are to be in where the steps from `place` on were not gone to: what these made stays as they
    /// left it, or as a person has made it since.
    pub(super) fn left_from(&self, place: usize) -> State {
        let mut left = self.state.clone();
        for held in self.tasks.iter().skip(place).filter_map(|task| task.held.first()) {
            if held.outcome != Outcome::Done && self.goal.on_error == OnError::Block {
                continue;
            }
            for (path, write) in &held.observation.files_written {
                left.files.insert(path.clone(), self.edited.get(path).unwrap_or(&write.after).clone());
            }
        }
        left
    }

    /// Whether a step from `place` on has last written this file.
    pub(super) fn is_written_from(&self, place: usize, path: &str) -> bool {
        let mut held = self.tasks.iter().skip(place).filter_map(|task| task.held.first());
        held.any(|execution| execution.observation.files_written.contains_key(path))
    }

    /// What the watched names hold now.
    pub(super) fn watched(&self) -> BTreeMap<Name, Option<Slot>> {
        self.goal.watched.iter().map(|name| (Arc::clone(name), self.state.names().get(name).cloned())).collect()
    }

    /// Why the update stops after this execution, if it does; `before` is what the watched names held.
    pub(super) fn halt_after(&self, before: &BTreeMap<Name, Option<Slot>>, execution: &Execution) -> Option<Halt> {
        if self.goal.until_failure && execution.outcome == Outcome::Failed {
            return Some(Halt::Failed { step: execution.step.clone() });
        }
        let digest = |slot: Option<&Slot>| match slot {
            Some(Slot::Known(written)) => Some(written.digest),
            Some(Slot::Unknown(_)) | None => None,
        };
        let changed = before.iter().find(|(name, was)| digest(was.as_ref()) != digest(self.state.names().get(*name)));
        changed.map(|(name, _)| Halt::Changed { name: Arc::clone(name), by: execution.step.clone() })
    }

    /// The place of the last step whose newest record writes `path`: an edit from outside was made after it.
    pub(super) fn last_kept_writer(&self, path: &str, at: usize) -> Option<usize> {
        self.tasks
            .iter()
            .enumerate()
            .rev()
            .find(|(_, task)| task.held.first().is_some_and(|e| e.observation.files_written.contains_key(path)))
            .map(|(place, _)| place)
            .or(Some(at))
    }

    /// Notes what a failed step should have made and did not.
    pub(super) fn fail(&mut self, execution: &Execution) {
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
    pub(super) fn cause(&self, execution: &Execution) -> Option<StepId> {
        let error = execution.error.as_ref()?;
        let named = error.attributes.get("name").and_then(|name| self.missing.get(name.as_str()));
        let absent = || {
            let mut reads = execution.observation.reads.iter().filter(|(_, digest)| digest.is_none());
            reads.find_map(|(name, _)| self.missing.get(name))
        };
        named.or_else(|| (error.type_name == "NameError").then(absent).flatten()).cloned()
    }

    /// Notes what a blocked step should have made.
    pub(super) fn lose(&mut self, task: &Task, compiled: &CompileReply, why: &Reason) {
        let root = match why {
            Reason::BlockedBy { step, .. } => step.clone(),
            _ => task.id.clone(),
        };
        for name in &compiled.stores {
            self.missing.insert(Arc::clone(name), root.clone());
        }
        let Some((good, same)) = went_well(task, compiled) else { return };
        for name in made(good, same, compiled) {
            self.missing.insert(Arc::clone(name), root.clone());
        }
        for path in good.observation.files_written.keys().filter(|_| same) {
            self.missing_files.insert(path.clone(), root.clone());
        }
    }

    /// Whether what an execution really used is something that a failed step should have made.
    pub(super) fn blocked_by_reads(&self, execution: &Execution) -> Option<Reason> {
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

    pub(super) fn missing_reason(&self, names: Vec<Name>) -> Option<Reason> {
        let first = names.first()?;
        let step = self.missing.get(first).or_else(|| self.missing_files.get(&**first))?.clone();
        Some(Reason::BlockedBy { step, names })
    }

    /// Takes over what a process knows of names that were unknown.
    pub(super) fn settle(&mut self, node: &Node) {
        let unknown = self.state.names().iter().filter(|(_, slot)| matches!(slot, Slot::Unknown(_)));
        let names: Vec<Name> = unknown.map(|(name, _)| Arc::clone(name)).collect();
        for name in names {
            if let Some(known) = node.state.names().get(&name) {
                self.state.set(name, Some(known.clone()));
            }
        }
    }
}
