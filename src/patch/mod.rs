//! Patches: their formats, where they go, what of them is taken, and their life.
//!
//! # Architecture
//!
//! - [`read`] turns what an agent gave, in whatever format, into [`reading::Reading`]s.
//! - [`place`](mod@place) finds the only place of every hunk in a [`Tree`], and never guesses: [`place()`] gives a
//!   [`Placed`] with a [`Verdict`]. [`place_drifted`] carries a patch over from the text that it was made for,
//!   and [`place_with_history`] looks for that text among earlier ones.
//! - [`note`]: normalisations ([`Note`]), [`Problem`]s and [`Reason`]s, as data.
//! - [`lines`], [`diff`], [`merge`](mod@merge): texts as lines, what differs between two, and three-way merge.
//! - [`path`]: names to paths of the run; [`syntax`]: whether a text is Python.
//! - [`generate_patch`]: the patch that a rule proposes for a failure.
//! - [`intake`](mod@intake): what comes in, ready to be kept in the store.
//! - [`review`]: what a person looks at and chooses from.
//! - [`weaken`]: where a patch weakens what checks it.
//! - [`life`]: states, what a decision is pinned to ([`Pin`]), how a waiting patch [`follow`]s its files;
//!   [`revert`](mod@revert): taking an accepted one back.
//!
//! After placing, the format is forgotten: a patch is then what it changes, file by file
//! ([`crate::step::FileChange`]).

mod diff;
mod drift;
mod generate;
mod intake;
mod life;
mod lines;
mod merge;
mod note;
mod path;
mod place;
mod read;
mod reading;
mod revert;
pub mod review;
mod syntax;
mod tree;
mod weaken;

pub use drift::{place_drifted, place_with_history};
pub use generate::{generate_patch, proposal_of};
pub use intake::intake;
pub use life::{Act, Followed, NotNow, Pin, after, carried, follow, moved};
pub use merge::{Clash, Merged, merge};
pub use note::{Note, NoteKind, Problem, Reason};
pub use place::{HunkPlace, Level, Placed, Verdict, place};
pub use reading::{Claim, Format};
pub use revert::{Later, Obstacle, Reverted, revert};
pub use syntax::SyntaxProblem;
pub use tree::{DirectoryTree, Found, MemoryTree, Tree};
pub use weaken::{Weakened, Weakening, weakenings};

/// At most `most` characters of a line, for a message.
fn shorten(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
