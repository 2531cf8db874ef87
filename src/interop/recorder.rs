//! Turns the records of an agent's log into steps, notes and frames, in the order of the calls.
//!
//! A log names a call first and its result later, with other records between. What was called waits in a queue
//! until its result is there, so that steps come out in the order in which they were called, each with what it
//! gave. The queue is bounded: a call that is never answered comes out without a result.

use std::collections::{HashMap, VecDeque};

use super::naming::{numbered, slug, source_slug};
use super::notes::{bounded, page};
use super::{ImportError, ImportedFile, ImportedPatch, ImportedStep, Note, NoteKind, Place, Recorded, Sink, Warning};
use crate::step::{Author, Kind, Millis, Provenance, StepId, Tokens};

/// Most bytes of texts that wait for results in one frame.
const MOST_WAITING: usize = 32 << 20;

/// Most records that wait for results in one frame.
const MOST_ITEMS: usize = 4096;

/// Most bytes of notes that one step carries; more become a page of their own.
const MOST_NOTES: usize = 4 << 20;

/// Most frames: a log with more has its further calls in the frame that is open.
const MOST_FRAMES: usize = 10_000;

/// Where steps go: the run itself or a frame in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameRef(usize);

/// The run itself.
pub const TOP: FrameRef = FrameRef(0);

/// A code action.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Action {
    /// Python or shell.
    pub kind: Kind,
    /// Its text, as it was recorded.
    pub code: String,
    /// Who made it, when and why.
    pub origin: Origin,
    /// What its file is named after, where the code does not say.
    pub name: Option<String>,
    /// Steps that it needs, beyond what its names say.
    pub needs: Vec<StepId>,
    /// Whether it is not in the log but added by the import, so that the log's own steps can run.
    pub added: bool,
}

/// Who made something, when and why, as far as a log says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// When.
    pub at: Option<Millis>,
    /// With which model.
    pub model: Option<String>,
    /// In which call.
    pub call: Option<String>,
    /// At which cost.
    pub tokens: Option<Tokens>,
    /// Why, in the author's words.
    pub reason: Option<String>,
}

/// What a call gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// As the record of a step.
    pub recorded: Recorded,
    /// As a text, where the call was of a tool.
    pub text: Option<String>,
}

struct Frame {
    /// `012_review/`, empty at the top.
    prefix: String,
    number: usize,
    queue: VecDeque<Item>,
    waiting: usize,
    notes: Vec<Note>,
    notes_size: usize,
    returned: bool,
}

struct Item {
    serial: u64,
    ready: bool,
    size: usize,
    what: What,
}

enum What {
    Note(Note),
    Step(Box<Waiting>),
}

struct Waiting {
    id: StepId,
    action: Action,
    recorded: Option<Recorded>,
}

/// Takes an agent's records in the order of its log and hands steps to a sink.
pub struct Recorder<'s> {
    sink: &'s mut dyn Sink,
    agent: &'static str,
    frames: Vec<Frame>,
    calls: HashMap<String, (FrameRef, u64)>,
    serial: u64,
    unanswered: usize,
    strays: usize,
    cut: usize,
}

impl<'s> Recorder<'s> {
    /// For the log of `agent`.
    pub fn new(sink: &'s mut dyn Sink, agent: &'static str) -> Self {
        let top = Frame::new(String::new());
        Self { sink, agent, frames: vec![top], calls: HashMap::new(), serial: 0, unanswered: 0, strays: 0, cut: 0 }
    }

    /// Who made what this log records.
    pub fn author(&self) -> Author {
        Author::Agent(self.agent.to_owned())
    }

    /// Provenance from what a log says.
    pub fn provenance(&self, origin: &Origin) -> Provenance {
        Provenance {
            model: origin.model.clone(),
            call: origin.call.clone(),
            reason: origin.reason.clone(),
            tokens: origin.tokens,
            ..Provenance::new(self.author(), origin.at.unwrap_or_default())
        }
    }

