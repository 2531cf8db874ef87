//! What happens during a run, for people as it happens and for programs as JSON lines.

use std::fmt::Write as _;

use serde_json::json;

use super::shapes::{RanStep, ShownError, duration, reasons, why};
use super::{CliError, Context, Palette, Role};
use crate::step::{Execution, Reason, Status, StepError, StepId, Stream, plain, plain_line};
use crate::workbench::{Event, StepResult};

/// How a run is told while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// Only the document at the end.
    Document,
    /// One JSON object a line as things happen, then the document.
    Lines,
    /// For people: each step as it is settled.
    People {
        /// Width of the longest id.
        width: usize,
    },
}

impl Telling {
    /// As the command was called, for steps with these ids.
    pub(super) fn new<'a>(context: &Context, events: bool, ids: impl Iterator<Item = &'a StepId>) -> Self {
        match (events, context.json) {
            (true, _) => Self::Lines,
            (false, true) => Self::Document,
            (false, false) => {
                Self::People { width: ids.map(|id| id.as_str().chars().count()).max().unwrap_or(0).min(40) }
            }
        }
    }

    /// Tells one event.
    pub(super) fn tell(self, event: &Event, context: &Context) -> Result<(), CliError> {
        match self {
            Self::Document => Ok(()),
            Self::Lines => match line(event) {
                Some(line) => context.print_json(&line),
                None => Ok(()),
            },
            Self::People { width } => match event {
                Event::Settled { step, status, ran, rebuilt, execution, why } => {
                    let told = Settled {
                        id: step,
                        status: *status,
                        ran: *ran,
                        rebuilt: *rebuilt,
                        why,
                        execution: execution.as_deref(),
                    };
                    context.print(told.block(width, context.palette))
                }
                Event::Asked(question) => {
                    context.message(format!("{} asks: {}", question.step, plain(question.text.trim())));
                    Ok(())
                }
                Event::Halted { before, why } => {
                    let place = before.as_ref().map_or("at the end".to_owned(), |step| format!("before {step}"));
                    context.message(format!("stopped {place}: {why}"));
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }
}

/// An event as a JSON line, where it concerns a run.
fn line(event: &Event) -> Option<serde_json::Value> {
    Some(match event {
        Event::Started { step, why, rebuilt } => {
            json!({"event": "started", "id": step, "why": self::why(why), "reasons": reasons(why), "rebuilt": rebuilt})
        }
        Event::Printed { step, chunk } => {
            json!({"event": "printed", "id": step, "stream": chunk.stream, "text": chunk.text})
        }
        Event::Settled { step, status, ran, rebuilt, execution, why } => json!({
            "event": "settled", "id": step, "status": status, "ran": ran, "rebuilt": rebuilt, "why": self::why(why),
            "error": execution.as_ref().and_then(|e| e.error.as_ref()).map(ShownError::from),
        }),
        Event::Asked(question) => json!({
            "event": "asked", "id": question.step, "question": question.id, "text": question.text, "wants": question.wants,
        }),
        Event::Halted { before, why } => json!({"event": "halted", "before": before, "why": why.to_string()}),
        Event::Notice { level, text } => json!({"event": "notice", "level": level, "text": text}),
        _ => return None,
    })
}

/// A step that was settled, to be shown.
struct Settled<'a> {
    id: &'a StepId,
    status: Status,
    ran: bool,
    rebuilt: bool,
    why: &'a [Reason],
    execution: Option<&'a Execution>,
}

impl Settled<'_> {
    fn block(&self, width: usize, palette: Palette) -> String {
        let (role, word) = match (self.status, self.ran, self.rebuilt) {
            (Status::Failed, true, _) => (Role::Bad, "failed"),
            (Status::Failed, false, _) => (Role::Bad, "failed before"),
            (Status::Fresh, true, _) => (Role::Good, "ran"),
            (Status::Fresh, false, true) => (Role::Good, "rebuilt"),
            (Status::Fresh, false, false) => (Role::Dim, "kept"),
            (status, _, _) => (status.into(), status.word()),
        };
        let id = plain_line(self.id.as_str());
        let mut block = format!("{:width$}  {:8}", palette.paint(Role::Name, &*id), palette.paint(role, word));
        if (self.ran || self.rebuilt)
            && let Some(execution) = self.execution
        {
            let _ = write!(block, " {:>8}", duration(execution.duration_us));
        }
        if !self.why.is_empty() {
            let _ = write!(block, "  {}", palette.paint(Role::Dim, plain_line(&why(self.why))));
        }
        block.truncate(block.trim_end().len());
        block.push('\n');
        if let Some(execution) = self.execution {
            push_result(&mut block, execution, palette);
        }
        block
    }
}

