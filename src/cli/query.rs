//! `reweave query`: questions about the run over time.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::log::{known_step, moment};
use super::moments::{exact, local};
use super::session::Session;
use super::{CliError, Context, Palette, Role, files};
use crate::step::{StepId, plain, plain_line};
use crate::store::query::{
    Affected, ArtifactVersion, Credit, Did, Difference, EffectFilter, ExecutionDifference, Moment, Needed, Standing,
    Touch,
};
use crate::store::{Reader, StoreError, Subject};
use crate::workbench::{Covering, Options, Snapshot};

/// Ask about the run over time
///
/// Answers come from what executions were seen to read and write; where a step has no execution yet, from what its
/// text says.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    #[command(subcommand)]
    question: Question,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
enum Question {
    /// What code and which values stood right after a step
    At {
        /// The step
        step: String,
        /// When: now, a time, an execution (`e12`), a version (`01_load:v3`), an event (`@40`)
        #[arg(long, value_name = "MOMENT", default_value = "now")]
        when: String,
    },
    /// What would have to be looked at if a step, or one variable of it, were another
    AffectedBy {
        /// The step, or STEP:NAME
        step: String,
    },
    /// What a step needs, or what variables at it come from
    Needs {
        /// The step
        step: String,
        /// Only what these need
        names: Vec<String>,
    },
    /// Who wrote a variable, and when it changed
    Writers {
        /// The variable, or the path of a file (`file:PATH` where both are there)
        name: String,
    },
    /// Who read a variable
    Readers {
        /// The variable, or the path of a file (`file:PATH` where both are there)
        name: String,
    },
    /// How two moments, two executions or two runs differ
    Diff {
        /// A moment, an execution or a run's directory
        before: String,
        /// Another
        after: String,
    },
    /// Which files steps write: by which version of which step, who reads them, and whether they are as they were left
    Artifacts {
        /// The versions of this file alone
        path: Option<String>,
    },
    /// What steps did outside their namespace
    Effects {
        /// Of this step alone
        step: Option<String>,
        /// Of this kind alone: read, write, delete, rename, process, network, connect, resolve, environment, load,
        /// import, refused, granted, put_back, unguarded, left; more than once for more
        #[arg(long, value_name = "KIND")]
        kind: Vec<String>,
        /// On this path or what is below it, this host, this program or this variable
        #[arg(long, value_name = "TARGET")]
        on: Option<String>,
        /// Of every execution that is kept, not of each step's last one alone
        #[arg(long)]
        history: bool,
        /// Only what the step's header does not announce
        #[arg(long)]
        unannounced: bool,
    },
    /// Which tests cover a step, or one function or variable of it
    Tests {
        /// The step, or STEP:NAME
        step: String,
    },
    /// What became of what each agent proposed
    ByAgent,
    /// What became of what each model proposed
    ByModel,
}

/// Most executions that are listed.
const LISTED: usize = 200;

