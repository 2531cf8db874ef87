//! A variable, told to people and programs: never the live object.

use serde::{Deserialize, Serialize};

use super::StepId;

/// A variable as of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Bare name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its `repr`, whole up to 64 KiB; hostile.
    pub repr: String,
    /// Whether the `repr` was cut.
    pub truncated: bool,
    /// Digest of its component, where one was made.
    pub digest: Option<String>,
    /// The last step that bound or changed it.
    pub written_by: Option<StepId>,
    /// Shape, length or the like, in words: `3×4 float64`, `len 5`.
    pub shape: Option<String>,
}
