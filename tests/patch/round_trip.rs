//! A change written down in any format and placed again is the change.

use proptest::prelude::*;
use reweave::patch::{MemoryTree, Placed, Verdict, place};
use serde_json::json;
use similar::TextDiff;

const PATH: &str = "steps/a.py";

fn on(base: &str, patch: &str) -> Placed {
    place(patch, &MemoryTree::new([(PATH, base)]), Some(PATH))
}

/// The text that a patch makes, if it applies.
fn made(base: &str, patch: &str) -> Option<String> {
    let placed = on(base, patch);
    (placed.verdict == Verdict::Applied).then(|| placed.files[0].result.clone().unwrap())
}

fn unified(old: &str, new: &str, context: usize) -> String {
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(context)
        .header("a/steps/a.py", "b/steps/a.py")
        .to_string()
}

/// Texts whose lines are all different, so that every hunk has one place.
fn distinct() -> impl Strategy<Value = (String, String)> {
    (prop::collection::vec("[a-c ]{0,3}", 1..20), prop::collection::vec((0usize..20, 0u8..4), 1..5)).prop_map(
        |(words, edits)| {
            let old: Vec<String> = words.iter().enumerate().map(|(i, word)| format!("line{i} = '{word}'")).collect();
            let mut new = old.clone();
            for (serial, (at, what)) in edits.into_iter().enumerate() {
                let at = at.min(new.len().saturating_sub(1));
                match what {
                    0 if new.len() > 1 => {
                        new.remove(at);
                    }
                    1 => new[at] = format!("changed{serial} = 1"),
                    _ => new.insert(at, format!("added{serial} = 2")),
                }
            }
            (old.join("\n") + "\n", new.join("\n") + "\n")
        },
    )
}

/// Texts that repeat themselves.
fn repeating() -> impl Strategy<Value = (String, String)> {
    let text = "([ab]|  a|)(\n([ab]|  a|)){0,14}\n?";
    (text, text).prop_filter("a change", |(a, b)| a != b && !a.is_empty() && !b.is_empty())
}

proptest! {
    #[test]
    fn a_unified_diff((old, new) in repeating(), context in 0usize..4) {
        let patch = unified(&old, &new, context);
        let placed = on(&old, &patch);
        // Without context a line to add has no place but by number; everything else is exact.
        if context > 0 || placed.verdict == Verdict::Applied {
            prop_assert_eq!(placed.verdict, Verdict::Applied, "{}\n{:?}", patch, placed.problems);
            prop_assert_eq!(placed.files[0].result.as_deref(), Some(new.as_str()), "{}", patch);
        }
    }

    #[test]
    fn a_unified_diff_of_other_line_endings((old, new) in distinct()) {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let patch = unified(&old, &new, 3);
        prop_assume!(old != new);
        prop_assert_eq!(made(&crlf(&old), &patch), Some(crlf(&new)));
        prop_assert_eq!(made(&old, &crlf(&patch)), Some(new.clone()));
        prop_assert_eq!(made(&crlf(&old), &crlf(&patch)), Some(crlf(&new)));
    }

    #[test]
    fn numbers_and_order_are_not_needed_where_the_text_says_where((old, new) in distinct(), seed in any::<u64>()) {
        prop_assume!(old != new);
        let patch = unified(&old, &new, 2);
        let mut parts: Vec<String> = patch.split_inclusive('\n').fold(Vec::new(), |mut parts, line| {
            if line.starts_with("@@") {
                parts.push("@@ ... @@\n".to_owned());
            } else if let Some(part) = parts.last_mut() {
                part.push_str(line);
            }
            parts
        });
        let turn = (seed as usize) % parts.len();
        parts.rotate_left(turn);
        let shuffled = format!("--- a/{PATH}\n+++ b/{PATH}\n{}", parts.concat());
        prop_assert_eq!(made(&old, &shuffled), Some(new));
    }

    #[test]
    fn without_numbers_nothing_is_guessed((old, new) in repeating()) {
        let patch: String = unified(&old, &new, 3)
            .split_inclusive('\n')
            .map(|line| if line.starts_with("@@") { "@@ ... @@\n" } else { line })
            .collect();
        // One place or none taken; where one is, it need not be the one that was meant only if the text is the same.
        let placed = on(&old, &patch);
        if placed.verdict == Verdict::Applied {
            for hunk in &placed.hunks {
                prop_assert!(hunk.candidates.is_empty());
            }
        }
    }

    #[test]
    fn every_other_format((old, new) in distinct()) {
        prop_assume!(old != new);
        let text = |lines: &str| lines.to_owned();
        let block = format!("{PATH}\n```python\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n");
        prop_assert_eq!(made(&old, &block), Some(text(&new)));
        let body: String = unified(&old, &new, 3).split_inclusive('\n').skip(2)
            .map(|line| if line.starts_with("@@") { "@@\n" } else { line }).collect();
        let envelope = format!("*** Begin Patch\n*** Update File: {PATH}\n{body}*** End Patch\n");
        prop_assert_eq!(made(&old, &envelope), Some(text(&new)));
        let pair = json!({"path": PATH, "old_str": old, "new_str": new}).to_string();
        prop_assert_eq!(made(&old, &pair), Some(text(&new)));
        let own = json!({"reweave": 1, "changes": [{"path": PATH, "old": old, "new": new}]}).to_string();
        prop_assert_eq!(made(&old, &own), Some(text(&new)));
        let whole = json!({"files": {PATH: new}}).to_string();
        prop_assert_eq!(made(&old, &whole), Some(text(&new)));
        let fence = format!("Here it is.\n\n{PATH}\n```python\n{new}```\nDone.\n");
        let fenced = on(&old, &fence);
        if fenced.verdict == Verdict::Applied {
            prop_assert_eq!(fenced.files[0].result.as_deref(), Some(new.as_str()));
        } else {
            prop_assert_eq!(fenced.verdict, Verdict::Ambiguous);
        }
    }

    #[test]
    fn a_second_time_is_already_applied_or_refused((old, new) in distinct()) {
        prop_assume!(old != new);
        let patch = unified(&old, &new, 3);
        let again = on(&new, &patch);
        prop_assert_ne!(again.verdict, Verdict::Applied);
    }

    #[test]
    fn what_is_cut_off_is_never_applied((old, new) in distinct(), cut in 0.0f64..1.0) {
        prop_assume!(old != new);
        let body: String = unified(&old, &new, 3).split_inclusive('\n').skip(2)
            .map(|line| if line.starts_with("@@") { "@@\n" } else { line }).collect();
        for whole in [
            format!("*** Begin Patch\n*** Update File: {PATH}\n{body}*** End Patch"),
            format!("{PATH}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE"),
            format!("```diff\n{}```", unified(&old, &new, 3)),
            json!({"path": PATH, "old_str": old, "new_str": new}).to_string(),
        ] {
            let end = (whole.len() as f64 * cut) as usize;
            prop_assert_ne!(on(&old, &whole[..end]).verdict, Verdict::Applied, "{}", &whole[..end]);
        }
    }

    #[test]
    fn the_same_lines_twice_are_ambiguous((old, new) in distinct()) {
        prop_assume!(old != new);
        let search = format!("{PATH}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n");
        let twice = format!("{old}between = 1\n{old}");
        let placed = on(&twice, &search);
        prop_assert_eq!(placed.verdict, Verdict::Ambiguous);
        prop_assert_eq!(placed.candidates().len(), 2);
    }
}
