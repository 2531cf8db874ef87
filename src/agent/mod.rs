//! Agents at the other end: what they are shown of a run, how they are asked, and how often.
//!
//! # Architecture
//!
//! - [`context`]: from a step's place in the graph to the few texts that matter for it. [`Surroundings`] is what it is
//!   given, [`ContextView`] what it makes. Pure.
//! - `draft`: a part of a context in several lengths, and the rules by which a context is brought within a budget.
//! - `telling`: a step in one line, the outline of a text, the middle cut out of one.
//! - [`AgentCommand`]: a program that is asked: question in, answer out, within bounds.
//! - [`repair`](repair()): the bounded loop of asking and trying, over a [`Ground`] that does what it says.
//! - [`Told`]: an answer, taken apart.
//! - [`TokenCount`]: what texts cost, by a real vocabulary.

mod ask;
mod context;
mod draft;
mod repair;
mod telling;
mod tokens;
mod told;

pub use ask::{AgentCommand, Answer, NoAnswer, words};
pub use context::{Seen, Surroundings, context};
pub use draft::{ContextPart, ContextView};
pub use repair::{Bounds, Ending, Ground, Repair, Taken, Trial, Turn, Verdict, repair};
pub use tokens::{TokenCount, VOCABULARY};
pub use told::Told;
