//! The command line: one file for each subcommand, human and JSON output.
//!
//! # Architecture
//!
//! - The table in this file: each subcommand, the file that answers it, and the group it is listed in.
//!   A subcommand's file has `Args` (whose comments are its help) and
//!   `pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError>`.
//! - [`Context`]: how to answer, and where; [`CliError`]: why not, and what to do about it.
//! - [`Palette`]: colour, where it is wanted.
//! - [`Faces`]: what the binary joins, since this layer knows neither the terminal interface nor MCP.

mod context;
mod error;
mod evolve;
mod export;
mod paint;

mod against;
mod by_hand;
mod files;
mod moments;
mod parameters;
mod report;
mod session;
mod shapes;

mod agent_context;
mod analyze;
mod answer;
mod apply;
mod completions;
mod config;
mod delete;
pub mod demo;
mod diagnose;
mod doctor;
mod gc;
mod graph;
mod import;
mod invalidate;
mod keys;
mod log;
mod man;
mod mcp;
mod move_step;
mod new;
mod open;
mod patch;
mod query;
mod redo;
mod rename;
mod repair;
mod replay;
mod restore;
mod run;
mod show;
mod state;
mod status;
mod stop;
mod undo;
mod verify;

pub use context::Context;
pub use error::CliError;
pub use keys::{KeyRow, KeyTable, KeysFace};
pub use paint::{Painted, Palette, Role};

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::step::plain;

/// Makes the enumeration of subcommands and what calls each: one line a command, `Variant => file`.
macro_rules! subcommands {
    ($($variant:ident => $file:ident,)*) => {
        #[derive(Debug, Subcommand)]
        enum Cmd {
            $($variant($file::Args),)*
        }

        impl Cmd {
            fn run(self, context: &Context) -> Result<ExitCode, CliError> {
                match self {
                    $(Self::$variant(args) => $file::run(args, context),)*
                }
            }
        }
    };
}

subcommands! {
    Open => open,
    Demo => demo,
    Run => run,
    Replay => replay,
    Status => status,
    State => state,
    Show => show,
    Diagnose => diagnose,
    Analyze => analyze,
    Graph => graph,
    Context => agent_context,
    Repair => repair,
    Evolve => evolve,
    Verify => verify,
    Invalidate => invalidate,
    Log => log,
    Query => query,
    New => new,
    Rename => rename,
    Move => move_step,
    Delete => delete,
    Restore => restore,
    Undo => undo,
    Redo => redo,
    Stop => stop,
    Answer => answer,
    Gc => gc,
    Import => import,
    Export => export,
    Apply => apply,
    Patch => patch,
    Mcp => mcp,
    Completions => completions,
    Config => config,
    Keys => keys,
    Doctor => doctor,
    Man => man,
}

/// A workbench for agent runs.
///
/// A run is a directory of Python steps that share one namespace. reweave shows the graph of those steps,
/// knows what each reads and writes, marks what a change makes stale, runs only that, and gives exactly what
/// an in-order execution of everything would give.
#[derive(Debug, Parser)]
#[command(name = "reweave", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Cmd>,

    #[command(flatten)]
    open: open::Args,

    /// Answer with one JSON document on one line
    #[arg(long, global = true)]
    json: bool,
}

/// What the command line can't do by itself, since layers beside it do it. The binary fills this in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faces {
    /// The terminal interface on a run.
    pub terminal: Option<open::TerminalFace>,
    /// The keys of the terminal interface.
    pub keys: Option<KeysFace>,
    /// The server for agents.
    pub agents: Option<mcp::AgentsFace>,
}

/// Runs the command line with the process's own arguments and streams.
pub fn main(faces: Faces) -> ExitCode {
    let cli = Cli::parse();
    let context = Context::new(cli.json, faces);
    let done = match cli.command {
        Some(command) => command.run(&context),
        None => open::run(cli.open, &context),
    };
    done.unwrap_or_else(|error| {
        if !error.is_quiet() {
            report(&error, &context);
        }
        ExitCode::from(error.exit_status())
    })
}

/// Prints an error as every command does: `error: …`, then `hint: …`.
fn report(error: &CliError, context: &Context) {
    context.message(format!("{} {}", context.messages.paint(Role::Bad, "error:"), plain(error.what())));
    if let Some(hint) = error.remedy() {
        context.message(format!("{} {}", context.messages.paint(Role::Name, "hint:"), plain(hint)));
    }
}

/// The command line as clap knows it, for completions and the manual page.
fn definition() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_commands_is_consistent() {
        definition().debug_assert();
    }
}
