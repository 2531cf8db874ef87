//! `reweave patch add`: a patch taken in.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::super::{CliError, Context, Role};
use super::{open, standing};
use crate::step::{Author, PatchState, Provenance, plain_line};
use crate::workbench::{Command, Event};

/// Take a patch in, in any of the forms that agents write
///
/// It is placed where it surely goes and kept; nothing is written to any step. The same text is taken in once. The exit
/// status is 1 where it has no place.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The patch; `-` reads standard input
    file: PathBuf,

    /// The file meant where the patch names none, by its path in the run
    #[arg(long, value_name = "PATH")]
    target: Option<String>,

    /// The agent that made it, where the patch does not say
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// Largest patch that is taken in, in bytes.
const LARGEST: u64 = 64 << 20;

/// Takes it in.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let text = read(&args.file)?;
    let mut session = open(&args.dir, context)?;
    // The desk says when.
    let from = args.agent.map(|agent| Box::new(Provenance::new(Author::Agent(agent), 0)));
    let command = Command::AddPatch { text, target: args.target, from };
    let mut found = None;
    let summary = session.ask(command, context, |event| {
        if let Event::Patch(patch) = event {
            found = Some(Arc::clone(patch));
        }
        Ok(())
    })?;
    let patch = found.ok_or_else(|| CliError::new("the workbench gave no answer").hint("please report this"))?;
    let lost = matches!(patch.state, PatchState::Conflict | PatchState::Ambiguous | PatchState::Malformed);
    context.answer(&standing(&patch, &summary.text), |palette| {
        let role = if lost { Role::Bad } else { Role::Good };
        let mut text = format!("{}\n", palette.paint(role, plain_line(&summary.text)));
        for problem in &patch.problems {
            let _ = writeln!(text, "  {}", plain_line(problem));
        }
        text
    })?;
    Ok(ExitCode::from(u8::from(lost)))
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let unreadable = |error: io::Error| {
        CliError::new(format!("{}: {error}", path.display()))
            .hint("give a file that holds a patch, or - for standard input")
    };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > LARGEST {
        return Err(CliError::new(format!("{} is larger than 64 MB", path.display())).hint("send it in parts"));
    }
    Ok(bytes)
}
