//! Keys and what comes of them, as tables.

use crate::step::{Answer, PatchId, Question, QuestionId, Reason, Status, VersionNumber, Wants};
use crate::ui::app::{Effect, Message, Overlay, Pane};
use crate::ui::stage::{Stage, churn, id, proposal, step};
use crate::workbench::{Command, Event, Failure, FileProblem, Halt, Level, RepairWish, Snapshot, Ticket};
use std::sync::Arc;

fn stage(keys: &str) -> Stage {
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("g g").keys(keys);
    stage
}

#[test]
fn a_run_opens_on_what_needs_a_person() {
    assert_eq!(Stage::new(80, 24, churn()).model.chosen(), Some(&id("09_train_a")));
}

#[test]
fn moving_chooses_a_step() {
    for (keys, chosen) in [
        ("", "01_load_config"),
        ("j j k", "02_read_events"),
        ("G", "13_report"),
        ("down down up", "02_read_events"),
        ("G g g", "01_load_config"),
        ("k", "01_load_config"),
        ("]", "02_read_events"),
        ("] ] ]", "06_join"),
        ("] ] ] [", "05_dedupe_users"),
        ("}", "06_join"),
        ("{", "13_report"),
        ("ctrl-p t r b enter", "10_train_b"),
        ("/ t r a i n enter", "09_train_a"),
        ("/ t r a i n enter n", "10_train_b"),
        ("/ t r a i n enter n n", "09_train_a"),
        ("/ t r a i n enter N", "10_train_b"),
    ] {
        assert_eq!(stage(keys).model.chosen(), Some(&id(chosen)), "{keys}");
    }
}

#[test]
fn keys_ask_the_run() {
    let of = |name: &str| vec![id(name)];
    for (keys, command) in [
        ("x", Command::Run { steps: of("01_load_config"), retry_failed: false }),
        ("ctrl-p 0 9 enter x", Command::Run { steps: of("09_train_a"), retry_failed: true }),
        ("a", Command::Run { steps: vec![], retry_failed: false }),
        ("j R", Command::Replay { from: Some(id("02_read_events")), until: None }),
        ("ctrl-a y", Command::Replay { from: None, until: None }),
        ("s", Command::Next),
        ("i", Command::Invalidate { steps: of("01_load_config") }),
        ("W", Command::ReplayOnSave { on: true }),
        ("d y", Command::Delete { step: id("01_load_config") }),
        ("o ctrl-u 0 1 b enter", Command::NewStep { step: id("01b"), source: String::new() }),
        ("o x enter", Command::NewStep { step: id("01a_x"), source: String::new() }),
        ("G o x enter", Command::NewStep { step: id("14_x"), source: String::new() }),
        ("r 2 . p y enter", Command::Rename { step: id("01_load_config"), to: id("01_load_config2") }),
        ("u", Command::Undo),
        ("ctrl-r", Command::Redo),
        (": r e s c a n enter", Command::Rescan),
        ("j b", Command::Breakpoints { steps: of("02_read_events"), names: vec![] }),
        ("4 b", Command::Breakpoints { steps: vec![], names: vec!["config".into()] }),
        ("j H", Command::Run { steps: vec![id("01_load_config"), id("02_read_events")], retry_failed: false }),
        (
            "5 A y",
            Command::Accept { patch: PatchId(17), files: proposal().files, comment: None, replay: false, anyway: true },
        ),
        (
            "5 X y",
            Command::Accept { patch: PatchId(17), files: proposal().files, comment: None, replay: true, anyway: true },
        ),
        ("5 D n o enter", Command::Reject { patch: PatchId(17), comment: Some("no".into()) }),
        ("6 j j r y", Command::Restore { step: id("04_clean_events"), version: VersionNumber(2) }),
        (
            "ctrl-p 0 9 enter m y",
            Command::Repair(RepairWish {
                step: id("09_train_a"),
                agent: vec![],
                tries: None,
                candidates: None,
                accept: false,
            }),
        ),
        ("P", Command::Plan { steps: vec![], marked: vec![] }),
        ("ctrl-v", Command::Verify { check: None }),
    ] {
        assert_eq!(stage(keys).commands(), [command], "{keys}");
    }
}

