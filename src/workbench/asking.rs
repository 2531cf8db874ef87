//! What is asked of a run: answered at once, or put where the engine finds it when it is free.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError};
use std::thread;

use super::besides::Sides;
use super::book::failure;
use super::decide::Wish;
use super::desk::{ClientId, Desk, Input, counted};
use super::diagnosing::Failed;
use super::job::{Halts, Job, JobKind, ToTry, Wanted};
use super::moment::now;
use super::{Command, Event, Failure, Summary, Ticket, contexts, hands, past};
use crate::step::{Answer, QuestionId, StepId};

impl Desk {
    pub(super) fn ask(&mut self, client: ClientId, ticket: Ticket, command: Command) {
        match self.answer(client, ticket, command) {
            Ok(Some(summary)) => self.done(client, ticket, Ok(summary)),
            Ok(None) => {}
            Err(failure) => self.done(client, ticket, Err(failure)),
        }
    }

    /// Does what can be done at once; what the engine is needed for waits its turn (`Ok(None)`).
    fn answer(&mut self, client: ClientId, ticket: Ticket, command: Command) -> Result<Option<Summary>, Failure> {
        let queue = |desk: &mut Self, kind| {
            desk.jobs.push_back(Job { client, ticket, kind });
            Ok(None)
        };
        let update = |wanted, retry_failed, halts| JobKind::Update { wanted, retry_failed, halts };
        match command {
            Command::Run { steps, retry_failed } => {
                let wanted = if steps.is_empty() { Wanted::All } else { Wanted::Steps(self.known(steps)?) };
                queue(self, update(wanted, retry_failed, Halts::AtBreakpoints))
            }
            Command::Replay { from, until } => {
                if let Some(until) = &until {
                    self.known([until.clone()])?;
                }
                let marked = match from {
                    Some(from) => self.known([from])?,
                    None => self.all_as_far_as(until.as_ref()),
                };
                self.mark(&marked)?;
                queue(self, update(until.map_or(Wanted::All, Wanted::Until), true, Halts::AtBreakpoints))
            }
            Command::Next => queue(self, update(Wanted::All, false, Halts::AfterOne)),
            Command::UntilFailure => queue(self, update(Wanted::All, false, Halts::AtFailure)),
            Command::Plan { steps, marked } => {
                let (wanted, marked) = (self.known(steps)?, self.known(marked)?);
                queue(self, JobKind::Plan { wanted, marked })
            }
            Command::Verify { check } => queue(self, JobKind::Verify { check }),
            Command::State { at, names } => {
                if let Some(at) = &at {
                    self.known([at.clone()])?;
                }
                queue(self, JobKind::State { at, names })
            }
            Command::Inside { at, name, path } => {
                if let Some(at) = &at {
                    self.known([at.clone()])?;
                }
                queue(self, JobKind::Inside { at, name, path })
            }
            Command::Breakpoints { mut steps, names } => {
                // One that was set and whose step is gone since goes with it.
                steps.retain(|step| self.book.step(step).is_some() || !self.breakpoints.contains(step));
                self.breakpoints = self.known(steps)?;
                self.watched = names.into_iter().collect();
                self.untold = true;
                Ok(Some(Summary::default()))
            }
            Command::Answer { question, answer } => self.take_answer(question, answer).map(Some),
            Command::Pause => self.pause().map(Some),
            Command::Invalidate { steps } => {
                let steps = self.known(steps)?;
                self.mark(&steps)?;
                Ok(Some(Summary {
                    text: format!("{} marked stale", counted(steps.len(), "step")),
                    ..Summary::default()
                }))
            }
            Command::Stop => Ok(Some(self.stop(client))),
            Command::ReplayOnSave { on } => {
                self.replay_on_save = on;
                self.untold = true;
                let text = if on { "a saved file is replayed at once" } else { "saved files wait" };
                Ok(Some(Summary { text: text.to_owned(), ..Summary::default() }))
            }
            Command::Source { step } => {
                let event = hands::source(&self.book, &step)?;
                self.send(client, event);
                Ok(Some(Summary::default()))
            }
            Command::Execution { step } => {
                self.known([step.clone()])?;
                let execution = self.book.held(&step);
                self.send(client, Event::Execution { step, execution });
                Ok(Some(Summary::default()))
            }
            Command::Diagnose { step } => {
                self.known([step.clone()])?;
                self.settle_marks();
                self.explain(client, ticket, &step).map(|()| None)
            }
            Command::Beside { other } => {
                self.settle_marks();
                self.compare(client, ticket, other).map(|()| None)
            }
            Command::Calls { step } => {
                self.known([step.clone()])?;
                let calls = Arc::new(self.calls_of(&step));
                self.send(client, Event::Calls { step, calls });
                Ok(Some(Summary::default()))
            }
            Command::InvalidateCall { step, call } => {
                self.known([step.clone()])?;
                self.forget(&step, &call).map(|text| Some(Summary { text, ..Summary::default() }))
            }
            Command::Evolve(wish) => self.evolve(client, ticket, wish).map(|()| None),
            Command::Repair(wish) => self.repair(client, ticket, wish).map(|()| None),
            Command::Remark { step, turn } => {
                self.known([step.clone()])?;
                let receipt = self.book.store().record_note("repair", Some(&step), &turn.record(), now());
                receipt.wait().map_err(failure)?;
                self.untold = true;
                self.broadcast(&Event::Turn { step, turn: Arc::new(*turn) });
                Ok(Some(Summary::default()))
            }
            Command::Context { step, budget } => {
                self.known([step.clone()])?;
                self.settle_marks();
                let budget = budget.or_else(|| usize::try_from(self.setup.config.agent.budget).ok());
                self.show_context(client, ticket, &step, budget).map(|()| None)
            }
            Command::Rescan => {
                self.look(None)?;
                self.look_in()?;
                // Before the answer, so that whoever has it sees the run as it is now.
                self.told_at = None;
                self.tell_snapshot();
                Ok(Some(Summary::default()))
            }
            Command::Try { patch, files } => {
                self.patch_to_try(patch, &files)?;
                let choices = vec![ToTry { ticket, patch, files, then: None }];
                queue(self, JobKind::Try { choices })
            }
            Command::Accept { patch, files, comment, replay, anyway } => {
                self.accept(client, ticket, Wish { patch, files, comment, anyway, replay })
            }
            Command::AddPatch { .. }
            | Command::Patch { .. }
            | Command::Weigh { .. }
            | Command::Reject { .. }
            | Command::Revert { .. }
            | Command::Comment { .. } => self.patch(client, ticket, command).map(Some),
            Command::Close => {
                self.leave(client);
                Ok(None)
            }
            Command::Gc { .. } if self.current.is_some() => Err(Failure {
                what: "steps are running: what they are about to refer to could be cleared away".to_owned(),
                hint: Some("wait until they are done, or `reweave stop`".to_owned()),
            }),
            about @ (Command::Story { .. } | Command::VersionText { .. } | Command::Past { .. }) => {
                // What is on the disk by now is part of the story.
                self.look_unless_watched()?;
                let (event, text) = past::answer(&mut self.book, about)?;
                event.into_iter().for_each(|event| self.send(client, event));
                Ok(Some(Summary { text, ..Summary::default() }))
            }
            about @ (Command::RestoreTo { .. } | Command::Gc { .. }) => {
                if matches!(about, Command::RestoreTo { .. }) {
                    self.book.may_be_changed()?;
                }
                self.look(None)?;
                let (event, text) = past::answer(&mut self.book, about)?;
                event.into_iter().for_each(|event| self.send(client, event));
                self.look(None)?;
                Ok(Some(Summary { text, ..Summary::default() }))
            }
            by_hand => {
                if !matches!(by_hand, Command::Undo | Command::Redo) {
                    self.book.may_be_changed()?;
                }
                let decided = matches!(by_hand, Command::Undo | Command::Redo);
                let renamed = match &by_hand {
                    Command::Rename { step, to } => Some((step.clone(), to.clone())),
                    _ => None,
                };
                let text = hands::perform(&mut self.book, by_hand)?;
                if decided {
                    // It may have been a decision about a patch.
                    self.shelf.load(self.book.store())?;
                }
                self.look(None)?;
                if let Some((from, to)) = renamed
                    && self.breakpoints.remove(&from)
                {
                    self.breakpoints.insert(to);
                    self.untold = true;
                }
                Ok(Some(Summary { text, ..Summary::default() }))
            }
        }
    }

