//! The run's outputs beside others: what was recorded of its steps, or another run of the same task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use similar::TextDiff;

use super::{Edge, Failure, Snapshot, StepRow, book};
use crate::interop::compare::{Comparison, Difference, Divergence, Tolerance, Verdict, compare, first_divergence};
use crate::interop::import;
use crate::step::{Execution, Outcome, Status, StepId, VersionNumber};
use crate::store::query::Moment;
use crate::store::{Reader, StoreError};

/// Executions of a step among which its recording is looked for.
const LOOKED_AT: usize = 10_000;

/// Most differences that are told of one step.
const TOLD: usize = 100;

/// The largest recording that is read only to be compared with, in bytes.
const LARGEST: u64 = 64 << 20;

/// The run's steps beside what was recorded of them, or beside another run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The other run, as it was asked for; `None` for the recording.
    pub other: Option<String>,
    /// The steps that are on both sides and were executed on both, in the order of the run.
    pub steps: Vec<BesideStep>,
    /// Steps that are here only.
    pub only_here: Vec<StepId>,
    /// Steps that are there only.
    pub only_there: Vec<StepId>,
    /// Steps that are on both sides, but have no output on one.
    pub not_run: Vec<StepId>,
    /// The first step whose output differs, and what it follows from.
    pub divergence: Option<Divergence>,
}

/// A step beside another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BesideStep {
    /// Which.
    pub step: StepId,
    /// How the outputs stand to each other.
    pub verdict: Verdict,
    /// What differs in them, as far as it is told.
    pub differences: Vec<Difference>,
    /// How many differences are not told.
    pub more: usize,
    /// The sources as a unified diff, the other's first; empty where they are equal.
    pub source: String,
}

impl Beside {
    /// What is known of a step.
    pub fn step(&self, step: &StepId) -> Option<&BesideStep> {
        self.steps.iter().find(|beside| beside.step == *step)
    }

    /// How many outputs stand so to each other.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.steps.iter().filter(|beside| beside.verdict == verdict).count()
    }
}

/// What a step's recording is set beside.
pub enum Pairing {
    /// What was recorded, and what it gave when it was last run here.
    Both(Arc<Execution>, Arc<Execution>),
    /// It was not run here since, or what it gave does not stand.
    NotRun,
    /// Nothing was recorded of it.
    NotRecorded,
}

/// What was recorded of a step, and what it gave here.
///
/// # Errors
/// When the store can't be read.
pub fn pairing(store: &Reader, row: &StepRow) -> Result<Pairing, StoreError> {
    let executions = store.executions(&row.id, LOOKED_AT)?;
    let is_recorded = |execution: &Execution| execution.outcome == Outcome::Recorded;
    let Some(recorded) = executions.iter().find(|one| is_recorded(&one.execution)) else {
        return Ok(Pairing::NotRecorded);
    };
    // What was run of another source, or before a step that it needs failed, says nothing about this one.
    let stands = matches!(row.status, Status::Fresh | Status::Failed);
    let rerun = executions.iter().find(|one| !is_recorded(&one.execution)).filter(|_| stands);
    Ok(match rerun {
        Some(rerun) => Pairing::Both(Arc::clone(&recorded.execution), Arc::clone(&rerun.execution)),
        None => Pairing::NotRun,
    })
}

/// All that a comparison needs, taken out of the book: it may take a while, and nobody is to wait.
pub(super) struct Sides {
    store: Reader,
    rows: Vec<Arc<StepRow>>,
    edges: Arc<[Edge]>,
    other: Option<(String, PathBuf)>,
}

/// The other run.
type Texts = BTreeMap<StepId, (String, Option<Execution>)>;

impl Sides {
    /// Of the run as it stands; `other` is another run's directory or a recording, relative to where the run is.
    pub(super) fn of(store: Reader, snapshot: &Snapshot, dir: &Path, other: Option<String>) -> Self {
        let other = other.map(|given| {
            let path = dir.join(&given);
            (given, path)
        });
        Self { store, rows: snapshot.steps.clone(), edges: snapshot.edges.clone(), other }
    }

