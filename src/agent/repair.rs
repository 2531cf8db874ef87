//! The bounded loop: ask, place, try on the side, verify, offer; again with what was learnt, a few times at most.
//!
//! The loop knows neither processes nor the run: a [`Ground`] does what it says, so that a workbench and a test each
//! can stand beneath it. It accepts nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask::{Answer, NoAnswer};
use super::told::Told;
use crate::step::{Millis, PatchId};

/// What the loop stands on.
pub trait Ground {
    /// Why it can't go on.
    type Error;

    /// What the agent is told: the context, the fault. What was tried is added by the loop.
    ///
    /// # Errors
    /// When the run can't be asked.
    fn question(&mut self) -> Result<Value, Self::Error>;

    /// Asks the agent, all questions at once. The answers are in the order of the questions.
    ///
    /// # Errors
    /// When the loop can't go on; that the agent gave no answer is no such error.
    fn ask(&mut self, questions: &[Value]) -> Result<Vec<Result<Answer, NoAnswer>>, Self::Error>;

    /// Takes an answer in as a patch, with what the agent said of the call.
    ///
    /// # Errors
    /// When the run can't take it in.
    fn take_in(&mut self, told: &Told) -> Result<Taken, Self::Error>;

    /// Runs patches on the side, at once, and says of each why it does not pass, if it does not; in the same order.
    ///
    /// # Errors
    /// When they can't be run.
    fn try_out(&mut self, patches: &[PatchId]) -> Result<Vec<Trial>, Self::Error>;

    /// Keeps a turn in the run's history, and shows it.
    ///
    /// # Errors
    /// When it can't be kept.
    fn keep(&mut self, turn: &Turn) -> Result<(), Self::Error>;

    /// Whether a person wants it to end.
    fn is_stopped(&self) -> bool;
}

/// How often, and how many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most tries.
    pub tries: u32,
    /// How many answers are asked for at each try.
    pub candidates: u32,
}

/// What became of an answer as a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub patch: PatchId,
    /// Why it can't be tried, where it can't.
    pub obstacle: Option<String>,
    /// What tells its effect from another's: the texts that it makes.
    pub effect: Vec<u8>,
}

/// What became of a patch on the side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trial {
    /// Why it does not pass; empty where it does.
    pub against: Vec<String>,
    /// What should be known all the same.
    pub remarks: Vec<String>,
    /// What it did, in short; nothing where it did not run.
    pub trial: Option<Value>,
}

/// What came of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It passed.
    Passed,
    /// It ran on the side, and does not pass.
    Failed,
    /// It is no patch, or fits nowhere, or in more than one place.
    Refused,
    /// It is an answer that was given before.
    Repeated,
    /// There was no answer.
    NoAnswer,
}

impl Verdict {
    /// What came of it, in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passes",
            Self::Failed => "does not pass",
            Self::Refused => "can't be tried",
            Self::Repeated => "is an answer that came before",
            Self::NoAnswer => "no answer",
        }
    }
}

/// One answer of the loop, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// At which try, from 1.
    pub number: u32,
    /// Which of the answers asked for at once, from 1.
    pub candidate: u32,
    /// The patch that the answer became.
    pub patch: Option<PatchId>,
    /// What came of it.
    pub verdict: Verdict,
    /// Why, in words; hostile.
    pub why: Vec<String>,
    /// What the patch did on the side, in short.
    pub trial: Option<Value>,
    /// How long the agent took.
    pub took_ms: Millis,
    /// What the agent said that it cost, as it said it; hostile.
    pub cost: Option<Value>,
    /// The agent's own id of the call; hostile.
    pub call: Option<String>,
    /// The end of the agent's standard error; hostile.
    pub said: String,
}

