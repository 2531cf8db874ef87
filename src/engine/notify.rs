//! Seccomp's user notification: system calls that a filter holds back, as the kernel hands them out.
//!
//! The one place where the kernel is spoken to in its own structures (`linux/seccomp.h`).
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};

/// A call that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    id: u64,
    /// The thread that made it.
    pub(super) pid: i32,
    pub(super) call: Call,
    pub(super) arguments: [u64; 6],
}

/// How files would be changed; `at`: paths follow the descriptor of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// What is at a path: opened for writing, cut, made, or its mode or owner set. Links are followed.
    Content {
        at: bool,
    },
    /// The mode or the owner of what a descriptor stands for.
    Descriptor,
    /// A name is made or taken away. Links are not followed.
    Name {
        at: bool,
    },
    /// A link at the second path to what is at another.
    Symlink {
        at: bool,
    },
    Link {
        at: bool,
    },
    Rename {
        at: bool,
        flags: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// A new process or thread.
    Fork,
    /// The start of a program, its path the first argument, or `at` the second.
    Execute {
        at: bool,
    },
    Socket,
    Connect,
    Bind,
    Send,
    /// Something is set for a process, or more than one: which is told by the argument at this place.
    Others {
        which: usize,
    },
    Listen,
    Message,
    /// More than one.
    Messages,
    /// Files would be changed.
    Change(Change),
    Other,
}

#[cfg(target_arch = "x86_64")]
fn call(number: i32) -> Call {
    match number {
        56..=58 => Call::Fork,
        59 => Call::Execute { at: false },
        322 => Call::Execute { at: true },
        41 => Call::Socket,
        42 => Call::Connect,
        49 => Call::Bind,
        44 => Call::Send,
        142 | 144 | 203 | 314 | 302 => Call::Others { which: 0 },
        141 | 251 => Call::Others { which: 1 },
        50 => Call::Listen,
        46 => Call::Message,
        307 => Call::Messages,
        82 => Call::Change(Change::Rename { at: false, flags: false }),
        264 => Call::Change(Change::Rename { at: true, flags: false }),
        316 => Call::Change(Change::Rename { at: true, flags: true }),
        // open, creat, truncate, chmod, chown; openat, fchmodat, fchmodat2, fchownat
        2 | 85 | 76 | 90 | 92 => Call::Change(Change::Content { at: false }),
        257 | 268 | 452 | 260 => Call::Change(Change::Content { at: true }),
        // fchmod, fchown, fcntl and flock for locks
        91 | 93 | 72 | 73 => Call::Change(Change::Descriptor),
        // unlink, mkdir, mknod, lchown; unlinkat, mkdirat, mknodat
        87 | 83 | 133 | 94 => Call::Change(Change::Name { at: false }),
        263 | 258 | 259 => Call::Change(Change::Name { at: true }),
        88 => Call::Change(Change::Symlink { at: false }),
        266 => Call::Change(Change::Symlink { at: true }),
        86 => Call::Change(Change::Link { at: false }),
        265 => Call::Change(Change::Link { at: true }),
        _ => Call::Other,
    }
}

#[cfg(target_arch = "aarch64")]
fn call(number: i32) -> Call {
    match number {
        220 => Call::Fork,
        221 => Call::Execute { at: false },
        281 => Call::Execute { at: true },
        198 => Call::Socket,
        203 => Call::Connect,
        200 => Call::Bind,
        206 => Call::Send,
        118 | 119 | 122 | 274 | 261 => Call::Others { which: 0 },
        140 | 30 => Call::Others { which: 1 },
        201 => Call::Listen,
        211 => Call::Message,
        269 => Call::Messages,
        38 => Call::Change(Change::Rename { at: true, flags: false }),
        276 => Call::Change(Change::Rename { at: true, flags: true }),
        45 => Call::Change(Change::Content { at: false }),
        56 | 53 | 452 | 54 => Call::Change(Change::Content { at: true }),
        52 | 55 | 25 | 32 => Call::Change(Change::Descriptor),
        35 | 34 | 33 => Call::Change(Change::Name { at: true }),
        36 => Call::Change(Change::Symlink { at: true }),
        37 => Call::Change(Change::Link { at: true }),
        _ => Call::Other,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn call(_number: i32) -> Call {
    Call::Other
}

/// `struct seccomp_notif`.
#[derive(Debug, Default)]
#[repr(C)]
struct Notification {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`.
#[derive(Debug, Default)]
#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

// `_IOWR('!', 0, …)`, `_IOWR('!', 1, …)` and `_IOW('!', 2, u64)`, with the sizes of the structures.
const RECEIVE: Opcode = 0xC050_2100;
const SEND: Opcode = 0xC018_2101;
const IS_VALID: Opcode = 0x4008_2102;
const CONTINUE: u32 = 1;

/// Takes the next call that waits.
pub(super) fn receive(listener: &OwnedFd) -> Result<Held, Errno> {
    let mut found = Notification::default();
    // SAFETY: the kernel fills in exactly this structure, which is all zeros before, as it asks.
    unsafe { ioctl(listener, Updater::<RECEIVE, _>::new(&mut found))? };
    let pid = i32::try_from(found.pid).map_err(|_| Errno::SRCH)?;
    Ok(Held { id: found.id, pid, call: call(found.number), arguments: found.arguments })
}

fn send(listener: &OwnedFd, mut response: Response) -> Result<(), Errno> {
    // SAFETY: the kernel reads exactly this structure.
    unsafe { ioctl(listener, Updater::<SEND, _>::new(&mut response)) }
}

/// Lets a call go on.
pub(super) fn pass(listener: &OwnedFd, held: &Held) -> Result<(), Errno> {
    send(listener, Response { id: held.id, flags: CONTINUE, ..Response::default() })
}

/// Has a call return a value without being made.
pub(super) fn done(listener: &OwnedFd, held: &Held, value: i64) -> Result<(), Errno> {
    send(listener, Response { id: held.id, value, ..Response::default() })
}

/// Has a call fail without being made.
pub(super) fn refuse(listener: &OwnedFd, held: &Held, error: Errno) -> Result<(), Errno> {
    send(listener, Response { id: held.id, error: -error.raw_os_error(), ..Response::default() })
}

/// Whether the call still waits: its process may be gone, and its number somebody else's.
pub(super) fn is_held(listener: &OwnedFd, held: &Held) -> bool {
    let mut id = held.id;
    // SAFETY: the kernel reads one number.
    unsafe { ioctl(listener, Updater::<IS_VALID, _>::new(&mut id)) }.is_ok()
}

/// The process that a thread belongs to.
pub(super) fn leader(thread: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// A path that stands for an open file, whatever its own name.
pub(super) fn path_of(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
