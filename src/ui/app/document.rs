//! What a step printed, showed and failed with, as lines; and why it failed.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;

use super::html;
use super::lines::Lines;
use super::picture::Picture;
use super::run::duration;
use crate::feedback::Diagnosis;
use crate::interop::compare::Verdict;
use crate::step::{Chunk, Display, Effect, Execution, Millis, Outcome, StepError, StepId, Stream};
use crate::ui::view::ansi::{self, Look};
use crate::workbench::{Beside, CallView};

/// Up to so many bytes are made lines of at once.
const CHEAP: usize = 64 << 10;

/// Of a step that runs, so many bytes are held; half of them go when there are more. All that is kept of it comes when it
/// has ended.
const LIVE: usize = 64 << 20;

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
    /// The head of a table.
    Head,
    /// The line under the head of a table.
    Rule,
    /// A row of a picture: which, and the row.
    Picture(usize, usize),
    /// Words of an explanation.
    Why,
    /// A value that shows a fault, and the step that it comes from.
    Fact(Option<StepId>),
    /// Something that could be done: which of the suggestions, and whether there is a change to be taken in.
    Proposal(usize, bool),
    /// A line that a proposed change adds, or takes away.
    Change(bool),
    /// Two sides with a tab between them: the heads of the columns, or a difference.
    Pair(bool),
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
    /// Lines that it printed and that are not held any more.
    gone: usize,
    /// What comes after what was printed.
    rest: Vec<(Kind, String)>,
    /// Pictures that it showed.
    pictures: Vec<Picture>,
    /// Why it failed, and what could be done.
    reasons: Vec<(Kind, String)>,
    /// What calls it made.
    calls: Vec<(Kind, String)>,
    /// How it stands to a recording, or to another run.
    beside: Vec<(Kind, String)>,
    /// Why it failed.
    pub why: Option<Arc<Diagnosis>>,
    /// Whether the step is running, so that more may come.
    pub live: bool,
    /// The execution that it comes from, unless it is live; without what it printed, where that is much.
    pub execution: Option<Arc<Execution>>,
}

impl Document {
    /// The output of a step that runs.
    pub fn live() -> Self {
        Self { live: true, ..Self::default() }
    }

    /// The output of an execution that ended.
    pub fn of(execution: Arc<Execution>) -> Self {
        let mut document = Self::default();
        document.printed.reserve(execution.output.chunks.iter().map(|chunk| chunk.text.len()).sum());
        execution.output.chunks.iter().for_each(|chunk| document.push(chunk));
        if execution.output.dropped > 0 {
            let text = format!("{} bytes were left out of the middle", execution.output.dropped);
            document.rest.push((Kind::Remark, text));
        }
        for shown in &execution.displays {
            let title = if shown.last { "value" } else { "shown" };
            document.rest.push((Kind::Heading, title.to_owned()));
            document.show(shown);
        }
        if let Some(error) = &execution.error {
            document.error(error, "error");
        }
        let ruled = |effect: &&Effect| {
            matches!(effect, Effect::Refused { .. } | Effect::Granted { .. } | Effect::PutBack { .. })
        };
        for effect in execution.effects.iter().filter(ruled).take(20) {
            document.rest.push((Kind::Remark, format!("it {effect}")));
        }
        let inside = |path: &&String| !path.starts_with('/');
        let written = execution.observation.files_written.keys().filter(inside).map(|path| format!("wrote {path}"));
        let read = execution.observation.files_read.keys().filter(inside).map(|path| format!("read {path}"));
        let files: Vec<String> = written.chain(read).take(FILES).collect();
        if !files.is_empty() {
            document.rest.push((Kind::Heading, "files".to_owned()));
            document.rest.extend(files.into_iter().map(|line| (Kind::Trace, line)));
        }
        if execution.outcome == Outcome::Interrupted {
            document.rest.push((Kind::Remark, format!("stopped after {}", duration(execution.duration_us))));
        }
        if !execution.observation.calls.is_empty() {
            // Until it is known what was asked and answered.
            document.calls.push((Kind::Heading, "calls".to_owned()));
            let calls = execution.observation.calls.iter();
            document.calls.extend(calls.map(|call| (Kind::Value, format!("{}({})", call.name, call.shown))));
        }
        // What is held as lines need not be held a second time.
        let large = execution.shown_bytes() > CHEAP;
        document.execution = Some(if large { Arc::new(execution.unshown()) } else { execution });
        document
    }

