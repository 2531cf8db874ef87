//! What the lines at the foot say about where one is and what a key would do.

use crate::step::{Outcome, PatchId, PatchState, Status};
use crate::ui::app::{Message, Pane, overlay};
use crate::ui::stage::{Stage, churn, id};
use crate::workbench::{Command, Event, Failure, Level, Summary, Ticket};

fn stage(keys: &str) -> Stage {
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("g g").keys(keys);
    stage
}

/// The line above the hints.
fn said(stage: &mut Stage) -> String {
    let screen = stage.screen();
    screen.lines().rev().nth(1).unwrap_or_default().trim().to_owned()
}

#[test]
fn a_key_that_does_nothing_here_says_where_it_does() {
    for (keys, expected) in [
        ("space", "only frames and chains of fresh steps fold; x runs this step"),
        ("A", "A is accept in Patch; 5 goes there"),
        ("K", "K is previous-patch in Patch; 5 goes there"),
        ("Q", "Q means nothing here; ? shows the keys"),
        ("E", "this step has not failed; } goes to the next that needs you"),
        ("5", "no patch waits for 01_load_config; this one is for 04_clean_events.py"),
    ] {
        let said = said(&mut stage(keys));
        assert!(said.ends_with(expected), "{keys}: {said}");
    }
}

#[test]
fn a_search_says_how_often_it_found_and_how_to_go_on() {
    for (keys, expected) in [
        ("/ t r a i n", "search: train   line 1 of 2"),
        ("/ t r a i n enter", "line 1 of 2 with \"train\"  ·  n next  N before  esc ends the search"),
        ("/ t r a i n enter n", "line 2 of 2 with \"train\"  ·  n next  N before  esc ends the search"),
        ("/ x y z", "search: xyz   not found"),
        ("/ x y z enter", "\"xyz\" is not in Steps  ·  esc ends the search"),
    ] {
        assert_eq!(said(&mut stage(keys)), expected, "{keys}");
    }
}

#[test]
fn a_name_that_is_written_out_comes_first_in_the_palette() {
    for name in ["try", "run", "patch", "plan", "stop", "search"] {
        let mut palette = overlay::palette();
        palette.field.paste(name);
        palette.narrow();
        assert_eq!(palette.chosen().and_then(|action| action.entry()).map(|entry| entry.name), Some(name));
    }
}

#[test]
fn every_line_of_a_proposal_takes_it_in() {
    for down in ["", "j", "j j", "j j j"] {
        let mut stage = Stage::new(120, 40, churn());
        stage.keys("E / p r o p o s e d enter").keys(down);
        assert_eq!(said(stage.keys("esc 3")), "enter makes a patch of what is proposed", "{down}");
        let asked = stage.keys("enter").commands();
        assert!(matches!(asked.as_slice(), [Command::AddPatch { .. }]), "{down}: {asked:?}");
    }
    let mut stage = Stage::new(120, 40, churn());
    assert_eq!(stage.keys("E / o r space r e n a m e enter enter").commands(), []);
}

#[test]
fn what_waits_and_what_failed_is_hinted() {
    let hints = |stage: &mut Stage| stage.screen().lines().next_back().unwrap_or_default().to_owned();
    let mut failed = Stage::new(120, 40, churn());
    assert!(hints(&mut failed).contains("E why  5 patches"));
    assert!(!hints(&mut stage("")).contains("why"));
    let mut none = churn();
    none.patches = Vec::new();
    assert!(!hints(&mut Stage::new(120, 40, none)).contains("patches"));
}

#[test]
fn what_was_stopped_is_not_told_as_failed() {
    let mut stage = stage("ctrl-p 0 9 enter");
    let mut stopped = stage.model.output.shown().and_then(|document| document.execution.clone()).unwrap();
    std::sync::Arc::make_mut(&mut stopped).outcome = Outcome::Interrupted;
    let step = id("09_train_a");
    stage.event(Event::Settled {
        step,
        status: Status::Failed,
        ran: true,
        why: Vec::new(),
        rebuilt: false,
        execution: Some(stopped),
    });
    assert!(said(&mut stage).ends_with("09_train_a was stopped"));
}

#[test]
fn the_question_goes_with_the_steps_that_it_was_about() {
    let mut running = churn();
    running.progress = Some((1, 3));
    let mut stage = Stage::new(80, 24, running);
    stage.keys("q").event(Event::Snapshot(churn().into()));
    assert!(stage.model.overlays.is_empty());
    assert!(said(&mut stage).ends_with("the steps have ended; q quits"));
}

