//! Two executions set side by side.

use std::collections::BTreeMap;

use similar::TextDiff;

use crate::step::{Digest, Execution, ExecutionId, FileContent, Name, Stream};
use crate::store::names::Subject;
use crate::store::{Reader, StoreError};

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
        FileContent::File { digest, .. } => Some(*digest),
        FileContent::Directory { listing } => Some(*listing),
        FileContent::Link { target } => Some(Digest::of(target)),
        FileContent::External { mark } => Some(Digest::of(mark)),
        FileContent::Absent | FileContent::Present { .. } => None,
    }
}

/// A unified diff with three lines of context, empty where the texts are equal.
pub(super) fn unified(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).to_string()
}
