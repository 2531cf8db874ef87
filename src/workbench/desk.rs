//! The workbench's own thread: everything that happens to a run passes through here, one thing at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::book::{Book, Changes, failure};
use super::decide::Wish;
use super::engine_room::{EngineRoom, News, Work};
use super::job::{Job, JobKind, ToTry, Wanted};
use super::moment::now;
use super::setup::Setup;
use super::shelf::Shelf;
use super::update::{Told, Update, status_of};
use super::{
    Command, EngineView, Event, Failure, Level, Options, PlanAction, PlanRow, Request, Snapshot, Summary, Ticket,
    WatchView, contexts, diagnosing, hands, past,
};
use crate::agent::TokenCount;
use crate::engine::{Action, EngineError, Goal, Planned, Report, Verified};
use crate::run::{Change, Tree, WatchMode, Watcher};
use crate::step::{Digest, Execution, Millis, Reason, Status, StepId, Variable};

/// Who asks: the face in this process, or one that came through the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ClientId(pub(super) u64);

/// The face that opened the workbench: when it closes, the workbench ends.
pub(super) const OPENER: ClientId = ClientId(0);

/// What comes to the desk.
#[derive(Debug)]
pub(super) enum Input {
    /// Someone wants to be told.
    Join(ClientId, Sender<Event>),
    /// Someone went away.
    Leave(ClientId),
    /// Someone asks.
    Ask(ClientId, Request),
    /// The engine tells.
    Engine(News),
    /// The watcher tells that the directory changed.
    Disk(Change),
}

/// Snapshots come no more often than this: a frame at 60 a second.
const FRAME: Duration = Duration::from_millis(16);

/// The desk and all that lies on it.
pub(super) struct Desk {
    pub(super) book: Book,
    pub(super) shelf: Shelf,
    pub(super) setup: Setup,
    options: Options,
    inputs: Receiver<Input>,
    /// For what is started here and tells here.
    own: Sender<Input>,
    clients: BTreeMap<ClientId, Sender<Event>>,
    /// The face that opened the workbench, once it has closed it: to be told when that is done.
    opener: Option<Sender<Event>>,
    room: Option<EngineRoom>,
    view: EngineView,
    watcher: Option<Watcher>,
    watch: WatchView,
    pub(super) jobs: VecDeque<Job>,
    /// What the engine works on now.
    pub(super) current: Option<(Job, Update)>,
    pub(super) running: Option<(StepId, Millis)>,
    replay_on_save: bool,
    generation: u64,
    /// Whether marks are to be decided anew.
    unsettled: bool,
    /// Whether listeners don't know of something yet.
    pub(super) untold: bool,
    told_at: Option<Instant>,
    /// What texts of contexts cost.
    tokens: TokenCount,
    /// Whether the engine has other settings than the run.
    outdated: bool,
    /// Whether what runs was asked to stop.
    stopping: bool,
    closing: bool,
}

impl Desk {
    /// A desk for an opened run.
    pub(super) fn new(book: Book, setup: Setup, options: Options, inputs: Receiver<Input>, own: Sender<Input>) -> Self {
        Self {
            book,
            shelf: Shelf::default(),
            setup,
            options,
            inputs,
            own,
            clients: BTreeMap::new(),
            opener: None,
            room: None,
            view: EngineView::default(),
            watcher: None,
            watch: WatchView::default(),
            jobs: VecDeque::new(),
            current: None,
            running: None,
            replay_on_save: false,
            generation: 0,
            unsettled: false,
            untold: true,
            told_at: None,
            tokens: TokenCount::default(),
            outdated: false,
            stopping: false,
            closing: false,
        }
    }

