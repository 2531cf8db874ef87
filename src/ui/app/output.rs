//! What the chosen step printed, showed and failed with, as lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::lines::Lines;
use super::run::duration;
use super::window::Window;
use crate::step::{Chunk, Effect, Execution, Outcome, StepError, StepId, Stream};
use crate::ui::view::ansi::{self, Look};
use crate::workbench::CallView;

/// What a line of output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Printed to descriptor 1.
    Stdout,
    /// Printed to descriptor 2.
    Stderr,
    /// A heading of ours.
    Heading,
    /// A value that was shown.
    Value,
    /// The type and message of an error.
    Error,
    /// A frame of a traceback, and where it is, when in a step.
    Frame(Option<(StepId, u32)>),
    /// A line of source in a traceback, or a value in it.
    Trace,
    /// A remark of ours.
    Remark,
}

/// What one step printed, showed and failed with.
#[derive(Debug, Clone, Default)]
pub struct Document {
    printed: Lines,
    /// Where each stretch of one stream begins.
    streams: Vec<(usize, Stream)>,
    /// Where colours that a program asked for go on from line to line: the line, and how it begins to look.
    looks: Vec<(usize, Look)>,
    /// How many lines were looked through for colours.
    looked: usize,
    /// What comes after what was printed.
    rest: Vec<(Kind, String)>,
    /// Where in `rest` the calls begin, which come last.
    calls: usize,
    /// Whether the step is running, so that more may come.
    pub live: bool,
    /// The execution that it comes from, unless it is live.
    pub execution: Option<Arc<Execution>>,
}

impl Document {
    /// The output of an execution that ended.
    pub fn of(execution: Arc<Execution>) -> Self {
        let mut document = Self::default();
        execution.output.chunks.iter().for_each(|chunk| document.push(chunk));
        if execution.output.dropped > 0 {
            let text = format!("{} bytes were left out of the middle", execution.output.dropped);
            document.rest.push((Kind::Remark, text));
        }
        for shown in &execution.displays {
            let title = if shown.last { "value" } else { "shown" };
            document.rest.push((Kind::Heading, title.to_owned()));
            let lines = shown.repr.lines().map(|line| (Kind::Value, line.to_owned()));
            document.rest.extend(lines);
        }
        if let Some(error) = &execution.error {
            document.error(error, "error");
        }
        let ruled = |effect: &&Effect| matches!(effect, Effect::Refused { .. } | Effect::Granted { .. });
        for effect in execution.effects.iter().filter(ruled).take(20) {
            document.rest.push((Kind::Remark, format!("it {effect}")));
        }
        if execution.outcome == Outcome::Interrupted {
            document.rest.push((Kind::Remark, format!("stopped after {}", duration(execution.duration_us))));
        }
        document.calls = document.rest.len();
        if !execution.observation.calls.is_empty() {
            // Until it is known what was asked and answered.
            document.rest.push((Kind::Heading, "calls".to_owned()));
            let calls = execution.observation.calls.iter();
            document.rest.extend(calls.map(|call| (Kind::Value, format!("{}({})", call.name, call.shown))));
        }
        document.execution = Some(execution);
        document
    }

    /// Tells the calls as a tree, with what was asked and answered.
    pub fn tell_calls(&mut self, calls: &[CallView]) {
        self.rest.truncate(self.calls);
        if calls.is_empty() {
            return;
        }
        self.rest.push((Kind::Heading, "calls".to_owned()));
        for call in calls {
            let inset = "  ".repeat(call.depth);
            let mut line = format!("{inset}{}({})", call.name, call.shown);
            let tokens = call.rounds.iter().filter_map(|round| round.tokens);
            let tokens: u64 = tokens.map(|tokens| tokens.input + tokens.output).sum();
            if tokens > 0 {
                line.push_str(&format!("  {tokens} tokens"));
            }
            if call.rounds.iter().any(|round| round.asked) {
                line.push_str("  asked");
            } else if !call.rounds.is_empty() {
                line.push_str("  known before");
            }
            self.rest.push((Kind::Value, line));
            for round in &call.rounds {
                let model = round.model.as_ref().map(|model| format!(" by {model}")).unwrap_or_default();
                self.rest.push((Kind::Trace, format!("{inset}    asked: {}", short(&round.question))));
                self.rest.push((Kind::Trace, format!("{inset}    answered{model}: {}", short(&round.answer))));
                if !round.kept {
                    self.rest.push((Kind::Remark, format!("{inset}    it is asked again at the next run")));
                }
            }
        }
    }

