//! Long logs: read in bounded memory, with progress, and stopped when asked.
//!
//! `REWEAVE_LARGE_MB=200 cargo test --release --test interop large -- --nocapture` reads a log of 200 MB and says
//! how much memory that took.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use reweave::interop::{
    Directory, ImportError, ImportedFile, ImportedPatch, ImportedStep, Progress, Sink, Warning, Watch, import_into,
};
use serde_json::json;

use crate::random::times;

/// A session of about `size` bytes: calls with outputs of a few kilobytes, and one line of 28 MB where it fits.
fn session(path: &Path, size: usize) -> usize {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let (mut written, mut calls) = (0, 0);
    let huge = size > 64 << 20;
    while written < size {
        calls += 1;
        let id = format!("t{calls}");
        let length = if huge && calls == 100 { 28 << 20 } else { 4000 };
        let text = "line of output\n".repeat(length / 15);
        let call = json!({"type": "assistant", "uuid": format!("a{calls}"), "cwd": "/w", "message": {"id": id, "model": "m",
            "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("echo {calls}")}}]}});
        let answer = json!({"type": "user", "uuid": format!("u{calls}"), "cwd": "/w", "message": {"content":
            [{"type": "tool_result", "tool_use_id": id, "content": text}]}, "toolUseResult": {"stdout": text, "stderr": ""}});
        for record in [call, answer] {
            let line = format!("{record}\n");
            written += line.len();
            out.write_all(line.as_bytes()).unwrap();
        }
    }
    out.flush().unwrap();
    calls
}

/// Counts what comes and keeps nothing.
#[derive(Default)]
struct Counter {
    steps: usize,
    largest: usize,
}

impl Sink for Counter {
    fn step(&mut self, step: ImportedStep) -> Result<(), ImportError> {
        self.steps += 1;
        let output = step.recorded.map_or(0, |recorded| recorded.all_output().len());
        self.largest = self.largest.max(output);
        Ok(())
    }

    fn file(&mut self, _: ImportedFile) -> Result<(), ImportError> {
        Ok(())
    }

    fn patch(&mut self, _: ImportedPatch) -> Result<(), ImportError> {
        Ok(())
    }

    fn config(&mut self, _: String) {}

    fn warn(&mut self, warning: Warning) {
        panic!("{warning}");
    }
}

/// The most memory that the process has had, in megabytes.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb >> 10)
}

#[test]
fn a_long_log_streams_with_progress() {
    let size = times("REWEAVE_LARGE_MB", 6) as usize * 1_000_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    let calls = session(&path, size);
    let told: RefCell<Vec<Progress>> = RefCell::default();
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress| told.borrow_mut().push(progress);
    let mut counter = Counter::default();
    let start = std::time::Instant::now();
    import_into(&path, &Watch::new(&progress, &stop), &mut counter).unwrap();
    println!("{} MB in {:?}, {calls} steps, peak {:?} MB", size / 1_000_000, start.elapsed(), peak_mb());
    assert_eq!(counter.steps, calls);
    let told = told.borrow();
    assert!(told.len() as u64 >= size as u64 >> 21, "{}", told.len());
    assert!(told.windows(2).all(|pair| pair[0].read <= pair[1].read));
    assert!(told.last().unwrap().read >= told.last().unwrap().total);
    if let Some(peak) = peak_mb().filter(|_| size > 100_000_000) {
        assert!(peak < 400, "{peak} MB");
    }
}

#[test]
fn a_long_import_stops_when_asked_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    session(&path, 5_000_000);
    let stop = AtomicBool::new(false);
    let calls = Cell::new(0);
    let progress = |_: Progress| {
        calls.set(calls.get() + 1);
        if calls.get() == 3 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut directory = Directory::create(&dir.path().join("run")).unwrap();
    let result = import_into(&path, &Watch::new(&progress, &stop), &mut directory);
    assert!(matches!(result, Err(ImportError::Stopped)), "{result:?}");
    drop(directory);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["session.jsonl"]);
}