#[test]
fn nothing_taken_is_neither_weighed_nor_tried_as_the_whole() {
    let mut stage = stage("5 r r r r");
    assert_eq!(stage.model.patches.chosen, Some(PatchId(17)));
    assert!(stage.screen().contains("Nothing of it is taken; D rejects it"));
    assert_eq!(stage.keys("t A").commands(), []);
}

#[test]
fn a_text_that_is_shifted_says_so() {
    let mut stage = stage("j j j 3 w l l l");
    assert_eq!(stage.model.focus, Pane::Output);
    let left = stage.model.output.window.left;
    assert_eq!(stage.screen().contains(&format!("from column {}", left + 1)), left > 0);
    assert!(left > 0);
}

#[test]
fn a_key_is_answered_at_once_whatever_was_told_just_before() {
    let mut stage = stage("");
    stage.send(Message::Told(Level::Error, "it failed".to_owned()));
    stage.send(Message::Told(Level::Info, "news".to_owned()));
    assert!(said(&mut stage).ends_with("it failed"));
    assert!(said(stage.keys("Q")).ends_with("Q means nothing here; ? shows the keys"));
}

#[test]
fn what_a_shell_does_by_a_command_is_named_by_its_key() {
    let mut stage = stage("");
    let text = "01_load_config was removed; `reweave undo` brings it back".to_owned();
    let result = Ok(Summary { text, ..Summary::default() });
    stage.event(Event::Done { ticket: Ticket(1), result });
    assert!(said(&mut stage).ends_with("01_load_config was removed; u brings it back"));
}

#[test]
fn a_blocked_step_leads_to_the_one_that_failed() {
    let mut stage = stage("ctrl-p 1 1 enter E");
    assert_eq!((stage.model.chosen(), stage.model.focus), (Some(&id("09_train_a")), Pane::Output));
    assert!(said(&mut stage).ends_with("09_train_a is what failed"));
}

#[test]
fn what_was_said_to_one_key_goes_with_the_next() {
    let mut stage = stage("Q");
    assert!(said(&mut stage).contains("Q means nothing"));
    assert!(!said(stage.keys("j")).contains("Q means nothing"));
}

#[test]
fn a_step_needs_more_of_a_name_than_is_offered() {
    let mut stage = stage("o enter");
    assert_eq!(stage.commands(), []);
    assert!(said(&mut stage).ends_with("write a name after the number"));
}

#[test]
fn a_patch_that_can_not_be_read_is_told_when_it_comes() {
    let mut stage = stage("");
    let mut more = churn();
    let mut row = (*more.patches[0]).clone();
    (row.id, row.state, row.title) = (PatchId(18), PatchState::Malformed, "notes.diff".to_owned());
    more.patches.push(row.into());
    stage.event(Event::Snapshot(more.into()));
    assert!(said(&mut stage).ends_with("patch #18 can't be read: notes.diff"));
    assert_eq!(stage.keys("5 J").model.patches.chosen, Some(PatchId(18)));
    let screen = stage.screen();
    let hints = screen.lines().last().unwrap_or_default();
    for word in ["take", "try", "accept", "reject"] {
        assert!(!hints.contains(word), "{word}: {hints}");
    }
}

#[test]
fn a_key_that_decides_says_that_a_patch_is_decided() {
    let mut stage = stage("5");
    let mut after = churn();
    let mut row = (*after.patches[0]).clone();
    row.state = PatchState::Accepted;
    after.patches[0] = row.into();
    stage.event(Event::Snapshot(after.into()));
    for key in ["space", "y", "r", "a", "A", "t"] {
        let said = said(stage.keys(key));
        assert!(said.ends_with("is accepted already"), "{key}: {said}");
    }
    assert_eq!(stage.commands(), []);
}

#[test]
fn messages_are_listed_to_their_ends() {
    let mut stage = stage("");
    let told = format!("reweave.toml:1: {}and so it ends", "unknown setting, ".repeat(12));
    stage.event(Event::Notice { level: Level::Error, text: told });
    assert!(stage.keys("M").screen().contains("and so it ends"));
}

#[test]
fn variables_of_a_step_that_is_not_up_to_date_say_so() {
    assert!(stage("ctrl-p 0 6 enter 4").screen().contains("after 06_join, stale now"));
    assert!(stage("4").screen().contains("after 01_load_config "));
}

#[test]
fn a_plan_that_is_refused_does_not_go_on_asking() {
    let mut stage = stage("P");
    let failure = Failure { what: "the settings are broken".to_owned(), hint: None };
    stage.event(Event::Done { ticket: Ticket(1), result: Err(failure) });
    assert!(stage.model.overlays.is_empty());
    assert!(said(&mut stage).ends_with("the settings are broken"));
}
