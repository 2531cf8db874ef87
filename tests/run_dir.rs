//! A run's directory with everything that can be wrong in one.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::path::Path;

use reweave::run::{Exclude, Gravity, RunDir, STEP_LIMIT, Scan, Tree};
use reweave::step::Kind;

/// A directory with these files in it.
fn run(files: &[(&str, &str)]) -> (tempfile::TempDir, RunDir) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let run = RunDir::open(dir.path()).unwrap();
    (dir, run)
}

fn ids(scan: &Scan) -> Vec<&str> {
    scan.steps.iter().map(|step| step.id.as_str()).collect()
}

fn problems(scan: &Scan) -> String {
    scan.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn steps_come_in_the_order_of_the_run() {
    let (_dir, run) = run(&[
        ("10_last.py", ""),
        ("2_fit.py", ""),
        ("2_fit/1_a.py", ""),
        ("2_fit/10_c.py", ""),
        ("2_fit/9_b/x.py", ""),
        ("2_fit/return.md", "the model\n"),
        ("1_load.sh", "ls\n"),
        ("test_all.py", ""),
        ("notes.txt", ""),
    ]);
    let scan = run.scan();
    assert_eq!(ids(&scan), ["1_load", "2_fit", "2_fit/1_a", "2_fit/9_b/x", "2_fit/10_c", "10_last", "test_all"]);
    assert_eq!(scan.steps.first().unwrap().kind, Kind::Shell);
    assert_eq!(scan.steps.last().unwrap().kind, Kind::Test);
    let frames: Vec<_> = scan.frames.iter().map(|frame| (&*frame.id, frame.returned.as_deref())).collect();
    assert_eq!(frames, [("2_fit", Some("the model\n")), ("2_fit/9_b", None)]);
    assert_eq!((problems(&scan), scan.others), (String::new(), 1));
}

#[test]
fn what_is_not_a_step_is_left_out() {
    let (_dir, run) = run(&[
        (".git/hook.py", ""),
        (".hidden.py", ""),
        ("patches/1.py", ""),
        ("__pycache__/a.py", ""),
        ("f/__pycache__/a.py", ""),
        ("env/pyvenv.cfg", ""),
        ("env/lib/x.py", ""),
        ("scratch/a.py", ""),
        ("f/old_1.py", ""),
        ("lib.py", "# /// step\n# kind = \"module\"\n# ///\ndef f(): pass\n"),
        ("return.md", ""),
        ("f/patches/kept.py", ""),
        ("a.py", "# /// step\n# summary = \"first\"\n# ///\n"),
    ]);
    let scan = run.excluding(Exclude::new(["scratch", "**/old_*.py"]).unwrap()).scan();
    assert_eq!(ids(&scan), ["a", "f/patches/kept"]);
    assert_eq!(scan.modules.iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), ["lib"]);
    assert_eq!(scan.file(&"lib".parse().unwrap()).unwrap().kind, Kind::Module);
    assert_eq!(scan.file(&"a".parse().unwrap()).unwrap().header.summary.as_deref(), Some("first"));
    assert_eq!(problems(&scan), "");
}

