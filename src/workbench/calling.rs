//! The calls of a step as they are shown: a tree under the step, with what was asked and what was answered.

use serde::{Deserialize, Serialize};

use super::Failure;
use super::book::failure;
use super::desk::Desk;
use super::hands::no_such_step;
use crate::step::{Digest, Millis, StepId, Tokens};

/// Most of a question or an answer that is shown, in characters.
const SHOWN: usize = 64 << 10;

/// A call that a step made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    /// Its number among the step's calls, from 1.
    pub number: usize,
    /// The name of the function; hostile.
    pub name: String,
    /// Its arguments in short; hostile.
    pub shown: String,
    /// The number of the call that made it, if one did.
    pub parent: Option<usize>,
    /// How deep it lies under the step, from 0.
    pub depth: usize,
    /// What was asked, one after the other.
    pub rounds: Vec<RoundView>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundView {
    /// What tells it from others.
    pub key: Digest,
    /// Whether it was asked in this execution, and not known before.
    pub asked: bool,
    /// Whether its answer is kept: else it is asked again.
    pub kept: bool,
    /// What was asked; hostile.
    pub question: String,
    /// What was answered; hostile.
    pub answer: String,
    /// The model, as it says; hostile.
    pub model: Option<String>,
    /// Tokens, as the agent says.
    pub tokens: Option<Tokens>,
    /// How long it took.
    pub took_ms: Millis,
}

impl Desk {
    /// The calls of a step's held execution.
    pub(super) fn calls_of(&mut self, step: &StepId) -> Vec<CallView> {
        let Some(execution) = self.book.held(step) else { return Vec::new() };
        let mut depths: Vec<usize> = Vec::new();
        let frames = execution.observation.calls.iter();
        frames
            .zip(1..)
            .map(|(frame, number)| {
                let above = frame.parent.and_then(|parent| depths.get(parent));
                let depth = above.map_or(0, |depth| depth + 1);
                depths.push(depth);
                let rounds = frame.rounds.iter().map(|round| {
                    let kept = self.calls.call(&round.key).filter(|kept| kept.digest() == round.answer);
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(SHOWN).collect::<String>();
                    RoundView {
                        key: round.key,
                        asked: round.asked,
                        kept: kept.is_some(),
                        question: kept.as_ref().map(|kept| text(&kept.question)).unwrap_or_default(),
                        answer: match &kept {
                            Some(kept) if kept.packed => "a value, packed".to_owned(),
                            Some(kept) => text(&kept.answer),
                            None => String::new(),
                        },
                        model: kept.as_ref().and_then(|kept| kept.model.clone()),
                        tokens: kept.as_ref().and_then(|kept| kept.tokens),
                        took_ms: kept.as_ref().map(|kept| kept.took_ms).unwrap_or_default(),
                    }
                });
                let rounds = rounds.collect();
                let (name, shown) = (frame.name.clone(), frame.shown.clone());
                CallView { number, name, shown, parent: frame.parent.map(|place| place + 1), depth, rounds }
            })
            .collect()
    }

    /// Lets go of the answers of one of a step's calls.
    pub(super) fn forget(&mut self, step: &StepId, call: &str) -> Result<String, Failure> {
        let execution = self.book.held(step).ok_or_else(|| no_such_step(step))?;
        let frames = &execution.observation.calls;
        let number = call.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_key = |frame: &&crate::step::CallFrame| {
            call.len() >= 4 && frame.rounds.iter().any(|round| round.key.to_string().starts_with(call))
        };
        let found = number.and_then(|place| frames.get(place)).or_else(|| frames.iter().find(by_key));
        let Some(frame) = found.filter(|frame| !frame.rounds.is_empty()) else {
            return Err(Failure {
                what: format!("{step} made no call {call} whose answer is kept"),
                hint: Some(format!("`reweave show DIR {step}` lists its calls")),
            });
        };
        let keys: Vec<Digest> = frame.rounds.iter().map(|round| round.key).collect();
        self.calls.forget(&keys).map_err(failure)?;
        self.unsettled = true;
        Ok(format!("{} is asked again when {step} runs next", frame.name))
    }
}
