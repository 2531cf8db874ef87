//! The user's key: what reweave itself saved in a run's store carries its mark, and nothing else does.
//!
//! A run's directory may come from anywhere, and its store with it. A value saved there is unpickled by a worker,
//! which runs code: so it counts only with a message authentication code (keyed BLAKE3) made with a key that never
//! leaves the user's own directory.

use std::fmt;

use super::StoreError;
use crate::run::{UserDirs, signing_key};

/// A secret of 32 bytes that belongs to the user, not to a run.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// A mark that only a holder of the key can make.
#[derive(Debug, Clone, Copy)]
pub struct Mac([u8; 32]);

impl Key {
    /// This secret.
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The user's key, made when it is first asked for.
    ///
    /// # Errors
    /// When it can't be read or made.
    pub fn of_user(dirs: &UserDirs) -> Result<Self, StoreError> {
        signing_key(dirs).map(Self).map_err(|error| StoreError::io(&dirs.state().join("key"), &error))
    }

    /// The mark of several parts, of which the borders count.
    pub fn mac<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> Mac {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Mac(*hasher.finalize().as_bytes())
    }
}

impl Mac {
    /// The bytes to keep beside what is marked.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether these bytes are this mark. Takes as long for wrong ones as for right ones.
    pub fn is(&self, bytes: &[u8]) -> bool {
        <[u8; 32]>::try_from(bytes).is_ok_and(|bytes| blake3::Hash::from(self.0) == blake3::Hash::from(bytes))
    }
}

impl fmt::Debug for Key {
    /// Never shows the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_depends_on_key_parts_and_their_borders() {
        let (a, b) = (Key::new([1; 32]), Key::new([2; 32]));
        let mac = a.mac([b"ab".as_slice(), b"c"]);
        assert!(a.mac([b"ab".as_slice(), b"c"]).is(mac.as_bytes()));
        assert!(!b.mac([b"ab".as_slice(), b"c"]).is(mac.as_bytes()));
        assert!(!a.mac([b"a".as_slice(), b"bc"]).is(mac.as_bytes()));
        assert!(!mac.is(&mac.as_bytes()[..31]));
        assert_eq!(format!("{a:?}"), "Key(…)");
    }
}
