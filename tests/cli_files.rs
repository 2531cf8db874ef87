//! What a step does to the files of a run is taken back when the step goes, and done again when it comes, whatever stands where.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;

use common::Run;

const LOOK: &str = "import os
print(sorted((where, sorted(inner), sorted(files)) for where, inner, files in os.walk('data')))
";

/// A run with a step, one that looks at the files, and a person's files.
fn run_with(code: &str) -> Run {
    let run = Run::new(&[("01_do.py", code), ("02_look.py", LOOK), ("data/a", "a"), ("data/inner/b", "b")]);
    symlink("a", run.file("data/link")).unwrap();
    run
}

/// What there is in a directory, with permissions and content.
fn tree(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let what = if meta.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if meta.is_dir() {
            found.extend(tree(&path));
            "directory".to_owned()
        } else if meta.file_type().is_fifo() {
            "fifo".to_owned()
        } else {
            fs::read_to_string(&path).unwrap()
        };
        found.push(format!("{} {:o} {what}", path.display(), meta.permissions().mode()));
    }
    found.sort();
    found
}

fn ran(run: &Run) -> Vec<String> {
    let told = run.json("run", &[]);
    let steps = told["steps"].as_array().unwrap();
    steps.iter().filter(|step| step["ran"] == true).map(|step| step["id"].as_str().unwrap().to_owned()).collect()
}

fn stale(run: &Run) -> Vec<String> {
    let told = run.json("status", &[]);
    let steps = told["steps"].as_array().unwrap();
    let stale = steps.iter().filter(|step| step["status"] != "fresh");
    stale.map(|step| step["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_step_does_to_files_is_taken_back_and_done_again() {
    let fork = "import os
if os.fork() == 0:
    open('data/new', 'w').close()
    os.remove('data/inner/b')
    os._exit(0)
os.wait()
";
    let all = [
        (
            "a file becomes a directory",
            "import os\nos.remove('data/a')\nos.mkdir('data/a')\nopen('data/a/c', 'w').close()\n",
        ),
        (
            "a directory becomes a file",
            "import shutil\nshutil.rmtree('data/inner')\nopen('data/inner', 'w').write('1')\n",
        ),
        ("a link becomes a directory", "import os\nos.remove('data/link')\nos.makedirs('data/link/deep')\n"),
        ("a link leads elsewhere", "import os\nos.remove('data/link')\nos.symlink('inner', 'data/link')\n"),
        ("a file becomes a link", "import os\nos.remove('data/a')\nos.symlink('inner/b', 'data/a')\n"),
        ("what a link leads to is written", "open('data/link', 'a').write('1')\n"),
        ("a directory is renamed", "import os\nos.rename('data/inner', 'data/other')\n"),
        ("permissions of a directory", "import os\nos.chmod('data/inner', 0o750)\n"),
        ("a pipe", "import os\nos.mkfifo('data/pipe')\n"),
        ("a tree is copied", "import shutil\nshutil.copytree('data', 'data/copy', symlinks=True)\n"),
        ("a child process", fork),
    ];
    for (what, code) in all {
        let run = run_with(code);
        let before = tree(&run.file("data"));
        assert_eq!(ran(&run).len(), 2, "{what}");
        let after = tree(&run.file("data"));
        assert_eq!((stale(&run), ran(&run)), (vec![], vec![]), "{what}");
        run.write("01_do.py", "x = 1\n");
        ran(&run);
        assert_eq!(tree(&run.file("data")), before, "{what}: taken back");
        assert_eq!((stale(&run), ran(&run)), (vec![], vec![]), "{what}: taken back");
        run.write("01_do.py", code);
        ran(&run);
        assert_eq!(tree(&run.file("data")), after, "{what}: done again");
        assert_eq!((stale(&run), ran(&run)), (vec![], vec![]), "{what}: done again");
    }
}

#[test]
fn what_comes_after_a_step_that_is_gone_is_marked_as_it_runs() {
    let relink =
        "import os\nos.path.lexists('data/link') and os.remove('data/link')\nos.symlink('inner', 'data/link')\n";
    for [first, second] in [[relink; 2], ["open('data/a', 'a').write('1')\n"; 2]] {
        let run = run_with(first);
        run.write("03_do.py", second);
        ran(&run);
        fs::remove_file(run.file("01_do.py")).unwrap();
        let marked = stale(&run);
        assert!(marked.contains(&"03_do".to_owned()), "{first}");
        assert_eq!(ran(&run), marked, "{first}");
        assert_eq!((stale(&run), ran(&run)), (vec![], vec![]));
    }
}

#[test]
fn what_is_in_a_directory_goes_with_it() {
    let run = run_with("x = 1\n");
    run.write("03_move.py", "import os\nos.rename('data/inner', 'data/other')\n");
    ran(&run);
    run.write("01_do.py", "open('data/inner/new', 'w').write('1')\n");
    assert_eq!(ran(&run), ["01_do", "02_look", "03_move"]);
    assert_eq!(run.read("data/other/new"), "1");
    assert!(!run.file("data/inner").exists());
    assert_eq!((stale(&run), ran(&run)), (vec![], vec![]));
}

#[test]
fn a_step_before_one_that_moves_a_directory_stays_fresh() {
    let run = run_with("import os\nprint(sorted(os.listdir('data/inner')))\n");
    run.write("03_move.py", "import os\nos.rename('data/inner', 'data/other')\n");
    ran(&run);
    assert_eq!((stale(&run), ran(&run)), (vec![], vec![]));
}
