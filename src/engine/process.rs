//! One worker process: forking it, and talking with it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;

use super::brood::Brood;
use super::guard::Grounds;
use super::protocol::{AsideHead, AsideReply, Ask, Done, ForkReply, PutReply};
use super::stream::{Incoming, pair, pipe, wait};
use super::task::{EngineError, Settings, StopHandle};
use super::wall::WallReply;
use super::warden::{self, Warden};

/// Bytes that are copied rather than sent by themselves.
const SMALL: usize = 64 << 10;
/// How long a worker that is not running a step may take to answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that holds a state of the run.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) socket: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) pid: i32,
    /// The root is a child of this process; the others are children of one another.
    pub(super) child: Option<Child>,
    /// The root holds the pipe whose end kills the whole group when this process dies.
    pub(super) _lifeline: Option<OwnedFd>,
    pub(super) brood: Brood,
    /// Whether there is a wall for forks to be put behind.
    pub(super) has_wall: bool,
    /// Who decides on the calls of a process that is behind one.
    pub(super) warden: Option<Arc<Warden>>,
}

pub(super) fn lost(what: &str, error: &dyn std::fmt::Display) -> EngineError {
    EngineError { what: format!("{what}: {error}"), hint: None }
}

impl Process {
    /// Leaves a copy of the process as it is now: a checkpoint, or the start of another line.
    pub(super) fn fork(&mut self) -> Result<Self, EngineError> {
        self.forked(None, false)
    }

    /// The start of a line: a fork of a root, behind the wall if there is one.
    pub(super) fn fork_line(&mut self, settings: &Settings, grounds: Grounds) -> Result<Self, EngineError> {
        let mut line = self.forked(None, self.has_wall)?;
        if self.has_wall {
            let reply: WallReply = line.answer()?;
            let listener = match reply.listener {
                Some(number) => Some(warden::fetch(line.pid, number)?),
                None => None,
            };
            line.warden = Some(Warden::new(listener, &reply, settings, grounds, self.brood.clone())?);
            if reply.listener.is_some() {
                // Nothing of a step runs there before its own descriptor of it is gone.
                line.ask(&Ask::GoOn, &[], &[])?;
                let _: Done = line.answer()?;
            }
        }
        Ok(line)
    }

    /// As [`Process::fork`], but the copy sees `at.copy` where the run's directory is. Also tells why it does
    /// not, if so: then it works in the copy under its own path. `root` shows it to a process behind a wall.
    pub(super) fn fork_aside(
        &mut self,
        at: &AsideHead<'_>,
        root: Option<&mut Self>,
    ) -> Result<(Self, Option<String>), EngineError> {
        let mut forked = self.forked(Some(at), false)?;
        let mut reply: AsideReply = forked.answer()?;
        if reply.waits
            && let Some(root) = root
        {
            root.ask(&Ask::Put { pid: forked.pid, places: at.places, borrowed: at.borrowed }, &[], &[])?;
            let put: PutReply = root.answer()?;
            forked.ask(&Ask::Land { unisolated: put.unisolated.as_deref() }, &[], &[])?;
            reply = forked.answer()?;
        }
        Ok((forked, reply.unisolated))
    }

    /// Has the files at these paths be read-only for steps.
    pub(super) fn protect(&mut self, paths: &[String]) -> Result<(), EngineError> {
        if self.has_wall {
            self.ask(&Ask::Protect { paths }, &[], &[])?;
            let _: Done = self.answer()?;
        }
        Ok(())
    }

    fn forked(&mut self, aside: Option<&AsideHead<'_>>, wall: bool) -> Result<Self, EngineError> {
        let (ours, theirs) = pair()?;
        let (out, out_write) = pipe()?;
        let (err, err_write) = pipe()?;
        // A step that stopped its whole group stopped the checkpoints with it.
        self.signal(Signal::CONT);
        self.ask(&Ask::Fork { aside, wall }, &[], &[theirs.as_fd(), out_write.as_fd(), err_write.as_fd()])?;
        let reply: ForkReply = self.answer()?;
        self.brood.add(reply.pid);
        Ok(Self {
            socket: ours,
            stdout: out,
            stderr: err,
            pid: reply.pid,
            child: None,
            _lifeline: None,
            brood: self.brood.clone(),
            has_wall: self.has_wall,
            warden: self.warden.clone(),
        })
    }

