//! What comes from a worker, piece by piece, and the sockets and pipes that it comes on.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::process::lost;
use super::protocol::{DATA_LIMIT, JSON_LIMIT};
use super::task::EngineError;
use crate::step::Stream;

/// A message that is coming in, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    pub(super) bytes: Vec<u8>,
}

impl Incoming {
    pub(super) const HEAD: usize = 12;

    fn sizes(&self) -> Option<(usize, usize)> {
        let json = u32::from_le_bytes(self.bytes.get(..4)?.try_into().ok()?);
        let data = u64::from_le_bytes(self.bytes.get(4..Self::HEAD)?.try_into().ok()?);
        Some((json as usize, usize::try_from(data).unwrap_or(usize::MAX)))
    }

    /// Reads what is there; true when the message is whole.
    pub(super) fn read(&mut self, socket: &OwnedFd) -> io::Result<bool> {
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
    pub(super) fn json(&self) -> &[u8] {
        self.bytes.get(Self::HEAD..).unwrap_or_default()
    }

    pub(super) fn take(mut self) -> (Vec<u8>, Vec<u8>) {
        let (json, _) = self.sizes().unwrap_or_default();
        let data = self.bytes.split_off((Self::HEAD + json).min(self.bytes.len()));
        (self.bytes.split_off(Self::HEAD.min(self.bytes.len())), data)
    }
}

/// Passes on all that is in a pipe now.
pub(super) fn drain(fd: &OwnedFd, stream: Stream, print: &mut dyn FnMut(Stream, &[u8])) {
    let mut buffer = [0; 65536];
    // A bound, so that a step that prints without end can't keep the engine here.
    for _ in 0..64 {
        match rustix::io::read(fd, &mut buffer) {
            Ok(count @ 1..) => print(stream, buffer.get(..count).unwrap_or_default()),
            _ => return,
        }
    }
}

pub(super) fn wait(fds: &mut [PollFd<'_>], time: Duration) {
    let time = rustix::event::Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    // An interrupted wait is looked into like one that ended.
    let _ = rustix::event::poll(fds, Some(&time));
}

pub(super) fn pair() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| lost("no socket for a worker", &e))?;
    rustix::io::ioctl_fionbio(&ours, true).map_err(|e| lost("no socket for a worker", &e))?;
    Ok((ours, theirs))
}

pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let (read, write) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| lost("no pipe for a worker", &e))?;
    rustix::io::ioctl_fionbio(&read, true).map_err(|e| lost("no pipe for a worker", &e))?;
    Ok((read, write))
}
