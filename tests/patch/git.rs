//! Well-formed unified diffs give what `git apply` gives.
//!
//! `REWEAVE_PATCH_PAIRS=1000 cargo test --test patch git` tries a thousand random pairs of texts.

use std::fs;
use std::path::Path;
use std::process::Command;

use reweave::patch::{MemoryTree, Verdict, place};

use crate::random::{Random, edited, text, times};

fn git(dir: &Path, arguments: &[&str]) -> Option<(bool, Vec<u8>)> {
    let output = Command::new("git")
        .args(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.quotepath=true"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", dir)
        .output()
        .ok()?;
    Some((output.status.success(), output.stdout))
}

#[test]
fn well_formed_diffs_give_what_git_apply_gives() {
    let dir = tempfile::tempdir().unwrap();
    if git(dir.path(), &["init", "-q", "apply"]).is_none() {
        return; // No git here: nothing to compare with.
    }
    let mut random = Random::new(times("REWEAVE_PATCH_SEED", 1) as u64);
    let mut compared = 0;
    let pairs = times("REWEAVE_PATCH_PAIRS", 40);
    while compared < pairs {
        let old = text(&mut random, 40);
        let new = edited(&mut random, &old);
        if old == new || old.is_empty() || new.is_empty() {
            continue;
        }
        for (side, text) in [("a", &old), ("b", &new)] {
            fs::create_dir_all(dir.path().join(side)).unwrap();
            fs::write(dir.path().join(side).join("step.py"), text).unwrap();
        }
        let context = ["-U3", "-U3", "-U1", "-U5"][random.below(4)];
        let arguments =
            ["diff", "--no-index", "--no-color", "--src-prefix=", "--dst-prefix=", context, "a/step.py", "b/step.py"];
        let (_, patch) = git(dir.path(), &arguments).unwrap();
        let patch = String::from_utf8(patch).unwrap();
        fs::write(dir.path().join("apply/step.py"), &old).unwrap();
        fs::write(dir.path().join("apply/p.diff"), &patch).unwrap();
        let (applied, _) = git(&dir.path().join("apply"), &["apply", "--whitespace=nowarn", "p.diff"]).unwrap();
        assert!(applied, "git refuses its own diff:\n{patch}");
        let wanted = fs::read_to_string(dir.path().join("apply/step.py")).unwrap();
        assert_eq!(wanted, new);

        let tree = MemoryTree::new([("step.py", old.as_str())]);
        let placed = place(&patch, &tree, None);
        assert_eq!(placed.verdict, Verdict::Applied, "{patch}\n{:?}\nold {old:?}", placed.problems);
        assert_eq!(placed.files.len(), 1);
        assert_eq!(placed.files[0].result.as_deref(), Some(wanted.as_str()), "{patch}\nold {old:?}");
        compared += 1;
    }
}

#[test]
fn several_files_made_deleted_and_renamed_give_what_git_apply_gives() {
    let dir = tempfile::tempdir().unwrap();
    if git(dir.path(), &["init", "-q", "repo"]).is_none() {
        return;
    }
    let repo = dir.path().join("repo");
    let mut random = Random::new(7);
    for round in 0..times("REWEAVE_PATCH_PAIRS", 40) / 10 {
        for entry in fs::read_dir(&repo).unwrap().map(Result::unwrap).filter(|e| e.file_name() != ".git") {
            fs::remove_file(entry.path()).unwrap();
        }
        let names = ["one.py", "two words.py", "drei-ü.py", "four.py"];
        let mut old: Vec<(String, String)> = Vec::new();
        for name in names {
            let text = format!("# {name} {round}\n{}", text(&mut random, 30));
            fs::write(repo.join(name), &text).unwrap();
            old.push((name.to_owned(), text));
        }
        git(&repo, &["add", "-A"]).unwrap();
        git(&repo, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]).unwrap();
        fs::write(repo.join("one.py"), edited(&mut random, &old[0].1)).unwrap();
        fs::rename(repo.join("two words.py"), repo.join("moved.py")).unwrap();
        fs::write(repo.join("drei-ü.py"), edited(&mut random, &old[2].1)).unwrap();
        fs::remove_file(repo.join("four.py")).unwrap();
        fs::write(repo.join("new.py"), "x = 1\n").unwrap();
        git(&repo, &["add", "-A"]).unwrap();
        let (_, patch) = git(&repo, &["diff", "--cached", "-M"]).unwrap();
        let patch = String::from_utf8(patch).unwrap();

        let placed = place(&patch, &MemoryTree::new(old.clone()), None);
        assert_eq!(placed.verdict, Verdict::Applied, "{patch}\n{:?}", placed.problems);
        let mut files: std::collections::BTreeMap<String, String> = old.into_iter().collect();
        for change in placed.files {
            match change.result {
                Some(text) => files.insert(change.path, text),
                None => files.remove(&change.path),
            };
        }
        let there: std::collections::BTreeMap<String, String> = fs::read_dir(&repo)
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| entry.file_name() != ".git")
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
            .collect();
        assert_eq!(files, there, "{patch}");
    }
}
