//! Where what is remembered of the interface lies: a small file for each run in the person's own directory.
//!
//! Never in the run itself: that may be read-only, or come from somebody else.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::app::remembered::Remembered;
use crate::run::UserDirs;
use crate::step::Digest;

/// Most bytes of such a file.
const LARGEST: u64 = 4 << 20;

/// The file for the run in `dir`.
pub fn file(user: &UserDirs, dir: &Path) -> PathBuf {
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = Digest::of(whole.as_os_str().as_encoded_bytes()).to_string();
    user.state().join("places").join(format!("{name}.json"))
}

/// What is remembered in `file`; nothing where there is none or it can't be understood.
pub fn read(file: &Path) -> Remembered {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(file)?.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Remembers: whole, or as before.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &Path, remembered: &Remembered) -> io::Result<()> {
    let folder = file.parent().ok_or(io::ErrorKind::NotFound)?;
    std::fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec(remembered)?)?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_understood_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("places/a.json");
        assert_eq!(read(&file), Remembered::default());
        write(&file, &Remembered::default()).unwrap();
        assert_eq!(read(&file), Remembered::default());
        std::fs::write(&file, "{\"shares\": \"no\"}").unwrap();
        assert_eq!(read(&file), Remembered::default());
    }
}
