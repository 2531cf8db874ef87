//! One owner for a run, and two processes on one store.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use reweave::run::UserDirs;
use reweave::step::*;
use reweave::store::{Claim, Incumbent, Store, claim};

fn taken(run: &Path, dirs: &UserDirs) -> Incumbent {
    match claim(run, dirs, 1).unwrap() {
        Claim::Taken(incumbent) => incumbent,
        Claim::Ours(_) => unreachable!("it should be taken"),
    }
}

fn ours(run: &Path, dirs: &UserDirs) -> reweave::store::Ownership {
    match claim(run, dirs, 1).unwrap() {
        Claim::Ours(ownership) => ownership,
        Claim::Taken(incumbent) => unreachable!("{incumbent:?}"),
    }
}

/// The child's part: run by the tests below alone.
#[test]
#[ignore = "run by other tests"]
fn child() {
    let run = PathBuf::from(std::env::var_os("OWNER_CHILD").unwrap());
    if let Some(home) = std::env::var_os("OWNER_HOME") {
        let _owner = ours(&run, &UserDirs::at(Path::new(&home)));
        println!("\nowner");
        std::io::stdout().flush().unwrap();
        // Until it is killed, or the parent is gone.
        let _ = std::io::stdin().read(&mut [0]);
    } else {
        let name = std::env::var("OWNER_STEP").unwrap();
        work(&run, &name);
    }
}

fn start(run: &Path, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("OWNER_CHILD", run)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_second_learns_who_the_first_is_and_speaks_to_it() {
    let (run, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dirs = UserDirs::at(home.path());
    let owner = ours(run.path(), &dirs);
    let second = taken(run.path(), &dirs);
    assert_eq!((second.pid, &second), (std::process::id(), owner.me()));
    let mut stream = second.connect().unwrap();
    stream.write_all(b"hello\n").unwrap();
    let (peer, _) = owner.listener().accept().unwrap();
    let mut line = String::new();
    BufReader::new(peer).read_line(&mut line).unwrap();
    assert_eq!(line, "hello\n");
    // By another path it is the same run, and another run is another.
    let link = home.path().join("link");
    std::os::unix::fs::symlink(run.path(), &link).unwrap();
    assert_eq!(taken(&link, &dirs), second);
    let other = tempfile::tempdir().unwrap();
    drop(ours(other.path(), &dirs));
    drop(owner);
    drop(ours(run.path(), &dirs));
    assert_eq!(fs::read_dir(dirs.runtime()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_dead_owners_run_is_taken_over() {
    let (run, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dirs = UserDirs::at(home.path());
    let mut child = start(run.path(), &[("OWNER_HOME", home.path().to_str().unwrap())]);
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap() == "owner"));
    assert_eq!(taken(run.path(), &dirs).pid, child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    let owner = ours(run.path(), &dirs);
    assert_eq!(owner.me().pid, std::process::id());
}

#[test]
fn a_path_too_long_for_a_socket_does_not_matter() {
    let (run, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let deep = home.path().join("d".repeat(120));
    let dirs = UserDirs::at(&deep);
    let _owner = ours(run.path(), &dirs);
    taken(run.path(), &dirs).connect().unwrap();
}

/// Versions and executions of a step of its own, and of one that both write.
fn work(run: &Path, name: &str) {
    let store = Store::open(run).unwrap();
    let (mine, both): (StepId, StepId) = (name.parse().unwrap(), "both".parse().unwrap());
    for n in 0..40 {
        let by = Provenance::new(Author::Person, n);
        let version = store.record_version(&mine, format!("{n}").as_bytes(), &by).unwrap();
        store.record_execution(Arc::new(Execution::new(mine.clone(), version, n))).wait().unwrap();
        store.record_version(&both, format!("{name} {n}").as_bytes(), &by).unwrap();
        // It sees what it wrote, whatever the other does meanwhile.
        assert_eq!(store.executions(&mine, 100).unwrap().len() as i64, n + 1);
    }
}

#[test]
fn two_processes_on_one_store_lose_nothing_and_see_each_other() {
    let run = tempfile::tempdir().unwrap();
    // Made by both at once: neither finds it half made.
    let children = ["one", "two", "three"].map(|name| start(run.path(), &[("OWNER_STEP", name)]));
    let store = Store::open(run.path()).unwrap();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    for name in ["one", "two", "three"] {
        let step: StepId = name.parse().unwrap();
        assert_eq!((store.versions(&step).unwrap().len(), store.executions(&step, 100).unwrap().len()), (40, 40));
    }
    assert_eq!(store.versions(&"both".parse().unwrap()).unwrap().len(), 120);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}
