//! The calls that steps make once, on the run's store: answers kept there, and an agent asked where there is none.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::moment::now;
use crate::agent::{AgentCommand, NoAnswer, Told};
use crate::engine::{Call, Calls};
use crate::step::{Digest, Millis};
use crate::store::{KeptCall, Key, Store, StoreError};

/// Calls on a store.
#[derive(Debug)]
pub(super) struct StoreCalls {
    store: Mutex<Store>,
    key: Option<Key>,
    /// The answers that are kept, by their calls.
    known: Mutex<HashMap<Digest, Digest>>,
    /// Who is asked, or why nobody is.
    agent: Mutex<Result<AgentCommand, String>>,
    /// Calls that an agent is being asked: the same question is asked once.
    busy: Mutex<HashSet<Digest>>,
    done: Condvar,
}

impl StoreCalls {
    /// The calls that `store` keeps, those that a worker unpacks marked with the user's key.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn open(store: Store, key: Option<Key>) -> Result<Self, StoreError> {
        let known = Mutex::new(store.kept_calls(key.as_ref())?);
        Ok(Self {
            store: Mutex::new(store),
            key,
            known,
            agent: Mutex::new(Err(NoAnswer::NoProgram.to_string())),
            busy: Mutex::default(),
            done: Condvar::new(),
        })
    }

    /// Who is asked from now on.
    pub(super) fn ask_of(&self, agent: Result<AgentCommand, String>) {
        *hold(&self.agent) = agent;
    }

    /// What is kept of a call.
    pub(super) fn call(&self, key: &Digest) -> Option<KeptCall> {
        hold(&self.store).kept_call(self.key.as_ref(), key).ok().flatten()
    }

    /// Lets go of answers.
    ///
    /// # Errors
    /// When the store can't be written.
    pub(super) fn forget(&self, keys: &[Digest]) -> Result<(), StoreError> {
        hold(&self.store).drop_calls(keys, now()).wait()?;
        hold(&self.known).retain(|key, _| !keys.contains(key));
        Ok(())
    }

    fn put(&self, call: KeptCall) {
        let (key, digest) = (call.key, call.digest());
        // A store that can't be written says so with the execution.
        let kept = hold(&self.store).keep_call(self.key.as_ref(), call).wait();
        if kept.is_ok() {
            hold(&self.known).insert(key, digest);
        }
    }

    fn ask_agent(&self, call: &Call, stop: &AtomicBool) -> Result<Vec<u8>, String> {
        let agent = hold(&self.agent).clone()?;
        let answer = agent.ask(&call.question, stop).map_err(|none| none.to_string())?;
        let took_ms = Millis::try_from(answer.took.as_millis()).unwrap_or(Millis::MAX);
        let told = Told::beside(&answer.text);
        self.put(KeptCall {
            key: call.key,
            packed: false,
            step: call.step.clone(),
            name: call.name.clone(),
            question: call.question.clone(),
            answer: answer.text.clone(),
            at: now(),
            took_ms,
            model: told.model,
            call: told.call,
            tokens: told.tokens,
        });
        Ok(answer.text)
    }
}

impl Calls for StoreCalls {
    fn kept(&self, key: &Digest) -> Option<Digest> {
        hold(&self.known).get(key).copied()
    }

    fn answer(&self, key: &Digest) -> Option<Vec<u8>> {
        self.kept(key)?;
        Some(self.call(key)?.answer)
    }

    fn ask(&self, call: &Call, stop: &AtomicBool) -> Result<Vec<u8>, String> {
        {
            let mut busy = hold(&self.busy);
            while !busy.insert(call.key) {
                if stop.load(Ordering::SeqCst) {
                    return Err(NoAnswer::Stopped.to_string());
                }
                let waited = self.done.wait_timeout(busy, Duration::from_millis(50));
                busy = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        // Another may have asked the same meanwhile.
        let answer = self.answer(&call.key).map_or_else(|| self.ask_agent(call, stop), Ok);
        hold(&self.busy).remove(&call.key);
        self.done.notify_all();
        answer
    }

    fn keep(&self, call: &Call, answer: Vec<u8>, took_ms: i64) {
        self.put(KeptCall {
            key: call.key,
            packed: true,
            step: call.step.clone(),
            name: call.name.clone(),
            question: call.question.clone(),
            answer,
            at: now(),
            took_ms,
            model: None,
            call: None,
            tokens: None,
        });
    }
}

/// Each change leaves what is behind a lock whole, so a panic elsewhere spoils nothing.
fn hold<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
