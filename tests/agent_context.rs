//! What an agent is shown of a run: by the step's place in the graph, within a budget, and not growing with the run.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::Run;
use reweave::agent::{Seen, Surroundings, TokenCount, context};
use reweave::run::{RunDir, Tree};
use reweave::step::{Execution, Name, Outcome, Status, StepError, StepId, VersionNumber};

#[test]
fn the_context_is_what_the_place_in_the_graph_calls_for() {
    let run = Run::new(&[
        ("01_load.py", "# Reads the rows.\nrows = [3, 0, 4]\nprint(len(rows), 'rows')\n"),
        ("02_clean.py", "good = [row for row in rows if row >= 0]\ngood\n"),
        ("03_other.py", "# Something else.\nnote = 'nobody needs it'\n"),
        ("04_fit.py", "# Fits the rows.\ntask = 'fit'\n"),
        ("04_fit/01_seen/01_a.py", "inner = 1\n"),
        ("04_fit/01_seen/02_b.py", "inner2 = 2\n"),
        ("04_fit/01_seen/return.md", "Nothing was odd.\n"),
        ("04_fit/02_ratio.py", "ratios = [1 / row for row in good]\n"),
        ("05_tell.py", "print(ratios)\n"),
    ]);
    assert_eq!(run.call("run", &[]).status, Some(1));
    let json = run.json("context", &["04_fit/02_ratio"]);
    let text = json["text"].as_str().unwrap();
    let titles: Vec<&str> =
        json["parts"].as_array().unwrap().iter().map(|part| part["title"].as_str().unwrap()).collect();
    let starts =
        ["frame 04_fit (3 steps)", "needs 02_clean", "what these need: 1", "returned before it", "the step", "failed"];
    assert_eq!(titles.len(), starts.len(), "{titles:?}");
    for (title, start) in titles.iter().zip(starts) {
        assert!(title.starts_with(start), "{title} is not {start}");
    }
    // In full: what opens the frame, and what is needed. In a line: what that needs, and what returned.
    assert!(text.contains("task = 'fit'") && text.contains("if row >= 0]"), "{text}");
    assert!(text.contains("01_load: Reads the rows.; wrote rows; printed 3 rows"), "{text}");
    assert!(text.contains("04_fit/01_seen/ (2 steps): returned Nothing was odd."), "{text}");
    assert!(text.contains("ZeroDivisionError"), "{text}");
    // Never: what lies in a frame that returned, the text of what nobody needs, and what comes later.
    for never in ["inner", "nobody needs it", "05_tell"] {
        assert!(!text.contains(never), "{never} is shown: {text}");
    }
    assert_eq!((json["budget"].as_u64(), json["vocabulary"].as_str()), (Some(8000), Some("o200k_base")));
    assert!(json["tokens"].as_u64().unwrap() > 50 && json["flat_tokens"].as_u64().unwrap() > 50, "{json}");
    let json = run.json("context", &["04_fit/02_ratio", "--budget", "150"]);
    assert!(json["tokens"].as_u64().unwrap() <= 150, "{json}");
    let answer = run.call("context", &["09"]);
    assert_eq!(answer.status, Some(2), "{answer}");
    assert!(answer.stderr.contains("there is no step"), "{answer}");
}

/// A run of `count` steps in frames of depth 5, ten of them in a frame, and each needing the one before.
fn deep(count: usize) -> Run {
    let run = Run::empty();
    for number in 0..count {
        let frame = number / 10;
        // Five levels: of each frame of the outer four levels there are a few.
        let levels = [frame / 27, frame / 9 % 3, frame / 3 % 3, frame % 3];
        let path: String = levels.iter().map(|level| format!("f{level}/")).collect();
        let (chain, other) = (number < count * 4 / 5, number % 7);
        let source = if chain {
            format!("x{number} = {} + {other}\nprint('step {number} of the chain gave', x{number})\n", before(number))
        } else {
            format!("# Looks at part {number}.\npart{number} = [{number}, {other}]\nprint(part{number})\n")
        };
        let source =
            if number + 1 == count { format!("total = x{}\nprint(total)\n", count * 4 / 5 - 1) } else { source };
        run.write(&format!("{path}g{frame}/{number:03}_s.py"), &source);
    }
    run
}

