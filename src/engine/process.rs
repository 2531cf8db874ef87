//! One worker process: starting the root, forking, talking, and taking its output as it comes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;

use super::brood::{Brood, standing};
use super::calls::Answering;
use super::protocol::{
    ASKED, AsideHead, AsideReply, Ask, AskedReply, DATA_LIMIT, Done, ForkReply, JSON_LIMIT, PutReply, RootReply,
};
use super::task::{EngineError, Settings, StopHandle};
use super::wall::{self, WallHead, WallReply};
use super::warden::Warden;
use crate::run::{Area, Decision};
use crate::step::{Answer, QuestionId, Stream};

/// Bytes that are copied rather than sent by themselves.
const SMALL: usize = 64 << 10;
/// The modules of the worker, which import one another by name.
const MODULES: [(&str, &str); 19] = [
    ("calls", include_str!("worker/calls.py")),
    ("changes", include_str!("worker/changes.py")),
    ("codec", include_str!("worker/codec.py")),
    ("errors", include_str!("worker/errors.py")),
    ("evidence", include_str!("worker/evidence.py")),
    ("files", include_str!("worker/files.py")),
    ("hidden", include_str!("worker/hidden.py")),
    ("inside", include_str!("worker/inside.py")),
    ("ipython", include_str!("worker/ipython.py")),
    ("kernel", include_str!("worker/kernel.py")),
    ("magics", include_str!("worker/magics.py")),
    ("names", include_str!("worker/names.py")),
    ("shown", include_str!("worker/shown.py")),
    ("space", include_str!("worker/space.py")),
    ("uses", include_str!("worker/uses.py")),
    ("walk", include_str!("worker/walk.py")),
    ("wall", include_str!("worker/wall.py")),
    ("wire", include_str!("worker/wire.py")),
    ("worker", include_str!("worker/worker.py")),
];
const BOOTSTRAP: &str = include_str!("worker/bootstrap.py");

/// Variables that an interpreter can't do without, whatever the policy says of the environment.
const ALWAYS_THERE: [&str; 10] =
    ["PATH", "HOME", "LANG", "LC_*", "TZ", "TERM", "USER", "LOGNAME", "LD_LIBRARY_PATH", "PYTHON*"];

/// How long a worker that is not running a step may take to answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that holds a state of the run.
#[derive(Debug)]
pub(super) struct Process {
    socket: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    pub(super) pid: i32,
    /// The root is a child of this process; the others are children of one another.
    child: Option<Child>,
    /// The root holds the pipe whose end kills the whole group when this process dies.
    _lifeline: Option<OwnedFd>,
    brood: Brood,
    /// Whether there is a wall for forks to be put behind.
    has_wall: bool,
    /// Who decides on the calls of a process that is behind one.
    pub(super) warden: Option<Arc<Warden>>,
}

/// What a root is made for, besides its settings.
pub(super) struct Place<'a> {
    /// A directory of the engine's own.
    pub(super) base: &'a Path,
    /// The run's temporary directory.
    pub(super) tmp: &'a Path,
    /// What steps are kept behind; nothing where everything is allowed.
    pub(super) wall: Option<WallHead>,
}

/// Why a running step was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Asked for.
    Stopped,
    /// It took too long.
    Timeout(Duration),
    /// It held more memory than so many bytes.
    Memory(u64),
    /// It had more processes than so many.
    Processes(u64),
    /// It stopped its own process.
    Halted,
}

/// What a running step may take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    pub(super) time: Option<Duration>,
    pub(super) memory: Option<u64>,
    pub(super) processes: Option<u64>,
}

/// How often a running step's memory and processes are looked at. One that takes memory as fast as it can gets some
/// hundred megabytes in that time.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a running step's process may be stopped by a signal before it is taken to stay so.
const HALTED: Duration = Duration::from_secs(5);

