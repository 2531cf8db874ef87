//! Who decides at the call: the system calls of steps that the wall's filter holds back until they are decided here.
//!
//! A call is looked at in the memory of the process that makes it, which could change it meanwhile. So whatever leads
//! outside is not let through but done here instead, with what was looked at: the socket is fetched, and connected or
//! bound by this process. Only the start of a program, where the policy asks about programs, goes on in the process
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::brood::{Brood, threads};
use super::guard::{Grounds, Guard};
use super::leave::{Leave, Wish};
use super::network::{DATAGRAM, inet};
use super::notify::{self, Call, Held};
use super::task::{EngineError, Settings};
use super::wall::WallReply;
use crate::run::{Area, Decision};
use crate::step::{Effect, StepId};

/// How often a thread that waits looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Decides on the calls of one line of processes: a fork of the root and all that comes of it.
#[derive(Debug)]
pub(super) struct Warden {
    desk: Arc<Desk>,
    /// What of the policy nothing enforces.
    pub(super) missing: Vec<String>,
    /// Whether the run's own files are read-only for steps.
    pub(super) mounted: bool,
}

#[derive(Debug)]
pub(super) struct Desk {
    listener: Option<OwnedFd>,
    pub(super) settings: Settings,
    /// Sockets in the directories of the run are its own too.
    pub(super) grounds: Grounds,
    brood: Brood,
    /// The process that a step runs in, for counting.
    runs_in: AtomicI32,
    /// How many more processes may be started until they are counted again.
    budget: AtomicU64,
    overrun: AtomicBool,
    closed: AtomicBool,
    /// Whether a call that changes files went on in a process that others could interfere with.
    pub(super) raced: AtomicBool,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) step: Option<StepId>,
    /// What was decided, to be recorded with the execution.
    rulings: Vec<Effect>,
    /// What was given leave until the step ends.
    pub(super) once: BTreeSet<(Area, String)>,
    /// Addresses of the hosts that may be reached.
    pub(super) hosts: BTreeMap<String, BTreeSet<IpAddr>>,
    /// How many questions wait for an answer, and since when; and for how long there were any.
    waiting: usize,
    since: Option<Instant>,
    waited: Duration,
}

/// The descriptor at which the calls of a process wait.
pub(super) fn fetch(pid: i32, number: i32) -> Result<OwnedFd, EngineError> {
    let fetched = Pid::from_raw(pid)
        .ok_or(Errno::SRCH)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()))
        .and_then(|process| pidfd_getfd(process, number, PidfdGetfdFlags::empty()));
    fetched.map_err(|error| EngineError {
        what: format!("the calls of steps can't be asked about: {error}"),
        hint: Some("`policy.preset = \"trusted\"` in your config.toml runs steps without a wall".into()),
    })
}

impl Warden {
    /// Takes up its work where there is a listener; without one it decides on nothing.
    pub(super) fn new(
        listener: Option<OwnedFd>,
        reply: &WallReply,
        settings: &Settings,
        grounds: Grounds,
        brood: Brood,
    ) -> Result<Arc<Self>, EngineError> {
        let starts = listener.is_some();
        let desk = Arc::new(Desk {
            listener,
            settings: settings.clone(),
            grounds,
            brood,
            runs_in: AtomicI32::new(0),
            budget: AtomicU64::new(0),
            overrun: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            raced: AtomicBool::new(false),
            notes: Mutex::default(),
        });
        if starts {
            let works = Arc::clone(&desk);
            let started = std::thread::Builder::new().name("warden".to_owned()).spawn(move || works.serve());
            started.map_err(|error| EngineError { what: format!("no thread for the policy: {error}"), hint: None })?;
        }
        Ok(Arc::new(Self { desk, missing: reply.missing(), mounted: reply.is_mounted() }))
    }

