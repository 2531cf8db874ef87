//! All of a run that an export may need.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::analysis::{self, StepNames};
use crate::graph::{self, Edge};
use crate::run::{Config, RunDir, RunError, StepFile};
use crate::step::{Execution, Kind, OnError, Patch, StepId, Version, VersionNumber};
use crate::store::{Reader, StoreError};

/// The largest file beside the steps that goes along, in bytes.
const LARGEST: u64 = 32 << 20;

/// Most bytes of such files in all.
const MOST: u64 = 512 << 20;

/// Why a run can't be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It is no run that can be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of it can't be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// Its path in the run.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A run, read once.
#[derive(Debug, Default)]
pub struct Whole {
    /// The name of its directory.
    pub title: String,
    /// The text of its `reweave.toml`.
    pub config: Option<String>,
    /// What follows from a failed step.
    pub on_error: OnError,
    /// Its steps, in order.
    pub steps: Vec<WholeStep>,
    /// Modules: path and text.
    pub modules: Vec<(String, String)>,
    /// What stands beside the steps, modules included.
    pub files: Vec<WholeFile>,
    /// Its patches, oldest first.
    pub patches: Vec<WholePatch>,
    /// Which step needs which.
    pub edges: Vec<Edge>,
    /// What is not in here, and why.
    pub left_out: Vec<String>,
}

/// A step with its history.
#[derive(Debug, Clone)]
pub struct WholeStep {
    /// Its id.
    pub id: StepId,
    /// What sort.
    pub kind: Kind,
    /// Its path in the run.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its bytes, where they are not the text in UTF-8.
    pub bytes: Option<Vec<u8>>,
    /// Its versions, oldest first, with their texts; none where the run was never opened.
    pub versions: Vec<(Version, Vec<u8>)>,
    /// Its last execution.
    pub execution: Option<Execution>,
    /// Whether its text is not Python.
    pub is_broken: bool,
}

impl WholeStep {
    /// Its present version, if the store knows it.
    pub fn version(&self) -> Option<&Version> {
        self.versions.last().map(|(version, _)| version)
    }

    /// Whether the last execution is of the present text.
    pub fn is_current(&self) -> bool {
        let head = self.version().map(|version| version.number);
        self.execution.as_ref().is_some_and(|execution| Some(execution.version) == head)
    }

    /// The text without its header, and the header.
    pub fn split(&self) -> (String, &str) {
        split_header(&self.text)
    }
}

/// A file beside the steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeFile {
    /// Its path in the run.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A patch with its text.
#[derive(Debug, Clone)]
pub struct WholePatch {
    /// What is known of it.
    pub patch: Patch,
    /// What was proposed, as it came.
    pub text: Vec<u8>,
}

/// What an export needs beyond the steps and their executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Texts of all versions.
    Versions,
    /// Files beside the steps.
    Files,
}

impl Whole {
    /// Reads the run in `dir`; of `parts` only what is asked for. Nothing in the run is changed.
    ///
    /// # Errors
    /// When it is no run, or its store can't be read.
    pub fn read(dir: &Path, parts: &[Part]) -> Result<Self, ExportError> {
        let plain = RunDir::open(dir)?;
        let config = Config::load(&plain, None, Vec::new());
        let run = plain.excluding(config.run.exclude.clone());
        let scan = run.scan();
        let mut whole = Self {
            title: run.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            config: fs::read_to_string(run.path().join(crate::run::CONFIG_FILE)).ok(),
            on_error: config.on_error,
            ..Self::default()
        };
        let store = run.path().join(crate::run::STORE_DIR).is_dir().then(|| Reader::open(run.path())).transpose()?;
        let mut latest = match &store {
            Some(store) => store.latest_executions()?,
            None => BTreeMap::new(),
        };
        for file in &scan.steps {
            let execution = latest.remove(&file.id).map(|recorded| Arc::unwrap_or_clone(recorded.execution));
            let versions = match &store {
                Some(store) => versions(store, &file.id, parts.contains(&Part::Versions))?,
                None => Vec::new(),
            };
            whole.steps.push(WholeStep {
                id: file.id.clone(),
                kind: file.kind,
                path: slashed(&file.path),
                text: file.source.to_string(),
                bytes: odd_bytes(file),
                versions,
                execution,
                is_broken: false,
            });
        }
        whole.modules = scan.modules.iter().map(|file| (slashed(&file.path), file.source.to_string())).collect();
        let names = names(&scan.steps);
        for (step, (_, names)) in whole.steps.iter_mut().zip(&names) {
            step.is_broken = names.syntax_error.is_some();
        }
        whole.edges = edges(&scan.steps, &names);
        if let Some(store) = &store {
            for patch in store.patches()? {
                let text = store.patch_text(patch.id)?;
                whole.patches.push(WholePatch { patch, text });
            }
        }
        if parts.contains(&Part::Files) {
            whole.read_files(&run)?;
        }
        Ok(whole)
    }

