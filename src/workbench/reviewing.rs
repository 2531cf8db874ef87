//! What the desk answers about patches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::decide::{self, Granted, Wish};
use super::desk::{ClientId, Desk, counted, engine_failure};
use super::job::{Halts, Job, JobKind, ToTry, Wanted};
use super::moment::now;
use super::trial::{self, Before, Bench, Candidate, Kept, Ran, Stood, Tried};
use super::{Command, Event, Failure, Summary, Ticket};
use crate::engine::{EngineError, Goal, Task};
use crate::patch::Act;
use crate::step::{Author, Digest, FileChange, PatchId, PatchState, Provenance, Status, StepId};
use crate::store::Trial;

impl Desk {
    /// Answers what is asked about a patch and needs no engine.
    pub(super) fn patch(&mut self, client: ClientId, ticket: Ticket, command: Command) -> Result<Summary, Failure> {
        let text = match command {
            Command::AddPatch { text, target, from } => {
                self.look(None)?;
                let from = match from {
                    Some(from) => Provenance { at: now(), patch: None, ..*from },
                    None => Provenance::new(Author::Person, now()),
                };
                let (id, new) = self.shelf.take_in(&self.book, &text, target.as_deref(), from)?;
                let patch = self.shelf.get(id)?;
                let text = match (new, patch.state) {
                    (false, state) => format!("{id} came before and is {}: {}", state.word(), patch.title),
                    (true, PatchState::Proposed) => format!("{id} is proposed: {}", patch.title),
                    (true, state) => format!("{id} is {}: {}", state.word(), patch.title),
                };
                self.send(client, Event::Patch(patch));
                text
            }
            Command::Patch { patch } => {
                let patch = self.shelf.get(patch)?;
                self.send(client, Event::Patch(patch));
                return Ok(Summary::default());
            }
            Command::Weigh { patch, files } => {
                let choice = decide::choice(&*self.shelf.get(patch)?, &files)?;
                self.settle_marks();
                let weight = Arc::new(self.book.weigh(&choice));
                self.send(client, Event::Weighed { ticket, patch, weight });
                return Ok(Summary::default());
            }
            Command::Reject { patch, comment } => {
                decide::reject(&self.book, &mut self.shelf, patch, comment.as_deref())?
            }
            Command::Comment { patch, text } => decide::remark(&self.book, &mut self.shelf, patch, &text)?,
            Command::Revert { patch } => {
                self.look(None)?;
                let text = decide::revert(&self.book, &mut self.shelf, patch)?;
                self.look(None)?;
                text
            }
            other => return Err(Failure { what: format!("this is no question about a patch: {other:?}"), hint: None }),
        };
        self.untold = true;
        Ok(Summary { text, ..Summary::default() })
    }

    /// Accepts a choice at once, or once a trial has shown that what must pass does.
    pub(super) fn accept(&mut self, client: ClientId, ticket: Ticket, wish: Wish) -> Result<Option<Summary>, Failure> {
        self.look(None)?;
        let granted = decide::consider(&self.book, &self.shelf, &wish)?;
        let verify = &self.setup.config.verify;
        if verify.steps.is_empty() && verify.command.is_empty() {
            return self.write(client, &wish, None, Vec::new()).map(Some);
        }
        let run = self.run_without(&granted.choice);
        let seen = decide::trial_of(&self.book, &granted, run)?;
        match (seen, wish.anyway) {
            (Some((digest, view)), anyway) => match view.refusal().map(str::to_owned) {
                None => self.write(client, &wish, Some(digest), Vec::new()).map(Some),
                Some(why) if anyway => self.write(client, &wish, Some(digest), vec![why]).map(Some),
                Some(why) => Err(decide::gated(wish.patch, &why)),
            },
            (None, true) => self.write(client, &wish, None, vec!["what must pass was not tried".to_owned()]).map(Some),
            (None, false) => {
                let choices = vec![ToTry { ticket, patch: wish.patch, files: wish.files.clone(), then: Some(wish) }];
                self.jobs.push_back(Job { client, ticket, kind: JobKind::Try { choices } });
                Ok(None)
            }
        }
    }

