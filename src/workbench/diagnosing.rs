//! Why a step failed: what is known of it, handed to [`crate::feedback`].

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::Failure;
use super::book::{Book, failure};
use super::hands::no_such_step;
use crate::analysis::{Judgement, PythonParser, Question, StepNames};
use crate::engine::InterpreterParser;
use crate::feedback::{self, Diagnosis, Earlier, StepText, World};
use crate::run::StepFile;
use crate::step::{Digest, Execution, Millis, Outcome, Status, StepId};
use crate::store::query::Touch;
use crate::store::{Reader, Subject};

/// How many earlier executions are looked at for a circle of repairs.
const EARLIER: usize = 64;

/// How many writers of a name or a file are asked for.
const WRITERS: usize = 64;

/// How many names of a directory are told.
const NAMES: usize = 4096;

/// All that an explanation of a failure needs, taken out of the book: to explain may start interpreters, and whoever
/// asks something else meanwhile is not to wait.
pub(super) struct Failed {
    step: StepId,
    execution: Arc<Execution>,
    steps: Vec<Standing>,
    earlier: Vec<Earlier>,
    world: Surroundings,
}

/// A step as it stands.
struct Standing {
    file: Arc<StepFile>,
    path: String,
    names: Arc<StepNames>,
    held: Option<Arc<Execution>>,
    status: Status,
}

impl Failed {
    /// Takes what is known of a step's failure.
    ///
    /// # Errors
    /// When the step did not fail, or its text is another since.
    pub(super) fn of(book: &mut Book, python: &Path, step: &StepId) -> Result<Self, Failure> {
        let execution = failed(book, step)?;
        let book = &*book;
        let steps = book.steps().iter().map(|entry| {
            let id = &entry.file.id;
            let record = book.records.get(id).and_then(|record| record.held.as_ref());
            Standing {
                file: Arc::clone(&entry.file),
                path: entry.file.path.to_string_lossy().into_owned(),
                names: book.names(id).unwrap_or_default(),
                held: record.filter(|(_, text)| *text == entry.file.digest).map(|(held, _)| Arc::clone(held)),
                status: book.verdict(id).map_or(Status::Never, |verdict| verdict.status),
            }
        });
        let steps = steps.collect();
        let reader = book.store().reader().map_err(failure)?;
        let earlier = earlier(&reader, step, &execution)?;
        let world = Surroundings {
            dir: book.dir().path().to_owned(),
            reader: Mutex::new(reader),
            parser: InterpreterParser::new(python),
        };
        Ok(Self { step: step.clone(), execution, steps, earlier, world })
    }

    /// Explains it.
    ///
    /// # Errors
    /// When there is no error to explain.
    pub(super) fn explain(&self) -> Result<Diagnosis, Failure> {
        let error = self.execution.error.as_ref().ok_or_else(|| no_such_step(&self.step))?;
        let steps: Vec<StepText<'_>> = self
            .steps
            .iter()
            .map(|step| StepText {
                id: &step.file.id,
                path: &step.path,
                text: &step.file.source,
                digest: step.file.digest,
                names: &step.names,
                observed: step.held.as_ref().map(|held| &held.observation),
                status: step.status,
            })
            .collect();
        let failure =
            feedback::Failure { step: &self.step, error, steps: &steps, earlier: &self.earlier, world: &self.world };
        Ok(feedback::diagnose(&failure))
    }
}

/// The execution that failed, as long as it is of the present text.
fn failed(book: &mut Book, step: &StepId) -> Result<Arc<Execution>, Failure> {
    let held = book.held(step).filter(|execution| execution.error.is_some());
    let entry = book.step(step).ok_or_else(|| no_such_step(step))?;
    let refuse = |what: String, hint: String| Err(Failure { what, hint: Some(hint) });
    let verdict = book.verdict(step);
    if let Some(verdict) = verdict.filter(|verdict| verdict.status == Status::Blocked) {
        let why: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
        return refuse(
            format!("{step} did not run: {}", why.join("; ")),
            "diagnose the step that stands in its way".to_owned(),
        );
    }
    let Some(execution) = held else {
        let status = verdict.map_or(Status::Never, |verdict| verdict.status);
        return refuse(
            format!("{step} has not failed: it is {status}"),
            "`reweave run` runs what is not up to date".to_owned(),
        );
    };
    if book.held_for(step).map(|(text, _)| text) != Some(entry.file.digest) {
        return refuse(
            format!("{step} was changed since it failed"),
            format!("`reweave run` it first: `reweave run DIR {step}`"),
        );
    }
    Ok(execution)
}

/// The failures of the step before this one, back to where it last succeeded.
fn earlier(reader: &Reader, step: &StepId, held: &Execution) -> Result<Vec<Earlier>, Failure> {
    let all = reader.executions(step, EARLIER).map_err(failure)?;
    // A result that was found again is older than those that were tried meanwhile.
    let is_newest = all.first().is_some_and(|newest| newest.execution.started == held.started);
    let mut found = Vec::new();
    for recorded in all.iter().skip(usize::from(is_newest)) {
        let execution = &recorded.execution;
        let Some(error) = execution.error.as_ref().filter(|_| execution.outcome == Outcome::Failed) else {
            if execution.outcome == Outcome::Interrupted {
                continue;
            }
            break;
        };
        let text = reader.version(step, execution.version).map_err(failure)?.source;
        found.push(Earlier { at: execution.started, text, fingerprint: feedback::fingerprint(error) });
    }
    Ok(found)
}

/// The run's directory, its store and its interpreter.
pub(super) struct Surroundings {
    dir: PathBuf,
    reader: Mutex<Reader>,
    parser: InterpreterParser,
}

impl Surroundings {
    fn touches(&self, subject: &Subject) -> Vec<StepId> {
        let Ok(reader) = self.reader.lock() else { return Vec::new() };
        let mut found: Vec<StepId> = Vec::new();
        // A damaged store tells less here, and says so where it is opened.
        for Touch { step, .. } in reader.writers(subject, WRITERS).unwrap_or_default() {
            if !found.contains(&step) {
                found.push(step);
            }
        }
        found
    }
}

impl World for Surroundings {
    fn names(&self, directory: &str) -> Option<Vec<String>> {
        let path = Path::new(directory);
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return None;
        }
        let entries = fs::read_dir(self.dir.join(path)).ok()?;
        let mut names: Vec<String> = entries
            .take(NAMES)
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                Some(if entry.path().is_dir() { format!("{name}/") } else { name })
            })
            .collect();
        names.sort_unstable();
        Some(names)
    }

    fn compile(&self, texts: &[String]) -> Vec<bool> {
        let questions: Vec<Question<'_>> = texts.iter().map(|source| Question { source, tree: false }).collect();
        let judgements = self.parser.parse(&questions).unwrap_or_default();
        judgements.iter().map(|judgement| matches!(judgement, Judgement::Valid(_))).collect()
    }

    fn is_there(&self, module: &str) -> Option<bool> {
        self.parser.finds(module)
    }

    fn writers(&self, name: &str) -> Vec<StepId> {
        self.touches(&Subject::name(name))
    }

    fn file_writers(&self, path: &str) -> Vec<StepId> {
        self.touches(&Subject::file(path))
    }

    fn texts(&self, step: &StepId) -> Vec<(Millis, Digest)> {
        let Ok(reader) = self.reader.lock() else { return Vec::new() };
        let versions = reader.versions(step).unwrap_or_default();
        versions.into_iter().map(|version| (version.provenance.at, version.source)).collect()
    }
}
