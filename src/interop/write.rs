//! An import laid out as a run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ImportError, Imported, ImportedFile, ImportedPatch, ImportedStep, NoteKind, Sink, Summary, Warning};
use crate::step::{Execution, VersionNumber};

/// A run's directory that is being made: under another name until it is whole, so that an import that is
/// stopped leaves nothing behind.
pub struct Directory {
    target: PathBuf,
    making: PathBuf,
    summary: Summary,
    executions: Vec<Execution>,
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
        let name = target.file_name().ok_or_else(|| unwritable(io::Error::other("it has no name")))?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(unwritable)?;
        let making = parent.join(format!(".{}.importing-{}", name.to_string_lossy(), std::process::id()));
        // What is there under this name was left by a process of the same id that died.
        let _ = fs::remove_dir_all(&making);
        fs::create_dir(&making).map_err(|source| ImportError::Unwritable { path: making.clone(), source })?;
        Ok(Self {
            target: target.to_owned(),
            making,
            summary: Summary::default(),
            executions: Vec::new(),
            finished: false,
        })
    }

    /// Puts the run in its place, and gives what it came to and what was recorded of each step.
    ///
    /// # Errors
    /// If the last files can't be written or the directory can't be put in its place.
    pub fn finish(mut self, origin: &str) -> Result<(Summary, Vec<Execution>), ImportError> {
        let config = format!(
            "# Imported from {origin}.\n# A recorded run goes on past a failing step, as its author did.\non_error = \"continue\"\n"
        );
        self.put("reweave.toml", config.as_bytes())?;
        let unwritable = |source| ImportError::Unwritable { path: self.target.clone(), source };
        if self.target.is_dir() {
            fs::remove_dir(&self.target).map_err(unwritable)?;
        }
        fs::rename(&self.making, &self.target).map_err(unwritable)?;
        self.finished = true;
        Ok((std::mem::take(&mut self.summary), std::mem::take(&mut self.executions)))
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
        self.put(&step.path(), step.text.as_bytes())?;
        if !step.notes.is_empty() {
            self.put(&format!("{}.md", step.id), notes(&step).as_bytes())?;
        }
        self.summary.steps += 1;
        if let Some(recorded) = step.recorded {
            self.summary.recorded += 1;
            self.executions.push(recorded.into_execution(step.id, VersionNumber(1)));
        }
        Ok(())
    }

    fn file(&mut self, file: ImportedFile) -> Result<(), ImportError> {
        if !is_inside(&file.path) {
            self.warn(Warning::new(format!("{:?} is not a path in the run; left out", file.path)));
            return Ok(());
        }
        self.put(&file.path, &file.bytes)
    }

    fn patch(&mut self, _patch: ImportedPatch) -> Result<(), ImportError> {
        self.summary.patches += 1;
        Ok(())
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

/// A step's notes as a page beside it.
fn notes(step: &ImportedStep) -> String {
    let mut page = String::new();
    for note in &step.notes {
        let title = match note.kind {
            NoteKind::Markdown => String::new(),
            NoteKind::Message => format!("## {} said\n\n", note.by),
            NoteKind::Thought => format!("## {} thought\n\n", note.by),
            NoteKind::Tool => format!("## {} was used\n\n", note.by),
            NoteKind::Other => format!("## {}\n\n", note.by),
        };
        page.push_str(&title);
        page.push_str(note.text.trim_end());
        page.push_str("\n\n");
        if let Some(result) = &note.result {
            page.push_str("### It gave\n\n");
            page.push_str(result.trim_end());
            page.push_str("\n\n");
        }
    }
    page
}

/// Lays an import out as a run at `dir`, and gives what was recorded of each step.
///
/// # Errors
/// As [`Directory::create`] and [`Directory::finish`].
pub fn write(imported: Imported, dir: &Path, origin: &str) -> Result<(Summary, Vec<Execution>), ImportError> {
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
    for warning in imported.warnings {
        directory.warn(warning);
    }
    let (mut summary, executions) = directory.finish(origin)?;
    summary.format = imported.format;
    Ok((summary, executions))
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
