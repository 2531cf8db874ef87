//! Whole screens, as text, at the sizes that people have.

use std::sync::Arc;

use proptest::prelude::*;

use base64::Engine as _;

use crate::step::{
    Chunk, Display, Execution, Kind, PatchId, Question, QuestionId, Reason, Status, Stream, VersionNumber, Wants,
};
use crate::ui::app::key::Chord;
use crate::ui::app::{Message, Mouse, MouseKind};
use crate::ui::stage::{Stage, churn, edge, id, step, text};
use crate::ui::theme::{Glyphs, Theme};
use crate::workbench::{Event, PlanAction, PlanRow, Snapshot, Ticket, TrialStep, TrialView, ValueChange};

/// The screen after some keys, at each of the sizes.
fn screens(name: &str, keys: &str, sizes: &[(u16, u16)]) {
    for &(width, height) in sizes {
        let mut stage = Stage::new(width, height, churn());
        let screen = stage.keys("g g j j j").keys(keys).screen();
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), screen);
    }
}

const ALL: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

#[test]
fn steps_and_source() {
    screens("steps", "", &ALL);
    screens("source", "2 j j w z", &ALL);
}

#[test]
fn narrow_and_short() {
    screens("steps", "", &[(50, 20), (40, 10), (109, 12), (39, 24)]);
}

#[test]
fn output() {
    screens("output", "} 3", &ALL);
}

#[test]
fn state() {
    screens("state", "4", &ALL);
}

#[test]
fn state_opened() {
    screens("state-opened", "4 space j j j space j j space", &ALL);
}

#[test]
fn state_compared() {
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, churn());
        stage.keys("g g j j j 4 c");
        let mut variables = stage.model.state.list().to_vec();
        variables[0].repr = "{'seed': 1, 'days': 30}".to_owned();
        variables.remove(2);
        stage.event(Event::State { at: id("04_clean_events"), variables: variables.into() });
        insta::assert_snapshot!(format!("state-compared-{width}x{height}"), stage.screen());
    }
}

#[test]
fn patch() {
    screens("patch", "5 n y r j j space", &ALL);
    screens("patch-split", "5 |", &ALL);
    screens("patch-result", "5 | |", &ALL);
}

#[test]
fn history_and_context() {
    screens("history", "6 j j space", &ALL);
    screens("context", "7 j space", &ALL);
    screens("history-past", "6 j j t j j", &ALL);
}

#[test]
fn why_a_step_failed() {
    screens("output-why", "} } } } E", &ALL);
    screens("output-proposed", "} } } } E j j j j enter", &ALL);
}

#[test]
fn output_beside() {
    screens("output-beside", "k k 3 B enter", &ALL);
    screens("output-beside-another", "k k 3 B . . / b enter", &ALL);
}

/// A figure of two colours, as a step would show it.
fn figure() -> String {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 48, 16);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    let dots: Vec<u8> = (0..16).flat_map(|y| (0..48).map(move |x| if x / 3 == y { 0 } else { 255 })).collect();
    writer.write_image_data(&dots).unwrap();
    drop(writer);
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn tables_and_figures_are_shown() {
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, churn());
        stage.keys("g g 3");
        let display = |mime: &str, data: String, last| Display {
            repr: "<an object>".to_owned(),
            mime: [(mime.to_owned(), data)].into(),
            last,
        };
        let mut execution = Execution::new(id("01_load_config"), VersionNumber(1), 0);
        execution.displays = vec![
            display("image/png", figure(), false),
            display(
                "text/html",
                "<table><tr><th></th><th>plan</th><th>visits</th></tr><tr><th>0</th><td>free</td><td>12</td></tr>\
                 <tr><th>1</th><td>paid</td><td>7</td></tr></table><p>2 rows</p>"
                    .to_owned(),
                true,
            ),
        ];
        stage.event(Event::Execution { step: id("01_load_config"), execution: Some(execution.clone().into()) });
        insta::assert_snapshot!(format!("output-rich-{width}x{height}"), stage.screen());
        if width == 80 {
            stage.theme = Theme::built_in("mono").with_glyphs(Glyphs::ASCII);
            insta::assert_snapshot!("output-rich-ascii-80x24", stage.screen());
        }
    }
}

#[test]
fn what_a_header_does_not_announce_is_marked_and_told() {
    let mut snapshot = churn();
    let mut step = (*snapshot.steps[0]).clone();
    step.unannounced = vec!["wrote more.txt".to_owned()];
    snapshot.steps[0] = step.into();
    let screen = Stage::new(120, 40, snapshot).keys("g g").screen();
    assert!(screen.contains("01_load_config !"), "{screen}");
    assert!(screen.contains("not announced by its header: wrote more.txt"), "{screen}");
}

