//! Whether a step may be kept: what its records say against the state so far.

use std::sync::Arc;

use super::execute::file_of;
use super::pass::Walk;
use super::protocol::{Ask, CompileReply};
use super::state::Verdict;
use super::task::{EngineError, Report, Task};
use super::walk::Engine;
use crate::step::{CallFrame, Digest, Execution, FileContent, Outcome, Reason};

/// What was found for a step.
pub(super) enum Choice {
    Keep(Arc<Execution>),
    Run(Vec<Reason>),
    /// To tell, the step at this place was executed again, and came out differently: those after it are looked at anew.
    Again(usize),
}

impl Engine {
    /// What to do with `task`, asking processes where only they can tell.
    pub(super) fn choose(
        &mut self,
        walk: &mut Walk<'_>,
        task: &Task,
        report: &mut dyn FnMut(Report),
    ) -> Result<Choice, EngineError> {
        if let Some(choice) = self.by_records(walk, task) {
            return Ok(choice);
        }
        // Some of what it used is known only to a process: have one that can tell.
        let line = walk.line.len();
        if let Some(place) = self.stand(walk, line, report)? {
            return Ok(Choice::Again(place));
        }
        Ok(self.by_records(walk, task).unwrap_or_else(in_doubt))
    }

    /// What to do with `task`, asking a process on the side where only one can tell.
    pub(super) fn compare_aside(&mut self, walk: &mut Walk<'_>, task: &Task) -> Result<Choice, EngineError> {
        if let Some(choice) = self.by_records(walk, task) {
            return Ok(choice);
        }
        let target = walk.state.clone();
        let side = self.on_the_side(walk, &target)?;
        walk.settle(&side.node);
        Ok(self.by_records(walk, task).unwrap_or_else(in_doubt))
    }

    /// As [`Engine::compare`]; also by records of another text, which may be the same code, where those of this one do
    /// not hold.
    pub(super) fn by_records(&mut self, walk: &Walk<'_>, task: &Task) -> Option<Choice> {
        let choice = self.compare(walk, task);
        let source = Digest::of(task.source.as_bytes());
        let untold = || {
            let other = |execution: &Arc<Execution>| execution.observation.source != Some(source);
            !self.compiled.contains_key(&source) && task.forced.is_none() && task.held.iter().any(other)
        };
        // Where no interpreter can be had, another text stands for other code.
        if matches!(choice, Some(Choice::Run(_))) && untold() && self.compile(task).is_ok() {
            return self.compare(walk, task);
        }
        choice
    }

    /// What to do with `task` by records alone; `None` where they can't tell.
    fn compare(&mut self, walk: &Walk<'_>, task: &Task) -> Option<Choice> {
        if let Some(reason) = &task.forced {
            return Some(Choice::Run(vec![reason.clone()]));
        }
        let source = Digest::of(task.source.as_bytes());
        let codes = self.compiled.get(&source).map(|reply| reply.codes);
        let mut newest: Option<Vec<Reason>> = None;
        for execution in &task.held {
            let seen = &execution.observation;
            let same_code =
                seen.source == Some(source) || codes.zip(seen.code).is_some_and(|(codes, code)| codes.contains(&code));
            let reasons = if !matches!(execution.outcome, Outcome::Done | Outcome::Failed) {
                vec![Reason::NeverRun]
            } else if !same_code {
                vec![Reason::SourceChanged]
            } else if seen.called.as_ref().is_some_and(|called| *called != task.id) {
                vec![Reason::AmbientChanged { what: "what the step is called".into() }]
            } else if walk.goal.retry_failed && execution.outcome == Outcome::Failed {
                vec![Reason::Retried]
            } else {
                match walk.state.check_names(seen) {
                    Verdict::Unsure => return None,
                    Verdict::Stale(reasons) => reasons,
                    Verdict::Fresh => match self.changed_file(walk, execution) {
                        Some(path) => vec![Reason::FileChanged { path }],
                        None => match self.otherwise_changed(walk, task, execution) {
                            Some(reason) => vec![reason],
                            None => return Some(Choice::Keep(Arc::clone(execution))),
                        },
                    },
                }
            };
            newest.get_or_insert(reasons);
        }
        Some(Choice::Run(newest.unwrap_or_else(|| vec![Reason::NeverRun])))
    }

    /// The first file that a recorded execution used and that is another now.
    fn changed_file(&mut self, walk: &Walk<'_>, execution: &Execution) -> Option<String> {
        for (path, content) in &execution.observation.files_read {
            let now = match content {
                FileContent::Directory { .. } => self.disk.listing_at(&walk.state, path),
                _ => self.disk.at(&walk.state, path),
            };
            if now != *content {
                return Some(path.clone());
            }
        }
        None
    }

    /// What else of a recorded execution, beside code, names and files, is another now.
    fn otherwise_changed(&mut self, walk: &Walk<'_>, task: &Task, execution: &Execution) -> Option<Reason> {
        let answer = self.changed_answer(execution).map(|what| Reason::AmbientChanged { what });
        let other = answer.or_else(|| {
            let what = self.other_installation(walk, execution)?;
            Some(Reason::InterpreterChanged { what })
        });
        other.or_else(|| self.surroundings.changed(execution, task.timeout, &*self.vault))
    }

    /// The first call of a recorded execution whose answer is not kept any more, or is another.
    fn changed_answer(&self, execution: &Execution) -> Option<String> {
        let calls = &self.settings.calls;
        let mut frames = execution.observation.calls.iter();
        let changed =
            |frame: &&CallFrame| frame.rounds.iter().any(|round| calls.kept(&round.key) != Some(round.answer));
        frames.find(changed).map(|frame| format!("the answer of {}", frame.name))
    }

    /// What code the step's text is, by the interpreter's own word.
    pub(super) fn compile(&mut self, task: &Task) -> Result<CompileReply, EngineError> {
        let source = Digest::of(task.source.as_bytes());
        if let Some(reply) = self.compiled.get(&source) {
            return Ok(reply.clone());
        }
        let file = file_of(&self.settings, task);
        let root = self.root()?;
        root.ask(&Ask::Compile { step: task.id.as_str(), file: &file }, task.source.as_bytes(), &[])?;
        let reply: CompileReply = root.answer()?;
        self.compiled.insert(source, reply.clone());
        Ok(reply)
    }
}

fn in_doubt() -> Choice {
    Choice::Run(vec![Reason::InDoubt { why: "what it used can't be compared".into() }])
}
