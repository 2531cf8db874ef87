//! Having a process in the right state: checkpoints, values brought over, steps executed again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::aside::{Aside, Isolation};
use super::execute::{micros, written};
use super::line::{Delta, Key, Line, Node};
use super::pass::Walk;
use super::protocol::{Ask, LoadReply, ValueHead};
use super::state::{Slot, State, hidden_in_words};
use super::task::{EngineError, Report, Task};
use super::walk::Engine;
use crate::step::{Digest, Execution, Name, Observation, Reason, Written};

/// How many checkpoints are held at the most.
const CHECKPOINTS: usize = 200;
/// Their memory is looked at when so many more are held.
const LOOK_EVERY: usize = 8;

impl Engine {
    /// Leaves a copy of `node` behind.
    pub(super) fn checkpoint(&mut self, node: &mut Node) -> Result<(), EngineError> {
        let start = std::time::Instant::now();
        let copy = node.forked()?;
        self.fork_us = (self.fork_us * 3 + micros(start.elapsed())) / 4;
        (self.spent_us, self.uncarried, self.imported) = (0, false, false);
        self.checkpoints.push(copy);
        self.evict();
        Ok(())
    }

    /// Lets checkpoints go until the rest are within the budget: first those that cost the least to have again
    /// for the memory that only they hold.
    pub(super) fn evict(&mut self) {
        let count = self.checkpoints.len();
        if count > CHECKPOINTS {
            // The oldest but some: the spread stays wide, the newest are the likeliest to serve.
            self.checkpoints.remove(count / 4);
        }
        let Some(budget) = self.settings().checkpoint_memory else { return };
        // Told at once, and never less than what each holds by itself.
        let resident = self.checkpoints.iter().map(|node| node.process.resident_memory());
        if resident.fold(0, u64::saturating_add) <= budget {
            return;
        }
        // To look costs about a tenth of a millisecond each. What the older ones hold grows slowly; the newest were
        // one with the live process until just now.
        let all = count.is_multiple_of(LOOK_EVERY);
        self.look_at_memory(if all { 0 } else { count.saturating_sub(2) });
        if self.memory() <= budget {
            return;
        }
        loop {
            // What one shared with another is the other's own when it is gone.
            self.look_at_memory(0);
            if self.memory() <= budget || self.checkpoints.is_empty() {
                return;
            }
            let cost = |node: &Node, at: usize| -> u64 {
                let others = self.checkpoints.iter().enumerate().filter(|(other, _)| *other != at);
                let from = others.filter_map(|(_, other)| other.prefix(&node.line)).max().unwrap_or(0);
                node.line.took_us().saturating_sub(node.line.first(from).took_us())
            };
            let worth = |(at, node): (usize, &Node)| (at, cost(node, at) as f64 / node.private.max(1) as f64);
            let worst = self.checkpoints.iter().enumerate().map(worth).min_by(|a, b| a.1.total_cmp(&b.1));
            let worst = worst.map_or(0, |(at, _)| at);
            tracing::debug!(at = worst, "a checkpoint goes");
            self.checkpoints.remove(worst).process.end();
        }
    }

    /// Looks anew at what each checkpoint from the one at `from` on holds by itself.
    fn look_at_memory(&mut self, from: usize) {
        for node in self.checkpoints.iter_mut().skip(from) {
            node.private = node.process.private_memory();
        }
    }

    /// The memory in bytes that checkpoints hold by themselves, as far as it was looked at.
    fn memory(&self) -> u64 {
        self.checkpoints.iter().map(|node| node.private).fold(0, u64::saturating_add)
    }

    /// Has the live process hold the state after the first `line` executions of the walk. Where an execution
    /// had to be made again and came out differently, the walk goes on from there: its place is returned.
    pub(super) fn stand(
        &mut self,
        walk: &mut Walk<'_>,
        line: usize,
        report: &mut dyn FnMut(Report),
    ) -> Result<Option<usize>, EngineError> {
        self.root()?;
        let keys = walk.keys.first(line);
        // The process in which the last of them ran holds what they made.
        if let Some(live) = &mut self.live
            && live.line == keys
        {
            live.state.files = walk.state.files.clone();
            walk.settle(live);
            return Ok(None);
        }
        if let Some(node) = self.bring_over(&keys, &walk.state)? {
            walk.settle(&node);
            self.live = Some(node);
            return Ok(None);
        }
        Ok(self.rebuild(walk, line, report)?.map(|diverged| diverged.place))
    }

