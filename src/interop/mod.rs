//! Import and export of notebooks, trajectories and traces.
//!
//! # Architecture
//!
//! An import is a stream: a format's reader turns a file into steps as it goes and hands each to a [`Sink`],
//! so that a log of gigabytes needs no more memory than its largest record.
//!
//! - [`Format`], [`detect`]: what a file is, found out from its content and never from its name.
//! - [`Recording`]: an opened file with [`Watch`] on it: how far the reading is, and whether to stop.
//! - [`formats`]: one reader a format; each knows only its own keys and speaks in the words of [`ImportedStep`].
//! - [`json`]: JSON as it is found in the wild: streamed, with broken lines skipped and listed, bytes that are
//!   not UTF-8 replaced, and texts that are a string or a list of strings.
//! - [`recorder`]: calls and their results, which logs tell apart, put together as steps, notes and frames.
//! - [`workspace`]: the files that a recorded agent edited, as accepted patches.
//! - [`Sink`], [`Imported`]: where steps, files, patches and warnings go; [`Imported`] keeps them in memory,
//!   [`Directory`] lays them out as a run.
//! - [`compare`]: a replay beside its recording.
//! - [`export`]: a run as a script, a notebook, a report, JSON or commits.
//! - [`ImportError`]: why nothing could be imported; what could be read in part is a [`Warning`] instead.
//!
//! Everything read here is hostile: names become slugs, texts are bounded, and no path leaves the run.

mod archive;
mod beside;
pub mod compare;
mod detect;
mod error;
pub mod export;
mod formats;
mod header;
mod imported;
pub mod json;
mod moment;
mod naming;
mod notes;
mod plain;
mod recorder;
mod recording;
mod workspace;
mod write;

use std::path::Path;

pub use detect::{Format, Found, Layout, detect};
pub use error::ImportError;
pub use imported::{
    Earlier, Imported, ImportedFile, ImportedPatch, ImportedStep, Note, NoteKind, Place, Recorded, Sink, Summary,
    Warning,
};
pub use recording::{Progress, Recording, Watch};
pub use write::{Directory, beside, write};

/// Reads the file at `path`, whatever it is, and hands what it holds to `sink`, in order.
///
/// # Errors
/// Where the file can't be read, is of no known format, or the watch says stop. What has a broken part is read
/// as far as possible, with a warning for each part left out.
pub fn import_into(path: &Path, watch: &Watch<'_>, sink: &mut dyn Sink) -> Result<Format, ImportError> {
    let recording = Recording::open(path, watch)?;
    let found = detect(&recording)?;
    let mut beside = beside::Beside::new(path, sink);
    formats::read(found, &recording, &mut beside)?;
    beside.finish()?;
    Ok(found.format)
}

/// Reads the file at `path` into memory.
///
/// # Errors
/// As [`import_into`].
pub fn import(path: &Path) -> Result<Imported, ImportError> {
    let mut imported = Imported::default();
    imported.format = Some(import_into(path, &Watch::none(), &mut imported)?);
    Ok(imported)
}