/// Answers.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let session = Session::open(&args.dir, Options { may_be_empty: true, ..Options::default() }, context)?;
    let store = Reader::open(&args.dir)?;
    match args.question {
        Question::At { step, when } => {
            let (step, when) = (known_step(&step, &session, &store)?, store.whole(&moment(&when)?)?);
            let standing = store.at(Some(&step), &when)?;
            let texts = texts(&standing, &store)?;
            context.answer(&standing_document(&step, &when, &standing, &texts), |palette| {
                standing_told(&standing, &texts, palette)
            })
        }
        Question::AffectedBy { step } => {
            let (step, name) = step_and_name(&step, &session)?;
            let subject = name.as_deref().map(Subject::name);
            let affected = match store.affected_by(&step, subject.as_ref())? {
                found if found.is_empty() => by_text(session.snapshot(), &step, name.as_deref()),
                found => found,
            };
            let row = |a: &Affected| json!({"id": a.step, "because": a.because, "names": subjects(&a.subjects)});
            let document =
                json!({"step": step, "name": name, "affected": affected.iter().map(row).collect::<Vec<_>>()});
            context.answer(&document, |palette| {
                list(
                    affected
                        .iter()
                        .map(|a| (&a.step, format!("{} from {}", subjects(&a.subjects).join(", "), a.because))),
                    palette,
                )
            })
        }
        Question::Needs { step, names } => {
            let step = known_step(&step, &session, &store)?;
            let subjects_of: Vec<Subject> = names.iter().map(|name| Subject::name(name)).collect();
            let needs = match store.needs(&step, &subjects_of) {
                Ok(found) if !found.is_empty() => found,
                _ => needs_by_text(session.snapshot(), &step, &names),
            };
            let row = |n: &Needed| json!({"id": n.step, "names": subjects(&n.subjects)});
            let document = json!({"step": step, "names": names, "needs": needs.iter().map(row).collect::<Vec<_>>()});
            context.answer(&document, |palette| {
                list(needs.iter().map(|n| (&n.step, subjects(&n.subjects).join(", "))), palette)
            })
        }
        Question::Writers { name } => {
            let touches = touches(&name, |subject| store.writers(subject, LISTED))?;
            let document = json!({"name": name, "writers": touches.iter().map(touch).collect::<Vec<_>>()});
            context.answer(&document, |palette| touches.iter().map(|t| touch_told(t, "wrote it", palette)).collect())
        }
        Question::Readers { name } => {
            let touches = touches(&name, |subject| store.readers(subject, LISTED))?;
            let document = json!({"name": name, "readers": touches.iter().map(touch).collect::<Vec<_>>()});
            context.answer(&document, |palette| touches.iter().map(|t| touch_told(t, "read it", palette)).collect())
        }
        Question::Diff { before, after } => diff(&before, &after, &store, context),
        Question::Artifacts { path: None } => artifacts(&store, &args.dir, context),
        Question::Artifacts { path: Some(path) } => versions_of(&path, &store, context),
        Question::Effects { step, kind, on, history, unannounced } => {
            let step = step.map(|step| known_step(&step, &session, &store)).transpose()?;
            if let Some(unknown) = kind.iter().find(|kind| !EffectFilter::KINDS.contains(&kind.as_str())) {
                let known = EffectFilter::KINDS.join(", ");
                return Err(CliError::new(format!("{unknown} is no kind of effect")).hint(format!("one of {known}")));
            }
            let filter = EffectFilter { step, kinds: kind, target: on, history };
            effects(&filter, unannounced, &session, &store, context)
        }
        Question::Tests { step } => {
            let (step, name) = step_and_name(&step, &session)?;
            let tests = session.snapshot().tests_of(&step, name.as_deref().as_slice());
            let row = |c: &Covering| json!({"id": c.test, "direct": c.direct, "names": c.names});
            let document = json!({"step": step, "name": name, "tests": tests.iter().map(row).collect::<Vec<_>>()});
            let note = |c: &Covering| {
                let names = c.names.join(", ");
                if c.direct { format!("reads {names}") } else { format!("reads {names}, made with it") }
            };
            context.answer(&document, |palette| list(tests.iter().map(|c| (&c.test, note(c))), palette))
        }
        Question::ByAgent => credits(store.by_agent()?.into_iter(), context),
        Question::ByModel => credits(store.by_model()?.into_iter(), context),
    }
}

/// A step, or one name of it: `STEP:NAME`.
fn step_and_name(text: &str, session: &Session) -> Result<(StepId, Option<String>), CliError> {
    match session.step(text) {
        Ok(id) => Ok((id, None)),
        Err(error) => match text.rsplit_once(':') {
            Some((step, name)) => Ok((session.step(step)?, Some(name.to_owned()))),
            None => Err(error),
        },
    }
}

