//! One execution of one step in a process, and the record that is made of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::answers::Answers;
use super::attend::{Bounds, Cut, Ear, Ending};
use super::calls::Answering;
use super::contents::FIFO;
use super::disk::Disk;
use super::guard::{Evidence, Guard};
use super::line::Node;
use super::opens::{Opened, Opens};
use super::output::Capture;
use super::packages;
use super::protocol::{Ask, ComponentReply, Observed, RunReply};
use super::refusal;
use super::state::State;
use super::surroundings::Surroundings;
use super::task::{EngineError, Report, Settings, StopHandle, Task};
use super::vault::Vault;
use crate::run::Area;
use crate::step::{
    Answer, Digest, Display, Effect, Execution, FileContent, FileWrite, Kind, Millis, Observation, Outcome, Question,
    QuestionId, Reason, StepError, StepId, Stream, Wants, Written,
};

/// What an execution came to.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) execution: Arc<Execution>,
    /// Whether the process still stands, with the state that the record says.
    pub(super) alive: bool,
}

/// What running a step needs besides the process.
pub(super) struct Bench<'a> {
    pub(super) settings: &'a Settings,
    pub(super) disk: &'a mut Disk,
    pub(super) opens: &'a mut Opens,
    pub(super) vault: &'a dyn Vault,
    pub(super) stop: &'a StopHandle,
    pub(super) answers: &'a Answers,
    pub(super) interpreter: &'a str,
    pub(super) surroundings: &'a Surroundings,
    pub(super) guard: &'a Guard,
}

/// How much of what a step prints is passed on while it runs. One that prints without end would fill every queue
/// behind it, and what is asked of the run would wait there. All that is kept is in its execution.
struct Tap {
    since: Instant,
    passed: usize,
    all: usize,
}

impl Tap {
    const TURN: Duration = Duration::from_millis(250);
    /// Bytes in each turn: freely at first, then as many as a person could follow.
    const MOST: (usize, usize) = (256 << 10, 8 << 10);
    /// Bytes that are passed on freely.
    const FREELY: usize = 2 << 20;

    fn new() -> Self {
        Self { since: Instant::now(), passed: 0, all: 0 }
    }

    /// The part of `text` that is passed on: its end, which is what a person would see.
    fn part<'t>(&mut self, text: &'t str) -> &'t str {
        if self.since.elapsed() >= Self::TURN {
            (self.since, self.passed) = (Instant::now(), 0);
        }
        let most = if self.all < Self::FREELY { Self::MOST.0 } else { Self::MOST.1 };
        let room = most.saturating_sub(self.passed);
        let from = (text.len().saturating_sub(room)..=text.len()).find(|at| text.is_char_boundary(*at));
        let part = from.and_then(|from| text.get(from..)).unwrap_or_default();
        self.passed += part.len();
        self.all += part.len();
        part
    }
}

pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// Modules by which Python code calls the system itself.
const NATIVE: [&str; 4] = ["ctypes", "_ctypes", "cffi", "_cffi_backend"];

/// The file of a step, as Python names it.
pub(super) fn file_of(settings: &Settings, task: &Task) -> String {
    let ending = if task.kind == Kind::Shell { "sh" } else { "py" };
    settings.dir.join(format!("{}.{ending}", task.id)).to_string_lossy().into_owned()
}

