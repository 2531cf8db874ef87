//! The user's own directories: settings, approvals, keys, sockets. Nothing of a run's directory is trusted with these.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};

/// Where a user's own files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDirs {
    config: PathBuf,
    state: PathBuf,
    runtime: Option<PathBuf>,
}

impl UserDirs {
    /// As the platform and the environment say (`XDG_CONFIG_HOME`, `XDG_STATE_HOME`, `XDG_RUNTIME_DIR` on Unix);
    /// `REWEAVE_HOME` puts all of them in one directory. `None` where the user has no home directory.
    pub fn from_env() -> Option<Self> {
        if let Some(home) = env::var_os("REWEAVE_HOME").filter(|home| !home.is_empty()) {
            return Some(Self::at(Path::new(&home)));
        }
        let base = choose_base_strategy().ok()?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        let runtime = base.runtime_dir().map(|dir| dir.join("reweave"));
        Some(Self { config: base.config_dir().join("reweave"), state: state.join("reweave"), runtime })
    }

    /// All in one directory.
    pub fn at(dir: &Path) -> Self {
        Self { config: dir.to_owned(), state: dir.join("state"), runtime: Some(dir.join("runtime")) }
    }

    /// The user's `config.toml`. It need not exist.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Themes of the user's own.
    pub fn themes(&self) -> PathBuf {
        self.config.join("themes")
    }

    /// What lasts: approvals, the key for saved values, what the screen remembers of a run.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// For sockets: gone after the session where the platform has such a place.
    pub fn runtime(&self) -> PathBuf {
        self.runtime.clone().unwrap_or_else(|| self.state.join("runtime"))
    }

    /// Makes a directory that only the user may enter.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn make_private(dir: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)
    }
}