/// Most lines of one step's output that are printed: the head and the tail.
const HEAD: usize = 160;
const TAIL: usize = 40;

/// What an execution printed, showed and failed with, indented.
pub(super) fn push_result(block: &mut String, execution: &Execution, palette: Palette) {
    let mut text = String::new();
    for chunk in &execution.output.chunks {
        match chunk.stream {
            Stream::Stdout => text.push_str(&plain(&settle_returns(&chunk.text))),
            Stream::Stderr => {
                for line in plain(&settle_returns(&chunk.text)).split_inclusive('\n') {
                    let bare = line.trim_end_matches('\n');
                    let _ = write!(text, "{}{}", palette.paint(Role::Warn, bare), line.get(bare.len()..).unwrap_or(""));
                }
            }
        }
    }
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(HEAD + TAIL);
    for (number, line) in lines.iter().enumerate() {
        if left_out > 0 && number == HEAD {
            let note = format!("… {left_out} lines more: `reweave show` has them all");
            let _ = writeln!(block, "    {}", palette.paint(Role::Dim, note));
        }
        if left_out == 0 || number < HEAD || number >= HEAD + left_out {
            let _ = writeln!(block, "    {line}");
        }
    }
    if execution.output.dropped > 0 {
        let note = format!("{} bytes of output were left out of the middle", execution.output.dropped);
        let _ = writeln!(block, "    {}", palette.paint(Role::Warn, note));
    }
    for display in &execution.displays {
        for (number, line) in plain(&display.repr).lines().enumerate() {
            let _ = writeln!(block, "    {} {line}", palette.paint(Role::Dim, if number == 0 { "=>" } else { "  " }));
        }
    }
    if let Some(error) = &execution.error {
        push_error(block, error, &execution.step, palette);
    }
}

/// An error with the step's own lines on its way.
fn push_error(block: &mut String, error: &StepError, in_step: &StepId, palette: Palette) {
    let message = plain(&error.message);
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    let colon = if first.is_empty() { "" } else { ": " };
    let _ = writeln!(block, "    {}{colon}{first}", palette.paint(Role::Bad, plain_line(&error.type_name)));
    lines.for_each(|line| {
        let _ = writeln!(block, "      {line}");
    });
    let shown: Vec<_> = error.stack.iter().filter(|line| line.step.is_some()).collect();
    for line in &shown {
        let place = match &line.step {
            Some(step) if step != in_step => format!("{step}, line {}", line.line),
            _ => format!("line {}", line.line),
        };
        let _ = writeln!(block, "      {} {}", palette.paint(Role::Dim, format!("{place}:")), plain_line(&line.text));
    }
    if shown.is_empty()
        && let Some(line) = error.line
    {
        let _ = writeln!(block, "      {}", palette.paint(Role::Dim, format!("line {line}")));
    }
    for note in &error.notes {
        let _ = writeln!(block, "      {}", plain_line(note));
    }
    if let Some(cause) = &error.caused_by {
        let _ =
            writeln!(block, "      {}", palette.paint(Role::Dim, format!("only follows from the failure of {cause}")));
    }
}

