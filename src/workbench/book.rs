//! What a workbench knows of its run: the files as they are, the record, and how each step stands.
//!
//! No thread and no channel: the desk calls, the book answers. It is the only part that touches the run's
//! directory and the store.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::code::{self, Code};
use super::files::FileLook;
use super::marks::{self, Held, Subject, Verdict};
use super::moment::now;
use super::open::run_failure;
use super::rows;
use super::{Edge, Failure, FileProblem, Level, StepRow};
use crate::engine::{OnError, Task};
use crate::graph::ExecutionStateGraph;
use crate::run::{self, Gravity, Problem, RunDir, StepFile, Tree};
use crate::step::{Author, Digest, Execution, ExecutionId, Outcome, Provenance, Reason, Status, StepId, VersionNumber};
use crate::store::{Hold, Receipt, Store, StoreError};

/// How many earlier executions of a step the engine is shown: an edit that is taken back finds its results
/// again, as long as it is not further away than this.
const REMEMBERED: usize = 16;

/// A run as it is known.
#[derive(Debug)]
pub(super) struct Book {
    dir: RunDir,
    tree: Tree,
    store: Store,
    on_error: OnError,
    steps: Vec<Entry>,
    records: HashMap<StepId, Record>,
    files: FileLook,
    verdicts: Vec<Verdict>,
    rows: Vec<Arc<StepRow>>,
    edges: Vec<Edge>,
    graph: ExecutionStateGraph,
    python: PathBuf,
    problems: Vec<FileProblem>,
    nothing: Option<Failure>,
    /// What became of what the death of a process had interrupted.
    recovered: Vec<String>,
    receipts: Vec<(Arc<Execution>, Receipt<ExecutionId>)>,
}

/// A step as it stands on disk.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub file: Arc<StepFile>,
    pub version: VersionNumber,
    pub code: Arc<Code>,
}

/// What is remembered of a step.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The execution that held when the run last came to the step, and the text for which it held.
    pub held: Option<(Arc<Execution>, Digest)>,
    /// Why it was blocked when the run last came to it, and the text that it had.
    pub blocked: Option<(Reason, Digest)>,
    /// Why it is marked by hand.
    pub marked: Option<Reason>,
    /// Its last executions, newest first, with their numbers once the store has given them.
    past: Vec<(Option<ExecutionId>, Arc<Execution>)>,
    /// Whether `past` goes back as far as it should.
    recalled: bool,
    /// What the store says of `held` and `blocked`.
    kept: Option<Hold>,
}

impl Record {
    fn id_of(&self, execution: &Arc<Execution>) -> Option<ExecutionId> {
        self.past.iter().find(|(_, other)| Arc::ptr_eq(other, execution)).and_then(|(id, _)| *id)
    }

    /// What the store is to say: nothing where the newest execution says it by itself.
    fn hold(&self, text_of: impl Fn(VersionNumber) -> Option<Digest>) -> Option<Hold> {
        if let Some((reason, source)) = &self.blocked {
            let execution = self.held.as_ref().and_then(|(execution, _)| self.id_of(execution));
            return Some(Hold { execution, source: *source, blocked: Some(reason.clone()) });
        }
        let (execution, source) = self.held.as_ref()?;
        let newest = self.past.first().is_some_and(|(_, newest)| Arc::ptr_eq(newest, execution));
        if newest && text_of(execution.version) == Some(*source) {
            return None;
        }
        Some(Hold { execution: Some(self.id_of(execution)?), source: *source, blocked: None })
    }
}

/// What a look at the directory found to be new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Steps with another text, new ones included.
    pub changed: BTreeSet<StepId>,
    /// Steps that are gone.
    pub removed: BTreeSet<StepId>,
    /// Steps that go by another id now.
    pub renamed: Vec<(StepId, StepId)>,
}

