//! The bounded loop of asking an agent and trying what it answers, on the desk.
//!
//! The loop is a guest, so that the run is worked with meanwhile. It changes no step: what passes is offered, or
//! accepted where that was asked for and a gate was named.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::desk::{ClientId, Desk};
use super::evolving::Evolution;
use super::guest::{Ended, Guest};
use super::moment::now;
use super::{Command, Event, Failure, Summary, Ticket, TrialStep, TrialView};
use crate::agent::{
    AgentCommand, Answer, Bounds, Ending, Ground, NoAnswer, Taken, Told, Trial, Turn, VOCABULARY, Verdict, repair,
};
use crate::step::{Author, Patch, PatchId, PatchState, Provenance, Status, StepId};

/// Lines of output of a failed step that an agent is told of a trial.
const OUTPUT: usize = 12;

/// What is wanted of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairWish {
    /// The step that failed.
    pub step: StepId,
    /// The program that is asked, with its arguments; what the settings name when empty.
    pub agent: Vec<String>,
    /// The most tries; what the settings say when `None`.
    pub tries: Option<u32>,
    /// Answers asked for at once; what the settings say when `None`.
    pub candidates: Option<u32>,
    /// Accept the first that passes.
    pub accept: bool,
}

impl Desk {
    /// Starts a loop; its answers come when it is done.
    pub(super) fn repair(&mut self, client: ClientId, ticket: Ticket, wish: RepairWish) -> Result<(), Failure> {
        self.known([wish.step.clone()])?;
        let (settings, verify) = (&self.setup.config.agent, &self.setup.config.verify);
        let agent = self.agent(&wish.agent)?;
        if wish.accept && verify.steps.is_empty() && verify.command.is_empty() {
            let hint = "name steps or a command in [verify] of reweave.toml, or accept by `reweave patch accept`";
            return Err(Failure {
                what: "accepting by itself needs a gate, and [verify] names none".to_owned(),
                hint: Some(hint.to_owned()),
            });
        }
        let bounds = Bounds {
            tries: wish.tries.unwrap_or(settings.tries).clamp(1, 100),
            candidates: wish.candidates.unwrap_or(settings.candidates).clamp(1, 16),
        };
        let reviewer =
            (!settings.reviewer.is_empty()).then(|| AgentCommand { words: settings.reviewer.clone(), ..agent.clone() });
        let (must_approve, longest) = (verify.reviewer, settings.trial);
        self.host((client, ticket), wish.step.clone(), move |guest| {
            Loop { guest, agent, reviewer, must_approve, step: wish.step, longest, evolution: None }
                .run(bounds, wish.accept)
        })
    }

    /// The program that is asked: `given`, or what the settings name.
    pub(super) fn agent(&self, given: &[String]) -> Result<AgentCommand, Failure> {
        let settings = &self.setup.config.agent;
        let words = if given.is_empty() { settings.command.clone() } else { given.to_vec() };
        if words.is_empty() {
            let hint = match self.setup.config.waiting.is_empty() {
                true => "give one with --agent, or as `agent.command` in reweave.toml",
                false => {
                    "the run asks for settings that you did not approve: `reweave config --approve`, or give --agent"
                }
            };
            return Err(Failure { what: "no agent is named".to_owned(), hint: Some(hint.to_owned()) });
        }
        Ok(AgentCommand { words, timeout: settings.timeout, dir: self.book.dir().path().to_owned() })
    }
}

/// The loop's ground: the desk, and programs that are asked.
pub(super) struct Loop {
    pub(super) guest: Guest,
    pub(super) agent: AgentCommand,
    pub(super) reviewer: Option<AgentCommand>,
    /// Whether what the reviewer rejects does not pass.
    pub(super) must_approve: bool,
    pub(super) step: StepId,
    /// The longest that a trial may take.
    pub(super) longest: Option<Duration>,
    /// The function that is written anew; else it is the step that is repaired.
    pub(super) evolution: Option<Evolution>,
}

impl Loop {
    pub(super) fn run(mut self, bounds: Bounds, accept: bool) -> Ended {
        self.bring_up_to_date()?;
        let done = repair(&mut self, bounds)?;
        let mut summary = Summary { text: format!("{}: {}", self.step, done.line()), ..Summary::default() };
        let mut accepted = None;
        if let (true, Some(patch)) = (accept, done.patch) {
            let comment = Some(format!("accepted by the repair of {}, whose gate it passed", self.step));
            let command = Command::Accept { patch, files: Vec::new(), comment, replay: false, anyway: false };
            summary.text = self.guest.talk.ask(command, |_| {})?.text;
            accepted = Some(patch);
        }
        summary.failed = usize::from(done.ended != Ending::Offered);
        Ok((Event::Repaired { step: self.step, repair: Arc::new(done), accepted }, summary))
    }

