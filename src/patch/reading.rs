//! What a patch says, whatever its format: the one form that all readers make and the locator takes.

use serde::{Deserialize, Serialize};

use super::note::{Note, Problem};

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A unified diff, with or without headers and numbers.
    Unified,
    /// Blocks of `SEARCH` and `REPLACE`.
    SearchReplace,
    /// A `*** Begin Patch` envelope.
    Envelope,
    /// Edits as JSON: pairs of old and new text, insertions, whole files.
    Json,
    /// reweave's own JSON, with provenance.
    Reweave,
    /// The whole new text of a file.
    WholeFile,
    /// A script for `ed`.
    Ed,
}

impl Format {
    /// The name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unified => "unified diff",
            Self::SearchReplace => "SEARCH/REPLACE",
            Self::Envelope => "patch envelope",
            Self::Json => "JSON edits",
            Self::Reweave => "reweave's own",
            Self::WholeFile => "whole file",
            Self::Ed => "ed script",
        }
    }
}

/// One format's share of what was given.
#[derive(Debug, Clone)]
pub struct Reading {
    /// In which format.
    pub format: Format,
    /// What it does, one entry a file section, in order.
    pub edits: Vec<FileEdit>,
    /// What was normalised on the way.
    pub notes: Vec<Note>,
    /// What makes it unreadable. If there is any, the whole is malformed.
    pub problems: Vec<Problem>,
    /// Who says to have made it, where the format tells.
    pub claim: Claim,
}

impl Reading {
    /// An empty reading.
    pub fn new(format: Format) -> Self {
        Self { format, edits: Vec::new(), notes: Vec::new(), problems: Vec::new(), claim: Claim::default() }
    }
}

/// What a patch says of where it comes from. Claims of its author: shown, stored, never trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The id of the call that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a patch does to one file.
#[derive(Debug, Clone)]
pub struct FileEdit {
    /// The file that it names.
    pub path: Named,
    /// Another name for the same file, tried if nothing is there under the first.
    pub also: Option<Named>,
    /// What it does.
    pub operation: Operation,
    /// Digest of the text that it was made for, and whether it must not be placed on another.
    pub made_for: Option<MadeFor>,
    /// 1-based line of the patch.
    pub at: usize,
}

/// The text that an edit was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFor {
    /// SHA-256 or BLAKE3 of its bytes, in hexadecimal.
    pub digest: String,
    /// Whether the edit is void on any other text.
    pub required: bool,
}

/// How a patch names a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Named {
    /// Not at all: the target is meant.
    #[default]
    Nothing,
    /// As it stands.
    As(String),
    /// With a directory in front that is not the run's, as git's `a/` and `b/`.
    Prefixed(String),
}

impl Named {
    /// The name as it was written.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::As(text) | Self::Prefixed(text) => Some(text),
        }
    }
}

/// What is done to a file.
#[derive(Debug, Clone)]
pub enum Operation {
    /// A file that must not be there yet.
    Create {
        /// Its text.
        text: String,
    },
    /// A file goes.
    Delete {
        /// What the patch says it holds, where its format shows that: then it must hold nothing else.
        shown: Option<Vec<Hunk>>,
    },
    /// The whole text, whether the file is there or not.
    Write {
        /// The new text.
        text: String,
        /// Whether the text is surely meant as the whole, or only stands in a fence.
        stated: bool,
        /// Whether its endings and final newline are meant, or only how the fence was written.
        exact: bool,
    },
    /// Hunks, all placed on the text as it is.
    Change {
        /// The new path of a file that is renamed too.
        rename: Option<Named>,
        /// Whether the file under the old path stays.
        copy: bool,
        /// The hunks, in the order given.
        hunks: Vec<Hunk>,
    },
    /// Replacements of text, each on the result of the one before.
    Sequence {
        /// The replacements.
        edits: Vec<TextEdit>,
    },
}

/// A replacement of a piece of text that need not be whole lines.
#[derive(Debug, Clone)]
pub struct TextEdit {
    /// What it does.
    pub what: TextChange,
    /// 1-based line of the patch.
    pub at: usize,
}

/// How a piece of text is changed.
#[derive(Debug, Clone)]
pub enum TextChange {
    /// One text by another.
    Replace {
        /// The old text; must be there once unless `all`.
        old: String,
        /// The new one.
        new: String,
        /// Whether every place is meant.
        all: bool,
    },
    /// Lines by number: only safe on the very text that it was made for.
    Lines {
        /// First line that goes, 1-based; where to insert before when `count` is 0.
        start: usize,
        /// How many go.
        count: usize,
        /// What comes.
        new: String,
    },
}

/// A run of lines that shows what to change and what stands around it.
#[derive(Debug, Clone)]
pub struct Hunk {
    /// The lines.
    pub body: Body,
    /// Where its header says that it stands.
    pub number: Option<LineNumber>,
    /// Lines that must stand above it, outermost first.
    pub anchors: Vec<String>,
    /// Text of the header behind the numbers: the line of the function around it, as it once was.
    pub heading: Option<String>,
    /// Whether it must end at the end of the file.
    pub at_end: bool,
    /// 1-based line of the patch.
    pub at: usize,
}

/// A line number out of a hunk's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineNumber {
    /// 1-based first line of the old text; for an insertion the line that it comes after, plus one.
    pub start: usize,
    /// Whether the header's counts agree with the lines, so that the number deserves belief.
    pub trusted: bool,
}

/// The lines of a hunk.
#[derive(Debug, Clone)]
pub enum Body {
    /// Lines marked as context, removed and added.
    Diff(Vec<BodyLine>),
    /// Lines to look for, and lines to put there.
    Block {
        /// To look for.
        search: Vec<String>,
        /// To put there.
        replace: Vec<String>,
    },
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyLine {
    /// What it is.
    pub tag: Tag,
    /// Without its mark; a carriage return at the end is kept.
    pub text: String,
    /// Whether the format says that no newline follows.
    pub no_newline: bool,
}

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// In both texts.
    Context,
    /// Context whose mark is missing.
    Bare,
    /// Only in the old text.
    Old,
    /// Only in the new text.
    New,
    /// `...`: lines that are not shown, in both texts.
    Gap,
}

impl Tag {
    /// Whether the line is in the old text.
    pub fn is_old(self) -> bool {
        matches!(self, Self::Context | Self::Bare | Self::Old)
    }

    /// Whether the line is in the new text.
    pub fn is_new(self) -> bool {
        matches!(self, Self::Context | Self::Bare | Self::New)
    }
}