#[test]
fn a_header_that_is_wrong_costs_only_itself() {
    let (_dir, run) = run(&[("a.py", "# /// step\n# knid = \"test\"\n# timeout = 3\n# ///\n"), ("b.py", "")]);
    let scan = run.scan();
    assert_eq!(scan.steps.first().unwrap().header.timeout, Some(3.0));
    insta::assert_snapshot!(problems(&scan), @r##"a.py: header, line 2: unknown key "knid": did you mean "kind"?; correct the `# /// step` block"##);
    assert_eq!(scan.problems.first().unwrap().kind.gravity(), Gravity::Warning);
}

#[test]
fn two_files_with_one_id_keep_the_python_one() {
    let (_dir, run) = run(&[("a.sh", "ls"), ("a.py", "x = 1"), ("b.py", "")]);
    let scan = run.scan();
    assert_eq!(ids(&scan), ["a", "b"]);
    assert_eq!(scan.steps.first().unwrap().path, Path::new("a.py"));
    insta::assert_snapshot!(problems(&scan), @"a.sh: it has the same id as a.py, which is kept; rename one of the two");
}

#[test]
fn a_step_of_50_mb_is_named_and_not_read() {
    let (dir, run) = run(&[("a.py", "x = 1"), ("z.py", "y = 1")]);
    fs::File::create(dir.path().join("big.py")).unwrap().set_len(50 << 20).unwrap();
    let scan = run.scan();
    assert_eq!(ids(&scan), ["a", "big", "z"]);
    let big = scan.file(&"big".parse().unwrap()).unwrap();
    assert!(big.source.is_empty() && big.fault.is_some());
    insta::assert_snapshot!(problems(&scan), @"big.py: too large: 50 MB, where 16 MB is the most; put data into a file of its own, and let a step read it");
    fs::File::options().write(true).open(dir.path().join("big.py")).unwrap().set_len(STEP_LIMIT + 1).unwrap();
    assert_ne!(run.scan().file(&big.id).unwrap().digest, big.digest, "a change of it is seen all the same");
}

#[test]
fn bytes_that_are_no_text_keep_their_place() {
    let (dir, run) = run(&[("b.py", "# coding: klingon\n"), ("c.py", "ok = 1\n")]);
    fs::write(dir.path().join("a.py"), b"x = 1\ny = '\xff'\n").unwrap();
    fs::write(dir.path().join("d.py"), b"# coding: latin-1\nx = '\xe9'\n").unwrap();
    let scan = run.scan();
    assert_eq!(ids(&scan), ["a", "b", "c", "d"]);
    assert_eq!(&*scan.steps.last().unwrap().source, "# coding: latin-1\nx = 'é'\n");
    insta::assert_snapshot!(problems(&scan), @r#"
    a.py: line 2 is not UTF-8; save it as UTF-8, or name its encoding on line 1: # -*- coding: NAME -*-
    b.py: line 1 names the encoding "klingon", which is not known here; save it as UTF-8 and drop the cookie
    "#);
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn names_that_are_not_utf_8_are_told_by_their_name() {
        let (dir, run) = run(&[("a.py", ""), ("b.py", "")]);
        for name in [&b"caf\xe9.py"[..], b"d\xffr/", b"data\xff.csv"] {
            let path = dir.path().join(OsStr::from_bytes(name));
            if name.ends_with(b"/") { fs::create_dir(path).unwrap() } else { fs::write(path, "").unwrap() }
        }
        let scan = run.scan();
        assert_eq!(ids(&scan), ["a", "b"]);
        insta::assert_snapshot!(problems(&scan), @"
        caf�.py: its name is not UTF-8; rename it
        d�r: its name is not UTF-8; rename it
        ");
    }

    #[test]
    fn links_in_a_loop_and_links_out_of_the_run_cost_only_themselves() {
        let (dir, run) = run(&[("a/01.py", "x = 1"), ("b/02.py", ""), ("patches/p.py", "")]);
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.py"), "").unwrap();
        let link = |to: &Path, name: &str| symlink(to, dir.path().join(name)).unwrap();
        link(Path::new("self.py"), "self.py");
        link(Path::new(".."), "a/up");
        link(Path::new("../b"), "a/b");
        link(Path::new("../a"), "b/a");
        link(&outside.path().join("secret.py"), "leak.py");
        link(outside.path(), "data");
        link(&outside.path().join("big.csv"), "big.csv");
        link(Path::new("gone.py"), "dangling.py");
        link(Path::new("a/01.py"), "copy.py");
        link(Path::new("patches"), "inbox");
        let scan = run.scan();
        assert_eq!(ids(&scan), ["a/01", "a/b/02", "b/02", "b/a/01", "copy"]);
        assert_eq!(&*scan.steps.last().unwrap().source, "x = 1");
        let text = problems(&scan).replace(&*outside.path().to_string_lossy(), "OUT");
        insta::assert_snapshot!(text, @"
        a/b/a: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
        a/up: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
        b/a/b: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
        b/a/up: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
        dangling.py: a symbolic link to nothing; remove the link, or make what it leads to
        data: a symbolic link out of the run, to OUT; steps in it are not seen: copy them into the run if there are any
        leak.py: a symbolic link out of the run, to OUT/secret.py; copy the file into the run
        self.py: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
        ");
    }

    #[test]
    fn a_pipe_with_a_steps_name_does_not_hold_the_reader() {
        let (dir, run) = run(&[("a.py", "")]);
        let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe.py")).status().unwrap();
        assert!(made.success());
        let scan = run.scan();
        assert_eq!(ids(&scan), ["a"]);
        insta::assert_snapshot!(problems(&scan), @"pipe.py: not a file but a pipe; remove or rename it");
    }

    /// Root may read everything: the test then runs itself again as an ordinary user.
    #[test]
    fn what_may_not_be_read_or_written_is_told() {
        if rustix::process::geteuid().is_root() {
            let exe = std::env::current_exe().unwrap();
            let again = std::process::Command::new(exe)
                .args(["--exact", "unix::what_may_not_be_read_or_written_is_told", "--nocapture"])
                .env("TMPDIR", "/tmp")
                .uid(65534)
                .gid(65534)
                .output();
            match again {
                Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
                Err(error) => eprintln!("skipped: root can't become another user here: {error}"),
            }
            return;
        }
        let (dir, run) = run(&[("a.py", "secret = 1"), ("b.py", ""), ("f/c.py", "")]);
        let mode = |path: &str, mode: u32| {
            use std::os::unix::fs::PermissionsExt;
            // `DIR/` can't be named while DIR can't be entered.
            let path = if path.is_empty() { dir.path().to_owned() } else { dir.path().join(path) };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("a.py", 0);
        mode("f", 0);
        let scan = run.scan();
        mode("f", 0o700);
        assert_eq!(ids(&scan), ["a", "b"], "an unreadable step keeps its place");
        assert_eq!(
            problems(&scan),
            "a.py: it can't be read: permission denied; check its mode: chmod u+r\n\
             f: the directory can't be read: permission denied; check its mode: chmod u+rx"
        );
        let says = |error: reweave::run::RunError| {
            format!("{error}; {}", error.hint()).replace(&*dir.path().to_string_lossy(), "DIR")
        };
        mode("", 0o500);
        let not_writable = says(run.check_writable().unwrap_err());
        mode("", 0);
        let unreadable = says(RunDir::open(dir.path()).unwrap_err());
        mode("", 0o700);
        assert_eq!(
            not_writable,
            "DIR can't be written to: permission denied; \
             copy it to where you may write, or change its mode: ls -ld DIR"
        );
        assert_eq!(unreadable, "DIR can't be read: permission denied; you need leave to read and enter it: ls -ld DIR");
        run.check_writable().unwrap();
    }
}

#[test]
fn a_directory_that_is_no_run_gets_a_clear_answer() {
    let (dir, run) = run(&[]);
    let shown = |text: String| text.replace(&*dir.path().to_string_lossy(), "DIR");
    let says = |error: reweave::run::RunError| shown(format!("{error}\n{}", error.hint()));
    insta::assert_snapshot!(says(RunDir::open(dir.path().join("none")).unwrap_err()), @"
    DIR/none does not exist
    check the path, or make a sample run there: reweave demo DIR/none
    ");
    insta::assert_snapshot!(says(RunDir::open(dir.path().join("no/where")).unwrap_err()), @"
    DIR/no/where does not exist
    DIR/no does not exist either: check the path
    ");
    insta::assert_snapshot!(says(run.scan().require_steps(&run).unwrap_err()), @"
    DIR is empty
    put a step there (any *.py file), or make a sample run: reweave demo DIR
    ");
    fs::write(dir.path().join("a.ipynb"), "").unwrap();
    insta::assert_snapshot!(says(RunDir::open(dir.path().join("a.ipynb")).unwrap_err()), @"
    DIR/a.ipynb is not a directory
    bring a notebook or a recording in: reweave import DIR/a.ipynb -o DIR
    ");
    fs::create_dir(dir.path().join("photos")).unwrap();
    for number in 0..300 {
        fs::write(dir.path().join(format!("photos/{number}.jpg")), "").unwrap();
    }
    insta::assert_snapshot!(says(run.scan().require_steps(&run).unwrap_err()), @r#"
    DIR holds no steps, but 301 other files, such as "a.ipynb"
    a step is a *.py or *.sh file: is this the right directory? `[run] exclude` may name all of them
    "#);
    fs::write(dir.path().join("a.py"), "").unwrap();
    insta::assert_snapshot!(says(RunDir::open(dir.path().join("a.py")).unwrap_err()), @"
    DIR/a.py is not a directory
    give the directory that holds the steps
    ");
    run.scan().require_steps(&run).unwrap();
}

#[test]
fn a_tree_is_brought_up_to_date_path_by_path() {
    let (dir, run) = run(&[("a.py", "x = 1"), ("b.py", "y = 1"), ("f/c.py", ""), ("f/g/d.py", "")]);
    let mut tree = Tree::read(&run);
    let before = tree.scan();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        fs::write(dir.path().join(path), text).unwrap();
    };
    // Same length, and within the same tick of the clock: only reading it again tells.
    write("a.py", "x = 2");
    write("new/deep/e.py", "");
    fs::remove_dir_all(dir.path().join("f/g")).unwrap();
    fs::rename(dir.path().join("f/c.py"), dir.path().join("f/c2.py")).unwrap();
    tree.refresh_paths(&["a.py", "new/deep/e.py", "f/g", "f/c.py", "f/c2.py"].map(Into::into));
    let after = tree.scan();
    assert_eq!(ids(&after), ["a", "b", "f/c2", "new/deep/e"]);
    assert_eq!(&*after.steps.first().unwrap().source, "x = 2");
    assert!(std::sync::Arc::ptr_eq(before.steps.get(1).unwrap(), after.steps.get(1).unwrap()), "b was not touched");
    assert_eq!(after.frames.iter().map(|frame| &*frame.id).collect::<Vec<_>>(), ["f", "new", "new/deep"]);
    assert_eq!(ids(&after), ids(&run.scan()), "as a look at everything finds it");
    write("b.py", "y = 2");
    fs::remove_file(dir.path().join("a.py")).unwrap();
    tree.refresh_all();
    assert_eq!(ids(&tree.scan()), ["b", "f/c2", "new/deep/e"]);
    assert_eq!(&*tree.scan().steps.first().unwrap().source, "y = 2");
}

#[test]
fn files_that_come_and_go_during_the_look_lose_nothing_else() {
    let (dir, run) = run(&[]);
    for number in 0..200 {
        fs::write(dir.path().join(format!("stays_{number}.py")), "x = 1").unwrap();
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::create_dir_all(dir.path().join("frame")).unwrap();
                for number in 0..20 {
                    fs::write(dir.path().join(format!("frame/{number}.py")), "y = 1").unwrap();
                }
                fs::remove_dir_all(dir.path().join("frame")).unwrap();
            }
        });
        for _ in 0..30 {
            let scan = run.scan();
            assert_eq!(scan.steps.iter().filter(|step| step.id.as_str().starts_with("stays")).count(), 200);
            assert_eq!(problems(&scan), "");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

mod promises {
    use proptest::prelude::*;

    use super::*;

    /// Something that happens to a run's directory.
    #[derive(Debug, Clone)]
    enum Deed {
        Write(String, String),
        Remove(String),
        Move(String, String),
    }

    fn path() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "a.py",
            "a.sh",
            "b.py",
            "lib.py",
            "f",
            "f/a.py",
            "f/b.sh",
            "f/return.md",
            "f/g",
            "f/g/c.py",
            "f/g/x.csv",
            "env/pyvenv.cfg",
            "env/x.py",
            "patches/p.py",
            ".h.py",
            "data.csv",
            "test_a.py",
        ])
        .prop_map(str::to_owned)
    }

    fn deed() -> impl Strategy<Value = Deed> {
        let text = prop::sample::select(vec![
            "",
            "x = 1",
            "y = 2",
            "# /// step\n# kind = \"module\"\n# ///\n",
            "# /// step\n",
        ]);
        prop_oneof![
            3 => (path(), text).prop_map(|(path, text)| Deed::Write(path, text.to_owned())),
            1 => path().prop_map(Deed::Remove),
            1 => (path(), path()).prop_map(|(from, to)| Deed::Move(from, to)),
        ]
    }

    /// Does it if it can be done, and names the paths that an event would name.
    fn perform(dir: &Path, deed: &Deed) -> Vec<String> {
        match deed {
            Deed::Write(path, text) => {
                let full = dir.join(path);
                let made = fs::create_dir_all(full.parent().unwrap()).and_then(|()| fs::write(full, text));
                made.map(|()| vec![path.clone()]).unwrap_or_default()
            }
            Deed::Remove(path) => {
                let full = dir.join(path);
                let gone = if full.is_dir() { fs::remove_dir_all(full) } else { fs::remove_file(full) };
                gone.map(|()| vec![path.clone()]).unwrap_or_default()
            }
            Deed::Move(from, to) => {
                let done = fs::rename(dir.join(from), dir.join(to));
                done.map(|()| vec![from.clone(), to.clone()]).unwrap_or_default()
            }
        }
    }

    type Told = (Vec<(String, Kind, String)>, Vec<String>, Vec<String>, String, usize);

    fn told(scan: &Scan) -> Told {
        let file =
            |file: &std::sync::Arc<reweave::run::StepFile>| (file.id.to_string(), file.kind, file.source.to_string());
        (
            scan.steps.iter().map(file).collect(),
            scan.modules.iter().map(|module| module.id.to_string()).collect(),
            scan.frames.iter().map(|frame| format!("{}: {:?}", frame.id, frame.returned)).collect(),
            problems(scan),
            scan.others,
        )
    }

    #[test]
    fn what_one_path_showed_may_be_gone_with_the_next() {
        let (dir, run) = run(&[("env/x.py", ""), ("a.py", "")]);
        let mut tree = Tree::read(&run);
        let deeds = [
            Deed::Write("env/x.py".to_owned(), String::new()),
            Deed::Move("a.py".to_owned(), "env/pyvenv.cfg".to_owned()),
        ];
        let paths: Vec<_> = deeds.iter().flat_map(|deed| perform(dir.path(), deed)).map(Into::into).collect();
        tree.refresh_paths(&paths);
        assert_eq!(told(&tree.scan()), told(&run.scan()));
        assert_eq!(tree.scan().steps.len(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn looking_at_what_changed_finds_what_looking_at_everything_finds(
            deeds in prop::collection::vec(deed(), 1..12), every in 1_usize..4,
        ) {
            let (dir, run) = run(&[("a.py", "x = 1"), ("f/a.py", "y = 1"), ("f/g/c.py", "z = 1")]);
            let mut tree = Tree::read(&run);
            let mut paths = Vec::new();
            let mut before = tree.scan();
            for (nth, deed) in deeds.iter().enumerate() {
                paths.extend(perform(dir.path(), deed).into_iter().map(Into::into));
                if nth % every == 0 {
                    tree.refresh_paths(&std::mem::take(&mut paths));
                    let after = tree.scan();
                    prop_assert_eq!(told(&after), told(&run.scan()));
                    // What is told to have changed leads from the one to the other.
                    let change = reweave::run::Change::between(&before, std::sync::Arc::new(after.clone()));
                    let mut ids: std::collections::BTreeSet<_> =
                        before.steps.iter().chain(&before.modules).map(|file| file.id.clone()).collect();
                    for id in change.removed.iter().chain(change.renamed.iter().map(|(from, _)| from)) {
                        prop_assert!(ids.remove(id));
                    }
                    for id in change.added.iter().chain(change.renamed.iter().map(|(_, to)| to)) {
                        prop_assert!(ids.insert(id.clone()));
                    }
                    let now = after.steps.iter().chain(&after.modules).map(|file| file.id.clone()).collect();
                    prop_assert_eq!(ids, now);
                    before = after;
                }
            }
        }
    }
}