    /// These steps, if all of them are there.
    pub(super) fn known(&mut self, steps: impl IntoIterator<Item = StepId>) -> Result<BTreeSet<StepId>, Failure> {
        let steps: BTreeSet<StepId> = steps.into_iter().collect();
        if steps.iter().any(|step| self.book.step(step).is_none()) {
            // It may have been written a moment ago.
            self.look(None)?;
        }
        match steps.iter().find(|step| self.book.step(step).is_none()) {
            None => Ok(steps),
            Some(step) => Err(hands::no_such_step(step)),
        }
    }

    pub(super) fn all_as_far_as(&self, until: Option<&StepId>) -> BTreeSet<StepId> {
        let ids = self.book.steps().iter().map(|entry| &entry.file.id);
        ids.filter(|id| until.is_none_or(|until| *id <= until)).cloned().collect()
    }

    pub(super) fn mark(&mut self, steps: &BTreeSet<StepId>) -> Result<(), Failure> {
        self.book.mark(steps)?;
        self.unsettled = true;
        Ok(())
    }

    /// Has a failure explained on a thread of its own.
    fn explain(&mut self, client: ClientId, ticket: Ticket, step: &StepId) -> Result<(), Failure> {
        let failed = Failed::of(&mut self.book, &self.setup.parser(), step)?;
        let (desk, step) = (self.own.clone(), step.clone());
        let work = move || {
            // A desk that has ended wants no explanation any more.
            let _ = desk.send(Input::Explained(client, ticket, step, failed.explain().map(Arc::new)));
        };
        let thread = thread::Builder::new().name("diagnosis".to_owned()).spawn(work);
        thread.map(drop).map_err(|error| Failure { what: format!("no thread for the diagnosis: {error}"), hint: None })
    }

