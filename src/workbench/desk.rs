//! The workbench's own thread: everything that happens to a run passes through here, one thing at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::book::{Book, Changes, failure};
use super::calls::StoreCalls;
use super::engine_room::{EngineRoom, News, Work};
use super::face;
use super::guest::{Ended, Hosted};
use super::job::{Halts, Job, JobKind, Wanted};
use super::questions::Bell;
use super::setup::Setup;
use super::shelf::Shelf;
use super::update::Update;
use super::{Beside, EngineView, Event, Failure, Level, Options, Request, Snapshot, Summary, Ticket, WatchView};
use crate::agent::{ContextView, TokenCount};
use crate::engine::{Answers, EngineError, Goal, Leaves};
use crate::feedback::Diagnosis;
use crate::run::{Change, WatchMode, Watcher};
use crate::step::{Digest, Millis, Name, Question, QuestionId, Status, StepId};

/// Who asks: the face in this process, or one that came through the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ClientId(pub(super) u64);

/// The face that opened the workbench: when it closes, the workbench ends.
pub(super) const OPENER: ClientId = ClientId(0);

/// What comes to the desk.
pub(super) enum Input {
    /// Someone wants to be told.
    Join(ClientId, Sender<Event>),
    /// Someone went away.
    Leave(ClientId),
    /// Someone asks.
    Ask(ClientId, Request),
    /// The engine tells.
    Engine(News),
    /// A failure was explained.
    Explained(ClientId, Ticket, StepId, Result<Arc<Diagnosis>, Failure>),
    /// The run was set beside another.
    Compared(ClientId, Ticket, Result<Arc<Beside>, Failure>),
    /// What an agent is shown for a step was made.
    Shown(ClientId, Ticket, StepId, Result<Arc<ContextView>, Failure>),
    /// The watcher tells that the directory changed.
    Disk(Change),
    /// A step waits for leave that the policy asks about.
    Question(Question),
    /// A step does not wait for it any more.
    Unasked(QuestionId),
    /// A guest is done.
    Ended(ClientId, Box<Ended>),
}

/// Snapshots come no more often than this: a frame at 60 a second.
const FRAME: Duration = Duration::from_millis(16);

/// The desk and all that lies on it.
pub(super) struct Desk {
    pub(super) book: Book,
    pub(super) shelf: Shelf,
    pub(super) setup: Setup,
    /// The calls that steps make once.
    pub(super) calls: Arc<StoreCalls>,
    options: Options,
    inputs: Receiver<Input>,
    /// For what is started here and tells here.
    pub(super) own: Sender<Input>,
    clients: BTreeMap<ClientId, Sender<Event>>,
    /// Loops that ask for a client, as clients of their own.
    pub(super) guests: BTreeMap<ClientId, Hosted>,
    /// The face that opened the workbench, once it has closed it: to be told when that is done.
    opener: Option<Sender<Event>>,
    pub(super) room: Option<EngineRoom>,
    pub(super) view: EngineView,
    watcher: Option<Watcher>,
    watch: WatchView,
    pub(super) jobs: VecDeque<Job>,
    /// What the engine works on now.
    pub(super) current: Option<(Job, Update)>,
    pub(super) running: Option<(StepId, Millis)>,
    pub(super) replay_on_save: bool,
    /// Steps that are not gone past while steps run.
    pub(super) breakpoints: BTreeSet<StepId>,
    /// Names whose change stops.
    pub(super) watched: BTreeSet<Name>,
    /// The breakpoint at which steps stopped last: the next run goes past it.
    pub(super) halted: Option<StepId>,
    /// What running steps wait with.
    pub(super) questions: Vec<Question>,
    /// The answers to what the policy asked, until the step has them.
    pub(super) leave_given: Answers,
    /// What was given leave so far: an engine that is started anew has it too.
    leaves: Leaves,
    generation: u64,
    /// Whether marks are to be decided anew.
    pub(super) unsettled: bool,
    /// Whether listeners don't know of something yet.
    pub(super) untold: bool,
    pub(super) told_at: Option<Instant>,
    /// How long listeners wait for the next snapshot of what goes on.
    told_for: Duration,
    /// What texts of contexts cost.
    pub(super) tokens: Arc<Mutex<TokenCount>>,
    /// Whether the engine has other settings than the run.
    outdated: bool,
    /// Whether what runs was asked to stop.
    pub(super) stopping: bool,
    closing: bool,
}

