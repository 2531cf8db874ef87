//! The promise, checked on the run itself: everything is run from nothing on the side and compared with what is held.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::aside::{Aside, Isolation};
use super::decide::Choice;
use super::pass::Walk;
use super::task::{EngineError, Goal, Report, StopHandle, Task};
use super::walk::Engine;
use crate::step::{Execution, FileContent, Name, Observation, StepId, Stream, Written};

/// How a full run compares with what is held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// How many steps were compared.
    pub compared: usize,
    /// Steps that were not: they are not up to date, so nothing is held of them.
    pub skipped: Vec<StepId>,
    /// Where what is held is not what a full run gives.
    pub differences: Vec<Difference>,
    /// The same for steps that consult the clock, entropy or the like, or that use what such a step made: they
    /// keep what was recorded until asked, and say so.
    pub nondeterministic: Vec<Difference>,
    /// Steps that differ though all that they read is equal.
    pub roots: Vec<StepId>,
    /// The same where several full runs gave one answer, and what is held is another: they don't answer differently each time.
    #[serde(default)]
    pub steady: Vec<StepId>,
    /// Why the full run could not be kept apart from the run's files by the kernel, if so.
    pub unisolated: Option<String>,
    /// Whether it was stopped before the end.
    pub stopped: bool,
}

/// One thing in which two executions of a step differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The step.
    pub id: StepId,
    /// What differs: `outcome`, `stdout`, `stderr`, `display`, `variable x`, `file data.csv`.
    pub what: String,
    /// What is held, cut.
    pub held: String,
    /// What the full run gave, cut.
    pub full: String,
}

/// Longest that one side of a [`Difference`] is told, in characters.
const SHOWN: usize = 2_000;

/// A full run that is to be compared; may be run on any thread.
#[derive(Debug)]
pub struct Verification {
    aside: Aside,
    tasks: Vec<Task>,
    goal: Goal,
    standing: BTreeMap<StepId, Arc<Execution>>,
}

impl Engine {
    /// Prepares the check of `tasks`: what is held of each, and an engine on the side. With `again`, steps that
    /// are known to answer differently each time are run as well, to see how.
    ///
    /// # Errors
    /// As [`Engine::aside`].
    pub fn verification(&mut self, tasks: &[Task], goal: &Goal, again: bool) -> Result<Verification, EngineError> {
        let standing = self.standing(tasks, goal)?;
        let bare = |task: &Task| {
            // What is nondeterministic keeps what was recorded: the rest is compared on that ground.
            let recorded = standing.get(&task.id).filter(|held| !again && is_marked(held));
            Task { held: recorded.cloned().into_iter().collect(), forced: None, ..task.clone() }
        };
        let tasks: Vec<Task> = tasks.iter().map(bare).collect();
        let nothing: Vec<Task> = tasks.iter().map(|task| Task { held: Vec::new(), ..task.clone() }).collect();
        let aside = self.aside(&nothing)?;
        Ok(Verification {
            aside,
            tasks,
            goal: Goal { steps: BTreeSet::new(), at_most: None, ..goal.clone() },
            standing,
        })
    }

    /// The executions that hold for the present sources.
    fn standing(&mut self, tasks: &[Task], goal: &Goal) -> Result<BTreeMap<StepId, Arc<Execution>>, EngineError> {
        let mut walk = Walk::new(tasks, goal, BTreeMap::new());
        let mut standing = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            if let Some(why) = self.blocked_by_text(&walk, task)? {
                self.lose(&mut walk, task, &why)?;
                continue;
            }
            let (execution, holds) = match self.compare_aside(&mut walk, task)? {
                Choice::Keep(execution) => (Some(execution), true),
                Choice::Run(_) | Choice::Again(_) => (task.held.first().cloned(), false),
            };
            if let Some(execution) = execution {
                if let Some(why) = walk.blocked_by_reads(&execution) {
                    self.lose(&mut walk, task, &why)?;
                    continue;
                }
                self.take(&mut walk, at, &execution)?;
                if holds {
                    standing.insert(task.id.clone(), execution);
                }
            }
        }
        Ok(standing)
    }
}

impl Verification {
    /// What stops it from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.aside.stop_handle()
    }

    /// Runs everything and compares.
    ///
    /// # Errors
    /// As [`Engine::update`].
    pub fn run(mut self, report: &mut dyn FnMut(&Report)) -> Result<Verified, EngineError> {
        let mut full: BTreeMap<StepId, Arc<Execution>> = BTreeMap::new();
        self.aside.update(&self.tasks, &self.goal, &mut |told| {
            report(&told);
            if let Report::Executed { execution, .. } | Report::Kept { execution, .. } = told {
                full.insert(execution.step.clone(), execution);
            }
        })?;
        let mut verified = Verified {
            unisolated: match self.aside.isolation() {
                Isolation::Kernel => None,
                Isolation::Copy { why } => Some(why.clone()),
            },
            stopped: self.aside.stop_handle().is_stopped(),
            ..Verified::default()
        };
        let mut tainted = Tainted::default();
        let mut differing = Tainted::default();
        let mut before = Before::default();
        for task in &self.tasks {
            let (Some(held), Some(full)) = (self.standing.get(&task.id), full.get(&task.id)) else {
                verified.skipped.push(task.id.clone());
                before.skipped(full.get(&task.id));
                continue;
            };
            verified.compared += 1;
            let found = differences(&before, held, full);
            before.executed(held, full);
            if !found.is_empty() {
                if !(differing.reaches(held) || differing.reaches(full)) {
                    verified.roots.push(task.id.clone());
                }
                differing.add_all(&found);
            }
            let marked = is_marked(held) || is_marked(full) || tainted.reaches(held) || tainted.reaches(full);
            if marked && !found.is_empty() {
                tainted.add(held);
                tainted.add(full);
            }
            if marked { &mut verified.nondeterministic } else { &mut verified.differences }.extend(found);
        }
        Ok(verified)
    }
}