#[test]
fn a_replay_by_hand_goes_on_and_back() {
    let mut stage = stage("j j S");
    assert_eq!(
        (stage.model.chosen(), stage.model.playhead.clone()),
        (Some(&id("02_read_events")), Some(id("02_read_events")))
    );
    assert_eq!(stage.model.detail, Pane::State);
    assert_eq!(stage.keys("s s").commands(), []);
    assert_eq!(stage.model.chosen(), Some(&id("04_clean_events")));
    assert_eq!(stage.keys("s s").commands(), [Command::Next]);
    stage.event(Event::Started { step: id("06_join"), why: vec![Reason::SourceChanged], rebuilt: false });
    assert_eq!(stage.model.playhead, Some(id("06_join")));
    stage.keys("esc g g S");
    assert_eq!(stage.model.playhead, None);
}

#[test]
fn arrows_follow_edges_among_boxes() {
    for (keys, chosen) in [
        ("v j", "02_read_events"),
        ("v j l", "03_read_users"),
        ("v j j", "04_clean_events"),
        ("v j j k", "02_read_events"),
        ("v k", "01_load_config"),
        ("v j j j j", "07_features"),
        ("V h", "06_join"),
    ] {
        assert_eq!(stage(keys).model.chosen(), Some(&id(chosen)), "{keys}");
    }
    assert!(stage("v esc").model.boxes.is_none());
}

#[test]
fn names_lead_to_who_wrote_and_who_uses_them() {
    let mut stage = stage("j j j 2 j j j j j j j l");
    assert_eq!(stage.model.name_under_cursor().as_deref(), Some("df_clean"));
    stage.keys("g r");
    assert_eq!(stage.model.chosen(), Some(&id("06_join")));
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("ctrl-p").types("04").keys("enter 2 l");
    assert_eq!(stage.model.name_under_cursor().as_deref(), Some("df_events"));
    stage.keys("g w");
    assert_eq!((stage.model.chosen(), stage.model.focus), (Some(&id("02_read_events")), Pane::Source));
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("g g 4 j g w");
    assert_eq!(stage.model.chosen(), Some(&id("04_clean_events")));
}

#[test]
fn where_steps_stop_a_replay_by_hand_goes_on() {
    let mut stage = stage("!");
    assert_eq!(stage.commands(), [Command::UntilFailure]);
    let why = Halt::Changed { name: "df_clean".into(), by: id("04_clean_events") };
    stage.event(Event::Halted { before: Some(id("05_dedupe_users")), why });
    assert_eq!(stage.model.chosen(), Some(&id("05_dedupe_users")));
    assert_eq!(stage.model.playhead, Some(id("04_clean_events")));
    // Who reads something else is left there.
    stage.keys("g g 2");
    stage.event(Event::Halted { before: Some(id("06_join")), why: Halt::Paused });
    assert_eq!(stage.model.chosen(), Some(&id("01_load_config")));
}

#[test]
fn what_a_step_asks_is_answered() {
    let ask = |wants| {
        let question = Question { id: QuestionId(7), step: id("06_join"), text: "how many? ".to_owned(), wants };
        let mut stage = Stage::new(120, 40, Snapshot { questions: vec![question.clone()], ..churn() });
        stage.event(Event::Asked(question));
        stage
    };
    for (wants, keys, answer) in [
        (Wants::Line, "I 4 2 enter", Answer::Line("42".to_owned())),
        (Wants::Line, "I ctrl-d", Answer::End),
        (Wants::Leave, "I a", Answer::Always),
        (Wants::Leave, "I x n", Answer::No),
    ] {
        let mut stage = ask(wants);
        assert!(stage.screen().contains("06_join asks: how many?"));
        assert_eq!(stage.keys(keys).commands(), [Command::Answer { question: QuestionId(7), answer }], "{keys}");
    }
    assert_eq!(ask(Wants::Leave).keys("I esc").commands(), []);
    assert!(ask(Wants::Leave).keys("I").screen().contains("a always"));
}

