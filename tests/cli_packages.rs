//! Another version of a package, or another interpreter, makes stale what ran with the one before.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::Run;
use serde_json::Value;

/// A package with this version and answer, as an installer leaves it, in place of the one before.
fn install(library: &Path, version: &str, answer: u32) {
    let _ = fs::remove_dir_all(library);
    let package = library.join("fake_tool");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("__init__.py"), "from .inner import answer\nclass Box:\n    pass\n").unwrap();
    fs::write(package.join("inner.py"), format!("def answer():\n    return {answer}\n")).unwrap();
    let installed = library.join(format!("Fake.Tools-{version}.dist-info"));
    fs::create_dir_all(&installed).unwrap();
    fs::write(installed.join("RECORD"), "fake_tool/__init__.py,,\nfake_tool/inner.py,,\n").unwrap();
}

fn json(run: &Run, verb: &str, library: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args([verb, ".", "--json"]).current_dir(run.path()).env("PYTHONPATH", library);
    let done = command.output().unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Of each step whether it ran, what it printed, and why.
fn ran(run: &Run, library: &Path) -> Vec<String> {
    let told = json(run, "run", library);
    let steps = told["steps"].as_array().unwrap();
    let said = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().trim().to_owned();
    let ran = steps.iter().filter(|step| step["ran"] == true);
    ran.map(|step| format!("{} {} ({})", said(step, "id"), said(step, "stdout"), said(step, "why"))).collect()
}

#[test]
fn steps_that_use_a_package_follow_its_version() {
    let place = tempfile::tempdir().unwrap();
    let library = place.path().join("library");
    install(&library, "1.0", 1);
    let run = Run::new(&[
        ("01_import.py", "import fake_tool\nimport json\nbox = fake_tool.Box()\n"),
        ("02_use.py", "print(fake_tool.answer())\n"),
        ("03_other.py", "print(json.dumps(3))\n"),
        ("04_holds.py", "print(type(box).__name__)\n"),
        ("05_plain.py", "x = 1\n"),
    ]);
    assert_eq!(ran(&run, &library).len(), 5);
    assert_eq!(ran(&run, &library), [""; 0]);

    install(&library, "2.0", 2);
    let status = json(&run, "status", &library);
    let steps = status["steps"].as_array().unwrap();
    let why = "ran with fake_tool 1.0, not fake_tool 2.0";
    let first = |step: &Value| step["reasons"][0]["text"].as_str().unwrap_or_default().to_owned();
    let said: Vec<String> = steps.iter().map(first).collect();
    assert_eq!(said, [why, why, "json from 01_import", why, ""]);
    assert_eq!(
        ran(&run, &library),
        [format!("01_import  ({why})"), format!("02_use 2 ({why})"), format!("04_holds Box ({why})")]
    );
    assert_eq!(ran(&run, &library), [""; 0]);

    // One that is found elsewhere, the old one still lying where it was.
    let other = place.path().join("other");
    install(&other, "3.0", 3);
    let why = "ran with fake_tool 2.0, not fake_tool 3.0";
    let path = format!("{}:{}", other.display(), library.display());
    assert_eq!(ran(&run, Path::new(&path))[1], format!("02_use 3 ({why})"));

    // One that no installer vouches for, worked on where it lies.
    fs::remove_dir_all(other.join("Fake.Tools-3.0.dist-info")).unwrap();
    // Where imports are looked for is another as well, and counts for all.
    assert_eq!(ran(&run, &other).len(), 5);
    fs::write(other.join("fake_tool/inner.py"), "def answer():\n    return 44\n").unwrap();
    assert_eq!(ran(&run, &other)[1], "02_use 44 (ran with other files of fake_tool)");
    assert_eq!(ran(&run, &other), [""; 0]);
}

#[test]
fn what_a_step_puts_on_the_path_is_followed_as_well() {
    let place = tempfile::tempdir().unwrap();
    let library = place.path().join("library");
    install(&library, "1.0", 1);
    let first = format!("import sys\nsys.path.insert(0, {:?})\n", library.to_str().unwrap());
    let run = Run::new(&[
        ("01_path.py", &first),
        ("02_import.py", "import fake_tool\n"),
        ("03_use.py", "print(fake_tool.answer())\n"),
    ]);
    let nowhere = place.path();
    assert_eq!(ran(&run, nowhere).len(), 3);
    assert_eq!(ran(&run, nowhere), [""; 0]);
    install(&library, "2.0", 2);
    let why = "ran with fake_tool 1.0, not fake_tool 2.0";
    let told = ran(&run, nowhere);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1], format!("03_use 2 ({why})"));
    assert_eq!(ran(&run, nowhere), [""; 0]);
}
