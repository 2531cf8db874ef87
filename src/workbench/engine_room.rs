//! The thread that the engine lives in, so that a workbench answers while steps run.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};

use super::EngineView;
use super::trial::{self, Bench, Stops, Tried};
use crate::engine::{Answers, Engine, EngineError, Goal, Planned, Report, Settings, StopHandle, Task, Verified};
use crate::step::{Answer, Inside, QuestionId, StepId, Variable};

/// What the engine's thread is given to do, one after the other.
#[derive(Debug)]
pub(super) enum Work {
    /// Bring the run up to date.
    Update { tasks: Vec<Task>, goal: Goal },
    /// Say what an update would do.
    Plan { tasks: Vec<Task>, goal: Goal },
    /// Tell the variables after a step.
    State { goal: Goal, tasks: Vec<Task>, at: StepId, names: Vec<String> },
    /// Tell what is inside a variable after a step.
    Inside { goal: Goal, tasks: Vec<Task>, at: StepId, name: String, path: Vec<usize> },
    /// Run everything from nothing on the side and compare with what is held; with `check` so many times, and
    /// also what is known to answer differently.
    Verify { tasks: Vec<Task>, goal: Goal, check: Option<NonZeroU32> },
    /// Try patches on the side.
    Try(Bench),
}

/// What the thread tells. Each piece of work ends with one of `Updated`, `Planned`, `State`, `Inside`,
/// `Verified` and `Tried`, then `View`.
#[derive(Debug)]
pub(super) enum News {
    /// From the middle of an update.
    Report(Report),
    /// An update ended.
    Updated(Result<(), EngineError>),
    /// A plan.
    Planned(Result<Vec<Planned>, EngineError>),
    /// The variables.
    State(Result<Vec<Variable>, EngineError>),
    /// What is inside a variable.
    Inside(Result<Inside, EngineError>),
    /// A full run on the side came to this step.
    Verifying(StepId),
    /// How full runs compared.
    Verified(Result<Verified, EngineError>),
    /// What patches did on the side.
    Tried(Result<Tried, EngineError>),
    /// How the engine stands, after each piece of work.
    View(EngineView),
}

/// The engine's thread and the way to it. Dropping it stops what runs and waits until no process is left.
#[derive(Debug)]
pub(super) struct EngineRoom {
    work: Option<Sender<Work>>,
    stops: Receiver<StopHandle>,
    stop: StopHandle,
    answers: Answers,
    /// What stops the runs on the side.
    beside: Stops,
    thread: Option<JoinHandle<()>>,
}

impl EngineRoom {
    /// Starts the thread; `tell` is called on it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(settings: Settings, tell: impl FnMut(News) + Send + 'static) -> Result<Self, EngineError> {
        let engine = Engine::new(settings.clone());
        let stop = engine.stop_handle();
        let answers = engine.answers();
        let (work, queue) = mpsc::channel();
        let (new_stop, stops) = mpsc::channel();
        let beside = Stops::default();
        let others = Arc::clone(&beside);
        let thread = thread::Builder::new()
            .name("engine".to_owned())
            .spawn({
                let answers = answers.clone();
                move || serve(engine, settings, &answers, &queue, &new_stop, &others, tell)
            })
            .map_err(|error| EngineError { what: format!("no thread for the engine: {error}"), hint: None })?;
        Ok(Self { work: Some(work), stops, stop, answers, beside, thread: Some(thread) })
    }

    /// Hands work over. A stop that is asked for from here on counts for it, an earlier one does not.
    pub(super) fn hand_over(&mut self, work: Work) {
        self.current_stop().reset();
        if let Some(sender) = &self.work {
            // The thread ends only when this does.
            let _ = sender.send(work);
        }
    }

    /// Asks what runs now to stop.
    pub(super) fn stop(&mut self) {
        self.current_stop().stop();
        self.beside.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(StopHandle::stop);
    }

    /// Lets the step that executes end, and no other begin.
    pub(super) fn pause(&mut self) {
        self.current_stop().pause();
    }

    /// Answers the question of a running step.
    pub(super) fn answer(&self, question: QuestionId, answer: Answer) {
        self.answers.give(question, answer);
    }

    /// A new engine has a new handle.
    fn current_stop(&mut self) -> &StopHandle {
        if let Some(stop) = self.stops.try_iter().last() {
            self.stop = stop;
        }
        &self.stop
    }
}

impl Drop for EngineRoom {
    fn drop(&mut self) {
        self.work = None;
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A panic in it was caught and told already.
            let _ = thread.join();
        }
    }
}