impl Book {
    /// Opens the record of a run of which `tree` was read a moment ago. `python` is asked about texts that can't
    /// be read otherwise.
    pub(super) fn open(dir: RunDir, tree: Tree, on_error: OnError, python: PathBuf) -> Result<Self, Failure> {
        let store = Store::open(dir.path()).map_err(failure)?;
        // Before a file that an accepted patch wrote is taken for a person's edit.
        let recovered = store.recover(&dir.files()).map_err(failure)?;
        let mut book = Self {
            files: FileLook::new(dir.path().to_owned()),
            dir,
            tree,
            store,
            on_error,
            steps: Vec::new(),
            records: HashMap::new(),
            verdicts: Vec::new(),
            rows: Vec::new(),
            edges: Vec::new(),
            graph: ExecutionStateGraph::new(),
            python,
            problems: Vec::new(),
            nothing: None,
            receipts: Vec::new(),
            recovered: recovered.iter().map(ToString::to_string).collect(),
        };
        book.take_in(true)?;
        book.remember()?;
        book.judge();
        Ok(book)
    }

    /// What was unusual about opening the store.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> {
        self.store.notices().iter().map(ToString::to_string).chain(self.recovered.iter().cloned())
    }

    /// The run's directory.
    pub(super) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// The store.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// The steps in the order of the run.
    pub(super) fn steps(&self) -> &[Entry] {
        &self.steps
    }

    /// The step of this id.
    pub(super) fn step(&self, id: &StepId) -> Option<&Entry> {
        let place = self.steps.binary_search_by(|entry| entry.file.id.cmp(id)).ok()?;
        self.steps.get(place)
    }

    /// The execution that holds, or held last.
    pub(super) fn held(&self, id: &StepId) -> Option<&Arc<Execution>> {
        self.records.get(id)?.held.as_ref().map(|(execution, _)| execution)
    }

    /// How a step stands and why.
    pub(super) fn verdict(&self, id: &StepId) -> Option<&Verdict> {
        let place = self.steps.binary_search_by(|entry| entry.file.id.cmp(id)).ok()?;
        self.verdicts.get(place)
    }

    /// The steps as rows, as of the last [`Book::judge`].
    pub(super) fn rows(&self) -> &[Arc<StepRow>] {
        &self.rows
    }

    /// The edges, as of the last [`Book::judge`].
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// What is wrong with files and directories of the run.
    pub(super) fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// Why there is nothing to run, where that is so.
    pub(super) fn nothing(&self) -> Option<&Failure> {
        self.nothing.as_ref()
    }

    /// Takes other settings from now on.
    pub(super) fn set(&mut self, on_error: OnError, exclude: run::Exclude) {
        self.on_error = on_error;
        self.tree.set_exclude(exclude);
    }

    /// Looks at the directory again, at these paths or at everything, and records what is new.
    pub(super) fn look(&mut self, paths: Option<&[PathBuf]>) -> Result<Changes, Failure> {
        match paths {
            Some(paths) => self.tree.refresh_paths(paths),
            None => self.tree.refresh_all(),
        }
        self.take_in(false)
    }

    /// Brings the steps in line with what the tree saw last, and records the versions.
    fn take_in(&mut self, first: bool) -> Result<Changes, Failure> {
        let scan = self.tree.scan();
        self.problems = scan.problems.iter().map(told).collect();
        self.nothing = scan.require_steps(&self.dir).err().map(run_failure);
        if !first && self.shows(&scan) {
            return Ok(Changes::default());
        }
        let entries = self.steps.clone();
        let old: HashMap<&StepId, &Entry> = entries.iter().map(|entry| (&entry.file.id, entry)).collect();
        let same = |file: &Arc<StepFile>| old.get(&file.id).is_some_and(|entry| is_same(&entry.file, file));
        let texts: Vec<(StepId, Vec<u8>)> =
            scan.steps.iter().chain(&scan.modules).map(|file| (file.id.clone(), self.bytes_of(file))).collect();
        let provenance = provenance(&scan.steps, same);
        let seen = self
            .store
            .record_run(texts.iter().map(|(id, text)| (id, text.as_slice())), &provenance)
            .map_err(failure)?;
        for (from, to) in &seen.renamed {
            if let Some(record) = self.records.remove(from) {
                self.records.insert(to.clone(), record);
            }
        }
        for id in &seen.removed {
            self.records.remove(id);
        }
        let changed: Vec<&Arc<StepFile>> = scan.steps.iter().filter(|file| !same(file)).collect();
        let present: HashSet<&StepId> = scan.steps.iter().map(|file| &file.id).collect();
        let gone: Vec<StepId> = old.keys().filter(|id| !present.contains(*id)).map(|id| (*id).clone()).collect();
        let affected = self.regraph(&changed, &gone);
        let entry = |file: &Arc<StepFile>| Entry {
            version: seen.present.get(&file.id).copied().unwrap_or(VersionNumber(1)),
            code: match old.get(&file.id) {
                Some(entry) if !affected.contains(&file.id) => Arc::clone(&entry.code),
                _ => Arc::new(self.code(&file.id)),
            },
            file: Arc::clone(file),
        };
        let steps: Vec<Entry> = scan.steps.iter().map(entry).collect();
        let changed = changed.into_iter().map(|file| file.id.clone()).collect();
        self.steps = steps;
        Ok(Changes { changed, removed: seen.removed, renamed: seen.renamed })
    }

    /// Whether the steps are those of a look at the directory.
    fn shows(&self, scan: &run::Scan) -> bool {
        scan.steps.len() == self.steps.len()
            && self.steps.iter().zip(&scan.steps).all(|(entry, file)| is_same(&entry.file, file))
    }

    /// Puts changed texts into the graph and takes out what is gone. Gives the steps of which something else is
    /// known now.
    fn regraph(&mut self, changed: &[&Arc<StepFile>], gone: &[StepId]) -> BTreeSet<StepId> {
        let mut affected = BTreeSet::new();
        for step in gone {
            affected.extend(self.graph.remove_step(step));
        }
        let files: Vec<&StepFile> = changed.iter().map(|file| &***file).collect();
        for (file, names) in changed.iter().zip(code::look_at(&files, &self.python)) {
            affected.extend(self.graph.add_step(file.id.clone(), names));
            affected.insert(file.id.clone());
        }
        affected
    }

    fn code(&self, step: &StepId) -> Code {
        match (self.graph.node(step), self.graph.resolved(step)) {
            (Some(node), Some(resolved)) => Code::new(&node.names, resolved),
            _ => Code::default(),
        }
    }

    /// A step's bytes as they are on disk, as far as they were read.
    pub(super) fn bytes_of(&self, file: &StepFile) -> Vec<u8> {
        match file.encoding.encode(&file.source) {
            Ok(bytes) if file.fault.is_none() => bytes,
            // What is no text is kept byte for byte all the same, if it is there to be read.
            _ => fs::read(self.dir.path().join(&file.path)).unwrap_or_default(),
        }
    }

    /// Takes the last executions, what held, and marks from the store.
    fn remember(&mut self) -> Result<(), Failure> {
        let latest = self.store.latest_executions().map_err(failure)?;
        let mut holds = self.store.holds().map_err(failure)?;
        for (id, recorded) in latest {
            let text = self.text_digest(&id, recorded.execution.version).map_err(failure)?;
            let record = self.records.entry(id).or_default();
            record.past = vec![(Some(recorded.id), Arc::clone(&recorded.execution))];
            record.held = Some((recorded.execution, text));
        }
        for (step, hold) in std::mem::take(&mut holds) {
            let record = self.records.entry(step).or_default();
            if let Some(reason) = &hold.blocked {
                record.blocked = Some((reason.clone(), hold.source));
            } else if let Some(id) = hold.execution {
                let known = record.past.iter().find(|(known, _)| *known == Some(id));
                let execution = match known {
                    Some((_, execution)) => Arc::clone(execution),
                    None => match self.store.execution(id) {
                        Ok(recorded) => {
                            record.past.push((Some(id), Arc::clone(&recorded.execution)));
                            recorded.execution
                        }
                        // It was cleared away: the step is looked at anew.
                        Err(StoreError::Missing { .. }) => continue,
                        Err(error) => return Err(failure(error)),
                    },
                };
                record.held = Some((execution, hold.source));
            }
            record.kept = Some(hold);
        }
        for latest in self.store.latest().map_err(failure)? {
            if let Some(reason) = latest.invalidated {
                self.records.entry(latest.step).or_default().marked = Some(reason);
            }
        }
        Ok(())
    }

    /// The digest of a version's text.
    fn text_digest(&self, id: &StepId, version: VersionNumber) -> Result<Digest, StoreError> {
        if let Some(entry) = self.step(id).filter(|entry| entry.version == version) {
            return Ok(entry.file.digest);
        }
        Ok(self.store.version(id, version)?.source)
    }

    /// Decides anew how every step stands.
    pub(super) fn judge(&mut self) {
        let subjects: Vec<Subject<'_>> = self
            .steps
            .iter()
            .map(|entry| {
                let record = self.records.get(&entry.file.id);
                Subject {
                    id: &entry.file.id,
                    source: entry.file.digest,
                    held: record
                        .and_then(|record| record.held.as_ref())
                        .map(|(execution, source)| Held { execution, source: *source }),
                    marked: record.is_some_and(|record| record.marked.is_some()),
                    blocked: record.and_then(|record| record.blocked.as_ref()).map(|(reason, text)| (reason, *text)),
                    reads: &entry.code.reads,
                    writes: &entry.code.writes,
                    needs: &entry.file.header.needs,
                    opaque: entry.code.opaque,
                }
            })
            .collect();
        self.verdicts = marks::judge(&subjects, self.on_error, &self.files);
        self.edges = rows::edges(&self.graph.edges(), &self.steps, &self.verdicts);
        let made = self.steps.iter().zip(&self.verdicts).map(|(entry, verdict)| {
            let record = self.records.get(&entry.file.id);
            rows::row(entry, verdict, record)
        });
        let old: HashMap<&StepId, &Arc<StepRow>> = self.rows.iter().map(|row| (&row.id, row)).collect();
        let rows = made
            .map(|row| match old.get(&row.id) {
                Some(same) if ***same == row => Arc::clone(same),
                _ => Arc::new(row),
            })
            .collect();
        self.rows = rows;
    }

    /// The whole run as the engine is given it; `marked` are looked at as if they had been marked by hand.
    pub(super) fn tasks(&mut self, marked: &BTreeSet<StepId>) -> Result<Vec<Task>, Failure> {
        let mut tasks = Vec::with_capacity(self.steps.len());
        for entry in &self.steps {
            let id = &entry.file.id;
            let record = self.records.entry(id.clone()).or_default();
            if !record.recalled {
                for found in self.store.executions(id, REMEMBERED).map_err(failure)? {
                    if !record.past.iter().any(|(known, _)| *known == Some(found.id)) {
                        record.past.push((Some(found.id), found.execution));
                    }
                }
                record.recalled = true;
            }
            // What held last comes first, though others may have been executed since.
            let holds = |execution: &&Arc<Execution>| matches!(execution.outcome, Outcome::Done | Outcome::Failed);
            let first = record.held.as_ref().map(|(execution, _)| execution);
            let others = record.past.iter().map(|(_, execution)| execution);
            let others = others.filter(|other| first.is_none_or(|first| !Arc::ptr_eq(first, other)));
            let held = first.into_iter().chain(others).filter(holds).cloned().collect();
            let forced = record.marked.clone().or_else(|| marked.contains(id).then_some(Reason::Invalidated));
            tasks.push(Task {
                id: id.clone(),
                kind: entry.file.kind,
                source: code::executable(&entry.file),
                version: entry.version,
                timeout: entry
                    .file
                    .header
                    .timeout
                    .and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok()),
                produces: entry.file.header.produces.clone(),
                held,
                forced,
            });
        }
        Ok(tasks)
    }

    /// A step was executed, with the text of digest `text`. It is handed to the store; [`Book::settle`] waits.
    pub(super) fn executed(&mut self, execution: &Arc<Execution>, text: Digest) {
        let receipt = self.store.record_execution(Arc::clone(execution));
        self.receipts.push((Arc::clone(execution), receipt));
        let record = self.records.entry(execution.step.clone()).or_default();
        record.past.insert(0, (None, Arc::clone(execution)));
        record.past.truncate(REMEMBERED);
        record.blocked = None;
        if execution.outcome != Outcome::Interrupted {
            record.marked = None;
        }
        record.held = Some((Arc::clone(execution), text));
    }

    /// A step was found to hold as of `execution`, for the text of digest `text`.
    pub(super) fn kept(&mut self, step: &StepId, execution: &Arc<Execution>, text: Digest) {
        let record = self.records.entry(step.clone()).or_default();
        record.blocked = None;
        record.held = Some((Arc::clone(execution), text));
    }

    /// A step could not run.
    pub(super) fn blocked(&mut self, step: &StepId, why: &Reason, text: Digest) {
        self.records.entry(step.clone()).or_default().blocked = Some((why.clone(), text));
    }

    /// Waits until all that was executed is in the store, and keeps how the steps stand now.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        for (execution, receipt) in std::mem::take(&mut self.receipts) {
            let step = &execution.step;
            match receipt.wait() {
                Ok(id) => {
                    let record = self.records.entry(step.clone()).or_default();
                    let known = record.past.iter_mut().find(|(_, known)| Arc::ptr_eq(known, &execution));
                    if let Some((known, _)) = known {
                        *known = Some(id);
                    }
                    // An execution says by itself what held, until something else does.
                    record.kept = None;
                }
                // The step went away while it ran: there is nothing left to record it under.
                Err(StoreError::Missing { .. }) => {}
                Err(error) => {
                    let hint = error.hint();
                    return Err(Failure { what: format!("the execution of {step} was not recorded: {error}"), hint });
                }
            }
        }
        let mut changed = Vec::new();
        for (step, record) in &self.records {
            let text_of = |version| self.text_digest(step, version).ok();
            let hold = record.hold(text_of);
            if hold != record.kept {
                changed.push((step.clone(), hold));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        for (step, hold) in &changed {
            if let Some(record) = self.records.get_mut(step) {
                record.kept.clone_from(hold);
            }
        }
        self.store.set_holds(changed).wait().map_err(failure)
    }

    /// Marks steps by hand. The mark lasts until they are executed.
    pub(super) fn mark(&mut self, steps: &BTreeSet<StepId>) -> Result<(), Failure> {
        let list: Vec<StepId> = steps.iter().cloned().collect();
        self.store.set_invalidated(&list, &Reason::Invalidated, now()).map_err(failure)?;
        for step in steps {
            self.records.entry(step.clone()).or_default().marked = Some(Reason::Invalidated);
        }
        Ok(())
    }

    /// All steps that are stale because of these, and these themselves where they are not up to date.
    pub(super) fn following(&self, steps: &BTreeSet<StepId>) -> BTreeSet<StepId> {
        let mut found = steps.clone();
        for (entry, verdict) in self.steps.iter().zip(&self.verdicts) {
            let waits = |reason: &Reason| match reason {
                Reason::Upstream { step, .. } | Reason::BlockedBy { step, .. } => found.contains(step),
                _ => false,
            };
            if verdict.status != Status::Fresh && verdict.reasons.iter().any(waits) {
                found.insert(entry.file.id.clone());
            }
        }
        found
    }
}

