//! The whole state of the interface.

use std::path::PathBuf;
use std::sync::Arc;

use super::boxes::Boxes;
use super::context::Context;
use super::history::History;
use super::hunt::{Hunt, Matches};
use super::key::Chord;
use super::keymap::Keymap;
use super::names::Names;
use super::notice::Notices;
use super::output::Output;
use super::overlay::Overlay;
use super::patch::Patches;
use super::run::{Kin, RunIndex};
use super::screen::{Screen, Shares};
use super::search::Search;
use super::source::Source;
use super::state::State;
use super::steps::{Row, Steps};
use crate::step::{Millis, Name, Question, StepId};
use crate::workbench::{PatchRow, StepRow};

/// A panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pane {
    /// The list of steps with its graph.
    Steps,
    /// The source of the chosen step.
    Source,
    /// Its output.
    Output,
    /// The variables right after it.
    State,
    /// Patches under review.
    Patch,
    /// What happened to the step, or to the run.
    History,
    /// What an agent is shown for the step.
    Context,
}

impl Pane {
    /// All, in the order of their numbers.
    pub const ALL: &'static [Self] =
        &[Self::Steps, Self::Source, Self::Output, Self::State, Self::Patch, Self::History, Self::Context];
    /// Those beside the list.
    pub const TABS: &'static [Self] =
        &[Self::Source, Self::Output, Self::State, Self::Patch, Self::History, Self::Context];
    /// Those below the source, where there is room for both.
    pub const DETAILS: &'static [Self] = &[Self::Output, Self::State, Self::Patch, Self::History, Self::Context];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Steps => "Steps",
            Self::Source => "Source",
            Self::Output => "Output",
            Self::State => "State",
            Self::Patch => "Patch",
            Self::History => "History",
            Self::Context => "Context",
        }
    }

    /// Its title where there is little room.
    pub fn brief(self) -> &'static str {
        match self {
            Self::Steps => "Steps",
            Self::Source => "Src",
            Self::Output => "Out",
            Self::State => "Var",
            Self::Patch => "Pat",
            Self::History => "His",
            Self::Context => "Ctx",
        }
    }

    /// Its number, which is also its key.
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|pane| *pane == self).map_or(0, |at| at + 1)
    }
}

/// What is remembered of the mouse between a press and a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Drag {
    /// Nothing is dragged.
    #[default]
    None,
    /// The border beside the list.
    Divider,
    /// The border below the source.
    Ledge,
}

/// The whole state of the interface.
#[derive(Debug, Clone)]
pub struct Model {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// What time it is.
    pub now: Millis,
    /// The run.
    pub run: RunIndex,
    /// Whether a first snapshot has come.
    pub loaded: bool,
    /// Whether the workbench has ended.
    pub closed: bool,
    /// The panel that keys go to.
    pub focus: Pane,
    /// What the panel beside the list shows while the focus is on the list.
    pub tab: Pane,
    /// What the panel below the source shows while the focus is elsewhere.
    pub detail: Pane,
    /// Whether the focused panel has the whole screen.
    pub zoom: bool,
    /// How the screen is shared out.
    pub shares: Shares,
    /// The list.
    pub steps: Steps,
    /// The source.
    pub source: Source,
    /// The output.
    pub output: Output,
    /// The variables.
    pub state: State,
    /// The patch under review.
    pub patches: Patches,
    /// What happened.
    pub history: History,
    /// What an agent is shown.
    pub context: Context,
    /// The steps that the chosen one needs and those that use it, however far away.
    pub kin: Kin,
    /// The names that tie the chosen step to others.
    pub names: Names,
    /// The step that was chosen when the run was open last.
    pub(super) place: Option<StepId>,
    /// The breakpoints that it had then, and the variables whose change stops it.
    pub(super) stops: (Vec<StepId>, Vec<Name>),
    /// Whether the cursor is to go to why the step failed, once that is told.
    pub(super) seeks_why: bool,
    /// A name to put the cursor on, once the source of this step is there.
    pub(super) sought: Option<(StepId, String)>,
    /// In a replay by hand: the step right after which one stands.
    pub playhead: Option<StepId>,
    /// Whether the next step that begins to run is the next one of a replay by hand.
    pub(super) stepping: bool,
    /// Some of the graph as boxes, shown instead of the list.
    pub boxes: Option<Boxes>,
    /// What is open over the panels, the uppermost last.
    pub overlays: Vec<Overlay>,
    /// A search that is under way.
    pub(super) hunt: Option<Hunt>,
    /// What is searched for.
    pub search: Option<Search>,
    /// How often that is there; `None` while it is not known, for it is much to look through.
    pub found: Option<Matches>,
    /// What a person should know.
    pub notices: Notices,
    /// The keys in force.
    pub keys: Keymap,
    /// Keys of a sequence that has begun.
    pub typed: Vec<Chord>,
    /// Whether the newest step is followed.
    pub follow: bool,
    /// Whether we listen to the mouse.
    pub mouse: bool,
    /// The person's own directory, if it is known; paths in it are shown from `~`.
    pub home: Option<PathBuf>,
    /// What is dragged.
    pub drag: Drag,
    /// What is on its way: for whom the source and the execution were asked last.
    pub(super) asked: Asked,
    /// A step to go to as soon as it is there.
    pub(super) awaited: Option<StepId>,
    /// Whether anything that is seen may have changed since the last frame.
    pub(super) dirty: bool,
}