fn serve(
    mut engine: Engine,
    settings: Settings,
    answers: &Answers,
    queue: &Receiver<Work>,
    new_stop: &Sender<StopHandle>,
    beside: &Stops,
    mut tell: impl FnMut(News),
) {
    while let Ok(work) = queue.recv() {
        let failed: fn(EngineError) -> News = match &work {
            Work::Update { .. } => |error| News::Updated(Err(error)),
            Work::Plan { .. } => |error| News::Planned(Err(error)),
            Work::State { .. } => |error| News::State(Err(error)),
            Work::Inside { .. } => |error| News::Inside(Err(error)),
            Work::Verify { .. } => |error| News::Verified(Err(error)),
            Work::Try(_) => |error| News::Tried(Err(error)),
        };
        if catch_unwind(AssertUnwindSafe(|| perform(&mut engine, work, &mut tell, new_stop, beside))).is_err() {
            let what = "the engine failed at a fault of its own; it was started anew".to_owned();
            let hint = Some("please report this, with the step that ran".to_owned());
            tell(failed(EngineError { what, hint }));
            engine = Engine::new(settings.clone());
            engine.answer_from(answers.clone());
            let _ = new_stop.send(engine.stop_handle());
        }
        tell(News::View(view(&engine)));
    }
}

fn perform(
    engine: &mut Engine,
    work: Work,
    tell: &mut impl FnMut(News),
    new_stop: &Sender<StopHandle>,
    beside: &Stops,
) {
    match work {
        Work::Update { tasks, goal } => {
            let done = engine.update(&tasks, &goal, &mut |report| tell(News::Report(report)));
            tell(News::Updated(done));
        }
        Work::Try(bench) => tell(News::Tried(trial::run(engine, bench, beside))),
        Work::Plan { tasks, goal } => tell(News::Planned(Ok(engine.plan(&tasks, &goal)))),
        Work::Inside { tasks, goal, at, name, path } => {
            tell(News::Inside(engine.inside(&tasks, &goal, &at, &name, &path)));
        }
        Work::State { tasks, goal, at, names } => tell(News::State(engine.state(&tasks, &goal, &at, &names))),
        Work::Verify { tasks, goal, check } => {
            let verified = verify(engine, &tasks, &goal, check, tell, new_stop);
            // From here on a stop is for the engine itself again.
            let _ = new_stop.send(engine.stop_handle());
            tell(News::Verified(verified));
        }
    }
}

fn verify(
    engine: &mut Engine,
    tasks: &[Task],
    goal: &Goal,
    check: Option<NonZeroU32>,
    tell: &mut impl FnMut(News),
    new_stop: &Sender<StopHandle>,
) -> Result<Verified, EngineError> {
    let mut all = Verified::default();
    let mut given = Given::default();
    for _ in 0..check.map_or(1, NonZeroU32::get) {
        let verification = engine.verification(tasks, goal, check.is_some())?;
        let _ = new_stop.send(verification.stop_handle());
        let done = verification.run(&mut |report| {
            if let Report::Started { step, .. } = report {
                tell(News::Verifying(step.clone()));
            }
        })?;
        given.add(&done);
        all.compared = all.compared.max(done.compared);
        all.stopped |= done.stopped;
        all.skipped = done.skipped;
        all.roots.extend(done.roots);
        all.unisolated = done.unisolated;
        for (all, more) in
            [(&mut all.differences, done.differences), (&mut all.nondeterministic, done.nondeterministic)]
        {
            for difference in more {
                if !all.iter().any(|known| known.id == difference.id && known.what == difference.what) {
                    all.push(difference);
                }
            }
        }
        if all.stopped {
            break;
        }
    }
    all.roots.sort();
    all.roots.dedup();
    (all.steady, all.roots) = all.roots.into_iter().partition(|step| given.is_one(step));
    Ok(all)
}

/// What each of several full runs gave where it is not what is held.
#[derive(Default)]
struct Given(Vec<BTreeMap<StepId, BTreeMap<String, String>>>);

impl Given {
    fn add(&mut self, run: &Verified) {
        let mut answers = BTreeMap::<StepId, BTreeMap<String, String>>::new();
        for difference in run.differences.iter().chain(&run.nondeterministic) {
            answers.entry(difference.id.clone()).or_default().insert(difference.what.clone(), difference.full.clone());
        }
        self.0.push(answers);
    }

    /// Whether there are several, all the same for this step.
    fn is_one(&self, step: &StepId) -> bool {
        let mut answers = self.0.iter().map(|run| run.get(step));
        let first = answers.next();
        self.0.len() > 1 && answers.all(|other| Some(other) == first)
    }
}

fn view(engine: &Engine) -> EngineView {
    let (checkpoints, memory) = engine.checkpoints();
    EngineView {
        interpreter: engine.interpreter().unwrap_or_default(),
        checkpoints,
        memory,
        unguarded: engine.unguarded(),
    }
}