/// What carriage returns leave of each line, as on a terminal: the text after the last one.
fn settle_returns(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let settle = |line: &str| {
        let (bare, end) = match line.strip_suffix('\n') {
            Some(bare) => (bare.strip_suffix('\r').unwrap_or(bare), "\n"),
            None => (line, ""),
        };
        let last = bare.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
        format!("{last}{end}")
    };
    text.split_inclusive('\n').map(settle).collect()
}

/// The last line of a run for people.
pub(super) fn tally(steps: &[StepResult], palette: Palette) -> String {
    let count = |wanted: &dyn Fn(&StepResult) -> bool| steps.iter().filter(|step| wanted(step)).count();
    let parts = [
        (count(&|step| step.ran && step.status == Status::Fresh), "ran", Role::Good),
        (count(&|step| !step.ran && !step.rebuilt && step.status == Status::Fresh), "kept", Role::Dim),
        (count(&|step| step.rebuilt && step.status == Status::Fresh), "rebuilt", Role::Good),
        (count(&|step| step.status == Status::Failed && caused_by(step).is_none()), "failed", Role::Bad),
        (
            count(&|step| step.status == Status::Failed && caused_by(step).is_some()),
            "failed in consequence",
            Role::Warn,
        ),
        (count(&|step| step.status == Status::Blocked), "blocked", Role::Warn),
        (count(&|step| matches!(step.status, Status::Stale | Status::Never)), "not up to date", Role::Warn),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, word, role)| palette.paint(*role, format!("{number} {word}")).to_string())
        .collect();
    let steps = match steps.len() {
        1 => "1 step".to_owned(),
        number => format!("{number} steps"),
    };
    if told.is_empty() { format!("{steps}\n") } else { format!("{steps}: {}\n", told.join(", ")) }
}

fn caused_by(step: &StepResult) -> Option<&StepId> {
    step.execution.as_ref()?.error.as_ref()?.caused_by.as_ref()
}

/// The document of a run.
pub(super) fn document(steps: &[StepResult]) -> serde_json::Value {
    let count = |wanted: &dyn Fn(&StepResult) -> bool| steps.iter().filter(|step| wanted(step)).count();
    json!({
        "steps": steps.iter().map(RanStep::from).collect::<Vec<_>>(),
        "ran": count(&|step| step.ran),
        "kept": count(&|step| !step.ran && matches!(step.status, Status::Fresh | Status::Failed)),
        "rebuilt": count(&|step| step.rebuilt),
        "failed": count(&|step| step.status == Status::Failed && caused_by(step).is_none()),
        "blocked": count(&|step| step.status == Status::Blocked),
    })
}

