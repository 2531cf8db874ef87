//! A process with the state that it holds, and whether that is a state of the line at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::process::Process;
use super::state::{Slot, State};
use super::task::EngineError;
use super::vault::Vault;
use crate::step::{Digest, Execution, Millis, Name, StepId, Written};

/// Tells one execution from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(StepId, Millis, u64);

impl Key {
    pub(super) fn of(execution: &Execution) -> Self {
        Self(execution.step.clone(), execution.started, execution.duration_us)
    }

    pub(super) fn step(&self) -> &StepId {
        &self.0
    }
}

/// Executions in order. As cheap to copy and to compare for a run of ten thousand steps as for one of ten: lines that
/// begin alike share what they begin with, and each knows a digest of the whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    key: Key,
    before: Line,
    length: usize,
    mark: Digest,
    /// How long all together took, in microseconds.
    took_us: u64,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.length)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How long all its executions took, in microseconds.
    pub(super) fn took_us(&self) -> u64 {
        self.0.as_ref().map_or(0, |link| link.took_us)
    }

    pub(super) fn push(&mut self, key: Key) {
        let before = std::mem::take(self);
        let Key(step, started, took) = &key;
        let mark = Digest::of_parts([
            before.mark().as_bytes().as_slice(),
            step.as_str().as_bytes(),
            &started.to_le_bytes(),
            &took.to_le_bytes(),
        ]);
        let (length, took_us) = (before.len() + 1, before.took_us().saturating_add(*took));
        self.0 = Some(Arc::new(Link { key, before, length, mark, took_us }));
    }

    fn mark(&self) -> Digest {
        self.0.as_ref().map_or_else(|| Digest::of(""), |link| link.mark)
    }

    /// Its first `length` executions; all where there are no more.
    pub(super) fn first(&self, length: usize) -> Self {
        let mut here = self;
        while let Some(link) = &here.0
            && link.length > length
        {
            here = &link.before;
        }
        here.clone()
    }

    /// From the last to the first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = &Key> {
        std::iter::successors(self.0.as_deref(), |link| link.before.0.as_deref()).map(|link| &link.key)
    }

    pub(super) fn begins_with(&self, other: &Self) -> bool {
        other.len() <= self.len() && self.first(other.len()) == *other
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.mark() == other.mark()
    }
}

impl Drop for Line {
    /// One link after the other: to let each take the one before it along would need a stack as deep as the line.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(link) = next.and_then(Arc::into_inner) {
            let mut link = link;
            next = link.before.0.take();
        }
    }
}

/// A process that waits, or the one in which steps run.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) process: Process,
    /// What it holds.
    pub(super) state: State,
    /// The executions that its state comes from: made in it or brought over.
    pub(super) line: Line,
    /// Those of them whose code ran in it: they may have left more than a state tells.
    pub(super) ran: Line,
    /// Whether it is a fork of a process that held what none can take along: it is looked at and never run from.
    pub(super) degraded: bool,
    /// The memory in bytes that only it held when that was last looked at.
    pub(super) private: u64,
}

impl Node {
    pub(super) fn new(process: Process) -> Self {
        let (line, ran) = (Line::default(), Line::default());
        Self { process, state: State::default(), line, ran, degraded: false, private: 0 }
    }

    /// A copy of it, in a process of its own.
    pub(super) fn forked(&mut self) -> Result<Self, EngineError> {
        let process = self.process.fork()?;
        let (line, ran) = (self.line.clone(), self.ran.clone());
        Ok(Self { process, state: self.state.clone(), line, ran, degraded: !self.can_begin(), private: 0 })
    }

    /// Whether a fork of it can be run from.
    pub(super) fn can_begin(&self) -> bool {
        !self.degraded && !self.state.is_held()
    }

    /// Takes down that an execution was made in it.
    pub(super) fn executed(&mut self, key: Key) {
        self.line.push(key.clone());
        self.ran.push(key);
    }

