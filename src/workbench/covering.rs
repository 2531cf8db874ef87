//! Which tests cover what, by what they read.

use serde::{Deserialize, Serialize};

use super::{Edge, EdgeKind, Snapshot};
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
        let Some(start) = self.steps.iter().position(|row| row.id == *step) else { return Vec::new() };
        let wanted = |edge: &Edge| names.is_empty() || edge.names.iter().any(|name| names.contains(&&**name));
        let mut edges: Vec<&Edge> = self.edges.iter().filter(|edge| edge.kind != EdgeKind::Order).collect();
        // Edges lead forward, so one pass in the order of where they end sees each step after all that it needs.
        edges.sort_by_key(|edge| (edge.to, edge.from));
        let mut reached = vec![false; self.steps.len()];
        let mut found: Vec<Covering> = Vec::new();
        for edge in edges {
            // What else the step made may have been made with the names.
            let direct = edge.from == start && wanted(edge);
            let through = edge.from == start || reached.get(edge.from) == Some(&true);
            let Some(row) = self.steps.get(edge.to).filter(|_| direct || through) else { continue };
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

    /// What a test covers: the steps that it reads from, in the order of the run, with the names. Nothing for a step
    /// that is no test.
    pub fn covered_by(&self, test: &StepId) -> Vec<Covered> {
        let place = self.steps.iter().position(|row| row.id == *test && row.kind == Kind::Test);
        let Some(place) = place else { return Vec::new() };
        let mut found: Vec<(usize, Vec<Name>)> = Vec::new();
        for edge in self.edges.iter().filter(|edge| edge.to == place && edge.kind != EdgeKind::Order) {
            match found.iter_mut().find(|(from, _)| *from == edge.from) {
                Some((_, names)) => names.extend(edge.names.iter().cloned()),
                None => found.push((edge.from, edge.names.clone())),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::step::{Status, VersionNumber};
    use crate::workbench::StepRow;

    fn row(id: &str, kind: Kind) -> Arc<StepRow> {
        Arc::new(StepRow {
            id: id.parse().unwrap(),
            kind,
            status: Status::Fresh,
            reasons: Vec::new(),
            version: VersionNumber(1),
            summary: None,
            agent: None,
            duration_us: None,
            error: None,
            caused_by: None,
            recorded: false,
            recording: false,
            nondeterministic: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            syntax_error: None,
        })
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
            edges: vec![edge(0, 1, &["cleaned"]), edge(1, 2, &["model"]), edge(0, 3, &["clean", "cleaned"])],
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
