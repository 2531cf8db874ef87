//! Everything that a person can do, in one table: the keymap, the help, the palette, the hints and the
//! documentation of the keys are all made from it.

use super::model::{Model, Pane};
use super::run::cause;
use crate::step::{PatchState, Status};

/// Something that a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the table below says what each does")]
pub enum Action {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    Bottom,
    Open,
    NextPanel,
    PrevPanel,
    NextTab,
    PrevTab,
    ShowSteps,
    ShowSource,
    ShowOutput,
    ShowState,
    Zoom,
    Widen,
    Narrow,
    Mouse,
    RunStep,
    RunAll,
    Retry,
    Repair,
    ReplayFrom,
    ReplayAll,
    Next,
    Back,
    RunToHere,
    UntilFailure,
    Pause,
    Breakpoint,
    WatchName,
    Plan,
    Verify,
    Invalidate,
    Stop,
    ReplayOnSave,
    Answer,
    Explain,
    Beside,
    NewStep,
    Rename,
    Delete,
    Edit,
    Undo,
    Redo,
    Rescan,
    ToWriter,
    ToReaders,
    ToNeeds,
    ToUsers,
    Boxes,
    BoxScope,
    Fold,
    Expand,
    Compare,
    FoldFresh,
    NextStale,
    PrevStale,
    TakeLine,
    ToggleHunk,
    TakeHunk,
    LeaveHunk,
    Range,
    NextHunk,
    PrevHunk,
    NextPatch,
    PrevPatch,
    CycleView,
    MoreContext,
    LessContext,
    SplitHunk,
    EditHunk,
    CommentPatch,
    Try,
    Accept,
    AcceptAndReplay,
    Reject,
    Revert,
    ShowPatch,
    ShowHistory,
    ShowContext,
    OpenVersion,
    WholeStory,
    AsItWas,
    Restore,
    RestoreRun,
    OpenPart,
    Search,
    NextMatch,
    PrevMatch,
    Filter,
    Jump,
    Follow,
    Wrap,
    Copy,
    Messages,
    Help,
    Palette,
    Cancel,
    Suspend,
    Redraw,
    Quit,
}

/// Under which heading help lists an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Executing steps.
    Run,
    /// Files of steps.
    Steps,
    /// Going about.
    Move,
    /// Deciding about patches.
    Patches,
    /// Looking for something.
    Find,
    /// What is on the screen.
    Screen,
    /// All else.
    General,
}

impl Group {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Run => "Run",
            Self::Steps => "Steps",
            Self::Move => "Move",
            Self::Patches => "Patches",
            Self::Find => "Find",
            Self::Screen => "Screen",
            Self::General => "General",
        }
    }

    /// All, in the order of help.
    pub const ALL: [Self; 7] =
        [Self::Run, Self::Steps, Self::Patches, Self::Find, Self::Move, Self::Screen, Self::General];
}

/// Where the keys of an action mean it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Everywhere.
    Anywhere,
    /// With the focus on this panel.
    In(Pane),
}

/// How hard an action is to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// Nothing to take back, or undo takes it back.
    None,
    /// It is asked before.
    Ask,
}

/// A row of the table.
#[derive(Debug)]
pub struct Entry {
    /// Which action.
    pub action: Action,
    /// Its name in configuration files and in the palette.
    pub name: &'static str,
    /// What it does, in a short line.
    pub doc: &'static str,
    /// Its word in the line of hints, and its rank there: smaller comes first. `None`: never hinted.
    pub hint: Option<(&'static str, u8)>,
    /// Under which heading.
    pub group: Group,
    /// Where its keys mean it.
    pub scope: Scope,
    /// Its keys unless configured otherwise.
    pub keys: &'static [&'static str],
    /// How hard it is to take back.
    pub danger: Danger,
}

const fn row(
    action: Action,
    name: &'static str,
    group: Group,
    keys: &'static [&'static str],
    doc: &'static str,
) -> Entry {
    Entry { action, name, doc, hint: None, group, scope: Scope::Anywhere, keys, danger: Danger::None }
}

impl Entry {
    const fn hint(mut self, word: &'static str, rank: u8) -> Self {
        self.hint = Some((word, rank));
        self
    }

    const fn only(mut self, pane: Pane) -> Self {
        self.scope = Scope::In(pane);
        self
    }

    const fn asked(mut self) -> Self {
        self.danger = Danger::Ask;
        self
    }
}