    /// Whether nothing ran in it that is not part of `line`, in the same order.
    pub(super) fn is_clean(&self, line: &Line) -> bool {
        let mut rest = line.backwards();
        line.begins_with(&self.ran) || self.ran.backwards().all(|key| rest.any(|other| other == key))
    }

    /// How many of `line`'s first executions make its state, if exactly such.
    pub(super) fn prefix(&self, line: &Line) -> Option<usize> {
        line.begins_with(&self.line).then_some(self.line.len())
    }
}

/// What must be brought over and taken away to make one state of another.
#[derive(Debug, Default)]
pub(super) struct Delta {
    pub(super) delete: Vec<Name>,
    /// Components in an order in which each finds the definitions that it refers to.
    pub(super) load: Vec<Arc<Written>>,
    /// Names that have to stand at the end after that, in this order.
    pub(super) order: Vec<Name>,
}

impl Delta {
    /// From what a process holds to `target`; `Err` names what can't be brought over.
    pub(super) fn between(held: &State, target: &State, vault: &dyn Vault) -> Result<Self, Vec<Name>> {
        let mut loads: BTreeMap<Digest, Arc<Written>> = BTreeMap::new();
        let mut early: BTreeMap<Digest, Arc<Written>> = BTreeMap::new();
        let mut bad = Vec::new();
        let mut moved: BTreeSet<&Name> = BTreeSet::new();
        for (name, slot) in target.names() {
            match slot {
                Slot::Known(written) => {
                    if held.names().get(name) != Some(slot) {
                        loads.insert(written.digest, Arc::clone(written));
                        moved.insert(name);
                    }
                }
                Slot::Unknown(Some(from)) => match held.names().get(name) {
                    Some(Slot::Known(now)) if now.key() == from.key() => {}
                    _ => {
                        early.insert(from.digest, Arc::clone(from));
                    }
                },
                Slot::Unknown(None) => bad.push(Arc::clone(name)),
            }
        }
        // What stood under a name together with others comes with all of them, also with those that are something else by now.
        for written in early.values() {
            for member in &written.members {
                match target.names().get(member) {
                    Some(Slot::Unknown(Some(from))) if from.digest == written.digest => {}
                    Some(Slot::Known(now)) => {
                        loads.insert(now.digest, Arc::clone(now));
                        moved.insert(member);
                    }
                    _ => bad.push(Arc::clone(member)),
                }
            }
        }
        // A value that holds a definition by its name holds the old object until it is brought over as well.
        loop {
            let more: Vec<(&Name, &Arc<Written>)> = target
                .names()
                .iter()
                .filter_map(|(name, slot)| match slot {
                    Slot::Known(written)
                        if !loads.contains_key(&written.digest) && written.refs.iter().any(|r| moved.contains(r)) =>
                    {
                        Some((name, written))
                    }
                    _ => None,
                })
                .collect();
            if more.is_empty() {
                break;
            }
            for (name, written) in more {
                loads.insert(written.digest, Arc::clone(written));
                moved.insert(name);
            }
        }
        // Nor does one that only a process can tell let go of the old object.
        for (name, slot) in target.names() {
            if let Slot::Unknown(Some(from)) = slot
                && from.refs.iter().any(|name| moved.contains(name))
            {
                bad.push(Arc::clone(name));
            }
        }
        for written in loads.values().chain(early.values()) {
            if written.uncarryable.is_some() || !vault.has_value(&written.key()) {
                bad.extend(written.members.iter().cloned());
            }
        }
        if early.values().any(|written| !written.refs.is_empty()) {
            bad.extend(early.values().flat_map(|written| written.members.iter().cloned()));
        }
        if !bad.is_empty() {
            bad.sort();
            bad.dedup();
            return Err(bad);
        }
        let delete: Vec<Name> =
            held.names().keys().filter(|name| !target.names().contains_key(*name)).cloned().collect();
        let mut load: Vec<Arc<Written>> = early.into_values().collect();
        load.extend(in_order_of_reference(loads));
        Ok(Self { delete, load, order: target.order_from(held) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.delete.is_empty() && self.load.is_empty() && self.order.is_empty()
    }
}

/// Each component after those that hold the definitions that it refers to. There are no circles: definitions
/// that refer to one another are one component.
fn in_order_of_reference(loads: BTreeMap<Digest, Arc<Written>>) -> Vec<Arc<Written>> {
    let mut by_name: BTreeMap<Name, Digest> = BTreeMap::new();
    for (digest, written) in &loads {
        for member in &written.members {
            by_name.insert(Arc::clone(member), *digest);
        }
    }
    let mut ordered = Vec::new();
    let mut done: BTreeSet<Digest> = BTreeSet::new();
    for start in loads.keys() {
        let mut stack = vec![(*start, false)];
        while let Some((digest, ready)) = stack.pop() {
            let Some(written) = loads.get(&digest) else { continue };
            if ready {
                if done.insert(digest) {
                    ordered.push(Arc::clone(written));
                }
            } else if !done.contains(&digest) && stack.len() < 1_000_000 {
                stack.push((digest, true));
                let needed = written.refs.iter().filter_map(|name| by_name.get(name));
                stack.extend(needed.filter(|d| **d != digest && !done.contains(*d)).map(|d| (*d, false)));
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MemoryVault;

    fn line(numbers: std::ops::Range<u64>) -> Line {
        let mut line = Line::default();
        for n in numbers {
            line.push(Key(format!("s{n}").parse().unwrap(), 0, n));
        }
        line
    }

    #[test]
    fn lines_are_told_apart_by_what_they_hold() {
        assert_eq!(line(0..3), line(0..3));
        assert_ne!(line(0..3), line(0..4));
        assert_ne!(line(0..3), line(1..4));
        assert_eq!(line(0..5).first(3), line(0..3));
        assert!(line(0..5).begins_with(&line(0..5)) && line(0..5).begins_with(&Line::default()));
        assert!(!line(0..3).begins_with(&line(0..5)));
        assert_eq!(line(0..5).took_us(), 10);
        let steps: Vec<_> = line(0..3).backwards().map(|key| key.step().to_string()).collect();
        assert_eq!(steps, ["s2", "s1", "s0"]);
    }

    #[test]
    fn what_comes_with_its_old_companions_leaves_none_of_them_as_it_was() {
        let vault = MemoryVault::default();
        let written = |text: &str, members: &[&str]| {
            let members = members.iter().map(|name| Name::from(*name)).collect();
            let written = Written { members, ..Written::alone(&Name::from("a"), Digest::of(text)) };
            vault.put_value(&written.key(), b"");
            Arc::new(written)
        };
        // a and b shared a list; then b was bound to something else, and nobody has looked at a since.
        let (shared, other) = (written("shared", &["a", "b"]), written("other", &["b"]));
        let mut held = State::default();
        held.set("b".into(), Some(Slot::Known(Arc::clone(&other))));
        let mut target = held.clone();
        target.set("a".into(), Some(Slot::Unknown(Some(Arc::clone(&shared)))));
        let delta = Delta::between(&held, &target, &vault).unwrap();
        let loaded: Vec<Digest> = delta.load.iter().map(|written| written.digest).collect();
        assert_eq!(loaded, [shared.digest, other.digest], "b comes again after its old value came along");
        target.set("b".into(), Some(Slot::Unknown(Some(other))));
        assert_eq!(Delta::between(&held, &target, &vault).unwrap_err(), [Name::from("b")]);
    }

    #[test]
    fn a_long_line_ends_without_a_deep_stack() {
        let long = line(0..200_000);
        let kept = long.first(100_000);
        drop(long);
        assert_eq!(kept.len(), 100_000);
    }
}
