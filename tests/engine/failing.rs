//! Which steps a failure keeps from running, where failures are undone.

use super::harness::Run;
use reweave::engine::{Action, OnError};

/// The steps that are blocked in a first run.
fn blocked(steps: &[(&str, &str)]) -> Vec<String> {
    let mut run = Run::new(OnError::Block);
    let told = run.update(steps);
    assert_eq!(run.update(steps).blocked, told.blocked, "again");
    told.blocked
}

#[test]
fn what_a_step_binds_itself_it_does_not_miss() {
    let failed = ("1", "import os, json\ndef f():\n    pass\ny = h = e = [1]\n1 / 0");
    let own = [
        "import os\nprint(os.sep)",
        "try:\n    import json\nexcept ImportError:\n    json = None\nprint(json)",
        "try:\n    y = 1\nfinally:\n    print(2)\nprint(y)",
        "try:\n    y = int('x')\nexcept ValueError as e:\n    y = str(e)\nelse:\n    print(y)\nprint(y)",
        "if 1 > 0:\n    import json\nelse:\n    raise SystemExit\nprint(json.dumps(1))",
        "if 1 > 0:\n    y = 1\n    print(y)\nelse:\n    y = 2\nprint(y)",
        "for y in [1, 2]:\n    h = y\nprint(y, h)",
        "for y in range(3):\n    print(y)",
        "with open('a.txt', 'w') as h:\n    h.write('x')\n    y = 3\n    print(y)",
        "if (y := 3) > 2:\n    print(y)",
        "def f():\n    import os\n    return os.sep\nprint(f())",
        "print([y for y in (1, 2)], (lambda os: os)(3))",
    ];
    for text in own {
        assert_eq!(blocked(&[failed, ("2", text)]), [""; 0], "{text}");
    }
    let missing = [
        "print(os.sep)",
        "for k in range(2):\n    y = k\nprint(y)",
        "if 1 > 0:\n    y = 1\nprint(y)",
        "try:\n    y = int('1')\nexcept ValueError:\n    print('no')\nprint(y)",
        "for k in [1, 2]:\n    if k < 3:\n        break\n    y = k\nprint(y)",
        "import contextlib\nwith contextlib.suppress(ValueError):\n    y = int('x')\nprint(y)",
        "try:\n    print(y)\nexcept NameError:\n    y = 1",
        "if 1 > 0:\n    print(json)\n    import json",
        "while True:\n    y = 1\n    break\nprint(y)",
        "def g():\n    return os.sep",
    ];
    for text in missing {
        assert_eq!(blocked(&[failed, ("2", text)]), ["2"], "{text}");
    }
}

#[test]
fn what_was_imported_before_is_there_whoever_imports_it_again_and_fails() {
    let steps = [
        ("1", "import os\nimport os.path as p\nfrom json import dumps"),
        ("2", "import os.path\nfrom json import dumps\nimport json as p\nlost = 1 / 0"),
        ("3", "print(os.sep)"),
        ("4", "from json import dumps\nprint(lost)"),
        ("5", "print(dumps(1))"),
        ("6", "print(p)"),
        ("7", "import os\nos = None"),
    ];
    // Under `p` step 2 would have put something else.
    assert_eq!(blocked(&steps), ["4", "6"]);
    // So would this one, after it imported the same.
    let steps = [("1", "import os"), ("2", "import os\n1 / 0\nos = None"), ("3", "print(os)")];
    assert_eq!(blocked(&steps), ["3"]);
}

#[test]
fn a_failure_after_what_can_neither_be_carried_nor_made_again_alike_does_not_go_round_forever() {
    // What the first step leaves has no form as bytes, and is another each time that it is made.
    let steps = [
        ("1", "import ctypes, time\nlibrary = ctypes.CDLL(None)\nnow = time.time_ns()"),
        ("2", "1 / 0"),
        ("3", "print(3)"),
    ];
    let mut run = Run::new(OnError::Block);
    let told = run.update(&steps);
    assert_eq!(told.ran, ["1", "2", "3"]);
    assert_eq!(told.results["3"], "3\n None");
    assert_eq!(run.update(&steps).ran, [""; 0]);
}

#[test]
fn what_can_not_even_be_kept_by_a_fork_ends_the_update_with_words() {
    let steps = [
        (
            "1",
            "import threading, time\nover = threading.Event()\nthreading.Thread(target=over.wait, daemon=True).start()\nnow = time.time_ns()",
        ),
        ("2", "1 / 0"),
        ("3", "print(now > 0)"),
    ];
    let mut run = Run::new(OnError::Block);
    let (tasks, goal) = (run.tasks(&steps), run.goal.clone());
    let said = run.engine.update(&tasks, &goal, &mut |_| {}).unwrap_err();
    assert!(said.to_string().contains("1 answers differently each time"), "{said}");
    // Where failures are let stand, there is nothing to go back to.
    let mut run = Run::new(OnError::Continue);
    assert_eq!(run.update(&steps).results["3"], "True\n None");
}

#[test]
fn a_plan_knows_what_a_failure_keeps_from_running() {
    let mut steps = vec![("1", "y = 1 / 0"), ("2", "print(y)"), ("3", "z = 2")];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    let plan = |run: &mut Run, steps: &[(&str, &str)]| {
        let (tasks, goal) = (run.tasks(steps), run.goal.clone());
        let planned = run.engine.plan(&tasks, &goal).into_iter();
        planned.map(|planned| planned.action).collect::<Vec<_>>()
    };
    assert_eq!(plan(&mut run, &steps), [Action::Keep, Action::Blocked, Action::Keep]);
    // One that is another now may go well.
    steps[0].1 = "y = 1 / 1";
    assert_eq!(plan(&mut run, &steps), [Action::Run, Action::Run, Action::Keep]);
}

/// What a step made when it had another text says little of what it should have made now.
#[test]
fn a_step_that_fails_with_another_text_blocks_who_needs_what_that_names() {
    let before =
        [("1", "rows = [1]\nx = 1"), ("2", "rows.append(2)\ny = 1"), ("3", "print(x, rows)"), ("4", "print(y)")];
    let mut run = Run::new(OnError::Block);
    run.update(&before);
    let mut after = before;
    after[1].1 = "z = undefined";
    let told = run.update(&after);
    assert_eq!(
        (told.blocked.as_slice(), told.ran.as_slice()),
        ([].as_slice(), ["2".into(), "3".into(), "4".into()].as_slice())
    );
    assert_eq!(told.results["3"], "1 [1]\n None");
    after[1].1 = "rows.append(undefined)";
    assert_eq!(run.update(&after).blocked, ["3"]);
}
