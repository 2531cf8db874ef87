//! Watching a run's directory: each thing that happens there is told once, and right.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use reweave::run::{Change, RunDir, Tree, WatchMode, Watcher};

struct Watched {
    dir: tempfile::TempDir,
    told: Receiver<Change>,
    watcher: Watcher,
}

fn watch(files: &[(&str, &str)]) -> Watched {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    let run = RunDir::open(dir.path()).unwrap();
    let (tell, told) = channel();
    let watcher = Watcher::start(Tree::read(&run), move |change| drop(tell.send(change))).unwrap();
    let watched = Watched { dir, told, watcher };
    let first = watched.next();
    assert!(first.added.is_empty() && first.mode == WatchMode::Live, "{first:?}");
    watched
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl Watched {
    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        write(self.dir.path(), path, text);
    }

    fn next(&self) -> Change {
        self.told.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    /// Everything that is told until a step `end` is, which is written now.
    fn until_end(&self) -> Vec<Change> {
        self.write("zz_end.py", "");
        let mut changes = Vec::new();
        loop {
            let change = self.next();
            let ended = change.added.iter().any(|id| id.as_str() == "zz_end");
            changes.push(change);
            if ended {
                return changes;
            }
        }
    }
}

/// What was told of each step: `+` added, `~` changed, `-` removed, `from > to`.
fn story(changes: &[Change]) -> BTreeMap<String, String> {
    let mut story: BTreeMap<String, String> = BTreeMap::new();
    for change in changes {
        for (mark, ids) in [("+", &change.added), ("~", &change.changed), ("-", &change.removed)] {
            for id in ids {
                story.entry(id.to_string()).or_default().push_str(mark);
            }
        }
        for (from, to) in &change.renamed {
            story.entry(format!("{from} > {to}")).or_default().push('>');
        }
    }
    story.remove("zz_end");
    story
}

fn said(told: &[(&str, &str)]) -> BTreeMap<String, String> {
    told.iter().map(|(id, marks)| ((*id).to_owned(), (*marks).to_owned())).collect()
}

#[test]
fn a_file_saved_in_place_is_told_once() {
    let watched = watch(&[("a.py", "x = 1"), ("b.py", "")]);
    watched.write("a.py", "x = 2");
    let changes = watched.until_end();
    assert_eq!(story(&changes), said(&[("a", "~")]));
    assert_eq!(&*changes.last().unwrap().scan.steps.first().unwrap().source, "x = 2");
}

#[test]
fn a_save_by_renaming_is_told_once() {
    let watched = watch(&[("a.py", "x = 1"), ("b.py", "y = 1")]);
    // As vim does with a backup beside the file, and as most other programs do.
    fs::rename(watched.path("a.py"), watched.path("a.py~")).unwrap();
    watched.write("a.py", "x = 2");
    fs::remove_file(watched.path("a.py~")).unwrap();
    watched.write(".b.py.tmp", "y = 2");
    fs::rename(watched.path(".b.py.tmp"), watched.path("b.py")).unwrap();
    assert_eq!(story(&watched.until_end()), said(&[("a", "~"), ("b", "~")]));
}

#[test]
fn a_partial_write_is_told_when_it_is_whole() {
    let watched = watch(&[("a.py", "x = 1")]);
    let started = Instant::now();
    let mut file = fs::File::create(watched.path("a.py")).unwrap();
    file.write_all(b"x = (1 +").unwrap();
    let meanwhile = watched.until_end();
    // A writer that keeps a file open for long is told all the same; a busy machine can make that of this one.
    if started.elapsed() < Duration::from_millis(300) {
        assert_eq!(story(&meanwhile), said(&[]));
        file.write_all(b" 2)").unwrap();
        drop(file);
        let change = watched.next();
        assert_eq!(story(std::slice::from_ref(&change)), said(&[("a", "~")]));
        assert_eq!(&*change.scan.steps.first().unwrap().source, "x = (1 + 2)");
    }
}

#[test]
fn each_of_500_files_is_told_once() {
    let watched = watch(&[("a.py", "")]);
    for number in 0..500 {
        watched.write(&format!("frame/{}/{number}.py", number % 5), "x = 1");
    }
    let changes = watched.until_end();
    let story = story(&changes);
    assert_eq!(story.len(), 500);
    let odd: Vec<_> = story.iter().filter(|(_, marks)| *marks != "+").collect();
    // A file whose directory was found while it was written may be told twice, the second time whole.
    assert!(odd.len() <= 5, "{odd:?}");
    assert_eq!(changes.last().unwrap().scan.steps.len(), 502);
}

#[test]
fn steps_that_come_go_and_move_are_told() {
    let watched = watch(&[("a.py", "x = 1"), ("f/b.py", "y = 1"), ("f/c.py", "z = 1"), ("d.py", "")]);
    fs::rename(watched.path("a.py"), watched.path("a2.py")).unwrap();
    fs::rename(watched.path("f"), watched.path("g")).unwrap();
    fs::remove_file(watched.path("d.py")).unwrap();
    let changes = watched.until_end();
    assert_eq!(story(&changes), said(&[("a > a2", ">"), ("f/b > g/b", ">"), ("f/c > g/c", ">"), ("d", "-")]));
    // The frame is still watched, under its new name.
    watched.write("g/b.py", "y = 2");
    assert_eq!(story(&[watched.next()]), said(&[("g/b", "~")]));
    watched.write("g/new/deep/e.py", "");
    assert_eq!(story(&[watched.next()]), said(&[("g/new/deep/e", "+")]));
}

#[test]
fn the_workbenchs_own_files_are_not_told_and_the_runs_others_are() {
    let watched = watch(&[("a.py", "")]);
    watched.write(".reweave/store.db", "1");
    watched.write(".git/x.py", "");
    watched.write("__pycache__/a.py", "");
    let changes = watched.until_end();
    assert_eq!(story(&changes), said(&[]));
    assert!(changes.iter().all(|change| change.others.is_empty() && !change.inbox), "{changes:?}");
    watched.write("patches/1.diff", "");
    assert!(watched.next().inbox);
    watched.write("patches/2.diff", "");
    assert!(watched.next().inbox);
    watched.write("reweave.toml", "");
    assert!(watched.next().config);
    watched.write("out/data.csv", "1");
    assert_eq!(watched.next().others, [PathBuf::from("out/data.csv")]);
    watched.write("out/data.csv", "2");
    assert_eq!(watched.next().others, [PathBuf::from("out/data.csv")]);
}

#[test]
fn what_is_asked_for_is_looked_at_and_told_only_if_it_differs() {
    let watched = watch(&[("a.py", "")]);
    watched.watcher.look_again();
    watched.watcher.set_exclude(reweave::run::Exclude::new(["zz_*"]).unwrap());
    watched.write("zz_end.py", "");
    watched.write("b.py", "");
    assert_eq!(story(&[watched.next()]), said(&[("b", "+")]));
}

#[test]
fn a_directory_that_goes_away_is_told_and_polled() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    write(&dir, "a.py", "");
    let run = RunDir::open(&dir).unwrap();
    let (tell, told) = channel();
    let _watcher = Watcher::start(Tree::read(&run), move |change| drop(tell.send(change))).unwrap();
    let next = || told.recv_timeout(Duration::from_secs(20)).unwrap();
    next();
    fs::rename(&dir, parent.path().join("moved")).unwrap();
    let change = next();
    assert_eq!(story(std::slice::from_ref(&change)), said(&[("a", "-")]));
    assert!(matches!(change.mode, WatchMode::Polling(_)));
    fs::rename(parent.path().join("moved"), &dir).unwrap();
    assert_eq!(story(&[next()]), said(&[("a", "+")]));
}
