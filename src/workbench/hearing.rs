//! What the engine tells of an update, a plan or a state, taken in and passed on.

use std::sync::Arc;

use super::desk::{Desk, counted, engine_failure, only_modules};
use super::engine_room::News;
use super::job::JobKind;
use super::moment::now;
use super::update::{Told, status_of};
use super::{Event, Level, PlanAction, PlanRow, Summary};
use crate::engine::{Action, EngineError, Halt, Planned, Report};
use crate::step::{Execution, Inside, Reason, Status, StepId, Variable};

impl Desk {
    pub(super) fn hear(&mut self, news: News) {
        match news {
            News::Report(report) => self.report(report),
            News::View(view) => {
                self.untold |= self.view != view;
                self.view = view;
            }
            News::Updated(result) => self.updated(result),
            News::Planned(result) => self.planned(result),
            News::State(result) => self.variables(result),
            News::Inside(result) => self.inside(result),
            News::Verifying(step) => self.broadcast(&Event::Verifying { step }),
            News::Verified(result) => self.verified(result),
            News::Tried(result) => self.tried(result),
        }
    }

    fn report(&mut self, report: Report) {
        if self.stopping {
            // It may have been asked before the engine began to listen.
            self.stop_engine();
        }
        let Some((_, update)) = &mut self.current else { return };
        match report {
            Report::Started { step, why, rebuilt } => {
                update.started(&step, why.clone());
                self.running = Some((step.clone(), now()));
                self.untold = true;
                self.broadcast(&Event::Started { step, why, rebuilt });
            }
            Report::Printed { step, chunk } => self.broadcast(&Event::Printed { step, chunk }),
            Report::Asked(question) => {
                self.questions.push(question.clone());
                self.untold = true;
                self.broadcast(&Event::Asked(question));
            }
            Report::Halted { before, why } => {
                self.halted = before.clone().filter(|_| why == Halt::Breakpoint);
                self.broadcast(&Event::Halted { before, why });
            }
            Report::Notice(text) => self.notice(Level::Warning, text),
            Report::Executed { execution, rebuilt } => {
                let mut why = update.why(&execution.step);
                if why.is_empty() {
                    why.clone_from(&execution.why);
                }
                self.running = None;
                if let Some(text) = update.text_of(&execution.step) {
                    self.book.executed(&execution, text);
                }
                let step = execution.step.clone();
                update.tell(&step, Told::Executed { execution: Arc::clone(&execution), rebuilt, why: why.clone() });
                self.settled(step, status_of(&execution), !rebuilt, rebuilt, why, Some(execution));
            }
            Report::Kept { step, execution, carried } => {
                if let Some(text) = update.text_of(&step) {
                    self.book.kept(&step, &execution, text);
                }
                update.tell(&step, Told::Kept { execution: Arc::clone(&execution), carried });
                self.settled(step, status_of(&execution), false, false, Vec::new(), Some(execution));
            }
            Report::Blocked { step, why } => {
                if let Some(text) = update.text_of(&step) {
                    self.book.blocked(&step, &why, text);
                }
                update.tell(&step, Told::Blocked { why: why.clone() });
                self.settled(step, Status::Blocked, false, false, vec![why], None);
            }
            Report::NotReached { step, why } => {
                let why = why.filter(|why| update.is_failed_at(why));
                update.tell(&step, Told::NotReached { why: why.clone() });
                if let Some(why) = why {
                    self.settled(step, Status::Blocked, false, false, vec![why], None);
                }
            }
        }
    }

    fn settled(
        &mut self,
        step: StepId,
        status: Status,
        ran: bool,
        rebuilt: bool,
        why: Vec<Reason>,
        execution: Option<Arc<Execution>>,
    ) {
        self.unsettled = true;
        self.untold = true;
        self.questions.retain(|question| question.step != step);
        self.broadcast(&Event::Settled { step, status, ran, rebuilt, why, execution });
    }