    fn read_files(&mut self, run: &RunDir) -> Result<(), ExportError> {
        let steps: Vec<String> = self.steps.iter().map(|step| step.path.clone()).collect();
        let mut waiting = vec![run.path().to_owned()];
        let mut total = 0;
        while let Some(dir) = waiting.pop() {
            let shown = |path: &Path| slashed(path.strip_prefix(run.path()).unwrap_or(path));
            let unreadable = |path: &Path, source| ExportError::Unreadable { path: shown(path), source };
            let mut entries: Vec<_> = fs::read_dir(&dir)
                .map_err(|error| unreadable(&dir, error))?
                .flatten()
                .map(|entry| entry.path())
                .collect();
            entries.sort();
            for path in entries {
                let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let relative = shown(&path);
                let own =
                    relative == crate::run::PATCHES || relative == crate::run::CONFIG_FILE || name == "__pycache__";
                if name.starts_with('.') || own || steps.contains(&relative) {
                    continue;
                }
                if metadata.is_dir() {
                    // A virtual environment can be made again.
                    if !path.join("pyvenv.cfg").exists() {
                        waiting.push(path);
                    }
                    continue;
                }
                if !metadata.is_file() {
                    self.left_out.push(format!("{relative}: it is not a regular file"));
                } else if metadata.len() > LARGEST || total + metadata.len() > MOST {
                    self.left_out.push(format!("{relative}: {} bytes are too many", metadata.len()));
                } else {
                    total += metadata.len();
                    let bytes = fs::read(&path).map_err(|error| unreadable(&path, error))?;
                    self.files.push(WholeFile { path: relative, bytes });
                }
            }
        }
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }
}

fn versions(store: &Reader, step: &StepId, texts: bool) -> Result<Vec<(Version, Vec<u8>)>, StoreError> {
    let mut versions = store.versions(step)?;
    versions.reverse();
    let text = |number: VersionNumber| match store.version_text(step, number) {
        Ok(text) => Ok(text),
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    versions
        .into_iter()
        .map(|version| {
            Ok((version.clone(), if texts && !version.deleted { text(version.number)? } else { Vec::new() }))
        })
        .collect()
}

/// The bytes of a step's file where they are not its text in UTF-8.
fn odd_bytes(file: &StepFile) -> Option<Vec<u8>> {
    let bytes = file.encoding.encode(&file.source).ok()?;
    (bytes != file.source.as_bytes()).then_some(bytes)
}

/// What each step reads and writes, by its text.
fn names(steps: &[Arc<StepFile>]) -> Vec<(StepId, StepNames)> {
    let options = analysis::Options::default();
    let analyzed = |file: &Arc<StepFile>| {
        let source = if file.kind == Kind::Shell { "" } else { &*file.source };
        (file.id.clone(), analysis::analyze(source, &options))
    };
    steps.iter().map(analyzed).collect()
}

fn edges(steps: &[Arc<StepFile>], names: &[(StepId, StepNames)]) -> Vec<Edge> {
    let borrowed: Vec<(StepId, &StepNames)> = names.iter().map(|(id, names)| (id.clone(), names)).collect();
    let mut edges = graph::infer_edges(&borrowed);
    for file in steps {
        for needed in &file.header.needs {
            let exists = steps.iter().any(|step| step.id == *needed);
            if exists && !edges.iter().any(|edge| edge.from == *needed && edge.to == file.id) {
                let kind = graph::EdgeKind::Declared;
                edges.push(Edge { from: needed.clone(), to: file.id.clone(), names: Vec::new(), kind });
            }
        }
    }
    edges.sort();
    edges
}

fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// A step's text without its `# /// step` block, and the block.
pub(super) fn split_header(text: &str) -> (String, &str) {
    let Some(start) = text.find("# /// step").filter(|at| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
    else {
        return (text.to_owned(), "");
    };
    let block = text.get(start..).unwrap_or_default();
    let mut length = 0;
    for (number, line) in block.split_inclusive('\n').enumerate() {
        if !line.starts_with('#') {
            return (text.to_owned(), "");
        }
        length += line.len();
        if number > 0 && line.trim_end() == "# ///" {
            let header = block.get(..length).unwrap_or_default();
            let before = text.get(..start).unwrap_or_default();
            let after = block.get(length..).unwrap_or_default();
            return (format!("{before}{after}"), header);
        }
    }
    (text.to_owned(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_taken_off_and_the_rest_stays() {
        let header = "# /// step\n# kind = \"test\"\n# ///\n";
        assert_eq!(split_header(&format!("{header}x = 1\n")), ("x = 1\n".to_owned(), header));
        assert_eq!(split_header(&format!("#!/x\n{header}x\n")), ("#!/x\nx\n".to_owned(), header));
        for text in ["x = 1\n", "# /// step\nx\n# ///\n", "# /// step\n# kind", "s = '# /// step'\n"] {
            assert_eq!(split_header(text), (text.to_owned(), ""), "{text}");
        }
    }
}
