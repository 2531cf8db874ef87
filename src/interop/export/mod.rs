//! A run as something that others read: a script, a notebook, a report, JSON, commits.
//!
//! # Architecture
//!
//! - [`Whole`]: all of a run that an export may need, read once from its directory and store.
//! - [`script`]: Python that runs without reweave; `ipython` translates what only a notebook understands.
//! - [`notebook`]: a Jupyter notebook with outputs; reading it back gives the same steps.
//! - [`report`]: one HTML file that needs nothing else and runs nothing.
//! - [`json`]: everything, versions and patches too; [`crate::interop::import`] gives the same run again.
//! - [`git`]: the run's history as commits, for `git fast-import`.
//!
//! All but reading the [`Whole`] is pure.

mod commits;
mod document;
mod html;
mod ipynb;
mod ipython;
mod python;
mod whole;

pub use commits::git;
pub use document::{VERSION, json};
pub use html::report;
pub use ipynb::notebook;
pub use python::script;
pub use whole::{ExportError, Part, Whole, WholeFile, WholePatch, WholeStep};
