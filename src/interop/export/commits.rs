//! A run's history as commits, in the stream that `git fast-import` reads
//! (<https://git-scm.com/docs/git-fast-import>).
//!
//! Each version of a step is a commit, versions of one accepted patch are one, in the order of time. Who wrote it,
//! with which model and in which call stand at the end of its message.

use std::fmt::Write as _;

use super::whole::Whole;
use crate::step::{Author, Millis, PatchId, Provenance};

/// One change of one file.
struct Edit<'r> {
    path: &'r str,
    /// `None` where the file was removed.
    text: Option<&'r [u8]>,
    provenance: &'r Provenance,
    version: u32,
}

/// The run's history; the empty bytes where it has none.
pub fn git(run: &Whole) -> Vec<u8> {
    let mut edits: Vec<Edit<'_>> = Vec::new();
    for step in &run.steps {
        for (version, text) in &step.versions {
            let text = (!version.deleted).then_some(text.as_slice());
            edits.push(Edit { path: &step.path, text, provenance: &version.provenance, version: version.number.0 });
        }
    }
    edits.sort_by_key(|edit| (edit.provenance.at, edit.version));
    let mut out = Vec::new();
    let mut rest = edits.as_slice();
    let mut first = true;
    while let Some((edit, after)) = rest.split_first() {
        let same = |other: &Edit<'_>| joined(edit, other);
        let count = 1 + after.iter().take_while(|other| same(other)).count();
        let (group, others) = rest.split_at(count);
        commit(run, group, first, &mut out);
        first = false;
        rest = others;
    }
    out
}

/// Whether two edits are one commit: of one patch, or made by one hand at one moment.
fn joined(a: &Edit<'_>, b: &Edit<'_>) -> bool {
    let (a, b) = (a.provenance, b.provenance);
    match (a.patch, b.patch) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.at == b.at && a.author == b.author && a.call == b.call,
        _ => false,
    }
}

fn commit(run: &Whole, edits: &[Edit<'_>], first: bool, out: &mut Vec<u8>) {
    let Some(edit) = edits.first() else { return };
    let message = message(run, edits, edit.provenance.patch);
    let (name, at) = (committer(&edit.provenance.author), seconds(edit.provenance.at));
    let head =
        format!("commit refs/heads/main\ncommitter {name} <reweave@localhost> {at} +0000\ndata {}\n", message.len());
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(message.as_bytes());
    out.push(b'\n');
    if first {
        out.extend_from_slice(b"deleteall\n");
    }
    for edit in edits {
        let path = quoted(edit.path);
        match edit.text {
            Some(text) => {
                out.extend_from_slice(format!("M 100644 inline {path}\ndata {}\n", text.len()).as_bytes());
                out.extend_from_slice(text);
                out.push(b'\n');
            }
            None => out.extend_from_slice(format!("D {path}\n").as_bytes()),
        }
    }
    out.push(b'\n');
}

fn message(run: &Whole, edits: &[Edit<'_>], patch: Option<PatchId>) -> String {
    let known = patch.and_then(|id| run.patches.iter().find(|patch| patch.patch.id == id));
    let mut message = match (known, edits) {
        (Some(known), _) => known.patch.title.clone(),
        (None, [edit]) => format!("{} version {}", edit.path, edit.version),
        (None, edits) => format!("{} steps", edits.len()),
    };
    let Some(edit) = edits.first() else { return message };
    if let Some(reason) = &edit.provenance.reason {
        let _ = write!(message, "\n\n{reason}");
    }
    let _ = write!(message, "\n\nAuthor: {}", edit.provenance.author);
    let trailers = [
        ("Model", edit.provenance.model.clone()),
        ("Call", edit.provenance.call.clone()),
        ("Patch", patch.map(|id| id.to_string())),
    ];
    for (key, value) in trailers {
        if let Some(value) = value {
            let _ = write!(message, "\n{key}: {}", value.replace('\n', " "));
        }
    }
    message.push('\n');
    message
}

/// A name that can't break the line that it stands in.
fn committer(author: &Author) -> String {
    author.to_string().chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect()
}

fn seconds(at: Millis) -> Millis {
    at.max(0) / 1000
}

/// A path as the stream wants it.
fn quoted(path: &str) -> String {
    if !path.contains(['"', '\\', '\n']) && !path.starts_with(' ') {
        return path.to_owned();
    }
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
