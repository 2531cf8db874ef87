//! The terminal taken and given back, on whatever path the program ends.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::mode::Modes;
use super::out::{Out, send};
use super::question::{self, Answers};
use super::signal::{self, Lent};

/// What the terminal was asked to be, while the workbench has it. One for the process, since there is one terminal
/// and since a panic or a signal must find it.
static ENTERED: Mutex<Option<Modes>> = Mutex::new(None);

/// Whether the workbench has the terminal now.
pub(super) fn is_entered() -> bool {
    ENTERED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Gives the terminal back as it was found. May be called at any time, from any thread, any number of times; only
/// the first call after a session took the terminal does something. This is the one way back: quitting, panics,
/// signals, the editor and suspending all come through here.
pub fn restore() {
    let taken = ENTERED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(modes) = taken {
        let mut bytes = Vec::new();
        // Writing to memory can't fail, and a terminal that is gone needs no restoring.
        drop(modes.leave(&mut bytes));
        drop(send(&bytes));
        drop(crossterm::terminal::disable_raw_mode());
    }
}

fn take(modes: Modes) -> io::Result<()> {
    let mut entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
    crossterm::terminal::enable_raw_mode()?;
    // From here on there is something to undo, even if what follows fails.
    *entered = Some(modes);
    drop(entered);
    let mut bytes = Vec::new();
    modes.enter(&mut bytes)?;
    send(&bytes)
}

/// The terminal, held until this is dropped.
#[derive(Debug)]
pub struct Session {
    modes: Modes,
}

impl Session {
    /// Takes the terminal. Fails if standard input or output is not one.
    pub fn enter(modes: Modes) -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "standard input and output are not a terminal"));
        }
        let session = Self { modes };
        take(modes)?;
        Ok(session)
    }

    /// Asks the terminal what its environment doesn't say, and switches the keyboard protocol on if it knows it.
    /// Takes 150 ms at most. Nobody may be listening yet; what was typed meanwhile is among the answers.
    pub fn ask(&mut self) -> io::Result<Answers> {
        let answers = question::ask()?;
        if answers.keyboard && !self.modes.keyboard {
            self.modes.keyboard = true;
            if let Some(modes) = ENTERED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                modes.keyboard = true;
                send(super::mode::KEYBOARD_ON)?;
            }
        }
        Ok(answers)
    }

    /// What frames are drawn on.
    pub fn terminal(&self) -> io::Result<Terminal<CrosstermBackend<Out>>> {
        Terminal::new(CrosstermBackend::new(Out::new()))
    }

    /// Switches the mouse.
    pub fn switch_mouse(&mut self, on: bool) -> io::Result<()> {
        self.modes.mouse = on;
        let mut entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(modes) = entered.as_mut() else { return Ok(()) };
        modes.mouse = on;
        let mut bytes = Vec::new();
        Modes::switch_mouse(on, &mut bytes)?;
        send(&bytes)
    }

    /// Whether the mouse is listened to.
    pub fn has_mouse(&self) -> bool {
        self.modes.mouse
    }

    /// Gives the terminal back, does something with it, and takes it again. The caller has paused the input before
    /// and draws the whole screen anew after.
    pub fn lend<T>(&mut self, act: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let lent = Lent::begin();
        let result = act();
        drop(lent);
        take(self.modes)?;
        Ok(result)
    }

    /// Gives the terminal back, stops until the shell continues the process, and takes it again. The caller draws the
    /// whole screen anew. `false`, with nothing done, where there is no shell to come back from.
    pub fn suspend(&mut self) -> io::Result<bool> {
        if !signal::can_stop()? {
            return Ok(false);
        }
        restore();
        let stopped = signal::stop();
        take(self.modes)?;
        stopped.map(|()| true)
    }

    /// Takes the terminal again after something outside stopped and continued the process, and may have left it
    /// in another mode. The caller draws the whole screen anew.
    pub fn retake(&mut self) -> io::Result<()> {
        restore();
        take(self.modes)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restoring_what_was_never_taken_does_nothing() {
        restore();
        restore();
        assert!(!is_entered());
    }
}