    /// A step begins in this process.
    pub(super) fn begin(&self, step: &StepId, pid: i32) {
        self.desk.runs_in.store(pid, Ordering::SeqCst);
        self.desk.budget.store(0, Ordering::SeqCst);
        self.desk.overrun.store(false, Ordering::SeqCst);
        self.desk.raced.store(false, Ordering::SeqCst);
        let mut notes = self.desk.notes();
        *notes = Notes { step: Some(step.clone()), hosts: std::mem::take(&mut notes.hosts), ..Notes::default() };
        let (step, leaves) = (notes.step.clone(), &self.desk.settings.leaves);
        let policy = &self.desk.settings.policy;
        notes.hosts.retain(|host, _| {
            policy.decide(Area::Network, host) == Decision::Allow || leaves.covers(step.as_ref(), Area::Network, host)
        });
    }

    /// The step has ended: what was decided meanwhile.
    pub(super) fn end(&self) -> Vec<Effect> {
        let mut notes = self.desk.notes();
        notes.step = None;
        notes.once.clear();
        std::mem::take(&mut notes.rulings)
    }

    /// Whether calls are decided on at all.
    pub(super) fn is_asked(&self) -> bool {
        self.desk.listener.is_some()
    }

    /// Whether the step was refused a process because it had as many as it may.
    pub(super) fn is_overrun(&self) -> bool {
        self.desk.overrun.load(Ordering::SeqCst)
    }

    /// Whether `guard` notes the run's own files before a call goes on that could change them unseen.
    pub(super) fn notes_for(&self, guard: &Guard) -> bool {
        self.is_asked() && self.desk.grounds.guard.is(guard)
    }

    /// Whether the step could have changed files of the run's own without anybody having seen it.
    pub(super) fn may_have_changed(&self) -> bool {
        self.desk.listener.is_some() && self.desk.raced.load(Ordering::SeqCst)
    }

    /// For how long the step has waited for answers: that is not its own time.
    pub(super) fn waited(&self) -> Duration {
        let notes = self.desk.notes();
        notes.waited + notes.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.desk.closed.store(true, Ordering::SeqCst);
    }
}

/// What becomes of a call.
pub(super) enum Fate {
    /// It goes on.
    Pass,
    /// It was done here, or is refused: this is what it returns.
    Done(Result<i64, Errno>),
}

