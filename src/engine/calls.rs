//! Calls that are made once: where their answers are kept, and how a running step gets them.
//!
//! A step asks over the same socket on which it will answer; several of its threads may ask at once. Each question is
//! looked up, or asked, on a thread of its own, so that output goes on and a stop is heard.

use std::collections::HashMap;
use std::fmt::Debug;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use serde::{Deserialize, Serialize};

use crate::step::{Digest, StepId};

/// A call that a step makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Digest of all that is asked.
    pub key: Digest,
    /// The step.
    pub step: StepId,
    /// The name of the function; hostile.
    pub name: String,
    /// What is asked; hostile.
    pub question: Vec<u8>,
}

/// Where the answers of calls are kept, and who gives them.
pub trait Calls: Debug + Send + Sync {
    /// Digest of the answer that is kept under a key.
    fn kept(&self, key: &Digest) -> Option<Digest>;

    /// That answer.
    fn answer(&self, key: &Digest) -> Option<Vec<u8>>;

    /// Has an agent answer, and keeps the answer. Returns once `stop` is set.
    ///
    /// # Errors
    /// Why there is no answer.
    fn ask(&self, call: &Call, stop: &AtomicBool) -> Result<Vec<u8>, String>;

    /// Keeps what the step itself made, packed.
    fn keep(&self, call: &Call, answer: Vec<u8>, took_ms: i64);
}

/// Keeps answers as long as it lives, and knows no agent.
#[derive(Debug, Default)]
pub struct MemoryCalls(Mutex<HashMap<Digest, Vec<u8>>>);

impl Calls for MemoryCalls {
    fn kept(&self, key: &Digest) -> Option<Digest> {
        self.answer(key).map(Digest::of)
    }

    fn answer(&self, key: &Digest) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn ask(&self, _: &Call, _: &AtomicBool) -> Result<Vec<u8>, String> {
        Err("no agent is named".to_owned())
    }

    fn keep(&self, call: &Call, answer: Vec<u8>, _: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call.key, answer);
    }
}

/// Largest question of an agentic function, in bytes.
const QUESTION: usize = 16 << 20;

/// Most calls that are answered at once.
const AT_ONCE: usize = 16;

/// Most calls that wait: a step that asks for more without end is left waiting.
const WAITING: usize = 4096;

/// How a message of a running step begins that is not its end.
const BEGIN: &[u8] = br#"{"call":"#;

/// How long a step that is stopped may leave an answer unread.
const UNREAD: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
struct Message {
    call: Asked,
}

#[derive(Debug, Deserialize)]
struct Asked {
    id: u64,
    kind: Kind,
    key: Digest,
    name: String,
    #[serde(default)]
    took_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// An agent answers.
    Agentic,
    /// The step makes it itself, where nothing is kept.
    Recorded,
    /// What it made is to be kept.
    Keep,
}

#[derive(Debug, Default, Serialize)]
struct Reply<'a> {
    #[serde(rename = "do")]
    what: &'a str,
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    asked: bool,
    make: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A call that waits, with the bytes that came along.
type Waiting = (Asked, Vec<u8>);

/// The calls of one execution.
pub(super) struct Answering {
    calls: Arc<dyn Calls>,
    step: StepId,
    stop: Arc<AtomicBool>,
    line: Option<Arc<Line>>,
    queue: Option<Sender<Waiting>>,
    waiting: Option<Arc<Mutex<Receiver<Waiting>>>>,
    heard: usize,
    threads: Vec<JoinHandle<()>>,
}

/// The way to the worker, for one answer at a time.
struct Line {
    socket: OwnedFd,
    turn: Mutex<()>,
    stop: Arc<AtomicBool>,
}

