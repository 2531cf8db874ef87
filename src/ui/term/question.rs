//! What the terminal is asked at the start: its background, and whether it knows the keyboard protocol.

use std::io;
use std::time::Duration;

use super::input::{Answer, Input, read_until};
use crate::ui::theme::Background;
use crate::ui::theme::color::luminance;

/// The background (OSC 11), the keyboard protocol, and last what every terminal answers (DA1), so that nobody waits
/// for answers that won't come.
const QUESTIONS: &[u8] = b"\x1b]11;?\x1b\\\x1b[?u\x1b[c";

/// How long answers are waited for. What comes later is dropped by the input's own parser.
const LIMIT: Duration = Duration::from_millis(150);

/// What the terminal answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// Its background, if it told.
    pub background: Option<Background>,
    /// Whether it knows the keyboard protocol.
    pub keyboard: bool,
    /// What the person did meanwhile.
    pub typed: Vec<Input>,
}

/// Asks. The terminal must be taken and nobody else may be listening.
pub(super) fn ask() -> io::Result<Answers> {
    super::out::send(QUESTIONS)?;
    let inputs = read_until(LIMIT, |inputs| inputs.contains(&Input::Answer(Answer::Attributes)))?;
    Ok(Answers::of(inputs))
}

impl Answers {
    fn of(inputs: Vec<Input>) -> Self {
        let mut answers = Self::default();
        for input in inputs {
            match input {
                Input::Answer(Answer::Background(rgb)) => {
                    // Half the way between black and white as eyes see it.
                    let light = luminance(rgb) > 0.179;
                    answers.background = Some(if light { Background::Light } else { Background::Dark });
                }
                Input::Answer(Answer::Keyboard) => answers.keyboard = true,
                Input::Answer(Answer::Attributes) => {}
                other => answers.typed.push(other),
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::app::key::Chord;

    #[test]
    fn answers_are_sorted_from_what_was_typed() {
        let answers = Answers::of(vec![
            Input::Key(Chord::char('q')),
            Input::Answer(Answer::Background([0xfd, 0xf6, 0xe3])),
            Input::Answer(Answer::Keyboard),
            Input::Answer(Answer::Attributes),
        ]);
        assert_eq!(answers.background, Some(Background::Light));
        assert!(answers.keyboard);
        assert_eq!(answers.typed, [Input::Key(Chord::char('q'))]);
        let dark = Answers::of(vec![Input::Answer(Answer::Background([0x1e, 0x1e, 0x2e]))]);
        assert_eq!(dark.background, Some(Background::Dark));
        assert_eq!(Answers::of(Vec::new()), Answers::default());
    }
}
