//! What the interface has done outside: each effect performed, its outcome sent back as a message.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::{io, thread};

use super::app::document::Document;
use super::app::source::HighlightJob;
use super::app::steps::LaneJob;
use super::app::{Effect, Message, Model};
use super::inbox::Inbox;
use super::runtime::Happened;
use super::term::{Capabilities, Editor, Listener, Screen, Session, clipboard};
use crate::step::{Execution, Kind, StepId};
use crate::workbench::{Handle, Level};

/// Runs of fewer rows are laid out at once: that costs less than a frame.
const SMALL: usize = 400;

/// Everything that effects are performed with.
pub struct Errands {
    /// The run.
    pub handle: Handle,
    /// Where outcomes go.
    pub inbox: Inbox<Happened, Message>,
    /// The terminal.
    pub session: Session,
    /// What frames are drawn on.
    pub screen: Screen,
    /// The thread that listens to the keys.
    pub listener: Listener,
    /// The thread that highlights.
    pub colours: Sender<HighlightJob>,
    /// What the terminal can do.
    pub capabilities: Capabilities,
}

impl Errands {
    /// Performs an effect; says whether the interface ends by it.
    ///
    /// # Errors
    /// When the terminal can't be drawn on any more.
    pub fn perform(&mut self, effect: Effect, model: &Model) -> io::Result<bool> {
        match effect {
            Effect::Ask(command) => {
                self.handle.send(command);
            }
            Effect::Lay(job) => self.lay(job),
            Effect::Highlight(job) => {
                // When the thread is gone the text stays without colours.
                let _ = self.colours.send(job);
            }
            Effect::Compose(step, execution) => self.compose(step, execution),
            Effect::Hunt => self.inbox.ordinary(Message::Hunt),
            Effect::Edit(step, line) => {
                let ending = if model.run.row(&step).is_some_and(|row| row.kind == Kind::Shell) { "sh" } else { "py" };
                let path = model.run.snapshot.dir.join(format!("{step}.{ending}"));
                self.edit(&path, line)?;
                self.inbox.ordinary(Message::Edited(step));
            }
            Effect::EditText { name, text } => {
                let edited = self.edit_text(&name, &text)?;
                self.inbox.ordinary(Message::TextEdited(edited));
            }
            Effect::Copy(text) => self.copy(text),
            Effect::Mouse(on) => self.session.switch_mouse(on)?,
            Effect::Suspend => {
                let paused = self.listener.pause();
                let stopped = match paused {
                    Ok(()) => self.session.suspend()?,
                    Err(_) => false,
                };
                self.listener.resume()?;
                self.screen.forget()?;
                if !stopped {
                    self.tell(Level::Info, "there is no shell to come back from".to_owned());
                }
            }
            Effect::Redraw => self.screen.forget()?,
            Effect::Quit => return Ok(true),
        }
        Ok(false)
    }

    fn tell(&self, level: Level, text: String) {
        self.inbox.ordinary(Message::Told(level, text));
    }

    fn lay(&self, job: LaneJob) {
        let answer = |job: &LaneJob| Message::Laid { serial: job.serial, lanes: job.run().into() };
        if job.needs.len() < SMALL {
            self.inbox.ordinary(answer(&job));
            return;
        }
        let inbox = self.inbox.clone();
        let work = move || inbox.ordinary(answer(&job));
        if let Err(error) = thread::Builder::new().name("lanes".to_owned()).spawn(work) {
            self.tell(Level::Warning, format!("the graph can't be laid out: {error}"));
        }
    }

    fn compose(&self, step: StepId, execution: Arc<Execution>) {
        let inbox = self.inbox.clone();
        let work = move || inbox.ordinary(Message::Composed(step, Box::new(Document::of(execution))));
        if let Err(error) = thread::Builder::new().name("output".to_owned()).spawn(work) {
            self.tell(Level::Warning, format!("the output can't be shown: {error}"));
        }
    }

    fn edit(&mut self, path: &Path, line: usize) -> io::Result<()> {
        let Some(editor) = Editor::of_person() else {
            self.tell(Level::Error, "no editor is known: set VISUAL or EDITOR".to_owned());
            return Ok(());
        };
        if let Err(error) = self.listener.pause() {
            self.tell(Level::Error, format!("the keys can't be handed to {}: {error}", editor.name()));
            return Ok(());
        }
        let ended = self.session.lend(|| editor.run(path, Some(line)));
        self.listener.resume()?;
        self.screen.forget()?;
        match ended? {
            Ok(status) if status.success() => {}
            Ok(status) => self.tell(Level::Warning, format!("{} ended with {status}", editor.name())),
            Err(error) => self.tell(Level::Error, format!("{} does not start: {error}", editor.name())),
        }
        Ok(())
    }

    /// Opens a text in the editor, through a file that only the person can read.
    fn edit_text(&mut self, name: &str, text: &str) -> io::Result<Option<String>> {
        let ending = name.rsplit_once('.').map_or("txt", |(_, ending)| ending);
        let safe: String = ending.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let path = std::env::temp_dir().join(format!("reweave-{}-hunk.{safe}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
        if let Err(error) = written {
            self.tell(Level::Error, format!("{}: {error}", path.display()));
            return Ok(None);
        }
        let ended = self.edit(&path, 1);
        let after = std::fs::read_to_string(&path);
        // What was typed is taken already; a file that can't be removed is in nobody's way.
        let _ = std::fs::remove_file(&path);
        ended?;
        match after {
            Ok(after) => Ok(Some(after).filter(|after| after != text)),
            Err(error) => {
                self.tell(Level::Error, format!("{}: {error}", path.display()));
                Ok(None)
            }
        }
    }

    /// On a thread of its own, since a program that has the clipboard may take its time.
    fn copy(&self, text: String) {
        let inbox = self.inbox.clone();
        let ways = clipboard::ways(&self.capabilities, |name| std::env::var(name).ok());
        let work = move || {
            let (level, text) = match clipboard::copy(&text, &ways) {
                Ok(copied) if copied.may_be_cut => {
                    let text = format!("{} bytes sent to {}, which may cut so much", copied.bytes, copied.through);
                    (Level::Warning, text)
                }
                Ok(copied) => (Level::Info, format!("copied {} bytes through {}", copied.bytes, copied.through)),
                Err(error) => (Level::Error, format!("nothing was copied: {error}")),
            };
            inbox.ordinary(Message::Told(level, text));
        };
        if let Err(error) = thread::Builder::new().name("clipboard".to_owned()).spawn(work) {
            self.tell(Level::Error, format!("nothing was copied: {error}"));
        }
    }
}
