//! For tests: a run made by hand, a person at the keys, and the screen as text.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::feedback::Diagnosis;
use crate::interop::compare::{self, Difference, Divergence, Verdict};
use crate::step::{
    Author, Chunk, Digest, Display, Execution, FileChange, Outcome, Output, Patch, PatchId, PatchState, Provenance,
    Reason, StackLine, Status, StepError, StepId, Stream, Variable, VersionNumber,
};
use crate::store::query::Moment;
use crate::ui::app::document::Document;
use crate::ui::app::{Effect, HitMap, Keymap, Message, Model, update};
use crate::ui::theme::Theme;
use crate::ui::view;
use crate::ui::view::highlight::Highlighter;
use crate::workbench::{
    Beside, BesideStep, Column, Command, ContextPart, ContextView, Covering, Edge, EdgeKind, Event, Fault, Happening,
    Inside, Part, PastStep, PastView, PatchRow, Snapshot, StepRow, StoryRow, Table, Ticket, WatchView, Weight,
};

/// A step's id.
pub fn id(text: &str) -> StepId {
    text.parse().unwrap()
}

/// A fresh step.
pub fn step(name: &str) -> StepRow {
    StepRow { duration_us: Some(12_000), ..StepRow::fresh(id(name)) }
}

/// An edge that carries one name.
pub fn edge(from: usize, to: usize, name: &str) -> Edge {
    Edge { from, to, names: [name.into()].into(), kind: EdgeKind::Data }
}

/// Thirteen steps that load, clean, join, train and report: five fresh, one failed, the rest stale or waiting.
pub fn churn() -> Snapshot {
    let mut steps: Vec<StepRow> = [
        "01_load_config",
        "02_read_events",
        "03_read_users",
        "04_clean_events",
        "05_dedupe_users",
        "06_join",
        "07_features",
        "08_split",
        "09_train_a",
        "10_train_b",
        "11_evaluate",
        "12_plot_roc",
        "13_report",
    ]
    .into_iter()
    .map(step)
    .collect();
    for (at, us) in [(0, 100_000), (1, 1_400_000), (2, 900_000), (3, 420_000), (4, 300_000)] {
        steps[at].duration_us = Some(us);
    }
    let upstream = |step: &str, name: &str| vec![Reason::Upstream { step: id(step), names: [name.into()].into() }];
    for (at, from, name) in [
        (5, "04_clean_events", "df_clean"),
        (6, "06_join", "joined"),
        (7, "07_features", "x"),
        (9, "08_split", "train"),
    ] {
        steps[at].status = Status::Stale;
        steps[at].reasons = upstream(from, name);
    }
    steps[8].status = Status::Failed;
    steps[8].error = Some("KeyError: 'plan'".to_owned());
    for at in [10, 11, 12] {
        steps[at].status = Status::Blocked;
        steps[at].reasons = vec![Reason::BlockedBy { step: id("09_train_a"), names: vec!["model_a".into()] }];
    }
    steps[3].agent = Some("cleaner".to_owned());
    steps[3].summary = Some("drops bots and empty sessions".to_owned());
    let edges = [
        (0, 1, "config"),
        (0, 2, "config"),
        (1, 3, "df_events"),
        (2, 4, "users"),
        (3, 5, "df_clean"),
        (4, 5, "users"),
        (5, 6, "joined"),
        (6, 7, "x"),
        (7, 8, "train"),
        (7, 9, "train"),
        (8, 10, "model_a"),
        (9, 10, "model_b"),
        (10, 11, "scores"),
        (10, 12, "scores"),
        (11, 12, "figure"),
    ];
    Snapshot {
        generation: 1,
        dir: "runs/2026-11-27-churn".into(),
        steps: steps.into_iter().map(Arc::new).collect(),
        edges: edges.into_iter().map(|(from, to, name)| edge(from, to, name)).collect(),
        patches: vec![Arc::new(PatchRow {
            id: PatchId(17),
            state: PatchState::Proposed,
            title: "dedupe on session_id".to_owned(),
            author: "agent cleaner".to_owned(),
            files: vec!["04_clean_events.py".to_owned()],
            lines: (4, 1),
            stamp: Digest::of("as it came"),
        })],
        watch: WatchView::Live,
        ..Snapshot::default()
    }
}

