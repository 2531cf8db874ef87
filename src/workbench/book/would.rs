//! The run as it would be with other files: what a patch would make stale, and the tasks that a trial of it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Book, Entry, code, code_in};
use crate::engine::Task;
use crate::patch::review::Review;
use crate::patch::{DirectoryTree, moved, weakenings};
use crate::run::{PATCHES, STORE_DIR, StepFile};
use crate::step::{
    Digest, Execution, FileChange, FileContent, Kind, Name, Package, Reason, Status, StepId, VersionNumber,
};
use crate::workbench::files::FileLook;
use crate::workbench::marks::{self, Disk, Subject};
use crate::workbench::{Covering, Failure, Fault, Weight, covering};

/// The run as it would be.
pub(in crate::workbench) struct Would {
    /// The steps, in the order of the run.
    pub steps: Vec<Entry>,
    /// Those that are new or have another text.
    pub changed: BTreeSet<StepId>,
    /// Where new texts are no Python.
    pub faults: Vec<Fault>,
}

impl Book {
    /// The run as it would be with these changes.
    pub(in crate::workbench) fn would(&self, files: &[FileChange]) -> Would {
        let mut graph = self.graph.clone();
        let mut new: BTreeMap<StepId, Arc<StepFile>> = BTreeMap::new();
        let (mut looked, mut gone) = (Vec::new(), BTreeSet::new());
        for change in files.iter().filter(|change| self.is_looked_at(&change.path)) {
            let path = Path::new(&change.path);
            if let Some(old) = StepFile::of(path, b"").filter(|old| self.is_at(&old.id, path)) {
                gone.insert(old.id);
            }
            let Some(file) = change.result.as_deref().and_then(|text| StepFile::of(path, text.as_bytes())) else {
                continue;
            };
            if file.kind != Kind::Module {
                new.insert(file.id.clone(), Arc::new(file.clone()));
            }
            looked.push(file);
        }
        for id in &gone {
            graph.remove_step(id);
        }
        let texts: Vec<&StepFile> = looked.iter().collect();
        let mut affected: BTreeSet<StepId> = BTreeSet::new();
        let mut faults = Vec::new();
        for (file, names) in looked.iter().zip(code::look_at(&texts, &self.python)) {
            if let Some(error) = &names.syntax_error {
                let what = error.message.clone();
                faults.push(Fault { path: file.path.to_string_lossy().into_owned(), line: error.line, what });
            }
            if file.kind != Kind::Module {
                affected.extend(graph.add_step(file.id.clone(), names));
                affected.insert(file.id.clone());
            }
        }
        let changed = new.keys().cloned().collect();
        let mut steps: Vec<Entry> = self.steps.iter().filter(|entry| !gone.contains(&entry.file.id)).cloned().collect();
        for (id, file) in new {
            let next = |entry: &Entry| VersionNumber(entry.version.0.saturating_add(1));
            let version = self.step(&id).map_or(VersionNumber(1), next);
            steps.retain(|entry| entry.file.id != id);
            steps.push(Entry { file, version, code: Arc::default() });
        }
        steps.sort_by(|a, b| a.file.id.cmp(&b.file.id));
        for entry in steps.iter_mut().filter(|entry| !gone.is_empty() || affected.contains(&entry.file.id)) {
            entry.code = Arc::new(code_in(&graph, &entry.file.id));
        }
        Would { steps, changed, faults }
    }

