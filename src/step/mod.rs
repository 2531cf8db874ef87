//! The words of a run as types. Nothing here touches a file, a process or a screen.
//!
//! # Architecture
//!
//! - [`StepId`]: which step; ids sort in the order in which the run executes.
//! - [`Digest`]: a BLAKE3 hash of a text, a value or a file.
//! - [`Version`], [`Provenance`]: an immutable text of a step and where it came from.
//! - [`Header`]: the `# /// step` block of a step's file.
//! - [`Status`], [`Reason`], [`OnError`]: how a step stands and why, and what follows from a failure.
//! - [`Pairs`]: a map that is kept for every step, as a list.
//! - [`Execution`], [`Observation`], [`Output`], [`StepError`]: one run of one version and what was seen.
//! - [`Variable`], [`Inside`]: a value as it is told to people, and what is inside it.
//! - [`Question`], [`Answer`]: what a running step waits with, and what is said to it.
//! - [`Patch`], [`PatchState`]: a proposed change and its life.
//! - [`plain`], [`plain_line`]: hostile text made fit for a terminal.

mod digest;
mod effect;
mod execution;
mod header;
mod id;
mod inside;
mod pairs;
mod patch;
mod plain;
mod question;
mod status;
mod variable;
mod version;

pub use digest::Digest;
pub use effect::unannounced;
pub use execution::{
    CallFrame, CallRound, Chunk, Display, Effect, Execution, ExecutionId, FileContent, FileWrite, Observation, Outcome,
    Output, Package, Saw, Seen, StackLine, StepError, Stream, Written,
};
pub use header::{Header, Kind};
pub use id::{InvalidStepId, Name, StepId};
pub use inside::{Column, Inside, Part, Table};
pub use pairs::Pairs;
pub use patch::{FileChange, Patch, PatchId, PatchState};
pub use plain::{plain, plain_line};
pub use question::{Answer, Answered, Question, QuestionId, Wants};
pub use status::{OnError, Reason, Status};
pub use variable::Variable;
pub use version::{Author, Millis, Provenance, Tokens, Version, VersionNumber};