    /// A process for `target` made from one that runs clean, by bringing values over; `None` where that
    /// can't be done.
    pub(super) fn bring_over(&mut self, keys: &Line, target: &State) -> Result<Option<Node>, EngineError> {
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
            .filter(|&i| self.checkpoints.get(i).is_some_and(|n| n.can_begin() && n.is_clean(keys)))
            .collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.checkpoints.get(i).map_or(0, |n| n.ran.len())));
        for index in order.into_iter().take(3) {
            let Some(checkpoint) = self.checkpoints.get_mut(index) else { continue };
            let Ok(delta) = Delta::between(&checkpoint.state, target, &*self.vault) else { continue };
            let Ok(node) = checkpoint.forked() else { continue };
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
        let process = self.line()?;
        self.load(Node::new(process), &delta, target, keys)
    }

    /// Brings values over into `node`; `None` if something did not come over as it was.
    pub(super) fn load(
        &mut self,
        mut node: Node,
        delta: &Delta,
        target: &State,
        keys: &Line,
    ) -> Result<Option<Node>, EngineError> {
        if !delta.is_empty() {
            let mut data = Vec::new();
            let mut sizes = Vec::new();
            for component in &delta.load {
                let Some(value) = self.vault.value(&component.key()) else { return Ok(None) };
                sizes.push(value.len());
                data.extend_from_slice(&value);
            }
            let values: Vec<ValueHead<'_>> = delta
                .load
                .iter()
                .zip(sizes)
                .map(|(component, size)| ValueHead { members: &component.members, size })
                .collect();
            node.process.ask(&Ask::Load { delete: &delta.delete, values: &values, order: &delta.order }, &data, &[])?;
            let reply: LoadReply = node.process.answer()?;
            if !reply.bad.is_empty() {
                tracing::debug!(bad = ?reply.bad, "values that could not be unpacked");
                return Ok(None);
            }
            for name in &delta.delete {
                node.state.set(Arc::clone(name), None);
            }
            for (name, component) in reply.components {
                let mut now = written(component);
                if let Some(Slot::Known(wanted)) = target.names().get(&name) {
                    if wanted.digest != now.digest {
                        tracing::debug!(%name, ?wanted, ?now, "a value that came over is another");
                        return Ok(None);
                    }
                    now.placed = wanted.placed;
                }
                node.state.set(name, Some(Slot::Known(Arc::new(now))));
            }
        }
        node.state.take_order(target);
        let same = node.state.names().len() == target.names().len()
            && target.names().iter().all(|(name, slot)| match (node.state.names().get(name), slot) {
                (Some(Slot::Known(now)), Slot::Known(wanted)) => now.digest == wanted.digest,
                (Some(_), Slot::Unknown(_)) => true,
                _ => false,
            });
        if !same {
            return Ok(None);
        }
        node.state.files = target.files.clone();
        node.line = keys.clone();
        Ok(Some(node))
    }

    /// Has the state again where something in it can't be brought over: from the nearest state that is held
    /// whole, what can be brought over is, and the steps that made the rest are executed again.
    pub(super) fn rebuild(
        &mut self,
        walk: &mut Walk<'_>,
        line: usize,
        report: &mut dyn FnMut(Report),
    ) -> Result<Option<Diverged>, EngineError> {
        match self.rebuild_by(Rebuild::AsNeeded, walk, line, report)? {
            Rebuilt::Stands => Ok(None),
            Rebuilt::Diverged(diverged) => Ok(Some(diverged)),
            // Something did not come over as it was: then all are executed.
            Rebuilt::Failed => match self.rebuild_by(Rebuild::All, walk, line, report)? {
                Rebuilt::Diverged(diverged) => Ok(Some(diverged)),
                Rebuilt::Stands | Rebuilt::Failed => Ok(None),
            },
        }
    }

    fn rebuild_by(
        &mut self,
        how: Rebuild,
        walk: &mut Walk<'_>,
        line: usize,
        report: &mut dyn FnMut(Report),
    ) -> Result<Rebuilt, EngineError> {
        let keys = walk.keys.first(line);
        let mut node = loop {
            let can = |node: &Node| node.can_begin() && node.prefix(&keys).is_some();
            let held = self.checkpoints.iter().enumerate().filter(|(_, node)| can(node));
            let Some(nearest) = held.max_by_key(|(_, node)| node.line.len()).map(|(place, _)| place) else {
                break Node::new(self.line()?);
            };
            match self.checkpoints.get_mut(nearest).map(Node::forked) {
                Some(Ok(node)) => break node,
                // A step may have ended it: then it is as if it had been let go.
                _ => drop(self.checkpoints.remove(nearest)),
            }
        };
        // The state so far, of which the process may be behind.
        let mut wanted = node.state.clone();
        for index in node.line.len()..line {
            let Some((place, expected)) = walk.line.get(index).cloned() else { break };
            let Some(task) = walk.tasks.get(place) else { break };
            if how == Rebuild::AsNeeded && self.can_be_carried(&expected) {
                let mut after = wanted.clone();
                after.apply(&expected.observation);
                // Where a record does not tell what a name holds then, the process must.
                if !after.names().values().any(|slot| matches!(slot, Slot::Unknown(None))) {
                    wanted = after;
                    continue;
                }
            }
            match self.catch_up(node, &wanted, &keys.first(index))? {
                Some(there) => node = there,
                None => return Ok(Rebuilt::Failed),
            }
            self.disk.restore(&node.state);
            let why = vec![Reason::Rebuilt { names: self.not_carried(&expected) }];
            report(Report::Started { step: task.id.clone(), why: why.clone(), rebuilt: true });
            if self.checkpoint_pays() {
                self.checkpoint(&mut node)?;
            }
            let before = node.state.clone();
            let done = self.execute_in(&mut node, task, why, Some(&expected), walk.goal.on_error, report)?;
            let difference = difference(&before, &expected, &done.execution);
            let same = done.keep && difference.is_none();
            report(Report::Executed { execution: Arc::clone(&done.execution), rebuilt: same });
            if same {
                node.executed(Key::of(&expected));
                wanted = node.state.clone();
                continue;
            }
            let what = difference.unwrap_or_else(|| "what it left running".into());
            tracing::debug!(step = %task.id, what, "an execution made again is another");
            // It answers differently with the same inputs: from here on the line is another.
            walk.line.truncate(index);
            walk.keys = walk.keys.first(index);
            if done.keep {
                walk.state = node.state.clone();
                node.executed(Key::of(&done.execution));
                walk.keys.push(Key::of(&done.execution));
                walk.line.push((place, done.execution));
                self.live = Some(node);
            } else {
                walk.state = node.state.clone();
            }
            return Ok(Rebuilt::Diverged(Diverged { place, what }));
        }
        match self.catch_up(node, &wanted, &keys)? {
            Some(node) => {
                walk.settle(&node);
                self.live = Some(node);
                Ok(Rebuilt::Stands)
            }
            None => Ok(Rebuilt::Failed),
        }
    }

    /// Whether all that an execution made can be brought over.
    pub(super) fn can_be_carried(&self, execution: &Execution) -> bool {
        let mut made = execution.observation.writes.values().flatten();
        made.all(|written| self.has(written))
    }

    fn has(&self, written: &Written) -> bool {
        written.uncarryable.is_none() && self.vault.has_value(&written.key())
    }

    /// The names of what an execution made and can't be brought over; hidden state has none.
    fn not_carried(&self, execution: &Execution) -> Vec<Name> {
        let made = execution.observation.writes.iter().filter(|(name, _)| !name.starts_with('@'));
        let lost = made.filter(|(_, written)| written.as_ref().is_some_and(|written| !self.has(written)));
        lost.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Brings `node` on to `wanted`, the state after the executions `keys`; `None` if that fails.
    fn catch_up(&mut self, node: Node, wanted: &State, keys: &Line) -> Result<Option<Node>, EngineError> {
        if node.line == *keys {
            return Ok(Some(node));
        }
        match Delta::between(&node.state, wanted, &*self.vault) {
            Ok(delta) => self.load(node, &delta, wanted, keys),
            Err(_) => Ok(None),
        }
    }

    /// A process on the side that holds `target`, to be asked and thrown away.
    pub(super) fn on_the_side(&mut self, walk: &Walk<'_>, target: &State) -> Result<Side, EngineError> {
        self.root()?;
        if let Some(live) = &mut self.live
            && live.line == walk.keys
        {
            let process = live.process.fork()?;
            let node = Node { state: live.state.clone(), degraded: true, ..Node::new(process) };
            return Ok(Side { node, _aside: None });
        }
        // One that can't be run from can be looked at.
        let there = self.checkpoints.iter_mut().find(|node| node.line == walk.keys);
        if let Some(Ok(node)) = there.map(Node::forked) {
            return Ok(Side { node, _aside: None });
        }
        let kept = self.live.take();
        let brought = self.bring_over(&walk.keys, target);
        self.live = kept;
        if let Some(node) = brought? {
            return Ok(Side { node, _aside: None });
        }
        let mut aside = self.aside(walk.tasks)?;
        let elsewhere = *aside.isolation() != Isolation::Kernel;
        let engine = aside.engine();
        let mut again = Walk::new(walk.tasks, walk.goal, BTreeMap::new());
        again.state = target.clone();
        again.line = walk.line.clone();
        again.keys = walk.keys.clone();
        let length = again.line.len();
        let rebuilt = engine.rebuild(&mut again, length, &mut |_| {})?;
        match (rebuilt, engine.live.take()) {
            (None, Some(node)) => Ok(Side { node, _aside: Some(aside) }),
            (Some(Diverged { place, what }), _)
                if let Some(task) = walk.tasks.get(place)
                    && elsewhere =>
            {
                Err(EngineError {
                    what: format!(
                        "the state can only be had again by running {} in a copy of the run at another path, and there it \
                     comes out differently: {what}",
                        task.id
                    ),
                    hint: Some(
                        "what may give it a view of its own, so that the path is the same: reweave doctor".into(),
                    ),
                })
            }
            (Some(Diverged { place, what }), _) if let Some(task) = walk.tasks.get(place) => Err(EngineError {
                what: format!(
                    "{} answers differently each time, so that the state after it can't be had again: {what}",
                    task.id
                ),
                hint: Some("see in what with: reweave replay --check 2".into()),
            }),
            _ => Err(EngineError { what: "no process could be brought to this state".into(), hint: None }),
        }
    }
}

