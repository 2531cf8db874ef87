//! A command's talk with the workbench on its run: ask, listen until the answer, stop when interrupted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::{CliError, Context, Role};
use crate::step::{Answer, Question, StepId, Wants, plain};
use crate::workbench::{self, Command, Event, Failure, Handle, Level, Options, Snapshot, Summary};

/// The workbench on a run, as one command uses it.
#[derive(Debug)]
pub(super) struct Session {
    handle: Handle,
    events: Receiver<Event>,
    dir: PathBuf,
    snapshot: Arc<Snapshot>,
    interrupted: Arc<AtomicBool>,
    /// Whether a person can be asked at this end.
    terminal: bool,
}

impl Session {
    /// Opens the run in `dir`, or joins the workbench that has it open already, and waits until it is known.
    pub(super) fn open(dir: &Path, options: Options, context: &Context) -> Result<Self, CliError> {
        let terminal = options.answered;
        let (handle, events) = workbench::open(dir, options)?;
        let interrupted = Arc::new(AtomicBool::new(false));
        watch_signals(&handle, &interrupted);
        let mut session = Self { handle, events, dir: dir.to_owned(), snapshot: Arc::default(), interrupted, terminal };
        session.wait_for(context, |event| matches!(event, Event::Snapshot(_)).then_some(()))?;
        for problem in &session.snapshot.problems {
            notice(context, problem.level, &format!("{}: {}; {}", problem.path, problem.what, problem.remedy));
        }
        Ok(session)
    }

    /// The run as it was told last.
    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same, of a run that has steps.
    pub(super) fn steps(&self) -> Result<&Snapshot, CliError> {
        match &self.snapshot.nothing {
            Some(nothing) => Err(nothing.clone().into()),
            None => Ok(&self.snapshot),
        }
    }

    /// The run's directory as it was given.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether a person asked to stop.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Asks, hands every event on the way to `each`, and waits for the end.
    pub(super) fn ask(
        &mut self,
        command: Command,
        context: &Context,
        mut each: impl FnMut(&Event) -> Result<(), CliError>,
    ) -> Result<Summary, CliError> {
        let asked = self.handle.send(command);
        let result = self.wait_for(context, |event| match event {
            Event::Done { ticket, result } if *ticket == asked => Some(Ok(result.clone())),
            event => each(event).err().map(Err),
        })??;
        match result {
            Ok(summary) => Ok(summary),
            Err(_) if self.is_interrupted() => Err(CliError::new("interrupted").status(130)),
            Err(Failure { what, hint }) => Err(Failure { what, hint }.into()),
        }
    }

    /// Asks several things at once, and gives each one's end in the order in which they were asked.
    pub(super) fn ask_all(
        &mut self,
        commands: Vec<Command>,
        context: &Context,
        mut each: impl FnMut(&Event) -> Result<(), CliError>,
    ) -> Result<Vec<Result<Summary, CliError>>, CliError> {
        let asked: Vec<_> = commands.into_iter().map(|command| self.handle.send(command)).collect();
        let mut ended: Vec<Option<Result<Summary, CliError>>> = asked.iter().map(|_| None).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        self.wait_for(context, |event| match event {
            Event::Done { ticket, result } => {
                let place = asked.iter().position(|asked| asked == ticket)?;
                if let Some(slot) = ended.get_mut(place) {
                    *slot = Some(result.clone().map_err(CliError::from));
                }
                ended.iter().all(Option::is_some).then_some(Ok(()))
            }
            event => each(event).err().map(Err),
        })??;
        if self.is_interrupted() {
            return Err(CliError::new("interrupted").status(130));
        }
        Ok(ended.into_iter().flatten().collect())
    }

    /// Asks for something that answers with a single event.
    pub(super) fn ask_for<T>(
        &mut self,
        command: Command,
        context: &Context,
        mut answer: impl FnMut(&Event) -> Option<T>,
    ) -> Result<T, CliError> {
        let mut found = None;
        self.ask(command, context, |event| {
            if found.is_none() {
                found = answer(event);
            }
            Ok(())
        })?;
        found.ok_or_else(|| CliError::new("the workbench gave no answer").hint("please report this"))
    }

    /// The id of the step that a person meant: its id, its path in the run, or the beginning of one id alone.
    pub(super) fn step(&self, text: &str) -> Result<StepId, CliError> {
        self.steps()?;
        let ids: Vec<&StepId> = self.snapshot.steps.iter().map(|row| &row.id).collect();
        find_step(&ids, text).map_err(|error| match error.remedy() {
            Some(_) => error,
            None => error.hint(format!("`reweave status {}` lists the steps", self.dir.display())),
        })
    }

