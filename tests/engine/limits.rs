//! What a step may take, and what it is told when it takes more.
//!
//! Nothing here starts processes without end: the bounds on them are tried with a handful.

use std::fs;
use std::time::Instant;

use reweave::engine::{Memory, OnError};

use super::harness::Run;

/// The first line of what a step failed with.
fn failure(run: &mut Run, source: &str) -> String {
    let told = run.update(&[("1", "kept = 5\n"), ("2", source), ("3", "print('on with', kept)\n")]);
    assert_eq!(told.results["3"], "on with 5\n None");
    told.results["2"].clone()
}

#[test]
fn memory_over_the_limit_ends_the_step_and_the_rest_goes_on() {
    let mut run = Run::with(OnError::Block, |settings| settings.memory = Some(Memory::of(300 << 20)));
    let said = failure(&mut run, "hoard = []\nwhile True:\n    hoard.append(bytearray(20 << 20))\n");
    assert!(said.contains("MemoryLimit: took more memory than its limit of 300 MB; raise it with"), "{said}");
    let said = failure(&mut run, "small = bytearray(1 << 20)\nprint(len(small))\n");
    assert_eq!(said, "1048576\n None");
}

#[test]
fn processes_over_the_limit_are_ended_with_the_step() {
    let mut run = Run::with(OnError::Block, |settings| {
        settings.processes = Some(6);
        settings.policy = reweave::run::Policy::of(reweave::run::Preset::Trusted);
    });
    let mark = format!("{}.25", 4000 + std::process::id() % 1000);
    let source = format!(
        "import subprocess\nheld = [subprocess.Popen(['sleep', '{mark}']) for _ in range(12)]\nheld[0].wait()\n"
    );
    let said = failure(&mut run, &source);
    assert!(said.contains("ProcessLimit: had more processes than its limit of 6"), "{said}");
    let from = Instant::now();
    while sleeping(&mark) {
        assert!(from.elapsed().as_secs() < 20, "some are left");
        std::thread::yield_now();
    }
}

/// Whether a process of that command line is there.
fn sleeping(mark: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| {
            line.starts_with(b"sleep\0") && line.windows(mark.len()).any(|part| part == mark.as_bytes())
        })
    })
}

#[test]
fn a_file_over_the_limit_is_refused_by_the_system() {
    let mut run = Run::with(OnError::Block, |settings| settings.file_size = Some(1 << 20));
    let said = failure(&mut run, "open('big.bin', 'wb').write(bytes(3 << 20))\n");
    assert!(said.contains("OSError: [Errno 27] File too large"), "{said}");
}

#[test]
fn open_files_over_the_limit_are_refused_by_the_system() {
    let mut run = Run::with(OnError::Block, |settings| settings.open_files = Some(64));
    let said = failure(&mut run, "held = [open('/dev/null') for _ in range(100)]\n");
    assert!(said.contains("OSError: [Errno 24] Too many open files"), "{said}");
}