#[test]
fn keys_that_ask_nothing() {
    for keys in
        ["d n", "d esc", "d d", "ctrl-a ctrl-a", "ctrl-c", "r enter", "o ctrl-u 0 1 _ l o a d _ c o n f i g enter", "n"]
    {
        assert_eq!(stage(keys).commands(), [], "{keys}");
    }
}

#[test]
fn the_key_that_asks_never_answers() {
    let stage = stage("d d");
    assert!(matches!(stage.model.overlays.last(), Some(Overlay::Confirm(_))));
}

#[test]
fn panels_are_gone_through_and_zoomed() {
    for (keys, focus) in [
        ("tab", Pane::Source),
        ("tab tab", Pane::Output),
        ("tab tab tab", Pane::Steps),
        ("shift-tab", Pane::Output),
        ("4", Pane::State),
        ("4 esc", Pane::Steps),
        ("enter", Pane::Source),
        ("l", Pane::Source),
        (">", Pane::Steps),
    ] {
        assert_eq!(stage(keys).model.focus, focus, "{keys}");
    }
    assert_eq!(stage("3 z").model.screen().panels.len(), 1);
    assert_eq!(stage("3 z esc").model.screen().panels.len(), 3);
    assert_eq!(stage(">").model.detail, Pane::State);
}

#[test]
fn a_search_shows_at_once_and_escape_ends_it() {
    let mut stage = stage("2 /");
    stage.types("sess");
    assert_eq!(stage.model.source.window.cursor, 0);
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("ctrl-p").types("clean").keys("enter 2 /").types("drop");
    assert_eq!(stage.model.source.window.cursor, 1);
    stage.keys("enter n");
    assert_eq!(stage.model.source.window.cursor, 3);
    stage.keys("esc");
    assert!(stage.model.search.is_none());
}

#[test]
fn a_filter_lists_only_what_answers() {
    for (words, listed) in [
        ("train", 2),
        ("failed", 1),
        ("stale", 4),
        ("todo", 8),
        ("stale failed", 5),
        ("agent:clean", 1),
        ("kind:test", 0),
        ("train stale", 1),
    ] {
        let mut stage = stage("&");
        stage.types(words).keys("enter");
        assert_eq!(stage.model.steps.rows.len(), listed, "{words}");
        stage.keys("esc");
        assert_eq!(stage.model.steps.rows.len(), 13, "{words}");
    }
}

#[test]
fn nothing_takes_the_cursor_from_a_reader() {
    let mut stage = stage("j");
    let mut more = churn();
    more.steps.push(Arc::new(step("14_more")));
    stage.event(Event::Snapshot(Arc::new(more.clone())));
    stage.event(Event::Started { step: id("14_more"), why: vec![Reason::NeverRun], rebuilt: false });
    assert_eq!(stage.model.chosen(), Some(&id("02_read_events")));
    stage.keys("F");
    more.steps.push(Arc::new(step("15_last")));
    stage.event(Event::Snapshot(Arc::new(more)));
    assert_eq!(stage.model.chosen(), Some(&id("15_last")));
    stage.keys("k");
    assert!(!stage.model.follow);
}

#[test]
fn the_cursor_stays_on_its_step_when_others_come_and_go() {
    let mut stage = stage("j j");
    let mut other = churn();
    other.steps.insert(0, Arc::new(step("00_first")));
    other.edges = Arc::default();
    stage.event(Event::Snapshot(Arc::new(other.clone())));
    assert_eq!(stage.model.chosen(), Some(&id("03_read_users")));
    other.steps.remove(3);
    stage.event(Event::Snapshot(Arc::new(other)));
    assert_eq!(stage.model.chosen(), Some(&id("04_clean_events")));
    stage.event(Event::Snapshot(Arc::new(Snapshot::default())));
    assert_eq!(stage.model.chosen(), None);
}

#[test]
fn a_step_that_is_made_is_gone_to() {
    let mut stage = stage("o x enter");
    let mut more = churn();
    more.steps.insert(1, Arc::new(step("01a_x")));
    more.edges = Arc::default();
    stage.event(Event::Snapshot(Arc::new(more)));
    assert_eq!(stage.model.chosen(), Some(&id("01a_x")));
}

