//! Repairs that go round in a circle.

use std::collections::BTreeSet;
use std::fmt;

use super::diagnosis::Repeats;
use super::failure::Failure;
use crate::step::{Digest, StepError, StepId};

/// What makes two failures the same: the types and messages of the error and of what it was raised from, without
/// addresses, and the functions that it came through. Lines may move and texts may change.
pub fn fingerprint(error: &StepError) -> Digest {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        parts.push(error.type_name.clone());
        parts.push(without_addresses(&error.message));
        let mut functions = error.stack.iter().filter(|line| line.step.is_some()).map(|line| line.function.as_str());
        parts.push(functions.next_back().unwrap_or_default().to_owned());
        next = error.context.as_deref();
    }
    Digest::of_parts(parts.iter().map(String::as_bytes).collect::<Vec<_>>())
}

/// `0x7f…` differs from run to run.
fn without_addresses(text: &str) -> String {
    let mut pieces = text.split("0x");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str("0x");
        plain.push_str(piece.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    plain
}

/// How often the texts of the step, or of the root step, were changed without getting rid of the failure.
pub(super) fn repeats(failure: &Failure<'_>, root: Option<&StepId>) -> Option<Repeats> {
    let now = fingerprint(failure.error);
    let same: Vec<_> = failure.earlier.iter().take_while(|earlier| earlier.fingerprint == now).collect();
    let text = failure.step_text(failure.step).map(|step| step.digest);
    let mut tried = BTreeSet::new();
    tried.extend(same.iter().map(|earlier| (failure.step, earlier.text)).filter(|(_, old)| Some(*old) != text));
    if let (Some(first), Some(root)) = (same.last(), root)
        && root != failure.step
    {
        // The text that stood when it failed first counts as tried, and so do those that replaced it, but the present.
        let texts = failure.world.texts(root);
        let later = texts.iter().take_while(|(at, _)| *at > first.at).count();
        tried.extend(texts.get(1..=later).unwrap_or_default().iter().map(|(_, old)| (root, *old)));
    }
    let came_back = text.is_some_and(|text| {
        let mut others = failure.earlier.iter().skip_while(|earlier| earlier.text == text);
        others.next().is_some() && others.any(|earlier| earlier.text == text)
    });
    (!tried.is_empty() || came_back).then_some(Repeats { same_failure: tried.len(), same_text: came_back })
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if (self.same_failure, self.same_text) == (1, false) {
            return f.write_str("The text was changed and it fails in the same way: look at what it is given before this becomes a loop.");
        }
        f.write_str("This is a loop:")?;
        match self.same_failure {
            0 => {}
            1 => f.write_str(" the text was changed and it fails in the same way")?,
            times => write!(f, " the text was changed {times} times and it still fails in the same way")?,
        }
        if self.same_text {
            f.write_str(if self.same_failure > 0 { "; and" } else { "" })?;
            f.write_str(" this very text has failed before")?;
        }
        f.write_str(". Another change of the same kind will not help; look at what it is given.")
    }
}
