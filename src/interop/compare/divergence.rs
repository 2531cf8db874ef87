//! Where a replay leaves its recording, and which step made it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Comparison, Verdict};
use crate::step::StepId;

/// Where a replay first leaves its recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The first step, in the order of the run, that differs and says so.
    pub step: StepId,
    /// The steps that it follows from: the earliest among those that it needs, directly or not, that differ or
    /// consult what no replay can give again. Itself, where none does.
    pub caused_by: Vec<StepId>,
    /// How many steps differ in all.
    pub steps: usize,
}

/// The first divergence of a run. `needs` gives the steps that a step needs.
///
/// A step that differs only because of what an earlier one made is not where a person should look: that is why
/// the causes are told.
pub fn first_divergence(comparisons: &[Comparison], needs: impl Fn(&StepId) -> Vec<StepId>) -> Option<Divergence> {
    let verdicts: BTreeMap<&StepId, Verdict> = comparisons.iter().map(|c| (&c.step, c.verdict)).collect();
    let differs = |step: &StepId| matches!(verdicts.get(step), Some(Verdict::Different | Verdict::Nondeterministic));
    // What only chance made different is shown, and is no divergence by itself.
    let (step, _) = verdicts.iter().find(|(_, verdict)| **verdict == Verdict::Different)?;
    let mut seen = BTreeSet::new();
    let mut waiting = needs(step);
    let mut differing = BTreeSet::new();
    while let Some(needed) = waiting.pop() {
        if seen.insert(needed.clone()) {
            if differs(&needed) {
                differing.insert(needed.clone());
            }
            waiting.extend(needs(&needed));
        }
    }
    // Of those that differ, the ones that need no other that does.
    let mut caused_by: Vec<StepId> = differing
        .iter()
        .filter(|candidate| {
            let mut seen = BTreeSet::new();
            let mut waiting = needs(candidate);
            while let Some(needed) = waiting.pop() {
                if differing.contains(&needed) && needed != **candidate {
                    return false;
                }
                if seen.insert(needed.clone()) {
                    waiting.extend(needs(&needed));
                }
            }
            true
        })
        .cloned()
        .collect();
    if caused_by.is_empty() {
        caused_by.push((*step).clone());
    }
    let steps = verdicts.values().filter(|verdict| **verdict == Verdict::Different).count();
    Some(Divergence { step: (*step).clone(), caused_by, steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> StepId {
        text.parse().unwrap()
    }

    fn comparison(step: &str, verdict: Verdict) -> Comparison {
        Comparison { step: id(step), verdict, differences: Vec::new(), ignored: BTreeMap::new() }
    }

    #[test]
    fn the_cause_is_the_earliest_step_that_differs_among_what_is_needed() {
        use Verdict::*;
        let comparisons = [
            comparison("1", Nondeterministic),
            comparison("2", Alike),
            comparison("3", Different),
            comparison("4", Different),
            comparison("5", Same),
        ];
        let needs = |step: &StepId| match step.as_str() {
            "3" => vec![id("2")],
            "2" => vec![id("1")],
            "4" => vec![id("3")],
            _ => Vec::new(),
        };
        let found = first_divergence(&comparisons, needs).unwrap();
        assert_eq!(found, Divergence { step: id("3"), caused_by: vec![id("1")], steps: 2 });
        let alone = first_divergence(&comparisons, |_| Vec::new()).unwrap();
        assert_eq!(alone.caused_by, [id("3")]);
        assert_eq!(first_divergence(&comparisons[..2], needs), None);
    }

    #[test]
    fn a_circle_of_needs_ends() {
        let comparisons = [comparison("1", Verdict::Different), comparison("2", Verdict::Different)];
        let needs = |step: &StepId| vec![id(if step.as_str() == "1" { "2" } else { "1" })];
        assert!(first_divergence(&comparisons, needs).is_some());
    }
}
