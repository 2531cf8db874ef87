//! A client of the desk that lives in this process: a loop that asks as a face would, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::desk::{ClientId, Desk, Input};
use super::{Command, Event, Failure, Request, Summary, Ticket};
use crate::step::StepId;

/// The guest's own end.
pub(super) struct Guest {
    pub(super) id: ClientId,
    pub(super) desk: Sender<Input>,
    pub(super) events: Receiver<Event>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) tickets: u64,
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

    /// Asks, hands every event on the way to `each`, and waits for the end.
    pub(super) fn ask(&mut self, command: Command, each: impl FnMut(&Event)) -> Result<Summary, Failure> {
        self.ask_all(vec![command], each).pop().unwrap_or_else(|| Err(gone()))
    }

    /// Asks several things at once, and gives each one's end in the order in which they were asked.
    pub(super) fn ask_all(
        &mut self,
        commands: Vec<Command>,
        mut each: impl FnMut(&Event),
    ) -> Vec<Result<Summary, Failure>> {
        let mut asked = Vec::new();
        for command in commands {
            self.tickets += 1;
            let ticket = Ticket(self.tickets);
            let _ = self.desk.send(Input::Ask(self.id, Request { ticket, command }));
            asked.push((ticket, None));
        }
        while asked.iter().any(|(_, end)| end.is_none()) {
            match self.events.recv() {
                Ok(Event::Done { ticket, result }) => {
                    if let Some((_, end)) = asked.iter_mut().find(|(known, _)| *known == ticket) {
                        *end = Some(result);
                    }
                }
                Ok(event) => each(&event),
                Err(_) => break,
            }
        }
        asked.into_iter().map(|(_, end)| end.unwrap_or_else(|| Err(gone()))).collect()
    }

    /// Asks for something that answers with a single event.
    pub(super) fn ask_for<T>(
        &mut self,
        command: Command,
        mut answer: impl FnMut(&Event) -> Option<T>,
    ) -> Result<T, Failure> {
        let mut found = None;
        self.ask(command, |event| {
            if found.is_none() {
                found = answer(event);
            }
        })?;
        found.ok_or_else(gone)
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
        let guest = Guest { id, desk: desk.clone(), events: heard, stop: Arc::clone(&stop), tickets: 0 };
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

fn gone() -> Failure {
    Failure { what: "the workbench on this run ended".to_owned(), hint: Some("ask again".to_owned()) }
}