    /// Asks without waiting for the answer.
    pub(super) fn ask(&mut self, ask: &Ask<'_>, data: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), EngineError> {
        let json = serde_json::to_vec(ask).map_err(|e| lost("a message to the worker", &e))?;
        let mut head = u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        head.extend_from_slice(&(data.len() as u64).to_le_bytes());
        head.extend_from_slice(&json);
        // In one piece, so that the worker is woken once.
        let (together, rest) = if data.len() <= SMALL { (data, &[][..]) } else { (&[][..], data) };
        head.extend_from_slice(together);
        self.send_with(&head, fds)?;
        self.write_all(rest)
    }

    fn send_with(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), EngineError> {
        if fds.is_empty() {
            return self.write_all(bytes);
        }
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(fds));
        loop {
            let slices = [io::IoSlice::new(bytes)];
            match rustix::net::sendmsg(&self.socket, &slices, &mut control, SendFlags::NOSIGNAL) {
                Ok(sent) => return self.write_all(bytes.get(sent..).unwrap_or_default()),
                // It has not read yet what was sent before.
                Err(Errno::AGAIN) => wait(&mut [PollFd::new(&self.socket, PollFlags::OUT)], PATIENCE),
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost("the worker is gone", &error)),
            }
        }
    }

    pub(super) fn write_all(&self, mut bytes: &[u8]) -> Result<(), EngineError> {
        while !bytes.is_empty() {
            match rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(Errno::AGAIN) => {
                    wait(&mut [PollFd::new(&self.socket, PollFlags::OUT)], PATIENCE);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost("the worker is gone", &error)),
            }
        }
        Ok(())
    }

    /// Waits for the answer of a worker that runs no step.
    pub(super) fn answer<T: DeserializeOwned>(&mut self) -> Result<T, EngineError> {
        self.answer_with_data().map(|(reply, _)| reply)
    }

    /// As [`Process::answer`], of a worker that runs code which may never end: until `stop` says so.
    pub(super) fn answer_unless<T: DeserializeOwned>(&mut self, stop: &StopHandle) -> Result<T, EngineError> {
        let stopped = || EngineError { what: "stopped while it was looked at".into(), hint: None };
        let mut go_on = || if stop.is_stopped() { Err(stopped()) } else { Ok(()) };
        self.rest_of_answer(Incoming::default(), &mut go_on).map(|(reply, _)| reply)
    }

    pub(super) fn answer_with_data<T: DeserializeOwned>(&mut self) -> Result<(T, Vec<u8>), EngineError> {
        self.rest_of_answer(Incoming::default(), &mut || Ok(()))
    }

    fn rest_of_answer<T: DeserializeOwned>(
        &mut self,
        mut incoming: Incoming,
        go_on: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<(T, Vec<u8>), EngineError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match incoming.read(&self.socket) {
                Ok(true) => {
                    let (json, data) = incoming.take();
                    let reply = serde_json::from_slice(&json).map_err(|e| lost("the worker's answer is broken", &e))?;
                    return Ok((reply, data));
                }
                Ok(false) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(lost("the worker does not answer", &"it was given two minutes"));
                    }
                    go_on()?;
                    wait(&mut [PollFd::new(&self.socket, PollFlags::IN)], left.min(Duration::from_millis(100)));
                }
                Err(error) => return Err(lost("the worker is gone", &error)),
            }
        }
    }

    /// Ends the process of a step that failed, and all that the step left running.
    pub(super) fn end_step(&self) {
        self.brood.end_step(self.pid);
    }

    /// Ends it, and waits until it has let its memory go, where that can be told.
    pub(super) fn end(self) {
        #[cfg(target_os = "linux")]
        let process = Pid::from_raw(self.pid)
            .and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
        drop(self);
        #[cfg(target_os = "linux")]
        if let Some(process) = process {
            wait(&mut [PollFd::new(&process, PollFlags::IN)], Duration::from_secs(1));
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            // A process that is gone needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// The memory that the process has in use, what it shares with others included, in bytes.
    pub(super) fn resident_memory(&self) -> u64 {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{}/statm", self.pid)) else { return u64::MAX };
        let pages: u64 = text.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(u64::MAX);
        pages.saturating_mul(rustix::param::page_size() as u64)
    }

    /// Memory that this process holds for itself alone, in bytes.
    pub(super) fn private_memory(&self) -> u64 {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)) else { return 0 };
        text.lines()
            .filter(|line| line.starts_with("Private_"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum::<u64>()
            * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.brood.end_all();
        }
        // A worker that waits ends when its socket closes; one that runs a step must be told.
        self.signal(Signal::KILL);
        self.brood.remove(self.pid);
        if let Some(mut child) = self.child.take() {
            // The root leads the session and the group of all workers and of what steps started in it.
            if let Some(group) = Pid::from_raw(self.pid) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait();
        }
    }
}
