//! The files that steps write, as people and programs read of them.

use std::path::{Component, Path};

use serde_json::{Value, json};

use crate::step::{Digest, StepId, plain_line};
use crate::store::query::Artifact;
use crate::store::{LARGEST_BLOB, Reader, StoreError};

/// A file that a step wrote: which step in which version, who reads it, and whether it is as it was left.
pub(super) struct File {
    pub(super) artifact: Artifact,
    state: &'static str,
    versions: usize,
}

/// All of them, by path. `dir` is the run's directory.
pub(super) fn all(store: &Reader, dir: &Path) -> Result<Vec<File>, StoreError> {
    let file = |artifact: Artifact| {
        let versions = store.artifact_versions(&artifact.path)?.len();
        Ok(File { state: state_of(&artifact, dir), versions, artifact })
    };
    store.artifacts()?.into_iter().map(file).collect()
}

impl File {
    /// Whether a step writes it, or reads it.
    pub(super) fn concerns(&self, step: &StepId) -> bool {
        self.artifact.step == *step || self.artifact.readers.contains(step)
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        let Artifact { path, content, step, version, execution, readers } = &self.artifact;
        json!({
            "path": path,
            "state": self.state,
            "digest": content,
            "written_by": step,
            "version": version,
            "execution": execution,
            "readers": readers,
            "versions": self.versions,
        })
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        let Artifact { path, step, version, readers, .. } = &self.artifact;
        let read = match readers.is_empty() {
            true => "read by no step".to_owned(),
            false => format!("read by {}", readers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        };
        let (state, versions) = (self.state, self.versions);
        plain_line(&format!("{path}  {state}; written by {step} {version}; {read}; versions: {versions}")).into_owned()
    }
}

/// Whether a file is as the last step left it that writes it.
fn state_of(artifact: &Artifact, dir: &Path) -> &'static str {
    let path = Path::new(&artifact.path);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return "outside the run";
    }
    let path = dir.join(path);
    let Ok(found) = std::fs::symlink_metadata(&path) else {
        return if artifact.content.is_none() { "removed" } else { "gone" };
    };
    let Some(content) = artifact.content else { return "not kept" };
    let there = (found.is_file() && found.len() <= LARGEST_BLOB as u64).then(|| std::fs::read(&path).ok()).flatten();
    match there {
        Some(bytes) if Digest::of(&bytes) == content => "as it was left",
        _ => "changed outside",
    }
}
