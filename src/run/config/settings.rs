//! The settings as types, table by table.

use std::time::Duration;

use crate::run::exclude::Exclude;
use crate::run::units::Size;
use crate::step::StepId;

/// What steps may use. `None` is no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The longest that a step may take.
    pub timeout: Option<Duration>,
    /// Memory of all the steps' processes; a share is of what is free.
    pub memory: Option<Size>,
    /// Bytes of output kept of a step.
    pub output: Option<Size>,
    /// Processes and threads at once.
    pub processes: u64,
    /// Files that a process may have open.
    pub open_files: u64,
    /// The largest file that a step may write; a share is of what is free on the disk.
    pub file_size: Option<Size>,
}

/// `[run]`.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// What is no step and holds none.
    pub exclude: Exclude,
    /// Once it runs, only accepted patches change steps.
    pub locked: bool,
}

/// `[verify]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifySettings {
    /// Steps that must pass in a trial.
    pub steps: Vec<StepId>,
    /// A program and its arguments that must pass; no shell is in between.
    pub command: Vec<String>,
    /// Whether what `agent.reviewer` rejects does not pass.
    pub reviewer: bool,
}

/// `[agent]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// The program that is asked, and its arguments; no shell is in between.
    pub command: Vec<String>,
    /// A second program that judges, and its arguments.
    pub reviewer: Vec<String>,
    /// The longest that one answer may take.
    pub timeout: Option<Duration>,
    /// The longest that a trial of an answer may take.
    pub trial: Option<Duration>,
    /// The most tries of one repair.
    pub tries: u32,
    /// Answers asked for at once.
    pub candidates: u32,
    /// Tokens of context.
    pub budget: u64,
}

/// `[ui]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UiSettings {
    /// A theme's name, or `auto`.
    pub theme: String,
    /// Draw with ASCII only.
    pub ascii: bool,
    /// Take the mouse.
    pub mouse: bool,
    /// Wrap long lines.
    pub wrap: bool,
    /// How figures are drawn: `auto`, `kitty`, `iterm2`, `sixel`, `blocks` or `off`.
    pub images: String,
    /// Run what a saved file makes stale at once.
    pub replay_on_save: bool,
    /// The editor, where it is not the environment's.
    pub editor: Option<String>,
}