    /// Writes what was granted to the steps.
    fn write(
        &mut self,
        client: ClientId,
        wish: &Wish,
        trial: Option<Digest>,
        overridden: Vec<String>,
    ) -> Result<Summary, Failure> {
        let granted = decide::consider(&self.book, &self.shelf, wish)?;
        self.settle_marks();
        let stale = self.book.weigh(&granted.choice).stale;
        let against = granted.against.iter().cloned().chain(overridden).collect();
        let comment = wish.comment.as_deref();
        let mut text = decide::accept(&self.book, &mut self.shelf, &granted, comment, trial, against)?;
        self.look(None)?;
        self.untold = true;
        if wish.replay && !stale.is_empty() {
            let wanted = Wanted::Following(stale.into_iter().collect());
            let kind = JobKind::Update { wanted, retry_failed: true, halts: Halts::AtBreakpoints };
            self.jobs.push_back(Job { client, ticket: Ticket(0), kind });
            text.push_str("; what it made stale is replayed");
        } else if !stale.is_empty() {
            text.push_str(&format!("; {} stale now", counted(stale.len(), "step")));
        }
        if self.running.is_some() {
            text.push_str("; what runs now still has the text before");
        }
        Ok(Summary { text, ..Summary::default() })
    }

    /// A digest of all sources of the run but those that a choice changes: a trial says nothing once others changed.
    fn run_without(&self, choice: &[FileChange]) -> Digest {
        let others = self.book.steps().iter().filter(|entry| {
            let path = entry.file.path.to_string_lossy();
            !choice.iter().any(|file| file.path == path)
        });
        let parts: Vec<Vec<u8>> = others
            .flat_map(|entry| [entry.file.id.as_str().as_bytes().to_vec(), entry.file.digest.as_bytes().to_vec()])
            .collect();
        Digest::of_parts(parts.iter().map(Vec::as_slice))
    }

    /// The choice of a patch that may be tried now.
    pub(super) fn patch_to_try(&self, id: PatchId, files: &[FileChange]) -> Result<Granted, Failure> {
        decide::considered(&self.book, &self.shelf, id, files, Act::Try)
    }

    /// A trial with all others that the same client asked for meanwhile: they are run at once.
    pub(super) fn with_others_to_try(&mut self, mut job: Job) -> Job {
        if let JobKind::Try { choices } = &mut job.kind {
            let waiting = std::mem::take(&mut self.jobs);
            for other in waiting {
                match other {
                    Job { client, kind: JobKind::Try { choices: more }, .. } if client == job.client => {
                        choices.extend(more);
                    }
                    other => self.jobs.push_back(other),
                }
            }
        }
        job
    }

    /// What is to be run on the side for these choices. One that can't be tried by now is answered and left out.
    pub(super) fn bench(&mut self, base: Vec<Task>, choices: &[ToTry]) -> Result<Bench, Failure> {
        let verify = self.setup.config.verify.clone();
        let on_error = self.setup.on_error();
        let mut candidates = Vec::new();
        let mut wanted = BTreeSet::new();
        for choice in choices {
            let granted = self.patch_to_try(choice.patch, &choice.files)?;
            let would = self.book.would(&granted.choice);
            let mut steps: BTreeSet<StepId> = self.book.weigh(&granted.choice).stale.into_iter().collect();
            steps.extend(would.changed.iter().cloned());
            let stuck = |row: &&Arc<super::StepRow>| matches!(row.status, Status::Failed | Status::Blocked);
            steps.extend(self.book.rows().iter().filter(stuck).map(|row| row.id.clone()));
            steps.extend(verify.steps.iter().cloned());
            steps.retain(|step| would.steps.iter().any(|entry| entry.file.id == *step));
            wanted.extend(steps.iter().filter(|step| self.book.step(step).is_some()).cloned());
            let tasks = self.book.tasks_with(&granted.choice)?;
            let goal = Goal { steps, on_error, ..Goal::default() };
            candidates.push(Candidate { patch: choice.patch, choice: granted.choice, tasks, goal });
        }
        let open = |step: &StepId| {
            let status = self.book.verdict(step).map(|verdict| verdict.status);
            status.is_none_or(|status| matches!(status, Status::Stale | Status::Never))
        };
        let unknown = wanted.iter().any(open).then(|| Goal { steps: wanted, on_error, ..Goal::default() });
        Ok(Bench { base, unknown, candidates, command: verify.command })
    }