impl Answering {
    pub(super) fn new(calls: Arc<dyn Calls>, step: StepId) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        Self { calls, step, stop, line: None, queue: None, waiting: None, heard: 0, threads: Vec::new() }
    }

    /// Whether a message is a call, and not the end of the step.
    pub(super) fn is_call(json: &[u8]) -> bool {
        json.starts_with(BEGIN)
    }

    /// Says something else to the worker, not in the middle of an answer.
    pub(super) fn between(&self, say: impl FnOnce()) {
        let _turn = self.line.as_ref().map(|line| line.turn.lock().unwrap_or_else(PoisonError::into_inner));
        say();
    }

    /// Takes a call in; it is answered over `socket`.
    pub(super) fn take(&mut self, json: &[u8], data: Vec<u8>, socket: &OwnedFd) {
        let Ok(Message { call }) = serde_json::from_slice(json) else { return };
        self.heard += 1;
        if self.threads.is_empty() {
            let Ok(socket) = socket.try_clone() else { return };
            let (queue, waiting) = mpsc::channel();
            self.line = Some(Arc::new(Line { socket, turn: Mutex::new(()), stop: Arc::clone(&self.stop) }));
            (self.queue, self.waiting) = (Some(queue), Some(Arc::new(Mutex::new(waiting))));
        }
        if self.threads.len() < AT_ONCE.min(self.heard)
            && let (Some(line), Some(waiting)) = (&self.line, &self.waiting)
        {
            let (calls, step) = (Arc::clone(&self.calls), self.step.clone());
            let (line, waiting) = (Arc::clone(line), Arc::clone(waiting));
            let work = move || {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((asked, data)) = next else { return };
                    let (reply, answer) = answer(&*calls, &step, &asked, data, &line.stop);
                    line.send(&reply, &answer);
                }
            };
            // Without another thread the others answer it.
            self.threads.extend(std::thread::Builder::new().name("call".to_owned()).spawn(work).ok());
        }
        if self.heard <= WAITING
            && let Some(queue) = &self.queue
        {
            let _ = queue.send((call, data));
        }
    }

    /// The step is cut off: nobody is asked any more.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// The step ended.
    pub(super) fn end(mut self) {
        self.stop();
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn answer<'a>(
    calls: &dyn Calls,
    step: &StepId,
    asked: &Asked,
    data: Vec<u8>,
    stop: &AtomicBool,
) -> (Reply<'a>, Vec<u8>) {
    let reply = |digest, was_asked| Reply { what: "call", id: asked.id, digest, asked: was_asked, ..Reply::default() };
    let failed = |why: String| (Reply { error: Some(why), ..reply(None, false) }, Vec::new());
    let call = |question| Call { key: asked.key, step: step.clone(), name: asked.name.clone(), question };
    if asked.kind == Kind::Keep {
        let digest = Digest::of(&data);
        calls.keep(&call(asked.name.clone().into_bytes()), data, asked.took_ms);
        return (reply(Some(digest), true), Vec::new());
    }
    if let Some(kept) = calls.answer(&asked.key) {
        return (reply(Some(Digest::of(&kept)), false), kept);
    }
    match asked.kind {
        Kind::Recorded | Kind::Keep => (Reply { make: true, ..reply(None, false) }, Vec::new()),
        Kind::Agentic if data.len() > QUESTION => failed(format!("it is asked more than {} MB", QUESTION >> 20)),
        Kind::Agentic => match calls.ask(&call(data), stop) {
            Ok(answer) => (reply(Some(Digest::of(&answer)), true), answer),
            Err(why) => failed(why),
        },
    }
}

impl Line {
    fn send(&self, reply: &Reply<'_>, data: &[u8]) {
        let Ok(json) = serde_json::to_vec(reply) else { return };
        let mut message = u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        message.extend_from_slice(&(data.len() as u64).to_le_bytes());
        message.extend_from_slice(&json);
        message.extend_from_slice(data);
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = message.as_slice();
        let mut stopped: Option<Instant> = None;
        while !rest.is_empty() {
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(Errno::AGAIN) => {
                    if self.stop.load(Ordering::SeqCst) && stopped.get_or_insert_with(Instant::now).elapsed() > UNREAD {
                        return;
                    }
                    let time = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
                    let _ = rustix::event::poll(&mut [PollFd::new(&self.socket.as_fd(), PollFlags::OUT)], Some(&time));
                }
                Err(Errno::INTR) => {}
                // The worker is gone: it needs no answer.
                Err(_) => return,
            }
        }
    }
}