    /// Tells of something that could not be taken as it is.
    pub fn warn(&mut self, place: Option<Place>, what: impl Into<String>) {
        self.sink.warn(Warning { place, what: what.into() });
    }

    /// Adds a note; an empty one is left out.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn note(&mut self, frame: FrameRef, kind: NoteKind, by: &str, text: &str) -> Result<(), ImportError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let text = self.bounded(text.to_owned());
        let note = Note { kind, by: by.to_owned(), text, result: None };
        self.push(frame, true, note.text.len(), What::Note(note)).map(drop)
    }

    /// Adds the use of a tool that is no step. With a call that will be answered, the answer is waited for.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn tool(&mut self, frame: FrameRef, name: &str, input: &str, answer: Answer<'_>) -> Result<(), ImportError> {
        let text = self.bounded(input.to_owned());
        let mut note = Note { kind: NoteKind::Tool, by: name.to_owned(), text, result: None };
        let call = match answer {
            Answer::Awaited(call) => Some(call),
            Answer::Known(given) => {
                note.result = given.and_then(|given| given.text).map(|text| self.bounded(text));
                None
            }
        };
        let serial = self.push(frame, call.is_none(), note.text.len(), What::Note(note))?;
        if let Some(call) = call {
            self.calls.insert(call.to_owned(), (frame, serial));
        }
        Ok(())
    }

    /// Adds a step and gives its id. With a call that will be answered, the answer is waited for.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn step(&mut self, frame: FrameRef, action: Action, answer: Answer<'_>) -> Result<StepId, ImportError> {
        let name = action.name.as_deref().map_or_else(|| source_slug(&action.code), slug);
        let id = self.next_id(frame, &name);
        let given_id = id.clone();
        let (call, recorded) = match answer {
            Answer::Awaited(call) => (Some(call.to_owned()), None),
            Answer::Known(given) => (None, given.map(|given| given.recorded)),
        };
        let size = action.code.len();
        let waiting = Box::new(Waiting { id, action, recorded });
        let serial = self.push(frame, call.is_none(), size, What::Step(waiting))?;
        if let Some(call) = call {
            self.calls.insert(call, (frame, serial));
        }
        Ok(given_id)
    }

    /// Says what the model call cost that made the newest steps of a frame: those that still wait and have no cost
    /// yet; the first of them bears it.
    pub fn cost(&mut self, frame: FrameRef, tokens: Tokens) {
        let Some(open) = self.frames.get_mut(frame.0) else { return };
        let unpaid = open.queue.iter_mut().rev().map_while(|item| match &mut item.what {
            What::Step(step) if step.action.origin.tokens.is_none() => Some(step),
            _ => None,
        });
        if let Some(step) = unpaid.last() {
            step.action.origin.tokens = Some(tokens);
        }
    }

    /// Answers a call. What answers no call that waits is kept as a note.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn settle(&mut self, call: &str, given: Given) -> Result<(), ImportError> {
        let Some((frame, serial)) = self.calls.remove(call) else {
            self.strays += 1;
            let text = given.text.unwrap_or_else(|| given.recorded.all_output());
            return self.note(TOP, NoteKind::Other, "result of an unknown call", &text);
        };
        let mut was_cut = false;
        if let Some(open) = self.frames.get_mut(frame.0)
            && let Some(item) = open.queue.iter_mut().find(|item| item.serial == serial)
        {
            item.ready = true;
            match &mut item.what {
                What::Note(note) => {
                    note.result = given.text.map(|text| {
                        let (text, cut) = bounded(text);
                        was_cut = cut;
                        text
                    });
                }
                What::Step(step) => step.recorded = Some(given.recorded),
            }
        }
        self.cut += usize::from(was_cut);
        self.drain(frame)
    }

    /// Whether a call waits for its answer.
    pub fn awaits(&self, call: &str) -> bool {
        self.calls.contains_key(call)
    }

    /// Says that a call will get no answer, and that nothing is wrong with that.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn ends_without(&mut self, call: &str) -> Result<(), ImportError> {
        let Some((frame, serial)) = self.calls.remove(call) else { return Ok(()) };
        let open = self.frames.get_mut(frame.0);
        if let Some(item) = open.and_then(|open| open.queue.iter_mut().find(|item| item.serial == serial)) {
            item.ready = true;
        }
        self.drain(frame)
    }

    /// Opens a frame in `parent`: a call that has steps of its own.
    pub fn frame(&mut self, parent: FrameRef, name: &str) -> FrameRef {
        if self.frames.len() >= MOST_FRAMES {
            return parent;
        }
        let prefix = format!("{}/", self.next_id(parent, &slug(name)));
        self.frames.push(Frame::new(prefix));
        FrameRef(self.frames.len() - 1)
    }

    /// Says what a frame returned.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn returned(&mut self, frame: FrameRef, text: &str) -> Result<(), ImportError> {
        let Some(open) = self.frames.get_mut(frame.0).filter(|open| !open.returned && !text.trim().is_empty()) else {
            return Ok(());
        };
        open.returned = true;
        let path = format!("{}return.md", open.prefix);
        self.sink.file(ImportedFile::beside(path, format!("{}\n", text.trim_end())))
    }

    /// Hands on a change to a file.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn patch(&mut self, patch: ImportedPatch) -> Result<(), ImportError> {
        self.sink.patch(patch)
    }

    /// Hands on a file.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn file(&mut self, file: ImportedFile) -> Result<(), ImportError> {
        self.sink.file(file)
    }

    /// Lets everything out that still waits, and tells what stayed without its other half.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> Result<(), ImportError> {
        for frame in 0..self.frames.len() {
            if let Some(open) = self.frames.get_mut(frame) {
                for item in open.queue.iter_mut().filter(|item| !item.ready) {
                    item.ready = true;
                    self.unanswered += 1;
                }
            }
            self.drain(FrameRef(frame))?;
        }
        for frame in &mut self.frames {
            if frame.notes.is_empty() {
                continue;
            }
            let name = if frame.returned { "notes.md" } else { "return.md" };
            let path = format!("{}{name}", frame.prefix);
            self.sink.file(ImportedFile::beside(path, page(&std::mem::take(&mut frame.notes))))?;
        }
        let mut tell = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => self.sink.warn(Warning::new(one)),
            _ => self.sink.warn(Warning::new(format!("{count} {many}"))),
        };
        tell(
            self.unanswered,
            "one call has no result: it was interrupted or is not in the log",
            "calls have no result: they were interrupted or are not in the log",
        );
        tell(
            self.strays,
            "one result answers no call in the log; it is kept as a note",
            "results answer no call in the log; they are kept as notes",
        );
        tell(
            self.cut,
            "one text of over 1 MiB that is no step's was cut",
            "texts of over 1 MiB that are no steps' were cut",
        );
        Ok(())
    }

    fn bounded(&mut self, text: String) -> String {
        let (text, cut) = bounded(text);
        self.cut += usize::from(cut);
        text
    }

    fn next_id(&mut self, frame: FrameRef, name: &str) -> StepId {
        let Some(open) = self.frames.get_mut(frame.0) else { return numbered(1, name) };
        open.number += 1;
        let id = numbered(open.number, name);
        format!("{}{id}", open.prefix).parse().unwrap_or(id)
    }

    fn push(&mut self, frame: FrameRef, ready: bool, size: usize, what: What) -> Result<u64, ImportError> {
        self.serial += 1;
        let serial = self.serial;
        if let Some(open) = self.frames.get_mut(frame.0) {
            open.waiting += size;
            open.queue.push_back(Item { serial, ready, size, what });
            while open.waiting > MOST_WAITING || open.queue.len() > MOST_ITEMS {
                // The oldest has waited longest: nothing of a log this long may hold up the rest.
                let Some(oldest) = open.queue.iter_mut().find(|item| !item.ready) else { break };
                oldest.ready = true;
                self.unanswered += 1;
                let serial = oldest.serial;
                self.calls.retain(|_, (_, waiting)| *waiting != serial);
                open.waiting = open.waiting.saturating_sub(oldest.size);
                oldest.size = 0;
                if open.queue.iter().all(|item| item.ready) {
                    break;
                }
            }
        }
        self.drain(frame)?;
        Ok(serial)
    }

    /// Lets out what is ready at the front of a frame's queue.
    fn drain(&mut self, frame: FrameRef) -> Result<(), ImportError> {
        while let Some(open) = self.frames.get_mut(frame.0)
            && open.queue.front().is_some_and(|item| item.ready)
            && let Some(item) = open.queue.pop_front()
        {
            open.waiting = open.waiting.saturating_sub(item.size);
            match item.what {
                What::Note(note) => {
                    open.notes_size += note.text.len() + note.result.as_ref().map_or(0, String::len);
                    open.notes.push(note);
                    if open.notes_size > MOST_NOTES {
                        self.spill(frame)?;
                    }
                }
                What::Step(step) => {
                    // What was said belongs to the agent's own step, not to one that was put before it.
                    let notes = if step.action.added { Vec::new() } else { std::mem::take(&mut open.notes) };
                    open.notes_size = if step.action.added { open.notes_size } else { 0 };
                    self.emit(*step, notes)?;
                }
            }
        }
        Ok(())
    }

    /// Lays notes down as a page of their own.
    fn spill(&mut self, frame: FrameRef) -> Result<(), ImportError> {
        let id = self.next_id(frame, "notes");
        let Some(open) = self.frames.get_mut(frame.0) else { return Ok(()) };
        open.notes_size = 0;
        let notes = std::mem::take(&mut open.notes);
        self.sink.file(ImportedFile::beside(format!("{id}.md"), page(&notes)))
    }

    fn emit(&mut self, step: Waiting, mut notes: Vec<Note>) -> Result<(), ImportError> {
        let Waiting { id, mut action, mut recorded } = step;
        if action.origin.reason.is_none() && !action.added {
            // What the agent said right before it acted is why it did.
            let said = notes.iter().rev().take_while(|note| note.kind == NoteKind::Thought).count();
            let thoughts: Vec<String> = notes.split_off(notes.len() - said).into_iter().map(|note| note.text).collect();
            action.origin.reason = (!thoughts.is_empty()).then(|| thoughts.join("\n\n"));
        }
        let agent = (!action.added).then_some(self.agent);
        let header = super::header::header(agent, &action.origin, &action.needs);
        let above = u32::try_from(header.matches('\n').count()).unwrap_or(u32::MAX);
        if let Some(line) = recorded.as_mut().and_then(|r| r.error.as_mut()).and_then(|e| e.line.as_mut()) {
            *line = line.saturating_add(above);
        }
        let end = if action.code.ends_with('\n') { "" } else { "\n" };
        self.sink.step(ImportedStep {
            id,
            kind: action.kind,
            text: format!("{header}{}{end}", action.code),
            provenance: Provenance {
                author: if action.added { Author::Import(self.agent.to_owned()) } else { self.author() },
                ..self.provenance(&action.origin)
            },
            recorded,
            notes,
            earlier: Vec::new(),
        })
    }
}