/// A patch of an agent's.
pub fn patch(files: Vec<FileChange>) -> Patch {
    Patch {
        id: PatchId(17),
        state: PatchState::Proposed,
        title: "dedupe on session_id".to_owned(),
        provenance: Provenance::new(Author::Agent("cleaner".to_owned()), 900_000),
        content: Digest::of("a patch"),
        files,
        problems: Vec::new(),
        comments: Vec::new(),
    }
}

/// A source for a step of [`churn`].
pub const CLEAN: &str = "def clean_events(df_events):\n    \"\"\"Drop bots, keep one row per session.\"\"\"\n    df = df_events[~df_events.user_agent.str.contains(\"bot\")]\n    df = df.dropna(subset=[\"session_id\"])\n    df[\"ts\"] = pd.to_datetime(df[\"ts\"])\n    return df.sort_values(\"ts\")\n\ndf_clean = clean_events(df_events)\nprint(f\"dropped {len(df_events) - len(df_clean):,} rows\")\n";

/// A workbench that answers from hand-made things, and a person at the keys.
pub struct Stage {
    /// The state.
    pub model: Model,
    /// What was asked of the run so far.
    pub asked: Vec<Command>,
    /// What else was to be done outside.
    pub effects: Vec<Effect>,
    /// What was drawn where last.
    pub hits: HitMap,
    /// The theme.
    pub theme: Theme,
}

impl Stage {
    /// A terminal of this size on a run.
    pub fn new(width: u16, height: u16, snapshot: Snapshot) -> Self {
        let mut stage = Self {
            model: Model::new((width, height), Keymap::default()),
            asked: Vec::new(),
            effects: Vec::new(),
            hits: HitMap::default(),
            theme: Theme::built_in("dark"),
        };
        stage.send(Message::Now(1_000_000));
        stage.event(Event::Snapshot(Arc::new(snapshot)));
        stage
    }

    /// Something happens.
    pub fn send(&mut self, message: Message) {
        let mut todo = update(&mut self.model, message);
        while !todo.is_empty() {
            for effect in std::mem::take(&mut todo) {
                match effect {
                    Effect::Lay(job) => {
                        let lanes = Arc::new(job.run());
                        todo.extend(update(&mut self.model, Message::Laid { serial: job.serial, lanes }));
                    }
                    Effect::Highlight(job) => {
                        let mut highlighter = Highlighter::new(job.language, job.text.clone());
                        while highlighter.work(1000) {}
                        let lines = (0..highlighter.lines()).filter_map(|at| highlighter.line(at).cloned()).collect();
                        let message = Message::Highlighted { serial: job.serial, first: 0, lines };
                        todo.extend(update(&mut self.model, message));
                    }
                    Effect::Compose(step, execution) => {
                        let document = Box::new(Document::of(execution));
                        todo.extend(update(&mut self.model, Message::Composed(step, document)));
                    }
                    Effect::Ask(command) => {
                        let answer = answer(&self.model, &command);
                        self.asked.push(command);
                        if let Some(event) = answer {
                            todo.extend(update(&mut self.model, Message::Run(event)));
                        }
                    }
                    other => self.effects.push(other),
                }
            }
        }
    }

    /// The run tells something.
    pub fn event(&mut self, event: Event) {
        self.send(Message::Run(event));
    }

    /// Keys are pressed, written apart by blanks.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.send(Message::Key(key.parse().unwrap()));
        }
        self
    }

    /// A word is typed.
    pub fn types(&mut self, word: &str) -> &mut Self {
        for c in word.chars() {
            self.send(Message::Key(crate::ui::app::key::Chord::char(c)));
        }
        self
    }

    /// What was asked since the last look, without what only fills the panels.
    pub fn commands(&mut self) -> Vec<Command> {
        let panels = |command: &Command| {
            matches!(
                command,
                Command::Source { .. }
                    | Command::Execution { .. }
                    | Command::State { .. }
                    | Command::Patch { .. }
                    | Command::Weigh { .. }
                    | Command::Story { .. }
                    | Command::Context { .. }
                    | Command::Diagnose { .. }
                    | Command::Beside { .. }
            )
        };
        std::mem::take(&mut self.asked).into_iter().filter(|command| !panels(command)).collect()
    }

    /// The cells of the screen.
    pub fn buffer(&mut self) -> Buffer {
        let (width, height) = self.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.hits = view::draw(&self.model, &self.theme, &mut buffer);
        buffer
    }

    /// The screen as text.
    pub fn screen(&mut self) -> String {
        text(&self.buffer())
    }
}

