//! The run on disk: finding and ordering steps, headers, configuration, atomic writes, watching.
//!
//! # Architecture
//!
//! - [`RunDir`]: a directory that is a run. [`RunDir::scan`] gives a [`Scan`]: every [`StepFile`] in the order of the
//!   run, every [`Frame`], and a [`Problem`] for each thing that can't be used, which loses nothing else.
//! - [`Tree`]: the same in memory, brought up to date path by path; what the watcher keeps.
//! - [`Exclude`]: what is left out. [`Encoding`]: a step's bytes to its text and back.
//! - [`parse_header`]: the `# /// step` block, with the line of every mistake.
//! - [`Watcher`]: keeps a tree in step with the disk on its own thread and reports each [`Change`].
//! - [`Files`]: changes files so that each is whole at any moment; [`Faults`] makes that fail in tests.
//! - [`Config`]: every setting, typed, with its origin; what a run's own file may not do alone waits for [`Trust`].
//! - [`choose_interpreter`]: which Python runs the steps. [`UserDirs`]: the user's own directories.
//! - [`RunError`]: why a directory is no run, with a hint.

mod change;
mod config;
mod dir;
mod exclude;
mod faults;
mod header;
mod home;
mod interpreter;
pub(crate) mod mode;
mod problem;
mod quiet;
mod read;
mod read_step;
mod source;
mod stamp;
mod step_file;
mod toml_text;
mod tree;
mod trust;
mod units;
mod watch;
mod write;

pub use change::{Change, WatchMode};
pub(crate) use config::normal;
pub use config::{
    AgentSettings, Area, Config, ConfigProblem, Decision, KEYS, Key, Layer, Limits, Opening, Origin, Policy, Preset,
    RawTable, Rule, RunSettings, Setting, Severity, Sources, UiSettings, Value, VerifySettings, Waiting,
};
pub use dir::{Proposal, RunDir};
pub use exclude::Exclude;
pub use faults::Faults;
pub use header::{HeaderProblem, ParsedHeader, parse_header};
pub use home::UserDirs;
pub use interpreter::{Interpreter, InterpreterError, InterpreterOrigin, PassedOver, choose_interpreter};
pub use problem::{Gravity, Problem, ProblemKind, RunError, show};
pub use read_step::STEP_LIMIT;
pub use source::{Encoding, NotEncodable, NotText, decode_python, decode_shell};
pub use stamp::Stamp;
pub use step_file::{Frame, Scan, StepFile};
pub use tree::Tree;
pub use trust::{Approval, Claim, Subject, Trust, signing_key};
pub use units::{Size, bytes_text, duration_text, parse_duration, parse_size};
pub use watch::Watcher;
pub use write::{Expect, Files, WriteError};

/// The run's own directory for its store.
pub const STORE_DIR: &str = ".reweave";
/// The run's inbox for proposals.
pub const PATCHES: &str = "patches";
/// The run's own configuration.
pub const CONFIG_FILE: &str = "reweave.toml";