    /// Whether a path is one that steps are looked for at.
    pub(in crate::workbench) fn is_looked_at(&self, path: &str) -> bool {
        let hidden = |part: &str| part.starts_with('.') || part == "__pycache__" || part == STORE_DIR;
        let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at)).chain([path]);
        let inbox = path.split('/').next() == Some(PATCHES);
        !inbox && !path.split('/').any(hidden) && !above.any(|path| self.dir.exclude().excludes(path))
    }

    fn is_at(&self, id: &StepId, path: &Path) -> bool {
        self.step(id).is_some_and(|entry| entry.file.path == path)
    }

    /// The tests that cover what these changes write anew, those that read it before those that read what it made.
    fn tests_for(&self, files: &[FileChange]) -> Vec<Covering> {
        let mut found: Vec<Covering> = Vec::new();
        for change in files {
            let path = Path::new(&change.path);
            let Some(entry) = self.steps.iter().find(|entry| entry.file.path == path) else { continue };
            let names = match (&change.base, &change.result) {
                (Some(before), Some(after)) => covering::changed_names(before, after),
                _ => Vec::new(),
            };
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            for test in covering::tests_of(self.rows(), self.edges(), &entry.file.id, &names) {
                match found.iter_mut().find(|known| known.test == test.test) {
                    None => found.push(test),
                    Some(known) if test.direct && !known.direct => *known = test,
                    Some(known) if test.direct => known.names.extend(test.names),
                    Some(_) => {}
                }
            }
        }
        found.sort_by(|a, b| (!a.direct, &a.test).cmp(&(!b.direct, &b.test)));
        found
    }

    /// What these changes would come to.
    pub(in crate::workbench) fn weigh(&self, files: &[FileChange]) -> Weight {
        let would = self.would(files);
        let subjects: Vec<Subject<'_>> = would.steps.iter().map(|entry| self.subject(entry)).collect();
        let after = marks::judge(&subjects, self.on_error, &Overlaid { below: &self.files, files });
        let waits = |status| matches!(status, Status::Stale | Status::Never);
        let mut weight = Weight {
            moved: DirectoryTree::open(self.dir.path()).map(|tree| moved(files, &tree)).unwrap_or_default(),
            weakened: weakenings(&Review::new(files)).iter().map(ToString::to_string).collect(),
            faults: would.faults.clone(),
            tests: self.tests_for(files),
            ..Weight::default()
        };
        for (entry, verdict) in would.steps.iter().zip(&after) {
            let id = &entry.file.id;
            let waited = self.verdict(id).is_some_and(|before| waits(before.status));
            if waits(verdict.status) && (!waited || would.changed.contains(id)) {
                weight.stale.push(id.clone());
                let place = self.rows().binary_search_by(|row| row.id.cmp(id)).ok();
                let last = place.and_then(|place| self.rows().get(place)?.duration_us);
                weight.estimate_us += last.unwrap_or(0);
            }
        }
        weight
    }

    /// The whole run with these changes, as an engine is given it.
    pub(in crate::workbench) fn tasks_with(&mut self, files: &[FileChange]) -> Result<Vec<Task>, Failure> {
        let would = self.would(files);
        self.recall(&would.changed, true)?;
        Ok(would.steps.iter().map(|entry| self.task(entry, false)).collect())
    }
}

/// The files of the run with changes over them.
struct Overlaid<'a> {
    below: &'a FileLook,
    files: &'a [FileChange],
}

impl Disk for Overlaid<'_> {
    fn replaced(&self, package: &Package) -> Option<String> {
        self.below.replaced(package)
    }

    fn surroundings(&self, execution: &Execution, timeout: Option<Duration>) -> Option<Reason> {
        self.below.surroundings(execution, timeout)
    }

    fn kept(&self, call: &Digest) -> Option<Digest> {
        self.below.kept(call)
    }

    fn holds(&self, path: &str, content: &FileContent) -> Option<bool> {
        let Some(change) = self.files.iter().find(|change| change.path == path) else {
            return self.below.holds(path, content);
        };
        match (content, &change.result) {
            (FileContent::Absent, result) => Some(result.is_none()),
            (FileContent::Present { .. }, _) => Some(false),
            (FileContent::File { digest, mode }, Some(text)) => {
                // What a person writes is a new file, or has the permissions that it had.
                let differs = *digest != Digest::of(text);
                if differs { Some(false) } else { mode.is_none().then_some(true) }
            }
            (FileContent::File { .. } | FileContent::Link { .. }, _) => Some(false),
            _ => None,
        }
    }

    fn start(&self, path: &str) -> Option<FileContent> {
        let is_ours = self.files.iter().any(|change| change.path == path);
        if is_ours { None } else { self.below.start(path) }
    }

    fn changed(&self) -> Vec<Name> {
        self.below.changed()
    }

    fn listing(
        &self,
        path: &str,
        itself: Option<&FileContent>,
        but: Vec<(String, FileContent)>,
    ) -> Option<FileContent> {
        let directory = marks::directory(path);
        let ours = self.files.iter().filter(|change| Path::new(&change.path).parent() == Some(directory));
        let names = ours.filter_map(|change| {
            let name = Path::new(&change.path).file_name()?.to_string_lossy().into_owned();
            let content = change.result.as_ref().map(|text| FileContent::File { digest: Digest::of(text), mode: None });
            Some((name, content.unwrap_or(FileContent::Absent)))
        });
        self.below.listing(path, itself, names.chain(but).collect())
    }
}