/// Executes `task` in `node`, which holds the state before it; `again` is the execution that is made again, if one is.
pub(super) fn execute(
    bench: &mut Bench<'_>,
    node: &mut Node,
    task: &Task,
    why: Vec<Reason>,
    again: Option<&Execution>,
    report: &mut dyn FnMut(Report),
) -> Result<Done, EngineError> {
    let file = file_of(bench.settings, task);
    let started = now();
    let source = task.source.as_bytes();
    let shell;
    let text: &[u8] = if task.kind == Kind::Shell {
        shell = format!("get_ipython().run_cell_magic('sh', '', {})\n", python_string(&task.source));
        shell.as_bytes()
    } else {
        source
    };
    if let Some(warden) = &node.process.warden {
        warden.begin(&task.id, node.process.pid);
    }
    let guarded = node.process.warden.clone().filter(|warden| !warden.mounted);
    // Where calls are decided on, only those that somebody could turn elsewhere change what they should not.
    let is_noted_late = guarded.as_ref().is_some_and(|warden| warden.notes_for(bench.guard));
    if guarded.is_some() && !is_noted_late {
        bench.guard.note();
    }
    let answers = task.answers(bench.settings.answered, &why);
    bench.opens.begin(bench.disk.root());
    let again =
        again.map(|execution| execution.observation.reads.keys().filter(|name| name.starts_with('@')).collect());
    let ask = Ask::Run { step: task.id.as_str(), file: &file, interruptible: true, answers, again };
    node.process.ask(&ask, text, &[])?;
    let mut hearing = Hearing {
        capture: Capture::new(bench.settings.output_limit),
        tap: Tap::new(),
        step: &task.id,
        answers: bench.settings.answered.then_some(bench.answers),
        report,
    };
    let limits = Bounds {
        time: task.timeout.or(bench.settings.timeout),
        memory: bench.settings.memory.map(|limit| limit.bytes),
        processes: bench.settings.processes,
    };
    let mut answering = Answering::new(Arc::clone(&bench.settings.calls), task.id.clone());
    let ending = node.process.attend(&limits, bench.stop, &mut answering, bench.opens, &mut hearing);
    answering.end();
    let opened = bench.opens.end(bench.disk.root());
    let ruled = node.process.warden.as_ref().map(|warden| {
        let mut effects = warden.end();
        effects.extend(warden.missing.iter().map(|what| Effect::Unguarded { what: what.clone() }));
        effects
    });
    let mut execution = Execution {
        step: task.id.clone(),
        version: task.version,
        started,
        duration_us: 0,
        why,
        outcome: Outcome::Done,
        output: hearing.capture.finish(),
        displays: Vec::new(),
        error: None,
        observation: Observation {
            source: Some(Digest::of(source)),
            called: Some(task.id.clone()),
            interpreter: Some(bench.interpreter.to_owned()),
            ..Observation::default()
        },
        effects: ruled.unwrap_or_default(),
    };
    let (json, data, cut) = match ending {
        Ending::Answered { json, data, cut } => (json, data, cut),
        Ending::Died { cut } => {
            execution.duration_us = elapsed(started);
            if let Some(warden) = guarded.filter(|warden| !is_noted_late || warden.may_have_changed()) {
                let evidence = Evidence { any: warden.may_have_changed() || !warden.is_asked(), ..Evidence::default() };
                execution.effects.extend(bench.guard.put_back(&evidence));
            }
            fail_from_outside(&mut execution, cut);
            bench.surroundings.note(&mut execution, task, false, bench.vault);
            return Ok(Done { execution: Arc::new(execution), alive: false });
        }
    };
    let mut reply: RunReply = match serde_json::from_slice(&json) {
        Ok(reply) => reply,
        Err(error) => {
            execution.duration_us = elapsed(started);
            execution.outcome = Outcome::Failed;
            execution.error = Some(StepError {
                type_name: "BrokenAnswer".into(),
                message: format!("the step's process answered with something that is no answer: {error}"),
                ..StepError::default()
            });
            return Ok(Done { execution: Arc::new(execution), alive: false });
        }
    };
    keep_values(bench.vault, &reply.observation, &data);
    // To wait for a person is not the step's own time.
    let waited = node.process.warden.as_ref().map_or(Duration::ZERO, |warden| warden.waited());
    execution.duration_us = reply.us.saturating_sub(micros(waited));
    execution.displays =
        reply.displays.into_iter().map(|d| Display { repr: d.repr, mime: d.mime, last: d.last }).collect();
    let mut alive = true;
    if let Some(mut error) = reply.error {
        if node.process.warden.is_some() {
            let wrote = |path: &str| {
                let mut seen = reply.observation.effects.iter().filter(|(kind, _)| kind != "read");
                seen.any(|(_, words)| words.iter().any(|word| word == path))
            };
            refusal::explain(&mut error, &mut execution.effects, bench.settings, &wrote);
        }
        execution.outcome = Outcome::Failed;
        execution.error = Some(error);
    }
    if let Some(cut) = cut
        && (reply.interrupted || execution.error.is_some())
    {
        fail_from_outside(&mut execution, Some(cut));
        alive = false;
    }
    if let Some(warden) = guarded.filter(|warden| !is_noted_late || warden.may_have_changed()) {
        let dir = &bench.settings.dir;
        let mut evidence = Evidence { any: warden.may_have_changed(), named: Vec::new() };
        for (kind, words) in &reply.observation.effects {
            match kind.as_str() {
                "write" | "delete" | "rename" => evidence.named.extend(words.iter().map(|word| dir.join(word))),
                // Nothing else tells what another program, or native code, did.
                "process" => evidence.any |= !warden.is_asked(),
                "import" => {
                    evidence.any |= !warden.is_asked() && words.iter().any(|word| NATIVE.contains(&word.as_str()))
                }
                _ => {}
            }
        }
        // Before the record is made: what is put back is not left behind by the step.
        execution.effects.extend(bench.guard.put_back(&evidence));
    }
    note_opened(&mut reply.observation, task, opened, &bench.settings.ignore);
    let shows_directory = shows_places(&bench.settings.dir, &execution) || {
        let path = bench.settings.dir.as_os_str().as_encoded_bytes();
        memchr::memmem::find(&data, path).is_some()
    };
    record(bench, &node.state, reply.observation, &mut execution);
    bench.surroundings.note(&mut execution, task, shows_directory, bench.vault);
    if execution.outcome == Outcome::Done {
        missing_products(bench.disk, task, &mut execution);
    }
    if alive {
        node.state.executed(&execution.observation);
    }
    Ok(Done { execution: Arc::new(execution), alive })
}

