//! A question that a running step waits with, and its answer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::StepId;

/// Tells one question from another, for as long as the process lives that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub u64);

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for QuestionId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// What a running step waits with until somebody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Which.
    pub id: QuestionId,
    /// The step that waits.
    pub step: StepId,
    /// What is asked, in the step's words or in ours; hostile.
    pub text: String,
    /// What is an answer to it.
    pub wants: Wants,
}

/// What is an answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wants {
    /// A line of input, or its end.
    Line,
    /// Leave to do something: yes, no, or always.
    Leave,
}

impl Wants {
    /// Whether this is an answer.
    pub fn takes(self, answer: &Answer) -> bool {
        matches!(answer, Answer::Line(_) | Answer::End) == (self == Self::Line)
    }

    /// What may be answered, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Line => "a line of text",
            Self::Leave => "yes, no, always (for this step) or all (for every step)",
        }
    }

    /// What a person typed as an answer; `None` where it is none.
    pub fn read(self, typed: &str) -> Option<Answer> {
        match self {
            Self::Line => Some(Answer::Line(typed.to_owned())),
            Self::Leave => match typed.trim() {
                "yes" | "y" => Some(Answer::Yes),
                "no" | "n" => Some(Answer::No),
                "always" | "a" => Some(Answer::Always),
                "all" => Some(Answer::All),
                _ => None,
            },
        }
    }
}

/// What is said to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", content = "is", rename_all = "lowercase")]
pub enum Answer {
    /// A line, without its end.
    Line(String),
    /// There is no more input.
    End,
    /// This once.
    Yes,
    /// Not.
    No,
    /// This and every other time that the step asks for the same.
    Always,
    /// This and every other time that any step asks for the same.
    All,
}

/// A question that was answered while a step ran: part of what its result follows from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// What was asked.
    pub prompt: String,
    /// The line that was given.
    pub line: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_read_by_what_is_wanted() {
        assert_eq!(Wants::Line.read("yes"), Some(Answer::Line("yes".to_owned())));
        assert_eq!(Wants::Leave.read(" yes "), Some(Answer::Yes));
        assert_eq!(Wants::Leave.read("perhaps"), None);
        assert!(Wants::Line.takes(&Answer::End) && !Wants::Line.takes(&Answer::No));
        assert!(Wants::Leave.takes(&Answer::Always) && !Wants::Leave.takes(&Answer::End));
    }
}
