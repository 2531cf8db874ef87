//! Where a value comes from, what waits for an approval, and what is wrong.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::key::Value;
use crate::run::CONFIG_FILE;
use crate::run::problem::show;
use crate::step::plain_line;

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// What.
    pub value: Value,
    /// From where.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// Nobody says otherwise.
    Default,
    /// The user's `config.toml`.
    User {
        /// The file.
        file: PathBuf,
        /// 1-based.
        line: usize,
    },
    /// The run's `reweave.toml`.
    Run {
        /// 1-based.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { file, line } => write!(f, "{}:{line}", show(file)),
            Self::Run { line } => write!(f, "{}:{line}", CONFIG_FILE),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag => f.write_str("a flag"),
        }
    }
}

/// Something that the run's file asks for and does not get without an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waiting {
    /// The setting: a key's name, or `policy`.
    pub name: String,
    /// What it asks for, as people read it.
    pub asks: String,
    /// 1-based line in the run's file.
    pub line: usize,
}

/// How grave a problem of the settings is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something has no effect.
    Warning,
    /// A value is not one; the default, or for a policy the strictest, stands in.
    Error,
}

/// Something wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// How grave.
    pub severity: Severity,
    /// Which file; `None` for the environment and flags.
    pub file: Option<PathBuf>,
    /// 1-based.
    pub line: Option<usize>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", show(file))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&plain_line(&self.message))
    }
}
