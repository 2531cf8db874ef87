//! Waiting for a running step: its output as it comes, its questions, and the limits at which it is cut off.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use super::brood::{Brood, standing};
use super::calls::Answering;
use super::opens::Opens;
use super::process::Process;
use super::protocol::{ASKED, Ask, AskedReply};
use super::stream::{Incoming, drain, wait};
use super::task::StopHandle;
use crate::step::{Answer, QuestionId, Stream};

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

impl Process {
    /// Waits for a running step, taking its output as it comes, until it answers or dies; cuts it off when
    /// asked or when its time is up: interrupt, then terminate, then kill.
    pub(super) fn attend(
        &mut self,
        limits: &Bounds,
        stop: &StopHandle,
        answering: &mut Answering,
        opens: &mut Opens,
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
            opens.look();
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
}
