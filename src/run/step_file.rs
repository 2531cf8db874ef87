//! One step as it stands on disk, and what a whole scan found.

use std::path::PathBuf;
use std::sync::Arc;

use super::problem::{Problem, ProblemKind, RunError};
use super::source::Encoding;
use crate::step::{Digest, Header, Kind, StepId};

/// A step's file.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFile {
    /// Which step.
    pub id: StepId,
    /// Its path in the run, with the ending.
    pub path: PathBuf,
    /// What sort: what the header says, else `shell` for `*.sh`, `test` for `test_*.py`, `step`.
    pub kind: Kind,
    /// Its header; what could not be read of it stands among the scan's problems.
    pub header: Header,
    /// Its text. Line ends are as in the file, a byte order mark is not part of it. Where `fault` is set: empty, or as
    /// much as can be shown.
    pub source: Arc<str>,
    /// Hash of the file's bytes. Of a file that was not read (see `fault`), of its size and times.
    pub digest: Digest,
    /// How the text is written in the file.
    pub encoding: Encoding,
    /// Why it has no text that could be executed, if so. Such a step keeps its place and fails.
    pub fault: Option<ProblemKind>,
    /// What its header says that can't be understood.
    pub(super) header_problems: Vec<super::header::HeaderProblem>,
}

/// A frame: a directory with steps in it, or below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its path in the run, `/` between the parts.
    pub id: Arc<str>,
    /// What `return.md` in it says, if it is there. Bytes that are not UTF-8 were replaced.
    pub returned: Option<Arc<str>>,
}

/// All that a look at a run's directory found.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// The steps, in the order of the run.
    pub steps: Vec<Arc<StepFile>>,
    /// Files of kind `module`, by id. They are not executed.
    pub modules: Vec<Arc<StepFile>>,
    /// The frames, in the order of the run.
    pub frames: Vec<Frame>,
    /// What is wrong, by path. Each concerns its own file alone.
    pub problems: Vec<Problem>,
    /// How many files are there that are neither steps nor in a directory that holds none.
    pub others: usize,
    /// One of these.
    pub example: Option<PathBuf>,
}

impl Scan {
    /// The step or module with this id.
    pub fn file(&self, id: &StepId) -> Option<&Arc<StepFile>> {
        let find = |files: &'_ [Arc<StepFile>]| files.binary_search_by(|file| file.id.cmp(id)).ok();
        find(&self.steps)
            .and_then(|at| self.steps.get(at))
            .or_else(|| find(&self.modules).and_then(|at| self.modules.get(at)))
    }

    /// Whether there is anything to run; `dir` is named where not.
    ///
    /// # Errors
    /// [`RunError::Empty`] or [`RunError::OtherFiles`].
    pub fn require_steps(&self, dir: &super::RunDir) -> Result<(), RunError> {
        if !self.steps.is_empty() || !self.modules.is_empty() {
            return Ok(());
        }
        match (&self.example, self.others) {
            (Some(example), count) if count > 0 => {
                let example = example.to_string_lossy().into_owned();
                Err(RunError::OtherFiles { dir: dir.shown().to_owned(), count, example })
            }
            _ => Err(RunError::Empty(dir.shown().to_owned())),
        }
    }
}
