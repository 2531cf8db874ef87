//! How full runs on the side compared with what is held.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::desk::{Desk, counted, engine_failure};
use super::job::JobKind;
use super::{Event, Summary};
use crate::engine::{EngineError, Verified};
use crate::step::StepId;

impl Desk {
    pub(super) fn verified(&mut self, result: Result<Verified, EngineError>) {
        let Some((job, update)) = self.current.take() else { return };
        let checked = matches!(job.kind, JobKind::Verify { check: Some(_) });
        let result = result.map_err(engine_failure).and_then(|verified| {
            if checked {
                for step in &verified.roots {
                    let (Some(held), Some(text)) = (self.book.held(step), update.text_of(step)) else {
                        continue;
                    };
                    let mut marked = (*held).clone();
                    marked.observation.nondeterministic.push("its answer with the same inputs".into());
                    self.book.executed(&Arc::new(marked), text);
                }
                self.book.settle()?;
                self.unsettled = true;
                self.settle_marks();
            }
            let text = told_of(&verified);
            let failed = verified.differences.len();
            self.send(job.client, Event::Verified { ticket: job.ticket, verified: Arc::new(verified) });
            Ok(Summary { text, failed, ..Summary::default() })
        });
        self.done(job.client, job.ticket, result);
    }
}

/// How full runs compared, in a line.
fn told_of(verified: &Verified) -> String {
    let steps: BTreeSet<&StepId> = verified.differences.iter().map(|difference| &difference.id).collect();
    let differing = match steps.len() {
        0 => "none differs".to_owned(),
        1 => "1 differs".to_owned(),
        more => format!("{more} differ"),
    };
    format!("{} compared with a run from nothing: {differing}", counted(verified.compared, "step"))
}
