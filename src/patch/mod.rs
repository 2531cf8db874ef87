//! Patches: their formats, where they go, what of them is taken, and their life.
//!
//! # Architecture
//!
//! - [`read`] turns what an agent gave, in whatever format, into [`reading::Reading`]s.
//! - [`place`](mod@place) finds the only place of every hunk in a [`Tree`], and never guesses: [`place()`] gives a
//!   [`Placed`] with a [`Verdict`].
//! - [`note`]: normalisations ([`Note`]), [`Problem`]s and [`Reason`]s, as data.
//! - [`lines`], [`diff`]: texts as lines, and what differs between two.
//! - [`path`]: names to paths of the run; [`syntax`]: whether a text is Python.
//!
//! After placing, the format is forgotten: a patch is then what it changes, file by file
//! ([`crate::step::FileChange`]).

mod diff;
mod lines;
mod merge;
mod note;
mod path;
mod place;
mod read;
mod reading;
pub mod review;
mod syntax;
mod tree;

pub use merge::{Clash, Merged, merge};
pub use note::{Note, NoteKind, Problem, Reason};
pub use place::{HunkPlace, Level, Placed, Verdict, place};
pub use reading::{Claim, Format};
pub use syntax::SyntaxProblem;
pub use tree::{DirectoryTree, Found, MemoryTree, Tree};

/// At most `most` characters of a line, for a message.
fn shorten(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
