//! Two moments, two runs or two executions set side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use similar::TextDiff;

use super::Moment;
use super::cut::CutStep;
use super::standing::held;
use crate::step::{Digest, Execution, ExecutionId, FileContent, Name, Outcome, StepId, Stream, VersionNumber};
use crate::store::names::{Names, Subject};
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
    /// The digest of all that it printed and showed.
    output: Option<Digest>,
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

/// How two executions differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExecutionDifference {
    /// A unified diff of the texts that ran; empty where they are equal.
    pub source: String,
    /// A unified diff of standard output.
    pub stdout: String,
    /// A unified diff of standard error.
    pub stderr: String,
    /// The values shown, one form after another, as a unified diff.
    pub displays: String,
    /// Type and message of the errors, where they differ.
    pub error: Option<(Option<String>, Option<String>)>,
    /// What they found in names and files that both or either looked at, where it differs.
    pub reads: BTreeMap<Subject, (Option<Digest>, Option<Digest>)>,
    /// What they left there.
    pub writes: BTreeMap<Subject, (Option<Digest>, Option<Digest>)>,
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
        let old = self.side(before)?;
        let new = self.side(after)?;
        Ok(difference(old, new, |step| step.line.to_string()))
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
        let old = {
            let _now = self.snapshot()?;
            self.side(before)?
        };
        let _now = other.snapshot()?;
        let new = other.side(after)?;
        Ok(difference(old, new, |step| step.at.step.to_string()))
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

    /// How execution `after` differs from execution `before`, which may be of another step or version.
    ///
    /// ```
    /// use reweave::step::*;
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let step: StepId = "a".parse().unwrap();
    /// let version = store.record_version(&step, b"print(f())", &Provenance::new(Author::Person, 1))?;
    /// let mut run = |text: &str| {
    ///     let mut execution = Execution::new(step.clone(), version, 2);
    ///     execution.output.chunks.push(Chunk { stream: Stream::Stdout, text: text.into() });
    ///     store.record_execution(execution.into()).wait()
    /// };
    /// let (before, after) = (run("1\n")?, run("2\n")?);
    /// let difference = store.diff_executions(before, after)?;
    /// assert!(difference.stdout.ends_with("-1\n+2\n"));
    /// assert_eq!(difference.source, "");
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such execution.
    pub fn diff_executions(&self, before: ExecutionId, after: ExecutionId) -> Result<ExecutionDifference, StoreError> {
        let (old, new) = (self.execution(before)?.execution, self.execution(after)?.execution);
        let source = |execution: &Execution| {
            let text = self.version_text(&execution.step, execution.version)?;
            Ok::<_, StoreError>(String::from_utf8_lossy(&text).into_owned())
        };
        let shown = |execution: &Execution| {
            execution.displays.iter().map(|shown| format!("{}\n", shown.repr)).collect::<String>()
        };
        let error = |execution: &Execution| {
            execution.error.as_ref().map(|error| format!("{}: {}", error.type_name, error.message))
        };
        Ok(ExecutionDifference {
            source: unified(&source(&old)?, &source(&new)?),
            stdout: unified(&old.output.text(Stream::Stdout), &new.output.text(Stream::Stdout)),
            stderr: unified(&old.output.text(Stream::Stderr), &new.output.text(Stream::Stderr)),
            displays: unified(&shown(&old), &shown(&new)),
            error: (error(&old) != error(&new)).then(|| (error(&old), error(&new))),
            reads: differing(found(&old), found(&new)),
            writes: differing(left(&old), left(&new)),
        })
    }

    fn side(&self, moment: &Moment) -> Result<Side, StoreError> {
        let cut = self.cut(self.seq_of(moment)?)?;
        let held = held(&cut);
        let mut names = Names::for_many(self.sql_now(), held.len())?;
        let mut values = BTreeMap::new();
        for (name, value) in held {
            if let Some(row) = cut.get(value.place) {
                values.insert(names.get(self.sql_now(), name)?, (value.digest, row.step.clone()));
            }
        }
        let mut edges = BTreeMap::new();
        for ((from, to), carried) in edges_of(&cut) {
            if let (Some(from), Some(to)) = (cut.get(from), cut.get(to)) {
                let subjects = self.subjects(&mut names, &carried)?;
                edges.insert((from.step.clone(), to.step.clone()), subjects.into_iter().collect());
            }
        }
        let mut digests = self.sql_now().prepare_cached("SELECT digest FROM blob WHERE id = ?")?;
        let mut steps = Vec::with_capacity(cut.len());
        for row in cut {
            let output = match &row.run {
                Some(run) => Some(Digest::from_bytes(digests.query_row([run.output], |row| row.get(0))?)),
                None => None,
            };
            let at = StepAt {
                step: row.step,
                version: row.version,
                source: row.source,
                execution: row.run.as_ref().map(|run| run.id),
                outcome: row.run.as_ref().map(|run| run.outcome),
                output,
            };
            steps.push(SideStep { line: row.line, at });
        }
        Ok(Side { steps, values, edges })
    }
}

struct Side {
    steps: Vec<SideStep>,
    values: BTreeMap<Subject, (Digest, StepId)>,
    edges: BTreeMap<(StepId, StepId), BTreeSet<Subject>>,
}