impl Desk {
    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until the warden, or the last process behind the wall, is gone.
    fn serve(self: Arc<Self>) {
        let Some(listener) = &self.listener else { return };
        while !self.closed.load(Ordering::SeqCst) {
            let mut polled = [PollFd::new(listener, PollFlags::IN)];
            let time = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_EVERY.subsec_nanos()) };
            if !matches!(rustix::event::poll(&mut polled, Some(&time)), Ok(1..)) {
                continue;
            }
            let [found] = polled;
            if !found.revents().contains(PollFlags::IN) {
                if found.revents().contains(PollFlags::HUP) {
                    return;
                }
                continue;
            }
            // One that was taken back meanwhile leaves nothing to take.
            let Ok(held) = notify::receive(listener) else { continue };
            match held.call {
                Call::Fork => {
                    let fate = if self.may_fork() { Fate::Pass } else { Fate::Done(Err(Errno::AGAIN)) };
                    self.reply(&held, fate);
                }
                Call::Change(change) => {
                    let fate = self.change(&held, change);
                    self.reply(&held, fate);
                }
                Call::Others { which } => {
                    let fate = if self.is_of_step(&held, which) { Fate::Pass } else { Fate::Done(Err(Errno::PERM)) };
                    self.reply(&held, fate);
                }
                Call::Socket => {
                    let fate = self.datagrams(&held);
                    self.reply(&held, fate);
                }
                // To connect may take minutes, and a person longer.
                _ => {
                    let works = Arc::clone(&self);
                    let given = std::thread::Builder::new().name("warden-call".to_owned()).spawn(move || {
                        let fate = works.outward(&held);
                        works.reply(&held, fate);
                    });
                    // Without a thread there is no answer: the call stays held until its process ends.
                    if given.is_err() {
                        tracing::warn!("no thread for a call that the policy decides on");
                    }
                }
            }
        }
    }

    fn reply(&self, held: &Held, fate: Fate) {
        let Some(listener) = &self.listener else { return };
        // A process that is gone needs no answer.
        let _ = match fate {
            Fate::Pass => notify::pass(listener, held),
            Fate::Done(Ok(value)) => notify::done(listener, held, value),
            Fate::Done(Err(error)) => notify::refuse(listener, held, error),
        };
    }

    pub(super) fn is_held(&self, held: &Held) -> bool {
        !self.closed.load(Ordering::SeqCst) && self.listener.as_ref().is_some_and(|l| notify::is_held(l, held))
    }

    // -- processes ----------------------------------------------------------------------------------------

    fn may_fork(&self) -> bool {
        let Some(most) = self.settings.processes else { return true };
        if self.overrun.load(Ordering::SeqCst) {
            return false;
        }
        let left = self.budget.load(Ordering::SeqCst);
        if left > 0 {
            self.budget.store(left - 1, Ordering::SeqCst);
            return true;
        }
        let pid = self.runs_in.load(Ordering::SeqCst);
        let have: u64 = self.brood.of_step(pid).into_iter().map(threads).sum();
        if have >= most {
            // Between steps only the engine's own forks come here, beside what a step left running.
            self.overrun.store(self.notes().step.is_some(), Ordering::SeqCst);
            return false;
        }
        self.budget.store(most - have - 1, Ordering::SeqCst);
        true
    }

    /// Whether a process has company that could reach into what it does: other threads, or processes of the step.
    pub(super) fn tasks_beside(&self, leader: i32) -> bool {
        threads(leader) > 1 || self.brood.of_step(self.runs_in.load(Ordering::SeqCst)).len() > 1
    }

    /// Whether a process, or thread, that a call names is one of the step's own.
    fn is_of_step(&self, held: &Held, which: usize) -> bool {
        let [first, second, ..] = held.arguments;
        let named = if which == 0 { first } else { second };
        let Ok(named) = i32::try_from(named & 0xFFFF_FFFF) else { return false };
        let leader = notify::leader(named);
        named != 0
            && leader.is_some_and(|leader| self.brood.of_step(self.runs_in.load(Ordering::SeqCst)).contains(&leader))
    }

    // -- decisions ----------------------------------------------------------------------------------------

    /// Whether it is allowed, asking where the policy says so.
    pub(super) fn may(&self, held: &Held, area: Area, target: &str) -> bool {
        match self.settings.policy.decide(area, target) {
            Decision::Allow => true,
            Decision::Deny => {
                self.refused(area, target, "the policy says no");
                false
            }
            Decision::Ask => self.ask(held, area, target),
        }
    }

    fn ask(&self, held: &Held, area: Area, target: &str) -> bool {
        let step = {
            let mut notes = self.notes();
            let given = notes.once.contains(&(area, target.to_owned()))
                || self.settings.leaves.covers(notes.step.as_ref(), area, target);
            if given {
                return true;
            }
            notes.waiting += 1;
            notes.since.get_or_insert_with(Instant::now);
            notes.step.clone()
        };
        let question = Wish { step: step.clone(), area, target: target.to_owned() };
        let answer = self.settings.asker.as_ref().and_then(|asker| asker.ask(&question, &|| self.is_held(held)));
        let mut notes = self.notes();
        notes.waiting = notes.waiting.saturating_sub(1);
        if notes.waiting == 0
            && let Some(since) = notes.since.take()
        {
            notes.waited += since.elapsed();
        }
        match answer {
            Some(Leave::Once) => drop(notes.once.insert((area, target.to_owned()))),
            Some(Leave::Step) => self.settings.leaves.give(step, area, target),
            Some(Leave::Run) => self.settings.leaves.give(None, area, target),
            Some(Leave::No) | None => {
                drop(notes);
                let why =
                    if answer.is_some() { "answered no" } else { "the policy asks, and nobody is there to answer" };
                self.refused(area, target, why);
                return false;
            }
        }
        let why = answer.map(Leave::word).unwrap_or_default().to_owned();
        notes.rulings.push(Effect::Granted { area: area.word().to_owned(), target: target.to_owned(), why });
        true
    }

    pub(super) fn refused(&self, area: Area, target: &str, why: &str) {
        let effect = Effect::Refused { area: area.word().to_owned(), target: target.to_owned(), why: why.to_owned() };
        let mut notes = self.notes();
        if notes.rulings.len() < 1000 && !notes.rulings.contains(&effect) {
            notes.rulings.push(effect);
        }
    }

    // -- calls --------------------------------------------------------------------------------------------

    fn outward(&self, held: &Held) -> Fate {
        match self.try_outward(held) {
            Ok(fate) => fate,
            Err(error) => Fate::Done(Err(Errno::from_io_error(&error).unwrap_or(Errno::ACCESS))),
        }
    }

    fn try_outward(&self, held: &Held) -> io::Result<Fate> {
        let [first, second, third, fourth, fifth, sixth] = held.arguments;
        match held.call {
            Call::Execute { at } => {
                let path = self.program(held, if at { second } else { first })?;
                // Along the `PATH` a program is tried where there is none.
                let found = self.open(held, Path::new(&path))?;
                let may =
                    self.is_held(held) && (self.is_interpreter(&found, &path) || self.may(held, Area::Process, &path));
                Ok(if may { Fate::Pass } else { Fate::Done(Err(Errno::ACCESS)) })
            }
            Call::Connect => self.connect(held, first, &held.read(second, third.min(128))?),
            Call::Bind => self.bind(held, first, &held.read(second, third.min(128))?),
            Call::Send => {
                let address = held.read(fifth, sixth.min(128))?;
                let flags = SendFlags::from_bits_retain(u32::try_from(fourth & 0xFFFF_FFFF).unwrap_or_default());
                let length = usize::try_from(third).unwrap_or(usize::MAX);
                let (socket, domain, kind) = self.socket(held, first)?;
                if domain == AddressFamily::UNIX && kind != SocketType::STREAM {
                    return Ok(Fate::Done(Err(Errno::ACCESS)));
                }
                let (Some(to), SocketType::DGRAM) = (inet(&address), kind) else { return Ok(Fate::Pass) };
                if length > DATAGRAM {
                    return Ok(Fate::Done(Err(Errno::MSGSIZE)));
                }
                if !self.reaches(held, &to, false) {
                    return Ok(Fate::Done(Err(Errno::ACCESS)));
                }
                let data = held.read(second, third)?;
                let sent = rustix::net::sendto(&socket, &data, flags, &to);
                Ok(Fate::Done(sent.map(|count| i64::try_from(count).unwrap_or(i64::MAX))))
            }
            Call::Listen => self.listen(held, first, second),
            Call::Message => self.messages(held, first, second, None, third),
            Call::Messages => self.messages(held, first, second, Some(third), fourth),
            Call::Fork | Call::Socket | Call::Others { .. } | Call::Change(_) | Call::Other => {
                Ok(Fate::Done(Err(Errno::ACCESS)))
            }
        }
    }

    /// Whether a program is the interpreter that executes the steps, and no rule names it. It can do nothing that the step
    /// could not do itself: what it starts in turn is asked about.
    fn is_interpreter(&self, found: &OwnedFd, path: &str) -> bool {
        let policy = &self.settings.policy;
        let own = std::fs::read_link(format!("/proc/{}/exe", self.runs_in.load(Ordering::SeqCst)));
        policy.default_of(Area::Process) != Decision::Deny
            && !policy.names(Area::Process, path)
            && own.is_ok_and(|own| std::fs::read_link(notify::path_of(found)).is_ok_and(|found| found == own))
    }

    fn program(&self, held: &Held, pointer: u64) -> io::Result<String> {
        let mut text = held.read(pointer, 4096)?;
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        let named = PathBuf::from(String::from_utf8_lossy(&text).into_owned());
        let full = std::fs::read_link(format!("/proc/{}/cwd", held.pid))?.join(named);
        Ok(full.to_string_lossy().into_owned())
    }
}

impl Held {
    /// Bytes of the memory of the process that waits: as many as there are up to `length`.
    pub(super) fn read(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default().min(DATAGRAM)];
        let memory = File::open(format!("/proc/{}/mem", self.pid))?;
        let got = memory.read_at(&mut bytes, at)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// Writes into its memory.
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = File::options().write(true).open(format!("/proc/{}/mem", self.pid))?;
        memory.write_all_at(bytes, at)
    }

    /// The process that the waiting thread belongs to.
    pub(super) fn leader(&self) -> Option<i32> {
        notify::leader(self.pid)
    }
}
