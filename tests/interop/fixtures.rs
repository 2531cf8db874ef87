//! Every format's fixture, imported: what comes out is pinned as a person would read it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use reweave::interop::{Imported, import};
use reweave::step::Stream;

/// The fixtures, made by hand with the structure of real recordings.
pub fn all() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The fixture of this name.
pub fn named(name: &str) -> PathBuf {
    all().into_iter().find(|path| path.file_name().unwrap() == name).unwrap()
}

fn told(imported: &Imported) -> String {
    let mut out = String::new();
    let mut steps: Vec<_> = imported.steps.iter().collect();
    steps.sort_by(|a, b| a.id.cmp(&b.id));
    for step in steps {
        let _ = write!(out, "  {}", step.path());
        let by = &step.provenance;
        let _ = write!(out, " by {}", by.author);
        for (key, value) in [("model", &by.model), ("call", &by.call), ("reason", &by.reason)] {
            if let Some(value) = value {
                let _ = write!(out, ", {key} {value:?}");
            }
        }
        if let Some(tokens) = by.tokens {
            let _ = write!(out, ", {}+{} tokens", tokens.input, tokens.output);
        }
        out.push('\n');
        if let Some(recorded) = &step.recorded {
            for (word, stream) in [("out", Stream::Stdout), ("err", Stream::Stderr)] {
                let text = recorded.output.text(stream);
                if !text.is_empty() {
                    let _ = writeln!(out, "    {word} {text:?}");
                }
            }
            for display in &recorded.displays {
                let mimes: Vec<&str> = display.mime.keys().map(String::as_str).collect();
                let _ = writeln!(out, "    showed {:?} {mimes:?}", display.repr);
            }
            if let Some(error) = &recorded.error {
                let _ = writeln!(out, "    failed at {:?}: {} {:?}", error.line, error.type_name, error.message);
            }
        }
        for note in &step.notes {
            let _ = writeln!(out, "    {:?} {}: {:?} -> {:?}", note.kind, note.by, note.text, note.result);
        }
    }
    for patch in &imported.patches {
        let files: Vec<&str> = patch.files.iter().map(|file| file.path.as_str()).collect();
        let _ = writeln!(out, "  patch {:?} {} {files:?} {:?}", patch.title, patch.state.word(), patch.problems);
    }
    for file in &imported.files {
        let _ = writeln!(out, "  file {} {:?}", file.path, String::from_utf8_lossy(&file.bytes));
    }
    for warning in &imported.warnings {
        let _ = writeln!(out, "  ! {warning}");
    }
    out
}

#[test]
fn every_fixture_is_read_as_what_it_is() {
    let mut out = String::new();
    for path in all() {
        let imported = import(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let _ = writeln!(out, "{name}: {}", imported.format.unwrap());
        out.push_str(&told(&imported));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn ids_are_rising_in_the_order_of_the_recording() {
    for path in all() {
        let imported = import(&path).unwrap();
        let mut ids: Vec<_> = imported.steps.iter().map(|step| &step.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), imported.steps.len(), "{}", path.display());
    }
}
