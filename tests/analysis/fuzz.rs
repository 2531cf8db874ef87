//! Mutated sources: no panic, no abort, no place outside the text.
//!
//! `REWEAVE_ANALYSIS_FUZZ=1000000 cargo bench --bench analysis -- fuzz` tries a million, optimised;
//! `REWEAVE_ANALYSIS_FUZZ=10000 cargo test --test analysis mutated` tries some here. A failure prints its seed, and
//! `REWEAVE_ANALYSIS_SEED=… REWEAVE_ANALYSIS_FUZZ=1` tries that one again.

use reweave::analysis::{Options, analyze};

use crate::mutate;
use crate::random::times;

#[test]
fn mutated_sources_are_read_without_harm() {
    let count = times("REWEAVE_ANALYSIS_FUZZ", 1500);
    let first = times("REWEAVE_ANALYSIS_SEED", 1);
    let seeds = mutate::seeds();
    for seed in first..first + count {
        mutate::check(seed, &seeds);
    }
}

#[test]
fn deep_sources_are_refused_or_read() {
    let deep = |open: &str, close: &str, times: usize| format!("x = {}y{}\n", open.repeat(times), close.repeat(times));
    let mut sources = Vec::new();
    for times in [50, 190, 199, 1_000, 20_000] {
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("{1: ", "}"),
            ("f(", ")"),
            ("-", ""),
            ("not ", ""),
            ("lambda: ", ""),
            ("a if b else ", ""),
            ("a + ", ""),
            ("a ** ", ""),
            ("a and ", ""),
            ("a < ", ""),
            ("", ".b"),
            ("", "[0]"),
            ("", "()"),
            ("f'{", "}'"),
            ("[a for b in ", "]"),
            ("(c := ", ")"),
            ("*", ""),
            ("await ", ""),
            ("'a' ", ""),
        ] {
            sources.push(deep(open, close, times));
        }
        sources.push((0..times.min(300)).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect());
        sources.push((0..times.min(300)).map(|depth| format!("{}def f():\n", " ".repeat(depth))).collect());
        sources.push((0..times.min(300)).map(|depth| format!("{}class K:\n", " ".repeat(depth))).collect());
        sources.push(format!("if a:\n  b\n{}", "elif c:\n  d\n".repeat(times)));
        sources.push(format!("match x:\n  case {}y{}: pass\n", "[".repeat(times), "]".repeat(times)));
        sources.push(format!("match x:\n  case {}y: pass\n", "1 | ".repeat(times)));
        sources.push("global x\n".repeat(times));
        sources.push(format!("x: {}int\n", "a | ".repeat(times)));
    }
    for source in &sources {
        mutate::harmless(source, &analyze(source, &Options::default()), "deep");
    }
}

#[test]
fn functions_that_call_one_another_in_a_long_row_are_followed_without_recursion_that_is_too_deep() {
    let mut source = "def f0(): return x\n".to_owned();
    for at in 1..6_000 {
        source += &format!("def f{at}(): return f{}()\n", at - 1);
    }
    source += "y = f5999()\n";
    let names = analyze(&source, &Options::default());
    assert!(names.reads.contains_key("x"), "what the last of the row reads is read");
    // The same from step to step.
    let sources: Vec<String> = (0..6_000)
        .map(|at| if at == 0 { "def f0(): return x".into() } else { format!("def f{at}(): return f{}()", at - 1) })
        .chain(["y = f5999()".to_owned()])
        .collect();
    let names: Vec<_> = sources.iter().map(|source| analyze(source, &Options::default())).collect();
    let steps: Vec<_> =
        names.iter().enumerate().map(|(at, names)| (format!("s{at}").parse().unwrap(), names)).collect();
    let (resolved, _) = reweave::graph::resolve(&steps[5_000..]);
    assert!(!resolved.is_empty());
}
