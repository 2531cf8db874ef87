//! What a step says of itself in its `# /// step` block.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::StepId;

/// The header of a step: a TOML block in comments, in the manner of PEP 723. Everything is optional.
///
/// ```text
/// # /// step
/// # kind = "test"
/// # needs = ["01_load"]
/// # produces = ["model.json"]
/// # timeout = 30
/// # summary = "checks the fit"
/// # ///
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Header {
    /// What sort of step it is.
    pub kind: Kind,
    /// Steps that this one needs, beyond what its names say.
    pub needs: Vec<StepId>,
    /// Files that must be there after the step, relative to the run.
    pub produces: Vec<String>,
    /// The agent that wrote it.
    pub agent: Option<String>,
    /// The model that the agent used.
    pub model: Option<String>,
    /// The producer's id of the call.
    pub call: Option<String>,
    /// Effects that the step says it will have.
    pub allow: Vec<String>,
    /// The longest that it may take, in seconds.
    pub timeout: Option<f64>,
    /// One line for people.
    pub summary: Option<String>,
}

/// What sort of step a file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Python that runs in the shared namespace.
    #[default]
    Step,
    /// A step that checks others.
    Test,
    /// A step whose point is the files that it produces.
    Artifact,
    /// Not run: imported by steps.
    Module,
    /// A `*.sh` file: reads and writes by files only.
    Shell,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Step => "step",
            Self::Test => "test",
            Self::Artifact => "artifact",
            Self::Module => "module",
            Self::Shell => "shell",
        })
    }
}