/// The table. The order within a group is the order of help.
pub static TABLE: &[Entry] = &[
    row(Action::RunStep, "run", Group::Run, &["x"], "Bring this step up to date, with what it needs").hint("run", 1),
    row(Action::RunAll, "run-all", Group::Run, &["a"], "Bring every step up to date").hint("all", 2),
    row(Action::ReplayFrom, "replay-from", Group::Run, &["R"], "Replay from this step on").hint("replay", 4),
    row(Action::ReplayAll, "replay-all", Group::Run, &["ctrl-a"], "Replay every step from nothing").asked(),
    row(
        Action::Retry,
        "retry-failed",
        Group::Run,
        &["t"],
        "Try this failed step again though nothing that it used changed",
    ),
    row(Action::Repair, "repair", Group::Run, &["m"], "Ask an agent for patches to this step until one passes").asked(),
    row(Action::Next, "next", Group::Run, &["s"], "Run the next step that is not up to date, then stop")
        .hint("step", 3),
    row(Action::Back, "back", Group::Run, &["S"], "Go back one step in time; nothing is run").hint("back", 7),
    row(Action::RunToHere, "run-to-here", Group::Run, &["H"], "Bring everything up to date as far as this step"),
    row(
        Action::UntilFailure,
        "until-failure",
        Group::Run,
        &["!"],
        "Bring every step up to date, and stop at the first failure",
    ),
    row(Action::Pause, "pause", Group::Run, &["p"], "Let the running step end, and run no further"),
    row(Action::Breakpoint, "breakpoint", Group::Run, &["b"], "Stop before this step, or no more").hint("stop here", 9),
    row(Action::WatchName, "watch-name", Group::Run, &["b"], "Stop after this variable changes, or no more")
        .only(Pane::State)
        .hint("stop at change", 3),
    row(Action::Plan, "plan", Group::Run, &["P"], "Show what a run would do, before it does"),
    row(Action::Verify, "verify", Group::Run, &["ctrl-v"], "Run everything from nothing on the side, and compare"),
    row(Action::Invalidate, "invalidate", Group::Run, &["i"], "Mark this step stale").hint("stale", 5),
    row(Action::Stop, "stop", Group::Run, &["ctrl-c"], "Stop what runs").hint("stop", 0),
    row(Action::ReplayOnSave, "replay-on-save", Group::Run, &["W"], "Replay as soon as a file is saved, or not"),
    row(Action::Answer, "answer", Group::Run, &["I"], "Answer what a running step asks"),
    row(Action::Explain, "explain", Group::Run, &["E"], "Show why this step failed, and what could be done")
        .hint("why", 3),
    row(Action::Beside, "beside", Group::Run, &["B"], "Set outputs beside a recording or another run"),
    row(Action::Edit, "edit", Group::Steps, &["e"], "Open the step in $EDITOR").hint("edit", 6),
    row(Action::NewStep, "new", Group::Steps, &["o"], "Make a step after this one").hint("new", 8),
    row(Action::Rename, "rename", Group::Steps, &["r"], "Rename or move the step").hint("rename", 9),
    row(Action::Delete, "delete", Group::Steps, &["d"], "Delete the step's file; its history stays").asked(),
    row(Action::Restore, "restore", Group::Steps, &["r"], "Write the version under the cursor back")
        .only(Pane::History)
        .hint("restore", 2)
        .asked(),
    row(Action::RestoreRun, "restore-run", Group::Steps, &["R"], "Take the whole run back to this moment")
        .only(Pane::History)
        .hint("restore run", 4)
        .asked(),
    row(Action::Undo, "undo", Group::Steps, &["u"], "Take back the last thing done to a step's file").hint("undo", 10),
    row(Action::Redo, "redo", Group::Steps, &["ctrl-r"], "Do again what was taken back"),
    row(Action::Rescan, "rescan", Group::Steps, &["f5"], "Look at the directory again"),
    row(Action::TakeLine, "take-line", Group::Patches, &["space"], "Take the line, or leave it")
        .only(Pane::Patch)
        .hint("take", 1),
    row(Action::TakeHunk, "take-hunk", Group::Patches, &["y"], "Take the hunk and go to the next undecided")
        .only(Pane::Patch)
        .hint("take hunk", 2),
    row(Action::LeaveHunk, "leave-hunk", Group::Patches, &["r"], "Leave the hunk and go to the next undecided")
        .only(Pane::Patch)
        .hint("leave hunk", 3),
    row(Action::ToggleHunk, "toggle-hunk", Group::Patches, &["a"], "Take the whole hunk, or leave it")
        .only(Pane::Patch),
    row(Action::Range, "range", Group::Patches, &["v"], "Begin or end a range of lines").only(Pane::Patch),
    row(Action::Accept, "accept", Group::Patches, &["A"], "Accept the patch, as far as it is chosen")
        .only(Pane::Patch)
        .hint("accept", 4),
    row(
        Action::AcceptAndReplay,
        "accept-and-replay",
        Group::Patches,
        &["X"],
        "Write what is taken, and run what that makes stale",
    )
    .only(Pane::Patch)
    .hint("and replay", 5),
    row(Action::Reject, "reject", Group::Patches, &["D"], "Turn the patch down, with a reason")
        .only(Pane::Patch)
        .hint("reject", 6),
    row(Action::Try, "try", Group::Patches, &["t"], "Run the choice on the side and show what it does")
        .only(Pane::Patch)
        .hint("try", 7),
    row(Action::Revert, "revert", Group::Patches, &["U"], "Take an accepted patch back").only(Pane::Patch).asked(),
    row(Action::CommentPatch, "comment", Group::Patches, &["c"], "Remark on the line, for who proposed it")
        .only(Pane::Patch),
    row(Action::EditHunk, "edit-hunk", Group::Patches, &["e"], "Edit what the hunk brings, in $EDITOR")
        .only(Pane::Patch),
    row(Action::SplitHunk, "split-hunk", Group::Patches, &["s"], "Split the hunk before this line").only(Pane::Patch),
    row(Action::NextHunk, "next-hunk", Group::Patches, &["n"], "Go to the next hunk, also of the next patch")
        .only(Pane::Patch)
        .hint("hunk", 8),
    row(Action::PrevHunk, "previous-hunk", Group::Patches, &["p"], "Go to the hunk before").only(Pane::Patch),
    row(Action::NextPatch, "next-patch", Group::Patches, &["J"], "Go to the next patch").only(Pane::Patch),
    row(Action::PrevPatch, "previous-patch", Group::Patches, &["K"], "Go to the patch before").only(Pane::Patch),
    row(Action::CycleView, "cycle-view", Group::Patches, &["|"], "Show it unified, split, as result, or as tried")
        .only(Pane::Patch)
        .hint("view", 9),
    row(Action::MoreContext, "more-context", Group::Patches, &["}"], "Show more lines around changes")
        .only(Pane::Patch),
    row(Action::LessContext, "less-context", Group::Patches, &["{"], "Show fewer lines around changes")
        .only(Pane::Patch),
    row(Action::Search, "search", Group::Find, &["/"], "Search in this panel").hint("search", 7),
    row(Action::NextMatch, "next-match", Group::Find, &["n"], "Go to the next match"),
    row(Action::PrevMatch, "previous-match", Group::Find, &["N"], "Go to the match before"),
    row(Action::Filter, "filter", Group::Find, &["&"], "List only some steps, by name, status, agent or variable"),
    row(Action::Jump, "jump", Group::Find, &["ctrl-p", "f"], "Jump to a step by a few letters of its name"),
    row(Action::NextStale, "next-stale", Group::Find, &["}"], "Go to the next step that needs attention"),
    row(Action::PrevStale, "previous-stale", Group::Find, &["{"], "Go to the step before that needs attention"),
    row(Action::ToWriter, "to-writer", Group::Find, &["g w"], "Go to the step that wrote the name under the cursor"),
    row(Action::ToReaders, "to-readers", Group::Find, &["g r"], "Go to the steps that use the name under the cursor"),
    row(Action::ToNeeds, "to-needs", Group::Find, &["["], "Go up an edge, to a step that this one needs")
        .only(Pane::Steps),
    row(Action::ToUsers, "to-users", Group::Find, &["]"], "Go down an edge, to a step that uses this one")
        .only(Pane::Steps),
    row(Action::Follow, "follow", Group::Find, &["F"], "Follow the newest step, or the end of the output"),
    row(Action::Down, "down", Group::Move, &["j", "down"], "Down"),
    row(Action::Up, "up", Group::Move, &["k", "up"], "Up"),
    row(Action::Left, "left", Group::Move, &["h", "left"], "Left; in the list, fold or go to the frame"),
    row(Action::Right, "right", Group::Move, &["l", "right"], "Right; in the list, unfold or go to the source"),
    row(Action::HalfDown, "half-down", Group::Move, &["ctrl-d"], "Down half a page"),
    row(Action::HalfUp, "half-up", Group::Move, &["ctrl-u"], "Up half a page"),
    row(Action::PageDown, "page-down", Group::Move, &["pagedown", "ctrl-f"], "Down a page"),
    row(Action::PageUp, "page-up", Group::Move, &["pageup", "ctrl-b"], "Up a page"),
    row(Action::Top, "top", Group::Move, &["g g", "home"], "To the first line"),
    row(Action::Bottom, "bottom", Group::Move, &["G", "end"], "To the last line"),
    row(Action::Open, "open", Group::Move, &["enter"], "Open what the cursor is on"),
    row(Action::NextPanel, "next-panel", Group::Screen, &["tab"], "Go to the next panel").hint("panel", 12),
    row(Action::PrevPanel, "previous-panel", Group::Screen, &["shift-tab"], "Go to the panel before"),
    row(Action::NextTab, "next-tab", Group::Screen, &[">", "]", "."], "Show the next tab").hint("tab", 13),
    row(Action::PrevTab, "previous-tab", Group::Screen, &["<", "[", ","], "Show the tab before"),
    row(Action::ShowSteps, "steps", Group::Screen, &["1"], "Go to the steps"),
    row(Action::ShowSource, "source", Group::Screen, &["2"], "Go to the source"),
    row(Action::ShowOutput, "output", Group::Screen, &["3"], "Go to the output"),
    row(Action::ShowState, "state", Group::Screen, &["4"], "Go to the variables"),
    row(Action::ShowPatch, "patch", Group::Screen, &["5"], "Go to the patches").hint("patches", 3),
    row(Action::ShowHistory, "history", Group::Screen, &["6"], "Go to the history"),
    row(Action::ShowContext, "context", Group::Screen, &["7"], "Go to what an agent is shown"),
    row(Action::OpenVersion, "open-version", Group::Screen, &["space"], "Show what a version changed")
        .only(Pane::History),
    row(Action::WholeStory, "whole-story", Group::Screen, &["a"], "Tell the story of the run, or of the step")
        .only(Pane::History)
        .hint("run or step", 1),
    row(
        Action::AsItWas,
        "as-it-was",
        Group::Screen,
        &["t"],
        "Show the run as it was right after this, or the story again",
    )
    .only(Pane::History)
    .hint("as it was", 3),
    row(Action::OpenPart, "open-part", Group::Screen, &["space"], "Show the text of a part").only(Pane::Context),
    row(Action::Zoom, "zoom", Group::Screen, &["z"], "Give this panel the whole screen, or take it back")
        .hint("zoom", 11),
    row(Action::Widen, "widen", Group::Screen, &["+", "="], "Make this panel larger"),
    row(Action::Narrow, "narrow", Group::Screen, &["-", "_"], "Make this panel smaller"),
    row(Action::Boxes, "boxes", Group::Screen, &["v"], "Show what is near as boxes, or the list")
        .only(Pane::Steps)
        .hint("graph", 7),
    row(Action::BoxScope, "box-scope", Group::Screen, &["V"], "Show what is near as boxes, or what is not fresh")
        .only(Pane::Steps),
    row(Action::Fold, "fold", Group::Screen, &["space"], "Fold or unfold what the cursor is on").only(Pane::Steps),
    row(Action::Expand, "expand", Group::Screen, &["space"], "Open a value, or close it")
        .only(Pane::State)
        .hint("open", 1),
    row(Action::Compare, "compare", Group::Screen, &["c"], "Keep this moment, and mark what differs in others")
        .only(Pane::State)
        .hint("compare", 2),
    row(Action::FoldFresh, "fold-fresh", Group::Screen, &["Z"], "Fold chains of fresh steps, or show them all"),
    row(Action::Wrap, "wrap", Group::Screen, &["w"], "Wrap long lines, or don't"),
    row(Action::Mouse, "mouse", Group::Screen, &["%"], "Give the mouse to the terminal, to select text, or take it"),
    row(Action::Help, "help", Group::General, &["?", "f1"], "Show the keys").hint("keys", 100),
    row(Action::Palette, "palette", Group::General, &[":"], "Find a command by its name").hint("command", 101),
    row(Action::Copy, "copy", Group::General, &["y", "ctrl-o"], "Copy what the panel shows"),
    row(Action::Messages, "messages", Group::General, &["M"], "Show the messages so far"),
    row(Action::Cancel, "cancel", Group::General, &["esc"], "Leave what is open: search, filter, zoom"),
    row(Action::Suspend, "suspend", Group::General, &["ctrl-z"], "Go to the background; fg comes back"),
    row(Action::Redraw, "redraw", Group::General, &["ctrl-l"], "Draw the screen anew"),
    row(Action::Quit, "quit", Group::General, &["q"], "Quit").hint("quit", 14),
];