    /// About how many bytes are held for it.
    pub fn weight(&self) -> usize {
        let parts = [&self.rest, &self.reasons, &self.calls, &self.beside];
        let lines = parts.into_iter().flatten().map(|(_, text)| text.len());
        self.printed.text().len() + self.printed.len() * size_of::<u32>() + lines.sum::<usize>()
    }

    /// Whether to make lines of an execution costs no more than a part of a frame.
    pub fn is_cheap(execution: &Execution) -> bool {
        let printed: usize = execution.output.chunks.iter().map(|chunk| chunk.text.len()).sum();
        printed < CHEAP && execution.displays.iter().all(|shown| shown.mime.is_empty() && shown.repr.len() < CHEAP)
    }

    /// Whether more may come: it runs, or what is kept of it is on its way.
    pub fn may_grow(&self) -> bool {
        self.live || self.execution.is_none()
    }

    /// When the execution began that it comes from, if it failed.
    pub fn began(&self) -> Option<Millis> {
        self.execution.as_ref().filter(|execution| execution.error.is_some()).map(|execution| execution.started)
    }

    /// A value that was shown: as a picture or a table where it has such a form, else as its text.
    fn show(&mut self, shown: &Display) {
        let form = |mime: &str| shown.mime.get(mime);
        if let Some(png) = form("image/png") {
            let bytes = base64::engine::general_purpose::STANDARD.decode(png.split_whitespace().collect::<String>());
            match bytes.map_err(|error| error.to_string()).and_then(|bytes| Picture::png(&bytes)) {
                Ok(picture) => {
                    let at = self.pictures.len();
                    let (width, height) = picture.size;
                    self.rest.extend((0..picture.rows()).map(|row| (Kind::Picture(at, row), String::new())));
                    self.rest.push((Kind::Trace, format!("a figure of {width} by {height}")));
                    self.pictures.push(picture);
                }
                Err(why) => self.rest.push((Kind::Remark, format!("a figure that can't be shown: {why}"))),
            }
            return;
        }
        let lines = form("text/html").map(|html| html::lines(html)).unwrap_or_default();
        if !lines.is_empty() {
            self.rest.extend(lines.into_iter().map(|line| match line {
                html::Line::Head(text) => (Kind::Head, text),
                html::Line::Text(text) => (Kind::Value, text),
                html::Line::Rule(width) => (Kind::Rule, "-".repeat(width)),
            }));
            return;
        }
        let text = form("text/markdown").or(form("text/latex")).unwrap_or(&shown.repr);
        self.rest.extend(text.lines().map(|line| (Kind::Value, line.to_owned())));
        for mime in shown.mime.keys().filter(|mime| mime.starts_with("image/")) {
            self.rest.push((Kind::Trace, format!("also as {mime}")));
        }
    }

    /// A picture that it showed.
    pub fn picture(&self, at: usize) -> Option<&Picture> {
        self.pictures.get(at)
    }

    /// The first line of the explanation.
    pub fn why_at(&self) -> Option<usize> {
        self.why.as_ref().map(|_| self.printed.len() + self.rest.len())
    }

    /// Which suggestion the line is part of, if that can be taken in.
    pub fn proposal_at(&self, at: usize) -> Option<usize> {
        for at in (self.why_at()?..=at).rev() {
            match self.line(at).0 {
                Kind::Proposal(proposal, true) => return Some(proposal),
                Kind::Change(_) | Kind::Trace => {}
                _ => return None,
            }
        }
        None
    }

