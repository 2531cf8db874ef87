//! What a workbench knows of its run: the files as they are, the record, and how each step stands.
//!
//! No thread and no channel: the desk calls, the book answers. It is the only part that touches the run's
//! directory and the store.
//!
//! # Architecture
//!
//! - `reading.rs`: what the directory holds, taken in and recorded.
//! - `running.rs`: what the engine is given, and what it says taken down.
//! - `standing.rs`: how each step stands, as marks, rows and edges. `would.rs`: how it would after a change.
//! - `locked.rs`: a run whose steps only accepted patches may change.

mod locked;
mod reading;
mod running;
mod standing;
mod would;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::standing::{Changed, Standing};
use super::calls::StoreCalls;
use super::code::{self, Code};
use super::files::FileLook;
use super::marks::{Held, Subject, Verdict};
use super::moment::now;
use super::record::Record;
use super::{Edge, Failure, FileProblem, Level, Snapshot, StepRow};
use crate::analysis::StepNames;
use crate::engine::{OnError, Surroundings, Vault};
use crate::graph::ExecutionStateGraph;
use crate::run::{self, Faults, Files, Gravity, Problem, RunDir, StepFile, Tree};
use crate::step::{Author, Digest, Execution, ExecutionId, Millis, Provenance, StepId, VersionNumber};
use crate::store::query::MadeCode;
use crate::store::{DeedError, Done, Plan, Receipt, Store, StoreError};

/// A run as it is known.
#[derive(Debug)]
pub(super) struct Book {
    dir: RunDir,
    tree: Tree,
    pub(super) store: Store,
    faults: Faults,
    on_error: OnError,
    pub(super) steps: Vec<Entry>,
    /// The modules as they were recorded last.
    modules: Vec<Arc<StepFile>>,
    /// Files that steps made, and that would be steps otherwise.
    made: BTreeMap<String, MadeCode>,
    /// Whether one was executed since that may have made more.
    made_more: bool,
    pub(super) records: foldhash::HashMap<StepId, Record>,
    pub(super) files: FileLook,
    standing: Standing,
    changed: Changed,
    graph: ExecutionStateGraph,
    python: PathBuf,
    problems: Vec<FileProblem>,
    nothing: Option<Failure>,
    /// Whether only accepted patches may change steps.
    locked: bool,
    /// Steps whose text was new to the record when the run was opened.
    new_at_opening: BTreeSet<StepId>,
    /// Steps that changed by other means though they may not, and how.
    outside: BTreeMap<StepId, String>,
    /// What a person should know of how the record was found.
    found: Vec<String>,
    receipts: Vec<(Arc<Execution>, Receipt<ExecutionId>)>,
}

