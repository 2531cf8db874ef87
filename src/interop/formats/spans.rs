//! OpenTelemetry spans of agents: the GenAI conventions and OpenInference, as OTLP JSON (`resourceSpans`), as
//! the SDK's `span.to_json()`, one a line, one after another or in a list.
//!
//! Spans are good for the tree, the times and the model; where a span of a tool has code in its arguments, it is
//! a step.

use serde_json::{Map, Value};

use super::code::code_of;
use super::records::each_record;
use super::traceback::named_error;
use super::tree::{Call, Sort, Tree};
use crate::interop::detect::Sample;
use crate::interop::json::{Clean, at, each_document, each_element, embedded, str_at, text_at};
use crate::interop::moment::moment;
use crate::interop::recorder::Recorder;
use crate::interop::{ImportError, Layout, Recording, Sink};
use crate::step::{StepError, Tokens};

/// Whether the records are spans.
pub fn is(sample: &Sample) -> bool {
    let span = |record: &Value| {
        let id = record.get("spanId").is_some()
            || record.get("span_id").is_some()
            || !at(record, &["context", "span_id"]).is_null();
        let time = ["start_time", "startTimeUnixNano", "startTime"].iter().any(|key| record.get(key).is_some());
        id && time && record.get("name").is_some()
    };
    sample.records.iter().any(|record| span(record) || record.get("resourceSpans").is_some())
}

const OTLP: [&str; 5] = ["resourceSpans", "*", "scopeSpans", "*", "spans"];

/// Reads spans.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut tree = Tree::default();
    let mut recorder = Recorder::new(sink, "trace");
    let mut take = |record: &Value| {
        if record.get("resourceSpans").is_none() {
            tree.push(call(record));
            return;
        }
        let scopes = list(record, "resourceSpans").flat_map(|resource| list(resource, "scopeSpans"));
        scopes.flat_map(|scope| list(scope, "spans")).for_each(|span| tree.push(call(span)));
    };
    let mut warnings = Vec::new();
    if layout == Layout::Object {
        // One document may be of any size; several, one after another, are small.
        let mut found = false;
        let ended = each_element(Clean::new(recording.read()?), &OTLP, &mut |span| {
            found = true;
            take(&span);
            Ok(())
        })?;
        let ended = if found {
            ended
        } else {
            each_document(Clean::new(recording.read()?), &mut |record| {
                take(&record);
                Ok(())
            })?
        };
        warnings.extend(ended.warning());
    } else {
        warnings = each_record(recording, layout, &[], &mut |_, record| {
            take(&record);
            Ok(())
        })?;
    }
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    for warning in warnings {
        recorder.warn(warning.place, warning.what);
    }
    tree.lay(&mut recorder)?;
    recorder.finish()
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    at(value, &[key]).as_array().into_iter().flatten()
}

fn call(span: &Value) -> Call {
    let attributes = Attributes::of(span);
    let id = |paths: &[&[&str]]| {
        let id = paths.iter().find_map(|path| str_at(span, path))?;
        Some(id.trim_start_matches("0x").to_owned()).filter(|id| !id.is_empty() && id.bytes().any(|b| b != b'0'))
    };
    let start = first(span, &["startTimeUnixNano", "start_time", "startTime"]);
    let end = first(span, &["endTimeUnixNano", "end_time", "endTime"]);
    let (start_ns, end_ns) = (nanos(start), nanos(end));
    let name = str_at(span, &["name"]).unwrap_or("span").to_owned();
    let tool = attributes.text(&["gen_ai.tool.name", "tool.name"]);
    let input =
        attributes.text(&["gen_ai.tool.call.arguments", "input.value", "gen_ai.input.messages", "gen_ai.prompt"]);
    let input = input.unwrap_or_default();
    let sort = match attributes.text(&["openinference.span.kind", "gen_ai.operation.name"]).unwrap_or_default().as_str()
    {
        "LLM" | "chat" | "text_completion" | "generate_content" => Sort::Model,
        _ => Sort::Function,
    };
    Call {
        id: id(&[&["spanId"], &["context", "span_id"], &["span_id"]]).unwrap_or_default(),
        parent: id(&[&["parentSpanId"], &["parent_id"], &["parent_span_id"]]),
        sort,
        order: start_ns.unwrap_or_default(),
        started: moment(start),
        duration_us: start_ns.zip(end_ns).and_then(|(start, end)| end.checked_sub(start)).map(|nanos| nanos / 1000),
        code: code_of(tool.as_deref().unwrap_or(&name), &embedded(&Value::from(input.clone()))),
        output: attributes
            .text(&["gen_ai.tool.call.result", "output.value", "gen_ai.output.messages", "gen_ai.completion"])
            .unwrap_or_default(),
        error: error(span),
        model: attributes.text(&["gen_ai.request.model", "gen_ai.response.model", "llm.model_name"]),
        tokens: attributes.tokens(),
        name,
        input,
    }
}

