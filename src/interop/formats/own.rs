//! reweave's own export, from which the same run is made again: see [`crate::interop::export::json`].

use base64::Engine;
use serde::Deserialize;
use serde_json::Value;

use crate::interop::detect::Sample;
use crate::interop::export::VERSION;
use crate::interop::json::{Clean, at, each_element, outline, str_at};
use crate::interop::{
    Earlier, ImportError, ImportedFile, ImportedPatch, ImportedStep, Place, Recorded, Recording, Sink, Warning,
};
use crate::step::{Author, Execution, Kind, Provenance, StepId, VersionNumber};

/// Whether the records are reweave's own export.
pub fn is(sample: &Sample) -> bool {
    sample.has(&["reweave_run"])
}

/// Reads an export.
///
/// # Errors
/// As [`crate::interop::import_into`]; and for an export of a newer reweave.
pub fn read(recording: &Recording<'_>, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let (frame, ended) = outline(Clean::new(recording.read()?), 1 << 20, 1);
    let made_by = at(&frame, &["reweave_run"]).as_u64().unwrap_or_default();
    if made_by > u64::from(VERSION) {
        return Err(
            recording.malformed(format!("the export is of format {made_by}; this reweave knows up to {VERSION}"))
        );
    }
    if let Some(warning) = ended.warning() {
        sink.warn(warning);
    }
    if let Some(config) = str_at(&frame, &["config"]) {
        sink.config(config.to_owned());
    }
    let mut number = 0;
    each_element(Clean::new(recording.read()?), &["files"], &mut |file| {
        let path = str_at(&file, &["path"]).unwrap_or_default().to_owned();
        let Some(bytes) = content(&file) else {
            sink.warn(Warning::new(format!("the file {path:?} has no content that can be read; left out")));
            return Ok(());
        };
        sink.file(ImportedFile::beside(path, bytes))
    })?;
    each_element(Clean::new(recording.read()?), &["patches"], &mut |value| {
        number += 1;
        let Some(patch) = patch(&value) else {
            sink.warn(Warning::at(Place::Record(number), "a patch that can't be read; left out"));
            return Ok(());
        };
        sink.patch(patch)
    })?;
    number = 0;
    each_element(Clean::new(recording.read()?), &["steps"], &mut |value| {
        number += 1;
        match step(&value) {
            Ok(step) => sink.step(step),
            Err(why) => {
                sink.warn(Warning::at(Place::Record(number), format!("a step that can't be read, left out: {why}")));
                Ok(())
            }
        }
    })?;
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    Ok(())
}

/// What stands under `text`, or in base64 under `base64`.
fn content(value: &Value) -> Option<Vec<u8>> {
    match str_at(value, &["text"]) {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => base64::engine::general_purpose::STANDARD.decode(str_at(value, &["base64"])?).ok(),
    }
}

fn patch(value: &Value) -> Option<ImportedPatch> {
    let part = |key: &str| at(value, &[key]).clone();
    Some(ImportedPatch {
        title: str_at(value, &["title"])?.to_owned(),
        provenance: Deserialize::deserialize(part("provenance")).ok()?,
        text: content(value).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        files: Deserialize::deserialize(part("files")).ok()?,
        state: Deserialize::deserialize(part("state")).ok()?,
        problems: Deserialize::deserialize(part("problems")).unwrap_or_default(),
        comments: Deserialize::deserialize(part("comments")).unwrap_or_default(),
    })
}

fn step(value: &Value) -> Result<ImportedStep, String> {
    let id: StepId = str_at(value, &["id"]).unwrap_or_default().parse().map_err(|error| format!("{error}"))?;
    let text = content(value).ok_or("it has no text")?;
    let text = String::from_utf8(text).map_err(|_| format!("{id} is not UTF-8"))?;
    let kind: Kind = Deserialize::deserialize(at(value, &["kind"]).clone()).unwrap_or_default();
    let execution: Option<Execution> = Deserialize::deserialize(at(value, &["execution"]).clone()).ok().flatten();
    let ran = execution.as_ref().map(|execution| execution.version);
    let mut recorded = execution.map(|execution| Recorded {
        started: Some(execution.started),
        duration_us: Some(execution.duration_us),
        output: execution.output,
        displays: execution.displays,
        error: execution.error,
    });
    let mut versions: Vec<(VersionNumber, String, Provenance)> = Vec::new();
    for version in at(value, &["versions"]).as_array().into_iter().flatten() {
        let number = Deserialize::deserialize(at(version, &["number"]).clone());
        let provenance = Deserialize::deserialize(at(version, &["provenance"]).clone());
        if let (Ok(number), Some(text), Ok(provenance)) = (number, content(version), provenance) {
            versions.push((number, String::from_utf8_lossy(&text).into_owned(), provenance));
        }
    }
    // The newest version is the file, unless the file was changed since.
    let newest = versions.last().is_some_and(|(_, newest, _)| *newest == text).then(|| versions.pop()).flatten();
    let provenance = newest.as_ref().map(|(_, _, provenance)| provenance.clone());
    let earlier = versions
        .into_iter()
        .map(|(number, text, provenance)| Earlier {
            recorded: if ran == Some(number) { recorded.take() } else { None },
            text,
            provenance,
        })
        .collect();
    Ok(ImportedStep {
        id,
        kind,
        text,
        provenance: provenance.unwrap_or_else(|| Provenance::new(Author::Import("reweave".to_owned()), 0)),
        recorded,
        notes: Vec::new(),
        earlier,
    })
}