    /// Has the directory watched from now on. Where that can't be, listeners are told, and looks are taken when
    /// something is asked.
    pub(super) fn watch(&mut self) {
        let own = self.own.clone();
        let tree = Tree::read(self.book.dir());
        match Watcher::start(tree, move |change| drop(own.send(Input::Disk(change)))) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => self.notice(Level::Warning, format!("the directory is not watched: {error}")),
        }
    }

    /// Reads the patches, and what lies in the inbox.
    pub(super) fn read_patches(&mut self) -> Result<(), Failure> {
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
        self.watcher = None;
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
            let due = self.told_at.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()));
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
            Input::Disk(change) => self.disk(&change),
        }
    }

    fn leave(&mut self, client: ClientId) {
        let events = self.clients.remove(&client);
        if client == OPENER {
            self.closing = true;
            self.opener = events;
        }
        self.jobs.retain(|job| job.client != client);
        if self.current.as_ref().is_some_and(|(job, _)| job.client == client) {
            self.stop_engine();
        }
    }

    // --- asking -------------------------------------------------------------------------------------------

    fn ask(&mut self, client: ClientId, ticket: Ticket, command: Command) {
        match self.answer(client, ticket, command) {
            Ok(Some(summary)) => self.done(client, ticket, Ok(summary)),
            Ok(None) => {}
            Err(failure) => self.done(client, ticket, Err(failure)),
        }
    }

    /// Does what can be done at once; what the engine is needed for waits its turn (`Ok(None)`).
    fn answer(&mut self, client: ClientId, ticket: Ticket, command: Command) -> Result<Option<Summary>, Failure> {
        let queue = |desk: &mut Self, kind| {
            desk.jobs.push_back(Job { client, ticket, kind });
            Ok(None)
        };
        let update = |wanted, retry_failed, at_most| JobKind::Update { wanted, retry_failed, at_most };
        match command {
            Command::Run { steps, retry_failed } => {
                let wanted = if steps.is_empty() { Wanted::All } else { Wanted::Steps(self.known(steps)?) };
                queue(self, update(wanted, retry_failed, None))
            }
            Command::Replay { from, until } => {
                if let Some(until) = &until {
                    self.known([until.clone()])?;
                }
                let marked = match from {
                    Some(from) => self.known([from])?,
                    None => self.all_as_far_as(until.as_ref()),
                };
                self.mark(&marked)?;
                queue(self, update(until.map_or(Wanted::All, Wanted::Until), true, None))
            }
            Command::Next => queue(self, update(Wanted::All, false, Some(1))),
            Command::Plan { steps, marked } => {
                let (wanted, marked) = (self.known(steps)?, self.known(marked)?);
                queue(self, JobKind::Plan { wanted, marked })
            }
            Command::Verify { check } => queue(self, JobKind::Verify { check }),
            Command::State { at, names } => {
                if let Some(at) = &at {
                    self.known([at.clone()])?;
                }
                queue(self, JobKind::State { at, names })
            }
            Command::Invalidate { steps } => {
                let steps = self.known(steps)?;
                self.mark(&steps)?;
                Ok(Some(Summary {
                    text: format!("{} marked stale", counted(steps.len(), "step")),
                    ..Summary::default()
                }))
            }
            Command::Stop => Ok(Some(self.stop(client))),
            Command::ReplayOnSave { on } => {
                self.replay_on_save = on;
                self.untold = true;
                let text = if on { "a saved file is replayed at once" } else { "saved files wait" };
                Ok(Some(Summary { text: text.to_owned(), ..Summary::default() }))
            }
            Command::Source { step } => {
                let event = hands::source(&self.book, &step)?;
                self.send(client, event);
                Ok(Some(Summary::default()))
            }
            Command::Execution { step } => {
                self.known([step.clone()])?;
                let execution = self.book.held(&step);
                self.send(client, Event::Execution { step, execution });
                Ok(Some(Summary::default()))
            }
            Command::Diagnose { step } => {
                self.known([step.clone()])?;
                self.settle_marks();
                let diagnosis = Arc::new(diagnosing::diagnose(&mut self.book, &self.setup.parser(), &step)?);
                self.send(client, Event::Diagnosis { step, diagnosis });
                Ok(Some(Summary::default()))
            }
            Command::Context { step, budget } => {
                self.known([step.clone()])?;
                self.settle_marks();
                let budget = budget.or_else(|| usize::try_from(self.setup.config.agent.budget).ok());
                let context =
                    Arc::new(contexts::context(&mut self.book, &self.setup.parser(), &step, budget, &mut self.tokens)?);
                self.send(client, Event::Context { step, context });
                Ok(Some(Summary::default()))
            }
            Command::Rescan => {
                self.look(None)?;
                self.look_in()?;
                Ok(Some(Summary::default()))
            }
            Command::Try { patch, files } => {
                self.patch_to_try(patch, &files)?;
                let choices = vec![ToTry { ticket, patch, files, then: None }];
                queue(self, JobKind::Try { choices })
            }
            Command::Accept { patch, files, comment, replay, anyway } => {
                self.accept(client, ticket, Wish { patch, files, comment, anyway, replay })
            }
            Command::AddPatch { .. }
            | Command::Patch { .. }
            | Command::Weigh { .. }
            | Command::Reject { .. }
            | Command::Revert { .. }
            | Command::Comment { .. } => self.patch(client, ticket, command).map(Some),
            Command::Close => {
                self.leave(client);
                Ok(None)
            }
            Command::Gc { .. } if self.current.is_some() => Err(Failure {
                what: "steps are running: what they are about to refer to could be cleared away".to_owned(),
                hint: Some("wait until they are done, or `reweave stop`".to_owned()),
            }),
            about @ (Command::Story { .. }
            | Command::VersionText { .. }
            | Command::Past { .. }
            | Command::RestoreTo { .. }
            | Command::Gc { .. }) => {
                // What is on the disk by now is part of the story.
                self.look(None)?;
                let (event, text) = past::answer(&mut self.book, about)?;
                event.into_iter().for_each(|event| self.send(client, event));
                self.look(None)?;
                Ok(Some(Summary { text, ..Summary::default() }))
            }
            by_hand => {
                let decided = matches!(by_hand, Command::Undo | Command::Redo);
                let text = hands::perform(&mut self.book, by_hand)?;
                if decided {
                    // It may have been a decision about a patch.
                    self.shelf.load(self.book.store())?;
                }
                self.look(None)?;
                Ok(Some(Summary { text, ..Summary::default() }))
            }
        }
    }

    /// These steps, if all of them are there.
    fn known(&mut self, steps: impl IntoIterator<Item = StepId>) -> Result<BTreeSet<StepId>, Failure> {
        let steps: BTreeSet<StepId> = steps.into_iter().collect();
        if steps.iter().any(|step| self.book.step(step).is_none()) {
            // It may have been written a moment ago.
            self.look(None)?;
        }
        match steps.iter().find(|step| self.book.step(step).is_none()) {
            None => Ok(steps),
            Some(step) => Err(hands::no_such_step(step)),
        }
    }

    fn all_as_far_as(&self, until: Option<&StepId>) -> BTreeSet<StepId> {
        let ids = self.book.steps().iter().map(|entry| &entry.file.id);
        ids.filter(|id| until.is_none_or(|until| *id <= until)).cloned().collect()
    }

    fn mark(&mut self, steps: &BTreeSet<StepId>) -> Result<(), Failure> {
        self.book.mark(steps)?;
        self.unsettled = true;
        Ok(())
    }

    /// Stops what this client waits for; where it waits for nothing, whatever runs.
    fn stop(&mut self, client: ClientId) -> Summary {
        let (own, others): (VecDeque<Job>, VecDeque<Job>) = self.jobs.drain(..).partition(|job| job.client == client);
        let is_current = self.current.as_ref().is_some_and(|(job, _)| job.client == client);
        let all = own.is_empty() && !is_current;
        let (dropped, kept) = if all { (others, VecDeque::new()) } else { (own, others) };
        self.jobs = kept;
        let mut count = dropped.len();
        for job in dropped {
            self.done(job.client, job.ticket, Err(interrupted()));
        }
        if (all || is_current) && self.current.is_some() {
            self.stop_engine();
            count += 1;
        }
        let text = if count == 0 {
            "nothing was running".to_owned()
        } else {
            format!("stopped {}", counted(count, "request"))
        };
        Summary { text, ..Summary::default() }
    }

    fn stop_engine(&mut self) {
        self.stopping = true;
        if let Some(room) = &mut self.room {
            room.stop();
        }
    }

    // --- the directory ------------------------------------------------------------------------------------

    pub(super) fn look(&mut self, paths: Option<&[PathBuf]>) -> Result<Changes, Failure> {
        let changes = self.book.look(paths)?;
        self.untold |= self.shelf.follow(&self.book)?;
        // A file that a step reads may have changed where no step did.
        self.unsettled = true;
        Ok(changes)
    }

    /// Looks at the inbox.
    fn look_in(&mut self) -> Result<(), Failure> {
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
        }
        if change.inbox
            && let Err(failure) = self.look_in()
        {
            self.notice(Level::Error, failure.what);
        }
        let path = |id| change.scan.file(id).map(|file| file.path.clone());
        let paths: Vec<PathBuf> = change.added.iter().chain(&change.changed).filter_map(path).collect();
        let only_texts = change.removed.is_empty() && change.renamed.is_empty();
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
                if let Some(watcher) = &self.watcher {
                    watcher.set_exclude(exclude);
                }
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
        let kind = JobKind::Update { wanted: Wanted::Following(steps), retry_failed: false, at_most: None };
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
            JobKind::Update { .. } | JobKind::State { .. } | JobKind::Verify { .. } | JobKind::Try { .. } => {
                BTreeSet::new()
            }
        };
        if matches!(job.kind, JobKind::Update { .. }) {
            self.book.keep_edits()?;
        }
        let tasks = self.book.tasks(&marked)?;
        let texts: Vec<(StepId, Digest)> =
            self.book.steps().iter().map(|entry| (entry.file.id.clone(), entry.file.digest)).collect();
        let work = match &job.kind {
            JobKind::Update { wanted, retry_failed, at_most } => {
                Work::Update { tasks, goal: self.goal(wanted, *retry_failed, *at_most) }
            }
            JobKind::Plan { wanted, .. } => {
                Work::Plan { tasks, goal: self.goal(&Wanted::Steps(wanted.clone()), false, None) }
            }
            JobKind::Verify { check } => {
                Work::Verify { tasks, goal: self.goal(&Wanted::All, false, None), check: *check }
            }
            JobKind::Try { choices } => Work::Try(self.bench(tasks, choices)?),
            JobKind::State { at, names } => {
                let at = at.clone().or_else(|| self.last_step()).ok_or_else(only_modules)?;
                Work::State {
                    tasks,
                    goal: self.goal(&Wanted::Steps(BTreeSet::new()), false, None),
                    at,
                    names: names.clone(),
                }
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

    fn last_step(&self) -> Option<StepId> {
        self.book.steps().last().map(|entry| entry.file.id.clone())
    }

    fn goal(&self, wanted: &Wanted, retry_failed: bool, at_most: Option<usize>) -> Goal {
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
        Goal { steps, retry_failed, on_error: self.setup.on_error(), at_most }
    }

    /// The engine's room, opened when it is needed first.
    fn room(&mut self) -> Result<&mut EngineRoom, Failure> {
        match &mut self.room {
            Some(room) => Ok(room),
            none => {
                let store = self.book.store().another().map_err(failure)?;
                let settings = self.setup.engine(self.book.dir(), store)?;
                let own = self.own.clone();
                let tell = move |news| drop(own.send(Input::Engine(news)));
                Ok(none.insert(EngineRoom::start(settings, tell).map_err(engine_failure)?))
            }
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Report(report) => self.report(report),
            News::View(view) => {
                self.untold |= self.view != view;
                self.view = view;
            }
            News::Updated(result) => self.updated(result),
            News::Planned(result) => self.planned(result),
            News::State(result) => self.variables(result),
            News::Verifying(step) => self.broadcast(&Event::Verifying { step }),
            News::Verified(result) => self.verified(result),
            News::Tried(result) => self.tried(result),
        }
    }

    fn report(&mut self, report: Report) {
        if self.stopping {
            // It may have been asked before the engine began to listen.
            self.stop_engine();
        }
        let Some((_, update)) = &mut self.current else { return };
        match report {
            Report::Started { step, why, rebuilt } => {
                update.started(&step, why.clone());
                self.running = Some((step.clone(), now()));
                self.untold = true;
                self.broadcast(&Event::Started { step, why, rebuilt });
            }
            Report::Printed { step, chunk } => self.broadcast(&Event::Printed { step, chunk }),
            Report::InputWanted { step, prompt } => self.broadcast(&Event::InputWanted { step, prompt }),
            Report::Notice(text) => self.notice(Level::Warning, text),
            Report::Executed { execution, rebuilt } => {
                let mut why = update.why(&execution.step);
                if why.is_empty() {
                    why.clone_from(&execution.why);
                }
                self.running = None;
                if let Some(text) = update.text_of(&execution.step) {
                    self.book.executed(&execution, text);
                }
                let step = execution.step.clone();
                update.tell(&step, Told::Executed { execution: Arc::clone(&execution), rebuilt, why: why.clone() });
                self.settled(step, status_of(&execution), !rebuilt, rebuilt, why, Some(execution));
            }
            Report::Kept { step, execution, carried } => {
                if let Some(text) = update.text_of(&step) {
                    self.book.kept(&step, &execution, text);
                }
                update.tell(&step, Told::Kept { execution: Arc::clone(&execution), carried });
                self.settled(step, status_of(&execution), false, false, Vec::new(), Some(execution));
            }
            Report::Blocked { step, why } => {
                if let Some(text) = update.text_of(&step) {
                    self.book.blocked(&step, &why, text);
                }
                update.tell(&step, Told::Blocked { why: why.clone() });
                self.settled(step, Status::Blocked, false, false, vec![why], None);
            }
            Report::NotReached { step, why } => {
                let why = why.filter(|why| update.is_failed_at(why));
                update.tell(&step, Told::NotReached { why: why.clone() });
                if let Some(why) = why {
                    self.settled(step, Status::Blocked, false, false, vec![why], None);
                }
            }
        }
    }

    fn settled(
        &mut self,
        step: StepId,
        status: Status,
        ran: bool,
        rebuilt: bool,
        why: Vec<Reason>,
        execution: Option<Arc<Execution>>,
    ) {
        self.unsettled = true;
        self.broadcast(&Event::Settled { step, status, ran, rebuilt, why, execution });
    }

    fn updated(&mut self, result: Result<(), EngineError>) {
        let Some((job, update)) = self.current.take() else { return };
        self.running = None;
        self.unsettled = true;
        let recorded = self.book.settle();
        self.settle_marks();
        let steps = update.results(|step| {
            let execution = self.book.held(step);
            match self.book.verdict(step) {
                Some(verdict) => (verdict.status, verdict.reasons.clone(), execution),
                None => (Status::Never, Vec::new(), execution),
            }
        });
        let count = |wanted: &dyn Fn(&super::StepResult) -> bool| steps.iter().filter(|step| wanted(step)).count();
        let mut summary = Summary {
            ran: count(&|step| step.ran),
            kept: count(&|step| !step.ran && !step.rebuilt && step.status == Status::Fresh),
            rebuilt: count(&|step| step.rebuilt),
            failed: update.failed(),
            text: String::new(),
        };
        summary.text = told(&summary);
        self.send(job.client, Event::Ran { ticket: job.ticket, steps: Arc::new(steps) });
        let result = match (result, recorded) {
            (Err(error), _) => Err(engine_failure(error)),
            (Ok(()), Err(failure)) => Err(failure),
            (Ok(()), Ok(())) => Ok(summary),
        };
        // Before the answer, so that whoever has it sees the run at rest.
        self.told_at = None;
        self.tell_snapshot();
        self.done(job.client, job.ticket, result);
    }

    fn planned(&mut self, result: Result<Vec<Planned>, EngineError>) {
        let Some((job, _)) = self.current.take() else { return };
        let result = result.map_err(engine_failure).map(|planned| {
            let entries: Vec<PlanRow> = planned.into_iter().map(|planned| self.plan_row(planned)).collect();
            let runs = entries.iter().filter(|row| row.action == PlanAction::Run).count();
            self.send(job.client, Event::Plan { ticket: job.ticket, entries: Arc::new(entries) });
            Summary { text: format!("{} would run", counted(runs, "step")), ..Summary::default() }
        });
        self.done(job.client, job.ticket, result);
    }

    fn plan_row(&self, planned: Planned) -> PlanRow {
        let action = match planned.action {
            Action::Run => PlanAction::Run,
            Action::Carry => PlanAction::Carry,
            Action::Keep => PlanAction::Keep,
            Action::Blocked => PlanAction::Blocked,
        };
        let last = self.book.held_in_short(&planned.step).map(|(_, duration)| duration);
        let estimate_us = if action == PlanAction::Run { last } else { Some(0) };
        // What runs whatever else happens is certain, also after a step of which nobody knows what it will make.
        let must = |reason: &Reason| matches!(reason, Reason::NeverRun | Reason::Invalidated | Reason::Retried);
        let certain = planned.certain || (action == PlanAction::Run && planned.why.iter().any(must));
        PlanRow { id: planned.step, action, certain, why: planned.why, estimate_us }
    }

    fn variables(&mut self, result: Result<Vec<Variable>, EngineError>) {
        let Some((job, _)) = self.current.take() else { return };
        let JobKind::State { at, .. } = &job.kind else { return };
        let at = at.clone().or_else(|| self.last_step());
        let result = match (result, at) {
            (Ok(variables), Some(at)) => {
                self.send(job.client, Event::State { at, variables: Arc::new(variables) });
                Ok(Summary::default())
            }
            (Ok(_), None) => Err(only_modules()),
            (Err(error), _) => Err(engine_failure(error)),
        };
        self.done(job.client, job.ticket, result);
    }

    fn verified(&mut self, result: Result<Verified, EngineError>) {
        let Some((job, update)) = self.current.take() else { return };
        let checked = matches!(job.kind, JobKind::Verify { check: Some(_) });
        let result = result.map_err(engine_failure).and_then(|verified| {
            if checked {
                for step in &verified.roots {
                    let (Some(held), Some(text)) = (self.book.held(step), update.text_of(step)) else {
                        continue;
                    };
                    let mut marked = (*held).clone();
                    marked.observation.nondeterministic.push("its answer with the same inputs".into());
                    self.book.executed(&Arc::new(marked), text);
                }
                self.book.settle()?;
                self.unsettled = true;
                self.settle_marks();
            }
            let text = told_of(&verified);
            let failed = verified.differences.len();
            self.send(job.client, Event::Verified { ticket: job.ticket, verified: Arc::new(verified) });
            Ok(Summary { text, failed, ..Summary::default() })
        });
        self.done(job.client, job.ticket, result);
    }

    // --- telling ------------------------------------------------------------------------------------------

    pub(super) fn settle_marks(&mut self) {
        if self.unsettled {
            self.book.judge();
            self.unsettled = false;
            self.untold = true;
        }
    }

    fn tell_snapshot(&mut self) {
        let due = self.told_at.is_none_or(|at| at.elapsed() >= FRAME);
        if !due || !(self.unsettled || self.untold) {
            self.untold |= self.unsettled;
            return;
        }
        self.settle_marks();
        if self.untold && !self.clients.is_empty() {
            self.generation += 1;
            let snapshot = Event::Snapshot(Arc::new(self.snapshot()));
            self.broadcast(&snapshot);
            self.told_at = Some(Instant::now());
            self.untold = false;
        }
    }

    fn snapshot(&self) -> Snapshot {
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
            edges: self.book.edges().to_vec(),
            patches: self.shelf.rows(),
            problems: self.book.problems().iter().chain(self.shelf.problems()).cloned().collect(),
            nothing: self.book.nothing().cloned(),
            running: self.running.clone(),
            progress: self.current.as_ref().filter(updating).map(|(_, update)| update.progress()),
            waiting: self.jobs.len(),
            replay_on_save: self.replay_on_save,
            engine: self.view.clone(),
            watch: self.watch.clone(),
            breakpoints: Vec::new(),
            watched_names: Vec::new(),
        }
    }

    pub(super) fn send(&self, client: ClientId, event: Event) {
        if let Some(events) = self.clients.get(&client) {
            let _ = events.send(event);
        }
    }

    pub(super) fn done(&self, client: ClientId, ticket: Ticket, result: Result<Summary, Failure>) {
        self.send(client, Event::Done { ticket, result });
    }

    fn broadcast(&self, event: &Event) {
        for client in self.clients.values() {
            let _ = client.send(event.clone());
        }
    }

    pub(super) fn notice(&self, level: Level, text: String) {
        self.broadcast(&Event::Notice { level, text });
    }
}

