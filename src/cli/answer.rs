//! `reweave answer`: what a running step asks is answered.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::step::{Answer, QuestionId};
use crate::workbench::Command;

/// Answer what a running step asks
///
/// `reweave status` lists the questions that wait, each with its number. A question for leave takes yes, no or
/// always; one for a line of input takes the line, or --end for the end of input.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The question's number
    id: QuestionId,

    /// What is said to it
    #[arg(required_unless_present = "end")]
    answer: Option<String>,

    /// There is no more input
    #[arg(long, conflicts_with = "answer")]
    end: bool,
}

/// Answers.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |session| {
        let asked = session.snapshot().questions.iter().find(|question| question.id == args.id);
        let answer = match (args.answer, asked) {
            (None, _) => Answer::End,
            (Some(typed), Some(asked)) => asked.wants.read(&typed).ok_or_else(|| {
                CliError::new(format!("question {} wants {}", asked.id, asked.wants.words())).status(2)
            })?,
            // It may have been asked just now: the workbench says if it was not.
            (Some(typed), None) => Answer::Line(typed),
        };
        Ok(Command::Answer { question: args.id, answer })
    })
}