impl Action {
    /// Its row.
    pub fn entry(self) -> Option<&'static Entry> {
        TABLE.iter().find(|entry| entry.action == self)
    }

    /// Whether it is worth a hint now, where it is possible.
    pub fn concerns(self, model: &Model) -> bool {
        match self {
            Self::ShowPatch => model.focus != Pane::Patch && model.run.open_patches() > 0,
            Self::TakeLine
            | Self::ToggleHunk
            | Self::TakeHunk
            | Self::LeaveHunk
            | Self::SplitHunk
            | Self::EditHunk
            | Self::Try
            | Self::Accept
            | Self::AcceptAndReplay
            | Self::Reject => model.patch_row().is_some_and(|row| row.state.is_open()),
            Self::Revert => model.patch_row().is_some_and(|row| row.state == PatchState::Accepted),
            _ => true,
        }
    }

    /// Whether it can be done now, and else why not.
    ///
    /// # Errors
    /// The reason, as a phrase for a notice.
    pub fn possible(self, model: &Model) -> Result<(), &'static str> {
        let need = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
        match self {
            Self::RunStep
            | Self::RunToHere
            | Self::Breakpoint
            | Self::ReplayFrom
            | Self::Invalidate
            | Self::Rename
            | Self::Delete
            | Self::Edit => need(!model.targets().is_empty(), "no step is chosen"),
            Self::Retry => need(
                model.chosen_row().is_some_and(|row| row.status == Status::Failed),
                "this step has not failed; R replays from it",
            ),
            Self::Repair => {
                let failed = model.chosen_row().is_some_and(|row| row.status == Status::Failed);
                need(failed, "only a step that failed can be repaired")
            }
            Self::RunAll
            | Self::ReplayAll
            | Self::Next
            | Self::Back
            | Self::Plan
            | Self::Verify
            | Self::UntilFailure => need(!model.run.snapshot.steps.is_empty(), "the run has no steps yet; o makes one"),
            Self::TakeLine
            | Self::ToggleHunk
            | Self::TakeHunk
            | Self::LeaveHunk
            | Self::Range
            | Self::NextHunk
            | Self::PrevHunk
            | Self::NextPatch
            | Self::PrevPatch
            | Self::CycleView
            | Self::MoreContext
            | Self::LessContext
            | Self::SplitHunk
            | Self::EditHunk
            | Self::CommentPatch
            | Self::Try
            | Self::Accept
            | Self::AcceptAndReplay
            | Self::Reject
            | Self::Revert => need(model.patches.review.is_some(), "no patch is shown; 5 shows the patches"),
            Self::Restore => need(
                model.history.version().is_some() || model.history.then().is_some(),
                "there is no version under the cursor",
            ),
            Self::RestoreRun | Self::AsItWas => need(model.history.moment().is_some(), "nothing is under the cursor"),
            Self::Explain => need(
                model.chosen_row().is_some_and(|row| row.status == Status::Failed || cause(row).is_some()),
                "this step has not failed; } goes to the next that needs you",
            ),
            Self::Pause => need(model.busy(), "nothing runs"),
            Self::Stop => need(model.busy(), "nothing runs; q quits"),
            Self::Answer => need(model.question().is_some(), "no step waits for an answer"),
            Self::NextMatch | Self::PrevMatch => need(model.search.is_some(), "nothing is searched for; / starts"),
            _ => Ok(()),
        }
    }
}

/// The actions that someone who knows other programs of this kind looks for first, as help lists them on top.
pub const FIRST: [Action; 12] = [
    Action::Down,
    Action::Open,
    Action::NextPanel,
    Action::NextTab,
    Action::RunStep,
    Action::RunAll,
    Action::Accept,
    Action::Edit,
    Action::Search,
    Action::Undo,
    Action::Palette,
    Action::Quit,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_action_has_one_row_and_every_name_is_one_word() {
        let actions: BTreeSet<Action> = TABLE.iter().map(|entry| entry.action).collect();
        let names: BTreeSet<&str> = TABLE.iter().map(|entry| entry.name).collect();
        assert_eq!(actions.len(), TABLE.len());
        assert_eq!(names.len(), TABLE.len());
        for entry in TABLE {
            assert!(entry.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", entry.name);
            assert!(!entry.doc.ends_with('.') && entry.doc.len() < 64, "{}", entry.doc);
        }
    }

    #[test]
    fn what_can_destroy_is_asked_about() {
        for action in [Action::Delete, Action::ReplayAll] {
            assert_eq!(action.entry().unwrap().danger, Danger::Ask);
        }
    }
}
