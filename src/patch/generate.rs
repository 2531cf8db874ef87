//! A patch from a diagnosis: what a rule may propose.

use super::intake::intake;
use super::{Tree, place};
use crate::feedback::{Diagnosis, Suggestion};
use crate::step::{Author, Millis, Provenance};
use crate::store::Proposal;

/// The patch that follows from a diagnosis, ready to be kept: the first of its suggestions of which the rule is certain
/// enough. `None` where none is. It is placed in `tree`, the texts of the run, and waits for a person as any other.
///
/// The crate's page has an example.
pub fn generate_patch(diagnosis: &Diagnosis, tree: &dyn Tree, at: Millis) -> Option<Proposal> {
    let suggestion = diagnosis.suggestions.iter().find(|suggestion| suggestion.safe)?;
    let (text, from) = proposal_of(suggestion, at);
    Some(intake(text.as_bytes(), &place(&text, tree, None), from))
}

/// A suggestion as the text of a patch, and who proposes it.
pub fn proposal_of(suggestion: &Suggestion, at: Millis) -> (String, Provenance) {
    let title = suggestion.title.replace('\n', " ");
    (format!("Subject: {title}\n\n{}", suggestion.patch), Provenance::new(Author::Rule(suggestion.rule.word()), at))
}
