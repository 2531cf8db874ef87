//! Where an update stops before it is done, what a step is answered while it runs, and what is inside a value.

use std::collections::BTreeMap;

use reweave::engine::{Answers, Halt, OnError, Report};
use reweave::step::{Answer, Inside, Reason, StepId};

use crate::harness::{Run, outcome};

fn id(text: &str) -> StepId {
    text.parse().unwrap()
}

/// Brings a run up to date, and gives what was executed, and where and why it stopped.
fn halt(run: &mut Run, steps: &[(&str, &str)]) -> (Vec<String>, Option<(Option<StepId>, Halt)>) {
    let (tasks, goal, stop) = (run.tasks(steps), run.goal.clone(), run.engine.stop_handle());
    let (mut ran, mut made, mut halted) = (Vec::new(), Vec::new(), None);
    run.engine
        .update(&tasks, &goal, &mut |report| match report {
            Report::Started { step, .. } if step == id("pause") => stop.pause(),
            Report::Executed { execution, .. } => {
                ran.push(execution.step.to_string());
                made.push(execution);
            }
            Report::Halted { before, why } => halted = Some((before, why)),
            _ => {}
        })
        .unwrap();
    for execution in made {
        run.held.entry(execution.step.clone()).or_default().insert(0, execution);
    }
    (ran, halted)
}

const STEPS: [(&str, &str); 4] = [("1", "x = 1"), ("2", "y = x"), ("3", "x = 2"), ("4", "print(x)")];

#[test]
fn a_breakpoint_is_stopped_at_and_gone_past() {
    let mut run = Run::new(OnError::Block);
    run.goal.breaks = [id("3")].into();
    let (ran, halted) = halt(&mut run, &STEPS);
    assert_eq!((ran, halted), (vec!["1".to_owned(), "2".to_owned()], Some((Some(id("3")), Halt::Breakpoint))));
    run.goal.past = Some(id("3"));
    assert_eq!(halt(&mut run, &STEPS), (vec!["3".to_owned(), "4".to_owned()], None));
    // What is only kept is not stopped at.
    run.goal.past = None;
    assert_eq!(halt(&mut run, &STEPS), (Vec::new(), None));
}

#[test]
fn a_step_that_changes_a_watched_name_is_the_last() {
    let mut run = Run::new(OnError::Block);
    run.goal.watched = ["x".into()].into();
    let changed = |by: &str| Halt::Changed { name: "x".into(), by: id(by) };
    assert_eq!(halt(&mut run, &STEPS), (vec!["1".to_owned()], Some((Some(id("2")), changed("1")))));
    assert_eq!(halt(&mut run, &STEPS).1, Some((Some(id("4")), changed("3"))));
    assert_eq!(halt(&mut run, &STEPS), (vec!["4".to_owned()], None));
}

#[test]
fn a_failure_stops_where_that_is_asked_for() {
    let mut run = Run::new(OnError::Block);
    run.goal.until_failure = true;
    let (ran, halted) = halt(&mut run, &[("1", "x = 1"), ("2", "1 / 0"), ("3", "z = 3")]);
    assert_eq!((ran.len(), halted), (2, Some((Some(id("3")), Halt::Failed { step: id("2") }))));
}

#[test]
fn a_pause_lets_the_step_end() {
    let mut run = Run::new(OnError::Block);
    let (ran, halted) = halt(&mut run, &[("1", "x = 1"), ("pause", "y = 2"), ("z", "z = 3")]);
    assert_eq!((ran.len(), halted), (2, Some((Some(id("z")), Halt::Paused))));
}

/// Runs one step that asks, each question being answered with its number.
fn ask(run: &mut Run, answers: &Answers, source: &str, forced: Option<Reason>) -> (String, usize) {
    let mut tasks = run.tasks(&[("1", source)]);
    let task = &mut tasks[0];
    task.answers = task.held.first().map(|held| held.observation.answers.clone()).unwrap_or_default();
    task.forced = forced;
    let (mut asked, mut came) = (0, None);
    run.engine
        .update(&tasks, &run.goal.clone(), &mut |report| match report {
            Report::Asked(question) => {
                asked += 1;
                answers.give(question.id, Answer::Line(format!("{}{asked}", question.text)));
            }
            Report::Executed { execution, .. } => came = Some(execution),
            _ => {}
        })
        .unwrap();
    let execution = came.unwrap();
    run.held.entry(id("1")).or_default().insert(0, execution.clone());
    (outcome(&execution), asked)
}

