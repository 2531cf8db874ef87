//! Colour on the command line, and when to have none.

use std::env;
use std::fmt;
use std::io::IsTerminal;

use crate::step::Status;

/// What a piece of text is, so that it can be coloured alike everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Names what follows.
    Heading,
    /// Less important than what stands beside it.
    Dim,
    /// A name: of a step, a variable, a file.
    Name,
    /// As it should be.
    Good,
    /// To be looked at.
    Warn,
    /// Wrong.
    Bad,
    /// What differs within a line that comes.
    Come,
    /// What differs within a line that goes.
    Gone,
}

impl Role {
    /// The SGR parameters (ECMA-48 8.3.117): the terminal's own sixteen colours, so that its theme decides.
    fn sgr(self) -> &'static str {
        match self {
            Self::Heading => "1",
            Self::Dim => "2",
            Self::Name => "36",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
            Self::Come => "7;32",
            Self::Gone => "7;31",
        }
    }
}

impl From<Status> for Role {
    fn from(status: Status) -> Self {
        match status {
            Status::Never => Self::Dim,
            Status::Fresh => Self::Good,
            Status::Stale | Status::Blocked | Status::Running => Self::Warn,
            Status::Failed => Self::Bad,
        }
    }
}

/// Whether a stream is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    coloured: bool,
}

impl Palette {
    /// No colour at all.
    pub const PLAIN: Self = Self { coloured: false };

    /// As the environment asks for this stream: `NO_COLOR` (not empty) turns colour off, `CLICOLOR_FORCE`
    /// (neither empty nor `0`) on, and otherwise a terminal that is not `dumb` has it.
    pub fn of(stream: &impl IsTerminal) -> Self {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        let coloured = if variable("NO_COLOR").is_some() {
            false
        } else if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            true
        } else {
            stream.is_terminal() && variable("TERM").is_some_and(|term| term != "dumb")
        };
        Self { coloured }
    }

    /// `text` in its role. Padding and precision of the format apply to the text alone.
    pub fn paint<T: fmt::Display>(self, role: impl Into<Role>, text: T) -> Painted<T> {
        Painted { role: self.coloured.then(|| role.into()), text }
    }
}

/// Text with its colour, to be written.
#[derive(Debug, Clone, Copy)]
pub struct Painted<T> {
    role: Option<Role>,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            None => self.text.fmt(f),
            Some(role) => {
                write!(f, "\x1b[{}m", role.sgr())?;
                self.text.fmt(f)?;
                f.write_str("\x1b[0m")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_stays_inside_the_colour() {
        let palette = Palette { coloured: true };
        assert_eq!(format!("{:6}|", palette.paint(Role::Bad, "no")), "\x1b[31mno    \x1b[0m|");
        assert_eq!(format!("{:6}|", Palette::PLAIN.paint(Status::Failed, "no")), "no    |");
    }
}