impl Turn {
    /// The turn in one line; hostile, as what it tells.
    pub fn line(&self) -> String {
        let place =
            if self.candidate > 1 { format!("{}.{}", self.number, self.candidate) } else { self.number.to_string() };
        let patch = self.patch.map(|patch| format!("{patch} ")).unwrap_or_default();
        let why = if self.why.is_empty() { String::new() } else { format!(": {}", self.why.join("; ")) };
        format!("try {place}: {patch}{}{why}", self.verdict.word())
    }

    /// The line with how long it took, what it cost and the id of the call.
    pub fn record(&self) -> String {
        let cost = self.cost.as_ref().map(|cost| format!("; cost {cost}")).unwrap_or_default();
        let call = self.call.as_ref().map(|call| format!("; call {call}")).unwrap_or_default();
        format!("{}; {} ms{cost}{call}", self.line(), self.took_ms)
    }
}

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// A patch passed, and is offered.
    Offered,
    /// No more tries.
    Exhausted,
    /// The agent said the same again.
    Repeated,
    /// The agent can't be asked at all.
    Unanswered,
    /// A person stopped it.
    Stopped,
}

/// What a loop came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// How it ended.
    pub ended: Ending,
    /// The first patch that passed.
    pub patch: Option<PatchId>,
    /// All that passed, of those asked for at once.
    pub offered: Vec<PatchId>,
    /// Its turns.
    pub tries: Vec<Turn>,
}

impl Repair {
    fn ended(how: Ending, offered: Vec<PatchId>, tries: Vec<Turn>) -> Self {
        Self { ended: how, patch: offered.first().copied(), offered, tries }
    }

    /// What came of it, in a line.
    pub fn line(&self) -> String {
        let offered: Vec<String> = self.offered.iter().map(ToString::to_string).collect();
        match self.ended {
            Ending::Offered if offered.len() > 1 => format!("{} pass", offered.join(", ")),
            Ending::Offered => format!("{} passes", offered.concat()),
            Ending::Exhausted => format!("none of {} answers passes", self.tries.len()),
            Ending::Repeated => "the agent answered the same again".to_owned(),
            Ending::Unanswered => "the agent can't be asked".to_owned(),
            Ending::Stopped => "stopped".to_owned(),
        }
    }
}

/// Asks until a patch passes, within `bounds`. A try whose answers were all given before ends it: another would tell
/// the agent nothing new.
///
/// # Errors
/// When the ground can't go on; what was kept until then stays.
pub fn repair<G: Ground>(ground: &mut G, bounds: Bounds) -> Result<Repair, G::Error> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut given = Given::default();
    for number in 1..=bounds.tries {
        match round(ground, bounds, number, &mut turns, &mut given) {
            Ok(Some((how, offered))) => return Ok(Repair::ended(how, offered, turns)),
            Ok(None) => {}
            // What was asked for last may have failed for no other reason.
            Err(_) if ground.is_stopped() => return Ok(Repair::ended(Ending::Stopped, Vec::new(), turns)),
            Err(error) => return Err(error),
        }
    }
    Ok(Repair::ended(Ending::Exhausted, Vec::new(), turns))
}

/// The answers that were given.
#[derive(Debug, Default)]
struct Given {
    /// What tells their effects from one another.
    effects: Vec<Vec<u8>>,
    /// Their texts, cut; one a turn.
    texts: Vec<String>,
}

/// Most of an answer that the agent is told of again, in characters.
const TOLD: usize = 8_000;

impl Given {
    /// What the agent is told of what it answered before.
    fn tried(&self, turns: &[Turn]) -> Value {
        let told = |(turn, text): (&Turn, &String)| {
            let mut told = json!(turn);
            if let Some(object) = told.as_object_mut() {
                object.insert("answer".to_owned(), json!(text));
            }
            told
        };
        turns.iter().zip(&self.texts).map(told).collect()
    }
}

