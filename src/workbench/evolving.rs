//! A function written anew until its tests pass: the loop of a repair, with the tests as what must hold.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::covering::{self, tests_of};
use super::desk::{ClientId, Desk};
use super::repairing::{Loop, told};
use super::{Command, Event, Failure, Talk, Ticket, TrialView};
use crate::agent::Bounds;
use crate::step::{Status, StepId};

/// What is wanted: which function, and how often is tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvolveWish {
    /// The step that defines the function.
    pub step: StepId,
    /// The function's name.
    pub function: String,
    /// The program that is asked, with its arguments; what the settings name when empty.
    pub agent: Vec<String>,
    /// The most tries; what the settings say when `None`.
    pub tries: Option<u32>,
}

/// A function that is written anew.
#[derive(Debug)]
pub(super) struct Evolution {
    pub function: String,
    /// The tests that cover it.
    pub tests: Vec<StepId>,
    /// Its present text, decorators included.
    block: String,
    /// The file that it stands in.
    path: String,
}

impl Desk {
    /// Starts the loop; its answers come when it is done.
    pub(super) fn evolve(&mut self, client: ClientId, ticket: Ticket, wish: EvolveWish) -> Result<(), Failure> {
        self.known([wish.step.clone()])?;
        self.settle_marks();
        let EvolveWish { step, function, .. } = &wish;
        let agent = self.agent(&wish.agent)?;
        let entry = self.book.step(step).map(|entry| Arc::clone(&entry.file));
        let file = entry.ok_or_else(|| super::hands::no_such_step(step))?;
        let block = covering::function(&file.source, function).ok_or_else(|| Failure {
            what: format!("{step} defines no function {function} at its outermost level"),
            hint: Some("name it as STEP:FUNCTION".to_owned()),
        })?;
        let covering = tests_of(self.book.rows(), self.book.edges(), step, &[function]);
        let tests: Vec<StepId> =
            covering.into_iter().filter(|covering| covering.direct).map(|covering| covering.test).collect();
        if tests.is_empty() {
            return Err(Failure {
                what: format!("no test uses {function} of {step}"),
                hint: Some("write one: a step whose name begins with `test`, or of kind `test`".to_owned()),
            });
        }
        let settings = &self.setup.config.agent;
        let bounds = Bounds { tries: wish.tries.unwrap_or(settings.tries).clamp(1, 100), candidates: 1 };
        let longest = settings.trial;
        let path = file.path.to_string_lossy().into_owned();
        let evolution = Evolution { function: function.clone(), tests, block, path };
        let step = step.clone();
        self.host((client, ticket), step.clone(), move |guest| {
            let evolution = Some(evolution);
            Loop { guest, agent, reviewer: None, must_approve: false, step, longest, evolution }.run(bounds, false)
        })
    }
}

impl Evolution {
    /// Brings the tests up to date, and sees that one of them fails.
    pub(super) fn bring_up_to_date(&self, talk: &mut Talk, step: &StepId) -> Result<(), Failure> {
        let steps: Vec<StepId> = self.tests.iter().chain([step]).cloned().collect();
        let mut failing = false;
        talk.ask(Command::Run { steps: steps.clone(), retry_failed: false }, |event| {
            if let Event::Ran { steps: all, .. } = event {
                let mut meant = all.iter().filter(|result| steps.contains(&result.id));
                failing = meant.any(|result| result.status != Status::Fresh);
            }
        })?;
        match failing {
            true => Ok(()),
            false => Err(Failure {
                what: format!("the tests of {step}:{} pass: there is nothing to write anew", self.function),
                hint: Some("change a test first, so that it says what the function should do".to_owned()),
            }),
        }
    }

    /// What the agent is told of the function and its tests.
    pub(super) fn question(&self, talk: &mut Talk) -> Result<Value, Failure> {
        let mut tests = Vec::new();
        for test in &self.tests {
            let source = talk.ask_for(Command::Source { step: test.clone() }, |event| match event {
                Event::Source { text, .. } => Some(Arc::clone(text)),
                _ => None,
            })?;
            let execution = talk.ask_for(Command::Execution { step: test.clone() }, |event| match event {
                Event::Execution { execution, .. } => Some(execution.clone()),
                _ => None,
            })?;
            let error = execution.as_deref().and_then(|execution| execution.error.as_ref());
            let error = error.map(|error| format!("{}: {}", error.type_name, error.message));
            tests.push(json!({"step": test, "source": source, "error": error}));
        }
        Ok(json!({
            "task": "Write the function anew, so that its tests pass: answer with its whole text, or with a patch. \
                     The tests may not be changed.",
            "function": { "name": self.function, "file": self.path, "source": self.block },
            "tests": tests,
        }))
    }

    /// An answer as a patch: the bare text of the function takes the place of the present one.
    pub(super) fn as_patch(&self, answer: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(answer);
        let bare = unfenced(text.trim());
        let defines = ["def ", "async def "].iter().any(|def| {
            bare.lines().any(|line| line.strip_prefix(def).is_some_and(|rest| rest.starts_with(&self.function)))
        });
        let begins = ["def ", "async def ", "@"].iter().any(|word| bare.starts_with(word));
        if !(defines && begins) {
            return answer.to_vec();
        }
        let Self { path, block, .. } = self;
        format!("{path}\n<<<<<<< SEARCH\n{block}\n=======\n{}\n>>>>>>> REPLACE\n", bare.trim_end()).into_bytes()
    }

    /// What stands against a patch by what it changes.
    pub(super) fn against_files(&self, paths: &[&str]) -> Vec<String> {
        let is_test =
            |path: &&&str| self.tests.iter().any(|test| path.rsplit_once('.').map(|(id, _)| id) == Some(test.as_str()));
        paths.iter().filter(is_test).map(|path| format!("it changes {path}, which is to judge it")).collect()
    }

    /// What stands against a patch once it ran: tests that do not pass.
    pub(super) fn against(&self, trial: &TrialView) -> Vec<String> {
        let of = |test: &StepId| match trial.steps.iter().find(|step| step.id == *test) {
            Some(step) if step.after == Status::Fresh => None,
            Some(step) => Some(told(step)),
            None => Some(format!("{test} did not run with it")),
        };
        self.tests.iter().filter_map(of).collect()
    }
}

/// A text without the fence around it, if it has one.
fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    inner.split_once('\n').map_or(text, |(_, code)| code.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_text_of_a_function_becomes_a_patch() {
        let evolution = Evolution {
            function: "f".into(),
            tests: vec!["test_f".parse().unwrap()],
            block: "def f():\n    pass".into(),
            path: "a.py".into(),
        };
        let patch = |text: &str| String::from_utf8(evolution.as_patch(text.as_bytes())).unwrap();
        let expected = "a.py\n<<<<<<< SEARCH\ndef f():\n    pass\n=======\ndef f():\n    return 1\n>>>>>>> REPLACE\n";
        assert_eq!(patch("def f():\n    return 1\n"), expected);
        assert_eq!(patch("```python\ndef f():\n    return 1\n```\n"), expected);
        assert_eq!(patch("--- a.py\n+++ a.py\n"), "--- a.py\n+++ a.py\n");
        assert_eq!(evolution.against_files(&["test_f.py", "a.py"]).len(), 1);
    }
}