fn only_modules() -> Failure {
    let hint = "give one of them another kind than `module`, or write a step".to_owned();
    Failure { what: "the run holds modules only, and no step".to_owned(), hint: Some(hint) }
}

fn interrupted() -> Failure {
    Failure { what: "stopped before it began".to_owned(), hint: None }
}

pub(super) fn engine_failure(error: EngineError) -> Failure {
    Failure { what: error.what, hint: error.hint }
}

/// `1 step`, `3 steps`.
pub(super) fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

fn told(summary: &Summary) -> String {
    let mut text = format!("{} ran, {} kept", summary.ran, summary.kept);
    if summary.rebuilt > 0 {
        text.push_str(&format!(", {} rebuilt", summary.rebuilt));
    }
    if summary.failed > 0 {
        text.push_str(&format!(", {} failed", summary.failed));
    }
    text
}

/// How full runs compared, in a line.
fn told_of(verified: &Verified) -> String {
    let steps: BTreeSet<&StepId> = verified.differences.iter().map(|difference| &difference.id).collect();
    let differing = match steps.len() {
        0 => "none differs".to_owned(),
        1 => "1 differs".to_owned(),
        more => format!("{more} differ"),
    };
    format!("{} compared with a run from nothing: {differing}", counted(verified.compared, "step"))
}