impl Bounds {
    /// The bound that the process and those that it started have passed, if one.
    fn passed_by(&self, brood: &Brood, pid: i32) -> Option<Cut> {
        if self.memory.is_none() && self.processes.is_none() {
            return None;
        }
        let tree = brood.of_step(pid);
        if let Some(most) = self.processes
            && tree.len() as u64 > most
        {
            return Some(Cut::Processes(most));
        }
        let limit = self.memory?;
        (tree.iter().map(|&pid| own_memory(pid)).sum::<u64>() > limit).then_some(Cut::Memory(limit))
    }
}

/// Memory of a process that no file backs, in bytes.
fn own_memory(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let mut pages = text.split_whitespace().skip(1).map(|word| word.parse::<u64>().unwrap_or_default());
    let (resident, shared) = (pages.next().unwrap_or_default(), pages.next().unwrap_or_default());
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

/// Who listens to a running step.
pub(super) trait Ear {
    /// It printed.
    fn printed(&mut self, stream: Stream, bytes: &[u8]);

    /// It asks for a line; `None` where nobody is there to answer.
    fn asked(&mut self, text: String) -> Option<QuestionId>;

    /// The answer, once there is one.
    fn answer(&mut self, question: QuestionId) -> Option<Answer>;
}

/// What a step is told that asks where nobody answers.
const NOBODY: &str = "a step asked for input, and nobody is there to answer: run it in the workbench or from a \
    terminal, or give the value in the step instead";

/// What a step's end looks like from outside.
#[derive(Debug)]
pub(super) enum Ending {
    /// The worker answered.
    Answered { json: Vec<u8>, data: Vec<u8>, cut: Option<Cut> },
    /// The process died, or had to be killed.
    Died { cut: Option<Cut> },
}

fn lost(what: &str, error: &dyn std::fmt::Display) -> EngineError {
    EngineError { what: format!("{what}: {error}"), hint: None }
}

impl Process {
    /// Starts the interpreter and makes it the root of the run.
    pub(super) fn start(settings: &Settings, place: &Place<'_>) -> Result<(Self, RootReply), EngineError> {
        let (ours, theirs) = pair()?;
        let (out, out_write) = pipe()?;
        let (err, err_write) = pipe()?;
        let (life, life_write) = pipe()?;
        let python = &settings.python;
        let mut command = Command::new(python);
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            let always = ALWAYS_THERE
                .iter()
                .any(|kept| name == *kept || kept.strip_suffix('*').is_some_and(|k| name.starts_with(k)));
            if !always && settings.policy.decide(Area::Environment, &name) != Decision::Allow {
                command.env_remove(&variable);
            }
        }
        command
            .args(["-s", "-c", BOOTSTRAP])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(out_write))
            .stderr(Stdio::from(err_write))
            .env("PYTHONHASHSEED", settings.seed.to_string())
            .env("PYTHONIOENCODING", "utf-8:surrogateescape")
            .env("PYTHONUNBUFFERED", "")
            .env_remove("PYTHONSTARTUP")
            .env_remove("PYTHONINSPECT")
            .current_dir(&settings.dir);
        if place.wall.is_some() {
            command.env("TMPDIR", place.tmp).env("MPLCONFIGDIR", place.tmp.join("matplotlib"));
        }
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"] {
            if std::env::var_os(variable).is_none() {
                command.env(variable, settings.threads.to_string());
            }
        }
        let child = command.spawn().map_err(|error| EngineError {
            what: format!("the interpreter {} can't be started: {error}", python.display()),
            hint: Some("install python3 (3.9 or later), or name one with --python or `python` in reweave.toml".into()),
        })?;
        let pid = i32::try_from(child.id()).unwrap_or_default();
        let mut root = Self {
            socket: ours,
            stdout: out,
            stderr: err,
            pid,
            child: Some(child),
            _lifeline: Some(life_write),
            brood: Brood::of(pid),
            has_wall: place.wall.is_some(),
            warden: None,
        };
        let reply = root.introduce(settings, place, &life);
        match reply {
            Ok(reply) => Ok((root, reply)),
            Err(error) => {
                let said = root.said();
                let hint = said.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
                Err(EngineError {
                    what: format!("{} did not start as an interpreter: {}", python.display(), error.what),
                    hint: hint.or(error.hint),
                })
            }
        }
    }

    /// Sends the worker's own code and makes it the root.
    fn introduce(&mut self, settings: &Settings, place: &Place<'_>, life: &OwnedFd) -> Result<RootReply, EngineError> {
        let modules: std::collections::BTreeMap<&str, &str> = MODULES.into_iter().collect();
        let sources = serde_json::to_vec(&modules).map_err(|e| lost("the worker's code", &e))?;
        let length = u32::try_from(sources.len()).unwrap_or_default().to_le_bytes();
        self.write_all(&length)?;
        self.write_all(&sources)?;
        let ignored: Vec<String> = settings.ignore.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let spool = wall::spool(place.base);
        let ask = Ask::SetUp {
            dir: &settings.dir.to_string_lossy(),
            spool: &spool.to_string_lossy(),
            seed: settings.seed,
            ignored: &ignored,
            open_files: settings.open_files,
            file_size: settings.file_size,
            wall: place.wall.as_ref(),
        };
        self.ask(&ask, &[], &[life.as_fd()])?;
        self.answer()
    }

    /// What came on the standard streams without a step running: the interpreter's own complaints.
    fn said(&self) -> String {
        let mut text = Vec::new();
        for fd in [&self.stdout, &self.stderr] {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = rustix::io::read(fd, &mut buffer) {
                text.extend_from_slice(buffer.get(..count).unwrap_or_default());
                if text.len() > 64 << 10 {
                    break;
                }
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Leaves a copy of the process as it is now: a checkpoint, or the start of another line.
    pub(super) fn fork(&mut self) -> Result<Self, EngineError> {
        self.forked(None, false)
    }

    /// The start of a line: a fork of a root, behind the wall if there is one. `own` are the directories of the run.
    pub(super) fn fork_line(&mut self, settings: &Settings, own: Vec<PathBuf>) -> Result<Self, EngineError> {
        let mut line = self.forked(None, self.has_wall)?;
        if self.has_wall {
            let (reply, listener): (WallReply, _) = line.answer_with_descriptor()?;
            line.warden = Some(Warden::new(listener, reply.missing(), settings, own, self.brood.clone())?);
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

    fn write_all(&self, mut bytes: &[u8]) -> Result<(), EngineError> {
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

    /// An answer with a descriptor that may come along with its first bytes.
    fn answer_with_descriptor<T: DeserializeOwned>(&mut self) -> Result<(T, Option<OwnedFd>), EngineError> {
        wait(&mut [PollFd::new(&self.socket, PollFlags::IN)], PATIENCE);
        let mut head = [0; Incoming::HEAD];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = rustix::net::recvmsg(&self.socket, &mut [io::IoSliceMut::new(&mut head)], &mut control, flags)
            .map_err(|e| lost("the worker is gone", &e))?;
        let descriptor = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let incoming = Incoming { bytes: head.get(..got.bytes).unwrap_or_default().to_vec() };
        self.rest_of_answer(incoming, &mut || Ok(())).map(|(reply, _)| (reply, descriptor))
    }

    /// As [`Process::answer`], of a worker that runs code which may never end: until `stop` says so.
    pub(super) fn answer_unless<T: DeserializeOwned>(&mut self, stop: &StopHandle) -> Result<T, EngineError> {
        let stopped = || EngineError { what: "stopped while it was looked at".into(), hint: None };
        let mut go_on = || if stop.is_stopped() { Err(stopped()) } else { Ok(()) };
        self.rest_of_answer(Incoming::default(), &mut go_on).map(|(reply, _)| reply)
    }

    fn answer_with_data<T: DeserializeOwned>(&mut self) -> Result<(T, Vec<u8>), EngineError> {
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

    /// Waits for a running step, taking its output as it comes, until it answers or dies; cuts it off when
    /// asked or when its time is up: interrupt, then terminate, then kill.
    pub(super) fn attend(
        &mut self,
        limits: &Bounds,
        stop: &StopHandle,
        answering: &mut Answering,
        ear: &mut dyn Ear,
    ) -> Ending {
        let start = Instant::now();
        // How long it waited for answers: that is not the step's time.
        let mut waited = Duration::ZERO;
        let mut asked: Option<(QuestionId, Instant)> = None;
        let mut incoming = Incoming::default();
        let mut cut: Option<(Cut, Instant)> = None;
        let mut signals =
            [(Duration::ZERO, Signal::INT), (Duration::from_secs(2), Signal::TERM)].into_iter().peekable();
        let mut killed = false;
        let mut looked = start;
        let mut halted: Option<Instant> = None;
        loop {
            let mut polled = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(&self.stdout, PollFlags::IN),
                PollFd::new(&self.stderr, PollFlags::IN),
            ];
            wait(&mut polled, Duration::from_millis(20));
            let mut print = |stream: Stream, bytes: &[u8]| ear.printed(stream, bytes);
            drain(&self.stdout, Stream::Stdout, &mut print);
            drain(&self.stderr, Stream::Stderr, &mut print);
            match incoming.read(&self.socket) {
                Ok(true) if Answering::is_call(incoming.json()) => {
                    let (json, data) = std::mem::take(&mut incoming).take();
                    answering.take(&json, data, &self.socket);
                }
                Ok(true) => {
                    drain(&self.stdout, Stream::Stdout, &mut print);
                    drain(&self.stderr, Stream::Stderr, &mut print);
                    let (json, data) = std::mem::take(&mut incoming).take();
                    if json.starts_with(ASKED) && cut.is_none() {
                        let text = serde_json::from_slice::<AskedReply>(&json).map(|asked| asked.ask);
                        match ear.asked(text.unwrap_or_default()) {
                            Some(question) => asked = Some((question, Instant::now())),
                            None => answering.between(|| self.tell(None, Some(NOBODY))),
                        }
                        continue;
                    }
                    let overrun = self.warden.as_ref().is_some_and(|warden| warden.is_overrun());
                    let refused = limits.processes.filter(|_| overrun).map(Cut::Processes);
                    return Ending::Answered { json, data, cut: cut.map(|(cut, _)| cut).or(refused) };
                }
                Ok(false) => {}
                Err(_) => {
                    drain(&self.stdout, Stream::Stdout, &mut print);
                    drain(&self.stderr, Stream::Stderr, &mut print);
                    self.brood.end_step(self.pid);
                    return Ending::Died { cut: cut.map(|(cut, _)| cut) };
                }
            }
            if let Some((question, since)) = asked
                && cut.is_none()
                && let Some(answer) = ear.answer(question)
            {
                answering.between(|| match &answer {
                    Answer::Line(line) => self.tell(Some(line), None),
                    _ => self.tell(None, None),
                });
                waited += since.elapsed();
                asked = None;
            }
            if cut.is_none() {
                let waited = waited + self.warden.as_ref().map_or(Duration::ZERO, |warden| warden.waited());
                if stop.is_stopped() {
                    cut = Some((Cut::Stopped, Instant::now()));
                } else if let Some(limit) = limits.time
                    && asked.is_none()
                    && start.elapsed().saturating_sub(waited) >= limit
                {
                    cut = Some((Cut::Timeout(limit), Instant::now()));
                } else if looked.elapsed() >= LOOK_EVERY {
                    looked = Instant::now();
                    let overrun = self.warden.as_ref().is_some_and(|warden| warden.is_overrun());
                    let over = match limits.processes {
                        Some(most) if overrun => Some(Cut::Processes(most)),
                        _ => limits.passed_by(&self.brood, self.pid),
                    };
                    let is_halted = standing(self.pid) == Some('T');
                    halted = if is_halted { halted.or_else(|| Some(Instant::now())) } else { None };
                    let stays = halted.is_some_and(|since| since.elapsed() >= HALTED);
                    if let Some(over) = over.or_else(|| stays.then_some(Cut::Halted)) {
                        // It has no time left to be asked kindly.
                        self.brood.end_step(self.pid);
                        killed = true;
                        cut = Some((over, Instant::now()));
                    }
                }
            }
            if let Some((reason, since)) = cut {
                answering.stop();
                while let Some(&(after, signal)) = signals.peek()
                    && since.elapsed() >= after
                {
                    self.signal(signal);
                    signals.next();
                }
                if !killed && since.elapsed() >= Duration::from_secs(3) {
                    self.brood.end_step(self.pid);
                    killed = true;
                }
                if killed && since.elapsed() >= Duration::from_secs(6) {
                    return Ending::Died { cut: Some(reason) };
                }
            }
        }
    }

    /// Answers a step that waits. One that is gone by now needs no answer.
    fn tell(&mut self, line: Option<&str>, why: Option<&str>) {
        let _ = self.ask(&Ask::Answer { line, why }, &[], &[]);
    }

    /// Ends the process of a step that failed, and all that the step left running.
    pub(super) fn end_step(&self) {
        self.brood.end_step(self.pid);
    }

    fn signal(&self, signal: Signal) {
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

/// A message that is coming in, piece by piece.
#[derive(Debug, Default)]
struct Incoming {
    bytes: Vec<u8>,
}

impl Incoming {
    const HEAD: usize = 12;

    fn sizes(&self) -> Option<(usize, usize)> {
        let json = u32::from_le_bytes(self.bytes.get(..4)?.try_into().ok()?);
        let data = u64::from_le_bytes(self.bytes.get(4..Self::HEAD)?.try_into().ok()?);
        Some((json as usize, usize::try_from(data).unwrap_or(usize::MAX)))
    }

    /// Reads what is there; true when the message is whole.
    fn read(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        loop {
            let wanted = match self.sizes() {
                None => Self::HEAD,
                Some((json, data)) => {
                    if json > JSON_LIMIT as usize || data as u64 > DATA_LIMIT {
                        return Err(io::Error::other("it sends more than it may"));
                    }
                    Self::HEAD + json + data
                }
            };
            let have = self.bytes.len();
            if have >= Self::HEAD && have == wanted {
                return Ok(true);
            }
            let more = (wanted - have).min(1 << 20);
            self.bytes.resize(have + more, 0);
            let got = rustix::io::read(socket, self.bytes.get_mut(have..).unwrap_or_default());
            self.bytes.truncate(have + got.unwrap_or_default());
            match got {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The JSON of a message that is whole.
    fn json(&self) -> &[u8] {
        self.bytes.get(Self::HEAD..).unwrap_or_default()
    }

    fn take(mut self) -> (Vec<u8>, Vec<u8>) {
        let (json, _) = self.sizes().unwrap_or_default();
        let data = self.bytes.split_off((Self::HEAD + json).min(self.bytes.len()));
        (self.bytes.split_off(Self::HEAD.min(self.bytes.len())), data)
    }
}

/// Passes on all that is in a pipe now.
fn drain(fd: &OwnedFd, stream: Stream, print: &mut dyn FnMut(Stream, &[u8])) {
    let mut buffer = [0; 65536];
    // A bound, so that a step that prints without end can't keep the engine here.
    for _ in 0..64 {
        match rustix::io::read(fd, &mut buffer) {
            Ok(count @ 1..) => print(stream, buffer.get(..count).unwrap_or_default()),
            _ => return,
        }
    }
}

fn wait(fds: &mut [PollFd<'_>], time: Duration) {
    let time = rustix::event::Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    // An interrupted wait is looked into like one that ended.
    let _ = rustix::event::poll(fds, Some(&time));
}

fn pair() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| lost("no socket for a worker", &e))?;
    rustix::io::ioctl_fionbio(&ours, true).map_err(|e| lost("no socket for a worker", &e))?;
    Ok((ours, theirs))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let (read, write) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| lost("no pipe for a worker", &e))?;
    rustix::io::ioctl_fionbio(&read, true).map_err(|e| lost("no pipe for a worker", &e))?;
    Ok((read, write))
}
