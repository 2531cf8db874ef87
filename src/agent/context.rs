//! What an agent is shown for a step, by the step's place in the graph.
//!
//! In full: what failed, the step itself, the steps that it needs directly, and the steps that open the frames around
//! it. In a line each: what those need, and what has returned in the frames around it, the nearest twenty of each, the
//! rest as a count. Never: what lies inside a frame that has returned, and what comes later. So its length goes with
//! the depth of the frames and with what the step needs, not with the number of steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use super::draft::{ContextView, Draft, Role, fit};
use super::telling::{ended, field, line, middle_out, names, outline, output};
use super::tokens::TokenCount;
use crate::run::StepFile;
use crate::step::{Execution, Name, Status, StepId};

/// How many steps are told in a line each.
const NEAREST: usize = 20;

/// How many where there is little room.
const FEW: usize = 5;

/// A text is shown whole up to here, in bytes.
const TEXT: usize = 256 << 10;

/// An output is shown whole up to here, in bytes.
const OUTPUT: usize = 4 << 10;

/// What is shown of an output where there is little room, in bytes.
const SHORT_OUTPUT: usize = 400;

/// A step as a context sees it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its file.
    pub file: Arc<StepFile>,
    /// How it stands.
    pub status: Status,
    /// Names that it writes.
    pub writes: Vec<Name>,
}

/// What is around a step.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// All steps, in the order of the run.
    pub steps: Vec<Seen>,
    /// What each step needs, by places in `steps`: what is needed, what needs it, and for which names or files.
    pub needs: Vec<(usize, usize, Vec<Name>)>,
    /// What frames say that they returned.
    pub returned: BTreeMap<Arc<str>, Arc<str>>,
    /// Why the step failed, in words, where that was found out.
    pub diagnosis: Option<String>,
}

/// What an agent is shown to write `step` anew, in at most `budget` tokens; `None` where there is no such step.
/// `execution` gives the execution that holds for a step.
pub fn context(
    around: &Surroundings,
    step: &StepId,
    budget: Option<usize>,
    count: &mut TokenCount,
    mut execution: impl FnMut(&StepId) -> Option<Arc<Execution>>,
) -> Option<ContextView> {
    let at = around.steps.binary_search_by(|seen| seen.file.id.cmp(step)).ok()?;
    let subject = around.steps.get(at)?;
    let mut maker = Maker { around, at, execution: &mut execution, drafts: Vec::new() };
    let direct = maker.direct();
    maker.frames();
    maker.needs(&direct);
    let told = maker.behind(direct);
    maker.returned(&told);
    let ended = (maker.execution)(step);
    maker.later_failures(step);
    maker.subject(subject, ended.as_deref());
    maker.fault(subject, ended.as_deref());
    let drafts = maker.drafts;
    let mut view = fit(drafts, budget, count);
    view.flat_tokens = flat(around, at, count, execution);
    Some(view)
}

/// What a log of everything up to the step would cost: sources and outputs one after the other.
fn flat(
    around: &Surroundings,
    at: usize,
    count: &mut TokenCount,
    mut execution: impl FnMut(&StepId) -> Option<Arc<Execution>>,
) -> usize {
    let cost = |seen: &Seen| {
        let printed = execution(&seen.file.id).map_or(0, |execution| count.of(&output(&execution)));
        count.of(&seen.file.source) + printed
    };
    around.steps.iter().take(at + 1).map(cost).sum()
}

struct Maker<'a, E> {
    around: &'a Surroundings,
    at: usize,
    execution: &'a mut E,
    drafts: Vec<Draft>,
}

