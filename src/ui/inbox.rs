//! Where everything that happens waits for the interface's thread: what a person does before what the run tells.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A queue with an express lane. Cheap to clone; a clone is the same queue.
#[derive(Debug)]
pub struct Inbox<U, O>(Arc<Shared<U, O>>);

#[derive(Debug)]
struct Shared<U, O> {
    lanes: Mutex<Lanes<U, O>>,
    came: Condvar,
}

#[derive(Debug)]
struct Lanes<U, O> {
    urgent: VecDeque<U>,
    ordinary: VecDeque<O>,
}

impl<U, O> Clone for Inbox<U, O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<U, O> Default for Inbox<U, O> {
    fn default() -> Self {
        let lanes = Mutex::new(Lanes { urgent: VecDeque::new(), ordinary: VecDeque::new() });
        Self(Arc::new(Shared { lanes, came: Condvar::new() }))
    }
}

impl<U, O> Inbox<U, O> {
    fn lanes(&self) -> MutexGuard<'_, Lanes<U, O>> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in what can't wait.
    pub fn urgent(&self, what: U) {
        self.lanes().urgent.push_back(what);
        self.0.came.notify_one();
    }

    /// Puts in what can wait.
    pub fn ordinary(&self, what: O) {
        self.lanes().ordinary.push_back(what);
        self.0.came.notify_one();
    }

    /// Waits until something comes, at most until a moment; with `None` for as long as it takes. Says whether there
    /// is anything.
    pub fn wait(&self, until: Option<Instant>) -> bool {
        let mut lanes = self.lanes();
        while lanes.urgent.is_empty() && lanes.ordinary.is_empty() {
            lanes = match until {
                None => self.0.came.wait(lanes).unwrap_or_else(PoisonError::into_inner),
                Some(moment) => {
                    let left = moment.saturating_duration_since(Instant::now());
                    if left == Duration::ZERO {
                        return false;
                    }
                    self.0.came.wait_timeout(lanes, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    /// All that can't wait.
    pub fn take_urgent(&self) -> VecDeque<U> {
        std::mem::take(&mut self.lanes().urgent)
    }

    /// The next of what can wait.
    pub fn next_ordinary(&self) -> Option<O> {
        self.lanes().ordinary.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_wait_goes_before() {
        let inbox: Inbox<char, u8> = Inbox::default();
        assert!(!inbox.wait(Some(Instant::now())));
        inbox.ordinary(1);
        inbox.ordinary(2);
        inbox.urgent('a');
        assert!(inbox.wait(None));
        assert_eq!(inbox.take_urgent(), ['a']);
        assert_eq!(inbox.next_ordinary(), Some(1));
        assert_eq!(inbox.next_ordinary(), Some(2));
        assert_eq!(inbox.next_ordinary(), None);
    }

    #[test]
    fn who_waits_is_woken_from_another_thread() {
        let inbox: Inbox<char, u8> = Inbox::default();
        let other = inbox.clone();
        let thread = std::thread::spawn(move || other.ordinary(7));
        assert!(inbox.wait(None));
        thread.join().unwrap();
    }
}
