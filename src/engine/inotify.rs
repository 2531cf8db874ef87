//! What the kernel tells of files that are opened in a directory and below it.

use std::collections::HashMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::opens::{Opened, is_data, is_followed};

/// Most directories of a run that are watched: each takes a kilobyte of the kernel's memory.
const MOST: usize = 20_000;

#[derive(Debug)]
pub(super) struct Watch {
    root: PathBuf,
    fd: OwnedFd,
    /// Paths relative to the root.
    directories: HashMap<i32, PathBuf>,
    /// Whether there are directories that are not watched.
    is_partial: bool,
    /// Whether more happened than the kernel keeps.
    is_overrun: bool,
}

impl Watch {
    /// `None` where the system has no more of them.
    pub(super) fn new(root: &Path) -> Option<Self> {
        let fd = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let directories = HashMap::new();
        let mut watch = Self { root: root.to_owned(), fd, directories, is_partial: false, is_overrun: false };
        watch.follow(PathBuf::new(), None);
        Some(watch)
    }

    /// Whether it tells of all that is opened.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_partial && !self.is_overrun
    }

    /// Whether more happened than the kernel keeps: what it lost may be directories.
    pub(super) fn is_overrun(&self) -> bool {
        self.is_overrun
    }

    /// Watches a directory and those below it. What is in one that came was made there.
    fn follow(&mut self, top: PathBuf, mut came: Option<&mut Opened>) {
        let mut todo = vec![top];
        while let Some(inner) = todo.pop() {
            let full = self.root.join(&inner);
            let flags = WatchFlags::OPEN | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
            if self.directories.len() >= MOST {
                self.is_partial = true;
                return;
            }
            match add_watch(&self.fd, &full, flags | WatchFlags::DONT_FOLLOW) {
                Ok(number) => self.directories.insert(number, inner.clone()),
                // It went meanwhile, or nobody can read it.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => continue,
                Err(_) => {
                    self.is_partial = true;
                    return;
                }
            };
            for entry in fs::read_dir(&full).into_iter().flatten().flatten() {
                let path = inner.join(entry.file_name());
                if is_followed(&entry.path()) {
                    todo.push(path);
                } else if let Some(found) = &mut came
                    && entry.file_type().is_ok_and(|kind| !kind.is_dir())
                    && is_data(&path.to_string_lossy())
                {
                    found.made.insert(path.to_string_lossy().into_owned());
                }
            }
        }
    }

    /// Adds what has happened since it was last asked.
    pub(super) fn take(&mut self, found: &mut Opened) {
        let mut new = Vec::new();
        let mut buffer = [MaybeUninit::<u8>::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.fd, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => break,
            };
            self.is_overrun |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let directory = self.directories.get(&event.wd());
            let (Some(directory), Some(name)) = (directory, event.file_name()) else { continue };
            let Ok(name) = name.to_str() else { continue };
            let path = directory.join(name);
            let came = event.events().intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            if event.events().contains(ReadFlags::ISDIR) {
                if came {
                    new.push(path);
                }
            } else if is_data(name) {
                let files = if came { &mut found.made } else { &mut found.opened };
                files.insert(path.to_string_lossy().into_owned());
            }
        }
        for path in new {
            if is_followed(&self.root.join(&path)) {
                self.follow(path, Some(found));
            }
        }
    }
}
