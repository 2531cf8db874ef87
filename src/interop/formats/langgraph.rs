//! LangGraph checkpoints: `get_state_history()` as a JSON list, or the tables of its SQLite saver.
//!
//! They hold states and the tree of checkpoints, no source. Each checkpoint becomes a step that holds only a
//! comment, needs its parent's step, and shows the state that was recorded; a fork is two steps that need one.
//! Values are read from MessagePack as data; what only Python could unpickle stays closed.

use std::collections::HashMap;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::msgpack;
use super::records::each_record;
use crate::interop::detect::Sample;
use crate::interop::json::{at, str_at};
use crate::interop::moment::moment;
use crate::interop::recorder::{Action, Answer, FrameRef, Given, Origin, Recorder, TOP};
use crate::interop::{ImportError, Layout, Recorded, Recording, Sink};
use crate::step::{Display, StepId};

/// Most bytes of states that are held.
const MOST: usize = 256 << 20;

/// Whether the records are a LangGraph state history.
pub fn is(sample: &Sample) -> bool {
    sample.records.iter().any(|record| {
        !at(record, &["config", "configurable", "checkpoint_id"]).is_null() && record.get("values").is_some()
    })
}

/// Whether the SQLite database at hand has LangGraph's tables.
pub fn is_database(recording: &Recording<'_>) -> bool {
    open(recording).is_ok_and(|sql| sql.prepare(SELECT).is_ok())
}

const SELECT: &str = "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata \
                      FROM checkpoints ORDER BY thread_id, checkpoint_ns, checkpoint_id";

/// Opens the database so that nothing beside it is made or changed.
fn open(recording: &Recording<'_>) -> rusqlite::Result<Connection> {
    let path = recording.path().to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{path}?mode=ro&immutable=1"), flags)
}

/// One checkpoint.
#[derive(Debug, Default)]
struct Checkpoint {
    thread: String,
    id: String,
    parent: Option<String>,
    source: String,
    step: i64,
    next: Vec<String>,
    values: Value,
    at: Value,
}

/// Reads a state history.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut recorder = Recorder::new(sink, "langgraph");
    let mut found = Found::default();
    if layout == Layout::Packed {
        database(recording, &mut found).map_err(|error| recording.malformed(error.to_string()))?;
    } else {
        let warnings = each_record(recording, layout, &["history"], &mut |_, record| {
            found.push(checkpoint(&record), record.to_string().len());
            Ok(())
        })?;
        for warning in warnings {
            recorder.warn(warning.place, warning.what);
        }
    }
    recorder
        .warn(None, "LangGraph keeps states and no source: the steps show what was recorded and can't be run again");
    lay(found, &mut recorder)?;
    recorder.finish()
}

#[derive(Default)]
struct Found {
    checkpoints: Vec<Checkpoint>,
    held: usize,
    left_out: usize,
}

impl Found {
    fn push(&mut self, mut checkpoint: Checkpoint, size: usize) {
        self.held += size;
        if self.held > MOST {
            self.left_out += 1;
            checkpoint.values = Value::Null;
        }
        self.checkpoints.push(checkpoint);
    }
}

fn checkpoint(record: &Value) -> Checkpoint {
    let configurable = |key: &str| at(record, &[key, "configurable"]);
    let parent = [configurable("parent"), configurable("parent_config")];
    let next = at(record, &["next"]).as_array().into_iter().flatten();
    Checkpoint {
        thread: str_at(configurable("config"), &["thread_id"]).unwrap_or_default().to_owned(),
        id: str_at(configurable("config"), &["checkpoint_id"]).unwrap_or_default().to_owned(),
        parent: parent.iter().find_map(|parent| str_at(parent, &["checkpoint_id"])).map(str::to_owned),
        source: str_at(record, &["metadata", "source"]).unwrap_or("checkpoint").to_owned(),
        step: at(record, &["metadata", "step"]).as_i64().unwrap_or_default(),
        next: next.filter_map(Value::as_str).map(str::to_owned).collect(),
        values: at(record, &["values"]).clone(),
        at: at(record, &["created_at"]).clone(),
    }
}

