//! The end of a workbench that a face holds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Command, Request, Ticket};

/// Sends commands to a workbench, in this process or in another. Cheap to clone; a clone is the same client.
#[derive(Clone)]
pub struct Handle {
    tickets: Arc<AtomicU64>,
    deliver: Arc<dyn Fn(Request) -> bool + Send + Sync>,
}

impl Handle {
    /// A handle whose requests go to `deliver`, which says whether anyone was there to take one.
    pub fn new(deliver: impl Fn(Request) -> bool + Send + Sync + 'static) -> Self {
        Self { tickets: Arc::default(), deliver: Arc::new(deliver) }
    }

    /// Asks, without waiting: the answers come as events. A workbench that has ended answers nothing; its
    /// last event was [`super::Event::Closed`].
    pub fn send(&self, command: Command) -> Ticket {
        let ticket = Ticket(self.tickets.fetch_add(1, Ordering::Relaxed) + 1);
        (self.deliver)(Request { ticket, command });
        ticket
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn tickets_rise_and_clones_share_them() {
        let (sender, receiver) = mpsc::channel();
        let sender = std::sync::Mutex::new(sender);
        let handle = Handle::new(move |request| sender.lock().unwrap().send(request).is_ok());
        let first = handle.send(Command::Next);
        let second = handle.clone().send(Command::Stop);
        assert!(first < second);
        assert_eq!(receiver.recv().unwrap().ticket, first);
        assert_eq!(receiver.recv().unwrap().command, Command::Stop);
    }
}