/// Passes on what a running step says.
struct Hearing<'a> {
    capture: Capture,
    tap: Tap,
    step: &'a StepId,
    /// Where answers come from, if somebody can be asked.
    answers: Option<&'a Answers>,
    report: &'a mut dyn FnMut(Report),
}

impl Ear for Hearing<'_> {
    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        let Some(mut chunk) = self.capture.take(stream, bytes) else { return };
        let part = self.tap.part(&chunk.text);
        if part.is_empty() {
            return;
        }
        if part.len() < chunk.text.len() {
            chunk.text = part.into();
        }
        (self.report)(Report::Printed { step: self.step.clone(), chunk });
    }

    fn asked(&mut self, text: String) -> Option<QuestionId> {
        self.answers?;
        let id = Answers::number();
        (self.report)(Report::Asked(Question { id, step: self.step.clone(), text, wants: Wants::Line }));
        Some(id)
    }

    fn answer(&mut self, question: QuestionId) -> Option<Answer> {
        self.answers?.take(question)
    }
}

/// A Python literal of a text.
fn python_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn elapsed(started: Millis) -> u64 {
    u64::try_from(now() - started).unwrap_or_default().saturating_mul(1000)
}

/// A step whose process ended, or that was cut off.
fn fail_from_outside(execution: &mut Execution, cut: Option<Cut>) {
    let (type_name, message) = match cut {
        Some(Cut::Stopped) => {
            execution.outcome = Outcome::Interrupted;
            ("Stopped", "stopped by a person".to_owned())
        }
        Some(Cut::Timeout(limit)) => {
            execution.outcome = Outcome::Failed;
            let seconds = limit.as_secs_f64();
            (
                "TimeLimit",
                format!(
                    "took longer than its limit of {seconds} s; raise it with `timeout` in its header or in reweave.toml"
                ),
            )
        }
        Some(Cut::Memory(limit)) => {
            execution.outcome = Outcome::Failed;
            let limit = in_words(limit);
            (
                "MemoryLimit",
                format!(
                    "took more memory than its limit of {limit}; raise it with `--limit memory=` or `memory` in reweave.toml"
                ),
            )
        }
        Some(Cut::Processes(limit)) => {
            execution.outcome = Outcome::Failed;
            (
                "ProcessLimit",
                format!(
                    "had more processes than its limit of {limit}; raise it with `--limit processes=` or `processes` in reweave.toml"
                ),
            )
        }
        Some(Cut::Halted) => {
            execution.outcome = Outcome::Failed;
            ("ProcessStopped", "the step's process was stopped by a signal, and stayed so; it was ended".to_owned())
        }
        None => {
            execution.outcome = Outcome::Failed;
            ("ProcessDied", "the step's process ended before the step did".to_owned())
        }
    };
    execution.error = Some(StepError { type_name: type_name.into(), message, ..StepError::default() });
}