fn database(recording: &Recording<'_>, found: &mut Found) -> rusqlite::Result<()> {
    let sql = open(recording)?;
    let mut query = sql.prepare(SELECT)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let bytes = |column| {
            row.get_ref(column).map(|value| value.as_bytes_or_null().ok().flatten().unwrap_or_default().to_vec())
        };
        let (packed, metadata) = (bytes(5)?, bytes(6)?);
        let state = match row.get::<_, Option<String>>(4)?.as_deref() {
            Some("msgpack") => msgpack::read(&packed),
            _ => serde_json::from_slice(&packed).ok(),
        };
        let state = state.unwrap_or_default();
        let metadata: Value = serde_json::from_slice(&metadata).unwrap_or_default();
        let namespace: String = row.get::<_, Option<String>>(1)?.unwrap_or_default();
        let thread: String = row.get(0)?;
        let checkpoint = Checkpoint {
            thread: if namespace.is_empty() { thread } else { format!("{thread} {namespace}") },
            id: row.get(2)?,
            parent: row.get(3)?,
            source: str_at(&metadata, &["source"]).unwrap_or("checkpoint").to_owned(),
            step: at(&metadata, &["step"]).as_i64().unwrap_or_default(),
            next: Vec::new(),
            values: at(&state, &["channel_values"]).clone(),
            at: at(&state, &["ts"]).clone(),
        };
        found.push(checkpoint, packed.len());
    }
    // What was written from a checkpoint names the nodes that ran after it.
    let names = sql.prepare("SELECT DISTINCT checkpoint_id, task_path FROM writes");
    if let Ok(mut query) = names {
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (id, path): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            let node = path.as_deref().and_then(|path| path.rsplit(", ").next()).unwrap_or_default().to_owned();
            if let Some(checkpoint) = found.checkpoints.iter_mut().find(|checkpoint| checkpoint.id == id)
                && !node.is_empty()
            {
                checkpoint.next.push(node);
            }
        }
    }
    Ok(())
}

fn lay(found: Found, recorder: &mut Recorder<'_>) -> Result<(), ImportError> {
    let mut checkpoints = found.checkpoints;
    if found.left_out > 0 {
        let what = format!("the states are over 256 MB; those of {} checkpoints are left out", found.left_out);
        recorder.warn(None, what);
    }
    // Ids are ordered by time; a history is written newest first.
    checkpoints.sort_by(|a, b| (&a.thread, &a.id, a.step).cmp(&(&b.thread, &b.id, b.step)));
    let threads: Vec<&String> = checkpoints.iter().map(|checkpoint| &checkpoint.thread).collect();
    let several = threads.first() != threads.last();
    let mut frames: HashMap<&str, FrameRef> = HashMap::new();
    let mut steps: HashMap<&str, StepId> = HashMap::new();
    let by_id: HashMap<&str, &Checkpoint> =
        checkpoints.iter().map(|checkpoint| (checkpoint.id.as_str(), checkpoint)).collect();
    for checkpoint in &checkpoints {
        let frame = match frames.get(checkpoint.thread.as_str()) {
            Some(frame) => *frame,
            None if several => {
                let frame = recorder.frame(TOP, &checkpoint.thread);
                frames.insert(&checkpoint.thread, frame);
                frame
            }
            None => TOP,
        };
        let parent = checkpoint.parent.as_deref().and_then(|parent| by_id.get(parent));
        let needs = checkpoint.parent.as_deref().and_then(|parent| steps.get(parent)).cloned();
        let ran = parent.map(|parent| parent.next.join(" and ")).unwrap_or_default();
        let what = match checkpoint.source.as_str() {
            "loop" if !ran.is_empty() => format!("node {ran}"),
            source => source.to_owned(),
        };
        let changed = changed(parent.map_or(&Value::Null, |parent| &parent.values), &checkpoint.values);
        let mut code = format!("# Checkpoint {} after {what}; LangGraph keeps no source.\n", checkpoint.id);
        if !changed.is_empty() {
            code.push_str(&format!("# It changed {}.\n", changed.join(", ")));
        }
        let code: String = code.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        let at_ = moment(&checkpoint.at);
        let mut recorded = Recorded { started: at_, ..Recorded::default() };
        if !checkpoint.values.is_null() {
            let state = checkpoint.values.to_string();
            recorded.displays.push(Display { repr: state, mime: Default::default(), last: true });
        }
        let origin = Origin { at: at_, call: Some(checkpoint.id.clone()), ..Origin::default() };
        let action = Action { code, name: Some(what), needs: needs.into_iter().collect(), origin, ..Action::default() };
        let given = Given { recorded, text: None };
        let id = recorder.step(frame, action, Answer::Known(Some(given.into())))?;
        steps.insert(&checkpoint.id, id);
    }
    Ok(())
}

