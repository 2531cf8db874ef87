//! `reweave doctor`: what is in force on this machine and for this run, and what is not.
//!
//! # Architecture
//!
//! - [`Fact`]: one thing that was looked at, how it stands ([`Standing`]), and what to do about it. A [`Section`] is a
//!   list of them.
//! - `doctor/interpreter.rs`: the Python that would run the steps, and what its children may do here; found out by
//!   `doctor/probe.py`, which that Python executes.
//! - `doctor/walls.rs`: limits and the policy, each with whether something enforces it.
//! - `doctor/machine.rs`, `doctor/terminal.rs`, `doctor/directory.rs`: memory, limits and watches; the terminal; the
//!   run's directory with its settings and store.

mod directory;
mod interpreter;
mod machine;
mod terminal;
mod walls;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::{CliError, Context, Palette, Role};
use crate::run::{Config, RunDir, UserDirs};
use crate::step::plain_line;

/// Say what is in force and what is not
///
/// Looks at the interpreter, forking, limits, the sandbox, file watching, the terminal and the run's directory.
/// Changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// The Python interpreter: a path, or a name to look up
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
}

/// How a thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    /// As it should be.
    Ok,
    /// It protects the run now.
    InForce,
    /// The machine offers it, and nothing uses it.
    NotUsed,
    /// The machine does not offer it.
    Missing,
    /// It needs a person.
    Wrong,
    /// It could not be found out.
    Unknown,
}

impl Standing {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::InForce => "in force",
            Self::NotUsed => "not used",
            Self::Missing => "missing",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
        }
    }

    fn role(self) -> Role {
        match self {
            Self::Ok | Self::InForce => Role::Good,
            Self::NotUsed | Self::Unknown => Role::Dim,
            Self::Missing => Role::Warn,
            Self::Wrong => Role::Bad,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Fact {
    name: &'static str,
    standing: Standing,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Fact {
    fn new(name: &'static str, standing: Standing, says: impl Into<String>) -> Self {
        Self { name, standing, says: says.into(), remedy: None }
    }

    fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self::new(name, Standing::Ok, says)
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// What belongs together.
#[derive(Debug, Serialize)]
struct Section {
    name: &'static str,
    facts: Vec<Fact>,
}

#[derive(Debug, Serialize)]
struct Report {
    /// Whether nothing is wrong.
    ok: bool,
    sections: Vec<Section>,
}

/// Looks, and tells.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let run = RunDir::open(&args.dir).map_err(|error| CliError::new(error.to_string()).hint(error.hint()))?;
    let user = UserDirs::from_env();
    let flags = args.python.into_iter().map(|python| ("python".to_owned(), python)).collect();
    let config = Config::load(&run, user.as_ref(), flags);
    let run = run.excluding(config.run.exclude.clone());
    let (interpreter, probe) = interpreter::facts(&run, &config, user.as_ref());
    let sections = vec![
        Section { name: "interpreter", facts: interpreter },
        Section { name: "limits", facts: walls::limits(&config) },
        Section { name: "sandbox", facts: walls::sandbox(&config, probe.as_ref()) },
        Section { name: "machine", facts: machine::facts(&run) },
        Section { name: "terminal", facts: terminal::facts(&terminal::Environment::of_process()) },
        Section { name: "run", facts: directory::facts(&run, &config) },
    ];
    let ok = sections.iter().flat_map(|section| &section.facts).all(|fact| fact.standing != Standing::Wrong);
    let report = Report { ok, sections };
    context.answer(&report, |palette| report.text(palette))
}

impl Report {
    /// For people: a heading for each section, a line for each fact, and what to do below the facts that ask for it.
    fn text(&self, palette: Palette) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let _ = writeln!(text, "{}", palette.paint(Role::Heading, section.name));
            let width = section.facts.iter().map(|fact| fact.name.len()).max().unwrap_or_default();
            for Fact { name, standing, says, remedy } in &section.facts {
                let word = palette.paint(standing.role(), format!("{:8}", standing.word()));
                let _ = writeln!(text, "  {word}  {name:width$}  {}", plain_line(says));
                if let Some(remedy) = remedy {
                    let _ =
                        writeln!(text, "  {:8}  {:width$}  {}", "", "", palette.paint(Role::Dim, plain_line(remedy)));
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_each_fact_on_its_line_and_what_to_do_below_it() {
        let facts = vec![
            Fact::ok("python", "CPython 3.12.1"),
            Fact::new("landlock", Standing::NotUsed, "ABI 7\u{1b}[2J"),
            Fact::new("disk", Standing::Wrong, "full").remedy("free some space"),
        ];
        let report = Report { ok: false, sections: vec![Section { name: "machine", facts }] };
        insta::assert_snapshot!(report.text(Palette::PLAIN), @r"
        machine
          ok        python    CPython 3.12.1
          not used  landlock  ABI 7␛[2J
          wrong     disk      full
                              free some space
        ");
    }
}