/// Cells as text, each row in full.
pub fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut skip = 0;
        for x in 0..buffer.area.width {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buffer[(x, y)].symbol();
            skip = view::text::width(symbol).saturating_sub(1);
            text.push_str(symbol);
        }
        text.push('\n');
    }
    text
}

fn answer(model: &Model, command: &Command) -> Option<Event> {
    match command {
        Command::Source { step } => {
            let row = model.run.row(step)?;
            let text: Arc<str> = match step.name() {
                "04_clean_events" => CLEAN.into(),
                name => format!("# {name}\nresult = {name:?}\nprint(result)\n").into(),
            };
            Some(Event::Source { step: step.clone(), version: row.version, text, executed: None })
        }
        Command::Execution { step } => Some(Event::Execution { step: step.clone(), execution: execution(model, step) }),
        Command::State { at, .. } => Some(Event::State { at: at.clone()?, variables: Arc::new(variables()) }),
        Command::Inside { at, name, path } => {
            let inside = Arc::new(inside(name, path)?);
            Some(Event::Inside { at: at.clone()?, name: name.clone(), path: path.clone(), inside })
        }
        Command::Story { step } => Some(Event::Story { step: step.clone(), rows: Arc::new(story()) }),
        Command::Past { moment } => Some(Event::Past(Arc::new(past(model, moment.clone())))),
        Command::Beside { other } => Some(Event::Beside(Arc::new(beside(other.clone())))),
        Command::Diagnose { step } => {
            Some(Event::Diagnosis { step: step.clone(), diagnosis: Arc::new(diagnosis(step)) })
        }
        Command::VersionText { step, version } => {
            let text = if version.0 == 1 { CLEAN.replace("sort_values", "sort_index") } else { CLEAN.to_owned() };
            Some(Event::VersionText { step: step.clone(), version: *version, text: text.into() })
        }
        Command::Context { step, .. } => {
            let part = |title: &str, tokens, shortened, text: &str| ContextPart {
                title: title.to_owned(),
                step: None,
                tokens,
                shortened,
                text: text.to_owned(),
            };
            let parts = vec![
                part("the frame", 120, false, "# a run of 13 steps\n"),
                part("needs 02_read_events", 640, true, "df_events = pd.read_csv(...)\n"),
                part("7 others returned", 90, false, "01_load_config: reads the settings\n"),
            ];
            let view = ContextView { parts, tokens: 850, flat_tokens: 12_400, budget: Some(4_000) };
            Some(Event::Context { step: step.clone(), context: Arc::new(view) })
        }
        Command::Patch { .. } => Some(Event::Patch(Arc::new(proposal()))),
        Command::Weigh { patch, files } => {
            let names = ["06_join", "07_features", "08_split", "09_train_a", "10_train_b", "11_evaluate"];
            let stale = if files.is_empty() { Vec::new() } else { names.map(id).to_vec() };
            let faults =
                files.iter().filter(|file| file.result.as_ref().is_some_and(|text| text.contains("to_csv(\"/")));
            let faults =
                faults.map(|file| Fault { path: file.path.clone(), line: 8, what: "it is too bold".to_owned() });
            let test = |name: &str, direct, read: &str| Covering { test: id(name), direct, names: vec![read.into()] };
            let tests = vec![test("test_clean", true, "clean_events"), test("test_join", false, "df_joined")];
            let tests = if files.is_empty() { Vec::new() } else { tests };
            let weight = Weight { stale, estimate_us: 4_200_000, faults: faults.collect(), tests, ..Weight::default() };
            Some(Event::Weighed { ticket: Ticket(0), patch: *patch, weight: Arc::new(weight) })
        }
        _ => None,
    }
}

/// A patch of four hunks on a step of [`churn`].
pub fn proposal() -> Patch {
    let result = CLEAN
        .replace("def clean", "import numpy as np\n\n\ndef clean")
        .replace(
            "    df = df.dropna(subset=[\"session_id\"])\n",
            "    df = df.dropna(subset=[\"session_id\", \"ts\"])\n    df = df.drop_duplicates(\"session_id\", keep=\"last\")\n    print(df.head())\n    df.to_csv(\"/tmp/dbg.csv\")\n",
        )
        .replace("print(f\"dropped", "print(f\"removed");
    patch(vec![
        FileChange { path: "04_clean_events.py".into(), base: Some(CLEAN.into()), result: Some(result) },
        FileChange { path: "04b_check.py".into(), base: None, result: Some("assert len(df_clean)\n".into()) },
    ])
}

