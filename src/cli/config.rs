//! `reweave config`: the settings in force, and where each comes from.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::{CliError, Context, Palette, Role};
use crate::run::{
    Area, CONFIG_FILE, Claim, Config, ConfigProblem, Decision, Origin, Preset, RunDir, Setting, Subject, Trust,
    UserDirs, Value, Waiting, choose_interpreter, show,
};
use crate::step::{Digest, plain_line};

/// Show the settings in force, and where each comes from
///
/// Settings come from the defaults, your own `config.toml`, the run's `reweave.toml` (which can only tighten what you
/// allow), the environment (`REWEAVE_SEED` for `seed`) and flags, in this order.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// Only settings that are not as they are by default
    #[arg(long)]
    changed: bool,

    /// Approve what the run asks for and does not get alone: its `reweave.toml` as it is now, and a `.venv` beside it
    #[arg(long, conflicts_with = "revoke")]
    approve: bool,

    /// Take every approval for this run back
    #[arg(long)]
    revoke: bool,
}

#[derive(Debug, Serialize)]
struct Document<'c> {
    user_file: Option<PathBuf>,
    run_file: PathBuf,
    settings: Vec<Line<'c>>,
    policy: Policy,
    waiting: &'c [Waiting],
    environment_waiting: Option<PathBuf>,
    problems: &'c [ConfigProblem],
}

#[derive(Debug, Serialize)]
struct Line<'c> {
    name: &'static str,
    value: &'c Value,
    origin: &'c Origin,
    about: &'static str,
    default: &'static str,
}

#[derive(Debug, Serialize)]
struct Policy {
    preset: Preset,
    /// What is done where no rule names the target.
    areas: Vec<(Area, Decision)>,
}

/// Lists, approves or revokes.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let run = RunDir::open(&args.dir).map_err(|error| CliError::new(error.to_string()).hint(error.hint()))?;
    let user = UserDirs::from_env();
    let before = Config::load(&run, user.as_ref(), Vec::new());
    let passed_over = choose_interpreter(&run, &before, user.as_ref()).ok().and_then(|chosen| chosen.passed_over);
    if args.approve || args.revoke {
        let user = user.as_ref().ok_or_else(|| {
            CliError::new("there is no home directory to keep approvals in").hint("set HOME, or REWEAVE_HOME")
        })?;
        let trust = Trust::new(user);
        let kept = if args.approve {
            let environment = passed_over.as_ref().map(|over| (&over.claim, show(&over.environment)));
            let file = before.claim.as_ref().filter(|_| !before.waiting.is_empty());
            approve(&trust, file.map(|claim| (claim, CONFIG_FILE.to_owned())).into_iter().chain(environment), context)
        } else {
            revoke(&trust, &run)
        };
        kept.map_err(|error| {
            CliError::new(format!("approvals can't be kept in {}: {error}", show(user.state())))
                .hint("make it a directory where you may write")
        })?;
    }
    let config = Config::load(&run, user.as_ref(), Vec::new());
    let still_over = choose_interpreter(&run, &config, user.as_ref()).ok().and_then(|chosen| chosen.passed_over);
    let shown = |setting: &Setting| !args.changed || setting.origin != Origin::Default;
    let document = Document {
        user_file: user.as_ref().map(UserDirs::config_file),
        run_file: run.shown().join(CONFIG_FILE),
        settings: config
            .settings()
            .filter(|(_, setting)| shown(setting))
            .map(|(key, setting)| Line {
                name: key.name,
                value: &setting.value,
                origin: &setting.origin,
                about: key.about,
                default: key.default,
            })
            .collect(),
        policy: Policy {
            preset: config.policy.preset(),
            areas: Area::ALL.iter().map(|area| (*area, config.policy.default_of(*area))).collect(),
        },
        waiting: &config.waiting,
        environment_waiting: still_over.map(|over| over.environment),
        problems: &config.problems,
    };
    context.answer(&document, |palette| document.text(palette))?;
    Ok(if config.errors().next().is_some() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn approve<'c>(
    trust: &Trust,
    claims: impl Iterator<Item = (&'c Claim, String)>,
    context: &Context,
) -> std::io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let mut any = false;
    for (claim, what) in claims {
        trust.approve(claim, now)?;
        context.message(format!("approved {what} as it is now"));
        any = true;
    }
    if !any {
        context.message("nothing waits for an approval");
    }
    Ok(())
}

fn revoke(trust: &Trust, run: &RunDir) -> std::io::Result<()> {
    [Subject::Config, Subject::Environment].into_iter().try_for_each(|subject| {
        // An approval is found by run and subject: whatever content it was given for goes.
        trust.revoke(&Claim { run: run.path().to_owned(), subject, content: Digest::of([]) })
    })
}

impl Document<'_> {
    fn text(&self, palette: Palette) -> String {
        let mut text = String::new();
        let shown: Vec<(String, String)> = self
            .settings
            .iter()
            .map(|line| (format!("{} = {}", line.name, line.value), line.origin.to_string()))
            .collect();
        let width = shown.iter().map(|(setting, _)| setting.chars().count()).max().unwrap_or_default().min(48);
        for ((setting, origin), line) in shown.iter().zip(&self.settings) {
            let role = if *line.origin == Origin::Default { Role::Dim } else { Role::Name };
            let setting = plain_line(setting);
            let _ = writeln!(text, "{setting:width$}  {}", palette.paint(role, plain_line(origin)));
        }
        let areas: Vec<String> =
            self.policy.areas.iter().map(|(area, decision)| format!("{} {decision}", area.word())).collect();
        let _ =
            writeln!(text, "\n{} {}: {}", palette.paint(Role::Heading, "policy"), self.policy.preset, areas.join(", "));
        if !self.waiting.is_empty() || self.environment_waiting.is_some() {
            let _ = writeln!(text, "\n{}", palette.paint(Role::Warn, "not in force without your approval"));
            for Waiting { asks, line, .. } in self.waiting {
                let _ = writeln!(text, "  {}  {CONFIG_FILE}:{line}", plain_line(asks));
            }
            if let Some(environment) = &self.environment_waiting {
                let _ = writeln!(text, "  the interpreter of {}", show(environment));
            }
            let _ = writeln!(text, "  {}", palette.paint(Role::Dim, "if you trust it: reweave config --approve"));
        }
        if !self.problems.is_empty() {
            let _ = writeln!(text, "\n{}", palette.paint(Role::Bad, "wrong in the settings"));
            for problem in self.problems {
                let _ = writeln!(text, "  {problem}");
            }
        }
        text
    }
}
