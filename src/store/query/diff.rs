//! Two moments, or two runs, set side by side.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::Moment;
use super::cut::CutStep;
use super::pair::unified;
use super::standing::{Held, held};
use crate::step::{Digest, ExecutionId, Outcome, StepId, VersionNumber};
use crate::store::names::Subject;
use crate::store::{Reader, StoreError};

/// How one moment, or one run, differs from another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Difference {
    /// Steps that differ, in the order of the run.
    pub steps: Vec<StepDifference>,
    /// Names and files that hold something else at the end, by name.
    pub values: Vec<ValueDifference>,
    /// Edges, by recorded reads, that are on one side only or carry other names.
    pub edges: Vec<EdgeDifference>,
}

/// A step that differs. What is absent on one side is `None` there.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDifference {
    /// Before.
    pub before: Option<StepAt>,
    /// After.
    pub after: Option<StepAt>,
    /// Whether its text differs.
    pub source: bool,
    /// Whether what it printed and showed differs.
    pub output: bool,
    /// Whether it ended otherwise.
    pub outcome: bool,
}

/// A step on one side.
#[derive(Debug, Clone, PartialEq)]
pub struct StepAt {
    /// The id that it had.
    pub step: StepId,
    /// The version of its file.
    pub version: VersionNumber,
    /// The digest of that text: a blob of its store.
    pub source: Digest,
    /// Its last execution.
    pub execution: Option<ExecutionId>,
    /// How that ended.
    pub outcome: Option<Outcome>,
}

/// A name or file that holds something else.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueDifference {
    /// Which.
    pub subject: Subject,
    /// Before: the value's digest, and who wrote it.
    pub before: Option<(Digest, StepId)>,
    /// After.
    pub after: Option<(Digest, StepId)>,
}

/// An edge that is on one side only, or carries other names.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeDifference {
    /// The step that is needed.
    pub from: StepId,
    /// The step that needs it.
    pub to: StepId,
    /// What it needed before; empty where there was no edge.
    pub before: BTreeSet<Subject>,
    /// What it needs after.
    pub after: BTreeSet<Subject>,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.values.is_empty() && self.edges.is_empty()
    }
}

impl Reader {
    /// How the run at `after` differs from the run at `before`. Steps that were renamed are matched.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Store, query::Moment};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "a".parse().unwrap();
    /// let by = Provenance::new(Author::Person, 1_000);
    /// store.record_version(&step, b"x = 1\n", &by)?;
    /// let before = store.now()?;
    /// store.record_version(&step, b"x = 2\n", &by)?;
    /// let difference = store.diff(&before, &Moment::Now)?;
    /// assert!(difference.steps[0].source);
    /// assert!(store.source_diff(&difference.steps[0], &store)?.contains("-x = 1\n+x = 2\n"));
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such moment.
    pub fn diff(&self, before: &Moment, after: &Moment) -> Result<Difference, StoreError> {
        let _now = self.snapshot()?;
        let old = self.cut(self.seq_of(before)?)?;
        let new = self.cut(self.seq_of(after)?)?;
        self.names_for(old.len())?;
        self.difference(&old, &new, &HashMap::default())
    }

    /// How another run, at a moment of its own, differs from this one. Steps are matched by their ids.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Reader, Store, query::Moment};
    /// # let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    /// let by = Provenance::new(Author::Person, 1_000);
    /// Store::open(one.path())?.record_version(&"a".parse().unwrap(), b"x = 1\n", &by)?;
    /// Store::open(two.path())?.record_version(&"b".parse().unwrap(), b"x = 1\n", &by)?;
    /// let (one, two) = (Reader::open(one.path())?, Reader::open(two.path())?);
    /// assert_eq!(one.diff_with(&Moment::Now, &two, &Moment::Now)?.steps.len(), 2);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such moment.
    pub fn diff_with(&self, before: &Moment, other: &Self, after: &Moment) -> Result<Difference, StoreError> {
        if std::ptr::eq(self, other) {
            return self.diff(before, after);
        }
        let (_ours, _theirs) = (self.snapshot()?, other.snapshot()?);
        let old = self.cut(self.seq_of(before)?)?;
        let mut new = other.cut(other.seq_of(after)?)?;
        let added = self.translate(&old, other, &mut new)?;
        self.difference(&old, &new, &added)
    }