    /// Adds why it failed, and what could be done.
    pub fn explain(&mut self, why: Arc<Diagnosis>) {
        self.reasons.clear();
        let mut push = |kind, text| self.reasons.push((kind, text));
        push(Kind::Heading, "why".to_owned());
        push(Kind::Why, why.explanation.clone());
        if let Some(root) = why.root_step.as_ref().filter(|root| **root != why.step) {
            push(Kind::Fact(Some(root.clone())), format!("the fault lies in {root}"));
        }
        for fact in &why.facts {
            let by = fact.written_by.as_ref().map(|by| format!("  from {by}")).unwrap_or_default();
            push(Kind::Fact(fact.written_by.clone()), format!("{} = {}{by}", fact.name, fact.value));
        }
        if let Some(repeats) = why.repeats.as_ref().filter(|repeats| repeats.same_failure > 1) {
            let text =
                format!("it failed like this {} times before: the repairs go round in a circle", repeats.same_failure);
            push(Kind::Remark, text);
        }
        for (at, suggestion) in why.suggestions.iter().enumerate() {
            let word = match (suggestion.safe, suggestion.files.is_empty()) {
                (true, _) => "proposed",
                (false, false) => "possible",
                (false, true) => "to do",
            };
            push(Kind::Proposal(at, !suggestion.files.is_empty()), format!("{word}: {}", suggestion.title));
            for line in suggestion.patch.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++")) {
                let kind = match line.as_bytes().first() {
                    Some(b'+') => Kind::Change(true),
                    Some(b'-') => Kind::Change(false),
                    _ => Kind::Trace,
                };
                push(kind, format!("    {line}"));
            }
        }
        if why.suggestions.is_empty() {
            push(Kind::Trace, "nothing is proposed: what is meant can't be told from here".to_owned());
        }
        self.why = Some(why);
    }

    /// Tells the calls as a tree, with what was asked and answered.
    pub fn tell_calls(&mut self, calls: &[CallView]) {
        self.calls.clear();
        if calls.is_empty() {
            return;
        }
        self.calls.push((Kind::Heading, "calls".to_owned()));
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
            self.calls.push((Kind::Value, line));
            for round in &call.rounds {
                let model = round.model.as_ref().map(|model| format!(" by {model}")).unwrap_or_default();
                self.calls.push((Kind::Trace, format!("{inset}    asked: {}", short(&round.question))));
                self.calls.push((Kind::Trace, format!("{inset}    answered{model}: {}", short(&round.answer))));
                if !round.kept {
                    self.calls.push((Kind::Remark, format!("{inset}    it is asked again at the next run")));
                }
            }
        }
    }

    /// Tells how the output of `step` stands to a recording's, or to another run's; nothing of it any more where there
    /// is none.
    pub fn set_beside(&mut self, step: &StepId, beside: Option<&Beside>) {
        self.beside.clear();
        let Some(all) = beside else { return };
        let mut push = |kind, text: String| self.beside.push((kind, text));
        let other = all.other.as_deref();
        push(Kind::Heading, format!("beside {}", other.unwrap_or("the recording")));
        let counts = [
            (all.count(Verdict::Same), "the same"),
            (all.count(Verdict::Alike), "alike"),
            (all.count(Verdict::Different), "different"),
            (all.count(Verdict::Nondeterministic), "different by chance"),
            (all.not_run.len(), "not run"),
            (all.only_here.len(), if other.is_some() { "here only" } else { "not recorded" }),
            (all.only_there.len(), "there only"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        let tally = format!("of all steps: {}", counts.collect::<Vec<_>>().join(", "));
        push(Kind::Trace, tally);
        match &all.divergence {
            Some(first) if first.step == *step => {
                push(Kind::Remark, "this is the first divergence of the run".to_owned());
                for cause in first.caused_by.iter().filter(|cause| *cause != step) {
                    push(Kind::Fact(Some(cause.clone())), format!("it follows from {cause}"));
                }
            }
            Some(first) => {
                push(Kind::Fact(Some(first.step.clone())), format!("the first divergence is {}", first.step))
            }
            None => {}
        }
        let Some(found) = all.step(step) else {
            let why = match (all.only_here.contains(step), other) {
                (true, Some(_)) => "the other run has no such step",
                (true, None) => "nothing was recorded of this step",
                (false, Some(_)) => "it was not run on one side",
                (false, None) => "it was not run since it was recorded",
            };
            return push(Kind::Remark, why.to_owned());
        };
        push(
            Kind::Why,
            match found.verdict {
                Verdict::Same => "the same output".to_owned(),
                Verdict::Alike => "the same output, but for what means nothing".to_owned(),
                Verdict::Different => "the output differs".to_owned(),
                Verdict::Nondeterministic => {
                    "the output differs, and consults what no replay can give again".to_owned()
                }
            },
        );
        if !found.differences.is_empty() {
            let heads = if other.is_none() { "RECORDED\tRE-RUN" } else { "THERE\tHERE" };
            push(Kind::Pair(true), heads.to_owned());
        }
        for difference in &found.differences {
            let side = |text: &Option<String>| -> Vec<String> {
                text.iter().flat_map(|text| text.lines()).map(|line| line.replace('\t', "    ")).collect()
            };
            let (left, right) = (side(&difference.recorded), side(&difference.rerun));
            for at in 0..left.len().max(right.len()) {
                let line = |side: &[String]| side.get(at).cloned().unwrap_or_default();
                push(Kind::Pair(false), format!("{}\t{}", line(&left), line(&right)));
            }
        }
        if found.more > 0 {
            push(Kind::Trace, format!("and {} more differences", found.more));
        }
        if !found.source.is_empty() {
            push(Kind::Remark, "its source is another:".to_owned());
        }
        for line in found.source.lines() {
            let kind = match line.as_bytes().first() {
                Some(b'+') => Kind::Change(true),
                Some(b'-') => Kind::Change(false),
                _ => Kind::Trace,
            };
            push(kind, format!("    {line}"));
        }
    }

    /// The first line of how it stands to another.
    pub fn beside_at(&self) -> Option<usize> {
        (!self.beside.is_empty()).then(|| self.len() - self.beside.len())
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

    /// Adds what a running step printed. Of one that prints without end, the beginning is let go by and by: gives how
    /// many lines went.
    pub fn push_live(&mut self, chunk: &Chunk) -> usize {
        self.push(chunk);
        if self.printed.text().len() < LIVE {
            return 0;
        }
        let (lines, bytes) = self.printed.forget(LIVE / 2);
        let (look, (_, stream)) =
            (self.look(lines), *self.streams.iter().rfind(|(from, _)| *from <= bytes).unwrap_or(&(0, chunk.stream)));
        self.looks.retain_mut(|(line, _)| {
            let stays = *line > lines;
            *line = line.saturating_sub(lines);
            stays
        });
        self.looks.insert(0, (0, look));
        self.streams.retain_mut(|(from, _)| {
            let stays = *from > bytes;
            *from = from.saturating_sub(bytes);
            stays
        });
        self.streams.insert(0, (0, stream));
        self.looked = self.looked.saturating_sub(lines);
        self.gone += lines;
        lines
    }

    /// How many lines it printed that are not held any more.
    pub fn gone(&self) -> usize {
        self.gone
    }

    /// Adds what a step printed.
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
        self.printed.len() + self.rest.len() + self.reasons.len() + self.calls.len() + self.beside.len()
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
            let mut after = self.rest.iter().chain(&self.reasons).chain(&self.calls).chain(&self.beside);
            return match after.nth(at - self.printed.len()) {
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

/// Most files of the run that are told of one execution.
const FILES: usize = 20;

/// Most of a question or an answer that is shown, in characters.
const SHORT: usize = 2_000;

/// A question or an answer on one line.
fn short(text: &str) -> String {
    text.trim().chars().take(SHORT).map(|c| if c == '\n' { ' ' } else { c }).collect()
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
}
