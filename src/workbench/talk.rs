//! A talk with a workbench: ask, and wait for the answer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Command, Event, Failure, Handle, Snapshot, Summary};

/// A face's talk with a workbench, one question after the other.
#[derive(Debug)]
pub struct Talk {
    handle: Handle,
    events: Receiver<Event>,
    snapshot: Arc<Snapshot>,
}

impl Talk {
    /// A talk over what [`super::open`] gave.
    pub fn new(handle: Handle, events: Receiver<Event>) -> Self {
        Self { handle, events, snapshot: Arc::default() }
    }

    /// What sends without waiting.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The run as it was told last, all that was told until now taken in.
    pub fn snapshot(&mut self) -> &Snapshot {
        while let Ok(event) = self.events.try_recv() {
            self.note(&event);
        }
        &self.snapshot
    }

    fn note(&mut self, event: &Event) {
        if let Event::Snapshot(snapshot) = event {
            self.snapshot = Arc::clone(snapshot);
        }
    }

    /// Waits until the run was told.
    ///
    /// # Errors
    /// When the workbench ended before.
    pub fn begin(&mut self) -> Result<(), Failure> {
        loop {
            let event = self.events.recv().map_err(|_| gone())?;
            self.note(&event);
            match event {
                Event::Snapshot(_) => return Ok(()),
                Event::Closed => return Err(gone()),
                _ => {}
            }
        }
    }

    /// Asks, hands every event on the way to `each`, and waits for the end.
    ///
    /// # Errors
    /// What the workbench says, or that it ended.
    pub fn ask(&mut self, command: Command, each: impl FnMut(&Event)) -> Result<Summary, Failure> {
        self.ask_all(vec![command], each).pop().unwrap_or_else(|| Err(gone()))
    }

    /// Asks several things at once, and gives each one's end in the order in which they were asked.
    pub fn ask_all(&mut self, commands: Vec<Command>, each: impl FnMut(&Event)) -> Vec<Result<Summary, Failure>> {
        self.ask_within(None, commands, each).0
    }

    /// The same, and what is not answered after so long is stopped. Also says whether that was so.
    pub fn ask_within(
        &mut self,
        most: Option<Duration>,
        commands: Vec<Command>,
        mut each: impl FnMut(&Event),
    ) -> (Vec<Result<Summary, Failure>>, bool) {
        let begun = Instant::now();
        let mut stopped = false;
        let mut asked: Vec<_> = commands.into_iter().map(|command| (self.handle.send(command), None)).collect();
        while asked.iter().any(|(_, end)| end.is_none()) {
            let event = match most.filter(|_| !stopped) {
                None => self.events.recv().ok(),
                Some(most) => match self.events.recv_timeout(most.saturating_sub(begun.elapsed())) {
                    Ok(event) => Some(event),
                    Err(RecvTimeoutError::Timeout) => {
                        stopped = true;
                        self.handle.send(Command::Stop);
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => None,
                },
            };
            let Some(event) = event else { break };
            self.note(&event);
            match event {
                Event::Done { ticket, result } => {
                    if let Some((_, end)) = asked.iter_mut().find(|(known, _)| *known == ticket) {
                        *end = Some(result);
                    }
                }
                Event::Closed => break,
                event => each(&event),
            }
        }
        (asked.into_iter().map(|(_, end)| end.unwrap_or_else(|| Err(gone()))).collect(), stopped)
    }

    /// Asks for something that answers with a single event.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub fn ask_for<T>(&mut self, command: Command, mut answer: impl FnMut(&Event) -> Option<T>) -> Result<T, Failure> {
        let mut found = None;
        self.ask(command, |event| {
            if found.is_none() {
                found = answer(event);
            }
        })?;
        found.ok_or_else(gone)
    }
}

fn gone() -> Failure {
    Failure { what: "the workbench on this run ended".to_owned(), hint: Some("ask again".to_owned()) }
}
