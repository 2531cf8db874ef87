//! What is wrong with a run's directory or with one thing in it, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::header::HeaderProblem;
use super::source::NotText;
use super::units::bytes_text;
use crate::step::plain_line;

/// Why a directory can't be opened as a run, or holds none.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing is there.
    #[error("{} does not exist", show(.0))]
    Missing(PathBuf),
    /// Something else is there.
    #[error("{} is not a directory", show(.0))]
    NotADirectory(PathBuf),
    /// The directory can't be listed.
    #[error("{} can't be read: {}", show(.dir), plain(.error))]
    Unreadable {
        /// Which.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Nothing can be made in it.
    #[error("{} can't be written to: {}", show(.dir), plain(.error))]
    NotWritable {
        /// Which.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It holds nothing.
    #[error("{} is empty", show(.0))]
    Empty(PathBuf),
    /// It holds files, none of them a step.
    #[error("{} holds no steps, but {count} other {}, such as {example:?}", show(.dir), if *.count == 1 { "file" } else { "files" })]
    OtherFiles {
        /// Which.
        dir: PathBuf,
        /// How many files.
        count: usize,
        /// One of them.
        example: String,
    },
}

impl RunError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing(dir) => match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                Some(parent) if !parent.exists() => format!("{} does not exist either: check the path", show(parent)),
                _ => format!("check the path, or make a sample run there: reweave demo {}", show(dir)),
            },
            Self::NotADirectory(path) => match path.extension().and_then(|ending| ending.to_str()) {
                Some("py" | "sh") => "give the directory that holds the steps".to_owned(),
                _ => format!("bring a notebook or a recording in: reweave import {} -o DIR", show(path)),
            },
            Self::Unreadable { dir, .. } => format!("you need leave to read and enter it: ls -ld {}", show(dir)),
            Self::NotWritable { dir, .. } => {
                format!("copy it to where you may write, or change its mode: ls -ld {}", show(dir))
            }
            Self::Empty(dir) => {
                format!("put a step there (any *.py file), or make a sample run: reweave demo {}", show(dir))
            }
            Self::OtherFiles { .. } => {
                "a step is a *.py or *.sh file: is this the right directory? `[run] exclude` may name all of them"
                    .to_owned()
            }
        }
    }
}

/// How grave a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Good to know; nothing is missing from the run.
    Note,
    /// A step is there, but not all of it is as it was meant.
    Warning,
    /// A file that looks like a step is none, or can't be executed.
    Error,
}

/// Something wrong with one file or directory of a run. The rest of the run is not touched by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path in the run.
    pub path: PathBuf,
    /// What is wrong with it.
    pub kind: ProblemKind,
}

/// What can be wrong with a file or directory of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// A name that is not UTF-8 can be no id.
    #[error("its name is not UTF-8")]
    NameNotUtf8,
    /// A symbolic link that leads to itself or to a directory around it.
    #[error("a symbolic link in a loop")]
    LinkLoop,
    /// A symbolic link to something outside the run.
    #[error("a symbolic link out of the run, to {}", show(.target))]
    LinkOutside {
        /// Where it leads.
        target: PathBuf,
        /// Whether to a directory, which may be data and need hold no steps.
        directory: bool,
    },
    /// A symbolic link to nothing.
    #[error("a symbolic link to nothing")]
    LinkDangling,
    /// A text that is too long for a step.
    #[error("too large: {}, where {} is the most", bytes_text(*.bytes), bytes_text(*.limit))]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The file can't be read.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// A pipe, socket or device with a step's name.
    #[error("not a file but a {0}")]
    NotAFile(&'static str),
    /// Two files give the same id.
    #[error("it has the same id as {}, which is kept", show(.kept))]
    SameId {
        /// The file that counts.
        kept: PathBuf,
    },
    /// Its bytes are no text.
    #[error("{0}")]
    NotText(NotText),
    /// The name gives no id.
    #[error("its name gives no step's id: {0}")]
    NoId(&'static str),
    /// The header does not say what it was meant to.
    #[error("header, {0}")]
    Header(HeaderProblem),
    /// The directory can't be listed.
    #[error("the directory can't be read: {0}")]
    DirectoryUnreadable(String),
    /// There is more in the directory than is looked at.
    #[error("more than {limit} files and directories: the rest was not looked at")]
    TooMany {
        /// How many are looked at.
        limit: usize,
    },
    /// Frames within frames beyond what is looked at.
    #[error("more than {limit} frames deep: not looked into")]
    TooDeep {
        /// How deep is looked.
        limit: usize,
    },
}

impl ProblemKind {
    /// How grave it is.
    pub fn gravity(&self) -> Gravity {
        match self {
            Self::LinkOutside { directory: true, .. } => Gravity::Note,
            Self::Header(_) => Gravity::Warning,
            _ => Gravity::Error,
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NameNotUtf8 => "rename it",
            Self::LinkLoop => "remove the link, or name it under `[run] exclude`",
            Self::LinkOutside { directory: false, .. } => "copy the file into the run",
            Self::LinkOutside { directory: true, .. } => {
                "steps in it are not seen: copy them into the run if there are any"
            }
            Self::LinkDangling => "remove the link, or make what it leads to",
            Self::TooLarge { .. } => "put data into a file of its own, and let a step read it",
            Self::Unreadable(_) => "check its mode: chmod u+r",
            Self::NotAFile(_) => "remove or rename it",
            Self::SameId { .. } => "rename one of the two",
            Self::NotText(NotText::UnknownEncoding { .. }) => "save it as UTF-8 and drop the cookie",
            Self::NotText(NotText::Contradiction { .. }) => "drop the mark or the cookie",
            Self::NotText(_) => "save it as UTF-8, or name its encoding on line 1: # -*- coding: NAME -*-",
            Self::NoId(_) => "rename it",
            Self::Header(_) => "correct the `# /// step` block",
            Self::DirectoryUnreadable(_) => "check its mode: chmod u+rx",
            Self::TooMany { .. } => "name under `[run] exclude` what holds no steps",
            Self::TooDeep { .. } => "lay the steps less deep, or name it under `[run] exclude`",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", show(&self.path), self.kind, self.kind.remedy())
    }
}

/// An operating system's error without its number.
pub(super) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = words.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// A path for a message, on one line and fit for a terminal whatever it holds.
pub fn show(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() { ".".to_owned() } else { plain_line(&text).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_reaches_the_terminal_as_a_control_sequence() {
        assert_eq!(show(Path::new("a\u{1b}]0;x\u{7}\nb\u{202e}")), "a␛]0;x␇⏎b<U+202E>");
        assert_eq!(show(Path::new("")), ".");
    }
}