/// What steps did outside their namespace.
fn effects(
    filter: &EffectFilter,
    beyond: bool,
    session: &Session,
    store: &Reader,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let rows = &session.snapshot().steps;
    let is_beyond = |did: &Did| {
        let row = rows.iter().find(|row| row.id == did.step && row.version == did.version);
        row.is_some_and(|row| row.unannounced.contains(&did.effect.to_string()))
    };
    let found = store.effects(filter, LISTED)?;
    let found: Vec<(&Did, bool)> = found.iter().map(|did| (did, is_beyond(did))).collect();
    let found: Vec<(&Did, bool)> = found.into_iter().filter(|(_, is_beyond)| *is_beyond || !beyond).collect();
    let row = |(did, is_beyond): &(&Did, bool)| {
        json!({
            "id": did.step,
            "execution": did.execution,
            "version": did.version,
            "when": exact(did.started),
            "kind": did.effect.kind(),
            "area": did.effect.area(),
            "what": did.effect.to_string(),
            "effect": did.effect,
            "unannounced": is_beyond,
        })
    };
    context.answer(&json!({ "effects": found.iter().map(row).collect::<Vec<_>>() }), |palette| {
        let mut told = String::new();
        for (did, is_beyond) in &found {
            let step = plain_line(did.step.as_str()).into_owned();
            let what = did.effect.to_string();
            let _ = write!(told, "{}  e{}  {}", palette.paint(Role::Name, step), did.execution.0, plain_line(&what));
            if *is_beyond {
                let _ = write!(told, "  {}", palette.paint(Role::Warn, "not announced by its header"));
            }
            told.push('\n');
        }
        if told.is_empty() { "nothing of that kind\n".to_owned() } else { told }
    })
}

/// The files that steps write.
fn artifacts(store: &Reader, dir: &Path, context: &Context) -> Result<ExitCode, CliError> {
    let files = files::all(store, dir)?;
    let told = match files.is_empty() {
        true => "no step wrote a file\n".to_owned(),
        false => files.iter().map(|file| format!("{}\n", file.line())).collect(),
    };
    context.answer(&json!({ "artifacts": files.iter().map(files::File::document).collect::<Vec<_>>() }), |_| told)
}

/// The versions of a file that steps write.
fn versions_of(path: &str, store: &Reader, context: &Context) -> Result<ExitCode, CliError> {
    let versions = store.artifact_versions(path)?;
    let row = |one: &ArtifactVersion| {
        json!({
            "number": one.number,
            "digest": one.content,
            "written_by": one.step,
            "version": one.version,
            "execution": one.execution,
            "when": exact(one.at),
        })
    };
    let document = json!({"path": path, "versions": versions.iter().map(row).collect::<Vec<_>>()});
    context.answer(&document, |palette| {
        let mut told = String::new();
        for one in &versions {
            let what = one.content.map_or_else(|| "removed, or not kept".to_owned(), |content| content.short());
            let when = palette.paint(Role::Dim, local(one.at));
            let step = plain_line(one.step.as_str()).into_owned();
            let step = palette.paint(Role::Name, step);
            let _ = writeln!(told, "v{}  {when}  {what} by {step} {}", one.number, one.version);
        }
        if told.is_empty() { "no step wrote it\n".to_owned() } else { told }
    })
}

/// Who touched a variable; where nobody did, who touched the file of that name.
fn touches(text: &str, ask: impl Fn(&Subject) -> Result<Vec<Touch>, StoreError>) -> Result<Vec<Touch>, StoreError> {
    if let Some(path) = text.strip_prefix("file:") {
        return ask(&Subject::file(path));
    }
    match ask(&Subject::name(text))? {
        none if none.is_empty() => ask(&Subject::file(text)),
        some => Ok(some),
    }
}

fn subjects(list: &[Subject]) -> Vec<String> {
    list.iter().map(|subject| subject.text().to_string()).collect()
}

