//! Questions over time: what stood at a moment, what depends on what, who wrote what, and what happened.
//!
//! # Architecture
//!
//! - [`Moment`]: when; every question about the past takes one.
//! - [`Standing`]: the code and the values that stood at a moment ([`crate::store::Reader::at`]).
//! - [`Affected`], [`Needed`]: what depends on a step, and what a step depends on, by recorded reads.
//! - [`Touch`]: an execution that wrote or read a name.
//! - [`Did`]: an effect of an execution, found by kind and target ([`EffectFilter`]).
//! - [`Difference`], [`ExecutionDifference`]: two moments, two runs, two executions set side by side.
//! - [`Artifact`]: a file that steps write, with versions of its own ([`ArtifactVersion`]).
//! - [`Credit`]: what became of what an agent or a model proposed.
//! - [`Entry`], [`Happening`], [`LogFilter`]: the story, newest first.
//!
//! All of them work on what executions were seen to read and write, never on what the sources seem to say: the
//! graph has that. A namespace is names with digests here, never live values.

mod artifacts;
mod credit;
mod cut;
mod depends;
mod diff;
mod effects;
mod log;
mod moment;
mod pair;
mod standing;
mod touch;

pub(crate) use cut::CutStep;
pub(crate) use pair::content_digest;

pub use artifacts::{Artifact, ArtifactVersion, MadeCode};
pub use credit::Credit;
pub use depends::{Affected, Needed};
pub use diff::{Difference, EdgeDifference, StepAt, StepDifference, ValueDifference};
pub use effects::{Did, EffectFilter};
pub use log::{Entry, Happening, LogFilter};
pub use moment::{InvalidMoment, Moment};
pub use pair::ExecutionDifference;
pub use standing::{Standing, StandingStep, StandingValue};
pub use touch::Touch;
