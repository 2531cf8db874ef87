//! Who decides at the call: the system calls of steps that the wall's filter holds back until they are decided here.
//!
//! A call is looked at in the memory of the process that makes it, which could change it meanwhile. So whatever leads
//! outside is not let through but done here instead, with what was looked at: the socket is fetched, and connected or
//! bound by this process. Only the start of a program, where the policy asks about programs, goes on in the process
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::brood::{Brood, threads};
use super::guard::{Grounds, Guard};
use super::leave::{Leave, Wish};
use super::notify::{self, Call, Held};
use super::task::{EngineError, Settings};
use super::wall::WallReply;
use crate::run::{Area, Decision};
use crate::step::{Effect, StepId};

/// How often a thread that waits looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Longest datagram that is taken over.
const DATAGRAM: usize = 65_536;
/// Most datagrams that are sent by one call, and parts that one is put together from.
const MESSAGES: u64 = 64;
const PARTS: u64 = 64;
/// Look-ups come as a connection to this name in the abstract space, which leads nowhere.
const LOOK_UP: &[u8] = b"\0reweave-look-up:";
/// Services of the system that the C library tries before it looks itself; it goes on without them.
const SERVICES: [&str; 6] =
    ["/var/run/nscd/", "/run/nscd/", "/run/systemd/", "/var/lib/sss/", "/run/dbus/", "/run/avahi-daemon/"];

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
struct Notes {
    step: Option<StepId>,
    /// What was decided, to be recorded with the execution.
    rulings: Vec<Effect>,
    /// What was given leave until the step ends.
    once: BTreeSet<(Area, String)>,
    /// Addresses of the hosts that may be reached.
    hosts: BTreeMap<String, BTreeSet<IpAddr>>,
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
    fn notes(&self) -> MutexGuard<'_, Notes> {
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
    fn may(&self, held: &Held, area: Area, target: &str) -> bool {
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

    /// A socket for datagrams, which can be sent without a connection: only where some host may be reached.
    fn datagrams(&self, held: &Held) -> Fate {
        let [domain, ..] = held.arguments;
        let open = domain != 1 && !self.notes().hosts.is_empty()
            || self.settings.policy.default_of(Area::Network) == Decision::Allow;
        if open {
            return Fate::Pass;
        }
        if domain != 1 {
            self.refused(Area::Network, "datagrams", "no host that it may reach was looked up");
        }
        Fate::Done(Err(Errno::ACCESS))
    }

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

    /// The socket that a process means, what it is for, and its kind. After the call was looked at, so that what is
    /// fetched belongs to the process that waits.
    fn socket(&self, held: &Held, number: u64) -> io::Result<(OwnedFd, AddressFamily, SocketType)> {
        let leader = held.leader().ok_or(Errno::SRCH)?;
        let process = pidfd_open(Pid::from_raw(leader).ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        let number = i32::try_from(number).map_err(|_| Errno::BADF)?;
        let socket = pidfd_getfd(process, number, PidfdGetfdFlags::empty())?;
        if !self.is_held(held) {
            return Err(Errno::SRCH.into());
        }
        let (domain, kind) = (socket_domain(&socket)?, socket_type(&socket)?);
        Ok((socket, domain, kind))
    }

    fn connect(&self, held: &Held, number: u64, address: &[u8]) -> io::Result<Fate> {
        let (socket, domain, kind) = self.socket(held, number)?;
        if domain == AddressFamily::NETLINK {
            return Ok(Fate::Pass);
        }
        if domain == AddressFamily::UNIX {
            return self.connect_unix(held, &socket, address);
        }
        if matches!(address, [0, 0, ..]) {
            return Ok(Fate::Done(rustix::net::connect_unspec(&socket).map(|()| 0)));
        }
        let Some(to) = inet(address) else { return Ok(Fate::Done(Err(Errno::AFNOSUPPORT))) };
        if !self.reaches(held, &to, kind == SocketType::STREAM) {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        Ok(Fate::Done(rustix::net::connect(&socket, &to).map(|()| 0)))
    }

    /// Whether an address may be reached. Nobody is asked about a datagram: the resolver tries what it finds.
    fn reaches(&self, held: &Held, to: &SocketAddr, asks: bool) -> bool {
        let policy = &self.settings.policy;
        let target = to.to_string();
        if policy.decide(Area::Network, &target) == Decision::Allow {
            return true;
        }
        {
            let notes = self.notes();
            let named = notes.hosts.values().any(|addresses| addresses.contains(&to.ip()));
            if named || !notes.hosts.is_empty() && to.port() == 53 && is_nameserver(to.ip()) {
                return true;
            }
        }
        if asks {
            return self.may(held, Area::Network, &target);
        }
        let leaves = &self.settings.leaves;
        let notes = self.notes();
        notes.once.contains(&(Area::Network, target.clone()))
            || leaves.covers(notes.step.as_ref(), Area::Network, &target)
    }

    fn connect_unix(&self, held: &Held, socket: &OwnedFd, address: &[u8]) -> io::Result<Fate> {
        let path = address.get(2..).unwrap_or_default();
        if let Some(asked) = path.strip_prefix(LOOK_UP) {
            let name = String::from_utf8_lossy(asked).into_owned();
            let may = self.look_up(held, &name);
            return Ok(Fate::Done(Err(if may { Errno::CONNREFUSED } else { Errno::ACCESS })));
        }
        if path.first().is_none_or(|byte| *byte == 0) {
            self.refused(Area::Network, "a socket in the abstract space", "such sockets belong to other programs");
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        let name = std::str::from_utf8(path.get(..end).unwrap_or_default()).map_err(|_| Errno::INVAL)?;
        let root = File::open(format!("/proc/{}/root", held.pid))?;
        let full = Path::new(&std::fs::read_link(format!("/proc/{}/cwd", held.pid))?).join(name);
        if SERVICES.iter().any(|service| full.starts_with(service)) {
            return Ok(Fate::Done(Err(Errno::CONNREFUSED)));
        }
        let within = ResolveFlags::IN_ROOT;
        let found = rustix::fs::openat2(&root, &full, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), within)?;
        let here = notify::path_of(&found);
        let real = std::fs::read_link(&here)?;
        let own = self.grounds.dirs.iter().any(|own| real.starts_with(own));
        if !own && !self.may(held, Area::Network, &format!("unix:{}", real.display())) {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let to = SocketAddrUnix::new(&here)?;
        Ok(Fate::Done(rustix::net::connect(socket, &to).map(|()| 0)))
    }

    /// A name is to be looked up, `host` or `host:port`: where the host may be reached, its addresses may be from now on.
    fn look_up(&self, held: &Held, name: &str) -> bool {
        let (host, port) = match name.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (name, ""),
        };
        if self.notes().hosts.contains_key(host) {
            return true;
        }
        let policy = &self.settings.policy;
        let exact = !port.is_empty() && policy.decide(Area::Network, name) == Decision::Allow;
        if !exact && !self.may(held, Area::Network, host) {
            return false;
        }
        let found = (host, 0).to_socket_addrs().map(|found| found.map(|one| one.ip()).collect()).unwrap_or_default();
        self.notes().hosts.insert(host.to_owned(), found);
        true
    }

    fn bind(&self, held: &Held, number: u64, address: &[u8]) -> io::Result<Fate> {
        let (socket, domain, kind) = self.socket(held, number)?;
        if domain != AddressFamily::INET && domain != AddressFamily::INET6 {
            // Where a file is made for it, the rules for files decide. A name in the abstract space is for everybody.
            let named = address.get(2).is_some_and(|first| *first != 0);
            if domain == AddressFamily::UNIX && !named {
                self.refused(Area::Network, "a name in the abstract space", "such sockets are open to other programs");
                return Ok(Fate::Done(Err(Errno::ACCESS)));
            }
            if let Some(why) =
                self.path_of_socket(held, address)?.and_then(|path| self.grounds.files.holds(&path, false))
            {
                self.refused(Area::Write, &String::from_utf8_lossy(address.get(2..).unwrap_or_default()), why);
                return Ok(Fate::Done(Err(Errno::ROFS)));
            }
            return Ok(Fate::Pass);
        }
        let Some(at) = inet(address) else { return Ok(Fate::Done(Err(Errno::AFNOSUPPORT))) };
        if kind == SocketType::STREAM && !self.may(held, Area::Network, &format!("listen {at}")) {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        Ok(Fate::Done(rustix::net::bind(&socket, &at).map(|()| 0)))
    }

    /// Where the file of a socket would be made.
    fn path_of_socket(&self, held: &Held, address: &[u8]) -> io::Result<Option<PathBuf>> {
        let path = address.get(2..).unwrap_or_default();
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        let Ok(name) = std::str::from_utf8(path.get(..end).unwrap_or_default()) else { return Ok(None) };
        let full = Path::new(&std::fs::read_link(format!("/proc/{}/cwd", held.pid))?).join(name);
        // Where its directory is not, the call comes to nothing.
        Ok(self.place_of(held, &full).ok().map(|place| place.full))
    }

    /// One that was never bound would listen wherever it can be reached.
    fn listen(&self, held: &Held, number: u64, most: u64) -> io::Result<Fate> {
        let (socket, domain, _) = self.socket(held, number)?;
        let here = rustix::net::getsockname(&socket).ok().and_then(|at| SocketAddr::try_from(at).ok());
        if domain != AddressFamily::UNIX
            && here.is_none_or(|here| here.port() == 0)
            && !self.may(held, Area::Network, "listen 0.0.0.0:0")
        {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let most = i32::try_from(most & 0xFFFF_FFFF).unwrap_or(i32::MAX);
        Ok(Fate::Done(rustix::net::listen(&socket, most).map(|()| 0)))
    }

    /// A datagram is sent from here, with the address and the content that were looked at. What is connected to
    /// somebody sends to nobody else.
    fn messages(&self, held: &Held, number: u64, at: u64, count: Option<u64>, flags: u64) -> io::Result<Fate> {
        let (socket, domain, kind) = self.socket(held, number)?;
        if kind != SocketType::DGRAM || domain == AddressFamily::NETLINK {
            return Ok(Fate::Pass);
        }
        if domain != AddressFamily::INET && domain != AddressFamily::INET6 {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let flags = SendFlags::from_bits_retain(u32::try_from(flags & 0xFFFF_FFFF).unwrap_or_default());
        let mut sent = 0;
        for turn in 0..count.unwrap_or(1).min(MESSAGES) {
            let from = at.saturating_add(turn * Message::STRIDE);
            let message = Message::read(held, from)?;
            let done = match &message.to {
                Some(to) if !self.reaches(held, to, false) => Err(Errno::ACCESS),
                Some(to) => rustix::net::sendto(&socket, &message.content, flags, to),
                None => rustix::net::send(&socket, &message.content, flags),
            };
            match (done, count) {
                (Ok(bytes), None) => return Ok(Fate::Done(Ok(i64::try_from(bytes).unwrap_or(i64::MAX)))),
                (Ok(bytes), Some(_)) => {
                    let told = u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes();
                    held.write(from.saturating_add(Message::LENGTH_AT), &told)?;
                    sent += 1;
                }
                (Err(error), _) if sent == 0 => return Ok(Fate::Done(Err(error))),
                (Err(_), _) => break,
            }
        }
        Ok(Fate::Done(Ok(sent)))
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
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = File::options().write(true).open(format!("/proc/{}/mem", self.pid))?;
        memory.write_all_at(bytes, at)
    }

    /// The process that the waiting thread belongs to.
    pub(super) fn leader(&self) -> Option<i32> {
        notify::leader(self.pid)
    }
}

/// `struct msghdr`, as far as a datagram goes.
struct Message {
    to: Option<SocketAddr>,
    content: Vec<u8>,
}

impl Message {
    /// From one `struct mmsghdr` to the next, and where in it the length is told.
    const STRIDE: u64 = 64;
    const LENGTH_AT: u64 = 56;

    fn read(held: &Held, at: u64) -> io::Result<Self> {
        let head = held.read(at, 32)?;
        let word = |bytes: &[u8], place: usize| -> io::Result<u64> {
            let bytes = bytes.get(place * 8..place * 8 + 8).and_then(|word| word.try_into().ok());
            bytes.map(u64::from_ne_bytes).ok_or_else(|| Errno::FAULT.into())
        };
        let (name, length) = (word(&head, 0)?, word(&head, 1)? & 0xFFFF_FFFF);
        let to = match (name, length) {
            (0, _) | (_, 0) => None,
            _ => Some(inet(&held.read(name, length.min(128))?).ok_or(Errno::AFNOSUPPORT)?),
        };
        let (parts, count) = (word(&head, 2)?, word(&head, 3)?.min(PARTS));
        let list = held.read(parts, count * 16)?;
        let mut content = Vec::new();
        for part in 0..usize::try_from(count).unwrap_or_default() {
            content.extend(held.read(word(&list, part * 2)?, word(&list, part * 2 + 1)?)?);
            if content.len() > DATAGRAM {
                return Err(Errno::MSGSIZE.into());
            }
        }
        Ok(Self { to, content })
    }
}

/// An address of version 4 or 6 as the kernel is given it.
fn inet(address: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(address.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    match family {
        2 => {
            let ip: [u8; 4] = address.get(4..8)?.try_into().ok()?;
            Some(SocketAddr::new(Ipv4Addr::from(ip).into(), port))
        }
        10 => {
            let flow = u32::from_be_bytes(address.get(4..8)?.try_into().ok()?);
            let ip: [u8; 16] = address.get(8..24)?.try_into().ok()?;
            let scope = address.get(24..28).and_then(|scope| Some(u32::from_ne_bytes(scope.try_into().ok()?)));
            Some(SocketAddrV6::new(Ipv6Addr::from(ip), port, flow, scope.unwrap_or_default()).into())
        }
        _ => None,
    }
}

/// Whether an address is one of those that names are looked up at.
fn is_nameserver(address: IpAddr) -> bool {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut named = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    named.any(|one| one.trim().parse() == Ok(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_is_given_them() {
        let four = [2, 0, 0x01, 0xBB, 10, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(inet(&four).map(|to| to.to_string()), Some("10.0.0.7:443".into()));
        let mut six = [0; 28];
        six[0] = 10;
        six[3] = 80;
        six[23] = 1;
        assert_eq!(inet(&six).map(|to| to.to_string()), Some("[::1]:80".into()));
        assert_eq!(inet(&six[..20]), None);
        assert_eq!(inet(&[1, 0, 47]), None);
        assert_eq!(inet(&[]), None);
    }
}
