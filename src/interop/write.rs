//! An import laid out as a run.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::notes::page;
use super::{ImportError, Imported, ImportedFile, ImportedPatch, ImportedStep, Recorded, Sink, Summary, Warning};
use crate::step::VersionNumber;
use crate::store::{Arrival, Proposal, Store, StoreError};

/// A run's directory that is being made: under another name until it is whole, so that an import that is
/// stopped leaves nothing behind. What was recorded goes to the run's store.
pub struct Directory {
    target: PathBuf,
    making: PathBuf,
    store: Option<Store>,
    summary: Summary,
    /// Files that look like steps and are none.
    excluded: BTreeSet<String>,
    /// The run's configuration, where the import has one.
    config: Option<String>,
    /// Paths of steps and files so far: none is written over.
    written: HashSet<String>,
    finished: bool,
}

impl Directory {
    /// Starts a run that will stand at `target`.
    ///
    /// # Errors
    /// If there is something at `target` already (an empty directory is fine), or nothing can be written there.
    pub fn create(target: &Path) -> Result<Self, ImportError> {
        let unwritable = |source| ImportError::Unwritable { path: target.to_owned(), source };
        match fs::read_dir(target) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(ImportError::Occupied { dir: target.to_owned() });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unwritable(error)),
        }
        // `.` and `..` have no name to write under until the run is whole.
        let target = match target.file_name() {
            Some(_) => target.to_owned(),
            None => target.canonicalize().map_err(unwritable)?,
        };
        let unwritable = |source| ImportError::Unwritable { path: target.clone(), source };
        let name = target.file_name().ok_or_else(|| unwritable(io::Error::other("it has no name")))?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(unwritable)?;
        let making = parent.join(format!(".{}.importing-{}", name.to_string_lossy(), std::process::id()));
        // What is there under this name was left by a process of the same id that died.
        let _ = fs::remove_dir_all(&making);
        fs::create_dir(&making).map_err(|source| ImportError::Unwritable { path: making.clone(), source })?;
        let mut directory = Self {
            target,
            making,
            store: None,
            summary: Summary::default(),
            excluded: BTreeSet::new(),
            config: None,
            written: HashSet::new(),
            finished: false,
        };
        directory.store = Some(Store::open(&directory.making).map_err(|error| directory.refused(&error))?);
        Ok(directory)
    }

    /// Puts the run in its place, and says what it came to. `origin` is told in the run's configuration.
    ///
    /// # Errors
    /// If the last files can't be written or the directory can't be put in its place.
    pub fn finish(mut self, origin: &str) -> Result<Summary, ImportError> {
        if self.summary.steps == 0 && self.summary.warnings.is_empty() {
            let what = "there is no code in it that could be run again: what was said and done stands in return.md";
            self.summary.warnings.push(Warning::new(what));
        }
        let config = self.config.take().unwrap_or_else(|| self.made_config(origin));
        self.put("reweave.toml", config.as_bytes())?;
        if let Some(store) = self.store.take() {
            store.flush();
        }
        let unwritable = |source| ImportError::Unwritable { path: self.target.clone(), source };
        if self.target.is_dir() {
            fs::remove_dir(&self.target).map_err(unwritable)?;
        }
        fs::rename(&self.making, &self.target).map_err(unwritable)?;
        self.finished = true;
        Ok(std::mem::take(&mut self.summary))
    }

    fn made_config(&self, origin: &str) -> String {
        let mut config = format!(
            "# Imported from {}.\n# A recorded run goes on past a failing step, as its author did.\non_error = \"continue\"\n",
            crate::step::plain_line(origin)
        );
        if !self.excluded.is_empty() {
            config.push_str("\n[run]\n# The recorded agent's own files: kept as they were, and no steps.\n");
            let paths: Vec<String> = self.excluded.iter().map(|path| super::header::quoted(&literal(path))).collect();
            config.push_str(&format!("exclude = [{}]\n", paths.join(", ")));
        }
        config
    }

    fn refused(&self, error: &StoreError) -> ImportError {
        ImportError::Store { dir: self.target.clone(), what: error.to_string() }
    }

    fn put(&self, relative: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let path = self.making.join(relative);
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, bytes)
        };
        write().map_err(|source| ImportError::Unwritable { path: path.clone(), source })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_dir_all(&self.making);
        }
    }
}

