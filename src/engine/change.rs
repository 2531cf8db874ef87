//! Deciding on calls that would change files: the run's own files stay as they are.
//!
//! A rename is done here, one after the other, in the directories that were looked at, so that what is moved is what was
//! decided on. Other calls come here only where no mount keeps the run's own files, and go on in the process itself: a path
//! that another thread changes meanwhile leads elsewhere, which is put back after the step (`guard`).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;

use rustix::fs::{Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::notify::{self, Change, Held};
use super::warden::{Desk, Fate};
use crate::run::{Area, Decision, Opening, normal};

/// Longest path that the kernel takes.
const PATH_MOST: u64 = 4096;
/// Most links that are followed to where nothing is yet.
const LINKS_MOST: usize = 16;
/// The working directory of the process, in the place of a descriptor.
const HERE: i32 = -100;
const EXCHANGE: u64 = 2;

/// A name in a directory, as a process means it.
pub(super) struct Place {
    folder: OwnedFd,
    name: PathBuf,
    /// Where that is.
    pub(super) full: PathBuf,
}

impl Desk {
    /// What becomes of a call that would change files.
    pub(super) fn change(&self, held: &Held, change: Change) -> Fate {
        match self.try_change(held, change) {
            Ok(fate) => fate,
            Err(error) => Fate::Done(Err(Errno::from_io_error(&error).unwrap_or(Errno::ACCESS))),
        }
    }

    fn try_change(&self, held: &Held, change: Change) -> io::Result<Fate> {
        let [first, second, third, fourth, fifth, _] = held.arguments;
        let here = HERE as u64;
        let found = match change {
            Change::Content { at } => {
                let (from, path) = if at { (first, second) } else { (here, first) };
                vec![self.leads_to(held, from, path)]
            }
            Change::Descriptor => {
                let number = first as u32 as i32;
                vec![std::fs::read_link(format!("/proc/{}/fd/{number}", held.pid))]
            }
            Change::Name { at } => {
                let (from, path) = if at { (first, second) } else { (here, first) };
                vec![self.place(held, from, path).map(|place| place.full)]
            }
            Change::Symlink { at } => {
                let (from, path) = if at { (second, third) } else { (here, second) };
                vec![self.place(held, from, path).map(|place| place.full)]
            }
            Change::Link { at } => {
                let ((from, old), (to, new)) =
                    if at { ((first, second), (third, fourth)) } else { ((here, first), (here, second)) };
                vec![self.leads_to(held, from, old), self.place(held, to, new).map(|place| place.full)]
            }
            Change::Rename { at, flags } => {
                let ((from, old), (to, new)) =
                    if at { ((first, second), (third, fourth)) } else { ((here, first), (here, second)) };
                let flags = if flags { fifth } else { 0 };
                return self.rename(&self.place(held, from, old)?, &self.place(held, to, new)?, flags);
            }
        };
        for path in found {
            match path {
                Ok(path) if let Some(why) = self.grounds.files.holds(&path, false) => {
                    self.refused(Area::Write, &path.to_string_lossy(), why);
                    return Ok(Fate::Done(Err(Errno::ROFS)));
                }
                Ok(_) => {}
                // Where it leads nowhere the call comes to nothing, or makes what is looked at with its directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        // From here on it may lead elsewhere than it was seen to. What it finds there can be had again.
        if self.is_shared(held) && !self.raced.swap(true, Ordering::SeqCst) {
            self.grounds.guard.note();
        }
        Ok(Fate::Pass)
    }

    fn rename(&self, old: &Place, new: &Place, flags: u64) -> io::Result<Fate> {
        for (place, whole) in [(old, true), (new, flags & EXCHANGE != 0)] {
            if let Some(why) = self.grounds.files.holds(&place.full, whole) {
                self.refused(Area::Write, &place.full.to_string_lossy(), why);
                return Ok(Fate::Done(Err(Errno::BUSY)));
            }
            if !self.may_write(&place.full) {
                return Ok(Fate::Done(Err(Errno::ACCESS)));
            }
        }
        let flags = RenameFlags::from_bits_retain(u32::try_from(flags).map_err(|_| Errno::INVAL)?);
        let done = rustix::fs::renameat_with(&old.folder, &old.name, &new.folder, &new.name, flags);
        Ok(Fate::Done(done.map(|()| 0)))
    }

    /// Whether the wall leaves a place open for writing.
    fn may_write(&self, path: &Path) -> bool {
        if self.grounds.dirs.iter().any(|own| path.starts_with(own)) || path.starts_with("/dev/shm") {
            return true;
        }
        let policy = &self.settings.policy;
        policy.opening(Area::Write) == Opening::Everything
            || policy.decide(Area::Write, &path.to_string_lossy()) == Decision::Allow
    }

    /// Whether others could change what a process hands over: its threads, or other processes of the step.
    fn is_shared(&self, held: &Held) -> bool {
        held.leader().is_none_or(|leader| self.tasks_beside(leader))
    }

    /// The name that a process gives, and the directory that it is in; a link of that name is not followed.
    fn place(&self, held: &Held, from: u64, pointer: u64) -> io::Result<Place> {
        self.place_of(held, &self.named(held, from, pointer)?)
    }

    pub(super) fn place_of(&self, held: &Held, full: &Path) -> io::Result<Place> {
        let (above, name) = match full.components().next_back() {
            Some(Component::Normal(name)) => (full.parent().unwrap_or(Path::new("/")), name),
            // The root, `.` or `..`: the kernel says what it thinks of that.
            _ => return Err(Errno::BUSY.into()),
        };
        let folder = self.open(held, above)?;
        let name = PathBuf::from(name);
        let full = std::fs::read_link(notify::path_of(&folder))?.join(&name);
        Ok(Place { folder, name, full })
    }

    /// Where a path leads, links followed; where nothing is yet, what would be made.
    fn leads_to(&self, held: &Held, from: u64, pointer: u64) -> io::Result<PathBuf> {
        let mut full = self.named(held, from, pointer)?;
        for _ in 0..LINKS_MOST {
            match self.open(held, &full) {
                Ok(found) => return std::fs::read_link(notify::path_of(&found)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let place = self.place_of(held, &full)?;
                    match rustix::fs::readlinkat(&place.folder, &place.name, Vec::new()) {
                        Ok(target) => {
                            let above = place.full.parent().unwrap_or(Path::new("/"));
                            full = above.join(OsStr::from_bytes(target.to_bytes()));
                        }
                        Err(_) => return Ok(place.full),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(Errno::LOOP.into())
    }

    /// What a path of a process leads to, in the view that the process has.
    pub(super) fn open(&self, held: &Held, full: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let root = File::open(format!("/proc/{}/root", held.pid))?;
        match rustix::fs::openat2(&root, full, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            // A way through another process's descriptors: what it means for whoever calls, found without them.
            Err(Errno::LOOP | Errno::XDEV) => {
                let text = normal(full).to_string_lossy().into_owned();
                let own = |rest: &str| format!("/proc/{}/{rest}", held.pid);
                let text = match (text.strip_prefix("/proc/self/"), text.strip_prefix("/proc/thread-self/")) {
                    (Some(rest), _) | (_, Some(rest)) => own(rest),
                    _ => match (text.strip_prefix("/dev/fd/"), text.as_str()) {
                        (Some(rest), _) => own(&format!("fd/{rest}")),
                        (_, "/dev/stdin") => own("fd/0"),
                        (_, "/dev/stdout") => own("fd/1"),
                        (_, "/dev/stderr") => own("fd/2"),
                        _ => text,
                    },
                };
                if !text.starts_with("/proc/") {
                    return Err(Errno::LOOP.into());
                }
                Ok(rustix::fs::openat2(rustix::fs::CWD, &text, flags, Mode::empty(), ResolveFlags::empty())?)
            }
            Ok(found) => Ok(found),
            Err(error) => Err(error.into()),
        }
    }

    /// The path that a process hands over, from its root on.
    fn named(&self, held: &Held, from: u64, pointer: u64) -> io::Result<PathBuf> {
        let mut text = held.read(pointer, PATH_MOST)?;
        let end = text.iter().position(|byte| *byte == 0).ok_or(Errno::NAMETOOLONG)?;
        text.truncate(end);
        // A directory may be named with a stroke at its end.
        while text.len() > 1 && text.ends_with(b"/") {
            text.pop();
        }
        if text.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let path = Path::new(OsStr::from_bytes(&text));
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        // As it is told: a descriptor is a number of 32 bits, whatever stands above them.
        let base = match from as u32 as i32 {
            HERE => std::fs::read_link(format!("/proc/{}/cwd", held.pid))?,
            descriptor => std::fs::read_link(format!("/proc/{}/fd/{descriptor}", held.pid))?,
        };
        Ok(base.join(path))
    }
}