    /// The texts of a step that differs as a unified diff; `other` is the store of its right side.
    ///
    /// # Errors
    /// When a text can't be read.
    pub fn source_diff(&self, step: &StepDifference, other: &Self) -> Result<String, StoreError> {
        let text = |reader: &Self, at: &Option<StepAt>| match at {
            None => Ok(String::new()),
            Some(at) => Ok::<_, StoreError>(String::from_utf8_lossy(&reader.get_blob(&at.source)?).into_owned()),
        };
        Ok(unified(&text(self, &step.before)?, &text(other, &step.after)?))
    }

    /// Gives the steps and names of another store's cut the numbers that they have in this one; those that this
    /// one does not know get new ones, which come back.
    fn translate(
        &self,
        ours: &[CutStep],
        other: &Self,
        theirs: &mut [CutStep],
    ) -> Result<HashMap<u32, Subject>, StoreError> {
        let lines: HashMap<&StepId, i64> = ours.iter().map(|row| (&row.step, row.line)).collect();
        self.read_names_at_once()?;
        other.read_names_at_once()?;
        let known = self.names.borrow();
        let numbers = known.reversed();
        let mut added = HashMap::default();
        // Numbers of rows count up from 1, so these are free.
        let (mut new_line, mut new_name) = (-1, u32::MAX);
        let mut ours: HashMap<u32, u32> = HashMap::default();
        let mut number_of = |subject: Subject| {
            numbers.get(&subject).copied().unwrap_or_else(|| {
                new_name -= 1;
                added.insert(new_name, subject);
                new_name
            })
        };
        let mut foreign = other.names.borrow_mut();
        ours.extend(foreign.iter().map(|(name, subject)| (name, number_of(subject.clone()))));
        for row in theirs {
            row.line = match lines.get(&row.step) {
                Some(line) => *line,
                None => {
                    new_line -= 1;
                    new_line
                }
            };
            let Some(run) = &mut row.run else { continue };
            for set in [&mut run.reads, &mut run.writes] {
                for name in set.iter() {
                    // It may have come to that store after all of its names were read.
                    if !ours.contains_key(name) {
                        let subject = foreign.get(other.sql_now(), *name)?;
                        ours.insert(*name, number_of(subject));
                    }
                }
                *set = set.iter().map(|name| ours.get(name).copied().unwrap_or_default()).collect();
            }
        }
        Ok(added)
    }

    /// `added` has the names that this store does not know.
    fn difference(
        &self,
        old: &[CutStep],
        new: &[CutStep],
        added: &HashMap<u32, Subject>,
    ) -> Result<Difference, StoreError> {
        let (before, (after, steps)) = both(old.len(), || held(old), || (held(new), step_differences(old, new)));
        let mut known = self.names.borrow_mut();
        let mut name_of = |name: u32| match added.get(&name) {
            Some(subject) => Ok(subject.clone()),
            None => known.get(self.sql_now(), name),
        };
        let written = |side: &[CutStep], value: Option<&Held>| {
            value.and_then(|value| Some((value.digest, side.get(value.place)?.step.clone())))
        };
        let mut values = Vec::new();
        for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(name))) {
            let (a, b) = (before.get(name), after.get(name));
            if a.map(|value| value.digest) != b.map(|value| value.digest) {
                let subject = name_of(*name)?;
                values.push(ValueDifference { subject, before: written(old, a), after: written(new, b) });
            }
        }
        values.sort_unstable_by(|a, b| a.subject.cmp(&b.subject));
        Ok(Difference { steps, values, edges: edge_differences(old, new, name_of)? })
    }
}

/// From this many steps on, two pieces of work are done at once.
const MANY: usize = 1_000;

