//! A replay beside its recording: what `reweave replay --against-recording` answers.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::session::Session;
use super::shapes::{ShownError, ShownValue};
use super::{CliError, Palette, Role};
use crate::interop::compare::{Comparison, Divergence, Part, Tolerance, Verdict, compare, first_divergence};
use crate::step::{Execution, Status, StepId, Stream, plain, plain_line};
use crate::store::Reader;
use crate::workbench::{Pairing, Snapshot, pairing};

/// Most lines that are shown of one step; `--json` has them all.
const SHOWN: usize = 20;

/// A run beside its recording.
pub(super) struct Against {
    pairs: Vec<Pair>,
    divergence: Option<Divergence>,
    /// Steps with a recording that were not run, with how they stand.
    not_run: Vec<(StepId, Status)>,
    /// Steps that have no recording.
    not_recorded: Vec<StepId>,
}

/// One step's two executions.
struct Pair {
    recorded: Arc<Execution>,
    rerun: Arc<Execution>,
    comparison: Comparison,
}

/// Compares what each step gave when it was last run here with what was recorded of it.
pub(super) fn against(session: &Session, strict: bool) -> Result<Against, CliError> {
    let tolerance = if strict { Tolerance::exact() } else { Tolerance::default() };
    let store = Reader::open(session.dir())?;
    let snapshot = session.snapshot();
    let mut found = Against { pairs: Vec::new(), divergence: None, not_run: Vec::new(), not_recorded: Vec::new() };
    for row in &snapshot.steps {
        match pairing(&store, row)? {
            Pairing::NotRecorded => found.not_recorded.push(row.id.clone()),
            Pairing::NotRun => found.not_run.push((row.id.clone(), row.status)),
            Pairing::Both(recorded, rerun) => {
                let comparison = compare(&recorded, &rerun, &tolerance);
                found.pairs.push(Pair { recorded, rerun, comparison });
            }
        }
    }
    if found.pairs.is_empty() && found.not_run.is_empty() {
        return Err(CliError::new(format!("{}: no step has a recorded output", session.dir().display()))
            .hint("`reweave import FILE` makes a run of a recording"));
    }
    let comparisons: Vec<Comparison> = found.pairs.iter().map(|pair| pair.comparison.clone()).collect();
    found.divergence = first_divergence(&comparisons, |step| needs(snapshot, step));
    Ok(found)
}

fn needs(snapshot: &Snapshot, step: &StepId) -> Vec<StepId> {
    let place = snapshot.steps.iter().position(|row| row.id == *step);
    let edges = snapshot.edges.iter().filter(|edge| Some(edge.to) == place);
    edges.filter_map(|edge| snapshot.steps.get(edge.from)).map(|row| row.id.clone()).collect()
}

impl Against {
    fn count(&self, verdict: Verdict) -> usize {
        self.pairs.iter().filter(|pair| pair.comparison.verdict == verdict).count()
    }

    /// Whether anything differs that means something.
    pub(super) fn diverges(&self) -> bool {
        self.divergence.is_some()
    }

    /// As a part of the document.
    pub(super) fn document(&self) -> Value {
        json!({
            "steps": self.pairs.iter().map(Pair::document).collect::<Vec<_>>(),
            "divergence": self.divergence,
            "same": self.count(Verdict::Same),
            "alike": self.count(Verdict::Alike),
            "different": self.count(Verdict::Different),
            "nondeterministic": self.count(Verdict::Nondeterministic),
            "not_run": self.not_run.iter().map(|(id, status)| json!({"id": id, "status": status})).collect::<Vec<_>>(),
            "not_recorded": self.not_recorded,
        })
    }