fn in_words(bytes: u64) -> String {
    if bytes >= 1 << 30 {
        format!("{:.1} GB", bytes as f64 / f64::from(1 << 30))
    } else {
        format!("{} MB", bytes >> 20)
    }
}

/// Keeps the pickled components that came with a reply.
fn keep_values(vault: &dyn Vault, observed: &Observed, data: &[u8]) {
    let mut at = 0_usize;
    for value in &observed.values {
        let end = at.saturating_add(value.size);
        if let Some(bytes) = data.get(at..end) {
            vault.put_value(&value.digest, bytes);
        }
        at = end;
    }
}

pub(super) fn written(reply: ComponentReply) -> Written {
    let ComponentReply { digest, members, refs, uncarryable, placed } = reply;
    Written { digest, placed, members, refs, uncarryable }
}

/// Has files count as read, or made, that native code may have opened, of which Python does not tell.
fn note_opened(observed: &mut Observed, task: &Task, found: Opened, ignored: &[PathBuf]) {
    // Nothing else of Python's own opens files so.
    let is_native = || ["dbm", "shelve", "ssl"].iter().any(|word| task.source.contains(word));
    if observed.packages.is_empty() && !is_native() {
        return;
    }
    let is_own = |path: &String| ignored.iter().any(|own| Path::new(path).starts_with(own));
    for path in found.made.iter().filter(|path| !is_own(path)) {
        if !observed.files_read.contains_key(path) {
            observed.files_written.entry(path.clone()).or_default();
        }
    }
    for path in found.opened.into_iter().filter(|path| !is_own(path)) {
        if !observed.files_written.contains_key(&path) {
            observed.files_read.insert(path, "content".into());
        }
    }
    for path in found.listed.into_iter().filter(|path| !observed.files_written.contains_key(path)) {
        observed.files_read.entry(path).or_insert_with(|| "list".into());
    }
    observed.doubts.extend(found.doubt);
}

/// Makes the record of what the worker saw. `before` is the state in which the step began.
fn record(bench: &mut Bench<'_>, before: &State, observed: Observed, execution: &mut Execution) {
    let disk = &mut *bench.disk;
    let shows_places = shows_places(&bench.settings.dir, execution);
    let seen = &mut execution.observation;
    // Only the very text gives that again.
    seen.code = if shows_places { None } else { observed.code };
    if observed.anywhere && !shows_places {
        seen.called = None;
    }
    if shows_places || observed.saw_places {
        seen.places = before.places(observed.reads.keys());
    }
    seen.reads = observed.reads;
    seen.unset = observed.unset;
    seen.saw_names = observed.saw_names;
    seen.saw_order = observed.saw_order;
    seen.order = observed.order;
    seen.saw_prefixes = observed
        .saw_prefixes
        .into_iter()
        .map(|prefix| {
            let d = before.prefix_digest(&prefix);
            (prefix, d)
        })
        .collect();
    seen.writes = observed.writes.into_iter().map(|(name, w)| (name, w.map(written))).collect();
    seen.incidental = observed.incidental;
    seen.rebound = observed.rebound;
    seen.left = observed.left;
    seen.nondeterministic = observed.clock;
    seen.calls = observed.calls;
    seen.doubts = observed.doubts;
    seen.answers = observed.answers;
    seen.packages = observed.packages.into_iter().map(packages::package).collect();
    let mut befores: BTreeMap<String, FileContent> = BTreeMap::new();
    for (path, copy) in &observed.files_written {
        befores.insert(path.clone(), disk.keep_copy(copy.as_deref()));
    }
    // Before the reads: what is looked at is the state before the step, and a listing must leave out what it made.
    for (path, was) in befores.clone() {
        let after = if inside(&path) { disk.keep(&path) } else { disk.now(&path) };
        if after != was {
            if matches!(&was, FileContent::External { mark } if mark != FIFO) {
                seen.doubts.push(format!("it changed {path}, of which no copy is kept"));
            }
            if inside(&path) {
                let mut done = observed.effects.iter().filter_map(|(_, words)| words.last());
                let told = done.any(|to| Path::new(&path).starts_with(to));
                disk.changed(&path, &was, &after, !told && was == FileContent::Absent);
            }
            seen.files_written.insert(path, FileWrite { before: was, after });
        } else if before.files.contains_key(&path) {
            seen.files_written.insert(path, FileWrite { before: was, after });
        }
    }
    for (path, how) in observed.files_read {
        let content = match befores.get(&path) {
            _ if how == "list" => disk.listing_at(before, &path),
            Some(content) => content.clone(),
            None => match before.files.get(&path) {
                Some(content) if inside(&path) => content.clone(),
                _ => disk.now(&path),
            },
        };
        seen.files_read.insert(path, content);
    }
    let ruled = std::mem::take(&mut execution.effects);
    let dir = &bench.settings.dir;
    let refused = |path: &str| {
        let full = dir.join(path);
        ruled.iter().any(|effect| {
            matches!(effect, Effect::Refused { area, target, .. } if area == Area::Write.word() && Path::new(target) == full)
        })
    };
    // The interpreter tells what is about to be done: what was refused was not.
    let done =
        observed.effects.into_iter().filter_map(|(kind, words)| effect(&kind, words)).filter(|effect| match effect {
            Effect::Write { path } | Effect::Delete { path } => !refused(path),
            Effect::Rename { from, to } => !refused(from) && !refused(to),
            _ => true,
        });
    execution.effects = done.collect();
    execution.effects.extend(ruled);
    execution.effects.extend(observed.left_behind.into_iter().map(|what| Effect::Left { what }));
}

