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

/// The steps that ran after an edit, everything being as in a full run of what stands then.
fn ran(python: &PathBuf, before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let start = |steps: &[(&str, &str)]| {
        let mut run = Run::with(OnError::Block, |settings| settings.python.clone_from(python));
        let told = run.update(steps);
        (run, told)
    };
    let (_, truth) = start(after);
    let (mut run, _) = start(before);
    let told = run.update(after);
    assert_eq!(told.results, truth.results);
    told.ran
}

#[test]
fn what_a_step_seeds_itself_it_does_not_take_from_before() {
    let Some(python) = lab() else { return };
    let before = [
        ("1", "import numpy as np, pandas as pd\nframe = pd.DataFrame({'a': range(20)})\n"),
        ("2", "np.random.seed(1)\n"),
        // Draws from numpy's generator without naming it.
        ("3", "print(list(frame.sample(3)['a']))\n"),
        ("4", "np.random.seed(7)\nprint(np.random.rand())\n"),
        ("5", "print(np.random.rand())\n"),
        ("6", "x = np.random.rand()\nnp.random.seed(3)\nprint(x)\n"),
        ("7", "np.random.set_state(np.random.get_state())\nprint(np.random.rand())\n"),
    ];
    let mut after = before;
    after[1] = ("2", "np.random.seed(2)\n");
    assert_eq!(ran(&python, &before, &after), ["2", "3"]);
    after = before;
    after[3] = ("4", "np.random.seed(8)\nprint(np.random.rand())\n");
    assert_eq!(ran(&python, &before, &after), ["4", "5", "6"]);
}

#[test]
fn settings_count_for_who_names_no_library() {
    let Some(python) = lab() else { return };
    let before = [
        ("1", "import numpy as np, pandas as pd\nframe, array = pd.DataFrame({'a': [1 / 3]}), np.array([1 / 3])\n"),
        ("2", "pd.set_option('display.precision', 2)\nnp.set_printoptions(precision=2)\n"),
        ("3", "print(frame)\n"),
        ("4", "print(array)\n"),
        ("5", "print('no library')\n"),
    ];
    let mut after = before;
    after[1] = ("2", "pd.set_option('display.precision', 3)\nnp.set_printoptions(precision=3)\n");
    assert_eq!(ran(&python, &before, &after), ["2", "3", "4"]);
    // Set before a step that was the first to import it.
    let before = [("1", "k = 3\n"), ("3", "import pandas as pd\nprint(pd.Series([1 / 3]))\n")];
    let after = [before[0], ("2", "import pandas as pd\npd.set_option('display.precision', 2)\n"), before[1]];
    assert_eq!(ran(&python, &before, &after), ["2", "3"]);
}

#[test]
fn the_current_figure_is_state() {
    let Some(python) = lab() else { return };
    let before = [
        ("1", "import matplotlib.pyplot as plt\nk = 1\n"),
        ("2", "_ = plt.plot([k])\n"),
        ("3", "print(plt.gca().lines[0].get_ydata())\n"),
        ("4", "_ = plt.plot([5])\n"),
        ("5", "print(k)\n"),
        ("6", "print(len(plt.gca().lines))\nplt.close('all')\n"),
        ("7", "print(plt.get_fignums())\n"),
    ];
    let mut after = before;
    after[0] = ("1", "import matplotlib.pyplot as plt\nk = 2\n");
    assert_eq!(ran(&python, &before, &after), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn what_shows_the_memory_of_another() {
    let Some(python) = lab() else { return };
    let reaches = |steps: [&str; 3], text: &str| {
        let before = [("1", steps[0]), ("2", steps[1]), ("3", steps[2])];
        assert_eq!(ran(&python, &before, &[before[0], ("2", text), before[2]]), ["2", "3"], "{steps:?}");
        // Where the first two are brought over.
        let again = format!("{}\nprint()", steps[2]);
        let mut run = Run::with(OnError::Block, |settings| settings.python.clone_from(&python));
        run.update(&before);
        run.restart();
        let after = [before[0], before[1], ("3", again.as_str())];
        let told = run.update(&after);
        let mut truth = Run::with(OnError::Block, |settings| settings.python.clone_from(&python));
        assert_eq!(told.results, truth.update(&after).results, "{steps:?}");
    };
    let frame = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 't': [0.5, 1.5]})";
    let column = format!("{frame}\ny = df['t'].values");
    reaches([&column, "df.loc[0, 't'] = 1", "print(y, df)"], "df.loc[0, 't'] = 2");
    let array = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\na, b = df.to_numpy(), df['a'].array";
    reaches([array, "df.iloc[0, 0] = 19", "print(a, b)"], "df.iloc[0, 0] = 29");
    let both = format!("{frame}\ns = df['t']\nv = s.values");
    reaches([&both, "s.iloc[0] = 1", "print(df, s, v)"], "s.iloc[0] = 2");
    let steps = "import numpy as np\na = np.arange(3)\nit = np.nditer(a, op_flags=['readwrite'])";
    reaches([steps, "for x in it: x[...] = x * 2", "print(a)"], "for x in it: x[...] = x * 3");
    let own = "import numpy as np\nclass A(np.ndarray): pass\na = np.zeros(2).view(A)";
    reaches([own, "a.note = 1", "print(a, getattr(a, 'note', None))"], "a.note = 2");
}

#[test]
fn what_we_look_at_warns_nobody() {
    let Some(python) = lab() else { return };
    let mut run = Run::with(OnError::Block, |settings| settings.python.clone_from(&python));
    let told = run.update(&[("1", "import numpy as np\na, b = np.broadcast_arrays(np.arange(2), np.zeros((2, 2)))")]);
    assert!(told.shown["1"].starts_with("\"\""), "{}", told.shown["1"]);
}

#[test]
fn a_figure_needs_nothing_that_its_library_keeps_for_itself() {
    let Some(python) = lab() else { return };
    let before = [
        ("1", "import matplotlib.pyplot as plt"),
        ("2", "_ = plt.plot([1])\nplt.close('all')\ndel _"),
        ("3", "x = 1"),
        ("4", "_ = plt.plot([x])\nprint(len(plt.gca().lines))\nplt.close('all')"),
    ];
    let mut run = Run::with(OnError::Block, |settings| settings.python.clone_from(&python));
    run.update(&before);
    run.restart();
    let told = run.update(&[before[0], before[1], ("3", "x = 2"), before[3]]);
    assert_eq!((told.ran, told.rebuilt), (vec!["3".to_owned(), "4".to_owned()], 0));
}