/// Which steps are executed to have a state again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rebuild {
    /// Those that made what can't be brought over.
    AsNeeded,
    All,
}

/// A step that came out differently when it was made again.
#[derive(Debug)]
pub(super) struct Diverged {
    pub(super) place: usize,
    /// In what, in words.
    what: String,
}

enum Rebuilt {
    Stands,
    Diverged(Diverged),
    /// Something could not be brought over after all.
    Failed,
}

/// A process to be asked, with the engine on the side that it belongs to, if it needed one.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) node: Node,
    _aside: Option<Aside>,
}

/// Whether the present sources of `tasks` are those whose executions make up what `node` holds.
pub(super) fn leads_to(tasks: &[Task], node: &Node) -> bool {
    let mut rest = tasks.iter().rev();
    node.line.backwards().all(|key| {
        rest.by_ref().find(|task| task.id == *key.step()).is_some_and(|task| {
            let source = Some(Digest::of(task.source.as_bytes()));
            task.held.iter().any(|held| Key::of(held) == *key && held.observation.source == source)
        })
    })
}

/// The first thing in which an execution made again, in the state `before`, is another, in words.
fn difference(before: &State, expected: &Execution, again: &Execution) -> Option<String> {
    if expected.outcome != again.outcome {
        return Some(format!("it ended as {:?}, and now as {:?}", expected.outcome, again.outcome).to_lowercase());
    }
    let (then, now) = (&expected.observation, &again.observation);
    // What was bound to the very value that stood there is no write.
    let made = |seen: &Observation, name: &Name| match seen.writes.get(name) {
        Some(written) => written.as_ref().map(|written| written.digest),
        None => match before.names().get(name) {
            Some(Slot::Known(written)) => Some(written.digest),
            _ => None,
        },
    };
    // When what a step left running is there to be seen is chance, and a warning may tell the number of a process.
    let by_chance = |name: &Name| matches!(&**name, "@held" | "@descriptors" | "@warnings:shown");
    let own =
        |name: &&Name| !then.incidental.contains_key(*name) && !now.incidental.contains_key(*name) && !by_chance(name);
    // What shares something with a companion that was another then is another for that alone.
    let other = |name: &Name| then.incidental.get(name) != now.incidental.get(name);
    let shares = |seen: &Observation, name: &Name| {
        let written = seen.writes.get(name).and_then(Option::as_ref);
        written.is_some_and(|written| written.members.iter().any(other))
    };
    let told = |name: &&Name| !shares(then, name) && !shares(now, name);
    let mut names = then.writes.keys().chain(now.writes.keys()).filter(own).filter(told);
    if let Some(name) = names.find(|name| made(then, name) != made(now, name)) {
        let what = hidden_in_words(name).unwrap_or_else(|| name.to_string());
        return Some(match (made(then, name), made(now, name)) {
            (Some(_), Some(_)) => format!("{what} is another"),
            (None, _) => format!("{what} was not there, and now is"),
            (_, None) => format!("{what} was there, and now is not"),
        });
    }
    then.files_written.iter().find_map(|(path, write)| {
        let other = now.files_written.get(path)?;
        (other.after != write.after).then(|| format!("file {path} is another"))
    })
}