    fn updated(&mut self, result: Result<(), EngineError>) {
        let Some((job, update)) = self.current.take() else { return };
        self.running = None;
        self.questions.clear();
        self.unsettled = true;
        self.untold = true;
        let recorded = self.book.settle();
        self.settle_marks();
        let steps = update.results(|step| {
            let execution = self.book.held(step);
            match self.book.verdict(step) {
                Some(verdict) => (verdict.status, verdict.reasons.clone(), execution),
                None => (Status::Never, Vec::new(), execution),
            }
        });
        let count = |wanted: &dyn Fn(&super::StepResult) -> bool| steps.iter().filter(|step| wanted(step)).count();
        let mut summary = Summary {
            ran: count(&|step| step.ran),
            kept: count(&|step| !step.ran && !step.rebuilt && step.status == Status::Fresh),
            rebuilt: count(&|step| step.rebuilt),
            failed: update.failed(),
            text: String::new(),
        };
        summary.text = told(&summary);
        self.send(job.client, Event::Ran { ticket: job.ticket, steps: Arc::new(steps) });
        self.book.unload();
        let result = match (result, recorded) {
            (Err(error), _) => Err(engine_failure(error)),
            (Ok(()), Err(failure)) => Err(failure),
            (Ok(()), Ok(())) => Ok(summary),
        };
        // Before the answer, so that whoever has it sees the run at rest.
        self.told_at = None;
        self.tell_snapshot();
        self.done(job.client, job.ticket, result);
    }

    fn planned(&mut self, result: Result<Vec<Planned>, EngineError>) {
        let Some((job, _)) = self.current.take() else { return };
        let result = result.map_err(engine_failure).map(|planned| {
            let entries: Vec<PlanRow> = planned.into_iter().map(|planned| self.plan_row(planned)).collect();
            let runs = entries.iter().filter(|row| row.action == PlanAction::Run).count();
            self.send(job.client, Event::Plan { ticket: job.ticket, entries: Arc::new(entries) });
            Summary { text: format!("{} would run", counted(runs, "step")), ..Summary::default() }
        });
        self.done(job.client, job.ticket, result);
    }

    fn plan_row(&self, planned: Planned) -> PlanRow {
        let action = match planned.action {
            Action::Run => PlanAction::Run,
            Action::Carry => PlanAction::Carry,
            Action::Keep => PlanAction::Keep,
            Action::Blocked => PlanAction::Blocked,
        };
        let last = self.book.held_in_short(&planned.step).map(|(_, duration)| duration);
        let estimate_us = if action == PlanAction::Run { last } else { Some(0) };
        // What runs whatever else happens is certain, also after a step of which nobody knows what it will make.
        let must = |reason: &Reason| matches!(reason, Reason::NeverRun | Reason::Invalidated | Reason::Retried);
        let certain = planned.certain || (action == PlanAction::Run && planned.why.iter().any(must));
        PlanRow { id: planned.step, action, certain, why: planned.why, estimate_us }
    }

    fn variables(&mut self, result: Result<Vec<Variable>, EngineError>) {
        let Some((job, _)) = self.current.take() else { return };
        let JobKind::State { at, .. } = &job.kind else { return };
        let at = at.clone().or_else(|| self.last_step());
        let result = match (result, at) {
            (Ok(variables), Some(at)) => {
                self.send(job.client, Event::State { at, variables: Arc::new(variables) });
                Ok(Summary::default())
            }
            (Ok(_), None) => Err(only_modules()),
            (Err(error), _) => Err(engine_failure(error)),
        };
        self.done(job.client, job.ticket, result);
    }

    fn inside(&mut self, result: Result<Inside, EngineError>) {
        let Some((job, _)) = self.current.take() else { return };
        let JobKind::Inside { at, name, path } = &job.kind else { return };
        let at = at.clone().or_else(|| self.last_step());
        let result = match (result, at) {
            (Ok(inside), Some(at)) => {
                let inside = Arc::new(inside);
                self.send(job.client, Event::Inside { at, name: name.clone(), path: path.clone(), inside });
                Ok(Summary::default())
            }
            (Ok(_), None) => Err(only_modules()),
            (Err(error), _) => Err(engine_failure(error)),
        };
        self.done(job.client, job.ticket, result);
    }
}

fn told(summary: &Summary) -> String {
    let mut text = format!("{} ran, {} kept", summary.ran, summary.kept);
    if summary.rebuilt > 0 {
        text.push_str(&format!(", {} rebuilt", summary.rebuilt));
    }
    if summary.failed > 0 {
        text.push_str(&format!(", {} failed", summary.failed));
    }
    text
}