/// Whether what a step printed or showed names a file of the run's: who does so, a warning or a traceback, may tell where in
/// it something stands.
fn shows_places(dir: &Path, execution: &Execution) -> bool {
    let dir = format!("{}/", dir.display());
    let mut shown = execution.displays.iter().flat_map(|shown| shown.mime.values().chain([&shown.repr]));
    execution.output.dropped > 0 || execution.output.says(&dir) || shown.any(|text| text.contains(&dir))
}

/// Whether a recorded path is inside the run.
fn inside(path: &str) -> bool {
    !path.starts_with('/')
}

fn effect(kind: &str, words: Vec<String>) -> Option<Effect> {
    let first = words.first().cloned().unwrap_or_default();
    Some(match kind {
        "read" => Effect::Read { path: first },
        "write" => Effect::Write { path: first },
        "delete" => Effect::Delete { path: first },
        "process" => Effect::Process { command: words },
        "connect" => Effect::Connect { address: first },
        "resolve" => Effect::Resolve { host: first },
        "load" => Effect::Load { path: first },
        "rename" => Effect::Rename { from: first, to: words.get(1)?.clone() },
        "get env" => Effect::GetEnv { variable: first },
        "set env" => Effect::SetEnv { variable: first },
        "import" => Effect::Import { module: first },
        _ => return None,
    })
}

/// A step that says what it produces has failed when that is not there.
fn missing_products(disk: &mut Disk, task: &Task, execution: &mut Execution) {
    let missing: Vec<&str> =
        task.produces.iter().map(String::as_str).filter(|path| disk.now(path) == FileContent::Absent).collect();
    if !missing.is_empty() {
        execution.outcome = Outcome::Failed;
        execution.error = Some(StepError {
            type_name: "MissingProduct".into(),
            message: format!("it says that it produces {}, and that is not there after it", missing.join(", ")),
            ..StepError::default()
        });
    }
}

/// A duration in microseconds as the engine counts.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_that_is_printed_the_end_is_passed_on() {
        let mut tap = Tap::new();
        assert_eq!(tap.part("short"), "short");
        tap.all = Tap::FREELY;
        tap.passed = 0;
        let long = "é".repeat(Tap::MOST.1);
        let part = tap.part(&long);
        assert!(!part.is_empty() && part.len() <= Tap::MOST.1 && long.ends_with(part));
        assert!(tap.part(&long).len() < 2, "the rest of the turn is silent");
    }
}