#[test]
fn a_step_asks() {
    let ask = |wants, text: &str| Question { id: QuestionId(7), step: id("06_join"), text: text.to_owned(), wants };
    for (width, height) in ALL {
        let questions = vec![ask(Wants::Line, "how many rows? ")];
        let mut stage = Stage::new(width, height, Snapshot { questions, ..churn() });
        insta::assert_snapshot!(format!("asked-{width}x{height}"), stage.screen());
        let questions = vec![ask(Wants::Leave, "06_join wants to connect to example.org:443")];
        let mut stage = Stage::new(width, height, Snapshot { questions, ..churn() });
        insta::assert_snapshot!(format!("asked-leave-{width}x{height}"), stage.keys("I").screen());
    }
}

#[test]
fn patch_tried() {
    let step = |name: &str, test, before, after, outputs: (&str, &str)| TrialStep {
        id: id(name),
        test,
        before,
        after,
        output_before: outputs.0.to_owned(),
        output_after: outputs.1.to_owned(),
        values: vec![ValueChange {
            name: "df_clean".to_owned(),
            before: Some("8123 rows × 6 columns".to_owned()),
            after: Some("7990 rows × 6 columns".to_owned()),
        }],
        effects: vec!["wrote /tmp/dbg.csv".to_owned()],
    };
    let trial = TrialView {
        steps: vec![
            step(
                "04_clean_events",
                false,
                Status::Fresh,
                Status::Fresh,
                ("dropped 1,204 rows\n", "removed 1,337 rows\n"),
            ),
            step("12_plot_roc", true, Status::Blocked, Status::Failed, ("", "")),
        ],
        isolated: true,
        duration_us: 2_000_000,
        remarks: vec!["it writes outside the run".to_owned()],
        ..TrialView::default()
    };
    let trial = Arc::new(trial);
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, churn());
        stage.keys("g g j j j 5 t").event(Event::Tried { patch: PatchId(17), trial: Arc::clone(&trial) });
        insta::assert_snapshot!(format!("patch-tried-{width}x{height}"), stage.screen());
    }
}

#[test]
fn boxes() {
    screens("boxes", "j j v", &ALL);
    screens("boxes-unsettled", "V", &ALL);
}

#[test]
fn help_palette_question_and_prompt() {
    screens("help", "?", &ALL);
    screens("palette", ": r e p", &ALL);
    screens("question", "d", &ALL);
    screens("prompt", "r x ctrl-u 0 1 _ l o a d _ c o n f i g", &ALL);
    screens("sequence", "g", &[(80, 24)]);
}

#[test]
fn frames_folds_and_many_lanes() {
    let mut steps: Vec<_> = (0..70).map(|n| step(&format!("{n:02}_part"))).collect();
    let mut edges: Vec<_> = (1..70).map(|n| edge(n - 1, n, "x")).collect();
    steps.insert(40, step("39_part/01_ask"));
    steps.insert(41, step("39_part/02_tool/01_call"));
    steps.insert(42, step("39_part/02_tool/02_read"));
    steps[42].status = Status::Failed;
    steps[42].error = Some("ValueError: a message that is longer than the room that is left for it".to_owned());
    edges.retain(|e| e.to < 40);
    edges.extend([edge(39, 42, "x"), edge(10, 42, "y")]);
    let snapshot = Snapshot { steps: steps.into_iter().map(Into::into).collect(), edges: edges.into(), ..churn() };
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, snapshot.clone());
        insta::assert_snapshot!(format!("folds-{width}x{height}"), stage.screen());
        insta::assert_snapshot!(format!("folds-frame-folded-{width}x{height}"), stage.keys("h").screen());
    }
}

#[test]
fn a_run_that_is_being_checked_claims_nothing() {
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, Snapshot { checking: true, ..churn() });
        let screen = stage.keys("g g j j j").screen();
        insta::assert_snapshot!(format!("checking-{width}x{height}"), screen);
        for sign in ["●", "✗", "fresh"] {
            assert!(!screen.contains(sign), "{sign} is said of steps that nobody looked at yet");
        }
        stage.event(Event::Snapshot(churn().into()));
        assert!(stage.screen().contains('●'));
        assert_eq!(stage.model.notices.all().count(), 0, "what was there all the time is no news");
    }
}

#[test]
fn a_run_while_it_runs() {
    let mut snapshot = churn();
    let mut row = (*snapshot.steps[6]).clone();
    row.status = Status::Running;
    row.reasons.clear();
    snapshot.steps[6] = row.into();
    snapshot.running = Some((id("07_features"), 1_000_000 - 2_345));
    snapshot.progress = Some((6, 13));
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, snapshot.clone());
        stage.keys("F");
        stage.event(Event::Started { step: id("07_features"), why: vec![Reason::SourceChanged], rebuilt: false });
        for line in 0..80 {
            let chunk = Chunk { stream: Stream::Stdout, text: format!("epoch {line}\n") };
            stage.event(Event::Printed { step: id("07_features"), chunk });
        }
        insta::assert_snapshot!(format!("running-{width}x{height}"), stage.screen());
    }
}

