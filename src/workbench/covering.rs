//! Which tests cover what, by what they read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Edge, EdgeKind, Snapshot, StepRow};
use crate::analysis::writes;
use crate::step::{Kind, Name, StepId};

/// A test that covers a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covering {
    /// The test.
    pub test: StepId,
    /// Whether it reads from the step itself. Else it reads what steps in between made of that.
    pub direct: bool,
    /// What it reads: of the step, or of the steps in between.
    pub names: Vec<Name>,
}

/// What a test reads from one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// Which step.
    pub step: StepId,
    /// The names; paths of files too.
    pub names: Vec<Name>,
}

impl Snapshot {
    /// The tests that cover `step`, or only these `names` of it (a function that a patch changes, say): first those
    /// that read them, then those that read what was made with them, each in the order of the run. By what was seen
    /// to be read, and by the texts where a test was not run yet.
    pub fn tests_of(&self, step: &StepId, names: &[&str]) -> Vec<Covering> {
        tests_of(&self.steps, &self.edges, step, names)
    }

    /// What a test covers: the steps that it reads from, in the order of the run, with the names. Nothing for a step
    /// that is no test.
    pub fn covered_by(&self, test: &StepId) -> Vec<Covered> {
        let place = self.steps.iter().position(|row| row.id == *test && row.kind == Kind::Test);
        let Some(place) = place else { return Vec::new() };
        let mut found: Vec<(usize, Vec<Name>)> = Vec::new();
        for edge in self.edges.iter().filter(|edge| edge.to == place && edge.kind != EdgeKind::Order) {
            match found.iter_mut().find(|(from, _)| *from == edge.from) {
                Some((_, names)) => names.extend(edge.names.iter().cloned()),
                None => found.push((edge.from, edge.names.to_vec())),
            }
        }
        found.sort();
        let covered = found.into_iter().filter_map(|(from, mut names)| {
            names.sort_unstable();
            names.dedup();
            Some(Covered { step: self.steps.get(from)?.id.clone(), names })
        });
        covered.collect()
    }
}

/// As [`Snapshot::tests_of`], of these steps and edges.
pub(super) fn tests_of(steps: &[Arc<StepRow>], edges_of_run: &[Edge], step: &StepId, names: &[&str]) -> Vec<Covering> {
    let Some(start) = steps.iter().position(|row| row.id == *step) else { return Vec::new() };
    let wanted = |edge: &Edge| names.is_empty() || edge.names.iter().any(|name| names.contains(&&**name));
    let mut edges: Vec<&Edge> = edges_of_run.iter().filter(|edge| edge.kind != EdgeKind::Order).collect();
    // Edges lead forward, so one pass in the order of where they end sees each step after all that it needs.
    edges.sort_by_key(|edge| (edge.to, edge.from));
    let mut reached = vec![false; steps.len()];
    let mut found: Vec<Covering> = Vec::new();
    for edge in edges {
        // What else the step made may have been made with the names.
        let direct = edge.from == start && wanted(edge);
        let through = edge.from == start || reached.get(edge.from) == Some(&true);
        let Some(row) = steps.get(edge.to).filter(|_| direct || through) else { continue };
        if let Some(seen) = reached.get_mut(edge.to) {
            *seen = true;
        }
        if row.kind != Kind::Test {
            continue;
        }
        let kept = |name: &&Name| !direct || names.is_empty() || names.contains(&&***name);
        let read = edge.names.iter().filter(kept).cloned();
        match found.iter_mut().find(|covering| covering.test == row.id) {
            None => found.push(Covering { test: row.id.clone(), direct, names: read.collect() }),
            Some(covering) if covering.direct == direct => covering.names.extend(read),
            Some(covering) if direct => (covering.direct, covering.names) = (true, read.collect()),
            Some(_) => {}
        }
    }
    for covering in &mut found {
        covering.names.sort_unstable();
        covering.names.dedup();
    }
    found.sort_by(|a, b| (!a.direct, &a.test).cmp(&(!b.direct, &b.test)));
    found
}