    /// Has a context made on a thread of its own.
    fn show_context(
        &mut self,
        client: ClientId,
        ticket: Ticket,
        step: &StepId,
        budget: Option<usize>,
    ) -> Result<(), Failure> {
        let asked = contexts::Asked::of(&mut self.book, &self.setup.parser(), step, budget)?;
        let (desk, tokens, step) = (self.own.clone(), Arc::clone(&self.tokens), step.clone());
        let work = move || {
            let made = asked.make(&mut tokens.lock().unwrap_or_else(PoisonError::into_inner));
            // A desk that has ended wants no answer any more.
            let _ = desk.send(Input::Shown(client, ticket, step, made.map(Arc::new)));
        };
        let thread = thread::Builder::new().name("context".to_owned()).spawn(work);
        thread.map(drop).map_err(|error| Failure { what: format!("no thread for the context: {error}"), hint: None })
    }

    /// Has the run set beside another on a thread of its own.
    fn compare(&mut self, client: ClientId, ticket: Ticket, other: Option<String>) -> Result<(), Failure> {
        let store = self.book.store().reader().map_err(failure)?;
        let sides = Sides::of(store, &self.snapshot(), self.book.dir().path(), other);
        let desk = self.own.clone();
        let work = move || {
            // A desk that has ended wants no answer any more.
            let _ = desk.send(Input::Compared(client, ticket, sides.compare().map(Arc::new)));
        };
        let thread = thread::Builder::new().name("beside".to_owned()).spawn(work);
        thread.map(drop).map_err(|error| Failure { what: format!("no thread for the comparison: {error}"), hint: None })
    }

    /// Gives an answer to the step that waits for it.
    fn take_answer(&mut self, question: QuestionId, answer: Answer) -> Result<Summary, Failure> {
        let asked = self.questions.iter().position(|asked| asked.id == question);
        let Some((place, asked)) = asked.and_then(|place| Some((place, self.questions.get(place)?))) else {
            return Err(Failure {
                what: format!("there is no question {question}"),
                hint: Some("it may be answered by now; `reweave status` lists those that wait".to_owned()),
            });
        };
        if !asked.wants.takes(&answer) {
            let what = format!("question {question} of {} wants {}", asked.step, asked.wants.words());
            return Err(Failure { what, hint: None });
        }
        let asked = self.questions.remove(place);
        self.untold = true;
        let text = self.decided(&asked, &answer).unwrap_or_default();
        self.leave_given.give(question, answer.clone());
        if let Some(room) = &self.room {
            room.answer(question, answer);
        }
        Ok(Summary { text, ..Summary::default() })
    }

    /// Lets the step that executes end, and no other begin.
    fn pause(&mut self) -> Result<Summary, Failure> {
        let updating = self.current.as_ref().is_some_and(|(job, _)| matches!(job.kind, JobKind::Update { .. }));
        match &mut self.room {
            Some(room) if updating => {
                room.pause();
                let text = "the step that runs ends, and no other begins".to_owned();
                Ok(Summary { text, ..Summary::default() })
            }
            _ => Err(Failure { what: "no steps are running".to_owned(), hint: None }),
        }
    }

    /// Stops what this client waits for; where it waits for nothing, whatever runs.
    fn stop(&mut self, client: ClientId) -> Summary {
        let mut guests = self.stop_guests(Some(client));
        let mine = |job: &Job| job.client == client || guests.contains(&job.client);
        let (own, others): (VecDeque<Job>, VecDeque<Job>) = self.jobs.drain(..).partition(mine);
        let is_current = self.current.as_ref().is_some_and(|(job, _)| mine(job));
        // What a loop asked for may have ended just now: it stops nothing else.
        let all = own.is_empty() && !is_current && guests.is_empty() && !self.guests.contains_key(&client);
        if all {
            guests = self.stop_guests(None);
        }
        let (dropped, kept) = if all { (others, VecDeque::new()) } else { (own, others) };
        self.jobs = kept;
        let mut count = dropped.len() + guests.len();
        for job in dropped {
            self.done(job.client, job.ticket, Err(interrupted()));
        }
        if (all || is_current) && self.current.is_some() {
            self.stop_engine();
            count += 1;
        }
        let text = if count == 0 {
            "nothing was running".to_owned()
        } else {
            format!("stopped {}", counted(count, "request"))
        };
        Summary { text, ..Summary::default() }
    }

    pub(super) fn stop_engine(&mut self) {
        self.stopping = true;
        if let Some(room) = &mut self.room {
            room.stop();
        }
    }
}

fn interrupted() -> Failure {
    Failure { what: "stopped before it began".to_owned(), hint: None }
}
