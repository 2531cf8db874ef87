//! Worker processes, checkpoints, carrying, limits, effects, and the replay that uses them.
//!
//! # Architecture
//!
//! - [`Engine`]: owns the interpreter processes of one run. [`Engine::update`] brings a list of [`Task`]s
//!   up to date and tells what happens as [`Report`]s; [`Engine::state`] answers what stood after a step.
//! - [`Executor`]: the same for a library's use: texts in, executions out.
//! - [`Settings`]: what is fixed while an engine lives: directory, interpreter, seed, limits.
//! - [`Aside`]: a second engine from [`Engine::aside`] that can't touch the run: for trials and for checking.
//! - [`Verification`]: everything run from nothing on the side, compared with what is held.
//! - [`Answers`]: where the answer to a step's question is put.
//! - [`Calls`]: who answers the calls that steps make once, and keeps the answers.
//! - [`Vault`]: where it keeps values and file contents between runs.
//! - [`InterpreterParser`]: a one-off process that judges sources and runs none of them.
//!
//! - [`Asker`]: whoever answers where the policy asks; the step waits.
//!
//! Inside: `state` is the run at a place in the order by digests alone, and decides what is fresh; `line` is a
//! process and what it holds; `walk` goes through the steps, `pass` is how far it came, `decide` whether a step may be
//! kept, `packages` whether the
//! interpreter is still the same, `blocking` whether one that failed keeps it from running; `stand` has a process ready in the state that the
//! next step needs (`root` where all begin), `look` asks one what it holds; `execute` runs one; `disk` is the
//! files that steps see; `process` is a worker, `start` how the first comes about, `attend` waits for one that runs a
//! step, `protocol` is what is said and `stream` how it comes; the workers' own code is in `worker/`; `wall` is what
//! they are kept behind, `warden` decides on the calls that it holds back (`notify` has them from the kernel; `change`
//! is about those that would change files, `network` about those that lead outside), `guard` knows the run's own files and puts them back where need be, and `brood` knows every process that came of a run.

mod answers;
mod aside;
mod attend;
mod blocking;
mod brood;
mod calls;
#[cfg(target_os = "linux")]
mod change;
mod contents;
mod decide;
mod disk;
mod execute;
mod executor;
mod guard;
#[cfg(target_os = "linux")]
mod inotify;
mod leave;
mod line;
mod look;
#[cfg(target_os = "linux")]
mod network;
#[cfg(not(target_os = "linux"))]
mod no_inotify;
#[cfg(target_os = "linux")]
mod notify;
mod opens;
mod output;
mod packages;
mod parser;
mod pass;
mod process;
mod protocol;
mod refusal;
mod root;
mod stand;
mod start;
mod state;
mod stream;
mod surroundings;
mod task;
mod vault;
mod verify;
mod walk;
mod wall;
#[cfg(target_os = "linux")]
mod warden;
#[cfg(not(target_os = "linux"))]
#[path = "no_warden.rs"]
mod warden;

pub use answers::Answers;
pub use aside::{Aside, Isolation};
pub use calls::{Call, Calls, MemoryCalls};
pub use contents::Contents;
pub use disk::Origins;
pub use executor::{Executed, Executor};
pub use leave::{Asker, Leave, Leaves, Wish};
pub use packages::replaced_package;
pub use parser::InterpreterParser;
pub use start::rules;
pub use surroundings::Surroundings;
pub use task::{Action, EngineError, Goal, Halt, Memory, OnError, Planned, Report, Settings, StopHandle, Task};
pub use vault::{MemoryVault, Vault};
pub use verify::{Difference, Verification, Verified};
pub use walk::Engine;
