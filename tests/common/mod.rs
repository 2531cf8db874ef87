//! What tests of the whole program share.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "a test says what it expects by failing; not every test uses all"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A run in a directory of its own, and the program to drive it with.
pub struct Run {
    dir: TempDir,
}

/// What one call of the program answered.
pub struct Answer {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// An empty directory.
    pub fn empty() -> Self {
        Self { dir: tempfile::Builder::new().prefix("reweave-test-").tempdir().unwrap() }
    }

    /// A directory with these steps, by path.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let run = Self::empty();
        files.iter().for_each(|(path, text)| run.write(path, text));
        run
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.file(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap()
    }

    /// Where the user's own settings are looked for: not the machine's.
    pub fn settings(&self) -> PathBuf {
        self.file(".home/config")
    }

    /// Has these be the user's own settings.
    pub fn set_up(&self, config: &str) {
        self.write(".home/config/reweave/config.toml", config);
    }

    /// Calls `reweave VERB . REST`, in the run's directory.
    pub fn call(&self, verb: &str, rest: &[&str]) -> Answer {
        self.call_with(verb, rest, "")
    }

    /// The same with something on standard input.
    pub fn call_with(&self, verb: &str, rest: &[&str], input: &str) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        command.arg(verb).arg(".").args(rest).current_dir(self.path()).env("XDG_CONFIG_HOME", self.settings());
        answer(command, input)
    }

    /// The JSON document of `reweave VERB . REST --json`.
    pub fn json(&self, verb: &str, rest: &[&str]) -> Value {
        let mut rest = rest.to_vec();
        rest.push("--json");
        let answer = self.call(verb, &rest);
        let last = answer.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {:?} {}", answer.stdout, answer.stderr))
    }
}

/// Runs a command to its end.
pub fn answer(mut command: Command, input: &str) -> Answer {
    use std::io::Write;
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("VIRTUAL_ENV").env("TZ", "UTC");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads nothing may be gone by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Answer {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl std::fmt::Display for Answer {
    /// Standard output, then standard error, then the exit status where it is not 0; times are told as `TIME`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.stdout)?;
        f.write_str(&self.stderr)?;
        match self.status {
            Some(0) => Ok(()),
            status => write!(f, "[exit {status:?}]"),
        }
    }
}

/// Filters that take what differs from call to call out of a snapshot.
pub fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?", "[moment]"),
        // A time of two digits is padded by one blank more than those of three and of one with its fraction.
        (r"  \b\d\d ms\b", " [time]"),
        (r"\b\d+(\.\d+)? (ms|s)\b", "[time]"),
        (r#""(duration_ms|estimate_ms)":\d+(\.\d+)?"#, r#""$1":0"#),
        (r#""at":\d{9,}"#, r#""at":0"#),
        (r"\b[0-9a-f]{64}\b", "[digest]"),
        (r"/[^\s:]*/reweave-test-\w+", "[dir]"),
        // What a system does not enforce is told where it does not.
        (r"(?m)^not enforced here: .*\n?", ""),
        (r#","unguarded":\[[^\]]*\]"#, ""),
    ]
}

/// Compares an answer with what stands beside it, what differs from call to call taken out.
#[macro_export]
macro_rules! assert_answer {
    ($answer:expr, @$expected:literal) => {
        insta::with_settings!({ filters => $crate::common::filters() }, {
            insta::assert_snapshot!($answer.to_string(), @$expected);
        });
    };
}
