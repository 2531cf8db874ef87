//! Why nothing could be imported.

use std::io;
use std::path::PathBuf;

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file can't be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
    /// It is of no known format.
    #[error("{}: not a recording that is known: {found}", path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// What was found in it, in words.
        found: String,
    },
    /// It is of a known format but broken from the start.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where in the file.
        what: String,
    },
    /// A person stopped it.
    #[error("stopped")]
    Stopped,
    /// The directory to write to holds something already.
    #[error("{}: there is something in it already", dir.display())]
    Occupied {
        /// Which directory.
        dir: PathBuf,
    },
    /// The run can't be written.
    #[error("{}: {source}", path.display())]
    Unwritable {
        /// Which file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The run's store refuses.
    #[error("{}: {what}", dir.display())]
    Store {
        /// The run's directory.
        dir: PathBuf,
        /// What it says.
        what: String,
    },
}

impl ImportError {
    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unknown { .. } => Some(
                "known are: Jupyter notebooks, Claude Code and Codex sessions, smolagents memories, OpenHands events, \
                 SWE-agent and mini-swe-agent trajectories, inspect logs, OpenTelemetry spans, Open Interpreter \
                 conversations, LangGraph checkpoints, call trees and Python scripts",
            ),
            Self::Occupied { .. } => Some("name another directory with -o, or remove this one"),
            Self::Malformed { .. } => Some("if the file was cut off while it was written, save it anew"),
            Self::Unreadable { .. } | Self::Empty { .. } | Self::Stopped => None,
            Self::Unwritable { .. } | Self::Store { .. } => Some("name a directory that can be written with -o"),
        }
    }
}