/// For which step, as it then stood, each thing was asked last.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub source: Option<Arc<StepRow>>,
    pub execution: Option<Arc<StepRow>>,
    pub state: Option<Arc<StepRow>>,
    pub story: Option<(Option<StepId>, u64)>,
    pub context: Option<(StepId, u64)>,
    /// Whether the context is on its way: the next is asked for when it is there.
    pub context_comes: bool,
    pub why: Option<(StepId, Millis)>,
}

impl Model {
    /// The state before anything is known of the run.
    pub fn new(size: (u16, u16), keys: Keymap) -> Self {
        Self {
            size,
            now: 0,
            run: RunIndex::default(),
            loaded: false,
            closed: false,
            focus: Pane::Steps,
            tab: Pane::Source,
            detail: Pane::Output,
            zoom: false,
            shares: Shares::default(),
            steps: Steps::default(),
            source: Source::default(),
            output: Output::default(),
            state: State::default(),
            patches: Patches::default(),
            history: History::default(),
            context: Context::default(),
            kin: Kin::default(),
            boxes: None,
            names: Names::default(),
            place: None,
            stops: Default::default(),
            seeks_why: false,
            sought: None,
            playhead: None,
            stepping: false,
            overlays: Vec::new(),
            hunt: None,
            search: None,
            found: None,
            notices: Notices::default(),
            keys,
            typed: Vec::new(),
            follow: false,
            mouse: true,
            home: None,
            drag: Drag::None,
            asked: Asked::default(),
            awaited: None,
            dirty: true,
        }
    }

    /// Where everything is.
    pub fn screen(&self) -> Screen {
        let mut shares = self.shares;
        if self.boxes.is_some() {
            // A picture needs more room than a list.
            (shares.wide, shares.normal) = (shares.wide.max(58), shares.normal.max(58));
        }
        Screen::of(self.size, shares, self.focus, self.tab, self.detail, self.zoom)
    }

    /// The step that the panels show.
    pub fn chosen(&self) -> Option<&StepId> {
        self.steps.chosen.as_ref()
    }

    /// The row of the step that the panels show.
    pub fn chosen_row(&self) -> Option<&Arc<StepRow>> {
        self.run.row(self.chosen()?)
    }

    /// The row of the patch that is shown.
    pub fn patch_row(&self) -> Option<&Arc<PatchRow>> {
        let chosen = self.patches.chosen?;
        self.run.snapshot.patches.iter().find(|patch| patch.id == chosen)
    }

    /// The steps that an action means: the chosen one, or those of the frame or fold under the cursor.
    pub fn targets(&self) -> Vec<StepId> {
        let (first, count) = match self.steps.rows.get(self.steps.cursor) {
            Some(Row::Step(place)) => (*place, 1),
            Some(Row::Frame { first, count, .. } | Row::Chain { first, count }) => (*first, *count),
            None => return Vec::new(),
        };
        let steps = self.run.snapshot.steps.iter().skip(first as usize).take(count as usize);
        steps.map(|step| step.id.clone()).collect()
    }

    /// Whether steps are being executed.
    pub fn busy(&self) -> bool {
        let run = &self.run.snapshot;
        run.running.is_some() || run.progress.is_some() || !run.asked_about.is_empty()
    }

    /// What a running step waits with, if one does.
    pub fn question(&self) -> Option<&Question> {
        self.run.snapshot.questions.first()
    }

    /// Puts the focus on a panel.
    pub fn show(&mut self, pane: Pane) {
        self.focus = pane;
        if Pane::TABS.contains(&pane) {
            self.tab = pane;
        }
        if Pane::DETAILS.contains(&pane) {
            self.detail = pane;
        }
    }

    /// Whether a frame must be drawn; asking clears it.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// When the screen changes though nothing happens: a running clock, a notice that goes.
    pub fn wakes_at(&self) -> Option<Millis> {
        let clock = self.run.snapshot.running.is_some().then(|| self.now - self.now.rem_euclid(SPIN) + SPIN);
        [clock, self.notices.next_change(self.now)].into_iter().flatten().min()
    }
}

/// How long each picture of the running mark is shown, in milliseconds.
pub const SPIN: Millis = 120;
