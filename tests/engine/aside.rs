//! What runs on the side starts from what is held and touches nothing of the run.

use std::fs;

use reweave::engine::{Isolation, OnError, Report};

use super::harness::{Run, outcome};

const BASE: [(&str, &str); 3] = [
    ("01", "import os\nlines = (i * i for i in range(10))\nopen('log.txt', 'w').write('one')\n"),
    ("02", "first = next(lines)\nopen('log.txt', 'a').write(' two')\nhere = os.getcwd()\n"),
    ("03", "total = first + sum(lines)\nprint(total, open(os.path.join(here, 'log.txt')).read())\n"),
];

#[test]
fn a_trial_sees_the_same_paths_and_leaves_the_run_as_it_is() {
    let mut run = Run::new(OnError::Block);
    run.update(&BASE);
    let patched =
        [BASE[0], BASE[1], ("03", "open(here + '/log.txt', 'w').write('mine')\nprint(open('log.txt').read())\n")];
    let tasks = run.tasks(&patched);
    let mut aside = run.engine.aside(&tasks).unwrap();
    let isolated = *aside.isolation() == Isolation::Kernel;
    let goal = run.goal.clone();
    let mut ran = Vec::new();
    aside
        .update(&tasks, &goal, &mut |report| {
            if let Report::Executed { execution, rebuilt: false } = report {
                ran.push((execution.step.to_string(), outcome(&execution)));
            }
        })
        .unwrap();
    if isolated {
        assert_eq!(ran, [("03".to_owned(), "mine\n None".to_owned())]);
        assert_eq!(fs::read_to_string(run.dir.path().join("log.txt")).unwrap(), "one two");
    }
    drop(aside);
    // The run itself goes on as if nothing had been.
    let told = run.update(&BASE);
    assert_eq!(told.ran, Vec::<String>::new());
    assert_eq!(told.results["03"], "285 one two\n None");
}

#[test]
fn several_trials_run_side_by_side() {
    let mut run = Run::new(OnError::Block);
    run.update(&BASE);
    let sources: Vec<String> = (0..3).map(|n| format!("answer = {n} + first + sum(lines)\nprint(answer)\n")).collect();
    let mut trials = Vec::new();
    for source in &sources {
        let tasks = run.tasks(&[BASE[0], BASE[1], ("03", source)]);
        let aside = run.engine.aside(&tasks).unwrap();
        trials.push((aside, tasks));
    }
    let goal = run.goal.clone();
    let threads: Vec<_> = trials
        .into_iter()
        .map(|(mut aside, tasks)| {
            let goal = goal.clone();
            std::thread::spawn(move || {
                let mut printed = String::new();
                aside
                    .update(&tasks, &goal, &mut |report| {
                        if let Report::Executed { execution, rebuilt: false } = report {
                            printed.push_str(&outcome(&execution));
                        }
                    })
                    .unwrap();
                printed
            })
        })
        .collect();
    let printed: Vec<String> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(printed, ["285\n None", "286\n None", "287\n None"]);
}

#[test]
fn a_state_that_must_be_had_again_leaves_the_files_alone() {
    let mut run = Run::new(OnError::Block);
    run.update(&BASE);
    run.restart();
    let log = run.dir.path().join("log.txt");
    let before = fs::metadata(&log).unwrap().modified().unwrap();
    let states = run.states(&BASE);
    assert_eq!(states[1]["first"], "0");
    assert!(states[0].contains_key("lines") || !states[0].contains_key("first"));
    assert_eq!(fs::metadata(&log).unwrap().modified().unwrap(), before);
}

#[test]
fn only_what_can_not_be_brought_over_is_made_again() {
    let steps = [
        ("01", "table = list(range(5))\n"),
        ("02", "lines = (n for n in tuple(table))\n"),
        ("03", "big = [n * 2 for n in table]\n"),
        ("04", "x = 1\n"),
        ("05", "print(next(lines), x)\n"),
    ];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    run.restart();
    let mut edited = steps;
    edited[4] = ("05", "print(next(lines), x, len(big))\n");
    let told = run.update(&edited);
    assert_eq!(told.results["05"], "0 1 5\n None");
    assert_eq!((told.ran.as_slice(), told.rebuilt), (["05".to_owned()].as_slice(), 1));
}
