//! An update gives what a full run gives, and runs no more than it must.
//!
//! Each case is a program and an edit of it that a tool which trusts names, or a live namespace, gets wrong.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod aside;
mod failing;
mod halts;
mod harness;
mod held;
mod kinds;
mod libraries;
mod limits;
mod long;
mod places;
mod process;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use harness::{Run, outcome};
use reweave::engine::{OnError, Report};
use reweave::step::{Digest, Outcome, Reason, StepId};

/// After `after` was made of `before`, everything is as in a full run; gives the steps that ran. Both with the
/// processes of the first update at hand and without them.
fn sound(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let mut truth = Run::new(OnError::Continue);
    let expected = truth.update(after);
    let states = truth.states(after);
    let mut ran = Vec::new();
    for restarted in [true, false] {
        let mut run = Run::new(OnError::Continue);
        run.update(before);
        if restarted {
            run.restart();
        }
        let told = run.update(after);
        assert_eq!(told.results, expected.results, "restarted: {restarted}");
        assert_eq!(told.shown, expected.shown, "restarted: {restarted}");
        assert_eq!(run.states(after), states, "restarted: {restarted}");
        assert_eq!(run.update(after).ran, [""; 0], "nothing changed, restarted: {restarted}");
        ran = told.ran;
    }
    ran
}

#[test]
fn only_what_a_change_reaches_runs() {
    let before = [("1", "x = 1"), ("2", "y = 5"), ("3", "print(x + 1)"), ("4", "print(y)")];
    let mut after = before;
    after[0].1 = "x = 2";
    assert_eq!(sound(&before, &after), ["1", "3"]);
}

#[test]
fn a_record_of_another_text_holds_where_the_code_is_the_same() {
    let mut run = Run::new(OnError::Block);
    run.update(&[("1", "x = 1"), ("2", "y = x + 1")]);
    run.update(&[("1", "x = 2"), ("2", "# a remark\ny = x + 1")]);
    let back = [("1", "x = 1"), ("2", "# a remark\ny = x + 1")];
    assert_eq!(run.update(&back).ran, [""; 0]);
    run.restart();
    assert_eq!(run.states(&back)[1]["y"], "2");
    let mut run = Run::new(OnError::Block);
    run.update(&[("1", "x = 1"), ("2", "y = x + 1")]);
    run.update(&[("1", "x = 2"), ("2", "# a remark\ny = x + 1")]);
    run.restart();
    assert_eq!(run.update(&back).ran, [""; 0]);
}

