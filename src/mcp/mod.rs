//! The workbench for agents, over MCP: the protocol that the official `rmcp` crate speaks, on standard input and output.
//!
//! # Architecture
//!
//! - [`serve`]: opens the run, or joins the workbench that has it open, and answers until the client goes away.
//! - `tools`: one entry a tool; names and descriptions are those of [`Verb`], arguments are JSON schemas.
//! - `answers`: what a tool gives, as JSON, cut to what fits an agent's context.
//!
//! What only a person decides ([`Reach::Decides`]) is no tool: a proposal waits for the person, and so does a question
//! of the policy.

mod answers;
mod server;
mod tools;

pub use server::serve;

#[cfg(doc)]
use crate::workbench::{Reach, Verb};
