//! What tools and models tell, in the words of a step.

use serde_json::Value;

use super::traceback::last_error;
use crate::interop::Recorded;
use crate::interop::json::at;
use crate::step::{Kind, StepError, Stream, Tokens};

/// The error of a process that ended with a status other than 0.
pub fn exit_error(status: i64) -> Option<StepError> {
    (status != 0).then(|| StepError {
        type_name: "ExitStatus".to_owned(),
        message: format!("exit status {status}"),
        ..StepError::default()
    })
}

/// What a call printed, as one text of both streams, and the status that it ended with, if known. In the output
/// of Python, a traceback at its end is the error.
pub fn printed(kind: Kind, text: &str, status: Option<i64>) -> Recorded {
    let mut recorded = Recorded::default();
    if !text.is_empty() {
        recorded.print(Stream::Stdout, text.to_owned());
    }
    recorded.error = match kind {
        Kind::Shell => status.and_then(exit_error),
        _ => last_error(text),
    };
    recorded
}

/// Token counts under any of the names that providers give them. Cached tokens count as read.
pub fn tokens(usage: &Value) -> Option<Tokens> {
    let sum = |keys: &[&str]| {
        let counts: Vec<u64> = keys.iter().filter_map(|key| at(usage, &[key]).as_u64()).collect();
        (!counts.is_empty()).then(|| counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count)))
    };
    let input = sum(&["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"])
        .or_else(|| sum(&["prompt_tokens"]))?;
    let output = sum(&["output_tokens"]).or_else(|| sum(&["completion_tokens"])).unwrap_or_default();
    Some(Tokens { input, output })
}

/// The input of a tool as people read it: the one text that it has, or JSON.
pub fn told(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Object(entries) if entries.len() == 1 => match entries.iter().next() {
            Some((key, Value::String(text))) => format!("{key}: {text}"),
            _ => input.to_string(),
        },
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_found_under_every_provider_s_names() {
        let count = |input, output| Some(Tokens { input, output });
        let anthropic = json!({"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 8});
        assert_eq!(tokens(&anthropic), count(43, 8));
        assert_eq!(tokens(&json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7})), count(5, 2));
        assert_eq!(tokens(&json!({})), None);
        assert_eq!(tokens(&json!(null)), None);
    }

    #[test]
    fn a_status_is_an_error_of_the_shell_and_a_traceback_one_of_python() {
        let trace = "Traceback (most recent call last):\nValueError: no";
        assert_eq!(printed(Kind::Shell, trace, Some(2)).error.unwrap().message, "exit status 2");
        assert_eq!(printed(Kind::Shell, trace, Some(0)).error, None);
        assert_eq!(printed(Kind::Step, trace, None).error.unwrap().type_name, "ValueError");
    }
}
