//! The sample run: whole, free of problems, and the same on every CPython.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave::cli::demo::{Laid, LayError, demo_files, lay};
use reweave::run::{Config, RunDir};
use reweave::step::Kind;

/// Executes steps in order in one namespace, as the run does; a failed one is told, and the rest go on.
const IN_ORDER: &str = r#"
import ast, builtins, sys, types
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
main.__dict__["__builtins__"] = builtins
sys.path.insert(0, ".")
for step in sys.argv[1:]:
    with open(step + ".py", encoding="utf-8") as file:
        tree = ast.parse(file.read())
    last = tree.body.pop().value if isinstance(tree.body[-1], ast.Expr) else None
    print("==", step)
    try:
        exec(compile(tree, step, "exec"), main.__dict__)
        if last is not None:
            print("=>", repr(eval(compile(ast.Expression(last), step, "eval"), main.__dict__)))
    except Exception as error:
        print("!!", type(error).__name__, error)
"#;

fn laid() -> (tempfile::TempDir, RunDir) {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(lay(dir.path()).unwrap(), Laid::New);
    let run = RunDir::open(dir.path()).unwrap();
    (dir, run)
}

#[test]
fn the_sample_is_a_run_without_problems() {
    let (_dir, run) = laid();
    let scan = run.scan();
    assert_eq!(scan.problems, []);
    assert_eq!((scan.steps.len(), scan.modules.len(), scan.frames.len()), (25, 1, 6));
    assert!(scan.steps.iter().all(|step| step.header.summary.is_some() && step.header.agent.is_some()));
    assert_eq!(scan.steps.iter().filter(|step| step.kind == Kind::Test).count(), 3);
    let (proposals, problems) = run.proposals();
    assert_eq!((proposals.len(), problems.len()), (2, 0));
    let config = Config::load(&run, None, Vec::new());
    assert_eq!((config.problems.as_slice(), config.waiting.as_slice()), (&[][..], &[][..]));
    assert!(config.verify.steps.iter().all(|step| scan.file(step).is_some()));
}

#[test]
fn it_is_laid_once_and_only_where_nothing_else_is() {
    let (dir, _run) = laid();
    fs::remove_file(dir.path().join("05_split.py")).unwrap();
    assert_eq!(lay(dir.path()).unwrap(), Laid::Already);
    assert!(!dir.path().join("05_split.py").exists(), "what a person did there stays");
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.tex"), "").unwrap();
    let error = lay(other.path()).unwrap_err();
    assert!(matches!(error, LayError::Occupied(_)));
    let shown = format!("{error}; {}", error.hint()).replace(&*other.path().to_string_lossy(), "DIR");
    insta::assert_snapshot!(shown, @"DIR holds other files already; name a new or empty directory: reweave demo DIR");
    let file = lay(&other.path().join("thesis.tex")).unwrap_err();
    assert!(matches!(file, LayError::NotADirectory(_)));
    assert_eq!(lay(&other.path().join("new/deep")).unwrap(), Laid::New);
}

/// Executes the sample's steps but for `without`, with no packages beside the standard library.
fn execute(python: &Path, dir: &Path, without: &[&str]) -> String {
    let steps: Vec<String> = RunDir::open(dir).unwrap().scan().steps.iter().map(|step| step.id.to_string()).collect();
    let steps = steps.iter().filter(|step| !without.contains(&step.as_str()));
    let output = Command::new(python).args(["-S", "-E", "-c", IN_ORDER]).args(steps).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The Pythons of this machine that reweave runs on: those on `PATH`, and pyenv's.
fn pythons() -> Vec<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = pyenv.and_then(|dir| fs::read_dir(dir.join("versions")).ok()).into_iter().flatten();
    let dirs: Vec<PathBuf> =
        std::env::split_paths(&on_path).chain(versions.flatten().map(|version| version.path().join("bin"))).collect();
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for python in dirs.iter().map(|dir| dir.join("python3")).filter(|python| python.is_file()) {
        let ask = "import sys; print('%d.%d' % sys.version_info[:2] if sys.version_info >= (3, 9) else '')";
        let Ok(answer) = Command::new(&python).args(["-S", "-E", "-c", ask]).output() else { continue };
        let version = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if !version.is_empty() {
            found.entry(version).or_insert(python);
        }
    }
    found.into_values().collect()
}

#[test]
fn its_output_is_the_same_on_every_python() {
    let pythons = pythons();
    assert!(!pythons.is_empty(), "no Python to try it with");
    for python in pythons {
        let (dir, _run) = laid();
        // What the failing step should have made is missing in these.
        let output = execute(&python, dir.path(), &["08_report/03_summary", "08_report/test_comfort"]);
        insta::assert_snapshot!("demo_in_order", output);
    }
}

#[test]
fn the_patch_at_the_root_mends_it_and_the_one_at_the_symptom_is_caught_by_a_test() {
    let Some(python) = pythons().into_iter().next() else { return };
    let mend = |path: &str, from: &str, to: &str| {
        let (dir, _run) = laid();
        let text = fs::read_to_string(dir.path().join(path)).unwrap();
        assert_eq!(text.matches(from).count(), 1);
        fs::write(dir.path().join(path), text.replace(from, to)).unwrap();
        execute(&python, dir.path(), &[])
    };
    let root = mend("04_features/02_comfort.py", "\"comfrot\"", "\"comfort\"");
    assert!(!root.contains("!!") && root.contains("1.9 times as many bikes"), "{root}");
    let symptom = mend("08_report/02_comfort.py", "row[\"comfort\"]", "row.get(\"comfort\", 0.0)");
    assert!(symptom.contains("!! AssertionError {'grim': 784, 'fair': 0, 'fine': 0}"), "{symptom}");
}

#[test]
fn every_file_of_the_table_is_there_and_no_other() {
    let (dir, _run) = laid();
    let mut on_disk = Vec::new();
    let mut dirs = vec![dir.path().to_owned()];
    while let Some(at) = dirs.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { dirs.push(path) } else { on_disk.push(path) }
        }
    }
    assert_eq!(on_disk.len(), demo_files().len());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/demo/files");
    assert!(demo_files().iter().all(|(path, text)| fs::read_to_string(source.join(path)).unwrap() == *text));
}
