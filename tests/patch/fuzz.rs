//! Mutated patches: no panic, and nothing applied that the result does not show.
//!
//! `REWEAVE_PATCH_FUZZ=1000000 cargo test --release --test patch fuzz` tries a million. A failure prints its
//! seed: `REWEAVE_PATCH_SEED=… REWEAVE_PATCH_FUZZ=1` tries that one again.

use std::collections::HashSet;

use reweave::patch::{Format, MemoryTree, Placed, Verdict, place};

use crate::cases::CASES;
use crate::random::{Random, times};

/// Pieces that mean something to one of the readers.
const PIECES: [&str; 40] = [
    "\n",
    " ",
    "+",
    "-",
    "@@",
    "@@ -1,3 +1,3 @@\n",
    "@@ -2 +2 @@",
    "--- a/steps/a.py\n",
    "+++ b/steps/a.py\n",
    "/dev/null",
    "diff --git a/steps/a.py b/steps/a.py\n",
    "rename to steps/b.py\n",
    "new file mode 100644\n",
    "\\ No newline at end of file\n",
    "```\n",
    "```diff\n",
    "```python\n",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "*** Begin Patch\n",
    "*** Update File: steps/a.py\n",
    "*** Add File: steps/c.py\n",
    "*** Delete File: steps/a.py\n",
    "*** End of File\n",
    "*** End Patch\n",
    "...\n",
    "# ... existing code ...\n",
    "../",
    "\r",
    "\r\n",
    "\u{feff}",
    "\u{2028}",
    "é",
    "\0",
    "{\"path\": \"steps/a.py\", \"old_str\": \"",
    "\", \"new_str\": \"",
    "\"}",
    "7c\n",
    ".\n",
];

/// A patch made of another, or of two, by a few random edits.
fn mutated(random: &mut Random) -> (&'static str, String) {
    let case = random.pick(&CASES);
    let mut patch = case.patch.to_owned();
    for _ in 0..=random.below(4) {
        let cut = |random: &mut Random, text: &str| {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let at = cut(random, &patch);
        let lines: Vec<&str> = patch.split_inclusive('\n').collect();
        match random.below(9) {
            0 => patch.truncate(at),
            1 => patch.insert_str(at, random.pick(&PIECES)),
            2 => {
                let end = cut(random, &patch);
                let (from, to) = (at.min(end), at.max(end).min(at.min(end) + 40));
                let to = (to..=patch.len()).find(|to| patch.is_char_boundary(*to)).unwrap();
                patch.replace_range(from..to, "");
            }
            3 if !lines.is_empty() => {
                let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
                let line = lines.remove(random.below(lines.len()));
                let to = random.below(lines.len() + 1);
                lines.insert(to, line);
                patch = lines.concat();
            }
            4 if !lines.is_empty() => {
                let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
                let line = lines[random.below(lines.len())].clone();
                let to = random.below(lines.len() + 1);
                lines.insert(to, line);
                patch = lines.concat();
            }
            5 => patch = patch.replace('\n', "\r\n"),
            6 => {
                let other = random.pick(&CASES).patch;
                let from = cut(random, other);
                patch.insert_str(at, &other[from..]);
            }
            7 => patch = patch.lines().map(|line| format!("{}{line}\n", random.pick(&["", " ", "  ", "> "]))).collect(),
            _ => {
                if let Some(c) = patch[at..].chars().next() {
                    patch.replace_range(at..at + c.len_utf8(), random.pick(&["0", "9", " ", "\t", "x", "\"", "`"]));
                }
            }
        }
    }
    (case.base, patch)
}

/// Whether a line of the result can have come from the patch.
fn stands_in(patch: &str, line: &str) -> bool {
    let line = line.trim().trim_start_matches('\u{feff}');
    let escaped = serde_json::to_string(line).unwrap();
    patch.contains(line) || patch.contains(&escaped[1..escaped.len() - 1])
}

fn check(patch: &str, base: &str, placed: &Placed) {
    let all_fit = placed.hunks.iter().all(|hunk| hunk.state == Verdict::Applied);
    if placed.verdict == Verdict::Applied {
        assert!(all_fit, "applied, but a hunk is not");
        assert!(placed.problems.is_empty(), "applied with problems: {:?}", placed.problems);
        assert!(!placed.files.is_empty(), "applied, and nothing changes");
        assert!(placed.candidates().is_empty(), "applied with candidates");
    } else {
        assert!(!placed.problems.is_empty(), "{:?} without a problem", placed.verdict);
    }
    // Pieces of lines and whole files show less than the lines that change.
    let whole =
        matches!(placed.format, Some(Format::WholeFile | Format::Json | Format::Reweave)) || patch.contains("\"old");
    let mut paths = HashSet::new();
    for file in &placed.files {
        assert!(paths.insert(&file.path), "{} twice", file.path);
        assert_ne!(file.base, file.result, "{} does not change", file.path);
        assert!(!file.path.starts_with('/') && !file.path.split('/').any(|part| part == ".." || part == ".git"));
        let name = file.path.rsplit('/').next().unwrap();
        assert!(file.path == "steps/a.py" || stands_in(patch, name), "{} is named nowhere", file.path);
        if file.path == "steps/a.py" && file.base.is_some() {
            assert_eq!(file.base.as_deref(), Some(base));
        }
        let before: HashSet<&str> = file.base.as_deref().unwrap_or_default().lines().map(str::trim).collect();
        let after: HashSet<&str> = file.result.as_deref().unwrap_or_default().lines().map(str::trim).collect();
        if !whole && placed.alternatives.is_empty() {
            for line in after.difference(&before) {
                assert!(stands_in(patch, line), "{line:?} comes from nowhere");
            }
            let deleted = file.result.is_none()
                && (patch.contains("*** Delete File") || patch.contains("*** Move to") || patch.contains("rename"));
            for line in before.difference(&after).filter(|_| !deleted && placed.format != Some(Format::Ed)) {
                assert!(stands_in(patch, line) || patch.contains("```"), "{line:?} goes unseen");
            }
        }
    }
}

#[test]
fn mutated_patches_do_not_panic_and_do_only_what_they_show() {
    let seed = times("REWEAVE_PATCH_SEED", 1) as u64;
    let mut verdicts = [0_usize; 4];
    for round in 0..times("REWEAVE_PATCH_FUZZ", 4_000) as u64 {
        let mut random = Random::new(seed.wrapping_add(round));
        let (base, patch) = mutated(&mut random);
        let tree = MemoryTree::new([("steps/a.py", base), ("steps/other.py", "y = 1\n")]);
        let result = std::panic::catch_unwind(|| {
            let placed = place(&patch, &tree, Some("steps/a.py"));
            check(&patch, base, &placed);
            placed.verdict
        });
        match result {
            Ok(verdict) => verdicts[verdict as usize] += 1,
            Err(_) => panic!("seed {}: {patch}\n--- on ---\n{base}", seed.wrapping_add(round)),
        }
    }
    println!("applied, ambiguous, conflict, malformed: {verdicts:?}");
    assert!(verdicts.iter().all(|count| *count > 0), "{verdicts:?}");
}