/// What steps' texts name that reaches outside, for people: a line for each step.
pub(super) fn outward<'a>(steps: impl Iterator<Item = (&'a StepId, Vec<String>)>) -> String {
    const MOST: usize = 20;
    let steps: Vec<(&StepId, Vec<String>)> = steps.filter(|(_, reaches)| !reaches.is_empty()).collect();
    if steps.is_empty() {
        return String::new();
    }
    let mut text =
        "by their texts alone, which can hide what they do and protect from nothing, these reach outside:\n".to_owned();
    for (id, reaches) in steps.iter().take(MOST) {
        let _ = writeln!(text, "  {}  {}", plain_line(id.as_str()), plain_line(&reaches.join("; ")));
    }
    if steps.len() > MOST {
        let _ = writeln!(text, "  and {} more: `reweave graph --format json` has all", steps.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Chunk, Display, Observation, Outcome, Output, StackLine, VersionNumber};
    use std::sync::Arc;

    fn execution() -> Execution {
        let chunk = |stream, text: &str| Chunk { stream, text: text.to_owned() };
        Execution {
            step: "03_fit".parse().unwrap(),
            version: VersionNumber(1),
            started: 0,
            duration_us: 12_300,
            why: vec![],
            outcome: Outcome::Failed,
            output: Output {
                chunks: vec![chunk(Stream::Stdout, "10%\r100%\nfitted \x1b[2J\n"), chunk(Stream::Stderr, "careful\n")],
                dropped: 0,
            },
            displays: vec![Display { repr: "{'a': 1,\n 'b': 2}".into(), mime: Default::default(), last: true }],
            error: Some(StepError {
                type_name: "ValueError".into(),
                module: "builtins".into(),
                message: "bad shape".into(),
                line: Some(3),
                stack: vec![StackLine {
                    step: Some("03_fit".parse().unwrap()),
                    file: "03_fit.py".into(),
                    line: 3,
                    function: "<module>".into(),
                    text: "model.fit(x)".into(),
                    values: Default::default(),
                    saw: None,
                }],
                ..StepError::default()
            }),
            observation: Observation::default(),
            effects: vec![],
        }
    }

    fn result(status: Status, ran: bool) -> StepResult {
        let id = "03_fit".parse().unwrap();
        StepResult {
            id,
            status,
            ran,
            carried: false,
            rebuilt: false,
            why: vec![],
            execution: Some(Arc::new(execution())),
        }
    }

    #[test]
    fn a_failed_step_shows_its_output_its_value_and_its_line() {
        let why = [Reason::SourceChanged];
        let execution = execution();
        let id = &execution.step;
        let settled =
            Settled { id, status: Status::Failed, ran: true, rebuilt: false, why: &why, execution: Some(&execution) };
        insta::assert_snapshot!(settled.block(8, Palette::PLAIN), @r"
        03_fit    failed      12 ms  its code changed
            100%
            fitted ␛[2J
            careful
            => {'a': 1,
                'b': 2}
            ValueError: bad shape
              line 3: model.fit(x)
        ");
    }

    #[test]
    fn long_output_shows_its_head_and_its_tail() {
        let mut execution = execution();
        let text: String = (0..1000).map(|n| format!("{n}\n")).collect();
        execution.output.chunks = vec![Chunk { stream: Stream::Stdout, text }];
        let mut block = String::new();
        push_result(&mut block, &execution, Palette::PLAIN);
        assert!(block.contains("    159\n    … 800 lines more: `reweave show` has them all\n    960\n"), "{block}");
    }

    #[test]
    fn the_tally_counts_roots_and_consequences_apart() {
        let mut follows = execution();
        if let Some(error) = &mut follows.error {
            error.caused_by = Some("01".parse().unwrap());
        }
        let steps = [
            result(Status::Fresh, true),
            result(Status::Fresh, false),
            result(Status::Failed, false),
            StepResult { execution: Some(Arc::new(follows)), ..result(Status::Failed, true) },
            result(Status::Blocked, false),
            result(Status::Stale, false),
        ];
        assert_eq!(
            tally(&steps, Palette::PLAIN),
            "6 steps: 1 ran, 1 kept, 1 failed, 1 failed in consequence, 1 blocked, 1 not up to date\n"
        );
    }

    #[test]
    fn the_document_has_the_fields_of_the_contract() {
        insta::assert_json_snapshot!(document(&[result(Status::Failed, true)]), @r#"
        {
          "steps": [
            {
              "id": "03_fit",
              "status": "failed",
              "ran": true,
              "carried": false,
              "rebuilt": false,
              "why": "",
              "reasons": [],
              "recorded": false,
              "stdout": "10%\r100%\nfitted \u001b[2J\n",
              "stderr": "careful\n",
              "stdout_truncated": false,
              "display": {
                "repr": "{'a': 1,\n 'b': 2}",
                "mime": {}
              },
              "displays": [],
              "error": {
                "type": "ValueError",
                "module": "builtins",
                "message": "bad shape",
                "line": 3,
                "step": null,
                "caused_by": null,
                "columns": null,
                "stack": [
                  {
                    "step": "03_fit",
                    "file": "03_fit.py",
                    "line": 3,
                    "function": "<module>",
                    "text": "model.fit(x)"
                  }
                ],
                "notes": [],
                "context": null
              },
              "duration_ms": 12.3
            }
          ],
          "ran": 1,
          "kept": 0,
          "rebuilt": 0,
          "failed": 1,
          "blocked": 0
        }
        "#);
    }
}