#[test]
fn a_plan_before_it_is_run() {
    let row = |step: &str, action, certain, us| PlanRow {
        id: id(step),
        action,
        certain,
        why: vec![Reason::Upstream { step: id("04_clean_events"), names: vec!["df_clean".into()] }],
        estimate_us: Some(us),
    };
    let entries = vec![
        row("01_load_config", PlanAction::Keep, true, 0),
        row("06_join", PlanAction::Run, true, 1_200_000),
        row("07_features", PlanAction::Run, false, 61_000_000),
        row("11_evaluate", PlanAction::Blocked, false, 0),
    ];
    let entries: Arc<Vec<PlanRow>> = Arc::new(entries);
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, churn());
        stage.keys("P").event(Event::Plan { ticket: Ticket(1), entries: Arc::clone(&entries) });
        insta::assert_snapshot!(format!("plan-{width}x{height}"), stage.screen());
    }
}

#[test]
fn a_run_without_steps_says_what_to_do() {
    for (width, height) in ALL {
        let mut stage = Stage::new(width, height, Snapshot { dir: "runs/empty".into(), ..Snapshot::default() });
        insta::assert_snapshot!(format!("empty-{width}x{height}"), stage.screen());
    }
}

#[test]
fn without_unicode_only_ascii_is_drawn() {
    for keys in ["", "?", "3", "4", "P"] {
        let mut stage = Stage::new(120, 40, churn());
        stage.theme = Theme::built_in("mono").with_glyphs(Glyphs::ASCII);
        let screen = stage.keys(keys).screen();
        assert!(screen.is_ascii(), "{keys}: {screen}");
    }
}

#[test]
fn what_is_clicked_is_what_is_seen() {
    let mut stage = Stage::new(120, 40, churn());
    let at = |stage: &mut Stage, what: &str| {
        let buffer = stage.buffer();
        let screen = text(&buffer);
        let (y, line) = screen.lines().enumerate().find(|(_, line)| line.contains(what)).unwrap();
        let x = line[..line.find(what).unwrap()].chars().count();
        (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
    };
    let mouse = |stage: &mut Stage, kind, (x, y): (u16, u16)| {
        stage.buffer();
        let (target, pane) = (stage.hits.at(x, y), stage.hits.pane_at(x, y));
        stage.send(Message::Mouse(Mouse { kind, x, y, target, pane }));
    };
    let place = at(&mut stage, "10_train_b");
    mouse(&mut stage, MouseKind::Press, place);
    assert_eq!(stage.model.chosen(), Some(&id("10_train_b")));
    let place = at(&mut stage, "State");
    mouse(&mut stage, MouseKind::Press, place);
    assert!(stage.screen().contains("df_events"));
}

fn hostile() -> Snapshot {
    let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\u{9b}31m世界\u{301}\t\r\n";
    let mut snapshot = churn();
    for at in 0..snapshot.steps.len() {
        let mut row = (*snapshot.steps[at]).clone();
        row.id = format!("{at:02}{nasty}").parse().unwrap();
        row.agent = Some(nasty.to_owned());
        row.error = Some(nasty.to_owned());
        row.summary = Some(nasty.to_owned());
        row.kind = Kind::Test;
        snapshot.steps[at] = row.into();
    }
    snapshot.dir = nasty.into();
    snapshot
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// At any size, after any keys, whatever the run holds: nothing panics, every cell is one column of something
    /// printable, and no line is broken.
    #[test]
    fn any_size_any_keys(
        width in 1u16..160, height in 1u16..60, nasty: bool,
        keys in prop::collection::vec(prop::sample::select(vec![
            "j", "k", "G", "g", "l", "h", "tab", "1", "2", "3", "4", "z", "+", "-", "?", ":", "/", "a", "x", "d", "y",
            "esc", "enter", "space", "}", "]", "[", "Z", "w", "P", "M", "ctrl-p", "&", "ctrl-d", "F", "i", "n", "世",
            "o", "r", ">", "<", "pagedown", "end", "5", "6", "7", "v", "V", "|", "s", "S", "b", "t", "s", "A", "c",
        ]), 0..24),
    ) {
        let mut stage = Stage::new(width, height, if nasty { hostile() } else { churn() });
        for key in keys {
            stage.send(Message::Key(key.parse::<Chord>().unwrap()));
            let buffer = stage.buffer();
            for cell in buffer.content() {
                let bad = cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}');
                prop_assert!(!bad, "{:?}", cell.symbol());
            }
            for line in text(&buffer).lines() {
                prop_assert_eq!(super::text::width(line), usize::from(width));
            }
        }
    }

    #[test]
    fn resizing_at_any_moment(sizes in prop::collection::vec((1u16..140, 1u16..50), 1..12)) {
        let mut stage = Stage::new(80, 24, churn());
        for (width, height) in sizes {
            stage.send(Message::Resized(width, height));
            stage.keys("j");
            prop_assert_eq!(text(&stage.buffer()).lines().count(), usize::from(height));
        }
    }
}