fn first<'v>(span: &'v Value, keys: &[&str]) -> &'v Value {
    keys.iter().map(|key| at(span, &[key])).find(|value| !value.is_null()).unwrap_or(&Value::Null)
}

/// A moment in nanoseconds, to order spans that begin within one millisecond.
fn nanos(time: &Value) -> Option<u64> {
    if let Some(nanos) = time.as_u64().or_else(|| time.as_str()?.parse().ok()).filter(|nanos| *nanos > 1 << 54) {
        return Some(nanos);
    }
    let stamp = time.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    stamp.and_then(|stamp| u64::try_from(stamp.as_nanosecond()).ok()).or_else(|| {
        let millis = moment(time)?;
        u64::try_from(millis).ok()?.checked_mul(1_000_000)
    })
}

/// The failure of a span: the exception that one of its events names, or its status.
fn error(span: &Value) -> Option<StepError> {
    let status = at(span, &["status"]);
    let code = first(status, &["code", "status_code", "statusCode"]);
    let failed = code.as_u64() == Some(2) || code.as_str().is_some_and(|code| code.ends_with("ERROR"));
    let exception = list(span, "events").filter(|event| str_at(event, &["name"]) == Some("exception")).last();
    let mut error = match exception {
        Some(event) => {
            let attributes = Attributes::of(event);
            let name = attributes.text(&["exception.type"]).unwrap_or_else(|| "Exception".to_owned());
            let mut error = named_error(&name, &attributes.text(&["exception.message"]).unwrap_or_default());
            if let Some(trace) = attributes.text(&["exception.stacktrace"]) {
                error.attributes.insert("traceback".to_owned(), trace);
            }
            error
        }
        None => named_error("Error", ""),
    };
    if error.message.is_empty() {
        error.message = text_at(status, &["description"]).or_else(|| text_at(status, &["message"])).unwrap_or_default();
    }
    failed.then_some(error)
}

/// A span's attributes under their dotted names, whichever way they are written: OTLP's list of keys and typed
/// values, a flat object, or objects in objects.
struct Attributes(Map<String, Value>);

impl Attributes {
    fn of(span: &Value) -> Self {
        let mut found = Map::new();
        match at(span, &["attributes"]) {
            Value::Array(pairs) => {
                for pair in pairs {
                    if let (Some(key), Some(Value::Object(typed))) = (str_at(pair, &["key"]), pair.get("value"))
                        && let Some(value) = typed.values().next()
                    {
                        found.insert(key.to_owned(), value.clone());
                    }
                }
            }
            other => flatten("", other, &mut found, 0),
        }
        Self(found)
    }

