//! A client of the desk that lives in this process: a loop that asks as a face would, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use super::desk::{ClientId, Desk, Input};
use super::{Event, Failure, Handle, Summary, Talk, Ticket};
use crate::step::StepId;

/// The guest's own end.
pub(super) struct Guest {
    pub(super) talk: Talk,
    pub(super) stop: Arc<AtomicBool>,
}

/// The desk's end: for whom it works, and what ends it.
pub(super) struct Hosted {
    pub(super) events: Sender<Event>,
    pub(super) stop: Arc<AtomicBool>,
    /// Who asked for it.
    pub(super) client: ClientId,
    pub(super) ticket: Ticket,
    /// What it works on.
    pub(super) step: StepId,
    pub(super) thread: JoinHandle<()>,
}

/// What a guest ended with: what is told to who asked, and in which words.
pub(super) type Ended = Result<(Event, Summary), Failure>;

impl Guest {
    /// Whether it was asked to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

impl Desk {
    /// Has a guest in that works on `step` for `client`.
    pub(super) fn host(
        &mut self,
        (client, ticket): (ClientId, Ticket),
        step: StepId,
        work: impl FnOnce(Guest) -> Ended + Send + 'static,
    ) -> Result<(), Failure> {
        if self.guests.values().any(|hosted| hosted.step == step) {
            return Err(Failure {
                what: format!("an agent is asked about {step} already"),
                hint: Some("wait for its end, or stop it".to_owned()),
            });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (events, heard) = mpsc::channel();
        // Doors count clients up from below.
        let id = ClientId(self.guests.keys().next().map_or(u64::MAX, |least| least.0 - 1));
        let desk = self.own.clone();
        let asked = desk.clone();
        let handle = Handle::new(move |request| asked.send(Input::Ask(id, request)).is_ok());
        let guest = Guest { talk: Talk::new(handle, heard), stop: Arc::clone(&stop) };
        let thread = thread::Builder::new()
            .name("guest".to_owned())
            .spawn(move || drop(desk.send(Input::Ended(id, Box::new(work(guest))))))
            .map_err(|error| Failure { what: format!("no thread to ask an agent: {error}"), hint: None })?;
        self.guests.insert(id, Hosted { events, stop, client, ticket, step, thread });
        self.untold = true;
        Ok(())
    }

    /// A guest is done.
    pub(super) fn ended(&mut self, id: ClientId, ended: Ended) {
        let Some(hosted) = self.guests.remove(&id) else { return };
        self.untold = true;
        let result = ended.map(|(event, summary)| {
            self.send(hosted.client, event);
            summary
        });
        self.done(hosted.client, hosted.ticket, result);
    }

    /// Tells the guests that work for `client` to end; all of them when `None`. Says which.
    pub(super) fn stop_guests(&self, client: Option<ClientId>) -> Vec<ClientId> {
        let meant = self.guests.iter().filter(|(_, hosted)| client.is_none_or(|client| client == hosted.client));
        meant
            .map(|(id, hosted)| {
                hosted.stop.store(true, Ordering::SeqCst);
                *id
            })
            .collect()
    }

    /// Ends all guests, and waits until no program that they asked is left.
    pub(super) fn end_guests(&mut self) {
        self.stop_guests(None);
        for hosted in std::mem::take(&mut self.guests).into_values() {
            drop(hosted.events);
            let _ = hosted.thread.join();
        }
    }
}