    /// An old failure is no ground for a repair.
    fn bring_up_to_date(&mut self) -> Result<(), Failure> {
        if let Some(evolution) = &self.evolution {
            return evolution.bring_up_to_date(&mut self.guest.talk, &self.step);
        }
        let mut status = Status::Never;
        let step = self.step.clone();
        self.guest.talk.ask(Command::Run { steps: vec![step.clone()], retry_failed: false }, |event| {
            if let Event::Ran { steps, .. } = event
                && let Some(result) = steps.iter().find(|result| result.id == step)
            {
                status = result.status;
            }
        })?;
        match status {
            Status::Failed => Ok(()),
            status => Err(Failure {
                what: format!("{step} has not failed: it is {status}"),
                hint: Some("a blocked step is repaired by repairing what stands in its way".to_owned()),
            }),
        }
    }

    /// What stands against a patch before it is run.
    fn against_text(&mut self, patch: PatchId) -> Result<Vec<String>, Failure> {
        let command = Command::Weigh { patch, files: Vec::new() };
        let weight = self.guest.talk.ask_for(command, |event| match event {
            Event::Weighed { weight, .. } => Some(Arc::clone(weight)),
            _ => None,
        })?;
        let faults = weight.faults.iter().map(|fault| format!("{}:{}: {}", fault.path, fault.line, fault.what));
        let weakened = weight.weakened.iter().map(|how| format!("it weakens what checks it: {how}"));
        let mut against: Vec<String> = faults.chain(weakened).collect();
        if let Some(evolution) = &self.evolution {
            let patch = self.guest.talk.ask_for(Command::Patch { patch }, |event| match event {
                Event::Patch(found) if found.id == patch => Some(Arc::clone(found)),
                _ => None,
            })?;
            let paths: Vec<&str> = patch.files.iter().map(|file| file.path.as_str()).collect();
            against.extend(evolution.against_files(&paths));
        }
        Ok(against)
    }

    /// What stands against a patch once it ran.
    fn against_trial(&self, trial: &TrialView) -> Vec<String> {
        let mut against = Vec::new();
        match trial.steps.iter().find(|step| step.id == self.step) {
            Some(step) if step.after == Status::Fresh => {}
            Some(step) => against.push(told(step)),
            None => against.push(format!("{} did not run with it", self.step)),
        }
        let mine = |step: &StepId| self.evolution.as_ref().is_some_and(|evolution| evolution.tests.contains(step));
        against.extend(self.evolution.iter().flat_map(|evolution| evolution.against(trial)));
        let stuck = |status| matches!(status, Status::Failed | Status::Blocked);
        // A step that was only kept from failing says nothing against the patch; a test that now fails does.
        let broken = |step: &&TrialStep| {
            let shown = step.test && step.after == Status::Failed && step.before == Status::Blocked;
            step.id != self.step && !mine(&step.id) && (shown || (stuck(step.after) && !stuck(step.before)))
        };
        against.extend(trial.steps.iter().filter(broken).map(told));
        let gates = trial.gates.iter().filter(|gate| !gate.passed);
        against.extend(gates.map(|gate| match &gate.why {
            Some(why) => format!("{} must pass: {why}", gate.name),
            None => format!("{} must pass", gate.name),
        }));
        against
    }

    /// Shows the reviewer a patch and its trial. Its word is kept with the patch.
    fn review(&mut self, id: PatchId, trial: &TrialView, outcome: &mut Trial) -> Result<(), Failure> {
        let Some(reviewer) = &self.reviewer else { return Ok(()) };
        let patch = self.guest.talk.ask_for(Command::Patch { patch: id }, |event| match event {
            Event::Patch(patch) if patch.id == id => Some(Arc::clone(patch)),
            _ => None,
        })?;
        let question = json!({
            "version": 1,
            "task": "Judge the patch: answer with {\"verdict\": \"approve\" or \"reject\", \"why\": text}.",
            "step": self.step,
            "patch": { "id": id, "title": patch.title, "files": patch.files },
            "trial": trial,
        });
        let (approved, word) = match reviewer.ask(question.to_string().as_bytes(), &self.guest.stop) {
            Ok(answer) => verdict(&answer.text),
            Err(none) => (false, format!("gives no verdict: {none}")),
        };
        let text = format!("reviewer {} {word}", reviewer.name());
        let _ = self.guest.talk.ask(Command::Comment { patch: id, text: text.clone() }, |_| {})?;
        if approved || !self.must_approve { &mut outcome.remarks } else { &mut outcome.against }.push(text);
        Ok(())
    }
}