#[test]
fn what_a_step_was_answered_is_part_of_what_it_follows_from() {
    let mut run = Run::with(OnError::Block, |settings| settings.answered = true);
    let answers = run.engine.answers();
    let source = "a = input('a? ')\nb = input('b? ')\nprint(a, b)";
    let (told, asked) = ask(&mut run, &answers, source, None);
    assert_eq!((told.as_str(), asked), ("a? a? 1\nb? b? 2\na? 1 b? 2\n None", 2));
    // Changed, it is answered the same as long as it asks the same.
    let (told, asked) = ask(&mut run, &answers, "a = input('a? ')\nb = input('c? ')\nprint(b)", None);
    assert_eq!((told.as_str(), asked), ("a? a? 1\nc? c? 1\nc? 1\n None", 1));
    // Run again by hand, it asks anew.
    assert_eq!(ask(&mut run, &answers, source, Some(Reason::Invalidated)).1, 2);
}

#[test]
fn where_nobody_answers_a_step_that_asks_fails_and_says_so() {
    let told = Run::new(OnError::Block).update(&[("1", "input('who? ')"), ("2", "print(2)")]);
    assert!(told.results["1"].contains("EOFError: a step asked for input, and nobody is there"), "{told:?}");
    assert_eq!(told.results["2"], "2\n None");
}

fn inside(run: &mut Run, steps: &[(&str, &str)], name: &str, path: &[usize]) -> Inside {
    let tasks = run.tasks(steps);
    let goal = run.goal.clone();
    run.engine.inside(&tasks, &goal, &tasks.last().unwrap().id, name, path).unwrap()
}

#[test]
fn a_value_is_looked_into_part_by_part() {
    let source = "class Thing:\n    __slots__ = 'size', 'kids'\n    def __repr__(self): raise ValueError\n\
                  t = Thing(); t.size = 3; t.kids = {'one': [1, (2,)], 'self': t}\n\
                  text = 'a\\nb'\nmany = list(range(1000))\ngen = (n for n in many)";
    let steps = [("1", source)];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    let keys = |inside: &Inside| inside.parts.iter().map(|part| part.key.clone()).collect::<Vec<_>>();
    let thing = inside(&mut run, &steps, "t", &[]);
    assert_eq!(keys(&thing), [".size", ".kids"]);
    assert_eq!((thing.parts[0].repr.as_str(), thing.parts[0].opens, thing.parts[1].opens), ("3", false, true));
    let kids = inside(&mut run, &steps, "t", &[1]);
    assert_eq!(keys(&kids), ["'one'", "'self'"]);
    assert_eq!(kids.parts[1].repr, "<repr() raised ValueError>");
    // Round the circle, and to the end of it.
    assert_eq!(keys(&inside(&mut run, &steps, "t", &[1, 1, 1, 0, 1])), ["0"]);
    assert_eq!(inside(&mut run, &steps, "t", &[0, 7]), Inside::default());
    assert_eq!(keys(&inside(&mut run, &steps, "text", &[])), ["1", "2"]);
    let many = inside(&mut run, &steps, "many", &[]);
    assert_eq!((many.parts.len(), many.total), (200, 1000));
    // To look spoils nothing.
    assert_eq!(inside(&mut run, &steps, "gen", &[]).parts, []);
    let states: BTreeMap<_, _> = run.states(&steps).remove(0);
    assert_eq!(states["many"].len(), 4890);
}

#[test]
fn files_of_steps_that_are_not_asked_for_stay_as_they_were_left() {
    let steps = [
        ("1", "x = 1\n"),
        ("2", "open('a.txt', 'w').write('two')\nopen('b.txt', 'w').write('two')\n"),
        ("3", "open('a.txt', 'a').write(' three')\n"),
        ("4", "print(open('a.txt').read())\n"),
    ];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    std::fs::write(run.dir.path().join("b.txt"), "by a person").unwrap();
    let read = |run: &Run, path: &str| std::fs::read_to_string(run.dir.path().join(path)).unwrap();
    run.goal.steps = [id("1")].into();
    assert!(run.update(&steps).ran.is_empty());
    assert_eq!((read(&run, "a.txt"), read(&run, "b.txt")), ("two three".into(), "by a person".into()));
    let mut edited = steps;
    edited[0] = ("1", "x = 2\n");
    assert_eq!(run.update(&edited).ran, ["1"]);
    assert_eq!((read(&run, "a.txt"), read(&run, "b.txt")), ("two three".into(), "by a person".into()));
    run.goal.steps.clear();
    assert_eq!(run.update(&edited).ran, Vec::<String>::new());
    assert_eq!(read(&run, "a.txt"), "two three");
}