/// The names that other text would bind otherwise, as far as that can be told block by block: a function that is
/// written anew, say. Nothing where it can't be told, or where more than definitions changed.
pub(super) fn changed_names(before: &str, after: &str) -> Vec<Name> {
    let (old, new) = (blocks(before), blocks(after));
    let mut names = Vec::new();
    for (these, others) in [(&old, &new), (&new, &old)] {
        for block in these.iter().filter(|block| !others.contains(block)) {
            let bound = writes(block);
            let comments = block.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
            if bound.is_empty() && !comments {
                return Vec::new();
            }
            names.extend(bound);
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The text of a function at the outermost level of a text, with its decorators.
pub(super) fn function(text: &str, name: &str) -> Option<String> {
    let defines = |line: &str| {
        let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("async def "));
        rest.and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.trim_start().starts_with(['(', '[']))
    };
    blocks(text).into_iter().find(|block| block.lines().any(defines))
}

/// The statements of a text at its outermost level, with the decorators above and the lines that belong to them.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let inside = line.is_empty() || line.starts_with([' ', '\t', ')', ']', '}', '#']);
        let goes_on = ["else", "elif", "except", "finally"].iter().any(|word| line.starts_with(word));
        match blocks.last_mut() {
            Some(block) if inside || goes_on || open => {
                block.push_str(line);
                block.push('\n');
            }
            _ => blocks.push(format!("{line}\n")),
        }
        open = line.starts_with('@') || (open && inside);
    }
    blocks.iter().map(|block| block.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, kind: Kind) -> Arc<StepRow> {
        Arc::new(StepRow { kind, ..StepRow::fresh(id.parse().unwrap()) })
    }

    #[test]
    fn a_function_that_is_written_anew_is_told_from_the_rest() {
        let text = "import os\n\n@cache\ndef clean(rows):\n    return rows\n\ndef other():\n    pass\n\ncleaned = clean([1])\n";
        let told = |after: &str| changed_names(text, after).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told(&text.replace("return rows", "return rows[1:]")), ["clean"]);
        assert_eq!(told(&text.replace("@cache\n", "")), ["clean"]);
        assert_eq!(told(&text.replace("pass", "return 1").replace("[1]", "[2]")), ["cleaned", "other"]);
        assert_eq!(told(&format!("{text}print(cleaned)\n")), [""; 0], "it may do anything");
        assert_eq!(told(text), [""; 0]);
    }

    #[test]
    fn tests_that_read_a_function_come_before_those_that_read_what_it_made() {
        let edge = |from, to, names: &[&str]| Edge {
            from,
            to,
            names: names.iter().map(|name| Name::from(*name)).collect(),
            kind: EdgeKind::Data,
        };
        let snapshot = Snapshot {
            steps: vec![
                row("01_clean", Kind::Step),
                row("02_fit", Kind::Step),
                row("test_all", Kind::Test),
                row("test_clean", Kind::Test),
                row("test_other", Kind::Test),
            ],
            edges: [edge(0, 1, &["cleaned"]), edge(1, 2, &["model"]), edge(0, 3, &["clean", "cleaned"])].into(),
            ..Snapshot::default()
        };
        let step: StepId = "01_clean".parse().unwrap();
        let told = |names: &[&str]| -> Vec<(String, bool, String)> {
            let told = |c: Covering| (c.test.to_string(), c.direct, c.names.join(" "));
            snapshot.tests_of(&step, names).into_iter().map(told).collect()
        };
        assert_eq!(
            told(&["clean"]),
            [("test_clean".into(), true, "clean".into()), ("test_all".into(), false, "model".into())]
        );
        assert_eq!(told(&[])[0], ("test_clean".into(), true, "clean cleaned".into()));
        let covered = snapshot.covered_by(&"test_clean".parse().unwrap());
        assert_eq!((covered[0].step.as_str(), covered[0].names.len()), ("01_clean", 2));
        assert_eq!(snapshot.covered_by(&step), []);
    }
}