    /// Compares.
    ///
    /// # Errors
    /// When the other run can't be read.
    pub(super) fn compare(&self) -> Result<Beside, Failure> {
        let mut beside = match &self.other {
            None => self.recording()?,
            Some((given, path)) => Beside { other: Some(given.clone()), ..self.another(&texts(given, path)?)? },
        };
        let all: Vec<Comparison> = beside
            .steps
            .iter()
            .map(|one| Comparison {
                step: one.step.clone(),
                verdict: one.verdict,
                differences: Vec::new(),
                ignored: BTreeMap::new(),
            })
            .collect();
        beside.divergence = first_divergence(&all, |step| self.needs(step));
        Ok(beside)
    }

    fn needs(&self, step: &StepId) -> Vec<StepId> {
        let place = self.rows.iter().position(|row| row.id == *step);
        let edges = self.edges.iter().filter(|edge| Some(edge.to) == place);
        edges.filter_map(|edge| self.rows.get(edge.from)).map(|row| row.id.clone()).collect()
    }

    fn text(&self, step: &StepId, version: VersionNumber) -> Result<String, Failure> {
        let text = self.store.version_text(step, version).map_err(book::failure)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn recording(&self) -> Result<Beside, Failure> {
        let mut beside = Beside::default();
        for row in &self.rows {
            match pairing(&self.store, row).map_err(book::failure)? {
                Pairing::NotRecorded => beside.only_here.push(row.id.clone()),
                Pairing::NotRun => beside.not_run.push(row.id.clone()),
                Pairing::Both(old, new) => {
                    let source = match old.version == new.version {
                        true => String::new(),
                        false => diff(&self.text(&row.id, old.version)?, &self.text(&row.id, new.version)?),
                    };
                    beside.steps.push(set(&old, &new, source));
                }
            }
        }
        if beside.steps.is_empty() && beside.not_run.is_empty() {
            let what = "no step has a recorded output".to_owned();
            return Err(Failure { what, hint: Some("name another run, or a recording, to be set beside".to_owned()) });
        }
        Ok(beside)
    }

    fn another(&self, texts: &Texts) -> Result<Beside, Failure> {
        let mut beside = Beside::default();
        let here: BTreeSet<&StepId> = self.rows.iter().map(|row| &row.id).collect();
        beside.only_there = texts.keys().filter(|step| !here.contains(step)).cloned().collect();
        for row in &self.rows {
            let Some((text, other)) = texts.get(&row.id) else {
                beside.only_here.push(row.id.clone());
                continue;
            };
            let own = self.store.executions(&row.id, 1).map_err(book::failure)?;
            let (Some(other), Some(own)) = (other, own.first()) else {
                beside.not_run.push(row.id.clone());
                continue;
            };
            beside.steps.push(set(other, &own.execution, diff(text, &self.text(&row.id, row.version)?)));
        }
        Ok(beside)
    }
}

fn set(other: &Execution, own: &Execution, source: String) -> BesideStep {
    let Comparison { verdict, mut differences, .. } = compare(other, own, &Tolerance::default());
    let more = differences.len().saturating_sub(TOLD);
    differences.truncate(TOLD);
    BesideStep { step: own.step.clone(), verdict, differences, more, source }
}

fn diff(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(old, new).unified_diff().context_radius(2).to_string()
}

/// The texts and last outputs of a run's directory, or of a recording.
fn texts(given: &str, path: &Path) -> Result<Texts, Failure> {
    let refuse = |what: String, hint: &str| Failure { what, hint: Some(hint.to_owned()) };
    let kind = std::fs::metadata(path)
        .map_err(|error| refuse(format!("{given}: {error}"), "name a run's directory, or a recording"))?;
    if !kind.is_dir() {
        if kind.len() > LARGEST {
            return Err(refuse(format!("{given} is over 64 MiB"), "`reweave import` it, and name the run"));
        }
        let imported = import(path).map_err(|error| Failure { what: error.to_string(), hint: None })?;
        let side = imported.steps.into_iter().map(|step| {
            let execution = step.recorded.map(|recorded| recorded.into_execution(step.id.clone(), VersionNumber(1)));
            (step.id, (step.text, execution))
        });
        return Ok(side.collect());
    }
    let store = Reader::open(path).map_err(book::failure)?;
    let standing = store.at(None, &Moment::Now).map_err(book::failure)?;
    let mut found = BTreeMap::new();
    for step in standing.steps {
        let text = store.get_blob(&step.source).map_err(book::failure)?;
        let execution = match step.execution {
            None => None,
            Some((id, ..)) => Some((*store.execution(id).map_err(book::failure)?.execution).clone()),
        };
        found.insert(step.step, (String::from_utf8_lossy(&text).into_owned(), execution));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Author, Chunk, Provenance, Stream};
    use crate::store::Store;

    /// A run with these steps: the id, the text, and what was printed where it ran.
    fn run(steps: &[(&str, &str, Option<&str>)]) -> (tempfile::TempDir, Snapshot) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let rows = steps.iter().map(|(id, text, printed)| {
            let id: StepId = id.parse().unwrap();
            let version = store.record_version(&id, text.as_bytes(), &Provenance::new(Author::Person, 1)).unwrap();
            if let Some(printed) = printed {
                let mut execution = Execution::new(id.clone(), version, 2);
                execution.output.chunks.push(Chunk { stream: Stream::Stdout, text: (*printed).to_owned() });
                store.record_execution(execution.into()).wait().unwrap();
            }
            Arc::new(StepRow { version, ..StepRow::fresh(id) })
        });
        let steps = rows.collect();
        (dir, Snapshot { steps, ..Snapshot::default() })
    }

