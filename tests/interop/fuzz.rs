//! Mutated recordings: no panic, no path out of the run, and no two steps in one file.
//!
//! `REWEAVE_IMPORT_FUZZ=100000 cargo test --release --test interop fuzz` tries that many for each fixture. A
//! failure prints its seed and the fixture: `REWEAVE_IMPORT_SEED=… REWEAVE_IMPORT_FUZZ=1` tries that one again.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use reweave::interop::{Imported, Watch, import_into, write};
use serde_json::Value;

use crate::fixtures;
use crate::random::{Random, times};

/// Pieces that mean something to one of the readers.
const PIECES: [&[u8]; 26] = [
    b"\n",
    b"\0\0\0\0",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\ud83d",
    b"\\u0000",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"NaN",
    b"-Infinity",
    b"null",
    b"1e999",
    b"../../",
    b"/etc/passwd",
    b"\x1b]0;title\x07",
    b"{\"type\":",
    b"\r\n",
    b"# %%\n",
    b"# /// step\n",
    b"*** Begin Patch\n",
    b"Traceback (most recent call last):\n",
    b"99999999999999999999",
];

/// A text with a few random edits.
fn edited(random: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = *random.pick(&PIECES);
                bytes.splice(at..at, piece.iter().copied());
            }
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            5 => {
                let from = random.below(other.len());
                let to = (from + random.below(300)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            6 => {
                let piece = *random.pick(&PIECES);
                bytes.splice(at..end, piece.repeat(1 + random.below(200)).iter().copied());
            }
            _ => bytes.reverse_lines(random),
        }
    }
    bytes
}

trait Lines {
    /// Puts two lines in each other's place.
    fn reverse_lines(&mut self, random: &mut Random);
}

impl Lines for Vec<u8> {
    fn reverse_lines(&mut self, random: &mut Random) {
        let mut lines: Vec<Vec<u8>> = self.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        lines.swap(a, b);
        *self = lines.join(&b'\n');
    }
}

/// Values that are rarely where a reader expects them.
fn odd(random: &mut Random) -> Value {
    let values = [
        Value::Null,
        Value::Bool(true),
        0.into(),
        (-1).into(),
        u64::MAX.into(),
        1e300.into(),
        "".into(),
        "../../../etc/passwd".into(),
        "a\0b\u{1b}[31m\u{202e}".into(),
        "x".repeat(5000).into(),
        Value::Array(Vec::new()),
        Value::Array(vec![Value::Null, 1.into(), "s".into()]),
        Value::Object(serde_json::Map::new()),
        serde_json::json!({"id": "x", "type": "y", "text": ["a", 1], "content": {"a": []}}),
    ];
    random.pick(&values).clone()
}

/// Changes one value somewhere in a document.
fn change(random: &mut Random, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() && random.below(8) > 0 => {
            let at = random.below(items.len());
            match random.below(12) {
                0 => drop(items.remove(at)),
                1 => {
                    let copy = items[at].clone();
                    items.push(copy);
                }
                _ => change(random, &mut items[at]),
            }
        }
        Value::Object(entries) if !entries.is_empty() && random.below(8) > 0 => {
            let key = entries.keys().nth(random.below(entries.len())).unwrap().clone();
            match random.below(12) {
                0 => drop(entries.remove(&key)),
                1 => {
                    let inner = entries[&key].clone();
                    entries.insert(format!("{key}_"), inner);
                }
                _ => change(random, &mut entries[&key]),
            }
        }
        other => *other = odd(random),
    }
}

/// The records of a JSON text, changed as data: what comes out is well formed.
fn changed(random: &mut Random, text: &str) -> Option<Vec<u8>> {
    if let Ok(mut document) = serde_json::from_str::<Value>(text) {
        for _ in 0..1 + random.below(4) {
            change(random, &mut document);
        }
        return Some(document.to_string().into_bytes());
    }
    let mut records: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    for _ in 0..1 + random.below(4) {
        let at = random.below(records.len());
        change(random, &mut records[at]);
    }
    Some(records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes())
}

/// What must hold of whatever was imported.
fn check(imported: &Imported) {
    let mut ids = HashSet::new();
    for step in &imported.steps {
        assert!(
            ids.insert(&step.id)
                || imported.format == Some(reweave::interop::Format::Reweave)
                || imported.format == Some(reweave::interop::Format::Notebook),
            "{} twice",
            step.id
        );
    }
}

#[test]
fn mutated_recordings_do_not_panic_and_stay_in_the_run() {
    let seed = times("REWEAVE_IMPORT_SEED", 1);
    let fixtures: Vec<(String, Vec<u8>)> = fixtures::all()
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("recording");
    let (mut read, mut refused) = (0, 0);
    let mut slowest = (Duration::ZERO, 0, "");
    for round in 0..times("REWEAVE_IMPORT_FUZZ", 40) {
        for (name, bytes) in &fixtures {
            let seed = seed.wrapping_add(round);
            let mut random = Random::new(seed ^ name.len() as u64);
            let other = random.pick(&fixtures).1.clone();
            let data = std::str::from_utf8(bytes).ok().filter(|_| random.below(2) == 0);
            let mutated =
                data.and_then(|text| changed(&mut random, text)).unwrap_or_else(|| edited(&mut random, bytes, &other));
            fs::write(&file, &mutated).unwrap();
            let lays = round % 20 == 0;
            let run = dir.path().join("run");
            let began = Instant::now();
            let result = std::panic::catch_unwind(|| {
                let mut imported = Imported::default();
                match import_into(&file, &Watch::none(), &mut imported) {
                    Ok(format) => imported.format = Some(format),
                    Err(error) => {
                        assert!(error.to_string().contains("recording"), "an error names its file: {error}");
                        return false;
                    }
                }
                check(&imported);
                if lays {
                    let steps = imported.steps.len();
                    let summary = write(imported, &run, "a test").unwrap();
                    assert!(summary.steps <= steps);
                    let opened = reweave::run::RunDir::open(&run).unwrap();
                    let found = opened.scan();
                    assert!(found.steps.len() + found.modules.len() >= summary.steps);
                }
                true
            });
            // Some thousands of runs would fill a small disk.
            let _ = fs::remove_dir_all(&run);
            slowest = slowest.max((began.elapsed(), mutated.len(), name));
            match result {
                Ok(true) => read += 1,
                Ok(false) => refused += 1,
                Err(_) => panic!("seed {seed}, {name}: {}", String::from_utf8_lossy(&mutated)),
            }
        }
    }
    let (time, bytes, name) = slowest;
    println!("{read} read, {refused} refused; the slowest took {time:?}: {bytes} bytes made of {name}");
    assert!(read > refused);
    // Nothing was written beside the runs.
    let strays = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(strays.filter(|name| name != "recording").count(), 0);
}