/// What needs a step by the texts, where nothing was recorded.
fn by_text(snapshot: &Snapshot, step: &StepId, name: Option<&str>) -> Vec<Affected> {
    let Some(start) = snapshot.steps.iter().position(|row| row.id == *step) else { return Vec::new() };
    let mut reached = BTreeSet::from([start]);
    let mut found = Vec::new();
    // Edges lead forward, so one pass in the order of where they end sees each step after all that it needs.
    let mut edges: Vec<_> = snapshot.edges.iter().collect();
    edges.sort_by_key(|edge| (edge.to, edge.from));
    for edge in edges {
        let wanted = edge.from != start || name.is_none_or(|name| edge.names.iter().any(|other| &**other == name));
        if !reached.contains(&edge.from) || !wanted {
            continue;
        }
        if let (true, Some(to), Some(from)) =
            (reached.insert(edge.to), snapshot.steps.get(edge.to), snapshot.steps.get(edge.from))
        {
            let subjects = edge.names.iter().map(|name| Subject::Name(name.clone())).collect();
            found.push(Affected { step: to.id.clone(), because: from.id.clone(), subjects });
        }
    }
    found
}

/// What a step needs by the texts, where nothing was recorded.
fn needs_by_text(snapshot: &Snapshot, step: &StepId, names: &[String]) -> Vec<Needed> {
    let Some(end) = snapshot.steps.iter().position(|row| row.id == *step) else { return Vec::new() };
    let mut reached = BTreeSet::from([end]);
    let mut found = Vec::new();
    let mut edges: Vec<_> = snapshot.edges.iter().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.from, edge.to)));
    for edge in edges {
        let wanted =
            edge.to != end || names.is_empty() || edge.names.iter().any(|name| names.iter().any(|n| **n == **name));
        if !reached.contains(&edge.to) || !wanted {
            continue;
        }
        if let (true, Some(from)) = (reached.insert(edge.from), snapshot.steps.get(edge.from)) {
            let subjects = edge.names.iter().map(|name| Subject::Name(name.clone())).collect();
            found.push(Needed { step: from.id.clone(), subjects });
        }
    }
    found.reverse();
    found
}

fn texts(standing: &Standing, store: &Reader) -> Result<Vec<String>, CliError> {
    let text = |step: &crate::store::query::StandingStep| {
        Ok(String::from_utf8_lossy(&store.get_blob(&step.source)?).into_owned())
    };
    standing.steps.iter().map(text).collect()
}

fn standing_document(at: &StepId, when: &Moment, standing: &Standing, texts: &[String]) -> Value {
    let step = |(step, text): (&crate::store::query::StandingStep, &String)| {
        let (execution, executed, outcome) = match &step.execution {
            Some((id, version, outcome)) => (Some(id), Some(version), Some(outcome)),
            None => (None, None, None),
        };
        json!({
            "id": step.step,
            "version": step.version,
            "source": text,
            "execution": execution,
            "executed_version": executed,
            "outcome": outcome,
        })
    };
    let value = |value: &crate::store::query::StandingValue| {
        json!({
            "name": value.subject.text(),
            "file": matches!(value.subject, Subject::File(_)),
            "digest": value.digest,
            "written_by": value.step,
            "execution": value.execution,
        })
    };
    json!({
        "at": at,
        "moment": when.to_string(),
        "steps": standing.steps.iter().zip(texts).map(step).collect::<Vec<_>>(),
        "values": standing.values.iter().map(value).collect::<Vec<_>>(),
    })
}

fn standing_told(standing: &Standing, texts: &[String], palette: Palette) -> String {
    let mut told = String::new();
    for (step, text) in standing.steps.iter().zip(texts) {
        let id = plain_line(step.step.as_str());
        let _ = write!(told, "{}  {}", palette.paint(Role::Name, &*id), step.version);
        if let Some((_, version, outcome)) = &step.execution {
            let word = match outcome {
                crate::step::Outcome::Done => "ran",
                crate::step::Outcome::Failed => "failed",
                crate::step::Outcome::Interrupted => "was interrupted",
                crate::step::Outcome::Recorded => "recorded",
            };
            let _ = write!(told, ", {version} {word}");
        }
        told.push('\n');
        for line in plain(text).lines() {
            let _ = writeln!(told, "    {line}");
        }
    }
    if !standing.values.is_empty() {
        let _ = writeln!(told, "{}", palette.paint(Role::Heading, "values"));
    }
    for value in &standing.values {
        let name = plain_line(value.subject.text()).into_owned();
        let _ = writeln!(told, "    {}  {} by {}", palette.paint(Role::Name, name), value.digest.short(), value.step);
    }
    told
}

