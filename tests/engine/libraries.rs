//! What numpy, pandas and matplotlib keep beside the values that steps name, where an interpreter has them.

use std::path::PathBuf;
use std::process::Command;

use reweave::engine::OnError;

use super::harness::Run;

/// An interpreter that has the libraries: the one named by `REWEAVE_LAB_PYTHON`, or `python3`.
fn lab() -> Option<PathBuf> {
    let python = PathBuf::from(std::env::var("REWEAVE_LAB_PYTHON").unwrap_or_else(|_| "python3".into()));
    let done = Command::new(&python).args(["-c", "import numpy, pandas, matplotlib"]).output();
    let has = done.is_ok_and(|done| done.status.success());
    if !has {
        println!("skipped: {} has no numpy, pandas and matplotlib; name one in REWEAVE_LAB_PYTHON", python.display());
    }
    has.then_some(python)
}

#[test]
fn generators_and_settings_of_libraries_are_state() {
    let Some(python) = lab() else { return };
    let before = [
        ("1", "import numpy as np\nimport pandas as pd\npd.set_option('display.max_rows', 4)\n"),
        ("2", "k = 3\n"),
        ("3", "a = np.random.uniform(size=k)\n"),
        ("4", "def f(n):\n    return np.random.uniform(size=n)\nprint(f(2))\n"),
        ("5", "import matplotlib\nmatplotlib.rcParams['figure.figsize'] = (2, 3)\nnp.set_printoptions(precision=2)\n"),
        ("6", "print(pd.Series(range(9)), matplotlib.rcParams['figure.figsize'], np.array([1 / 3]))\n"),
        ("7", "frame = pd.DataFrame({'a': range(4)})\nview = frame['a'].to_numpy()\n"),
        ("8", "print(frame['a'].sum() + k)\n"),
    ];
    let mut after = before;
    after[1] = ("2", "k = 4\n");
    let start = |steps: &[(&str, &str)]| {
        let mut run = Run::with(OnError::Block, |settings| settings.python.clone_from(&python));
        let told = run.update(steps);
        (run, told)
    };
    let (_, truth) = start(&after);
    let (mut run, _) = start(&before);
    let told = run.update(&after);
    assert_eq!(told.results, truth.results);
    assert_eq!(told.ran, ["2", "3", "4", "8"]);
}
