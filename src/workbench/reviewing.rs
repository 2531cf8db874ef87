//! What the desk answers about patches.

use std::sync::Arc;

use super::decide::{self, Wish};
use super::desk::{ClientId, Desk, counted};
use super::job::{Job, JobKind, Wanted};
use super::moment::now;
use super::{Command, Event, Failure, Summary, Ticket};
use crate::step::{Author, PatchState, Provenance};

impl Desk {
    /// Answers what is asked about a patch and needs no engine.
    pub(super) fn patch(&mut self, client: ClientId, ticket: Ticket, command: Command) -> Result<Summary, Failure> {
        let text = match command {
            Command::AddPatch { text, target, author } => {
                self.look(None)?;
                let from = Provenance::new(author.unwrap_or(Author::Person), now());
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
            Command::Accept { patch, files, comment, replay, anyway } => {
                return self.accept(client, &Wish { patch, files, comment, anyway, replay });
            }
            other => return Err(Failure { what: format!("this is no question about a patch: {other:?}"), hint: None }),
        };
        self.untold = true;
        Ok(Summary { text, ..Summary::default() })
    }

    fn accept(&mut self, client: ClientId, wish: &Wish) -> Result<Summary, Failure> {
        self.look(None)?;
        let granted = decide::consider(&self.book, &self.shelf, wish)?;
        self.settle_marks();
        let stale = self.book.weigh(&granted.choice).stale;
        let against = granted.against.clone();
        let mut text = decide::accept(&self.book, &mut self.shelf, &granted, wish.comment.as_deref(), None, against)?;
        self.look(None)?;
        self.untold = true;
        if wish.replay && !stale.is_empty() {
            let kind = JobKind::Update {
                wanted: Wanted::Following(stale.into_iter().collect()),
                retry_failed: true,
                at_most: None,
            };
            self.jobs.push_back(Job { client, ticket: Ticket(0), kind });
            text.push_str("; what it made stale is replayed");
        } else if !stale.is_empty() {
            text.push_str(&format!("; {} stale now", counted(stale.len(), "step")));
        }
        if self.current.is_some() {
            text.push_str("; what runs now still has the text before");
        }
        Ok(Summary { text, ..Summary::default() })
    }
}