fn list<'a>(rows: impl Iterator<Item = (&'a StepId, String)>, palette: Palette) -> String {
    let mut text = String::new();
    for (step, note) in rows {
        let id = plain_line(step.as_str());
        let _ = writeln!(text, "{}  {}", palette.paint(Role::Name, &*id), palette.paint(Role::Dim, plain_line(&note)));
    }
    if text.is_empty() { "nothing\n".to_owned() } else { text }
}

fn touch(touch: &Touch) -> Value {
    json!({
        "id": touch.step,
        "execution": touch.execution,
        "version": touch.version,
        "when": exact(touch.started),
        "latest": touch.latest,
        "changed": touch.changed,
        "digest": touch.digest,
    })
}

fn touch_told(touch: &Touch, verb: &str, palette: Palette) -> String {
    let id = plain_line(touch.step.as_str()).into_owned();
    let changed = if touch.changed { ", changed" } else { "" };
    let step = palette.paint(Role::Name, id);
    format!("{}  {step} {} {verb}{changed}\n", palette.paint(Role::Dim, local(touch.started)), touch.version)
}

fn diff(before: &str, after: &str, store: &Reader, context: &Context) -> Result<ExitCode, CliError> {
    if Path::new(before).is_dir() && Path::new(after).is_dir() {
        let (left, right) = (Reader::open(Path::new(before))?, Reader::open(Path::new(after))?);
        let difference = left.diff_with(&Moment::Now, &right, &Moment::Now)?;
        return tell(&difference, &left, &right, context);
    }
    let (before, after) = (moment(before)?, moment(after)?);
    if let (Moment::Execution(before), Moment::Execution(after)) = (&before, &after) {
        let difference = store.diff_executions(*before, *after)?;
        return context.answer(&executions_document(&difference), |palette| executions_told(&difference, palette));
    }
    let (before, after) = (store.whole(&before)?, store.whole(&after)?);
    tell(&store.diff(&before, &after)?, store, store, context)
}

fn tell(difference: &Difference, left: &Reader, right: &Reader, context: &Context) -> Result<ExitCode, CliError> {
    let mut steps = Vec::new();
    let mut told = String::new();
    for step in &difference.steps {
        let diff = left.source_diff(step, right)?;
        let side = |at: &Option<crate::store::query::StepAt>| {
            at.as_ref().map(
                |at| json!({"id": at.step, "version": at.version, "execution": at.execution, "outcome": at.outcome}),
            )
        };
        steps.push(json!({
            "before": side(&step.before),
            "after": side(&step.after),
            "source": step.source,
            "output": step.output,
            "outcome": step.outcome,
            "diff": diff,
        }));
        let id = step.after.as_ref().or(step.before.as_ref()).map(|at| at.step.to_string()).unwrap_or_default();
        let mut what = Vec::new();
        what.extend(step.before.is_none().then_some("new"));
        what.extend(step.after.is_none().then_some("gone"));
        what.extend(step.source.then_some("text"));
        what.extend(step.output.then_some("output"));
        what.extend(step.outcome.then_some("outcome"));
        let _ = writeln!(told, "{}  {}", plain_line(&id), what.join(", "));
        for line in plain(&diff).lines() {
            let _ = writeln!(told, "    {line}");
        }
    }
    let side = |side: &Option<(crate::step::Digest, StepId)>| {
        side.as_ref().map(|(digest, step)| json!({"digest": digest, "written_by": step}))
    };
    let mut values = Vec::new();
    for value in &difference.values {
        values.push(json!({
            "name": value.subject.text(),
            "before": side(&value.before),
            "after": side(&value.after),
        }));
        let _ = writeln!(told, "{}: another value", plain_line(value.subject.text()));
    }
    let names = |set: &BTreeSet<Subject>| set.iter().map(|subject| subject.text().to_string()).collect::<Vec<_>>();
    let mut edges = Vec::new();
    for edge in &difference.edges {
        let (before, after) = (names(&edge.before), names(&edge.after));
        let _ = writeln!(told, "{} -> {}: {} | {}", edge.from, edge.to, before.join(", "), after.join(", "));
        edges.push(json!({"from": edge.from, "to": edge.to, "before": before, "after": after}));
    }
    if difference.is_empty() {
        told.push_str("no difference\n");
    }
    context.answer(&json!({"steps": steps, "values": values, "edges": edges}), |_| told)
}