#[test]
fn what_is_pasted_is_typed_only_where_text_is() {
    let mut stage = stage("");
    stage.send(Message::Paste("d y".to_owned()));
    assert_eq!(stage.commands(), []);
    stage.keys("r ctrl-u").send(Message::Paste("9\n".to_owned()));
    stage.keys("enter");
    assert_eq!(stage.commands(), [Command::Rename { step: id("01_load_config"), to: id("9") }]);
}

#[test]
fn failures_are_told_with_their_remedy() {
    let mut stage = stage("");
    let failure = Failure { what: "the run is locked".to_owned(), hint: Some("close the other one".to_owned()) };
    stage.event(Event::Done { ticket: Ticket(1), result: Err(failure) });
    let notice = stage.model.notices.current(stage.model.now).unwrap();
    assert_eq!((notice.level, notice.text.as_str()), (Level::Error, "the run is locked: close the other one"));
    stage.send(Message::Now(1_000_000 + 20_000));
    assert_eq!(stage.model.notices.current(stage.model.now), None);
    assert!(stage.keys("M").screen().contains("the run is locked"));
}

#[test]
fn files_that_are_wrong_are_told_when_they_come_and_counted_as_long_as_they_are() {
    let problem = FileProblem {
        path: "02_b.sh".to_owned(),
        what: "it has the same id as 02_b.py, which is kept".to_owned(),
        remedy: "rename one of the two".to_owned(),
        level: Level::Error,
    };
    let mut stage = stage("");
    assert!(!stage.screen().contains("problem"));
    let wrong = Snapshot { problems: vec![problem.clone()], ..churn() };
    stage.event(Event::Snapshot(Arc::new(wrong.clone())));
    let notice = stage.model.notices.current(stage.model.now).unwrap();
    assert_eq!(notice.text, "02_b.sh: it has the same id as 02_b.py, which is kept; rename one of the two");
    assert!(stage.screen().lines().next().unwrap().contains("! 1 problem "));
    let other = FileProblem { path: "03.sh".to_owned(), ..problem };
    let more = Snapshot { problems: [wrong.problems, vec![other]].concat(), ..churn() };
    stage.event(Event::Snapshot(Arc::new(more)));
    assert_eq!(stage.model.notices.all().count(), 2);
    assert!(stage.screen().lines().next().unwrap().contains("! 2 problems "));
    stage.event(Event::Snapshot(Arc::new(churn())));
    assert!(!stage.screen().lines().next().unwrap().contains("problem"));
    assert!(stage.keys("M").screen().contains("03.sh: it has the same id"));
}

#[test]
fn nothing_is_drawn_when_nothing_changed() {
    let mut stage = stage("");
    stage.model.take_dirty();
    stage.send(Message::Now(1_000_001));
    assert!(!stage.model.take_dirty());
    assert_eq!(stage.model.wakes_at(), None);
    let mut running = churn();
    running.running = Some((id("06_join"), 999_000));
    let mut row = (*running.steps[5]).clone();
    row.status = Status::Running;
    running.steps[5] = row.into();
    stage.event(Event::Snapshot(Arc::new(running)));
    stage.model.take_dirty();
    let wake = stage.model.wakes_at().unwrap();
    stage.send(Message::Now(wake));
    assert!(stage.model.take_dirty());
}

#[test]
fn a_traceback_leads_to_the_source() {
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("3 g g / m o d u l e enter enter");
    assert_eq!((stage.model.focus, stage.model.source.window.cursor), (Pane::Source, 1));
}

#[test]
fn quitting_asks_only_while_steps_run() {
    assert_eq!(stage("q").effects, [Effect::Quit]);
    let mut running = churn();
    running.progress = Some((1, 3));
    let mut stage = Stage::new(80, 24, running);
    assert_eq!(stage.keys("q").effects, []);
    assert_eq!(stage.keys("y").effects, [Effect::Quit]);
}