    fn beside(own: &(tempfile::TempDir, Snapshot), other: Option<&Path>) -> Result<Beside, Failure> {
        let store = Reader::open(own.0.path()).unwrap();
        Sides::of(store, &own.1, own.0.path(), other.map(|path| path.display().to_string())).compare()
    }

    #[test]
    fn two_runs_of_one_task_are_set_side_by_side() {
        let own = run(&[
            ("1", "print(1)", Some("1\n")),
            ("2", "n = 3\nprint(n)", Some("took 1.2 ms, 3\n")),
            ("3", "", None),
            ("4", "x", None),
        ]);
        let (other, _) = run(&[
            ("1", "print(1)", Some("1\n")),
            ("2", "n = 2\nprint(n)", Some("took 9.7 ms, 2\n")),
            ("3", "", Some("")),
            ("5", "", None),
        ]);
        let found = beside(&own, Some(other.path())).unwrap();
        let verdicts: Vec<_> = found.steps.iter().map(|one| (one.step.as_str(), one.verdict)).collect();
        assert_eq!(verdicts, [("1", Verdict::Same), ("2", Verdict::Different)]);
        let two = &found.steps[1];
        assert!(two.source.contains("-n = 2\n+n = 3\n"), "{}", two.source);
        assert_eq!(two.differences[0].recorded.as_deref(), Some("took 9.7 ms, 2"));
        let ids = |steps: &[StepId]| steps.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((ids(&found.not_run), ids(&found.only_here)), (vec!["3".into()], vec!["4".into()]));
        assert_eq!(ids(&found.only_there), ["5"]);
        assert_eq!(found.divergence.unwrap().step.as_str(), "2");
    }

    #[test]
    fn a_recording_is_read_as_it_is_and_what_is_none_says_so() {
        let own = run(&[("001_x", "x = 1\nprint(x)\n", Some("2\n"))]);
        let file = own.0.path().join("a.ipynb");
        let cell = serde_json::json!({"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "x = 1\nprint(x)",
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}]});
        let notebook = serde_json::json!({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]});
        std::fs::write(&file, notebook.to_string()).unwrap();
        let found = beside(&own, Some(Path::new("a.ipynb"))).unwrap();
        assert_eq!(found.count(Verdict::Different), 1, "{found:?}");
        assert!(beside(&own, Some(Path::new("nowhere"))).unwrap_err().what.starts_with("nowhere: "));
        assert_eq!(beside(&own, None).unwrap_err().what, "no step has a recorded output");
    }
}
