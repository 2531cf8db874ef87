//! The thread that listens to the keyboard and the mouse, and that can be made to stop listening.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use crate::ui::app::key::Chord;

/// What came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(Chord),
    /// Text that was pasted, with `\n` for line breaks. Hostile.
    Paste(String),
    /// The mouse.
    Pointer(Pointer),
    /// The terminal answered a question.
    Answer(Answer),
    /// The terminal is gone: nothing more will come.
    Ended,
}

/// What the mouse did, and in which cell, counted from 0 at the top left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    /// What it did.
    pub kind: PointerKind,
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerKind {
    /// The left button went down.
    Press,
    /// It moved with the left button down.
    Drag,
    /// The left button came up.
    Release,
    /// The wheel turned up.
    WheelUp,
    /// The wheel turned down.
    WheelDown,
}

/// An answer of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its background.
    Background([u8; 3]),
    /// It knows the keyboard protocol.
    Keyboard,
    /// What it is (DA1). Every terminal answers this, so that it tells that no other answer will come.
    Attributes,
}

/// How long pausing waits for the thread to say that it listens no more.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long an escape may be the beginning of more. Long enough for a slow connection to bring the rest, short
/// enough not to be felt.
const ESCAPE: Duration = Duration::from_millis(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Pause,
    Resume,
    End,
}

/// The thread.
#[derive(Debug)]
pub struct Listener {
    orders: Sender<Order>,
    paused: Receiver<()>,
    waker: source::Waker,
}

impl Listener {
    /// Begins to listen to standard input; each input is given to `tell`, on the thread's own.
    pub fn start(tell: impl FnMut(Input) + Send + 'static) -> io::Result<Self> {
        let (orders, incoming) = mpsc::channel();
        let (acknowledge, paused) = mpsc::channel();
        let (source, waker) = source::open()?;
        std::thread::Builder::new()
            .name("input".into())
            .spawn(move || listen(source, &incoming, &acknowledge, tell))?;
        Ok(Self { orders, paused, waker })
    }

    /// Stops listening, and returns once not one more byte will be read: whoever reads from the terminal now gets
    /// every key.
    pub fn pause(&self) -> io::Result<()> {
        self.order(Order::Pause)?;
        self.paused
            .recv_timeout(PATIENCE)
            .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the input did not pause"))
    }

    /// Listens again.
    pub fn resume(&self) -> io::Result<()> {
        self.order(Order::Resume)
    }

    fn order(&self, order: Order) -> io::Result<()> {
        self.orders.send(order).map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the input has ended"))?;
        self.waker.wake()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.order(Order::End));
    }
}

/// What waiting for input came to.
enum Waited {
    /// These were read.
    Inputs,
    /// An order may have come.
    Woken,
    /// The terminal is gone.
    Ended,
}

fn listen(mut source: source::Source, orders: &Receiver<Order>, acknowledge: &Sender<()>, mut tell: impl FnMut(Input)) {
    let mut inputs = Vec::new();
    loop {
        while let Ok(order) = orders.try_recv() {
            match order {
                Order::End => return,
                Order::Resume => {}
                Order::Pause => {
                    if acknowledge.send(()).is_err() {
                        return;
                    }
                    // Nothing is read until the order comes to go on.
                    match orders.recv() {
                        Ok(Order::Resume | Order::Pause) => {}
                        Ok(Order::End) | Err(_) => return,
                    }
                }
            }
        }
        match source.wait(&mut inputs) {
            Waited::Inputs | Waited::Woken => inputs.drain(..).for_each(&mut tell),
            Waited::Ended => {
                inputs.drain(..).for_each(&mut tell);
                tell(Input::Ended);
                return;
            }
        }
    }
}

/// Standard input as bytes. The thread sleeps until a byte or an order comes.
#[cfg(unix)]
mod source {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::super::parse::Parser;
    use super::{ESCAPE, Input, Waited};

    #[derive(Debug)]
    pub(super) struct Waker(OwnedFd);

    impl Waker {
        pub(super) fn wake(&self) -> io::Result<()> {
            match rustix::io::write(&self.0, &[0]) {
                // A full pipe wakes as well.
                Ok(_) | Err(Errno::AGAIN) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }

    #[derive(Debug)]
    pub(super) struct Source {
        wake: OwnedFd,
        parser: Parser,
    }

    pub(super) fn open() -> io::Result<(Source, Waker)> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok((Source { wake: read, parser: Parser::default() }, Waker(write)))
    }