fn executions_document(difference: &ExecutionDifference) -> Value {
    let sides =
        |map: &std::collections::BTreeMap<Subject, (Option<crate::step::Digest>, Option<crate::step::Digest>)>| {
            map.iter()
                .map(|(subject, (before, after))| json!({"name": subject.text(), "before": before, "after": after}))
                .collect::<Vec<_>>()
        };
    json!({
        "source": difference.source,
        "stdout": difference.stdout,
        "stderr": difference.stderr,
        "displays": difference.displays,
        "error": difference.error,
        "reads": sides(&difference.reads),
        "writes": sides(&difference.writes),
    })
}

fn executions_told(difference: &ExecutionDifference, palette: Palette) -> String {
    let mut told = String::new();
    let parts = [
        ("text", &difference.source),
        ("standard output", &difference.stdout),
        ("standard error", &difference.stderr),
        ("shown", &difference.displays),
    ];
    for (title, diff) in parts.into_iter().filter(|(_, diff)| !diff.is_empty()) {
        let _ = writeln!(told, "{}\n{}", palette.paint(Role::Heading, title), plain(diff).trim_end());
    }
    if let Some((before, after)) = &difference.error {
        let word =
            |side: &Option<String>| side.as_deref().map_or("no error".to_owned(), |text| plain_line(text).into_owned());
        let _ = writeln!(told, "error: {} | {}", word(before), word(after));
    }
    for (title, map) in [("read", &difference.reads), ("wrote", &difference.writes)] {
        for subject in map.keys() {
            let _ = writeln!(told, "{title} {}: another value", plain_line(subject.text()));
        }
    }
    if told.is_empty() { "no difference\n".to_owned() } else { told }
}

fn credits(rows: impl Iterator<Item = (String, Credit)>, context: &Context) -> Result<ExitCode, CliError> {
    let rows: Vec<(String, Credit)> = rows.collect();
    let row = |(name, credit): &(String, Credit)| {
        json!({
            "name": name,
            "proposed": credit.proposed,
            "accepted": credit.accepted,
            "reverted": credit.reverted,
            "rejected": credit.rejected,
            "open": credit.open,
            "versions": credit.versions,
            "tests_fixed": credit.tests_fixed,
            "tests_broken": credit.tests_broken,
        })
    };
    let told = |palette: Palette| {
        let mut text = String::new();
        for (name, credit) in &rows {
            let name = plain_line(name).into_owned();
            let _ = writeln!(
                text,
                "{}  {} proposed, {} accepted, {} reverted, {} rejected, {} open; {} texts; tests: {} fixed, {} broken",
                palette.paint(Role::Name, name),
                credit.proposed,
                credit.accepted,
                credit.reverted,
                credit.rejected,
                credit.open,
                credit.versions,
                credit.tests_fixed.len(),
                credit.tests_broken.len(),
            );
        }
        if text.is_empty() { "nobody proposed anything\n".to_owned() } else { text }
    };
    context.answer(&json!({"by": rows.iter().map(row).collect::<Vec<_>>()}), told)
}