/// Whether two looks at a step's file found the same.
fn is_same(before: &Arc<StepFile>, now: &Arc<StepFile>) -> bool {
    Arc::ptr_eq(before, now)
        || (before.id == now.id && before.digest == now.digest && before.kind == now.kind && before.path == now.path)
}

fn told(problem: &Problem) -> FileProblem {
    FileProblem {
        path: run::show(&problem.path),
        what: problem.kind.to_string(),
        remedy: problem.kind.remedy().to_owned(),
        level: match problem.kind.gravity() {
            Gravity::Note => Level::Info,
            Gravity::Warning => Level::Warning,
            Gravity::Error => Level::Error,
        },
    }
}

/// Who made what is new: an agent, where every new text says so in its header, else a person.
fn provenance(steps: &[Arc<StepFile>], same: impl Fn(&Arc<StepFile>) -> bool) -> Provenance {
    let mut headers = steps.iter().filter(|file| !same(file)).map(|file| &file.header);
    let by = |header: &crate::step::Header| Some((header.agent.clone()?, header.model.clone(), header.call.clone()));
    let first = headers.next().and_then(by);
    match first {
        Some((agent, model, call)) if headers.all(|header| header.agent.as_ref() == Some(&agent)) => {
            Provenance { model, call, ..Provenance::new(Author::Agent(agent), now()) }
        }
        _ => Provenance::new(Author::Person, now()),
    }
}

/// An error of the store as the workbench tells it.
pub(super) fn failure(error: StoreError) -> Failure {
    Failure { hint: error.hint(), what: error.to_string() }
}