/// A step as it stands on disk.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub file: Arc<StepFile>,
    pub version: VersionNumber,
    pub code: Arc<Code>,
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
    /// be read otherwise. A record that can't be read is set aside, and a new one begun.
    ///
    /// `face` is what the run looked like last: rows that come out the same are shared with whoever is shown them.
    pub(super) fn open(
        dir: RunDir,
        tree: Tree,
        on_error: OnError,
        python: PathBuf,
        face: Option<&Snapshot>,
    ) -> Result<Self, Failure> {
        match Self::try_to_open(dir.clone(), tree, on_error, python.clone(), face) {
            // By now the store is marked, so that the next opening sets it aside.
            Err(StoreError::Damaged { .. }) => {
                let tree = Tree::read(&dir);
                Self::try_to_open(dir, tree, on_error, python, face)
            }
            other => other,
        }
        .map_err(failure)
    }

    fn try_to_open(
        dir: RunDir,
        mut tree: Tree,
        on_error: OnError,
        python: PathBuf,
        face: Option<&Snapshot>,
    ) -> Result<Self, StoreError> {
        let faults = planted();
        let store = Store::open_with_faults(dir.path(), faults.clone())?;
        let mut found: Vec<String> = store.notices().iter().map(ToString::to_string).collect();
        let files = dir.files().with_faults(faults.clone());
        // Before a file that an accepted patch wrote is taken for a person's edit.
        let recovered = store.recover(&files).inspect_err(|error| suspect(&store, error))?;
        if !recovered.is_empty() {
            found.extend(recovered.iter().map(ToString::to_string));
            tree.refresh_all();
        }
        // What recovery had no use for: halves of files that were being written.
        let written = LazyCell::new(|| lately_written(&store));
        let left = files.sweep(tree.directories(), |bytes| {
            store.has_blob(&Digest::of(bytes)).unwrap_or(false) || written.iter().any(|whole| whole.starts_with(bytes))
        });
        found.extend(left.iter().map(|path| {
            format!("{} may hold the only copy of an edit: compare it with its step, then remove it", run::show(path))
        }));
        let mut book = Self {
            files: FileLook::new(dir.path().to_owned()),
            dir,
            tree,
            store,
            faults,
            on_error,
            steps: Vec::new(),
            modules: Vec::new(),
            made: BTreeMap::new(),
            made_more: false,
            records: foldhash::HashMap::default(),
            standing: face.map(Standing::like).unwrap_or_default(),
            changed: Changed::All,
            graph: ExecutionStateGraph::new(),
            python,
            problems: Vec::new(),
            nothing: None,
            locked: false,
            outside: BTreeMap::new(),
            new_at_opening: BTreeSet::new(),
            receipts: Vec::new(),
            found,
        };
        let read = book.take_in(true).and_then(|_| book.remember());
        read.inspect_err(|error| suspect(&book.store, error))?;
        book.judge();
        Ok(book)
    }

    /// What was unusual about opening the store.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> {
        self.found.iter().cloned()
    }

    /// The run's directory.
    pub(super) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// The run's directory as it was looked at last.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The store.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// An error of the store as it is told. One that shows damage has the next opening look at everything.
    pub(super) fn failure(&self, error: StoreError) -> Failure {
        suspect(&self.store, &error);
        failure(error)
    }

    /// The run's files, to be changed.
    fn writing(&self) -> Files {
        self.dir.files().with_faults(self.faults.clone())
    }

    /// Does something to files of the run, whole or not at all; it is in the history and can be undone.
    ///
    /// # Errors
    /// When it can't be done; then the files are as they were.
    pub(super) fn carry_out(&self, plan: &Plan) -> Result<Done, Failure> {
        self.store.carry_out(&self.writing(), plan).map_err(deed_failure)
    }

    /// Takes back the last thing that was carried out.
    ///
    /// # Errors
    /// When there is none, or a file was changed since.
    pub(super) fn undo(&self) -> Result<Done, Failure> {
        self.store.undo(&self.writing(), now()).map_err(deed_failure)
    }

    /// Does again what was undone last.
    ///
    /// # Errors
    /// As [`Book::undo`].
    pub(super) fn redo(&self) -> Result<Done, Failure> {
        self.store.redo(&self.writing(), now()).map_err(deed_failure)
    }

    /// Who wrote a file's text: the agent that its header names, unless an earlier text of the step has the same
    /// header. Then somebody changed what the agent wrote.
    fn author(&self, file: &StepFile, at: Millis) -> Provenance {
        let header = &file.header;
        let person = Provenance::new(Author::Person, at);
        let Some(agent) = header.agent.clone() else { return person };
        let by = Provenance {
            model: header.model.clone(),
            call: header.call.clone(),
            ..Provenance::new(Author::Agent(agent), at)
        };
        let same = |known: &Provenance| (&known.author, &known.model, &known.call) == (&by.author, &by.model, &by.call);
        match self.store.versions(&file.id) {
            Ok(versions) if versions.iter().any(|version| same(&version.provenance)) => person,
            _ => by,
        }
    }

    /// The steps in the order of the run.
    pub(super) fn steps(&self) -> &[Entry] {
        &self.steps
    }

    /// The step of this id.
    pub(super) fn step(&self, id: &StepId) -> Option<&Entry> {
        self.steps.get(self.place(id)?)
    }

    /// What can be seen in a step's text.
    pub(super) fn names(&self, id: &StepId) -> Option<Arc<StepNames>> {
        self.graph.node(id).map(|node| Arc::clone(&node.names))
    }

    /// How a step stands and why.
    pub(super) fn verdict(&self, id: &StepId) -> Option<&Verdict> {
        self.verdicts().get(self.place(id)?)
    }

    /// How the steps stand, as of the last [`Book::judge`].
    pub(super) fn verdicts(&self) -> &[Verdict] {
        self.standing.marks.verdicts()
    }

    /// The steps as rows, as of the last [`Book::judge`].
    pub(super) fn rows(&self) -> &[Arc<StepRow>] {
        &self.standing.rows
    }

    /// The edges, as of the last [`Book::judge`].
    pub(super) fn edges(&self) -> &Arc<[Edge]> {
        &self.standing.edges
    }

    /// What is wrong with files and directories of the run.
    pub(super) fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// Has records held against what a run finds that is begun now.
    pub(super) fn look_around(&mut self, found: Surroundings, vault: Arc<dyn Vault>) {
        self.files.around = Some((found, vault));
        self.changed = Changed::All;
    }

    /// Has answers of calls looked up here from now on.
    pub(super) fn look_up_answers(&mut self, calls: Arc<StoreCalls>) {
        self.files.calls = Some(calls);
        self.changed = Changed::All;
        self.judge();
    }

    /// What frames say that they returned.
    pub(super) fn returned(&self) -> BTreeMap<Arc<str>, Arc<str>> {
        let frames = self.tree.scan().frames;
        frames.into_iter().filter_map(|frame| Some((frame.id, frame.returned?))).collect()
    }

    /// Why there is nothing to run, where that is so.
    pub(super) fn nothing(&self) -> Option<&Failure> {
        self.nothing.as_ref()
    }

    /// Takes other settings from now on.
    pub(super) fn set(&mut self, on_error: OnError, exclude: run::Exclude) {
        self.on_error = on_error;
        self.changed = Changed::All;
        self.tree.set_exclude(exclude);
    }

    /// A step's bytes as they are on disk, as far as they were read.
    pub(super) fn bytes_of(&self, file: &StepFile) -> Vec<u8> {
        match file.encoding.encode(&file.source) {
            Ok(bytes) if file.fault.is_none() => bytes,
            // What is no text is kept byte for byte all the same, if it is there to be read.
            _ => fs::read(self.dir.path().join(&file.path)).unwrap_or_default(),
        }
    }

    fn subject<'a>(&'a self, entry: &'a Entry) -> Subject<'a> {
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
            timeout: running::own_timeout(&entry.file),
        }
    }
}

