//! `reweave patch try`: patches run on the side, and what they would do.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::shapes::{duration, millis};
use super::super::{CliError, Context, Palette, Role};
use super::choose::Chosen;
use super::{number, open, patch, refusal};
use crate::step::{Patch, PatchId, Status, plain_line};
use crate::workbench::{Command, Event, TrialStep, TrialView};

/// Run patches on the side, and show what they would do
///
/// The patched steps and what depends on them run in forks beside the untouched run, on a copy of its files. Several
/// patches are tried at once and set side by side. Nothing of the run is changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Patches by number; all that wait and have a place where none is named
    #[arg(value_name = "ID", value_parser = number)]
    ids: Vec<PatchId>,

    #[command(flatten)]
    chosen: Chosen,

    /// One JSON object a line as things happen; the document comes last
    #[arg(long)]
    events: bool,
}

/// A patch and what its trial came to.
struct Outcome {
    patch: Arc<Patch>,
    trial: Result<Arc<TrialView>, CliError>,
}

/// Tries.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = open(&args.dir, context)?;
    let mut ids = args.ids.clone();
    if ids.is_empty() && args.chosen.hunk.is_empty() && args.chosen.lines.is_empty() {
        let waiting = session.snapshot().patches.iter().filter(|row| row.state.may_be_tried());
        ids = waiting.map(|row| row.id).collect();
    }
    let mut patches = Vec::new();
    let mut commands = Vec::new();
    for id in args.chosen.patches(&ids)? {
        let found = patch(&mut session, id, context)?;
        commands.push(Command::Try { patch: id, files: args.chosen.of(&found)? });
        patches.push(found);
    }
    let mut trials: Vec<(PatchId, Arc<TrialView>)> = Vec::new();
    let results = session.ask_all(commands, context, |event| {
        if let Event::Tried { patch, trial } = event {
            if args.events {
                context.print_json(&json!({"event": "tried", "patch": patch, "trial": trial}))?;
            }
            trials.push((*patch, Arc::clone(trial)));
        }
        Ok(())
    })?;
    let outcomes: Vec<Outcome> = patches
        .into_iter()
        .zip(results)
        .map(|(patch, result)| {
            let found = trials.iter().find(|(id, _)| *id == patch.id).map(|(_, trial)| Arc::clone(trial));
            let lost = || CliError::new("the workbench gave no answer").hint("please report this");
            let trial = result.map_err(refusal).and_then(|_| found.ok_or_else(lost));
            Outcome { patch, trial }
        })
        .collect();
    let all: Vec<Value> = outcomes.iter().map(document).collect();
    let mut whole = all.first().cloned().unwrap_or_else(|| json!({}));
    if let Some(object) = whole.as_object_mut() {
        object.insert("patches".to_owned(), json!(all));
        object.insert("groups".to_owned(), json!(groups(&outcomes)));
    }
    if context.json || args.events {
        context.print_json(&whole)?;
    } else {
        context.print(page(&outcomes, context.palette))?;
    }
    let failed = outcomes.iter().find_map(|outcome| outcome.trial.as_ref().err());
    match failed {
        Some(error) if outcomes.len() == 1 => Err(error.clone()),
        Some(_) => Ok(ExitCode::from(1)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Patches that do the same to every step, together.
fn groups(outcomes: &[Outcome]) -> Vec<Vec<PatchId>> {
    let mut groups: Vec<(Option<&TrialView>, Vec<PatchId>)> = Vec::new();
    for outcome in outcomes {
        let trial = outcome.trial.as_deref().ok();
        let like = |(other, _): &&mut (Option<&TrialView>, Vec<PatchId>)| {
            other.zip(trial).is_some_and(|(other, trial)| other.is_like(trial))
        };
        match groups.iter_mut().find(like) {
            Some((_, ids)) => ids.push(outcome.patch.id),
            None => groups.push((trial, vec![outcome.patch.id])),
        }
    }
    groups.into_iter().map(|(_, ids)| ids).collect()
}

fn document(outcome: &Outcome) -> Value {
    let patch = &outcome.patch;
    let trial = match &outcome.trial {
        Ok(trial) => trial,
        Err(error) => {
            return json!({"patch": patch.id, "title": patch.title, "error": error.what(), "hint": error.remedy()});
        }
    };
    let (tests, before, after) = trial.tests();
    let (failing_before, failing_after) = trial.failures();
    let step = |step: &TrialStep| {
        json!({
            "id": step.id,
            "test": step.test,
            "before": step.before,
            "after": step.after,
            "output_before": step.output_before,
            "output_after": step.output_after,
            "values": step.values,
            "effects": step.effects,
        })
    };
    json!({
        "patch": patch.id,
        "title": patch.title,
        "stale": trial.stale,
        "steps": trial.steps.iter().map(step).collect::<Vec<_>>(),
        "tests": {"all": tests, "pass_before": before, "pass_after": after},
        "failures": {"before": failing_before, "after": failing_after},
        "gates": trial.gates,
        "passes": trial.refusal().is_none(),
        "remarks": trial.remarks,
        "isolated": trial.isolated,
        "duration_ms": millis(trial.duration_us),
    })
}

fn page(outcomes: &[Outcome], palette: Palette) -> String {
    let mut page = String::new();
    let groups = groups(outcomes);
    let of = |id: PatchId| outcomes.iter().find(|outcome| outcome.patch.id == id);
    if outcomes.len() > 1 {
        page.push_str(&table(&groups, outcomes, palette));
        page.push('\n');
    }
    for group in &groups {
        let Some(first) = group.first().and_then(|id| of(*id)) else { continue };
        let names: Vec<String> = group.iter().map(ToString::to_string).collect();
        let head = format!("{}  {}", names.join(" = "), first.patch.title);
        let _ = writeln!(page, "{}", palette.paint(Role::Heading, plain_line(&head)));
        match &first.trial {
            Ok(trial) => page.push_str(&told(trial, palette)),
            Err(error) => {
                let _ = writeln!(page, "  {}", palette.paint(Role::Bad, plain_line(error.what())));
            }
        }
    }
    page
}

/// The candidates side by side, equal effects merged.
fn table(groups: &[Vec<PatchId>], outcomes: &[Outcome], palette: Palette) -> String {
    let mut text =
        format!("{:10}  {:>5}  {:>9}  {:>9}  {:>8}  accepted\n", "patch", "stale", "failing", "tests", "time");
    for group in groups {
        let Some(first) = outcomes.iter().find(|outcome| group.first() == Some(&outcome.patch.id)) else { continue };
        let names: Vec<String> = group.iter().map(ToString::to_string).collect();
        let names = palette.paint(Role::Heading, format!("{:10}", names.join(" = "))).to_string();
        let Ok(trial) = &first.trial else {
            let _ = writeln!(text, "{names}  {}", palette.paint(Role::Bad, "not tried"));
            continue;
        };
        let (tests, _, passing) = trial.tests();
        let (before, after) = trial.failures();
        let failing = format!("{:>9}", format!("{before} → {after}"));
        let failing = palette.paint(if after < before { Role::Good } else { Role::Bad }, failing).to_string();
        let tests_text = format!("{:>9}", format!("{passing} of {tests}"));
        let tests_text = palette.paint(if passing == tests { Role::Good } else { Role::Bad }, tests_text).to_string();
        let may = match trial.refusal() {
            None => palette.paint(Role::Good, "may be".to_owned()).to_string(),
            Some(why) => palette.paint(Role::Bad, plain_line(why).into_owned()).to_string(),
        };
        let _ = writeln!(
            text,
            "{names}  {:>5}  {failing}  {tests_text}  {:>8}  {may}",
            trial.stale.len(),
            duration(trial.duration_us),
        );
    }
    text
}

fn told(trial: &TrialView, palette: Palette) -> String {
    let mut text = String::new();
    for remark in &trial.remarks {
        let _ = writeln!(text, "  {} {}", palette.paint(Role::Warn, "!"), plain_line(remark));
    }
    for step in &trial.steps {
        let same = step.before == step.after && step.output_before == step.output_after && step.values.is_empty();
        let change = if step.before == step.after {
            step.after.to_string()
        } else {
            format!("{} → {}", step.before, step.after)
        };
        let kind = if step.test { "  test" } else { "" };
        let note = if same && step.after == Status::Fresh { "  as before" } else { "" };
        let id = palette.paint(Role::Name, plain_line(step.id.as_str())).to_string();
        let _ = writeln!(text, "  {id}  {}{kind}{note}", palette.paint(step.after, change));
        let diff = similar::TextDiff::from_lines(&step.output_before, &step.output_after);
        for change in diff.iter_all_changes().filter(|_| !same).take(60) {
            let line = plain_line(change.value().trim_end_matches(['\r', '\n'])).into_owned();
            let _ = match change.tag() {
                similar::ChangeTag::Equal => continue,
                similar::ChangeTag::Delete => writeln!(text, "    {}", palette.paint(Role::Bad, format!("- {line}"))),
                similar::ChangeTag::Insert => writeln!(text, "    {}", palette.paint(Role::Good, format!("+ {line}"))),
            };
        }
        for value in &step.values {
            let form = |form: &Option<String>| match form {
                Some(form) => plain_line(form).into_owned(),
                None => "nothing".to_owned(),
            };
            let _ = writeln!(text, "    {}: {} → {}", plain_line(&value.name), form(&value.before), form(&value.after));
        }
        for effect in &step.effects {
            let _ = writeln!(text, "    {}", palette.paint(Role::Dim, plain_line(effect)));
        }
    }
    for gate in &trial.gates {
        let (role, word) = if gate.passed { (Role::Good, "passes") } else { (Role::Bad, "does not pass") };
        let _ = writeln!(text, "  {} {}", plain_line(&gate.name), palette.paint(role, word));
    }
    text
}
