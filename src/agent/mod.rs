//! Agents at the other end: what they are shown of a run.
//!
//! # Architecture
//!
//! - [`context`]: from a step's place in the graph to the few texts that matter for it. [`Surroundings`] is what it is
//!   given, [`ContextView`] what it makes. Pure.
//! - `draft`: a part of a context in several lengths, and the rules by which a context is brought within a budget.
//! - `telling`: a step in one line, the outline of a text, the middle cut out of one.
//! - [`TokenCount`]: what texts cost, by a real vocabulary.

mod context;
mod draft;
mod telling;
mod tokens;

pub use context::{Seen, Surroundings, context};
pub use draft::{ContextPart, ContextView};
pub use tokens::{TokenCount, VOCABULARY};
