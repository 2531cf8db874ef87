//! What plain CPython makes of the steps.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

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

/// Runs programs plainly: an interpreter that has run nothing, and forks for every program.
pub struct Truth {
    child: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Truth {
    pub fn new() -> Self {
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/truth.py");
        let mut child = Command::new("python3")
            .arg(script)
            .env("PYTHONHASHSEED", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let asks = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, asks, answers }
    }

    /// Everything in order in one fresh namespace and directory; `None` for what needs too much to be compared.
    pub fn of(&mut self, steps: &[(String, String)]) -> Option<Seen> {
        let dir = tempfile::tempdir().unwrap();
        let asked = serde_json::to_string(&(dir.path(), steps)).unwrap();
        writeln!(self.asks.as_mut().unwrap(), "{asked}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Truth {
    fn drop(&mut self) {
        self.asks = None;
        self.child.wait().unwrap();
    }
}