/// What a reviewer says: whether it approves, and in words.
fn verdict(text: &[u8]) -> (bool, String) {
    #[derive(Deserialize)]
    struct Said {
        verdict: String,
        #[serde(default)]
        why: String,
    }
    let said = serde_json::from_slice(text).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(text);
        let (first, rest) = text.trim().split_once(|c: char| !c.is_alphanumeric()).unwrap_or((text.trim(), ""));
        Said { verdict: first.to_lowercase(), why: rest.trim().to_owned() }
    });
    let why: String = said.why.chars().take(2_000).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    match said.verdict.as_str() {
        "approve" => (true, format!("approves{why}")),
        "reject" => (false, format!("rejects{why}")),
        _ => (false, "gives no verdict: it says neither approve nor reject".to_owned()),
    }
}

impl Ground for Loop {
    type Error = Failure;

    fn question(&mut self) -> Result<Value, Failure> {
        let command = Command::Context { step: self.step.clone(), budget: None };
        let view = self.guest.talk.ask_for(command, |event| match event {
            Event::Context { context, .. } => Some(Arc::clone(context)),
            _ => None,
        })?;
        // A failure that can't be explained can be repaired all the same.
        let diagnosis = self.guest.talk.ask_for(Command::Diagnose { step: self.step.clone() }, |event| match event {
            Event::Diagnosis { diagnosis, .. } => Some(Arc::clone(diagnosis)),
            _ => None,
        });
        let mut question = json!({
            "version": 1,
            "task": "Repair the step: answer with a patch to the run's files, in any common form, and nothing else. \
                     Checks may not be weakened.",
            "step": self.step,
            "context": {
                "tokens": view.tokens, "vocabulary": VOCABULARY, "parts": view.parts, "text": view.text(),
            },
            "diagnosis": diagnosis.ok(),
        });
        if let (Some(evolution), Some(object)) = (&self.evolution, question.as_object_mut())
            && let Value::Object(more) = evolution.question(&mut self.guest.talk)?
        {
            object.extend(more);
        }
        Ok(question)
    }

    fn ask(&mut self, questions: &[Value]) -> Result<Vec<Result<Answer, NoAnswer>>, Failure> {
        let texts: Vec<Vec<u8>> = questions.iter().map(|question| question.to_string().into_bytes()).collect();
        Ok(self.agent.ask_all(&texts, &self.guest.stop))
    }

    fn take_in(&mut self, told: &Told) -> Result<Taken, Failure> {
        let from = Provenance {
            model: told.model.clone(),
            call: told.call.clone(),
            tokens: told.tokens,
            ..Provenance::new(Author::Agent(self.agent.name().to_owned()), now())
        };
        let command =
            Command::AddPatch { text: self.as_patch(told), target: Some(self.step_file()), from: Some(Box::new(from)) };
        let patch = self.guest.talk.ask_for(command, |event| match event {
            Event::Patch(patch) => Some(Arc::clone(patch)),
            _ => None,
        })?;
        Ok(Taken { patch: patch.id, obstacle: obstacle(&patch), effect: effect(&patch) })
    }