    fn error(&mut self, error: &StepError, title: &str) {
        if let Some(context) = &error.context {
            self.error(context, "first");
        }
        let mut push = |kind, text| self.rest.push((kind, text));
        push(Kind::Heading, title.to_owned());
        for frame in &error.stack {
            let place = frame.step.clone().map(|step| (step, frame.line));
            let file = frame.step.as_ref().map_or(frame.file.as_str(), StepId::as_str);
            push(Kind::Frame(place), format!("{file}:{} in {}", frame.line, frame.function));
            if !frame.text.is_empty() {
                push(Kind::Trace, format!("    {}", frame.text));
            }
            for (name, value) in &frame.values {
                push(Kind::Trace, format!("      {name} = {value}"));
            }
        }
        let mut lines = error.message.lines();
        let first = lines.next().unwrap_or_default();
        let head = if first.is_empty() { error.type_name.clone() } else { format!("{}: {first}", error.type_name) };
        push(Kind::Error, head);
        lines.for_each(|line| push(Kind::Error, line.to_owned()));
        error.notes.iter().flat_map(|note| note.lines()).for_each(|line| push(Kind::Remark, line.to_owned()));
        if let Some(root) = &error.caused_by {
            push(Kind::Remark, format!("a consequence of {root}, which failed before"));
        }
    }

    /// Adds what a running step printed.
    pub fn push(&mut self, chunk: &Chunk) {
        if self.streams.last().is_none_or(|(_, stream)| *stream != chunk.stream) {
            self.streams.push((self.printed.text().len(), chunk.stream));
        }
        self.printed.push(&chunk.text);
        // The last line may still grow.
        let whole = self.printed.len().saturating_sub(usize::from(!chunk.text.ends_with('\n')));
        let mut look = self.looks.last().map_or(Look::default(), |(_, look)| *look);
        for at in self.looked..whole {
            let next = ansi::look_after(self.printed.line(at), look);
            if next != look {
                look = next;
                self.looks.push((at + 1, look));
            }
        }
        self.looked = whole.max(self.looked);
    }

    /// How a line begins to look.
    pub fn look(&self, at: usize) -> Look {
        let before = self.looks.partition_point(|(line, _)| *line <= at);
        before.checked_sub(1).and_then(|place| self.looks.get(place)).map(|(_, look)| *look).unwrap_or_default()
    }

    /// How many lines.
    pub fn len(&self) -> usize {
        self.printed.len() + self.rest.len()
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many lines were printed.
    pub fn printed(&self) -> usize {
        self.printed.len()
    }

    /// A line as it came, and what it is.
    pub fn line(&self, at: usize) -> (Kind, Cow<'_, str>) {
        if at >= self.printed.len() {
            return match self.rest.get(at - self.printed.len()) {
                Some((kind, text)) => (kind.clone(), Cow::Borrowed(text)),
                None => (Kind::Remark, Cow::Borrowed("")),
            };
        }
        let start = self.printed.start(at);
        let stretch = self.streams.partition_point(|(from, _)| *from <= start).saturating_sub(1);
        let kind = match self.streams.get(stretch) {
            Some((_, Stream::Stderr)) => Kind::Stderr,
            _ => Kind::Stdout,
        };
        (kind, Cow::Borrowed(self.printed.line(at)))
    }
}

/// Most of a question or an answer that is shown, in characters.
const SHORT: usize = 2_000;

/// A question or an answer on one line.
fn short(text: &str) -> String {
    text.trim().chars().take(SHORT).map(|c| if c == '\n' { ' ' } else { c }).collect()
}

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// What is held of each step: what was asked for last, and what runs or ran just now.
    documents: HashMap<StepId, Document>,
    /// In which order they came, to let the oldest go.
    order: Vec<StepId>,
    /// What is seen.
    pub window: Window,
    /// Whose output the window is on.
    pub step: Option<StepId>,
    /// Whether lines that are too long are cut; they are wrapped otherwise.
    pub cut: bool,
    /// Whether the window stays at the end while more comes.
    pub follow: bool,
}

/// How many steps' output is held.
const HELD: usize = 24;

impl Output {
    /// The output of a step, if it is held.
    pub fn document(&self, step: &StepId) -> Option<&Document> {
        self.documents.get(step)
    }

    /// What the panel shows.
    pub fn shown(&self) -> Option<&Document> {
        self.documents.get(self.step.as_ref()?)
    }

    /// Shows a step.
    pub fn show(&mut self, step: Option<&StepId>) {
        if self.step.as_ref() != step {
            self.step = step.cloned();
            self.window = Window::default();
            self.follow = self.shown().is_some_and(|document| document.live);
        }
    }