/// What a graph knows of a step.
fn code_in(graph: &ExecutionStateGraph, step: &StepId) -> Code {
    match (graph.node(step), graph.resolved(step)) {
        (Some(node), Some(resolved)) => Code::new(&node.names, resolved),
        _ => Code::default(),
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

/// Files that are no steps for having come while step `by` had a program running, told by the first of them.
fn told_of_made(by: &StepId, paths: &[&str]) -> Option<FileProblem> {
    let (first, more) = paths.split_first()?;
    let others = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
    Some(FileProblem {
        path: run::show(Path::new(first)),
        what: format!("came while {by} had a program running, and counts as made by it, not as a step{others}"),
        remedy: "if it is yours, change it: then it is one".to_owned(),
        level: Level::Warning,
    })
}

/// Where tests plant faults: a build for debugging dies at the point of a write that `REWEAVE_KILL_AT` counts to.
fn planted() -> Faults {
    #[cfg(all(unix, debug_assertions))]
    if let Some(at) = std::env::var("REWEAVE_KILL_AT").ok().and_then(|at| at.parse().ok()) {
        return Faults::kill_at(at);
    }
    Faults::none()
}

/// The contents that were written last, and an empty one: a file that begins like one of them and ends early is what
/// a process left that died while it wrote.
fn lately_written(store: &Store) -> Vec<Vec<u8>> {
    let deeds = store.deeds(LATELY).unwrap_or_default();
    let digests = deeds.iter().flat_map(|deed| &deed.files).flat_map(|file| [file.after, file.before]).flatten();
    digests.filter_map(|digest| store.get_blob(&digest).ok()).chain([Vec::new()]).collect()
}

/// How many of the last deeds are looked at for that.
const LATELY: usize = 20;

/// What can't be read now is looked at whole when the store is opened next.
fn suspect(store: &Store, error: &StoreError) {
    if let StoreError::Damaged { .. } = error {
        store.suspect();
    }
}

fn deed_failure(error: DeedError) -> Failure {
    Failure { hint: error.hint(), what: error.to_string() }
}

/// An error of the store as the workbench tells it.
pub(super) fn failure(error: StoreError) -> Failure {
    Failure { hint: error.hint(), what: error.to_string() }
}