/// One try. Gives how the loop ends, where it does.
fn round<G: Ground>(
    ground: &mut G,
    bounds: Bounds,
    number: u32,
    turns: &mut Vec<Turn>,
    given: &mut Given,
) -> Result<Option<(Ending, Vec<PatchId>)>, G::Error> {
    let stopped = Ok(Some((Ending::Stopped, Vec::new())));
    if ground.is_stopped() {
        return stopped;
    }
    let asked = ground.question()?;
    let question = |candidate: u32| {
        let mut question = asked.clone();
        if let Some(object) = question.as_object_mut() {
            object.insert("tried".to_owned(), given.tried(turns));
            object.insert("tries_left".to_owned(), json!(bounds.tries - number + 1));
            object.insert("candidate".to_owned(), json!({"number": candidate, "of": bounds.candidates}));
        }
        question
    };
    let questions: Vec<Value> = (1..=bounds.candidates.max(1)).map(question).collect();
    let answers = ground.ask(&questions)?;
    let mut round: Vec<Turn> = Vec::new();
    let mut to_try: Vec<(usize, PatchId)> = Vec::new();
    let mut unasked = false;
    for (answer, candidate) in answers.into_iter().zip(1..) {
        let mut turn = Turn {
            number,
            candidate,
            patch: None,
            verdict: Verdict::NoAnswer,
            why: Vec::new(),
            trial: None,
            took_ms: 0,
            cost: None,
            call: None,
            said: String::new(),
        };
        match answer {
            Err(none) => {
                given.texts.push(String::new());
                turn.why.push(none.to_string());
                unasked |= matches!(none, NoAnswer::NoProgram | NoAnswer::NotStarted { .. });
            }
            Ok(answer) => {
                turn.took_ms = Millis::try_from(answer.took.as_millis()).unwrap_or(Millis::MAX);
                turn.said = answer.said;
                let told = Told::read(answer.text);
                given.texts.push(String::from_utf8_lossy(&told.patch).chars().take(TOLD).collect());
                (turn.cost, turn.call) = (told.cost.clone(), told.call.clone());
                let taken = ground.take_in(&told)?;
                turn.patch = Some(taken.patch);
                if given.effects.contains(&taken.effect) {
                    turn.verdict = Verdict::Repeated;
                } else if let Some(obstacle) = taken.obstacle {
                    turn.verdict = Verdict::Refused;
                    turn.why.push(obstacle);
                } else {
                    to_try.push((round.len(), taken.patch));
                }
                given.effects.push(taken.effect);
            }
        }
        round.push(turn);
    }
    if !to_try.is_empty() && !ground.is_stopped() {
        let patches: Vec<PatchId> = to_try.iter().map(|(_, patch)| *patch).collect();
        let trials = ground.try_out(&patches)?;
        for ((place, _), trial) in to_try.iter().zip(trials) {
            let Some(turn) = round.get_mut(*place) else { continue };
            turn.verdict = if trial.against.is_empty() { Verdict::Passed } else { Verdict::Failed };
            turn.why = trial.against.into_iter().chain(trial.remarks).collect();
            turn.trial = trial.trial;
        }
    }
    let stop = ground.is_stopped();
    for turn in &mut round {
        if stop && turn.verdict == Verdict::Passed {
            // A trial that was cut short says nothing.
            turn.verdict = Verdict::Failed;
            turn.why.insert(0, "it was stopped".to_owned());
        }
        ground.keep(turn)?;
    }
    let offered: Vec<PatchId> =
        round.iter().filter(|turn| turn.verdict == Verdict::Passed).filter_map(|turn| turn.patch).collect();
    let repeated = round.iter().all(|turn| turn.verdict == Verdict::Repeated);
    turns.append(&mut round);
    if stop {
        return stopped;
    }
    Ok(match (offered.is_empty(), repeated) {
        (false, _) => Some((Ending::Offered, offered)),
        (true, true) => Some((Ending::Repeated, Vec::new())),
        (true, false) if unasked => Some((Ending::Unanswered, Vec::new())),
        (true, false) => None,
    })
}