impl<E: FnMut(&StepId) -> Option<Arc<Execution>>> Maker<'_, E> {
    /// What the step needs, by place, with the names for which it does.
    fn direct(&self) -> BTreeMap<usize, Vec<Name>> {
        let mut direct: BTreeMap<usize, Vec<Name>> = BTreeMap::new();
        for (from, to, names) in &self.around.needs {
            if *to == self.at && *from != self.at {
                direct.entry(*from).or_default().extend(names.iter().cloned());
            }
        }
        for names in direct.values_mut() {
            names.sort_unstable();
            names.dedup();
        }
        direct
    }

    fn line(&mut self, seen: &Seen) -> String {
        let execution = (self.execution)(&seen.file.id);
        line(seen, execution.as_deref())
    }

    /// The frames around the step, outermost first: the step that opens each, whole.
    fn frames(&mut self) {
        let around = self.around;
        let Some(subject) = around.steps.get(self.at) else { return };
        for frame in enclosing(&subject.file.id) {
            let inside = |seen: &&Seen| is_inside(&seen.file.id, frame);
            let count = around.steps.iter().filter(inside).count();
            let opening = around.steps.iter().find(|seen| seen.file.id.as_str() == frame);
            let title = format!("frame {} ({count} steps)", field(frame));
            let (short, long) = match opening {
                Some(opening) => (self.line(opening), middle_out(&opening.file.source, TEXT)),
                None => {
                    let first = around.steps.iter().find(inside).filter(|first| first.file.id != subject.file.id);
                    let short = first.map(|first| format!("begins with {}", self.line(first))).unwrap_or_default();
                    (short.clone(), short)
                }
            };
            let step = opening.map(|opening| opening.file.id.clone());
            let forms = vec![long, short + "\n", String::new()];
            self.drafts.push(Draft::new(Role::Frame, title, step, forms));
        }
    }

    /// The steps that the step needs, whole, with what they printed.
    fn needs(&mut self, direct: &BTreeMap<usize, Vec<Name>>) {
        let around = self.around;
        for (place, for_names) in direct {
            let Some(seen) = around.steps.get(*place) else { continue };
            let ended = (self.execution)(&seen.file.id);
            let printed = ended.as_deref().map(output).unwrap_or_default();
            let with = |text: String, most| {
                let mut text = text;
                if !printed.is_empty() {
                    ended_with(&mut text, &middle_out(&printed, most));
                }
                text
            };
            let source = middle_out(&seen.file.source, TEXT);
            let forms = vec![
                with(source.clone(), OUTPUT),
                with(source, SHORT_OUTPUT),
                outline(&seen.file.source, for_names),
                line(seen, ended.as_deref()) + "\n",
                String::new(),
            ];
            let id = seen.file.id.clone();
            let why = if for_names.is_empty() { String::new() } else { format!(" for {}", names(for_names)) };
            let title = format!("needs {}{why}", field(id.as_str()));
            self.drafts.push(Draft::new(Role::Need, title, Some(id), forms));
        }
    }

    /// What the needed steps need themselves, in a line each. Gives all that was told until then.
    fn behind(&mut self, direct: BTreeMap<usize, Vec<Name>>) -> BTreeSet<usize> {
        let needs = &self.around.needs;
        let behind: BTreeSet<usize> = needs
            .iter()
            .filter(|(from, to, _)| direct.contains_key(to) && !direct.contains_key(from) && *from != self.at)
            .map(|(from, ..)| *from)
            .collect();
        let lines: Vec<Told> = behind.iter().copied().map(Told::Step).collect();
        self.lines("what these need", &lines);
        direct.into_keys().chain(behind).collect()
    }

    /// What has returned in the frames around the step, in a line each: steps, and frames as one.
    fn returned(&mut self, shown: &BTreeSet<usize>) {
        let around = self.around;
        let Some(subject) = around.steps.get(self.at) else { return };
        let frames: Vec<&str> = enclosing(&subject.file.id).collect();
        let mut told: Vec<Told> = Vec::new();
        for (place, seen) in around.steps.iter().enumerate().take(self.at) {
            let id = seen.file.id.as_str();
            if frames.contains(&id) {
                continue;
            }
            // The level on which both stand, and what of this step stands on it.
            let level = frames.iter().rev().find(|frame| is_inside(&seen.file.id, frame));
            let start = level.map_or(0, |frame| frame.len() + 1);
            let rest = id.get(start..).unwrap_or_default();
            let Some(end) = rest.find('/') else {
                if !shown.contains(&place) {
                    told.push(Told::Step(place));
                }
                continue;
            };
            let frame = id.get(..start + end).unwrap_or(id);
            match told.last_mut() {
                Some(Told::Frame { id, count, last }) if *id == frame => (*count, *last) = (*count + 1, place),
                Some(Told::Step(opening))
                    if around.steps.get(*opening).is_some_and(|o| o.file.id.as_str() == frame) =>
                {
                    told.pop();
                    told.push(Told::Frame { id: frame.to_owned(), count: 1, last: place });
                }
                _ => told.push(Told::Frame { id: frame.to_owned(), count: 1, last: place }),
            }
        }
        self.lines("returned before it", &told);
    }

    fn lines(&mut self, what: &str, told: &[Told]) {
        if told.is_empty() {
            return;
        }
        let (mut all, mut few) = (String::new(), String::new());
        for (number, mode) in [(NEAREST, &mut all), (FEW, &mut few)] {
            let skipped = told.len().saturating_sub(number);
            if skipped > 0 {
                let _ = writeln!(mode, "… {skipped} more before these");
            }
            for told in told.iter().skip(skipped) {
                mode.push_str(&self.tell(told));
                ended(mode);
            }
        }
        let title = format!("{what}: {}", told.len());
        // The title says how many; that is the last form.
        self.drafts.push(Draft::new(Role::Lines, title, None, vec![all, few, "…\n".to_owned()]));
    }

    fn tell(&mut self, told: &Told) -> String {
        let around = self.around;
        match told {
            Told::Step(place) => around.steps.get(*place).map(|seen| self.line(seen)).unwrap_or_default(),
            Told::Frame { id, count, last } => {
                let mut text = format!("{}/ ({count} steps)", field(id));
                match around.returned.get(id.as_str()) {
                    Some(said) => {
                        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                        let _ = write!(text, ": returned {}", field(first.trim()));
                    }
                    None => {
                        if let Some(last) = around.steps.get(*last) {
                            let _ = write!(text, ", last {}", self.line(last));
                        }
                    }
                }
                text
            }
        }
    }

    /// Steps after it that need it and failed.
    fn later_failures(&mut self, step: &StepId) {
        let around = self.around;
        let failed: BTreeSet<usize> = around
            .needs
            .iter()
            .filter(|(from, to, _)| {
                *from == self.at && around.steps.get(*to).is_some_and(|seen| seen.status == Status::Failed)
            })
            .map(|(_, to, _)| *to)
            .collect();
        let told: Vec<Told> = failed.into_iter().map(Told::Step).collect();
        self.lines(&format!("failed and need {}", field(step.as_str())), &told);
    }

    fn subject(&mut self, subject: &Seen, execution: Option<&Execution>) {
        let mut text = middle_out(&subject.file.source, TEXT);
        if let Some(execution) = execution.filter(|execution| execution.error.is_none()) {
            let printed = output(execution);
            if !printed.is_empty() {
                ended_with(&mut text, &middle_out(&printed, OUTPUT));
            }
        }
        let id = subject.file.id.clone();
        let title = format!(
            "the step {} ({}), {}",
            field(id.as_str()),
            field(&subject.file.path.to_string_lossy()),
            subject.status
        );
        self.drafts.push(Draft::new(Role::Subject, title, Some(id), vec![text]));
    }

    /// What failed: the error with the step's own lines on its way, what it follows from, and the diagnosis.
    fn fault(&mut self, subject: &Seen, execution: Option<&Execution>) {
        let Some((execution, error)) = execution.and_then(|execution| Some((execution, execution.error.as_ref()?)))
        else {
            return;
        };
        let short = format!("{}: {}\n", error.type_name, middle_out(&error.message, SHORT_OUTPUT));
        let mut long = String::new();
        for frame in error.stack.iter().rev().take(NEAREST).rev() {
            let file = frame.step.as_ref().map_or(frame.file.as_str(), StepId::as_str);
            let _ = writeln!(
                long,
                "{}, line {}, in {}: {}",
                field(file),
                frame.line,
                field(&frame.function),
                field(&frame.text)
            );
            for (name, value) in &frame.values {
                let _ = writeln!(long, "    {} = {}", field(name), field(value));
            }
        }
        let _ = writeln!(long, "{}: {}", error.type_name, middle_out(&error.message, OUTPUT));
        for note in &error.notes {
            let _ = writeln!(long, "{}", middle_out(note, SHORT_OUTPUT));
        }
        if let Some(cause) = &error.caused_by {
            let _ = writeln!(long, "It follows from the failure of {cause}.");
            if let Some(error) = (self.execution)(cause).and_then(|execution| execution.error.clone()) {
                let _ = writeln!(long, "{cause}: {}: {}", error.type_name, middle_out(&error.message, SHORT_OUTPUT));
            }
        }
        if let Some(diagnosis) = &self.around.diagnosis {
            let _ = writeln!(long, "\n{}", middle_out(diagnosis, OUTPUT));
        }
        let bare = Execution { error: None, ..execution.clone() };
        let printed = output(&bare);
        if !printed.is_empty() {
            ended_with(&mut long, &middle_out(&printed, OUTPUT));
        }
        let id = subject.file.id.clone();
        let title = format!("failed: {}", field(id.as_str()));
        self.drafts.push(Draft::new(Role::Fault, title, Some(id), vec![long, short]));
    }
}

/// What is told in a line.
#[derive(Debug)]
enum Told {
    Step(usize),
    Frame { id: String, count: usize, last: usize },
}

/// The frames around a step, outermost first.
fn enclosing(step: &StepId) -> impl Iterator<Item = &str> {
    let id = step.as_str();
    id.match_indices('/').filter_map(|(end, _)| id.get(..end))
}

fn is_inside(step: &StepId, frame: &str) -> bool {
    step.as_str().strip_prefix(frame).is_some_and(|rest| rest.starts_with('/'))
}

fn ended_with(text: &mut String, printed: &str) {
    ended(text);
    text.push_str("--- printed\n");
    text.push_str(printed);
}
