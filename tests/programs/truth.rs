//! What plain CPython makes of the steps.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;

/// What a person can see of a run.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Seen {
    /// Output and error of each step, in the words of the harness.
    pub results: BTreeMap<String, String>,
    /// Every variable after each step, as text; those whose text tells nothing are left out.
    pub states: BTreeMap<String, BTreeMap<String, String>>,
    /// Names that are left out of `states`.
    pub hidden: BTreeSet<String>,
    /// What each step used, and what that was.
    pub used: BTreeMap<String, BTreeMap<String, String>>,
}

/// Runs programs plainly.
pub struct Truth;

impl Truth {
    pub fn new() -> Self {
        Self
    }

    /// Everything in order in one fresh namespace and directory.
    pub fn of(&self, steps: &[(String, String)]) -> Seen {
        let dir = tempfile::tempdir().unwrap();
        let asked = serde_json::to_string(steps).unwrap();
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/truth.py");
        let done =
            Command::new("python3").arg(script).arg(dir.path()).arg(asked).env("PYTHONHASHSEED", "0").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }
}
