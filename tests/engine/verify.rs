//! A full run on the side finds what is held to be right, and finds it out where it is not.

use std::sync::Arc;

use reweave::engine::{OnError, Verified};

use super::harness::Run;

const STEPS: [(&str, &str); 5] = [
    ("01", "import random\nrows = [random.random() for _ in range(3)]\nopen('rows.txt', 'w').write(repr(rows))\n"),
    ("02", "squares = (r * r for r in rows)\n"),
    ("03", "open('rows.txt', 'a').write(' more')\nrows.append(0.5)\nprint(len(rows))\n"),
    ("04", "total = sum(squares)\nprint(f'{total:.6f}')\n"),
    ("05", "class Bad(Exception): pass\nraise Bad('as ever')\n"),
];

fn verify(run: &mut Run, steps: &[(&str, &str)], again: bool) -> Verified {
    let tasks = run.tasks(steps);
    let goal = run.goal.clone();
    run.engine.verification(&tasks, &goal, again).unwrap().run(&mut |_| {}).unwrap()
}

#[test]
fn what_is_held_is_what_a_full_run_gives() {
    let mut run = Run::new(OnError::Block);
    run.update(&STEPS);
    let mut edited = STEPS;
    edited[2] = ("03", "open('rows.txt', 'a').write(' else')\nrows.append(1.5)\nprint(len(rows))\n");
    run.update(&edited);
    let verified = verify(&mut run, &edited, false);
    assert_eq!((verified.compared, verified.differences.as_slice(), verified.skipped.len()), (5, [].as_slice(), 0));
    let file = std::fs::read_to_string(run.dir.path().join("rows.txt")).unwrap();
    assert!(file.ends_with(" else"), "the run's own file is untouched: {file}");
}

#[test]
fn a_fault_in_the_record_is_found() {
    let mut run = Run::new(OnError::Block);
    run.update(&STEPS);
    let held = run.held.get_mut(&"04".parse().unwrap()).unwrap();
    let mut forged = (*held[0]).clone();
    forged.output.chunks[0].text = "999.000000\n".into();
    held[0] = Arc::new(forged);
    let verified = verify(&mut run, &STEPS, false);
    let found: Vec<_> =
        verified.differences.iter().map(|d| (d.id.as_str(), d.what.as_str(), d.held.as_str())).collect();
    assert_eq!(found, [("04", "stdout", "999.000000\n")]);
}

#[test]
fn what_consults_the_clock_keeps_its_record_and_is_no_difference() {
    let steps = [("01", "import time\nstamp = time.time_ns()\n"), ("02", "later = stamp + 1\nprint(later)\n")];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    assert_eq!(verify(&mut run, &steps, false).differences, []);
    // Asked to run it as well, it differs, and so does what uses it: marked, both of them.
    let again = verify(&mut run, &steps, true);
    assert_eq!(again.differences, []);
    assert!(again.nondeterministic.iter().any(|difference| difference.id.as_str() == "02"));
    assert_eq!(again.roots, ["01".parse().unwrap()]);
}

#[test]
fn a_name_bound_to_the_value_that_it_has_is_no_difference() {
    let steps = [("01", "for x in ([1], [2]): pass\n"), ("02", "x = [2]\n"), ("03", "x = [3]\n")];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    // Whether such a binding is seen depends on which object it is, which the text does not tell.
    for (step, differs) in [("02", false), ("03", true)] {
        let kept = run.held[&step.parse().unwrap()].clone();
        let mut forged = (*kept[0]).clone();
        assert!(forged.observation.writes.remove("x").is_some(), "{step}");
        run.held.insert(step.parse().unwrap(), vec![Arc::new(forged)]);
        let verified = verify(&mut run, &steps, false);
        assert_eq!(!verified.differences.is_empty(), differs, "{step}: {:?}", verified.differences);
        run.held.insert(step.parse().unwrap(), kept);
    }
}