fn story() -> Vec<StoryRow> {
    let version = |number: u32, author: &str, patch: Option<u32>| Happening::Version {
        number: VersionNumber(number),
        replaced: (number > 1).then(|| VersionNumber(number - 1)),
        author: author.to_owned(),
        model: patch.map(|_| "m-1".to_owned()),
        patch: patch.map(PatchId),
        reason: None,
        deleted: false,
    };
    let ran = |number: u32, outcome, error: Option<&str>| Happening::Executed {
        version: VersionNumber(number),
        outcome,
        duration_us: 420_000,
        why: vec![Reason::SourceChanged],
        error: error.map(str::to_owned),
    };
    let rows = [
        (998_000, Happening::Note { text: "opened".to_owned() }),
        (940_000, ran(2, Outcome::Done, None)),
        (930_000, version(2, "agent cleaner", Some(16))),
        (
            920_000,
            Happening::Patch {
                patch: PatchId(16),
                title: "sort by time".to_owned(),
                state: Some(PatchState::Accepted),
                comment: Some("good".to_owned()),
            },
        ),
        (400_000, ran(1, Outcome::Failed, Some("KeyError: 'ts'"))),
        (300_000, Happening::Invalidated),
        (200_000, Happening::Renamed { from: id("03_clean"), to: id("04_clean_events") }),
        (100_000, version(1, "a person", None)),
    ];
    (1..).zip(rows).map(|(seq, (at, what))| StoryRow { seq, at, step: Some(id("04_clean_events")), what }).collect()
}

/// The run as it was: without its last step, and with another text of one.
fn past(model: &Model, moment: Moment) -> PastView {
    let steps: Vec<StepId> = model.run.snapshot.steps.iter().map(|row| row.id.clone()).collect();
    let then = |at: usize, step: &StepId| PastStep {
        id: step.clone(),
        now: step.clone(),
        version: VersionNumber(1),
        execution: (at < 5).then_some((VersionNumber(1), if at == 3 { Outcome::Failed } else { Outcome::Done })),
        present: Some(VersionNumber(if at == 3 { 2 } else { 1 })),
        changed: at == 3,
        output: at == 3 || at == 4,
    };
    let (last, before) = steps.split_last().unwrap();
    PastView {
        moment,
        steps: before.iter().enumerate().map(|(at, step)| then(at, step)).collect(),
        later: vec![last.clone()],
        values: vec!["df_clean".to_owned(), "report.md".to_owned()],
    }
}

fn diagnosis(step: &StepId) -> Diagnosis {
    let json = serde_json::json!({
        "step": step, "error": "KeyError: 'plan'", "cause": "misspelt-key", "root_step": "07_features",
        "explanation": "train has no column 'plan'. It has 'plans', which 07_features wrote: the name is off by one letter.",
        "facts": [{"name": "train", "value": "DataFrame 8123×6 with user, plans, visits", "written_by": "07_features"}],
        "suggestions": [
            {"title": "read 'plans' instead of 'plan'", "rule": "key-typo", "safe": true,
             "files": {"09_train_a.py": "x"},
             "patch": "--- a/09_train_a.py\n+++ b/09_train_a.py\n@@ -2 +2 @@\n-fit(train['plan'])\n+fit(train['plans'])\n"},
            {"title": "or rename the column in 07_features", "rule": "key-typo", "safe": false, "files": {}, "patch": ""},
        ],
    });
    serde_json::from_value(json).unwrap()
}

fn inside(name: &str, path: &[usize]) -> Option<Inside> {
    let part = |key: &str, kind: &str, repr: &str, opens| Part {
        key: key.to_owned(),
        type_name: kind.to_owned(),
        repr: repr.to_owned(),
        shape: None,
        opens,
    };
    let column = |name: &str, kind: &str, cells: [&str; 3], bars: &[u32]| Column {
        name: name.to_owned(),
        type_name: kind.to_owned(),
        cells: cells.map(str::to_owned).to_vec(),
        missing: usize::from(bars.is_empty()) * 7,
        least: bars.first().map(|_| "0".to_owned()),
        most: bars.first().map(|_| "97".to_owned()),
        bars: bars.to_vec(),
    };
    match (name, path) {
        ("config", []) => Some(Inside {
            parts: vec![part("'seed'", "int", "0", false), part("'days'", "list", "[1, 2, 3]", true)],
            total: 2,
            table: None,
        }),
        ("config", [1]) => Some(Inside {
            parts: vec![part("0", "int", "1", false), part("1", "int", "2", false)],
            total: 3,
            table: None,
        }),
        ("df_clean", []) => Some(Inside {
            parts: Vec::new(),
            total: 0,
            table: Some(Table {
                rows: 8123,
                width: 3,
                index: ["0", "1", "2"].map(str::to_owned).to_vec(),
                columns: vec![
                    column("session_id", "object", ["a1", "b2", "c3"], &[]),
                    column("visits", "int64", ["12", "97", "0"], &[1, 4, 9, 16, 9, 4, 1, 0]),
                    column("ts", "datetime64[ns]", ["2026-11-01", "2026-11-02", "2026-11-02"], &[]),
                ],
            }),
        }),
        _ => None,
    }
}

