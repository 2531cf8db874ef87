//! Changing a run's files: whole at any moment, and never over an edit that was not seen.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reweave::run::{Expect, Faults, RunDir, WriteError};
use reweave::step::Digest;

fn run() -> (tempfile::TempDir, RunDir) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.py"), "old").unwrap();
    let run = RunDir::open(dir.path()).unwrap();
    (dir, run)
}

fn old() -> Expect {
    Expect::Content(Digest::of("old"))
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_renamed_and_removed() {
    let (dir, run) = run();
    let files = run.files();
    let new = files.write(Path::new("a.py"), b"new", old()).unwrap();
    assert_eq!((fs::read_to_string(dir.path().join("a.py")).unwrap(), new), ("new".into(), Digest::of("new")));
    files.rename(Path::new("a.py"), Path::new("f/g/b.py"), new).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("f/g/b.py")).unwrap(), "new");
    files.write(Path::new("f/c.py"), b"made", Expect::Absent).unwrap();
    files.remove(Path::new("f/g/b.py"), new).unwrap();
    assert_eq!((names(dir.path()), names(&dir.path().join("f"))), (vec!["f".into()], vec!["c.py".into(), "g".into()]));
}

#[test]
fn a_file_that_is_not_as_expected_is_left_alone() {
    let (dir, run) = run();
    let files = run.files();
    let other = Digest::of("other");
    let path = Path::new("a.py");
    let says = |error: WriteError| format!("{error}; {}", error.hint());
    insta::assert_snapshot!(says(files.write(path, b"x", Expect::Content(other)).unwrap_err()), @"a.py was changed meanwhile; look at it again, then repeat");
    insta::assert_snapshot!(says(files.write(path, b"x", Expect::Absent).unwrap_err()), @"a.py exists already; choose another name");
    insta::assert_snapshot!(says(files.write(Path::new("b.py"), b"x", old()).unwrap_err()), @"b.py is not there any more; bring it back first: reweave restore");
    assert!(matches!(files.remove(path, other), Err(WriteError::Changed(_))));
    assert!(matches!(files.rename(path, Path::new("b.py"), other), Err(WriteError::Changed(_))));
    fs::write(dir.path().join("b.py"), "there").unwrap();
    assert!(matches!(files.rename(path, Path::new("b.py"), Digest::of("old")), Err(WriteError::Exists(_))));
    for bad in ["../x.py", "/tmp/x.py", ".reweave/x.py", "f/.x.py", "", "."] {
        assert!(matches!(files.write(Path::new(bad), b"x", Expect::Absent), Err(WriteError::Outside(_))), "{bad}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("a.py")).unwrap(), "old");
    assert_eq!(names(dir.path()), ["a.py", "b.py"]);
}

#[test]
fn an_edit_at_the_last_moment_is_not_lost() {
    let (dir, run) = run();
    let path = dir.path().join("a.py");
    let edited = path.clone();
    // After the last look at the file, and before the new one takes its place.
    let faults = Faults::new(move |point| if point == "swap" { fs::write(&edited, "edited") } else { Ok(()) });
    let result = run.files().with_faults(faults).write(Path::new("a.py"), b"new", old());
    if cfg!(target_os = "linux") {
        assert!(matches!(result, Err(WriteError::Changed(_))), "{result:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "edited");
    }
    assert_eq!(names(dir.path()), ["a.py"]);
}

#[test]
fn a_failure_at_any_point_leaves_a_whole_file_and_nothing_beside_it() {
    for point in ["create", "write", "sync", "swap", "sync-dir"] {
        let (dir, run) = run();
        let full = Faults::new(move |at| if at == point { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) });
        let error = run.files().with_faults(full).write(Path::new("a.py"), b"new", old()).unwrap_err();
        assert_eq!(error.hint(), "free some space, then repeat", "{point}");
        let expected = if point == "sync-dir" { "new" } else { "old" };
        assert_eq!(fs::read_to_string(dir.path().join("a.py")).unwrap(), expected, "{point}");
        assert_eq!(matches!(error, WriteError::Unsure { .. }), point == "sync-dir", "{point}");
        assert_eq!(names(dir.path()), ["a.py"], "{point}");
    }
}

#[cfg(unix)]
#[test]
fn the_mode_is_kept_and_read_only_is_respected() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, run) = run();
    let path = dir.path().join("a.py");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    run.files().write(Path::new("a.py"), b"new", old()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
    let error = run.files().write(Path::new("a.py"), b"x", Expect::Content(Digest::of("new"))).unwrap_err();
    insta::assert_snapshot!(error, @"a.py is read-only");
}

#[cfg(unix)]
#[test]
fn links_are_followed_within_the_run_and_never_out_of_it() {
    use std::os::unix::fs::symlink;
    let (dir, run) = run();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.py"), "old").unwrap();
    symlink("a.py", dir.path().join("link.py")).unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(outside.path().join("x.py"), dir.path().join("x.py")).unwrap();
    let files = run.files();
    files.write(Path::new("link.py"), b"new", old()).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("a.py")).unwrap(), "new");
    assert!(fs::symlink_metadata(dir.path().join("link.py")).unwrap().is_symlink());
    for path in ["out/x.py", "x.py", "out/new/y.py"] {
        for expect in [old(), Expect::Absent] {
            assert!(matches!(files.write(Path::new(path), b"x", expect), Err(WriteError::Outside(_))), "{path}");
        }
        assert!(files.remove(Path::new(path), Digest::of("old")).is_err(), "{path}");
    }
    assert_eq!(names(outside.path()), ["x.py"]);
    files.remove(Path::new("link.py"), Digest::of("new")).unwrap();
    assert!(dir.path().join("a.py").exists(), "the link goes, not what it leads to");
}

/// Runs itself again for each point, and dies there.
#[cfg(unix)]
#[test]
fn a_kill_at_any_point_leaves_a_whole_file() {
    if let Ok(directory) = std::env::var("RUN_WRITE_DIES_IN") {
        let at = std::env::var("RUN_WRITE_DIES_AT").unwrap().parse().unwrap();
        let files = RunDir::open(directory).unwrap().files().with_faults(Faults::kill_at(at));
        files.write(Path::new("a.py"), &vec![b'n'; 1 << 20], old()).unwrap();
        return;
    }
    let points = Arc::new(AtomicUsize::new(0));
    {
        let (_dir, run) = run();
        let points = Arc::clone(&points);
        let count = Faults::new(move |_| {
            points.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        run.files().with_faults(count).write(Path::new("a.py"), b"new", old()).unwrap();
    }
    for at in 0..points.load(Ordering::SeqCst) {
        let (dir, run) = run();
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_kill_at_any_point_leaves_a_whole_file"])
            .env("RUN_WRITE_DIES_IN", dir.path())
            .env("RUN_WRITE_DIES_AT", at.to_string())
            .output()
            .unwrap()
            .status;
        assert!(!status.success(), "it died at point {at}");
        let text = fs::read(dir.path().join("a.py")).unwrap();
        assert!(text == b"old" || text == vec![b'n'; 1 << 20], "point {at}");
        assert_eq!(run.scan().steps.len(), 1, "what was left behind is no step");
        let left = run.files().sweep([Path::new("")], |bytes| bytes == b"never kept");
        for path in &left {
            assert!(dir.path().join(path).exists(), "what is kept nowhere else stays");
        }
        assert_eq!(run.files().sweep([Path::new("")], |_| true), Vec::<std::path::PathBuf>::new());
        assert_eq!(names(dir.path()), ["a.py"], "point {at}");
    }
}
