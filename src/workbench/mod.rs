//! The one owner of a run: takes commands, sends events.
//!
//! # Architecture
//!
//! - [`Command`]: everything that can be asked of a run. The terminal, the command line and the MCP server
//!   are three faces of it.
//! - [`VERBS`]: the words for them, and how far each reaches.
//! - [`Handle`]: what a face holds to send commands; [`Talk`] asks and waits.
//! - [`Event`]: what is told to whoever listens; `answer.rs` holds what larger answers are made of; [`Snapshot`] is the run as a list to draw.

mod answer;
mod asking;
mod besides;
mod book;
mod calling;
mod calls;
mod code;
mod command;
mod contexts;
mod covering;
mod decide;
mod desk;
mod diagnosing;
mod engine_room;
mod event;
mod evolving;
mod face;
mod files;
mod guest;
mod handle;
mod hands;
mod hearing;
mod job;
mod marks;
mod moment;
mod open;
mod past;
mod questions;
mod record;
#[cfg(unix)]
mod remote;
mod repairing;
mod reviewing;
mod rows;
mod setup;
mod shared;
mod shelf;
mod snapshot;
mod talk;
mod trial;
mod update;
mod vault;
mod verb;
mod verifying;

pub use crate::agent::{ContextPart, ContextView, Ending, Repair, Turn, Verdict};
pub use crate::engine::Halt;
pub use crate::step::{Column, Inside, Part, Table};
pub use answer::{Fault, GateView, Happening, PastStep, PastView, StoryRow, TrialStep, TrialView, ValueChange, Weight};
pub use besides::{Beside, BesideStep, Pairing, pairing};
pub use calling::{CallView, RoundView};
pub use command::{Command, Request, Ticket};
pub use covering::{Covered, Covering};
pub use event::{Event, Failure, Level, PlanAction, PlanRow, StepResult, Summary};
pub use evolving::EvolveWish;
pub use handle::Handle;
pub use open::{Options, open};
pub use repairing::RepairWish;
pub use snapshot::{Edge, EdgeKind, EngineView, FileProblem, PatchRow, Snapshot, StepRow, WatchView};
pub use talk::Talk;
pub use verb::{Reach, VERBS, Verb};
