//! What stands at a path, told without reading a file again that is as it was.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::run::{Stamp, mode};
use crate::step::{Digest, FileContent};

/// A file larger than this is not kept; a step that uses it is known by the file's size and time.
pub(super) const KEPT: u64 = 256 << 20;

/// What a named pipe is told by.
pub(super) const FIFO: &str = "fifo";

/// A file that changed less than this ago may change again without another time: the clock of files goes in ticks.
const TICK: Duration = Duration::from_millis(50);

/// The digests of files, as long as their stamps stay.
#[derive(Debug, Default)]
pub struct Contents {
    known: HashMap<PathBuf, (Stamp, Digest)>,
}

impl Contents {
    /// What is at an absolute path now. A directory is only present: for what it holds, see [`Contents::listing`].
    pub fn at(&mut self, path: &Path) -> FileContent {
        let Ok(found) = fs::symlink_metadata(path) else { return FileContent::Absent };
        if found.is_symlink() {
            let target = fs::read_link(path).map(|to| to.to_string_lossy().into_owned()).unwrap_or_default();
            return FileContent::Link { target };
        }
        if found.is_dir() {
            return FileContent::Present { mode: mode::of(&found) };
        }
        if !found.is_file() {
            return FileContent::External { mark: if is_fifo(&found) { FIFO } else { "special" }.into() };
        }
        if found.len() > KEPT {
            return FileContent::External { mark: format!("{} {}", found.len(), modified(&found)) };
        }
        let stamp = Stamp::settled_after(&found, TICK);
        if let Some((known, digest)) = self.known.get(path)
            && known.shows_the_same(&stamp)
        {
            return FileContent::File { digest: *digest, mode: mode::of(&found) };
        }
        match hash(path) {
            Some(digest) => {
                self.known.insert(path.to_owned(), (stamp, digest));
                FileContent::File { digest, mode: mode::of(&found) }
            }
            None => FileContent::External { mark: "unreadable".into() },
        }
    }

    /// What there is in a directory, if it is one, by its permissions, the names of its entries and what these are: who
    /// walks a tree goes into directories. For whom there is something else at `path` than there is now, `itself` tells what, and for whom some
    /// of what is in it is not there, or another, `but` tells so by name.
    pub fn listing(
        path: &Path,
        itself: Option<&FileContent>,
        but: impl IntoIterator<Item = (String, FileContent)>,
    ) -> FileContent {
        let read = match (itself, fs::read_dir(path)) {
            (None | Some(FileContent::Link { .. }), Ok(read)) => Some(read),
            (Some(FileContent::Present { .. } | FileContent::Directory { .. }), read) => read.ok(),
            _ => return FileContent::Absent,
        };
        let mut entries: BTreeMap<String, &str> = BTreeMap::new();
        for entry in read.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != ".reweave" && name != "__pycache__" {
                entries.insert(name, entry.file_type().map_or("", |kind| word(kind.is_dir(), kind.is_symlink())));
            }
        }
        for (name, content) in but {
            let is_dir = matches!(content, FileContent::Present { .. } | FileContent::Directory { .. });
            match content {
                FileContent::Absent => entries.remove(&name),
                _ => entries.insert(name, word(is_dir, matches!(content, FileContent::Link { .. }))),
            };
        }
        let mode = match itself {
            Some(FileContent::Present { mode }) => *mode,
            _ => fs::metadata(path).ok().and_then(|found| mode::of(&found)),
        };
        let mode = mode.map_or_else(String::new, |mode| format!("{mode:o}"));
        let parts = entries.iter().flat_map(|(name, kind)| [name.as_bytes(), kind.as_bytes()]);
        FileContent::Directory { listing: Digest::of_parts(parts.chain([mode.as_bytes()]).collect::<Vec<_>>()) }
    }
}

/// What an entry of a directory is.
fn word(is_dir: bool, is_link: bool) -> &'static str {
    match (is_dir, is_link) {
        (true, _) => "directory",
        (_, true) => "link",
        _ => "",
    }
}

pub(super) fn is_fifo(found: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type());
    #[cfg(not(unix))]
    return false;
}

fn modified(found: &Metadata) -> i128 {
    found
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|since| i128::try_from(since.as_nanos()).ok())
        .unwrap_or_default()
}

fn hash(path: &Path) -> Option<Digest> {
    let mut file = fs::File::open(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some(Digest::from_bytes(*hasher.finalize().as_bytes())),
            Ok(count) => hasher.update(buffer.get(..count)?),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_another_though_its_size_and_time_are_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        };
        let mut contents = Contents::default();
        write("one");
        let one = contents.at(&path);
        assert_eq!(contents.at(&path), one);
        write("two");
        assert_ne!(contents.at(&path), one);
        write("one");
        assert_eq!(contents.at(&path), one);
    }

    #[test]
    fn a_listing_is_as_it_is_found_by_who_asks() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "").unwrap();
        let listing = |but: &[(String, FileContent)]| Contents::listing(dir.path(), None, but.to_vec());
        let one = listing(&[]);
        assert_ne!(listing(&[("a".to_owned(), FileContent::Absent)]), one);
        assert_ne!(listing(&[("a".to_owned(), FileContent::Present { mode: None })]), one);
        fs::create_dir(dir.path().join("b")).unwrap();
        let two = listing(&[]);
        assert_ne!(two, one);
        assert_eq!(listing(&[("b".to_owned(), FileContent::Absent)]), one);
        fs::remove_dir(dir.path().join("b")).unwrap();
        assert_eq!(listing(&[("b".to_owned(), FileContent::Present { mode: None })]), two);
        let (gone, there) = (dir.path().join("none"), FileContent::Present { mode: None });
        assert_eq!(Contents::listing(&gone, None, []), FileContent::Absent);
        let file = FileContent::File { digest: Digest::of(""), mode: None };
        assert_eq!(Contents::listing(&gone, Some(&there), [("a".to_owned(), file)]), one);
        assert_eq!(Contents::listing(dir.path(), Some(&FileContent::Absent), []), FileContent::Absent);
    }
}
