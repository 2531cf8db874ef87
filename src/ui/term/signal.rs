//! Signals: what the system tells the process, as messages.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set while an editor has the terminal: signals from its keyboard are meant for it.
static LENT: AtomicBool = AtomicBool::new(false);

/// Set while the process stops itself, so that being continued is not told twice.
static SUSPENDED: AtomicBool = AtomicBool::new(false);

/// What the system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// End, in order, with this exit status: 128 and the signal's number.
    End(i32),
    /// Stop until continued: the terminal must be given back first.
    Suspend,
    /// The process was stopped from outside and goes on: the terminal may be in any mode.
    Continued,
    /// The terminal has another size.
    Resized,
}

/// Marks the terminal as lent while it lives.
#[derive(Debug)]
pub(super) struct Lent(());

impl Lent {
    pub(super) fn begin() -> Self {
        LENT.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.store(false, Ordering::SeqCst);
    }
}

/// What a signal means to the workbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Tell(Signal),
    /// Stop at once, without touching the terminal: whoever it is lent to has left it in order.
    Stop,
    Ignore,
}

#[cfg(unix)]
fn meaning(signal: i32, lent: bool, suspended: bool) -> Meaning {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
    match signal {
        SIGINT | SIGQUIT | SIGWINCH if lent => Meaning::Ignore,
        SIGTSTP if lent => Meaning::Stop,
        SIGCONT if lent || suspended => Meaning::Ignore,
        SIGINT | SIGQUIT | SIGTERM | SIGHUP => Meaning::Tell(Signal::End(128 + signal)),
        SIGTSTP => Meaning::Tell(Signal::Suspend),
        SIGCONT => Meaning::Tell(Signal::Continued),
        SIGWINCH => Meaning::Tell(Signal::Resized),
        _ => Meaning::Ignore,
    }
}

/// How long the workbench has to end in order before the terminal is given back and the process ended for it.
#[cfg(unix)]
const GRACE: std::time::Duration = std::time::Duration::from_secs(3);

/// Begins to listen; each signal is given to `tell`, on a thread of its own. A second request to end, or one that is
/// not followed within three seconds, gives the terminal back and ends the process.
#[cfg(unix)]
pub fn listen(tell: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};

    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH])?;
    let end = |status: i32| -> ! {
        super::session::restore();
        signal_hook::low_level::exit(status)
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut ending = false;
        for signal in signals.forever() {
            let suspended = signal == SIGCONT && SUSPENDED.swap(false, Ordering::SeqCst);
            match meaning(signal, LENT.load(Ordering::SeqCst), suspended) {
                Meaning::Tell(Signal::End(status)) if ending => end(status),
                Meaning::Tell(Signal::End(status)) => {
                    ending = true;
                    tell(Signal::End(status));
                    let late = std::thread::Builder::new().name("last resort".into()).spawn(move || {
                        std::thread::sleep(GRACE);
                        end(status)
                    });
                    if late.is_err() {
                        end(status);
                    }
                }
                Meaning::Tell(signal) => tell(signal),
                Meaning::Stop => {
                    use rustix::process::{Signal, getpid, kill_process};
                    // Stopping oneself can't be refused.
                    let _ = kill_process(getpid(), Signal::STOP);
                }
                Meaning::Ignore => {}
            }
        }
    })?;
    Ok(())
}

/// Systems without these signals tell nothing.
#[cfg(not(unix))]
pub fn listen(_tell: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    Ok(())
}

/// Whether a shell stands above that could continue the process. A session's leader has none, and neither has a child
/// of init.
#[cfg(unix)]
pub(super) fn can_stop() -> io::Result<bool> {
    use rustix::process::{Pid, getpid, getppid, getsid};

    Ok(getsid(None)? != getpid() && getppid().is_some_and(|parent| parent != Pid::INIT))
}

/// Stops the process's whole group, as a terminal's Ctrl-Z does, so that what started us (`cargo run`, a pipeline)
/// stops too. Returns when it is continued.
#[cfg(unix)]
pub(super) fn stop() -> io::Result<()> {
    SUSPENDED.store(true, Ordering::SeqCst);
    Ok(rustix::process::kill_current_process_group(rustix::process::Signal::STOP)?)
}

/// Systems without job control stop nothing.
#[cfg(not(unix))]
pub(super) fn can_stop() -> io::Result<bool> {
    Ok(false)
}

/// Systems without job control stop nothing.
#[cfg(not(unix))]
pub(super) fn stop() -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

    use super::*;

    #[test]
    fn a_request_to_end_carries_the_status_of_its_signal() {
        for (signal, status) in [(SIGHUP, 129), (SIGINT, 130), (SIGQUIT, 131), (SIGTERM, 143)] {
            assert_eq!(meaning(signal, false, false), Meaning::Tell(Signal::End(status)));
        }
    }

    #[test]
    fn keys_of_an_editor_are_not_ours() {
        assert_eq!(meaning(SIGINT, true, false), Meaning::Ignore);
        assert_eq!(meaning(SIGTSTP, true, false), Meaning::Stop);
        assert_eq!(meaning(SIGCONT, true, false), Meaning::Ignore);
        // Who asks from elsewhere still means us.
        assert_eq!(meaning(SIGTERM, true, false), Meaning::Tell(Signal::End(143)));
    }

    #[test]
    fn coming_back_from_our_own_stop_is_not_told() {
        assert_eq!(meaning(SIGCONT, false, true), Meaning::Ignore);
        assert_eq!(meaning(SIGCONT, false, false), Meaning::Tell(Signal::Continued));
        assert_eq!(meaning(SIGTSTP, false, false), Meaning::Tell(Signal::Suspend));
    }
}