    fn wait_for<T>(&mut self, context: &Context, mut done: impl FnMut(&Event) -> Option<T>) -> Result<T, CliError> {
        loop {
            let Ok(event) = self.events.recv() else {
                return Err(CliError::new("the workbench on this run ended").hint("ask again"));
            };
            match &event {
                Event::Snapshot(snapshot) => self.snapshot = Arc::clone(snapshot),
                Event::Notice { level, text } => notice(context, *level, text),
                Event::Asked(question) if self.terminal => answer_from_terminal(&self.handle, question.clone()),
                _ => {}
            }
            if let Some(answer) = done(&event) {
                return Ok(answer);
            }
            if matches!(event, Event::Closed) {
                return Err(CliError::new("the workbench on this run was closed").hint("ask again"));
            }
        }
    }
}

impl Drop for Session {
    /// No process is left: waits until the workbench has closed its own.
    fn drop(&mut self) {
        self.handle.send(Command::Close);
        while let Ok(event) = self.events.recv() {
            if matches!(event, Event::Closed) {
                break;
            }
        }
    }
}

/// Finds the step that a person meant among `ids`.
fn find_step(ids: &[&StepId], text: &str) -> Result<StepId, CliError> {
    let bare = text.strip_prefix("./").unwrap_or(text);
    let bare = bare.strip_suffix(".py").or_else(|| bare.strip_suffix(".sh")).unwrap_or(bare);
    let exact = ids.iter().find(|id| id.as_str() == bare || id.as_str() == text);
    if let Some(id) = exact {
        return Ok((*id).clone());
    }
    let begin: Vec<_> = ids.iter().filter(|id| !bare.is_empty() && id.as_str().starts_with(bare)).collect();
    match begin.as_slice() {
        [] => Err(CliError::new(format!("there is no step {text:?}"))),
        [id] => Ok((**id).clone()),
        [first, second, ..] => {
            Err(CliError::new(format!("{text:?} may be {first} or {second}")).hint("write more of it"))
        }
    }
}

/// Reads an answer from the terminal while the session goes on listening. The thread ends with the process, or with
/// the line that is typed.
fn answer_from_terminal(handle: &Handle, question: Question) {
    let handle = handle.clone();
    let _ = std::thread::Builder::new().name("answer".to_owned()).spawn(move || {
        loop {
            let mut typed = String::new();
            let answer = match std::io::stdin().read_line(&mut typed) {
                Ok(0) | Err(_) if question.wants == Wants::Line => Answer::End,
                Ok(0) | Err(_) => Answer::No,
                Ok(_) => match question.wants.read(typed.trim_end_matches(['\n', '\r'])) {
                    Some(answer) => answer,
                    None => {
                        eprintln!("answer {}", question.wants.words());
                        continue;
                    }
                },
            };
            handle.send(Command::Answer { question: question.id, answer });
            return;
        }
    });
}

/// A notice on standard error.
fn notice(context: &Context, level: Level, text: &str) {
    let paint = context.messages;
    let (role, word) = match level {
        Level::Hint | Level::Info => (Role::Dim, "note:"),
        Level::Warning => (Role::Warn, "warning:"),
        Level::Error => (Role::Bad, "error:"),
    };
    context.message(format!("{} {}", paint.paint(role, word), plain(text)));
}

/// The first interrupt or request to end stops what runs; a second one ends the process at once, and the
/// system takes the workers with it.
#[cfg(unix)]
fn watch_signals(handle: &Handle, interrupted: &Arc<AtomicBool>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let handle = handle.clone();
    let interrupted = Arc::clone(interrupted);
    // The thread ends with the process: a command lives no longer than its session.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if interrupted.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            handle.send(Command::Stop);
        }
    });
}

#[cfg(not(unix))]
fn watch_signals(_: &Handle, _: &Arc<AtomicBool>) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Result<String, String> {
        let ids: Vec<StepId> =
            ["01_load", "02_fit", "02_fit/01_a", "03"].iter().map(|id| id.parse().unwrap()).collect();
        let ids: Vec<&StepId> = ids.iter().collect();
        find_step(&ids, text).map(|id| id.to_string()).map_err(|error| error.what().to_owned())
    }

    #[test]
    fn a_step_is_found_by_what_people_type() {
        assert_eq!(find("01_load").unwrap(), "01_load");
        assert_eq!(find("./02_fit.py").unwrap(), "02_fit");
        assert_eq!(find("01").unwrap(), "01_load");
        assert_eq!(find("02_fit/").unwrap(), "02_fit/01_a");
        assert_eq!(find("02").unwrap_err(), "\"02\" may be 02_fit or 02_fit/01_a");
        assert_eq!(find("9").unwrap_err(), "there is no step \"9\"");
        assert_eq!(find("").unwrap_err(), "there is no step \"\"");
    }
}
