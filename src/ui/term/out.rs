//! Where frames are written: only while the workbench has the terminal.

use std::io::{self, Write};

/// Collects what is written and sends it in one go when flushed. What is still held when the terminal was given
/// back (by a panic in the middle of a frame, say) is thrown away instead of landing on the person's shell.
#[derive(Debug, Default)]
pub struct Out {
    held: Vec<u8>,
}

impl Out {
    /// A writer that holds nothing yet.
    pub fn new() -> Self {
        Self { held: Vec::with_capacity(32 << 10) }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let sent = if super::session::is_entered() { send(&self.held) } else { Ok(()) };
        self.held.clear();
        sent
    }
}

/// Writes to the terminal past all locks and buffers, so that it works from a panic and from any thread.
#[cfg(unix)]
pub(super) fn send(mut bytes: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let out = rustix::stdio::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(out, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            // Someone made the terminal non-blocking; wait until it takes more.
            Err(Errno::AGAIN) => drop(poll(&mut [PollFd::new(&out, PollFlags::OUT)], None)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes to the terminal.
#[cfg(not(unix))]
pub(super) fn send(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_thrown_away_when_the_terminal_is_not_ours() {
        let mut out = Out::new();
        out.write_all(b"\x1b[2J").unwrap();
        out.flush().unwrap();
        assert!(out.held.is_empty());
    }
}
