//! A patch that comes in: read, placed, named and ready to be kept.

use super::note::Reason;
use super::place::{Placed, Verdict};
use super::reading::Claim;
use super::review::Review;
use super::shorten;
use crate::step::{Author, Provenance};
use crate::store::Proposal;

/// Longest title, in characters.
const TITLE: usize = 100;

/// What came in, read and `placed`, ready to be kept. `from` says who brought it; what the patch itself claims of its
/// origin is added where `from` is silent.
pub fn intake(bytes: &[u8], placed: &Placed, from: Provenance) -> Proposal {
    let text = String::from_utf8_lossy(bytes);
    let mut problems: Vec<String> = placed.problems.iter().map(ToString::to_string).collect();
    problems.extend(
        placed
            .unparsed
            .iter()
            .map(|(path, problem)| format!("{path} would not be Python: line {}: {}", problem.line, problem.message)),
    );
    Proposal {
        state: placed.verdict.into(),
        title: title(&text, placed),
        provenance: provenance(from, &placed.claim),
        text: bytes.to_vec(),
        files: placed.files.clone(),
        problems,
    }
}

/// One line for people: what the patch calls itself, or what it changes.
fn title(text: &str, placed: &Placed) -> String {
    if let Some(title) = placed.claim.title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
        return shorten(title.lines().next().unwrap_or_default(), TITLE);
    }
    // Mail made by `git format-patch`.
    let subject = text.lines().take(20).find_map(|line| line.strip_prefix("Subject: "));
    if let Some(subject) = subject {
        let bare = subject.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(subject, |(_, rest)| rest);
        return shorten(bare.trim(), TITLE);
    }
    let counts = Review::new(&placed.files).counts();
    let paths: Vec<&str> = placed.files.iter().map(|file| file.path.as_str()).collect();
    let what = match paths.as_slice() {
        [] if placed.reason == Some(Reason::NoPatch) => "no patch in it".to_owned(),
        [] => match placed.hunks.first() {
            Some(hunk) if !hunk.path.is_empty() => hunk.path.clone(),
            _ => placed.format.map_or("unreadable", |format| format.name()).to_owned(),
        },
        [path] => (*path).to_owned(),
        [path, rest @ ..] => format!("{path} and {} more", rest.len()),
    };
    match placed.verdict {
        Verdict::Malformed => shorten(&what, TITLE),
        _ => shorten(&format!("{what} +{} −{}", counts.0, counts.1), TITLE),
    }
}

fn provenance(mut from: Provenance, claim: &Claim) -> Provenance {
    if from.author == Author::Person
        && let Some(agent) = &claim.agent
    {
        from.author = Author::Agent(agent.clone());
    }
    from.model = from.model.or_else(|| claim.model.clone());
    from.call = from.call.or_else(|| claim.call.clone());
    from.reason = from.reason.or_else(|| claim.reason.clone());
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{MemoryTree, place};
    use crate::step::PatchState;

    fn came(text: &str) -> Proposal {
        let tree = MemoryTree::new([("a.py", "x = 1\n"), ("b.py", "y = 1\n")]);
        intake(text.as_bytes(), &place(text, &tree, None), Provenance::new(Author::Person, 5))
    }

    #[test]
    fn titles_say_what_a_patch_calls_itself_or_changes() {
        let own = came(
            r#"{"reweave":1,"title":"Two","agent":"fixer","model":"m","call":"c","reason":"why","changes":[{"path":"a.py","old":"1","new":"2"}]}"#,
        );
        assert_eq!(own.title, "Two");
        assert_eq!(own.provenance.author, Author::Agent("fixer".into()));
        assert_eq!((own.provenance.model.as_deref(), own.provenance.reason.as_deref()), (Some("m"), Some("why")));
        assert_eq!(own.state, PatchState::Proposed);
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n";
        assert_eq!(came(diff).title, "a.py +1 −1");
        assert_eq!(came(&format!("From: x\nSubject: [PATCH 1/2] Say two\n\n{diff}")).title, "Say two");
        let both = format!("{diff}--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-y = 1\n+y = 2\n");
        assert_eq!(came(&both).title, "a.py and 1 more +2 −2");
        let broken = came("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = = 2\n");
        assert_eq!(broken.state, PatchState::Proposed);
        assert!(broken.problems[0].starts_with("a.py would not be Python: line 1"), "{:?}", broken.problems);
        let prose = came("no patch here");
        assert_eq!((prose.state, prose.title.as_str()), (PatchState::Malformed, "no patch in it"));
    }
}
