//! What is remembered of the interface for each run: how the screen is shared out, where one was, what is folded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::model::{Model, Pane};
use crate::step::StepId;

/// Most folds that are remembered.
const FOLDS: usize = 10_000;

/// What is remembered. What is missing or can't be is left as it is without.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// Percent of the columns that the list has on wide and on normal screens, and of the rows that the source has.
    shares: Option<(u16, u16, u16)>,
    /// The step that was chosen.
    step: Option<StepId>,
    /// The number of the panel that keys went to, that beside the list, and that below the source.
    panels: Option<(usize, usize, usize)>,
    /// Frames whose steps were hidden.
    folded: BTreeSet<String>,
    /// Whether chains of fresh steps were folded, if a person decided.
    fold_fresh: Option<bool>,
    /// Whether lines were cut: of the output, and of patches. Whether those of the source were wrapped.
    lines: Option<(bool, bool, bool)>,
    /// Before which steps it stops, and after a change of which variables.
    stops: (BTreeSet<StepId>, BTreeSet<String>),
}

impl Model {
    /// What is to be remembered.
    pub fn remember(&self) -> Remembered {
        Remembered {
            shares: Some((self.shares.wide, self.shares.normal, self.shares.source)),
            step: self.chosen().cloned(),
            panels: Some((self.focus.number(), self.tab.number(), self.detail.number())),
            folded: self.steps.folded.iter().take(FOLDS).map(|path| path.to_string()).collect(),
            fold_fresh: self.steps.fold_fresh,
            lines: Some((self.output.cut, self.patches.cut, self.source.wrap)),
            stops: (
                self.run.snapshot.breakpoints.iter().take(FOLDS).cloned().collect(),
                self.run.snapshot.watched_names.iter().take(FOLDS).map(|name| name.to_string()).collect(),
            ),
        }
    }

    /// Sets up what was remembered; before the run is known.
    pub fn recall(&mut self, remembered: Remembered) {
        if let Some((wide, normal, source)) = remembered.shares {
            let percent = |share: u16| share.clamp(10, 90);
            (self.shares.wide, self.shares.normal, self.shares.source) =
                (percent(wide), percent(normal), percent(source));
        }
        let pane = |number: usize, among: &[Pane]| among.iter().copied().find(|pane| pane.number() == number);
        if let Some((focus, tab, detail)) = remembered.panels {
            self.focus = pane(focus, Pane::ALL).unwrap_or(self.focus);
            self.tab = pane(tab, Pane::TABS).unwrap_or(self.tab);
            self.detail = pane(detail, Pane::DETAILS).unwrap_or(self.detail);
        }
        self.steps.folded = remembered.folded.into_iter().take(FOLDS).map(Into::into).collect();
        self.steps.fold_fresh = remembered.fold_fresh;
        if let Some(lines) = remembered.lines {
            (self.output.cut, self.patches.cut, self.source.wrap) = lines;
        }
        self.place = remembered.step;
        let (steps, names) = remembered.stops;
        self.stops = (steps.into_iter().collect(), names.into_iter().map(|name| name.as_str().into()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::app::Keymap;
    use crate::ui::stage::{Stage, churn, id};
    use crate::workbench::{Command, Event, Snapshot};
    use proptest::prelude::*;

    #[test]
    fn a_run_opens_as_it_was_left() {
        let mut stage = Stage::new(120, 40, churn());
        stage.event(Event::Snapshot(
            Snapshot { breakpoints: vec![id("02_read_events")], watched_names: vec!["df".into()], ..churn() }.into(),
        ));
        stage.keys("G 4 + + w 1");
        let remembered = stage.model.remember();
        let text = serde_json::to_string(&remembered).unwrap();
        let mut model = Model::new((120, 40), Keymap::default());
        model.recall(serde_json::from_str(&text).unwrap());
        let mut other = Stage { model, ..Stage::new(120, 40, churn()) };
        other.event(Event::Snapshot(churn().into()));
        assert_eq!(other.model.chosen(), Some(&id("13_report")));
        let (steps, names) = (vec![id("02_read_events")], vec!["df".into()]);
        assert_eq!(other.commands(), [Command::Breakpoints { steps: steps.clone(), names: names.clone() }]);
        let stops = Snapshot { breakpoints: steps, watched_names: names, ..churn() };
        other.event(Event::Snapshot(stops.into()));
        assert_eq!(other.model.remember(), remembered);
    }

    proptest! {
        #[test]
        fn nothing_that_was_written_there_is_too_odd(shares: (u16, u16, u16), panels: (usize, usize, usize)) {
            let mut model = Model::new((120, 40), Keymap::default());
            model.recall(Remembered { shares: Some(shares), panels: Some(panels), ..Remembered::default() });
            prop_assert!(model.screen().panels.len() == 3);
        }
    }
}