/// Does two pieces of work, at once where `steps` are many.
fn both<A, B: Send>(steps: usize, one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    if steps < MANY {
        return (one(), other());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        // What panics there is to panic here.
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn edge_differences(
    old: &[CutStep],
    new: &[CutStep],
    mut name_of: impl FnMut(u32) -> Result<Subject, StoreError>,
) -> Result<Vec<EdgeDifference>, StoreError> {
    // Where the same steps read and wrote the same names, the edges are the same, whatever the values.
    let shape = |side: &[CutStep]| -> Vec<_> {
        let run = |row: &CutStep| row.run.as_ref().map(|run| (run.stands(), run.reads.clone(), run.writes.clone()));
        side.iter().map(|row| (row.line, run(row))).collect()
    };
    if shape(old) == shape(new) {
        return Ok(Vec::new());
    }
    let (before, after) = (edges_of(old), edges_of(new));
    let ids: HashMap<i64, &StepId> = old.iter().chain(new).map(|row| (row.line, &row.step)).collect();
    let mut pairs: Vec<(i64, i64)> = Vec::new();
    let only_in = |side: &[CutEdge], other: &[CutEdge], pairs: &mut Vec<(i64, i64)>| {
        let only = side.iter().filter(|edge| other.binary_search(edge).is_err());
        pairs.extend(only.map(|(from, to, _)| (*from, *to)));
    };
    only_in(&before, &after, &mut pairs);
    only_in(&after, &before, &mut pairs);
    pairs.sort_unstable();
    pairs.dedup();
    let mut found = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        let (Some(&a), Some(&b)) = (ids.get(&from), ids.get(&to)) else { continue };
        let mut carried = |side: &[CutEdge]| -> Result<BTreeSet<Subject>, StoreError> {
            let start = side.partition_point(|edge| (edge.0, edge.1) < (from, to));
            let edges = side.get(start..).unwrap_or_default().iter().take_while(|edge| (edge.0, edge.1) == (from, to));
            edges.map(|(.., name)| name_of(*name)).collect()
        };
        let (before, after) = (carried(&before)?, carried(&after)?);
        found.push(EdgeDifference { from: a.clone(), to: b.clone(), before, after });
    }
    found.sort_by(|a, b| (&a.to, &a.from).cmp(&(&b.to, &b.from)));
    Ok(found)
}

/// An edge between lines, and a name that it carries.
type CutEdge = (i64, i64, u32);

/// The edges of a cut, sorted: who last wrote what another read.
fn edges_of(cut: &[CutStep]) -> Vec<CutEdge> {
    let mut wrote: HashMap<u32, i64> = HashMap::default();
    let mut edges = Vec::new();
    for row in cut {
        let Some(run) = &row.run else { continue };
        edges.extend(run.reads.iter().filter_map(|name| Some((*wrote.get(name)?, row.line, *name))));
        if run.stands() {
            wrote.extend(run.writes.iter().map(|name| (*name, row.line)));
        }
    }
    edges.sort_unstable();
    edges
}

fn step_differences(old: &[CutStep], new: &[CutStep]) -> Vec<StepDifference> {
    let after: HashMap<i64, &CutStep> = new.iter().map(|row| (row.line, row)).collect();
    let before: HashMap<i64, &CutStep> = old.iter().map(|row| (row.line, row)).collect();
    let added = new.iter().filter(|row| !before.contains_key(&row.line)).map(|row| (None, Some(row)));
    let mut steps = Vec::new();
    for (a, b) in old.iter().map(|row| (Some(row), after.get(&row.line).copied())).chain(added) {
        let source = a.map(|row| row.source) != b.map(|row| row.source);
        let run = |row: Option<&CutStep>| row.and_then(|row| row.run.as_ref()).map(|run| (run.output, run.outcome));
        let output = run(a).map(|(output, _)| output) != run(b).map(|(output, _)| output);
        let outcome = run(a).map(|(_, outcome)| outcome) != run(b).map(|(_, outcome)| outcome);
        let renamed = a.map(|row| &row.step) != b.map(|row| &row.step);
        if source || output || outcome || renamed {
            steps.push(StepDifference { before: a.map(StepAt::of), after: b.map(StepAt::of), source, output, outcome });
        }
    }
    steps.sort_by(|a, b| a.place().cmp(&b.place()));
    steps
}

impl StepAt {
    fn of(row: &CutStep) -> Self {
        Self {
            step: row.step.clone(),
            version: row.version,
            source: row.source,
            execution: row.run.as_ref().map(|run| run.id),
            outcome: row.run.as_ref().map(|run| run.outcome),
        }
    }
}

impl StepDifference {
    /// Where it stands in the order of the run.
    fn place(&self) -> Option<&StepId> {
        self.after.as_ref().or(self.before.as_ref()).map(|at| &at.step)
    }
}