struct SideStep {
    line: i64,
    at: StepAt,
}

/// Edges between places of a cut: who last wrote what another read.
fn edges_of(cut: &[CutStep]) -> HashMap<(usize, usize), Vec<u32>> {
    let mut wrote: HashMap<u32, usize> = HashMap::new();
    let mut edges: HashMap<(usize, usize), Vec<u32>> = HashMap::new();
    for (place, row) in cut.iter().enumerate() {
        let Some(run) = &row.run else { continue };
        for name in &run.reads {
            if let Some(from) = wrote.get(name) {
                edges.entry((*from, place)).or_default().push(*name);
            }
        }
        if run.stands() {
            wrote.extend(run.writes.iter().map(|name| (*name, place)));
        }
    }
    edges
}

fn difference(old: Side, new: Side, key: impl Fn(&SideStep) -> String) -> Difference {
    let mut pairs: BTreeMap<String, (Option<StepAt>, Option<StepAt>)> = BTreeMap::new();
    for step in old.steps {
        let key = key(&step);
        pairs.entry(key).or_default().0 = Some(step.at);
    }
    for step in new.steps {
        let key = key(&step);
        pairs.entry(key).or_default().1 = Some(step.at);
    }
    let mut steps: Vec<StepDifference> = pairs
        .into_values()
        .filter_map(|(before, after)| {
            let differs = |a: Option<&Digest>, b: Option<&Digest>| a != b;
            let source = differs(before.as_ref().map(|at| &at.source), after.as_ref().map(|at| &at.source));
            let output = before.as_ref().map(|at| at.output) != after.as_ref().map(|at| at.output);
            let outcome = before.as_ref().map(|at| at.outcome) != after.as_ref().map(|at| at.outcome);
            let renamed = before.as_ref().map(|at| &at.step) != after.as_ref().map(|at| &at.step);
            (source || output || outcome || renamed).then_some(StepDifference {
                before,
                after,
                source,
                output,
                outcome,
            })
        })
        .collect();
    steps.sort_by(|a, b| a.place().cmp(&b.place()));
    let values = merge(old.values, new.values)
        .filter(|(_, (before, after))| {
            before.as_ref().map(|(digest, _)| digest) != after.as_ref().map(|(digest, _)| digest)
        })
        .map(|(subject, (before, after))| ValueDifference { subject, before, after })
        .collect();
    let edges = merge(old.edges, new.edges)
        .filter(|(_, (before, after))| before != after)
        .map(|((from, to), (before, after))| EdgeDifference {
            from,
            to,
            before: before.unwrap_or_default(),
            after: after.unwrap_or_default(),
        })
        .collect();
    Difference { steps, values, edges }
}

impl StepDifference {
    /// Where it stands in the order of the run.
    fn place(&self) -> Option<&StepId> {
        self.after.as_ref().or(self.before.as_ref()).map(|at| &at.step)
    }
}

/// What two maps hold under each key.
fn merge<K: Ord, V>(old: BTreeMap<K, V>, new: BTreeMap<K, V>) -> impl Iterator<Item = (K, (Option<V>, Option<V>))> {
    let mut both: BTreeMap<K, (Option<V>, Option<V>)> = BTreeMap::new();
    for (key, value) in old {
        both.entry(key).or_insert((None, None)).0 = Some(value);
    }
    for (key, value) in new {
        both.entry(key).or_insert((None, None)).1 = Some(value);
    }
    both.into_iter()
}

fn differing(
    old: BTreeMap<Subject, Option<Digest>>,
    new: BTreeMap<Subject, Option<Digest>>,
) -> BTreeMap<Subject, (Option<Digest>, Option<Digest>)> {
    merge(old, new)
        .map(|(subject, (before, after))| (subject, (before.flatten(), after.flatten())))
        .filter(|(_, (before, after))| before != after)
        .collect()
}

/// What an execution found.
fn found(execution: &Execution) -> BTreeMap<Subject, Option<Digest>> {
    let observation = &execution.observation;
    let names = observation.reads.iter().map(|(name, digest)| (Subject::Name(Name::clone(name)), *digest));
    let files = observation.files_read.iter().map(|(path, content)| (Subject::file(path), content_digest(content)));
    names.chain(files).collect()
}

/// What an execution left.
fn left(execution: &Execution) -> BTreeMap<Subject, Option<Digest>> {
    let observation = &execution.observation;
    let names = observation
        .writes
        .iter()
        .map(|(name, written)| (Subject::Name(Name::clone(name)), written.as_ref().map(|written| written.digest)));
    let files =
        observation.files_written.iter().map(|(path, write)| (Subject::file(path), content_digest(&write.after)));
    names.chain(files).collect()
}

/// A digest for what is at a path, `None` for nothing, or where only its being there counts.
pub(crate) fn content_digest(content: &FileContent) -> Option<Digest> {
    match content {
        FileContent::File { digest } => Some(*digest),
        FileContent::Directory { listing } => Some(*listing),
        FileContent::Link { target } => Some(Digest::of(target)),
        FileContent::External { mark } => Some(Digest::of(mark)),
        FileContent::Absent | FileContent::Present => None,
    }
}

/// A unified diff with three lines of context, empty where the texts are equal.
fn unified(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).to_string()
}