    /// Keeps what trials did, tells it, and does what waited for it.
    pub(super) fn tried(&mut self, result: Result<Tried, EngineError>) {
        let Some((job, _)) = self.current.take() else { return };
        self.running = None;
        self.untold = true;
        let JobKind::Try { choices } = &job.kind else { return };
        let tried = match result {
            Ok(tried) => tried,
            Err(error) => {
                let failure = engine_failure(error);
                choices.iter().for_each(|choice| self.done(job.client, choice.ticket, Err(failure.clone())));
                return;
            }
        };
        for (choice, (candidate, ran)) in choices.iter().zip(&tried.candidates) {
            let result = match ran {
                Ok(ran) => self.keep_trial(job.client, choice, candidate, ran, tried.before.as_ref()),
                Err(error) => Err(engine_failure(error.clone())),
            };
            self.done(job.client, choice.ticket, result);
        }
    }

    fn keep_trial(
        &mut self,
        client: ClientId,
        choice: &ToTry,
        candidate: &Candidate,
        ran: &Ran,
        before: Option<&Ran>,
    ) -> Result<Summary, Failure> {
        let steps: Vec<StepId> = ran.steps.keys().cloned().collect();
        let mut stood: BTreeMap<StepId, Stood> = BTreeMap::new();
        for step in steps {
            let found = before.and_then(|before| before.steps.get(&step).cloned());
            let held = self.book.held(&step);
            let known = self.book.verdict(&step).map(|verdict| (verdict.status, held));
            stood.extend(found.or(known).map(|found| (step, found)));
        }
        let verify = self.setup.config.verify.clone();
        let view = trial::view(
            candidate,
            ran,
            &Before { stood: &|step| stood.get(step).cloned(), gates: &verify.steps, command: &verify.command },
        );
        let pass = |status| status == Status::Fresh;
        let tests = || view.steps.iter().filter(|step| step.test);
        let ids = |wanted: &dyn Fn(&super::TrialStep) -> bool| {
            tests().filter(|step| wanted(step)).map(|step| step.id.clone()).collect::<Vec<_>>()
        };
        let kept = Kept {
            choice: decide::choice_digest(&candidate.choice),
            run: self.run_without(&candidate.choice),
            view: view.clone(),
        };
        let record = Trial {
            at: now(),
            fixed: ids(&|step| !pass(step.before) && pass(step.after)),
            broken: ids(&|step| pass(step.before) && !pass(step.after)),
            result: serde_json::to_vec(&kept).unwrap_or_default(),
            context: None,
        };
        let digest = Digest::of(&record.result);
        self.book.store().record_trial(candidate.patch, &record).map_err(|error| self.book.failure(error))?;
        self.shelf.reload(self.book.store(), candidate.patch)?;
        let view = Arc::new(view);
        self.send(client, Event::Tried { patch: candidate.patch, trial: Arc::clone(&view) });
        if let Some(wish) = &choice.then {
            self.look(None)?;
            if self.run_without(&candidate.choice) != kept.run {
                return Err(Failure {
                    what: format!("the run changed while {} was tried", candidate.patch),
                    hint: Some("accept it again: it is tried anew".to_owned()),
                });
            }
            return match view.refusal() {
                Some(why) => Err(decide::gated(candidate.patch, why)),
                None => self.write(client, wish, Some(digest), Vec::new()),
            };
        }
        let (all, _, passing) = view.tests();
        let (_, failing) = view.failures();
        let text = format!(
            "tried {}: {} ran, {failing} fail or are blocked, {passing} of {} pass",
            candidate.patch,
            counted(ran.executed.len(), "step"),
            counted(all, "test"),
        );
        Ok(Summary { text, ran: ran.executed.len(), failed: failing, ..Summary::default() })
    }
}