    fn try_out(&mut self, patches: &[PatchId]) -> Result<Vec<Trial>, Failure> {
        let mut outcomes: Vec<Trial> = Vec::new();
        for patch in patches {
            outcomes.push(Trial { against: self.against_text(*patch)?, ..Trial::default() });
        }
        let sound = |outcomes: &[Trial]| -> Vec<PatchId> {
            let all = patches.iter().zip(outcomes);
            all.filter(|(_, outcome)| outcome.against.is_empty()).map(|(patch, _)| *patch).collect()
        };
        let to_try = sound(&outcomes);
        let mut trials: Vec<(PatchId, Arc<TrialView>)> = Vec::new();
        let commands = to_try.iter().map(|patch| Command::Try { patch: *patch, files: Vec::new() }).collect();
        let (ends, late) = self.guest.talk.ask_within(self.longest, commands, |event| {
            if let Event::Tried { patch, trial } = event {
                trials.push((*patch, Arc::clone(trial)));
            }
        });
        if self.guest.is_stopped() {
            return Err(Failure { what: "stopped".to_owned(), hint: None });
        }
        for (patch, outcome) in patches.iter().zip(&mut outcomes) {
            let Some(place) = to_try.iter().position(|tried| tried == patch) else { continue };
            match (trials.iter().find(|(tried, _)| tried == patch), ends.get(place)) {
                (_, Some(Err(failure))) => outcome.against.push(failure.what.clone()),
                (Some((_, trial)), _) => {
                    outcome.against = self.against_trial(trial);
                    if let (true, Some(longest)) = (late, self.longest) {
                        outcome.against.insert(0, format!("its trial did not end in {} s", longest.as_secs_f64()));
                    }
                    outcome.trial = Some(in_short(trial));
                    outcome.remarks.clone_from(&trial.remarks);
                    if outcome.against.is_empty() {
                        self.review(*patch, trial, outcome)?;
                    }
                }
                (None, _) => outcome.against.push("it could not be tried".to_owned()),
            }
        }
        Ok(outcomes)
    }

    fn keep(&mut self, turn: &Turn) -> Result<(), Failure> {
        if let (Some(_), Some(patch), Verdict::Failed) = (&self.evolution, turn.patch, turn.verdict) {
            // A function that does not pass its tests is no proposal.
            let comment = Some("its tests do not pass".to_owned());
            let _ = self.guest.talk.ask(Command::Reject { patch, comment }, |_| {})?;
        }
        let command = Command::Remark { step: self.step.clone(), turn: Box::new(turn.clone()) };
        self.guest.talk.ask(command, |_| {}).map(drop)
    }

    fn is_stopped(&self) -> bool {
        self.guest.is_stopped()
    }
}

impl Loop {
    /// The text of a patch that an answer is.
    fn as_patch(&self, told: &Told) -> Vec<u8> {
        match &self.evolution {
            Some(evolution) => evolution.as_patch(&told.patch),
            None => told.patch.clone(),
        }
    }

    /// The file that is meant where an answer names none.
    fn step_file(&self) -> String {
        let file = |ending| format!("{}.{ending}", self.step);
        let there = ["py", "sh"].into_iter().map(file).find(|path| self.agent.dir.join(path).is_file());
        there.unwrap_or_else(|| file("py"))
    }
}

/// A trial without what was printed.
fn in_short(trial: &TrialView) -> Value {
    let step = |step: &TrialStep| json!({"id": step.id, "test": step.test, "before": step.before, "after": step.after});
    json!({
        "steps": trial.steps.iter().map(step).collect::<Vec<_>>(), "stale": trial.stale, "gates": trial.gates,
        "isolated": trial.isolated, "duration_ms": trial.duration_us / 1000,
    })
}

/// Why a patch can't be tried, where it can't.
fn obstacle(patch: &Patch) -> Option<String> {
    let placed = matches!(patch.state, PatchState::Proposed | PatchState::Tried);
    (!placed).then(|| match patch.problems.first() {
        Some(problem) => format!("the patch is {}: {problem}", patch.state.word()),
        None => format!("the patch is {}", patch.state.word()),
    })
}

/// What tells the effect of one patch from another's.
fn effect(patch: &Patch) -> Vec<u8> {
    let results: Vec<_> = patch.files.iter().map(|file| (&file.path, &file.result)).collect();
    match results.is_empty() {
        true => patch.content.as_bytes().to_vec(),
        // Texts always serialise.
        false => serde_json::to_vec(&results).unwrap_or_default(),
    }
}

/// How a step ended in a trial, with the end of what it printed.
pub(super) fn told(step: &TrialStep) -> String {
    let lines: Vec<&str> = step.output_after.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(OUTPUT)..).unwrap_or_default();
    format!("{} is {}: {}", step.id, step.after, last.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn a_verdict_is_read_from_json_and_from_words() {
        assert_eq!(verdict(br#"{"verdict": "approve", "why": "fits"}"#), (true, "approves: fits".to_owned()));
        assert_eq!(verdict(b"Reject: it hides rows\n"), (false, "rejects: it hides rows".to_owned()));
        assert!(!verdict(b"lovely").0);
        assert!(!verdict(b"").0);
    }
}
