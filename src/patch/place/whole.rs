//! Whole new texts for a file, stated or only shown in a fence.

use std::collections::HashMap;

use crate::patch::lines::{BOM, Base, Ending};
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::read::placeholder;
use crate::patch::{shorten, syntax};

/// What a whole text comes to.
pub(super) enum Whole {
    /// The text to write.
    Text(String, Vec<Note>),
    /// It is only a part of a file: where it goes is open.
    Fragment(Problem),
    /// It can't be meant as it stands.
    Malformed(Problem),
}

/// How a whole text was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    /// Whether it is surely meant as the whole.
    pub stated: bool,
    /// Whether its final newline is meant.
    pub exact: bool,
    /// Whether it stood alone, without even a fence.
    pub raw: bool,
    /// 1-based line of the patch.
    pub at: usize,
}

/// Files of so few lines may be replaced entirely without a name.
const FEW: usize = 3;

/// The text that `new` means for a file whose text is `base`, if it is there.
pub(super) fn whole(base: Option<&str>, new: &str, path: &str, given: Given) -> Whole {
    let old = Base::new(base.unwrap_or_default());
    let own: std::collections::HashSet<&str> = old.lines.iter().map(|line| line.text.trim()).collect();
    let lines = new.lines().map(|line| (line, true));
    if let Some(line) = placeholder::find(lines, |line| own.contains(line)) {
        return Whole::Malformed(
            Problem::new(
                Reason::Placeholder,
                format!("`{}` stands for code that is not shown", shorten(line.trim(), 60)),
            )
            .hint("send the whole text, or a diff of what changes")
            .at(given.at),
        );
    }
    let (kept, all, shared) = shares(&old, new);
    if given.raw && (base.is_none() || kept * 2 < all || !syntax::parses(new)) {
        return Whole::Malformed(Problem::new(Reason::NoPatch, "there is no patch in it").at(given.at));
    }
    // A name may stand above a piece of the file: then most of the piece is the file's, and most of the file is gone.
    let piece = all > FEW
        && kept * 2 < all
        && (!given.stated || shared * 2 >= new.lines().filter(|l| !l.trim().is_empty()).count());
    if piece && !given.exact {
        return Whole::Fragment(
            Problem::new(
                Reason::Fragment,
                format!("it holds {kept} of {all} lines of {path}: it may be a part of the file"),
            )
            .hint("send the whole file, or a diff")
            .at(given.at),
        );
    }
    let mut notes = Vec::new();
    if all > FEW && kept * 2 < all {
        notes.push(Note::new(NoteKind::LargeRemoval, format!("{} of {all} lines of {path} go", all - kept)));
    }
    let mut text = new.to_owned();
    if base.is_some() && !old.is_empty() {
        if old.ending == Ending::CrLf && !text.contains('\r') {
            text = text.replace('\n', "\r\n");
            notes.push(Note::new(NoteKind::LineEndings, "line endings differ; the file's are kept"));
        } else if old.ending == Ending::Lf && !old.mixed && !given.exact && text.contains("\r\n") {
            text = text.replace("\r\n", "\n");
            notes.push(Note::new(NoteKind::LineEndings, "line endings differ; the file's are kept"));
        }
        if !given.exact && !old.has_final_newline() {
            let end = text.trim_end_matches(['\r', '\n']).len();
            text.truncate(end);
            notes.push(Note::new(NoteKind::FinalNewline, "the file has no final newline, and keeps that"));
        }
        if old.has_bom() && !text.starts_with(BOM) {
            text.insert(0, BOM);
            notes.push(Note::new(NoteKind::Bom, "the file's byte order mark is kept"));
        }
    }
    Whole::Text(text, notes)
}

/// How many lines of the old text that are not blank the new one holds, of how many; and how many of the new
/// one the old holds.
fn shares(old: &Base<'_>, new: &str) -> (usize, usize, usize) {
    let mut there: HashMap<&str, usize> = HashMap::new();
    for line in new.lines().map(str::trim).filter(|line| !line.is_empty()) {
        *there.entry(line).or_default() += 1;
    }
    let (mut kept, mut all) = (0, 0);
    for line in old.lines.iter().map(|line| line.text.trim_start_matches(BOM).trim()).filter(|line| !line.is_empty()) {
        all += 1;
        if let Some(left) = there.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            kept += 1;
        }
    }
    (kept, all, kept)
}