/// Keys of a state whose value is another than before.
fn changed(before: &Value, after: &Value) -> Vec<String> {
    let Value::Object(after) = after else { return Vec::new() };
    after.iter().filter(|(key, value)| before.get(key.as_str()) != Some(value)).map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::Imported;
    use crate::interop::formats::testing::{imported, imported_bytes};
    use serde_json::json;

    fn shown(run: &Imported) -> Vec<(&str, String, String)> {
        let line = |text: &str, start: &str| {
            text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default().to_owned()
        };
        run.steps
            .iter()
            .map(|step| {
                let repr = step.recorded.as_ref().unwrap().displays.first().map(|d| d.repr.clone()).unwrap_or_default();
                (step.id.as_str(), line(&step.text, "# needs = "), repr)
            })
            .collect()
    }

    #[test]
    fn checkpoints_are_steps_that_need_their_parents() {
        let state = |id: &str, parent: Option<&str>, source: &str, step: i64, next: &[&str], values: Value| {
            json!({"config": {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": id}},
                "parent": parent.map(|id| json!({"configurable": {"thread_id": "t", "checkpoint_id": id}})),
                "metadata": {"source": source, "step": step}, "next": next, "values": values,
                "created_at": "2026-11-27T23:00:01.447899+00:00", "tasks": []})
        };
        let run = imported(&json!([
            state("4", Some("2"), "update", 2, &[], json!({"n": 9})),
            state("3", Some("2"), "loop", 2, &[], json!({"n": 4, "log": ["a"]})),
            state("2", Some("1"), "loop", 0, &["a"], json!({"n": 1})),
            state("1", None, "input", -1, &["__start__"], json!({})),
        ]));
        assert_eq!(
            shown(&run),
            [
                ("001_input", String::new(), "{}".into()),
                ("002_node_start", "[\"001_input\"]".into(), "{\"n\":1}".into()),
                ("003_node_a", "[\"002_node_start\"]".into(), "{\"n\":4,\"log\":[\"a\"]}".into()),
                ("004_update", "[\"002_node_start\"]".into(), "{\"n\":9}".into()),
            ]
        );
        assert!(run.steps[2].text.contains("# It changed n, log.\n"));
    }

    #[test]
    fn a_database_is_read_without_changing_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoints.db");
        let sql = Connection::open(&path).unwrap();
        sql.execute_batch(
            "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,
             type TEXT, checkpoint BLOB, metadata BLOB);
             CREATE TABLE writes (checkpoint_id TEXT, task_path TEXT);
             INSERT INTO checkpoints VALUES ('t', '', '1', NULL, 'msgpack', x'81ae6368616e6e656c5f76616c75657381a16e01', '{\"source\": \"input\"}');
             INSERT INTO checkpoints VALUES ('t', '', '2', '1', 'msgpack', x'c1', '{\"source\": \"loop\", \"step\": 0}');
             INSERT INTO writes VALUES ('1', '~__pregel_pull, plan');",
        )
        .unwrap();
        drop(sql);
        let bytes = std::fs::read(&path).unwrap();
        let run = imported_bytes(&bytes);
        assert_eq!(
            shown(&run),
            [
                ("001_input", String::new(), "{\"n\":1}".into()),
                ("002_node_plan", "[\"001_input\"]".into(), String::new())
            ]
        );
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