    fn text(&self, keys: &[&str]) -> Option<String> {
        let value = keys.iter().find_map(|key| self.0.get(*key))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    fn tokens(&self) -> Option<Tokens> {
        let count = |keys: &[&str]| {
            let value = keys.iter().find_map(|key| self.0.get(*key))?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        let input = count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"])?;
        let output =
            count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"]);
        Some(Tokens { input, output: output.unwrap_or_default() })
    }
}

fn flatten(prefix: &str, value: &Value, found: &mut Map<String, Value>, depth: usize) {
    let Value::Object(entries) = value else { return };
    for (key, value) in entries {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if value.is_object() && depth < 6 {
            flatten(&key, value, found, depth + 1);
        }
        found.insert(key, value.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::interop::Imported;
    use crate::interop::formats::testing::{imported, imported_bytes, imported_lines, warnings};
    use crate::step::{Kind, Stream};

    fn otlp(id: &str, parent: &str, name: &str, start: u64, attributes: &[(&str, &str)]) -> Value {
        let attributes: Vec<Value> =
            attributes.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect();
        json!({"traceId": "t", "spanId": id, "parentSpanId": parent, "name": name, "attributes": attributes,
            "startTimeUnixNano": format!("{}", 1_795_819_668_000_000_000 + start), "endTimeUnixNano": format!("{}", 1_795_819_668_005_000_000_u64 + start)})
    }

    fn check(run: &Imported) {
        assert_eq!(warnings(run), [""; 0]);
        let mut steps: Vec<_> = run.steps.iter().collect();
        steps.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(steps.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["001_x", "002_ls"]);
        assert_eq!(steps[1].kind, Kind::Shell);
        assert_eq!(steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "1");
        assert_eq!(steps[0].recorded.as_ref().unwrap().duration_us, Some(5000));
        assert_eq!(steps[0].provenance.model.as_deref(), Some("gpt"));
        assert_eq!(steps[0].provenance.reason.as_deref(), Some("I compute."));
    }

    fn spans() -> Vec<Value> {
        let tool = |name: &str, arguments: &str| {
            [
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", name),
                ("gen_ai.tool.call.arguments", arguments),
                ("gen_ai.tool.call.result", "1"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
        };
        let python = tool("python", "{\"code\": \"x = 1\"}");
        let bash = tool("bash", "{\"command\": \"ls\"}");
        let borrowed = |pairs: &[(String, String)]| -> Vec<(&'static str, &'static str)> {
            pairs
                .iter()
                .map(|(k, v)| (&*Box::leak(k.clone().into_boxed_str()), &*Box::leak(v.clone().into_boxed_str())))
                .collect()
        };
        vec![
            otlp("b", "a", "execute_tool bash", 30, &borrowed(&bash)),
            otlp(
                "m",
                "a",
                "chat gpt",
                10,
                &[
                    ("gen_ai.operation.name", "chat"),
                    ("gen_ai.request.model", "gpt"),
                    ("gen_ai.output.messages", "I compute."),
                ],
            ),
            otlp("p", "a", "execute_tool python", 20, &borrowed(&python)),
            otlp("a", "", "invoke_agent", 0, &[("gen_ai.operation.name", "invoke_agent")]),
        ]
    }

    #[test]
    fn otlp_is_read_in_one_document_and_in_lines() {
        let document = |spans: Vec<Value>| json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]});
        check(&imported(&document(spans())));
        check(&imported_lines(&spans().into_iter().map(|span| document(vec![span])).collect::<Vec<_>>()));
        check(&imported_lines(&spans()));
    }

    #[test]
    fn sdk_spans_are_read_from_a_list_and_one_after_another() {
        let span = |id: &str, parent: Value, name: &str, at: &str, attributes: Value| {
            json!({"name": name, "context": {"trace_id": "0xt", "span_id": format!("0x{id}")}, "parent_id": parent,
                "start_time": at, "end_time": at, "status": {"status_code": "ERROR", "description": "TypeError: no"},
                "attributes": attributes, "events": []})
        };
        let spans = [
            span(
                "2",
                json!("0x1"),
                "Step 1",
                "2026-11-27T22:47:48.522201Z",
                json!({"openinference": {"span": {"kind": "CHAIN"}}, "output.value": "logs"}),
            ),
            span(
                "1",
                json!(null),
                "CodeAgent.run",
                "2026-11-27T22:47:48.515711Z",
                json!({"openinference.span.kind": "AGENT"}),
            ),
        ];
        let list = imported(&json!(spans));
        assert_eq!(list.steps[0].id.as_str(), "001_step_1");
        assert_eq!(list.steps[0].recorded.as_ref().unwrap().error.as_ref().unwrap().message, "TypeError: no");
        let text: String =
            spans.iter().map(|span| format!("{}\n", serde_json::to_string_pretty(span).unwrap())).collect();
        assert_eq!(imported_bytes(text.as_bytes()).steps, list.steps);
    }
}
