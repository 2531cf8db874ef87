//! What the policy asks: from whoever decides on a step's calls to a person, and the answer back.

use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use super::Event;
use super::desk::{Desk, Input};
use super::moment::now;
use crate::engine::{Answers, Asker, Leave, Wish};
use crate::step::{Answer, Question, QuestionId, Wants};

/// Brings what is asked to the desk, and waits for the answer.
#[derive(Debug)]
pub(super) struct Bell {
    desk: Sender<Input>,
    answers: Answers,
}

/// How often it is looked whether there is an answer, and whether the step still waits.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Bell {
    pub(super) fn new(desk: Sender<Input>, answers: Answers) -> Self {
        Self { desk, answers }
    }
}

impl Asker for Bell {
    fn ask(&self, wish: &Wish, wanted: &dyn Fn() -> bool) -> Option<Leave> {
        let id = Answers::number();
        let question = Question { id, step: wish.step.clone()?, text: wish.to_string(), wants: Wants::Leave };
        self.desk.send(Input::Question(question)).ok()?;
        while wanted() {
            match self.answers.take(id) {
                Some(answer) => return leave(&answer),
                None => thread::sleep(LOOK_EVERY),
            }
        }
        // A desk that is closing looks at nothing any more.
        let _ = self.desk.send(Input::Unasked(id));
        None
    }
}

fn leave(answer: &Answer) -> Option<Leave> {
    Some(match answer {
        Answer::Yes => Leave::Once,
        Answer::Always => Leave::Step,
        Answer::All => Leave::Run,
        Answer::No => Leave::No,
        Answer::Line(_) | Answer::End => return None,
    })
}

impl Desk {
    /// A step waits for leave.
    pub(super) fn question(&mut self, question: Question) {
        self.questions.push(question.clone());
        self.untold = true;
        self.broadcast(&Event::Asked(question));
    }

    /// A step does not wait any more.
    pub(super) fn unasked(&mut self, id: QuestionId) {
        self.questions.retain(|question| question.id != id);
        self.untold = true;
    }

    /// What was decided goes into the story of the run. Gives it in a line.
    pub(super) fn decided(&self, question: &Question, answer: &Answer) -> Option<String> {
        let text = format!("{}: {}", question.text, leave(answer)?.word());
        // The execution's own record has it as well; a note that can't be kept is no reason to refuse the answer.
        drop(self.book.store().record_note("policy", Some(&question.step), &text, now()));
        Some(text)
    }
}