#[test]
fn a_record_that_another_reweave_made_is_none() {
    let steps = [("1", "x = 1"), ("2", "print(x)"), ("3", "y = 2")];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    for (held, mark) in run.held.values_mut().flatten().skip(1).zip([Some(Digest::of("other rules")), None]) {
        Arc::make_mut(held).observation.start = mark;
    }
    run.restart();
    assert_eq!(run.update(&steps).ran, ["2", "3"]);
    assert_eq!(run.update(&steps).ran, [""; 0]);
    let why = Reason::InterpreterChanged { what: "another version of reweave".into() };
    assert_eq!(run.held.values().map(|held| held[0].why.contains(&why)).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn a_comment_or_the_same_value_stops_there() {
    let before = [("1", "x = 4"), ("2", "print(x)")];
    assert_eq!(sound(&before, &[("1", "x = 4  # four"), ("2", "print(x)")]), [""; 0]);
    // What the compiler makes the same is the same.
    assert_eq!(sound(&before, &[("1", "(x) = 4; pass"), ("2", "print(x)")]), [""; 0]);
    assert_eq!(sound(&before, &[("1", "x = int(4)"), ("2", "print(x)")]), ["1"]);
}

#[test]
fn an_alias_stays_one_object() {
    let before = [("1", "a = [1]"), ("2", "b = a"), ("3", "c = 7"), ("4", "b.append(c)"), ("5", "print(a, a is b)")];
    let mut after = before;
    after[2].1 = "c = 8";
    assert_eq!(sound(&before, &after), ["3", "4", "5"]);
}

#[test]
fn a_change_in_place_is_not_made_twice() {
    let before = [("1", "a = []"), ("2", "a.append(1)"), ("3", "a.append(2)\nprint(a)")];
    let mut after = before;
    after[2].1 = "a.append(3)\nprint(a)";
    assert_eq!(sound(&before, &after), ["3"]);
}

#[test]
fn a_function_uses_what_it_names_when_it_is_called() {
    let before = [("1", "x = 1"), ("2", "def f(): return x"), ("3", "x = 2"), ("4", "print(f())")];
    let mut after = before;
    after[2].1 = "x = 3";
    assert_eq!(sound(&before, &after), ["3", "4"]);
}

#[test]
fn closures_defaults_and_class_attributes_are_state() {
    let before = [
        (
            "1",
            "def make():\n    n = 1\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up",
        ),
        ("2", "up = make()\ndef f(q, acc=[]):\n    acc.append(q)\n    return acc\nclass K: n = 1"),
        ("3", "up(); f(1); K.n = 5"),
        ("4", "print(up(), f(2), K.n, isinstance(K(), K))"),
    ];
    let mut after = before;
    after[2].1 = "up(); up(); f(9); K.n = 6";
    assert_eq!(sound(&before, &after), ["3", "4"]);
}

#[test]
fn generators_are_made_again_and_not_carried() {
    let before =
        [("1", "g = (i for i in range(9))"), ("2", "a = next(g)"), ("3", "k = 1"), ("4", "print(next(g) + k)")];
    let mut after = before;
    after[2].1 = "k = 10";
    assert_eq!(sound(&before, &after), ["3", "4"]);
}

#[test]
fn a_generator_uses_what_its_body_names_when_it_goes_on() {
    let before =
        [("1", "k = 2\ng = (x * k for x in [1, 2, 3])"), ("2", "k = 3"), ("3", "print(next(g))"), ("4", "big = [k]")];
    let mut after = before;
    after[1].1 = "k = 5";
    assert_eq!(sound(&before, &after), ["2", "3", "4"]);
    after = before;
    after[3].1 = "big = [k, k]";
    assert_eq!(sound(&before, &after), ["4"]);
}

#[test]
fn the_random_generator_goes_on_from_where_it_was() {
    let before = [
        ("1", "import random\nrandom.seed(3)"),
        ("2", "a = random.random()"),
        ("3", "k = 1"),
        ("4", "print(random.random() + k)"),
    ];
    let mut after = before;
    after[2].1 = "k = 2";
    assert_eq!(sound(&before, &after), ["3", "4"]);
    after[0].1 = "import random\nrandom.seed(4)";
    assert_eq!(sound(&before, &after), ["1", "2", "3", "4"]);
}

#[test]
fn attributes_of_modules_and_the_environment_are_state() {
    let before = [
        ("1", "import math, os, builtins\nmath.q = 1\nos.environ['RW_A'] = 'x'\nbuiltins.rw_b = 1"),
        ("2", "print(math.q)"),
        ("3", "print(os.environ.get('RW_A'))"),
        ("4", "print(rw_b)"),
        ("5", "print(math.floor(2.5))"),
    ];
    let mut after = before;
    after[0].1 = "import math, os, builtins\nmath.q = 2\nos.environ['RW_A'] = 'y'\nbuiltins.rw_b = 2";
    assert_eq!(sound(&before, &after), ["1", "2", "3", "4"]);
}

#[test]
fn what_is_set_on_a_module_counts_for_who_is_the_first_to_import_it() {
    let before = [("1", "x = 1"), ("3", "import colorsys\nprint(getattr(colorsys, 'mine', None))")];
    let after = [before[0], ("2", "import colorsys\ncolorsys.mine = 3"), before[1]];
    assert_eq!(sound(&before, &after), ["2", "3"]);
    let before = [("1", "import colorsys\nsetattr(colorsys, 'mi' + 'ne', 3)"), before[1]];
    let after = [("1", "import colorsys\nsetattr(colorsys, 'mi' + 'ne', 4)"), before[1]];
    assert_eq!(sound(&before, &after), ["1", "3"]);
}

#[test]
fn that_a_name_was_absent_is_a_read() {
    let before = [("1", "pass"), ("2", "print('a' in globals(), globals().get('a'))")];
    assert_eq!(sound(&before, &[("1", "a = 1"), before[1]]), ["1", "2"]);
}

#[test]
fn a_look_that_asks_for_one_name_or_for_the_list_of_them_uses_no_other_value() {
    let looks = [
        ("2", "print('a' in globals(), 'zz' in dir())"),
        ("3", "print(sorted(k for k in globals() if k[0] == 'a'))"),
        ("4", "print(eval('2 + 1'))\nexec('c = b + 1')\nprint(c)"),
        ("5", "def f():\n    return a if 'a' in globals() else globals().get('b', 0)"),
        ("6", "g = [f]"),
        ("7", "print(g[0]())"),
    ];
    let with = |first: &'static str| [&[("1", first)][..], &looks].concat();
    let before = with("a, b, x = 1, 2, [3]");
    assert_eq!(sound(&before, &with("a, b, x = 1, 2, [4]")), ["1"]);
    assert_eq!(sound(&before, &with("a, b, x = 1, 5, [3]")), ["1", "4", "6", "7"]);
    assert_eq!(sound(&before, &with("a, b, x, ab = 1, 2, [3], 4")), ["1", "2", "3"]);
    assert_eq!(sound(&before, &with("b, x = 2, [3]")), ["1", "2", "3", "6", "7"]);
}

#[test]
fn who_sees_the_order_in_which_names_came_sees_the_true_one() {
    let look = "print([k for k in globals() if len(k) == 1])";
    let before = [
        ("1", "z = 1"),
        ("2", "b = 1"),
        ("3", "a = 2"),
        ("4", look),
        ("5", "print(sorted(k for k in globals() if k))"),
    ];
    let with = |first: &'static str, second: &'static str| {
        let mut after = before;
        (after[0].1, after[1].1) = (first, second);
        after
    };
    assert_eq!(sound(&before, &with("z = 2", "b = 1")), ["1"]);
    assert_eq!(sound(&before, &with("z = 1", "a = 5; b = 1")), ["2", "4"]);
    assert_eq!(sound(&before, &with("a = 1; z = 1", "b = 1")), ["1", "4"]);
    assert_eq!(sound(&before, &with("a = 1; z = 1; del a", "b = 1")), ["1"]);
    assert_eq!(sound(&before, &with("b = 1; z = 1", "del b; b = 1")), ["1", "2"]);
    assert_eq!(sound(&before, &with("q = 1", "b = 1")), ["1", "4", "5"]);
    // What is brought over comes in the order of the steps.
    let kept = [
        ("1", "k = 1"),
        ("2", "q, c, x = 1, 2, 3"),
        ("3", "w = 1\nd = 1\nd2 = 2"),
        ("4", "if k > 1:\n    print(list(globals())[-6:])"),
    ];
    let mut after = kept;
    after[0].1 = "k = 2";
    assert_eq!(sound(&kept, &after), ["1", "4"]);
    after[0].1 = "k = 3\nd = 0";
    assert_eq!(sound(&kept, &after), ["1", "4"]);
    // A step that binds several anew, of which one was there: its place among them is not in its record.
    let mixed = [("1", "p = 0"), ("2", "p = 1\no = 2"), ("3", "print(list(globals())[-2:])")];
    let mut after = mixed;
    after[0].1 = "n = 0";
    assert_eq!(sound(&mixed, &after), ["1", "2", "3"]);
}

#[test]
fn who_calls_dir_or_globals_by_another_meaning_of_the_name_uses_what_that_does() {
    for second in [
        "print('x' in dir())",
        "print('x' in (lambda: globals())())",
        "print('b' if a else 'x' in globals())\nprint(eval('x'))",
        "print((a and 'x' or 'y') in globals(), globals().get('x' * a))",
    ] {
        for first in ["a = 1\ndef dir(): return [str(x)]", "import builtins\na = 1\nbuiltins.dir = lambda: [str(x)]"] {
            let before = [("0", "x = 3"), ("1", first), ("2", second)];
            let after = [("0", "x = 4"), before[1], before[2]];
            let ran = sound(&before, &after);
            assert!(ran.contains(&"2".to_owned()), "{first}: {second}: {ran:?}");
        }
    }
    // The step's own comes first.
    let before = [("0", "x = 3"), ("1", "dir = lambda: [str(x)]\nprint(dir())")];
    assert_eq!(sound(&before, &[("0", "x = 4"), before[1]]), ["0", "1"]);
}

#[test]
fn files_are_as_of_the_step() {
    let before = [
        ("1", "open('f.txt', 'w').write('a')\nNone"),
        ("2", "open('f.txt', 'a').write('b')\nNone"),
        ("3", "print(open('f.txt').read())"),
        ("4", "import os\nprint(os.path.exists('g.txt'))"),
    ];
    let mut after = before;
    after[1].1 = "open('f.txt', 'a').write('c')\nNone";
    assert_eq!(sound(&before, &after), ["2", "3"]);
    after[0].1 = "open('g.txt', 'w').write('')\nopen('f.txt', 'w').write('a')\nNone";
    assert_eq!(sound(&before, &after), ["1", "2", "3", "4"]);
}

#[test]
fn a_file_that_no_step_writes_any_more_is_a_persons() {
    let reads = "import os\nprint(os.path.exists('f.txt') and open('f.txt').read())";
    let before = [("1", "open('f.txt', 'w').write('a')\nNone"), ("2", reads)];
    for after in [vec![before[1]], vec![("1", "None"), before[1]]] {
        let mut run = Run::new(OnError::Continue);
        run.update(&before);
        let path = run.dir.path().join("f.txt");
        // At once with the edit, and after it.
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(run.update(&after).results["2"], "mine\n None");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        run.update(&before);
        run.update(&after);
        std::fs::write(&path, "mine too").unwrap();
        assert_eq!(run.update(&after).results["2"], "mine too\n None");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine too");
    }
}

#[test]
fn steps_can_be_added_removed_and_moved() {
    let before = [("1", "x = 1"), ("2", "x = x * 2"), ("3", "print(x)"), ("4", "z = 0")];
    assert_eq!(sound(&before, &[before[0], before[2], before[3]]), ["3"]);
    assert_eq!(sound(&before, &[before[0], ("1a", "x = 9"), before[1], before[2], before[3]]), ["1a", "2", "3"]);
    assert_eq!(sound(&before, &[before[0], before[2], ("3a", "x = x * 2"), before[3]]), ["3", "3a"]);
}

#[test]
fn an_edit_that_is_taken_back_runs_nothing() {
    let first = [("1", "x = 1"), ("2", "print(x)")];
    let second = [("1", "x = 2"), ("2", "print(x)")];
    let mut run = Run::new(OnError::Block);
    run.update(&first);
    run.update(&second);
    assert_eq!(run.update(&first).ran, [""; 0]);
}

#[test]
fn a_step_that_failed_used_nothing_that_stands_after_the_failure() {
    let failing = "try:\n    print(a)\nfinally:\n    b\nif c > 0:\n    1 / 0\nprint(d)\nd.append(1)\ne = 1";
    let before =
        [("1", "a = 1"), ("2", "b = 1"), ("3", "c = 1"), ("4", "d = []\ne = 7"), ("5", failing), ("6", "print(d, e)")];
    let with = |at: usize, text: &'static str| {
        let mut after = before;
        after[at].1 = text;
        after
    };
    assert_eq!(sound(&before, &with(0, "a = 2")), ["1", "5"]);
    assert_eq!(sound(&before, &with(1, "b = 2")), ["2", "5"]);
    assert_eq!(sound(&before, &with(2, "c = 2")), ["3", "5"]);
    assert_eq!(sound(&before, &with(2, "c = 0")), ["3", "5", "6"]);
    assert_eq!(sound(&before, &with(3, "d = [2]\ne = 7")), ["4", "6"]);
    // On one line all may have run; an error that was kept is raised again where it is.
    let before = [("1", "d = 1"), ("2", "1 / 0; print(d)")];
    assert_eq!(sound(&before, &[("1", "d = 2"), before[1]]), ["1", "2"]);
    let again = "try:\n    1 / 0\nexcept Exception as error:\n    kept = error\nprint(d)\nraise kept";
    let before = [("1", "d = 1"), ("2", again)];
    assert_eq!(sound(&before, &[("1", "d = 2"), before[1]]), ["1", "2"]);
}

#[test]
fn what_a_failed_step_changed_is_undone_and_what_needs_it_is_blocked() {
    let steps = [("1", "a = [1]"), ("2", "a.append(2)\nb = 1 / 0"), ("3", "print(b)"), ("4", "print(len('abc'))")];
    let mut run = Run::new(OnError::Block);
    let told = run.update(&steps);
    assert_eq!(told.blocked, ["3"]);
    assert_eq!(told.ran, ["1", "2", "4"]);
    assert!(told.results["2"].contains("ZeroDivisionError: division by zero"), "{told:?}");
    assert_eq!(run.update(&steps).ran, [""; 0], "a failure whose inputs are unchanged is kept");
    let states = run.states(&steps);
    assert_eq!(states[3]["a"], "[1]");
}

#[test]
fn a_failure_that_only_follows_names_its_root() {
    let steps = [("1", "import no_such_module\nx = 1"), ("2", "y = x"), ("3", "print(y)")];
    let mut run = Run::new(OnError::Continue);
    run.update(&steps);
    let cause = |id: &str| run.held[&id.parse::<StepId>().unwrap()][0].error.as_ref().unwrap().caused_by.clone();
    assert_eq!(cause("1"), None);
    assert_eq!(cause("2"), Some("1".parse().unwrap()));
    assert_eq!(cause("3"), Some("1".parse().unwrap()));
}

#[test]
fn a_step_that_never_ends_is_cut_off_and_the_rest_goes_on() {
    let mut run = Run::new(OnError::Block);
    let mut tasks = run.tasks(&[("1", "x = 1"), ("2", "while True: pass"), ("3", "print(x)")]);
    tasks[1].timeout = Some(Duration::from_millis(300));
    let mut told = BTreeMap::new();
    let goal = run.goal.clone();
    run.engine
        .update(&tasks, &goal, &mut |report| {
            if let Report::Executed { execution, .. } = report {
                told.insert(execution.step.to_string(), (execution.outcome, outcome(&execution)));
            }
        })
        .unwrap();
    assert_eq!(told["2"].0, Outcome::Failed);
    assert!(told["2"].1.contains("TimeLimit"), "{told:?}");
    assert_eq!(told["3"].1, "1\n None");
}

#[test]
fn a_step_that_ends_its_process_is_a_failed_step() {
    let steps = [("1", "x = 1"), ("2", "import os\nos._exit(3)"), ("3", "print(x)")];
    let told = Run::new(OnError::Block).update(&steps);
    assert!(told.results["2"].contains("ProcessDied"), "{told:?}");
    assert_eq!(told.results["3"], "1\n None");
}

#[test]
fn a_step_marked_by_hand_runs_once() {
    let steps = [("1", "x = 1"), ("2", "print(x)")];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    let mut tasks = run.tasks(&steps);
    tasks[0].forced = Some(Reason::Invalidated);
    let mut ran = Vec::new();
    let goal = run.goal.clone();
    run.engine
        .update(&tasks, &goal, &mut |report| {
            if let Report::Executed { execution, .. } = report {
                ran.push(execution.step.to_string());
            }
        })
        .unwrap();
    assert_eq!(ran, ["1"], "it gave the same value, so that what reads it is kept");
}

#[test]
fn what_notebooks_take_from_ipython_is_there_without_it() {
    let steps = [("1", "from IPython.display import HTML, display\nimport IPython"), ("2", "HTML('<b>x</b>')")];
    let mut run = Run::new(OnError::Block);
    let told = run.update(&steps);
    assert_eq!(told.results["2"], " None", "{told:?}");
    let shown = &run.held[&"2".parse::<StepId>().unwrap()][0].displays;
    assert_eq!(shown[0].mime["text/html"], "<b>x</b>");
}

#[test]
fn what_holds_a_function_by_another_name_holds_it_when_the_name_is_taken() {
    let before = [
        ("1", "def f(a=2):\n    return a\ng = f\nheld = [f]\n"),
        ("2", "def f(a=7):\n    return a\n"),
        ("3", "print(g(), held[0](), f(), g is f)\n"),
        ("4", "x = 1\n"),
    ];
    let mut after = before;
    after[3] = ("4", "x = 2\nprint(g(), held[0](), f(), g is f)\n");
    assert_eq!(sound(&before, &after), ["4"]);
}

/// Equal constants of one step are one object, and stay so when the names that hold them are brought over apart.
#[test]
fn constants_of_a_step_are_one_object_wherever_they_are_held() {
    let told = "print(f.__defaults__ is g.__defaults__, f.__defaults__ is k.__defaults__, t is u, h() is made(), a)";
    let before = [
        ("1", "a = 0"),
        (
            "2",
            "def f(q=1): return q\ndef g(q=1): return -q\ndef made():\n    def h(q=1): return q\n    return h.__defaults__\nh = made\nt = ('x', 2)",
        ),
        ("3", "def k(q=1): return q\nu = t"),
        ("4", "b = a"),
        ("5", told),
    ];
    let mut after = before;
    after[0].1 = "a = 3";
    assert_eq!(sound(&before, &after), ["1", "4", "5"]);
    // The same function anew, in a step that makes another with its constant.
    let told = "print(f.__defaults__ is g.__defaults__, f.__defaults__ is k.__defaults__, a, f())";
    let before = [
        ("1", "a = 0"),
        ("2", "def f(q=1): return q\ndef k(q=1): return q + 1"),
        ("3", "def f(q=1): return q\ndef g(q=1): return -q"),
        ("4", "b = a"),
        ("5", told),
    ];
    let mut after = before;
    after[0].1 = "a = 3";
    assert_eq!(sound(&before, &after), ["1", "4", "5"]);
    let without = [after[0], after[2], ("5", "print(f.__defaults__ is g.__defaults__, f())")];
    sound(&after, &without);
    // One of them is another: who uses the other is not concerned.
    let before = [("1", "def f(q=1): return q\ndef g(q=1): return -q"), ("2", "print(f())"), ("3", "print(g())")];
    let mut after = before;
    after[0].1 = "def f(q=1): return q\ndef g(q=1): return q * 2";
    assert_eq!(sound(&before, &after), ["1", "3"]);
}

/// What an attempt that failed leaves is what was there before.
#[test]
fn what_was_to_be_written_and_was_not_stays_what_earlier_steps_made_it() {
    let before = [
        ("1", "import os\nwith open('b.txt', 'w') as f: f.write('22')"),
        ("2", "os.rename('absent.txt', 'b.txt')"),
        ("3", "with open('b.txt', 'a') as f: f.write('8')"),
        ("4", "print(open('b.txt').read())"),
    ];
    let mut after = before;
    after[0].1 = "import os\nwith open('b.txt', 'w') as f: f.write('2')";
    sound(&before, &after);
    // A name that is bound only after the failure holds what it held.
    let before = [
        ("1", "a = [1]\ng = (x * 6 for x in range(9))"),
        ("2", "print(a[1])\ng = iter(a)"),
        ("3", "print(next(g), next(g))"),
    ];
    let mut after = before;
    after[0].1 = "a = [1]\ng = (x * 7 for x in range(9))";
    sound(&before, &after);
}

#[test]
fn what_holds_a_definition_holds_the_one_that_there_was() {
    let before = [
        ("1", "def f(a=2):\n    return a\ng = f"),
        ("2", "def f():\n    return 0"),
        ("3", "print(g())"),
        ("4", "print(f())"),
    ];
    let mut after = before;
    after[0].1 = "def f(a=5):\n    return a\ng = f";
    assert_eq!(sound(&before, &after), ["1", "3"]);
}

#[test]
fn a_generator_taken_by_the_name_of_its_method_is_the_one_that_there_is() {
    let before = [
        (
            "1",
            "from random import randint\nfrom os import environ\ndef put(k, v, e=environ):\n    e[k] = v\ndel environ\n",
        ),
        ("2", "n = 5\n"),
        ("3", "rolled = [randint(1, n) for _ in range(4)]\nput('SEEN', str(n))\n"),
        ("4", "import random, os\nprint(rolled, random.random(), os.environ['SEEN'])\n"),
    ];
    let mut after = before;
    after[1] = ("2", "n = 900\n");
    assert_eq!(sound(&before, &after), ["2", "3", "4"]);
}

#[test]
fn how_figures_are_shown_is_state() {
    let before = [
        ("1", "%matplotlib inline\n"),
        ("2", "n = 5\n"),
        ("3", "import sys, types\nfake = types.SimpleNamespace(shown=n)\nfake\n"),
    ];
    let mut after = before;
    after[0] = ("1", "pass\n");
    // Whether a figure is shown hangs on it, so all that could show one runs again.
    assert_eq!(sound(&before, &after), ["1", "2", "3"]);
}

#[test]
fn what_a_library_is_set_to_in_the_step_that_imports_it_is_state() {
    let before = [
        ("1", "import decimal\ndecimal.getcontext().prec = 7\n"),
        ("2", "n = 3\n"),
        ("3", "print(decimal.Decimal(1) / n)\n"),
    ];
    let mut after = before;
    after[1] = ("2", "n = 7\n");
    assert_eq!(sound(&before, &after), ["2", "3"]);
}

#[test]
fn to_describe_an_error_is_not_to_read_the_files_in_its_traceback() {
    let before = [
        ("1", "spent = (n for n in range(3))\ndef f():\n    return missing\n"),
        ("2", "spent = f()\nspent = (n for n in range(9))\n"),
        ("3", "print(next(spent))\n"),
        ("4", "y = 1\n"),
    ];
    let mut after = before;
    after[3] = ("4", "y = 2\n");
    assert_eq!(sound(&before, &after), ["4"]);
}