fn execution(model: &Model, step: &StepId) -> Option<Arc<Execution>> {
    let row = model.run.row(step)?;
    let chunk = |stream, text: &str| Chunk { stream, text: text.to_owned() };
    let failed = row.status == Status::Failed;
    let error = failed.then(|| StepError {
        type_name: "KeyError".to_owned(),
        message: "'plan'".to_owned(),
        line: Some(2),
        stack: vec![StackLine {
            step: Some(step.clone()),
            file: format!("{step}.py"),
            line: 2,
            function: "<module>".to_owned(),
            text: "fit(train['plan'])".to_owned(),
            values: Default::default(),
            saw: None,
        }],
        ..StepError::default()
    });
    Some(Arc::new(Execution {
        step: step.clone(),
        version: row.version,
        started: 0,
        duration_us: row.duration_us.unwrap_or(0),
        why: vec![Reason::NeverRun],
        outcome: if failed { Outcome::Failed } else { Outcome::Done },
        output: Output {
            chunks: vec![
                chunk(Stream::Stdout, "dropped \x1b[1;32m1,204\x1b[0m rows\n"),
                chunk(Stream::Stderr, "SettingWithCopyWarning: a value is trying to be set on a copy of a slice\n"),
            ],
            dropped: 0,
        },
        displays: vec![Display { repr: "(8123, 6)".to_owned(), mime: Default::default(), last: true }],
        error,
        observation: Default::default(),
        effects: Vec::new(),
    }))
}

fn variables() -> Vec<Variable> {
    let variable = |name: &str, kind: &str, repr: &str, by: &str, shape: Option<&str>| Variable {
        name: name.to_owned(),
        type_name: kind.to_owned(),
        repr: repr.to_owned(),
        truncated: false,
        digest: None,
        written_by: Some(id(by)),
        shape: shape.map(str::to_owned),
    };
    vec![
        variable("config", "dict", "{'seed': 0, 'days': 30}", "01_load_config", Some("len 2")),
        variable(
            "df_clean",
            "DataFrame",
            "      session_id          ts\n0            a1  2026-11-01",
            "04_clean_events",
            Some("8123×6"),
        ),
        variable(
            "df_events",
            "DataFrame",
            "      session_id  user_agent\n0            a1     Firefox",
            "02_read_events",
            Some("9327×6"),
        ),
        variable("pd", "module", "<module 'pandas'>", "01_load_config", None),
    ]
}

/// The run beside another.
fn beside(other: Option<String>) -> Beside {
    let step = |name: &str, verdict, differences: &[(&str, &str)], source: &str| BesideStep {
        step: id(name),
        verdict,
        differences: differences
            .iter()
            .enumerate()
            .map(|(at, (old, new))| Difference {
                part: compare::Part::Stdout,
                line: at + 1,
                recorded: Some((*old).to_owned()),
                rerun: Some((*new).to_owned()),
            })
            .collect(),
        more: 0,
        source: source.to_owned(),
    };
    let rows = [("read 182,340 events", "read 182,311 events"), ("dropped 14,201 rows", "dropped 14,187 rows")];
    Beside {
        other,
        steps: vec![
            step("01_load_config", Verdict::Same, &[], ""),
            step("02_read_events", Verdict::Different, &rows, "@@ -1,2 +1,2 @@\n-n = 10\n+n = 12\n print(n)\n"),
            step("03_read_users", Verdict::Alike, &[], ""),
        ],
        only_here: vec![id("13_report")],
        not_run: vec![id("11_evaluate")],
        divergence: Some(Divergence { step: id("02_read_events"), caused_by: vec![id("02_read_events")], steps: 1 }),
        ..Beside::default()
    }
}
