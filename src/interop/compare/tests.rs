//! Whole executions side by side.

use proptest::prelude::*;

use super::*;
use crate::step::{Chunk, Observation, VersionNumber};

fn execution(stdout: &str) -> Execution {
    let mut execution = Execution::new("a".parse().unwrap(), VersionNumber(1), 0);
    if !stdout.is_empty() {
        execution.output.chunks.push(Chunk { stream: Stream::Stdout, text: stdout.to_owned() });
    }
    execution
}

fn showing(repr: &str) -> Execution {
    let mut execution = execution("");
    execution.displays.push(Display { repr: repr.to_owned(), mime: Default::default(), last: true });
    execution
}

fn failing(type_name: &str, message: &str) -> Execution {
    let mut execution = execution("");
    execution.error = Some(StepError { type_name: type_name.into(), message: message.into(), ..StepError::default() });
    execution
}

fn found(old: &Execution, new: &Execution) -> (Verdict, Vec<(Part, usize)>) {
    let comparison = compare(old, new, &Tolerance::default());
    (comparison.verdict, comparison.differences.iter().map(|d| (d.part, d.line)).collect())
}

#[test]
fn verdicts_say_what_a_person_wants_to_know() {
    assert_eq!(found(&execution("a\n"), &execution("a\n")), (Verdict::Same, vec![]));
    assert_eq!(found(&execution("\u{1b}[1ma\u{1b}[0m\n"), &execution("a\n")), (Verdict::Alike, vec![]));
    assert_eq!(found(&execution("took 3 ms\n"), &execution("took 9 ms\n")), (Verdict::Alike, vec![]));
    assert_eq!(found(&execution("x\na\n"), &execution("x\nb\n")), (Verdict::Different, vec![(Part::Stdout, 2)]));
    assert_eq!(found(&showing("{1, 2}"), &showing("{2, 1}")), (Verdict::Alike, vec![]));
    assert_eq!(found(&showing("7.5"), &showing("7.6")), (Verdict::Different, vec![(Part::Display, 1)]));
    assert_eq!(found(&showing("abc"), &showing("'abc'")), (Verdict::Alike, vec![]));
    assert_eq!(found(&showing("[1,\n 2,\n 3]"), &showing("[1, 2, 3]")), (Verdict::Alike, vec![]));
    assert_eq!(found(&showing("[1,\n 2,\n 3]"), &showing("[1, 2, 4]")).0, Verdict::Different);
    assert_eq!(found(&showing("1"), &execution("")), (Verdict::Different, vec![(Part::Display, 1)]));
    assert_eq!(found(&failing("E", "at 0x7f0011"), &failing("E", "at 0x7f0022")), (Verdict::Alike, vec![]));
    assert_eq!(found(&failing("E", "x"), &failing("F", "x")), (Verdict::Different, vec![(Part::Error, 1)]));
    assert_eq!(found(&failing("E", "x"), &execution("")), (Verdict::Different, vec![(Part::Error, 1)]));
}

#[test]
fn a_step_that_consults_chance_is_told_apart() {
    let mut rerun = execution("0.7\n");
    rerun.observation = Observation { nondeterministic: vec!["the random generator".into()], ..Observation::default() };
    assert_eq!(found(&execution("0.1\n"), &rerun).0, Verdict::Nondeterministic);
}

#[test]
fn a_progress_bar_is_no_difference_unless_it_is_asked_for() {
    let (old, new) =
        (execution(" 50%|██  | 1/2\r100%|████| 2/2 [00:01]\ndone\n"), execution("100%|████| 2/2 [00:09]\ndone\n"));
    let comparison = compare(&old, &new, &Tolerance::default());
    assert_eq!((comparison.verdict, comparison.ignored[&Volatile::Progress]), (Verdict::Alike, 1));
    let strict = Tolerance { strict: vec![Volatile::Progress], ..Tolerance::default() };
    assert_eq!(compare(&old, &new, &strict).verdict, Verdict::Different);
}

#[test]
fn a_table_whose_columns_moved_is_the_same_table() {
    let old = "          a    b\n0  1.000000  2.0\n1  3.500000  4.0";
    let new = "     a    b\n0  1.0  2.0\n1  3.5  4.0";
    assert_eq!(found(&showing(old), &showing(new)).0, Verdict::Alike);
}

proptest! {
    #[test]
    fn what_is_equal_is_the_same_and_nothing_makes_it_fall_over(old in "\\PC{0,60}|[ -~\n\r\t\u{1b}]{0,200}", new in "[ -~\n\r\t\u{1b}]{0,200}") {
        prop_assert_eq!(found(&execution(&old), &execution(&old)).0, Verdict::Same);
        let one = found(&execution(&old), &execution(&new)).0;
        let other = found(&execution(&new), &execution(&old)).0;
        prop_assert_eq!(one, other);
    }

    #[test]
    fn numbers_within_the_tolerance_never_count(number in -1e6..1e6f64, off in -1e-7..1e-7f64) {
        let (old, new) = (format!("{number:e}\n"), format!("{:e}\n", number * (1.0 + off)));
        prop_assert_ne!(found(&execution(&old), &execution(&new)).0, Verdict::Different);
    }
}