/// Names and files that differ because a step before is marked as nondeterministic.
#[derive(Debug, Default)]
struct Tainted {
    names: BTreeSet<Name>,
    files: BTreeSet<String>,
}

impl Tainted {
    fn add(&mut self, execution: &Execution) {
        self.names.extend(execution.observation.writes.keys().cloned());
        self.files.extend(execution.observation.files_written.keys().cloned());
    }

    /// Only what differs: a step may make much that is the same each time.
    fn add_all(&mut self, differences: &[Difference]) {
        for difference in differences {
            if let Some(name) = difference.what.strip_prefix("variable ") {
                self.names.insert(name.into());
            } else if let Some(path) = difference.what.strip_prefix("file ") {
                self.files.insert(path.to_owned());
            }
        }
    }

    fn reaches(&self, execution: &Execution) -> bool {
        let seen = &execution.observation;
        seen.reads.keys().any(|name| self.names.contains(name))
            || seen.files_read.keys().any(|path| self.files.contains(path))
    }
}

/// Whether a step says of itself that it consults what a replay can't give again.
pub(super) fn is_marked(execution: &Execution) -> bool {
    !execution.observation.nondeterministic.is_empty()
}

/// What names stand for on either side before a step: to bind one to the very value that it has is no change, and
/// whether it is seen as one depends on which object the value was.
#[derive(Debug, Default)]
struct Before {
    held: BTreeMap<Name, String>,
    full: BTreeMap<Name, String>,
}

impl Before {
    /// What a step that isn't held made in the full run is not known on the other side.
    fn skipped(&mut self, full: Option<&Arc<Execution>>) {
        for name in full.into_iter().flat_map(|full| full.observation.writes.keys()) {
            self.held.remove(name);
            self.full.remove(name);
        }
    }

    fn executed(&mut self, held: &Execution, full: &Execution) {
        for (names, side) in [(&mut self.held, held), (&mut self.full, full)] {
            for (name, written) in &side.observation.writes {
                names.insert(name.clone(), value(written.as_ref()));
            }
        }
    }
}

/// Everything that a person could see in which two executions of a step differ.
fn differences(before: &Before, held: &Execution, full: &Execution) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |what: String, a: String, b: String| {
        if without_addresses(&a) != without_addresses(&b) {
            found.push(Difference { id: held.step.clone(), what, held: cut(&a), full: cut(&b) });
        }
    };
    let outcome = |execution: &Execution| match &execution.error {
        Some(error) => format!("{}: {}", error.type_name, error.message),
        None => "done".to_owned(),
    };
    compare("outcome".into(), outcome(held), outcome(full));
    for (stream, what) in [(Stream::Stdout, "stdout"), (Stream::Stderr, "stderr")] {
        compare(what.into(), held.output.text(stream), full.output.text(stream));
    }
    let display = |execution: &Execution| -> String {
        execution.displays.iter().map(|display| display.repr.as_str()).collect::<Vec<_>>().join("\n")
    };
    compare("display".into(), display(held), display(full));
    let (then, now) = (&held.observation, &full.observation);
    // Names that changed only because something else that they share did are told with that.
    // A warning is compared where it stands in the output.
    let own = |name: &Name| {
        !then.incidental.contains_key(name) && !now.incidental.contains_key(name) && &**name != "@warnings:shown"
    };
    let names: BTreeSet<&Name> = then.writes.keys().chain(now.writes.keys()).filter(|name| own(name)).collect();
    for name in names {
        let written = |side: &Observation| side.writes.get(name).map(|written| value(written.as_ref()));
        let stands = |side, names: &BTreeMap<Name, String>| written(side).or_else(|| names.get(name).cloned());
        if stands(then, &before.held) != stands(now, &before.full) {
            let shown = |side| written(side).unwrap_or_else(|| "not changed".into());
            compare(format!("variable {name}"), shown(then), shown(now));
        }
    }
    let paths: BTreeSet<&String> = then.files_written.keys().chain(now.files_written.keys()).collect();
    for path in paths {
        let content =
            |side: &Observation| side.files_written.get(path).map_or_else(String::new, |write| file(&write.after));
        compare(format!("file {path}"), content(then), content(now));
    }
    found
}

fn value(written: Option<&Written>) -> String {
    match written {
        None => "deleted".into(),
        // What can't be pickled is known by how it came about, not by what it is.
        Some(written) if written.uncarryable.is_some() => "a value that can't be compared".into(),
        Some(written) => format!("digest {}", written.digest),
    }
}

fn file(content: &FileContent) -> String {
    match content {
        FileContent::File { digest, mode: None } => format!("digest {digest}"),
        FileContent::File { digest, mode: Some(mode) } => format!("digest {digest}, permissions {mode:o}"),
        FileContent::External { .. } => "outside what is kept".into(),
        other => format!("{other:?}"),
    }
}

/// A text in which what stands after ` at 0x` is left out: where an object lies is chance.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split(" at 0x");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(" at 0x");
        kept.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    kept
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(SHOWN).collect();
    short.push('…');
    short
}