impl Desk {
    /// A desk for an opened run.
    pub(super) fn new(
        book: Book,
        setup: Setup,
        calls: Arc<StoreCalls>,
        options: Options,
        (inputs, own): (Receiver<Input>, Sender<Input>),
    ) -> Self {
        Self {
            book,
            shelf: Shelf::default(),
            setup,
            calls,
            options,
            inputs,
            own,
            clients: BTreeMap::new(),
            guests: BTreeMap::new(),
            opener: None,
            room: None,
            view: EngineView::default(),
            watcher: None,
            watch: WatchView::default(),
            jobs: VecDeque::new(),
            current: None,
            running: None,
            replay_on_save: false,
            breakpoints: BTreeSet::new(),
            watched: BTreeSet::new(),
            halted: None,
            questions: Vec::new(),
            leave_given: Answers::default(),
            leaves: Leaves::default(),
            generation: 0,
            unsettled: false,
            untold: true,
            told_at: None,
            told_for: FRAME,
            tokens: Arc::default(),
            outdated: false,
            stopping: false,
            closing: false,
        }
    }

    /// Has the directory watched from now on. Where that can't be, listeners are told, and looks are taken when
    /// something is asked.
    pub(super) fn watch(&mut self) {
        if !self.options.watch {
            return;
        }
        let own = self.own.clone();
        match Watcher::start(self.book.tree().clone(), move |change| drop(own.send(Input::Disk(change)))) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => self.notice(Level::Warning, format!("the directory is not watched: {error}")),
        }
    }

    /// Reads the patches, and what lies in the inbox.
    pub(super) fn read_patches(&mut self) -> Result<(), Failure> {
        self.book.lock(self.setup.config.run.locked)?;
        self.shelf.load(self.book.store())?;
        self.look_in()?;
        self.shelf.follow(&self.book)?;
        Ok(())
    }

    /// Works until the face that opened the workbench closes it. Gives those who are to be told that it has ended:
    /// by then no process of it is left, and all is recorded.
    pub(super) fn work(mut self) -> Vec<Sender<Event>> {
        while !self.closing {
            let Some(input) = self.next_input() else { break };
            for input in input {
                self.take(input);
            }
            self.begin_next();
            self.tell_snapshot();
        }
        self.end_guests();
        self.watcher = None;
        if self.generation > 1 || !face::is_kept(self.book.dir().path()) {
            face::keep(self.book.dir().path(), &self.snapshot());
        }
        self.room = None;
        // What the engine told while it was ended is still to be recorded.
        while let Ok(input) = self.inputs.try_recv() {
            if let Input::Engine(news) = input {
                self.hear(news);
            }
        }
        if let Err(failure) = self.book.settle() {
            self.notice(Level::Error, failure.what);
        }
        std::mem::take(&mut self.clients).into_values().chain(self.opener.take()).collect()
    }

    /// Waits for something to do: inputs, or the moment at which a snapshot is due. `None` is the end.
    fn next_input(&self) -> Option<Vec<Input>> {
        let first = if self.untold && !self.clients.is_empty() {
            let due = self.told_at.map_or(Duration::ZERO, |at| self.told_for.saturating_sub(at.elapsed()));
            match self.inputs.recv_timeout(due) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        } else {
            Some(self.inputs.recv().ok()?)
        };
        // A burst is taken in at once, but not for so long that listeners wait.
        Some(first.into_iter().chain(self.inputs.try_iter().take(512)).collect())
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Join(client, events) => {
                self.settle_marks();
                let _ = events.send(Event::Snapshot(Arc::new(self.snapshot())));
                self.clients.insert(client, events);
            }
            Input::Leave(client) => self.leave(client),
            Input::Ask(client, Request { ticket, command }) => self.ask(client, ticket, command),
            Input::Engine(news) => self.hear(news),
            Input::Explained(client, ticket, step, result) => {
                let result = result.map(|diagnosis| {
                    self.send(client, Event::Diagnosis { step, diagnosis });
                    Summary::default()
                });
                self.done(client, ticket, result);
            }
            Input::Compared(client, ticket, result) => {
                let result = result.map(|beside| {
                    self.send(client, Event::Beside(beside));
                    Summary::default()
                });
                self.done(client, ticket, result);
            }
            Input::Shown(client, ticket, step, result) => {
                let result = result.map(|context| {
                    self.send(client, Event::Context { step, context });
                    Summary::default()
                });
                self.done(client, ticket, result);
            }
            Input::Disk(change) => self.disk(&change),
            Input::Question(question) => self.question(question),
            Input::Unasked(id) => self.unasked(id),
            Input::Ended(guest, ended) => self.ended(guest, *ended),
        }
    }

    pub(super) fn leave(&mut self, client: ClientId) {
        let events = self.clients.remove(&client);
        if client == OPENER {
            self.closing = true;
            // It may say so twice: by asking to close, and by going.
            self.opener = self.opener.take().or(events);
        }
        let guests = self.stop_guests(Some(client));
        let gone = |job: &Job| job.client == client || guests.contains(&job.client);
        self.jobs.retain(|job| !gone(job));
        if self.current.as_ref().is_some_and(|(job, _)| gone(job)) {
            self.stop_engine();
        }
    }

    // --- the directory ------------------------------------------------------------------------------------

    pub(super) fn look(&mut self, paths: Option<&[PathBuf]>) -> Result<Changes, Failure> {
        let told = |book: &Book| (book.problems().to_vec(), book.nothing().cloned());
        let before = told(&self.book);
        let changes = self.book.look(paths)?;
        self.untold |= self.shelf.follow(&self.book)?;
        self.untold |= changes != Changes::default() || before != told(&self.book);
        // A file that a step reads may have changed where no step did.
        self.unsettled = true;
        Ok(changes)
    }

    /// The same, unless the watcher tells of all that happens there.
    pub(super) fn look_unless_watched(&mut self) -> Result<(), Failure> {
        if self.watcher.is_none() || self.watch != WatchView::Live {
            self.look(None)?;
        }
        Ok(())
    }

    /// Looks at the inbox.
    pub(super) fn look_in(&mut self) -> Result<(), Failure> {
        let new = self.shelf.look_in(&self.book)?;
        self.untold |= !new.is_empty();
        Ok(())
    }

    /// The watcher's own look may be older than the last one here, so what it tells is only where to look.
    fn disk(&mut self, change: &Change) {
        let watch = match &change.mode {
            WatchMode::Live => WatchView::Live,
            WatchMode::Polling(why) => WatchView::Polling(why.clone()),
        };
        self.untold |= self.watch != watch;
        self.watch = watch;
        if change.config {
            self.resettle();
            // Told now, and not first when a run is asked for.
            if let Some(problem) = self.setup.config.errors().next() {
                self.notice(Level::Error, problem.to_string());
            }
            if let Some(text) = self.setup.waits() {
                self.notice(Level::Warning, text);
            }
        }
        if change.inbox
            && let Err(failure) = self.look_in()
        {
            self.notice(Level::Error, failure.what);
        }
        let path = |id| change.scan.file(id).map(|file| file.path.clone());
        let paths: Vec<PathBuf> = change.added.iter().chain(&change.changed).filter_map(path).collect();
        // Of a file that came to be wrong, or right again, no step tells.
        let only_steps = !change.problems && !change.frames;
        let only_texts = only_steps && change.removed.is_empty() && change.renamed.is_empty();
        match self.look(only_texts.then_some(paths.as_slice())) {
            Ok(changes) if self.replay_on_save && !changes.changed.is_empty() => self.replay_saved(&changes),
            Ok(_) => {}
            Err(failure) => self.notice(Level::Error, failure.what),
        }
    }

    /// Reads the settings again. The engine that runs keeps those that it was started with until it is idle.
    fn resettle(&mut self) {
        match Setup::load(self.book.dir(), &self.options) {
            Ok(setup) => {
                let exclude = setup.config.run.exclude.clone();
                self.book.set(setup.on_error(), exclude.clone());
                if let Err(failure) = self.book.lock(setup.config.run.locked) {
                    self.notice(Level::Error, failure.what);
                }
                if let Some(watcher) = &self.watcher {
                    watcher.set_exclude(exclude);
                }
                self.calls.ask_of(setup.agent(self.book.dir()));
                setup.look_around(&mut self.book, &self.calls);
                self.setup = setup;
                self.outdated = true;
                self.unsettled = true;
            }
            Err(failure) => self.notice(Level::Error, failure.what),
        }
    }

    fn replay_saved(&mut self, changes: &Changes) {
        let saved = |kind: &JobKind| matches!(kind, JobKind::Update { wanted: Wanted::Following(_), .. });
        let mut steps = changes.changed.clone();
        // One request for all that was saved while the engine was busy.
        if let Some(job) = self.jobs.iter_mut().find(|job| saved(&job.kind))
            && let JobKind::Update { wanted: Wanted::Following(waiting), .. } = &mut job.kind
        {
            waiting.append(&mut steps);
            return;
        }
        let kind = JobKind::Update { wanted: Wanted::Following(steps), retry_failed: false, halts: Halts::Never };
        self.jobs.push_back(Job { client: OPENER, ticket: Ticket(0), kind });
    }

    // --- the engine ---------------------------------------------------------------------------------------

    /// Gives the engine its next work, if it has none.
    fn begin_next(&mut self) {
        while self.current.is_none() && !self.closing {
            let Some(job) = self.jobs.pop_front() else { return };
            let job = self.with_others_to_try(job);
            if let Err(failure) = self.begin(&job) {
                for ticket in job.tickets() {
                    self.done(job.client, ticket, Err(failure.clone()));
                }
            }
        }
    }

    fn begin(&mut self, job: &Job) -> Result<(), Failure> {
        self.look(None)?;
        if let Some(nothing) = self.book.nothing() {
            return Err(nothing.clone());
        }
        self.settle_marks();
        let marked = match &job.kind {
            JobKind::Plan { marked, .. } => marked.clone(),
            JobKind::Update { .. }
            | JobKind::State { .. }
            | JobKind::Inside { .. }
            | JobKind::Verify { .. }
            | JobKind::Try { .. } => BTreeSet::new(),
        };
        if matches!(job.kind, JobKind::Update { .. }) {
            self.book.keep_edits()?;
        }
        let told = !matches!(job.kind, JobKind::State { .. } | JobKind::Inside { .. });
        let tasks = self.book.tasks(&marked, told)?;
        let texts: Vec<(StepId, Digest)> =
            self.book.steps().iter().map(|entry| (entry.file.id.clone(), entry.file.digest)).collect();
        let work = match &job.kind {
            JobKind::Update { wanted, retry_failed, halts } => {
                let goal = self.goal(wanted, *retry_failed);
                Work::Update { tasks, goal: self.halting(goal, *halts) }
            }
            JobKind::Plan { wanted, .. } => {
                Work::Plan { tasks, goal: self.goal(&Wanted::Steps(wanted.clone()), false) }
            }
            JobKind::Verify { check } => Work::Verify { tasks, goal: self.goal(&Wanted::All, false), check: *check },
            JobKind::Try { choices } => Work::Try(self.bench(tasks, choices)?),
            JobKind::Inside { at, name, path } => {
                let at = at.clone().or_else(|| self.last_step()).ok_or_else(only_modules)?;
                let goal = self.goal(&Wanted::Steps(BTreeSet::new()), false);
                Work::Inside { tasks, goal, at, name: name.clone(), path: path.clone() }
            }
            JobKind::State { at, names } => {
                let at = at.clone().or_else(|| self.last_step()).ok_or_else(only_modules)?;
                Work::State { tasks, goal: self.goal(&Wanted::Steps(BTreeSet::new()), false), at, names: names.clone() }
            }
        };
        if std::mem::take(&mut self.outdated) {
            self.room = None;
        }
        self.stopping = false;
        self.room()?.hand_over(work);
        self.current = Some((job.clone(), Update::new(texts)));
        self.untold = true;
        Ok(())
    }

    pub(super) fn last_step(&self) -> Option<StepId> {
        self.book.steps().last().map(|entry| entry.file.id.clone())
    }

    fn goal(&self, wanted: &Wanted, retry_failed: bool) -> Goal {
        let steps = match wanted {
            Wanted::All => BTreeSet::new(),
            Wanted::Steps(steps) => steps.clone(),
            Wanted::Until(until) => self.all_as_far_as(Some(until)),
            Wanted::Following(steps) => {
                let mut steps = self.book.following(steps);
                steps.retain(|step| self.book.step(step).is_some());
                steps
            }
        };
        Goal { steps, retry_failed, on_error: self.setup.on_error(), ..Goal::default() }
    }

    /// A goal that ends where a person wants to look.
    fn halting(&mut self, goal: Goal, halts: Halts) -> Goal {
        let past = self.halted.take();
        match halts {
            Halts::Never => goal,
            Halts::AfterOne => Goal { at_most: Some(1), ..goal },
            Halts::AtBreakpoints | Halts::AtFailure => Goal {
                breaks: self.breakpoints.clone(),
                watched: self.watched.clone(),
                past,
                until_failure: halts == Halts::AtFailure,
                ..goal
            },
        }
    }

    /// The engine's room, opened when it is needed first.
    fn room(&mut self) -> Result<&mut EngineRoom, Failure> {
        if self.room.is_none() && self.setup.is_amiss() {
            // The user's own settings are not watched: what was wrong with them may have been mended.
            self.resettle();
            self.outdated = false;
        }
        match &mut self.room {
            Some(room) => Ok(room),
            none => {
                let store = self.book.store().another().map_err(failure)?;
                let mut settings = self.setup.engine(self.book.dir(), store, Arc::clone(&self.calls))?;
                settings.leaves = self.leaves.clone();
                if self.options.answered {
                    settings.asker = Some(Arc::new(Bell::new(self.own.clone(), self.leave_given.clone())));
                }
                let own = self.own.clone();
                let tell = move |news| drop(own.send(Input::Engine(news)));
                Ok(none.insert(EngineRoom::start(settings, tell).map_err(engine_failure)?))
            }
        }
    }

    // --- telling ------------------------------------------------------------------------------------------

    pub(super) fn settle_marks(&mut self) {
        if self.unsettled {
            // Who is told of nothing new may ask for something about the run anew, and so without end.
            self.untold |= self.book.judge();
            self.unsettled = false;
        }
    }

    pub(super) fn tell_snapshot(&mut self) {
        let due = self.told_at.is_none_or(|at| at.elapsed() >= self.told_for);
        if !due || !(self.unsettled || self.untold) {
            self.untold |= self.unsettled;
            return;
        }
        let start = Instant::now();
        self.settle_marks();
        if self.untold && !self.clients.is_empty() {
            self.generation += 1;
            let snapshot = Event::Snapshot(Arc::new(self.snapshot()));
            self.broadcast(&snapshot);
            self.told_at = Some(Instant::now());
            // In a large run a snapshot costs more than a frame: most of the time is left to what goes on.
            self.told_for = (start.elapsed() * 4).clamp(FRAME, Duration::from_millis(500));
            self.untold = false;
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let mut steps = self.book.rows().to_vec();
        if let Some((running, _)) = &self.running
            && let Some(row) = steps.iter_mut().find(|row| row.id == *running)
        {
            Arc::make_mut(row).status = Status::Running;
        }
        let updating = |(job, _): &&(Job, Update)| matches!(job.kind, JobKind::Update { .. });
        Snapshot {
            generation: self.generation,
            dir: self.book.dir().path().to_owned(),
            steps,
            edges: Arc::clone(self.book.edges()),
            checking: false,
            patches: self.shelf.rows(),
            problems: {
                let found = self.book.problems().iter().chain(self.shelf.problems()).cloned();
                found.chain(self.book.reported()).collect()
            },
            nothing: self.book.nothing().cloned(),
            running: self.running.clone(),
            progress: self.current.as_ref().filter(updating).map(|(_, update)| update.progress()),
            waiting: self.jobs.len(),
            asked_about: self.guests.values().map(|hosted| hosted.step.clone()).collect(),
            replay_on_save: self.replay_on_save,
            engine: self.view.clone(),
            watch: self.watch.clone(),
            breakpoints: self.breakpoints.iter().cloned().collect(),
            questions: self.questions.clone(),
            watched_names: self.watched.iter().cloned().collect(),
        }
    }

    pub(super) fn send(&self, client: ClientId, event: Event) {
        let guest = || self.guests.get(&client).map(|hosted| &hosted.events);
        if let Some(events) = self.clients.get(&client).or_else(guest) {
            let _ = events.send(event);
        }
    }

    pub(super) fn done(&self, client: ClientId, ticket: Ticket, result: Result<Summary, Failure>) {
        self.send(client, Event::Done { ticket, result });
    }

    pub(super) fn broadcast(&self, event: &Event) {
        for client in self.clients.values() {
            let _ = client.send(event.clone());
        }
    }

    pub(super) fn notice(&self, level: Level, text: String) {
        self.broadcast(&Event::Notice { level, text });
    }
}

pub(super) fn engine_failure(error: EngineError) -> Failure {
    Failure { what: error.what, hint: error.hint }
}

/// `1 step`, `3 steps`.
pub(super) fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

pub(super) fn only_modules() -> Failure {
    let hint = "give one of them another kind than `module`, or write a step".to_owned();
    Failure { what: "the run holds modules only, and no step".to_owned(), hint: Some(hint) }
}
