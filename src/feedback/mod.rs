//! A failed execution to a diagnosis: cause, root step, what to do.
//!
//! # Architecture
//!
//! - [`Failure`]: what is known when a step has failed; [`World`]: what else may be asked. Both are handed in, so that
//!   nothing here touches a file or a process.
//! - [`diagnose`]: the way from one to the other; `case.rs` picks the error and the frame that are to be explained.
//! - `rules/`: one file for each family of failures. Each gives a `Finding`, from the exception's own data, the texts
//!   and the recorded reads and writes; never from a printed traceback.
//! - `trace`: from a bad value back to the step that made it. `near`: which of several names is meant. `code`: what
//!   is asked of a step's tree. `edit`: texts with small changes. `known`: names that the world knows.
//!
//! A rule proposes only what follows from what it saw. None swallows an error, changes a check or a test, raises a
//! limit, or installs anything; where several repairs are likely, each is named and none is called safe.

mod case;
mod code;
mod diagnosis;
mod edit;
mod failure;
mod known;
mod near;
mod repeat;
mod rules;
mod trace;

pub use diagnosis::{Cause, Diagnosis, Fact, Place, Repeats, Rule, Suggestion};
pub use failure::{Earlier, Failure, Nowhere, StepText, World};
pub use repeat::fingerprint;

use case::Case;

/// Explains a failure.
pub fn diagnose(failure: &Failure<'_>) -> Diagnosis {
    let case = Case::new(failure);
    let finding = match &case {
        Some(case) => rules::find(case),
        None => rules::outside(failure),
    };
    let mut suggestions = finding.suggestions;
    suggestions.sort_by_key(|suggestion| !suggestion.safe);
    let root_step = finding.root.or_else(|| Some(failure.step.clone()));
    let repeats = repeat::repeats(failure, root_step.as_ref());
    let mut explanation = finding.text;
    if let Some(case) = &case
        && let Some(wrapper) = case.wrapper
    {
        let message = case::first_line(&wrapper.message);
        explanation.push_str(&format!(" It was turned into {}: {message}.", wrapper.type_name));
    }
    if let Some(repeats) = repeats {
        explanation.push(' ');
        explanation.push_str(&repeats.to_string());
    }
    Diagnosis {
        step: failure.step.clone(),
        error: case::title(failure.error),
        cause: finding.cause,
        place: case.as_ref().and_then(Case::place),
        root_step,
        explanation,
        facts: finding.facts,
        suggestions,
        repeats,
    }
}