impl Sink for Directory {
    fn step(&mut self, step: ImportedStep) -> Result<(), ImportError> {
        if !is_inside(&step.path()) {
            self.warn(Warning::new(format!("{:?} is not a path in the run; left out", step.path())));
            return Ok(());
        }
        if !self.written.insert(step.path()) {
            self.warn(Warning::new(format!("{:?} is there twice; the second is left out", step.path())));
            return Ok(());
        }
        self.put(&step.path(), step.text.as_bytes())?;
        if !step.notes.is_empty() {
            self.put(&format!("{}.md", step.id), page(&step.notes).as_bytes())?;
        }
        self.summary.steps += 1;
        self.summary.recorded += usize::from(step.recorded.is_some());
        let id = step.id;
        let execution = |recorded: Recorded| recorded.into_execution(id.clone(), VersionNumber(1));
        if let Some(store) = &self.store {
            for earlier in step.earlier {
                let recorded = earlier.recorded.map(execution);
                store
                    .import_step(&id, earlier.text.as_bytes(), &earlier.provenance, recorded)
                    .map_err(|error| self.refused(&error))?;
            }
            store
                .import_step(&id, step.text.as_bytes(), &step.provenance, step.recorded.map(execution))
                .map_err(|error| self.refused(&error))?;
        }
        Ok(())
    }

    fn file(&mut self, file: ImportedFile) -> Result<(), ImportError> {
        if !is_inside(&file.path) {
            self.warn(Warning::new(format!("{:?} is not a path in the run; left out", file.path)));
            return Ok(());
        }
        if !self.written.insert(file.path.clone()) {
            self.warn(Warning::new(format!(
                "{:?} is there already; what would have stood there is left out",
                file.path
            )));
            return Ok(());
        }
        if file.work && (file.path.ends_with(".py") || file.path.ends_with(".sh")) {
            self.excluded.insert(file.path.clone());
        }
        self.put(&file.path, &file.bytes)
    }

    fn patch(&mut self, patch: ImportedPatch) -> Result<(), ImportError> {
        self.summary.patches += 1;
        let mut proposal = Proposal {
            state: patch.state,
            title: patch.title,
            text: patch.text.unwrap_or_default().into_bytes(),
            provenance: patch.provenance,
            files: patch.files,
            problems: patch.problems,
        };
        if let Some(store) = &self.store {
            let mut arrival = store.import_patch(&proposal).map_err(|error| self.refused(&error))?;
            if matches!(arrival, Arrival::Known(_)) {
                // Patches are known by their text; the same change made twice is two all the same.
                proposal.text.splice(0..0, format!("change {}\n", self.summary.patches).into_bytes());
                arrival = store.import_patch(&proposal).map_err(|error| self.refused(&error))?;
            }
            for (at, comment) in patch.comments {
                store.comment_patch(arrival.id(), &comment, at).map_err(|error| self.refused(&error))?;
            }
        }
        Ok(())
    }

    fn config(&mut self, text: String) {
        self.config = Some(text);
    }

    fn warn(&mut self, warning: Warning) {
        self.summary.warnings.push(warning);
    }
}

/// Whether a path stays in the run and out of the places that reweave keeps for itself.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.len() < 1024
        && path.split('/').all(|part| {
            !part.is_empty() && part.len() < 200 && !part.starts_with('.') && !part.contains(['\\', '\0', ':'])
        })
        && path != "reweave.toml"
        && !path.starts_with("patches/")
}

/// A path as a glob that matches only it.
fn literal(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

/// Lays an import out as a run at `dir`. `origin` says where it comes from.
///
/// # Errors
/// As [`Directory::create`] and [`Directory::finish`].
pub fn write(imported: Imported, dir: &Path, origin: &str) -> Result<Summary, ImportError> {
    let mut directory = Directory::create(dir)?;
    for step in imported.steps {
        directory.step(step)?;
    }
    for file in imported.files {
        directory.file(file)?;
    }
    for patch in imported.patches {
        directory.patch(patch)?;
    }
    if let Some(config) = imported.config {
        directory.config(config);
    }
    for warning in imported.warnings {
        directory.warn(warning);
    }
    Ok(Summary { format: imported.format, ..directory.finish(origin)? })
}

/// A directory for the run of the recording at `path`, beside it: `analysis.ipynb` gives `analysis-run`, or
/// `analysis-run-2` where that is taken.
pub fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_else(|| "run".to_owned());
    let stem = stem.trim_start_matches('.');
    let free = |dir: &PathBuf| fs::read_dir(dir).map_or(!dir.exists(), |mut entries| entries.next().is_none());
    let first = path.with_file_name(format!("{stem}-run"));
    if free(&first) {
        return first;
    }
    (2..).map(|number| path.with_file_name(format!("{stem}-run-{number}"))).find(free).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_run_or_reaches_what_is_reweaves_own() {
        for path in ["a.py", "a/b.csv", "a/b c.txt", "é.txt"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "",
            "/a",
            "../a",
            "a/../b",
            ".reweave/store",
            "a/.git/x",
            "a//b",
            "reweave.toml",
            "patches/x",
            "a\\b",
            "c:x",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn what_is_there_is_never_written_over_and_a_stopped_import_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("run");
        drop(Directory::create(&target).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::create_dir(&target).unwrap();
        Directory::create(&target).unwrap().finish("a test").unwrap();
        assert!(matches!(Directory::create(&target), Err(ImportError::Occupied { .. })));
        assert_eq!(beside(&dir.path().join("run.ipynb")), dir.path().join("run-run"));
    }
}
