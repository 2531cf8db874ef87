//! `reweave replay`: steps marked stale, then the run brought up to date; or what that would do.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::report::{self, Telling};
use super::run::{How, perform, perform_and};
use super::session::Session;
use super::shapes::{duration, millis, reasons, why};
use super::{CliError, Context, Palette, Role, against, verify};
use crate::step::{StepId, plain_line};
use crate::workbench::{Command, Event, PlanAction, PlanRow};

/// Columns of what is laid side by side.
const WIDTH: usize = 110;

/// Run steps again, or see what would run
///
/// Marks a step (or all) stale and brings the run up to date. Without `--from` and `--all` nothing is
/// marked, as with `reweave run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Mark this step stale first
    #[arg(long, value_name = "STEP", conflicts_with = "all")]
    from: Option<String>,

    /// Bring the run up to date only as far as this step
    #[arg(long, value_name = "STEP")]
    until: Option<String>,

    /// Mark every step stale first
    #[arg(long)]
    all: bool,

    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Then run everything this many times on the side, to find steps that answer differently with the same
    /// inputs; they are marked as such
    #[arg(long, value_name = "N", conflicts_with = "dry_run")]
    check: Option<NonZeroU32>,

    /// Then compare what each step gave with what was recorded of it, and name the first that differs and the step
    /// that caused it; ends with 1 if one differs
    #[arg(long, conflicts_with_all = ["dry_run", "check"])]
    against_recording: bool,

    /// With `--against-recording`: addresses, times, durations, the order of sets, progress bars, temporary paths and
    /// numbers that are nearly equal count as differences too
    #[arg(long, requires = "against_recording")]
    strict: bool,

    #[command(flatten)]
    how: How,
}

/// Replays, or plans.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, args.how.options(), context)?;
    let find = |text: &Option<String>| text.as_ref().map(|text| session.step(text)).transpose();
    let (from, until) = (find(&args.from)?, find(&args.until)?);
    let ids: Vec<StepId> = session.snapshot().steps.iter().map(|row| row.id.clone()).collect();
    let as_far: Vec<StepId> =
        ids.iter().filter(|id| until.as_ref().is_none_or(|until| *id <= until)).cloned().collect();
    let steps = if until.is_some() { as_far.clone() } else { Vec::new() };
    if args.dry_run {
        let marked = if args.all { as_far } else { from.into_iter().collect() };
        let plan = session.ask_for(Command::Plan { steps, marked }, context, |event| match event {
            Event::Plan { entries, .. } => Some(entries.clone()),
            _ => None,
        })?;
        let reaches = |id: &StepId| {
            let row = session.snapshot().steps.iter().find(|row| row.id == *id);
            row.map(|row| row.reaches.clone()).unwrap_or_default()
        };
        let entry = |row: &PlanRow| entry(row, &reaches(&row.id));
        let document = json!({"plan": plan.iter().map(entry).collect::<Vec<_>>()});
        let run = plan.iter().filter(|row| row.action == PlanAction::Run).map(|row| &row.id);
        let outward = report::outward(run.map(|id| (id, reaches(id))));
        return context.answer(&document, |palette| table(&plan, palette) + &outward);
    }
    let command = match (from, args.all) {
        (None, false) => Command::Run { steps, retry_failed: false },
        (from, _) => Command::Replay { from, until },
    };
    let telling = Telling::new(context, args.how.events, ids.iter());
    if args.against_recording {
        let mut diverges = false;
        let done = perform_and(&mut session, command, telling, context, |session, document, context| {
            let found = against::against(session, args.strict)?;
            document["against_recording"] = found.document();
            diverges = found.diverges();
            Ok(Some(found.page(context.palette, WIDTH)))
        })?;
        return Ok(if diverges { ExitCode::from(1) } else { done });
    }
    let Some(check) = args.check else { return perform(&mut session, command, telling, context) };
    perform_and(&mut session, command, telling, context, |session, document, context| {
        let verified = verify::ask(session, Some(check), context)?;
        let times = check.get();
        document["checked"] = json!({"times": times, "answers_differently": verified.roots,
            "held_is_another": verified.steady, "differences": verified.differences, "nondeterministic": verified.nondeterministic});
        let names = |steps: &[StepId]| {
            let names: Vec<&str> = steps.iter().map(|id| id.as_str()).collect();
            plain_line(&names.join(", ")).into_owned()
        };
        let mut text = format!("run {times} more times on the side: ");
        text += &match (verified.roots.as_slice(), verified.steady.is_empty()) {
            ([], true) => "every step answered the same\n".to_owned(),
            ([], false) => "every step answered the same each time\n".to_owned(),
            (roots, _) => {
                format!("these answer differently with the same inputs, and are marked: {}\n", names(roots))
            }
        };
        if let [step, ..] = verified.steady.as_slice() {
            text += &format!(
                "what is held is not what all of these runs gave: {}; `reweave invalidate DIR {}` has it run again\n",
                names(&verified.steady),
                plain_line(step.as_str())
            );
        }
        Ok(Some(text))
    })
}

fn entry(row: &PlanRow, reaches: &[String]) -> serde_json::Value {
    json!({
        "id": row.id,
        "action": row.action,
        "certain": row.certain,
        "why": why(&row.why),
        "reasons": reasons(&row.why),
        "estimate_ms": row.estimate_us.map(millis),
        "reaches": reaches,
    })
}

fn table(plan: &[PlanRow], palette: Palette) -> String {
    let width = plan.iter().map(|row| row.id.as_str().chars().count()).max().unwrap_or(0).min(40);
    let mut text = String::new();
    for row in plan {
        let (role, word) = match (row.action, row.certain) {
            (PlanAction::Run, true) => (Role::Warn, "run"),
            (PlanAction::Run, false) => (Role::Warn, "run?"),
            (PlanAction::Carry, _) => (Role::Dim, "carry"),
            (PlanAction::Keep, true) => (Role::Dim, "keep"),
            (PlanAction::Keep, false) => (Role::Dim, "keep?"),
            (PlanAction::Blocked, _) => (Role::Bad, "blocked"),
        };
        let id = plain_line(row.id.as_str());
        let _ = write!(text, "{:width$}  {:8}", palette.paint(Role::Name, &*id), palette.paint(role, word));
        let estimate = match row.estimate_us {
            Some(0) => String::new(),
            Some(time) => duration(time),
            None => "?".to_owned(),
        };
        let _ = write!(text, " {estimate:>8}");
        if !row.why.is_empty() {
            let _ = write!(text, "  {}", palette.paint(Role::Dim, plain_line(&why(&row.why))));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let runs: Vec<&PlanRow> = plan.iter().filter(|row| row.action == PlanAction::Run).collect();
    let unknown = runs.iter().filter(|row| row.estimate_us.is_none()).count();
    let known: u64 = runs.iter().filter_map(|row| row.estimate_us).sum();
    let _ = write!(text, "{} of {} would run", runs.len(), plan.len());
    match (known, unknown) {
        (0, _) => {}
        (known, 0) => {
            let _ = write!(text, ", about {}", duration(known));
        }
        (known, unknown) => {
            let _ = write!(text, ", about {} and {unknown} never timed", duration(known));
        }
    }
    if runs.iter().any(|row| !row.certain) {
        text.push_str("; `?` depends on what others give");
    }
    text.push('\n');
    text
}