fn before(number: usize) -> String {
    number.checked_sub(1).map_or_else(|| "0".to_owned(), |before| format!("x{before}"))
}

/// As a workbench sees a run in which each step reads one name of another.
fn around(run: &Run) -> Surroundings {
    let tree = Tree::read(&RunDir::open(run.path()).unwrap());
    let scan = tree.scan();
    let mut writers: BTreeMap<String, usize> = BTreeMap::new();
    let (mut steps, mut needs) = (Vec::new(), Vec::new());
    for (place, file) in scan.steps.iter().enumerate() {
        for name in reweave::analysis::reads(&file.source) {
            if let Some(from) = writers.get(&*name) {
                needs.push((*from, place, vec![Name::from(&*name)]));
            }
        }
        let writes: Vec<Name> =
            reweave::analysis::writes(&file.source).into_iter().map(|name| Name::from(&*name)).collect();
        writers.extend(writes.iter().map(|name| (name.to_string(), place)));
        steps.push(Seen { file: Arc::clone(file), status: Status::Fresh, writes });
    }
    Surroundings { steps, needs, ..Surroundings::default() }
}

fn tokens(count: usize) -> (usize, usize) {
    let run = deep(count);
    let around = around(&run);
    assert_eq!(around.steps.len(), count);
    let last = around.steps.last().unwrap().file.id.clone();
    assert_eq!(last.depth(), 5);
    let view = context(&around, &last, None, &mut TokenCount::default(), |_| None).unwrap();
    (view.tokens, view.flat_tokens)
}

#[test]
fn ten_times_the_steps_do_not_double_the_context() {
    let ((few, few_flat), (many, many_flat)) = (tokens(50), tokens(500));
    assert!(many <= 2 * few, "50 steps: {few}, 500 steps: {many}");
    assert!(many_flat >= 8 * few_flat, "a flat log grows: {few_flat}, {many_flat}");
    assert!(many * 10 < many_flat, "{many} beside {many_flat}");
}

#[test]
fn a_budget_is_kept_whatever_the_run_holds() {
    let run = Run::empty();
    for number in 0..60 {
        run.write(&format!("{number:02}_wide.py"), &format!("w{number} = '{}'\n", "long ".repeat(200)));
    }
    let reads: Vec<String> = (0..60).map(|number| format!("w{number}")).collect();
    run.write("f/99_sum.py", &format!("total = [{}]\n# {}\n", reads.join(", "), "\u{202e}\u{1b}[2J".repeat(500)));
    let around = around(&run);
    let last: StepId = "f/99_sum".parse().unwrap();
    let mut count = TokenCount::default();
    let failed = |step: &StepId| {
        let mut execution = Execution::new(step.clone(), VersionNumber(1), 0);
        execution.outcome = Outcome::Failed;
        execution.error = Some(StepError {
            type_name: "ValueError".to_owned(),
            message: "no ".repeat(9_000),
            ..StepError::default()
        });
        Some(Arc::new(execution))
    };
    let whole = context(&around, &last, None, &mut count, failed).unwrap();
    let mut before = usize::MAX;
    for budget in [whole.tokens, 30_000, 10_000, 4_000, 2_000, 1_000, 500, 200, 100] {
        let view = context(&around, &last, Some(budget), &mut count, failed).unwrap();
        assert!(view.tokens <= budget, "{} of {budget}", view.tokens);
        assert!(view.tokens <= before, "less room, and more was shown");
        before = view.tokens;
        assert!(view.parts.iter().any(|part| part.step.as_ref() == Some(&last)), "the step itself is shown");
        let exact: usize = view.parts.iter().map(|part| count.of(&part.whole())).sum();
        assert_eq!(exact, view.tokens);
    }
}
