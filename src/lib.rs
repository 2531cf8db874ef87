//! reweave: a workbench for agent runs.
//!
//! A *run* is a directory of Python steps that share one namespace. reweave knows what each step reads and
//! writes, marks what a change makes stale and why, runs only that, and gives exactly what an in-order
//! execution of everything would give.
//!
//! # Architecture
//!
//! The folders below are layers: each imports only from those above it, and the last three from none of
//! each other (`tests/layers.rs` holds this).
//!
//! | layer | what lives there |
//! |---|---|
//! | [`step`] | the words as types: ids, versions, provenance, headers, statuses, executions |
//! | [`run`] | the run on disk: finding and ordering steps, configuration, atomic writes, watching |
//! | [`analysis`] | Python source to the names it reads and writes; pure |
//! | [`graph`] | edges, ancestors, stale marks and replay plans; pure |
//! | [`store`] | SQLite: versions, executions, blobs, patches, events |
//! | [`engine`] | worker processes, checkpoints, observation, sound replay |
//! | [`feedback`] | a failed execution to a diagnosis |
//! | [`patch`] | patch formats, locating, hunks, the life of a proposal |
//! | [`agent`] | context for a step, agent commands, the repair loop |
//! | [`interop`] | import and export of notebooks, trajectories and traces |
//! | [`workbench`] | the one owner of a run: takes commands, sends events |
//! | [`ui`] | the terminal |
//! | [`cli`] | the command line |
//! | [`mcp`] | the same for agents |

pub mod agent;
pub mod analysis;
pub mod cli;
pub mod engine;
pub mod feedback;
pub mod graph;
pub mod interop;
pub mod mcp;
pub mod patch;
pub mod run;
pub mod step;
pub mod store;
pub mod ui;
pub mod workbench;