    /// For people: what differs, side by side, and where it began.
    pub(super) fn page(&self, palette: Palette, width: usize) -> String {
        let mut page = String::new();
        for pair in &self.pairs {
            pair.side_by_side(&mut page, palette, width);
        }
        let (same, alike) = (self.count(Verdict::Same), self.count(Verdict::Alike));
        let (different, chance) = (self.count(Verdict::Different), self.count(Verdict::Nondeterministic));
        let _ = write!(page, "against the recording: {same} the same, {alike} alike, {different} different");
        if chance > 0 {
            let _ = write!(page, ", {chance} different by chance");
        }
        if !self.not_run.is_empty() {
            let _ = write!(page, ", {} not run", self.not_run.len());
        }
        page.push('\n');
        if let Some(divergence) = &self.divergence {
            let step = plain_line(divergence.step.as_str());
            let _ = write!(page, "first divergence: {}", palette.paint(Role::Name, &*step));
            let others: Vec<&str> =
                divergence.caused_by.iter().filter(|id| **id != divergence.step).map(StepId::as_str).collect();
            if !others.is_empty() {
                let _ = write!(page, ", which follows from {}", plain_line(&others.join(", ")));
            }
            page.push('\n');
        }
        page
    }
}

impl Pair {
    fn document(&self) -> Value {
        let side = |execution: &Execution| {
            json!({
                "stdout": execution.output.text(Stream::Stdout),
                "stderr": execution.output.text(Stream::Stderr),
                "displays": execution.displays.iter().map(ShownValue::from).collect::<Vec<_>>(),
                "error": execution.error.as_ref().map(ShownError::from),
            })
        };
        json!({
            "id": self.comparison.step,
            "verdict": self.comparison.verdict,
            "differences": self.comparison.differences,
            "ignored": self.comparison.ignored,
            "edited": self.recorded.version != self.rerun.version,
            "recorded": side(&self.recorded),
            "rerun": side(&self.rerun),
        })
    }

    fn side_by_side(&self, page: &mut String, palette: Palette, width: usize) {
        let comparison = &self.comparison;
        if comparison.differences.is_empty() {
            return;
        }
        let half = (width.saturating_sub(8) / 2).clamp(16, 60);
        let id = plain_line(comparison.step.as_str());
        let _ = write!(page, "{}", palette.paint(Role::Heading, &*id));
        let remark = match (comparison.verdict, self.recorded.version == self.rerun.version) {
            (Verdict::Nondeterministic, _) => "  it consults what no replay can give again",
            (_, false) => "  its source is another than was recorded",
            _ => "",
        };
        let _ = writeln!(page, "{}", palette.paint(Role::Dim, remark));
        let column = |text: &str| format!("{text}{}", " ".repeat(half.saturating_sub(text.width())));
        let head = format!("  {} | RE-RUN", column("RECORDED"));
        let _ = writeln!(page, "{}", palette.paint(Role::Dim, head));
        for difference in comparison.differences.iter().take(SHOWN) {
            let cell = |text: &Option<String>| fitting(&plain(text.as_deref().unwrap_or("-")), half);
            let (old, new) = (cell(&difference.recorded), cell(&difference.rerun));
            let part = match difference.part {
                Part::Stdout => "",
                Part::Stderr => "  (stderr)",
                Part::Display => "  (shown)",
                Part::Error => "  (error)",
            };
            let part = palette.paint(Role::Dim, part);
            let _ = writeln!(page, "  {} | {new}{part}", palette.paint(Role::Warn, column(&old)));
        }
        if comparison.differences.len() > SHOWN {
            let _ = writeln!(page, "  and {} more; --json has them all", comparison.differences.len() - SHOWN);
        }
    }
}

/// The beginning of a text that fits a column, on one line.
fn fitting(text: &str, width: usize) -> String {
    let line = text.replace(['\n', '\t'], " ");
    if line.width() <= width {
        return line;
    }
    let mut cut = String::new();
    for c in line.chars() {
        let mut next = cut.clone();
        next.push(c);
        if next.width() + 1 > width {
            break;
        }
        cut = next;
    }
    cut + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_as_wide_as_it_may_be() {
        assert_eq!(fitting("short", 8), "short");
        assert_eq!(fitting("a long line", 8), "a long …");
        assert_eq!(fitting("日本語日本語", 6), "日本…");
    }
}
