//! Where code stands, and the text that stands there, is seen by who shows it: an error, a warning, a log, `inspect`.

use super::harness::Run;
use super::{OnError, sound};

const DIVIDES: &str = "def f(n):\n    return 1 / n";
const DIVIDES_LOWER: &str = "# Divides.\ndef f(n):\n    return 1 / n";

#[test]
fn an_expression_that_is_only_shown_counts() {
    assert_eq!(sound(&[("1", "1 + 2, 3")], &[("1", "1 + 4, 3")]), ["1"]);
    assert_eq!(sound(&[("1", "x = 1\n'one'")], &[("1", "x = 1\n'two'")]), ["1"]);
    // One that is not is nothing.
    assert_eq!(sound(&[("1", "'one'\nx = 1\nx")], &[("1", "'two'\nx = 1\nx")]), ["1"], "the text is `__doc__`");
    assert_eq!(sound(&[("1", "x = 1\n'one'\nx")], &[("1", "x = 1\n'two'\nx")]), [""; 0]);
}

#[test]
fn an_error_stands_where_it_stands_now() {
    assert_eq!(sound(&[("1", "x = 1\n1 / 0")], &[("1", "x = 1\n\n1  /  0")]), ["1"]);
    let before = [("1", DIVIDES), ("2", "print(f(1))"), ("3", "f(0)"), ("4", "print(f(2))")];
    let mut after = before;
    after[0].1 = DIVIDES_LOWER;
    // Who only calls it has not seen where it stands.
    assert_eq!(sound(&before, &after), ["1", "3"]);
}

#[test]
fn a_warning_tells_its_line() {
    let before = [("1", "import warnings\nwarnings.warn('hm')"), ("2", "y = 1")];
    let mut after = before;
    after[0].1 = "import warnings\n# Hm.\nwarnings.warn('hm')";
    assert_eq!(sound(&before, &after), ["1"]);
    after[0].1 = "import warnings\nwarnings.warn('hm')  # loud";
    assert_eq!(sound(&before, &after), ["1"]);
    let function = "import warnings\ndef f():\n    warnings.warn('hm')";
    let caught = "with warnings.catch_warnings(record=True) as all:\n    f()\nprint(all[0].lineno)";
    let before = [("1", function), ("2", "f()"), ("3", caught), ("4", "print(callable(f))")];
    let lower = format!("#\n{function}");
    assert_eq!(sound(&before, &[("1", &lower), before[1], before[2], before[3]]), ["1", "2", "3"]);
}

#[test]
fn a_log_tells_its_line() {
    let before =
        [("1", "import logging\nlogging.basicConfig(format='%(lineno)d %(message)s')"), ("2", "logging.warning('a')")];
    assert_eq!(sound(&before, &[before[0], ("2", "\nlogging.warning('a')")]), ["2"]);
}

#[test]
fn who_looks_at_code_sees_where_it_stands() {
    for looks in [
        "print(f.__code__.co_firstlineno)",
        "import inspect\nprint(inspect.getsourcelines(f)[1])",
        "import traceback\ntry:\n    f(0)\nexcept ZeroDivisionError:\n    traceback.print_exc()",
    ] {
        let before = [("1", DIVIDES), ("2", looks), ("3", "print(f(1))")];
        assert_eq!(sound(&before, &[("1", DIVIDES_LOWER), before[1], before[2]]), ["1", "2"], "{looks}");
    }
    // What a step made of another's code by value stands where that stands.
    let before = [
        ("1", "def make():\n    def inner(): pass\n    return inner"),
        ("2", "g = make()"),
        ("3", "print(g.__code__.co_firstlineno)"),
        ("4", "print(g())"),
    ];
    let lower = format!("#\n{}", before[0].1);
    assert_eq!(sound(&before, &[("1", &lower), before[1], before[2], before[3]]), ["1", "2", "3"]);
}

#[test]
fn an_error_or_a_generator_that_is_kept_tells_its_line() {
    let before = [
        ("1", "try:\n    1 / 0\nexcept Exception as error:\n    kept = error"),
        ("2", "print(kept.__traceback__.tb_lineno)"),
    ];
    let lower = format!("#\n{}", before[0].1);
    assert_eq!(sound(&before, &[("1", &lower), before[1]]), ["1", "2"]);
    let before = [("1", "g = (1 / x for x in [0])"), ("2", "next(g)")];
    let lower = format!("#\n{}", before[0].1);
    assert_eq!(sound(&before, &[("1", &lower), before[1]]), ["1", "2"]);
    // A comment behind it moves nothing.
    let longer = format!("{}\n# That was it.", before[0].1);
    assert_eq!(sound(&before, &[("1", &longer), before[1]]), [""; 0]);
}

#[test]
fn a_step_that_is_called_otherwise_tells_its_new_name() {
    let steps = [("1", DIVIDES), ("2", "print(__file__[-4:])"), ("3", "f(0)"), ("4", "x = 1")];
    let renamed = [("1a", steps[0].1), ("2a", steps[1].1), ("3a", steps[2].1), ("4a", steps[3].1)];
    let mut truth = Run::new(OnError::Continue);
    let expected = truth.update(&renamed);
    let mut run = Run::new(OnError::Continue);
    run.update(&steps);
    for (old, new) in steps.iter().zip(&renamed) {
        let held = run.held.remove(&old.0.parse().unwrap()).unwrap();
        run.held.insert(new.0.parse().unwrap(), held);
    }
    let told = run.update(&renamed);
    assert_eq!((told.results, told.shown), (expected.results, expected.shown));
    assert_eq!(told.ran, ["1a", "2a", "3a"]);
}

#[test]
fn what_python_keeps_in_the_module_is_state() {
    let annotated = [("1", "a: int = 1"), ("2", "print(globals().get('__annotations__'))"), ("3", "print(a)")];
    // Since 3.14 they are not there before they are asked for.
    let ran = sound(&annotated, &[("1", "a: float = 1"), annotated[1], annotated[2]]);
    assert!(ran == ["1", "2"] || ran == ["1"], "{ran:?}");
    let before = [("1", "\"\"\"One.\"\"\"\nx = 1"), ("2", "print(__doc__)"), ("3", "print(x)")];
    assert_eq!(sound(&before, &[("1", "\"\"\"Two.\"\"\"\nx = 1"), before[1], before[2]]), ["1", "2"]);
    let before = [("1", "__name__ = 'one'"), ("2", "class C: pass\nprint(C.__module__)")];
    assert_eq!(sound(&before, &[("1", "__name__ = 'two'"), before[1]]), ["1", "2"]);
}

#[test]
fn a_value_that_only_a_process_tells_lets_go_of_the_class_that_is_made_anew() {
    // What `o2` holds after "4" is known only as of before `l1` left its component, and "4" changes its class.
    let before = [
        (
            "1",
            "l1 = [1]\nclass C1:\n    shared = []\n    def __init__(self):\n        self.items = []\nclass C2(C1): pass\no2 = C2()",
        ),
        ("2", "o2.items.append(8)"),
        ("3", "o2.other = l1"),
        ("4", "*l1, i3 = [7, 2, 3]\nC1.shared.append(9)"),
        ("5", "print(isinstance(o2, C2), isinstance(o2, C1))"),
    ];
    let after: Vec<_> = before.iter().copied().filter(|(id, _)| *id != "2").collect();
    sound(&before, &after);
}
