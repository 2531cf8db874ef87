//! What was made of a patch beyond its letter: normalisations, problems and reasons, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// The counts in a hunk's header are wrong; the lines were counted.
    Recounted,
    /// The hunk stands at another line than its header says.
    Offset,
    /// Several places fit; the line number named one of them.
    ByLineNumber,
    /// Several places fit; one of them is in the block that the patch names.
    Anchor,
    /// Context without the leading blank was taken as context.
    UnprefixedContext,
    /// Blanks at the ends of lines differ; those of the file are kept.
    TrailingBlanks,
    /// Line endings differ; those of the file are kept.
    LineEndings,
    /// The file's lines end in more than one way.
    MixedEndings,
    /// The file's byte order mark is kept.
    Bom,
    /// The file's end, with or without a newline, is kept.
    FinalNewline,
    /// The whole hunk was indented otherwise; its added lines were shifted with it.
    IndentShift,
    /// Context has other dashes, quotes or spaces than the file.
    Typography,
    /// `...` stands for lines that are kept.
    Elision,
    /// No context: only the removed lines say where.
    NoContext,
    /// The hunk begins or ends with a change in the middle of the file.
    AsymmetricContext,
    /// The hunks are not in order of place.
    Reordered,
    /// The same hunk came more than once.
    DuplicateHunk,
    /// Markers of an unusual length.
    MarkerLength,
    /// A needless blank line at the edge of the searched text was left out.
    DroppedBlank,
    /// Line numbers in front of the lines were taken off.
    Gutter,
    /// A shell's here-document around the patch was taken off.
    Heredoc,
    /// Headers of one format within another.
    MixedFormat,
    /// A bare text was taken as the whole file.
    Raw,
    /// A path was read as the file meant.
    Path,
    /// Text after a hunk was taken as prose.
    Prose,
    /// Part of the patch changes nothing.
    NoChange,
    /// File modes are not kept.
    Mode,
    /// The patch says which text it was made for, and the file is another.
    Drifted,
    /// The answer holds the same change in several formats.
    SeveralFormats,
    /// A fence within the text was taken as part of the text.
    InnerFence,
    /// Much of the file goes.
    LargeRemoval,
    /// Examples beside the patch were left out.
    Example,
}

/// One thing that was made of a patch beyond its letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    #[serde(rename = "note")]
    pub kind: NoteKind,
    /// In words.
    pub text: String,
    /// Which hunk, counted from 1 over the whole patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
}

impl Note {
    /// A note on the patch as a whole.
    pub fn new(kind: NoteKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), hunk: None }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hunk {
            Some(hunk) => write!(f, "hunk {hunk}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Why a patch was not applied, where there is a word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// What it would make is there already.
    AlreadyApplied,
    /// It changes nothing.
    NoOp,
    /// It, or a part of it, seems to be cut off.
    CutOff,
    /// It leaves lines out with a placeholder.
    Placeholder,
    /// It names a file outside the run, or one that is not a step's to change.
    Path,
    /// The file that it changes is not there.
    NoFile,
    /// The file that it makes is there already.
    Exists,
    /// It was made for another text.
    Stale,
    /// Two of its hunks claim the same lines.
    Overlap,
    /// Only numbers say where.
    OnlyNumbers,
    /// Two formats in one answer say different things.
    Differs,
    /// It shows a part of the file and does not say where it goes.
    Fragment,
    /// No patch is in it.
    NoPatch,
    /// A binary, combined or other kind of patch that is not for text.
    Unsupported,
    /// It could not be parsed.
    Syntax,
    /// Looking for its place took more work than is allowed.
    TooMuch,
}

/// What is wrong with a patch: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// In words, naming the thing.
    pub text: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// 1-based line of the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_line: Option<usize>,
    /// The word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl Problem {
    /// A problem of a kind, in words.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None, patch_line: None, reason: Some(reason) }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// At this 1-based line of the patch.
    #[must_use]
    pub fn at(mut self, patch_line: usize) -> Self {
        self.patch_line = Some(patch_line);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.patch_line {
            write!(f, "line {line} of the patch: ")?;
        }
        f.write_str(&self.text)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