    /// Whether standard input has bytes within a time (`None`: wait for ever), and whether the waker woke.
    fn ready(wake: Option<&OwnedFd>, limit: Option<Duration>) -> rustix::io::Result<(PollFlags, bool)> {
        let stdin = rustix::stdio::stdin();
        let mut fds = vec![PollFd::new(&stdin, PollFlags::IN)];
        fds.extend(wake.map(|wake| PollFd::new(wake, PollFlags::IN)));
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        poll(&mut fds, limit.as_ref())?;
        let flags = |i: usize| fds.get(i).map_or(PollFlags::empty(), PollFd::revents);
        Ok((flags(0), !flags(1).is_empty()))
    }

    impl Source {
        pub(super) fn wait(&mut self, out: &mut Vec<Input>) -> Waited {
            let limit = self.parser.is_waiting().then_some(ESCAPE);
            let (stdin, woken) = match ready(Some(&self.wake), limit) {
                Ok(ready) => ready,
                Err(Errno::INTR) => return Waited::Woken,
                Err(_) => return Waited::Ended,
            };
            if woken {
                let mut bytes = [0; 64];
                // What the bytes are doesn't matter, and if they stay this wakes again.
                let _ = rustix::io::read(&self.wake, &mut bytes);
                // Orders come first: after a pause was asked for nothing more is read.
                return Waited::Woken;
            }
            if stdin.is_empty() {
                self.parser.settle(out);
                return Waited::Inputs;
            }
            match read(&mut self.parser, out) {
                Ok(true) => Waited::Inputs,
                Ok(false) => Waited::Ended,
                Err(Errno::INTR | Errno::AGAIN) => Waited::Inputs,
                Err(_) => Waited::Ended,
            }
        }
    }

    /// Reads what is there; `false` at the end.
    fn read(parser: &mut Parser, out: &mut Vec<Input>) -> rustix::io::Result<bool> {
        let mut bytes = [0; 4096];
        let n = rustix::io::read(rustix::stdio::stdin(), &mut bytes)?;
        parser.feed(bytes.get(..n).unwrap_or_default(), out);
        Ok(n > 0)
    }

    /// Reads standard input until `enough` says so or the time is over. For questions before the thread listens.
    pub(in crate::ui::term) fn read_until(
        limit: Duration,
        mut enough: impl FnMut(&[Input]) -> bool,
    ) -> io::Result<Vec<Input>> {
        let until = std::time::Instant::now() + limit;
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        while !enough(&out) {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            match ready(None, Some(left)) {
                Ok((flags, _)) if flags.is_empty() => break,
                Ok(_) => match read(&mut parser, &mut out) {
                    Ok(true) | Err(Errno::INTR | Errno::AGAIN) => {}
                    Ok(false) => break,
                    Err(error) => return Err(error.into()),
                },
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        parser.settle(&mut out);
        Ok(out)
    }
}

/// Events of the system's own console, as crossterm reads them.
#[cfg(not(unix))]
mod source {
    use std::io;
    use std::time::Duration;

    use super::super::event::from_event;
    use super::{ESCAPE, Input, Waited};

    #[derive(Debug)]
    pub(super) struct Waker;

    impl Waker {
        pub(super) fn wake(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Debug)]
    pub(super) struct Source;

    pub(super) fn open() -> io::Result<(Source, Waker)> {
        Ok((Source, Waker))
    }

    impl Source {
        pub(super) fn wait(&mut self, out: &mut Vec<Input>) -> Waited {
            match crossterm::event::poll(ESCAPE * 4) {
                Ok(false) => Waited::Woken,
                Ok(true) => match crossterm::event::read() {
                    Ok(event) => {
                        out.extend(from_event(event));
                        Waited::Inputs
                    }
                    Err(_) => Waited::Ended,
                },
                Err(_) => Waited::Ended,
            }
        }
    }

    pub(in crate::ui::term) fn read_until(
        _limit: Duration,
        _enough: impl FnMut(&[Input]) -> bool,
    ) -> io::Result<Vec<Input>> {
        Ok(Vec::new())
    }
}

pub(super) use source::read_until;