    /// A step began to run.
    pub fn begin(&mut self, step: &StepId) {
        self.put(step, Document { live: true, ..Document::default() });
        if self.step.as_ref() == Some(step) {
            self.window = Window::default();
            self.follow = true;
        }
    }

    /// A step printed.
    pub fn push(&mut self, step: &StepId, chunk: &Chunk) {
        if !self.documents.contains_key(step) {
            self.put(step, Document { live: true, ..Document::default() });
        }
        if let Some(document) = self.documents.get_mut(step) {
            document.push(chunk);
        }
    }

    /// A step ended: no more comes, and its execution will be asked for.
    pub fn end(&mut self, step: &StepId) {
        if let Some(document) = self.documents.get_mut(step) {
            document.live = false;
        }
    }

    /// Takes a step's last execution. What a running step printed is not thrown away for it.
    pub fn take(&mut self, step: &StepId, execution: Option<Arc<Execution>>) {
        if self.documents.get(step).is_some_and(|document| document.live) {
            return;
        }
        self.put(step, execution.map(Document::of).unwrap_or_default());
    }

    /// Takes what calls a step made.
    pub fn take_calls(&mut self, step: &StepId, calls: &[CallView]) {
        if let Some(document) = self.documents.get_mut(step).filter(|document| !document.live) {
            document.tell_calls(calls);
        }
    }

    fn put(&mut self, step: &StepId, document: Document) {
        self.documents.insert(step.clone(), document);
        self.order.retain(|other| other != step);
        self.order.push(step.clone());
        if self.order.len() > HELD {
            let gone = self.order.remove(0);
            if self.step.as_ref() != Some(&gone) {
                self.documents.remove(&gone);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(stream: Stream, text: &str) -> Chunk {
        Chunk { stream, text: text.to_owned() }
    }

    #[test]
    fn streams_are_told_apart_line_by_line() {
        let mut document = Document::default();
        document.push(&chunk(Stream::Stdout, "one\ntw"));
        document.push(&chunk(Stream::Stdout, "o\n"));
        document.push(&chunk(Stream::Stderr, "warned\n"));
        document.push(&chunk(Stream::Stdout, "\x1b[31mred\n"));
        document.push(&chunk(Stream::Stdout, "still\x1b[0m\nplain"));
        let lines: Vec<_> = (0..document.len()).map(|at| document.line(at)).collect();
        assert_eq!(
            lines,
            [
                (Kind::Stdout, "one".into()),
                (Kind::Stdout, "two".into()),
                (Kind::Stderr, "warned".into()),
                (Kind::Stdout, "\x1b[31mred".into()),
                (Kind::Stdout, "still\x1b[0m".into()),
                (Kind::Stdout, "plain".into()),
            ]
        );
        let plain = Look::default();
        assert!(document.look(3) == plain && document.look(4) != plain && document.look(5) == plain);
    }

    #[test]
    fn calls_are_told_as_a_tree_with_what_was_asked_and_answered() {
        use crate::step::{Digest, Tokens};
        use crate::workbench::RoundView;

        let mut document = Document::default();
        let round = RoundView {
            key: Digest::of("q"),
            asked: true,
            kept: true,
            question: "{\"arguments\":\n1}".to_owned(),
            answer: "{\"result\": 4}".to_owned(),
            model: Some("m".to_owned()),
            tokens: Some(Tokens { input: 20, output: 3 }),
            took_ms: 5,
        };
        let call = |number, name: &str, depth, rounds| CallView {
            number,
            name: name.to_owned(),
            shown: "1".to_owned(),
            parent: None,
            depth,
            rounds,
        };
        document.tell_calls(&[call(1, "plan", 0, Vec::new()), call(2, "size", 1, vec![round])]);
        let lines: Vec<_> = (0..document.len()).map(|at| document.line(at).1.into_owned()).collect();
        let expected = [
            "calls",
            "plan(1)",
            "  size(1)  23 tokens  asked",
            "      asked: {\"arguments\": 1}",
            "      answered by m: {\"result\": 4}",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn an_answer_does_not_wipe_what_a_running_step_prints() {
        let mut output = Output::default();
        let step: StepId = "a".parse().unwrap();
        output.begin(&step);
        output.push(&step, &chunk(Stream::Stdout, "now\n"));
        output.take(&step, None);
        assert_eq!(output.document(&step).unwrap().len(), 1);
        output.end(&step);
        output.take(&step, None);
        assert!(output.document(&step).unwrap().is_empty());
    }
}