/// Whether the answer to a call is known already.
#[derive(Debug)]
pub enum Answer<'a> {
    /// It will come, under this id.
    Awaited(&'a str),
    /// It is here; `None` where the log has none.
    Known(Option<Box<Given>>),
}

impl Frame {
    fn new(prefix: String) -> Self {
        Self {
            prefix,
            number: 0,
            queue: VecDeque::new(),
            waiting: 0,
            notes: Vec::new(),
            notes_size: 0,
            returned: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::Imported;
    use crate::step::Stream;

    fn shell(code: &str) -> Action {
        Action { kind: Kind::Shell, code: code.to_owned(), ..Action::default() }
    }

    fn printed(text: &str) -> Given {
        let mut given = Given { text: Some(text.to_owned()), ..Given::default() };
        given.recorded.print(Stream::Stdout, text.to_owned());
        given
    }

    fn run(record: impl FnOnce(&mut Recorder<'_>)) -> Imported {
        let mut imported = Imported::default();
        let mut recorder = Recorder::new(&mut imported, "tester");
        record(&mut recorder);
        recorder.finish().unwrap();
        imported
    }

    #[test]
    fn steps_come_in_the_order_of_the_calls_whatever_the_order_of_the_answers() {
        let run = run(|r| {
            r.note(TOP, NoteKind::Message, "user", "do it").unwrap();
            r.note(TOP, NoteKind::Thought, "agent", "I look first.").unwrap();
            r.step(TOP, shell("ls"), Answer::Awaited("1")).unwrap();
            r.tool(TOP, "Read", "a.txt", Answer::Awaited("2")).unwrap();
            r.step(TOP, shell("pwd"), Answer::Awaited("3")).unwrap();
            r.settle("3", printed("/\n")).unwrap();
            r.settle("2", printed("text")).unwrap();
            r.settle("1", printed("a.txt\n")).unwrap();
            r.note(TOP, NoteKind::Thought, "agent", "Done.").unwrap();
        });
        assert_eq!(run.steps.iter().map(ImportedStep::path).collect::<Vec<_>>(), ["001_ls.sh", "002_pwd.sh"]);
        assert_eq!(run.steps[0].provenance.reason.as_deref(), Some("I look first."));
        assert_eq!(run.steps[0].text, "# /// step\n# agent = \"tester\"\n# summary = \"I look first.\"\n# ///\nls\n");
        assert_eq!(run.steps[0].notes[0].text, "do it");
        assert_eq!(run.steps[1].notes[0].result.as_deref(), Some("text"));
        assert_eq!(run.steps[1].recorded.as_ref().unwrap().output.text(Stream::Stdout), "/\n");
        assert_eq!(run.files, [ImportedFile::beside("return.md", "Done.\n")]);
        assert_eq!(run.warnings, []);
    }

    #[test]
    fn what_has_no_other_half_is_kept_and_counted() {
        let run = run(|r| {
            r.step(TOP, shell("sleep 99"), Answer::Awaited("1")).unwrap();
            r.settle("ghost", printed("boo")).unwrap();
        });
        assert_eq!(run.steps[0].recorded, None);
        assert_eq!(run.files[0].path, "return.md");
        assert_eq!(run.warnings.len(), 2);
    }

    #[test]
    fn a_call_that_is_never_answered_does_not_hold_up_the_rest() {
        let run = run(|r| {
            r.step(TOP, shell("sleep 99"), Answer::Awaited("never")).unwrap();
            for number in 0..MOST_ITEMS + 10 {
                r.step(TOP, shell(&format!("echo {number}")), Answer::Known(Some(printed("x").into()))).unwrap();
            }
            assert!(r.frames[0].queue.len() < 10, "{}", r.frames[0].queue.len());
        });
        assert_eq!(run.steps.len(), MOST_ITEMS + 11);
        assert_eq!(run.steps[0].id.as_str(), "001_sleep_99");
    }

    #[test]
    fn frames_hold_the_steps_of_a_call_and_what_it_returned() {
        let run = run(|r| {
            r.step(TOP, shell("ls"), Answer::Known(None)).unwrap();
            let frame = r.frame(TOP, "Review the code");
            r.step(frame, shell("cat a"), Answer::Known(None)).unwrap();
            r.returned(frame, "It is fine.").unwrap();
            r.step(TOP, shell("pwd"), Answer::Known(None)).unwrap();
        });
        let mut ids: Vec<StepId> = run.steps.iter().map(|s| s.id.clone()).collect();
        ids.sort();
        assert_eq!(
            ids.iter().map(StepId::as_str).collect::<Vec<_>>(),
            ["001_ls", "002_review_the_code/001_cat_a", "003_pwd"]
        );
        assert_eq!(run.files[0].path, "002_review_the_code/return.md");
    }
}
