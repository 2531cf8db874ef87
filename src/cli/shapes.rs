//! The shapes of what the command line answers in JSON, shared by several commands.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::step::{Display, Execution, Reason, StackLine, Status, StepError, StepId, Stream};
use crate::workbench::StepResult;

/// A step after a run.
#[derive(Debug, Serialize)]
pub(super) struct RanStep<'a> {
    id: &'a StepId,
    status: Status,
    ran: bool,
    carried: bool,
    rebuilt: bool,
    why: String,
    reasons: Vec<Value>,
    recorded: bool,
    stdout: String,
    stderr: String,
    stdout_truncated: bool,
    display: Option<ShownValue<'a>>,
    displays: Vec<ShownValue<'a>>,
    error: Option<ShownError<'a>>,
    duration_ms: Option<f64>,
}

impl<'a> From<&'a StepResult> for RanStep<'a> {
    fn from(step: &'a StepResult) -> Self {
        let execution = step.execution.as_deref();
        let text = |stream| execution.map(|execution| execution.output.text(stream)).unwrap_or_default();
        let displays = || execution.into_iter().flat_map(|execution| &execution.displays);
        Self {
            id: &step.id,
            status: step.status,
            ran: step.ran,
            carried: step.carried,
            rebuilt: step.rebuilt,
            why: why(&step.why),
            reasons: reasons(&step.why),
            recorded: execution.is_some_and(is_recorded),
            stdout: text(Stream::Stdout),
            stderr: text(Stream::Stderr),
            stdout_truncated: execution.is_some_and(|execution| execution.output.dropped > 0),
            display: displays().find(|display| display.last).map(ShownValue::from),
            displays: displays().filter(|display| !display.last).map(ShownValue::from).collect(),
            error: execution.and_then(|execution| execution.error.as_ref()).map(ShownError::from),
            duration_ms: execution.map(|execution| millis(execution.duration_us)),
        }
    }
}

/// Whether an execution was made elsewhere and imported.
pub(super) fn is_recorded(execution: &Execution) -> bool {
    execution.outcome == crate::step::Outcome::Recorded
}

/// A value that was shown.
#[derive(Debug, Serialize)]
pub(super) struct ShownValue<'a> {
    repr: &'a str,
    mime: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a Display> for ShownValue<'a> {
    fn from(display: &'a Display) -> Self {
        Self { repr: &display.repr, mime: &display.mime }
    }
}

/// An error as the command line tells it.
#[derive(Debug, Serialize)]
pub(super) struct ShownError<'a> {
    #[serde(rename = "type")]
    type_name: &'a str,
    module: &'a str,
    message: &'a str,
    line: Option<u32>,
    step: Option<&'a StepId>,
    caused_by: Option<&'a StepId>,
    columns: Option<(u32, u32)>,
    stack: &'a [StackLine],
    notes: &'a [String],
    context: Option<Box<ShownError<'a>>>,
}

impl<'a> From<&'a StepError> for ShownError<'a> {
    fn from(error: &'a StepError) -> Self {
        Self {
            type_name: &error.type_name,
            module: &error.module,
            message: &error.message,
            line: error.line,
            step: error.step.as_ref(),
            caused_by: error.caused_by.as_ref(),
            columns: error.columns,
            stack: &error.stack,
            notes: &error.notes,
            context: error.context.as_deref().map(|context| Box::new(Self::from(context))),
        }
    }
}

/// Reasons as one text.
pub(super) fn why(reasons: &[Reason]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Reasons as objects, each with its text.
pub(super) fn reasons(reasons: &[Reason]) -> Vec<Value> {
    reasons
        .iter()
        .map(|reason| {
            let mut value = serde_json::to_value(reason).unwrap_or_else(|_| json!({}));
            if let Some(object) = value.as_object_mut() {
                object.insert("text".to_owned(), reason.to_string().into());
            }
            value
        })
        .collect()
}

/// Microseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a duration of 285 years is exact to the microsecond")]
pub(super) fn millis(microseconds: u64) -> f64 {
    microseconds as f64 / 1000.0
}

/// Microseconds for people: `0.4 ms`, `12 ms`, `3.4 s`, `2 min 5 s`.
pub(super) fn duration(microseconds: u64) -> String {
    match microseconds {
        0..10_000 => format!("{:.1} ms", millis(microseconds)),
        10_000..1_000_000 => format!("{:.0} ms", millis(microseconds)),
        1_000_000..60_000_000 => format!("{:.1} s", millis(microseconds) / 1000.0),
        _ => format!("{} min {} s", microseconds / 60_000_000, microseconds % 60_000_000 / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let told: Vec<_> = [0, 440, 12_300, 3_440_000, 125_000_000].into_iter().map(duration).collect();
        assert_eq!(told, ["0.0 ms", "0.4 ms", "12 ms", "3.4 s", "2 min 5 s"]);
    }

    #[test]
    fn a_reason_is_an_object_with_its_text() {
        let reason = Reason::Upstream { step: "a".parse().unwrap(), names: vec!["x".into()] };
        insta::assert_json_snapshot!(reasons(&[reason]), @r#"
        [
          {
            "reason": "upstream",
            "step": "a",
            "names": [
              "x"
            ],
            "text": "x from a"
          }
        ]
        "#);
    }
}
