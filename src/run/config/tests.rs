//! Settings by example: each file in, what is in force and what is said out.

use std::time::Duration;

use super::*;

fn files(user: &str, run: &str, approved: bool) -> Config {
    Config::resolve(&Sources {
        user: Some(("config.toml".into(), user.to_owned())),
        run: Some(("reweave.toml".into(), run.to_owned())),
        approved,
        ..Sources::default()
    })
}

fn problems(config: &Config) -> String {
    config.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn waiting(config: &Config) -> Vec<String> {
    config.waiting.iter().map(|waiting| format!("{}: {}", waiting.line, waiting.asks)).collect()
}

#[test]
fn without_any_file_the_defaults_hold() {
    let config = Config::default();
    assert_eq!(problems(&config), "");
    let listed: Vec<String> = config.settings().map(|(key, set)| format!("{} = {}", key.name, set.value)).collect();
    insta::assert_snapshot!(listed.join("\n"), @r#"
    python = none
    on_error = "block"
    seed = 0
    threads = 1
    timeout = none
    memory = 80%
    output_limit = 64 MB
    processes = 256
    open_files = 4096
    file_size = 16 GB
    checkpoint_memory = 25%
    run.exclude = []
    run.locked = false
    policy.preset = "standard"
    verify.steps = []
    verify.command = []
    verify.reviewer = false
    agent.command = []
    agent.reviewer = []
    agent.timeout = 10m
    agent.trial = 10m
    agent.tries = 3
    agent.candidates = 1
    agent.budget = 8000
    ui.theme = "auto"
    ui.ascii = false
    ui.mouse = true
    ui.wrap = true
    ui.images = "auto"
    ui.replay_on_save = false
    ui.editor = none
    "#);
}

#[test]
fn each_source_overrides_the_one_before_and_is_named() {
    let mut sources = Sources {
        user: Some(("config.toml".into(), "seed = 1\non_error = \"stop\"\nthreads = 2\n\n[ui]\nascii = true\n".into())),
        run: Some(("reweave.toml".into(), "seed = 2\nthreads = 3\n".into())),
        ..Sources::default()
    };
    sources.environment = vec![("REWEAVE_SEED".into(), "3".into()), ("REWEAVE_THREADS".into(), "4".into())];
    sources.flags = vec![("seed".into(), "4".into())];
    let config = Config::resolve(&sources);
    assert_eq!(problems(&config), "");
    assert_eq!((config.seed, config.threads, config.on_error, config.ui.ascii), (4, 4, OnError::Stop, true));
    let from = |name: &str| config.origin(name).unwrap().to_string();
    assert_eq!(
        [from("seed"), from("threads"), from("on_error"), from("ui.ascii"), from("timeout")],
        ["a flag", "REWEAVE_THREADS", "config.toml:2", "config.toml:6", "default"]
    );
    sources.environment.clear();
    assert_eq!(Config::resolve(&sources).origin("threads"), Some(&Origin::Run { line: 2 }));
}

#[test]
fn every_mistake_has_its_line_and_the_rest_counts() {
    let config = files(
        "seed = -1\ntimout = 3\non_error = \"blok\"\n[agnt]\ncommand = []\n[run]\nexclude = [\"a[\"]\nlocked = \"yes\"\n\
         [verify]\nsteps = [\"a/\"]\n[policy]\npreset = \"standart\"\nnetwok = \"deny\"\nwrite = \"maybe\"\nread = { alow = [] }\n",
        "threads = 2\n[keys]\nq = \"quit\"\n",
        false,
    );
    assert_eq!(config.threads, 2);
    insta::assert_snapshot!(problems(&config), @r#"
    config.toml:1: seed is -1: give a whole number from 0 to 4294967295
    config.toml:2: unknown setting "timout": did you mean "timeout"?
    config.toml:3: on_error is "blok": give one of "block", "stop", "continue" (did you mean "block"?)
    config.toml:4: unknown setting "agnt": did you mean "agent"?
    config.toml:7: run.exclude: "a[" is no glob: unclosed character class; missing ']'
    config.toml:8: run.locked is "yes": give true or false
    config.toml:10: verify.steps: "a/" is not a step's id: it has an empty component
    config.toml:12: policy.preset is "standart": give one of "trusted", "standard", "sealed" (did you mean "standard"?)
    config.toml:13: unknown policy "netwok": did you mean "network"?
    config.toml:14: policy.write: "maybe": give "allow", "ask" or "deny"; until then it is "deny"
    config.toml:15: policy.read: unknown "alow": known are default, allow, ask, deny; until then it is "deny"
    reweave.toml:3: keys and themes are the user's own: they belong in config.toml
    "#);
    assert_eq!(config.policy.preset(), Preset::Sealed, "a policy that can't be read is the strictest");
}

#[test]
fn a_file_that_is_no_toml_says_where_and_seals_a_policy_in_it() {
    let config = files("seed = \n[policy]\npreset = \"trusted\"\n", "", false);
    assert!(problems(&config).starts_with("config.toml:1: "), "{}", problems(&config));
    assert_eq!(config.policy.preset(), Preset::Sealed);
    assert_eq!(files("seed = \n", "", false).policy.preset(), Preset::Standard);
}

#[test]
fn flags_and_variables_are_checked_too() {
    let config = Config::resolve(&Sources {
        environment: vec![("REWEAVE_TIMEOUT".into(), "soon".into())],
        flags: vec![("memroy".into(), "1GB".into()), ("processes".into(), "0".into())],
        ..Sources::default()
    });
    insta::assert_snapshot!(problems(&config), @r#"
    REWEAVE_TIMEOUT: timeout is "soon": give seconds, a text such as "90s" or "2m", or "none"
    processes is "0": give a whole number from 1 to 1000000
    there is no setting "memroy": did you mean "memory"?
    "#);
    assert_eq!(config.errors().count(), 3);
}

const HOSTILE: &str = "python = \"./evil\"\ntimeout = \"5m\"\nmemory = \"90%\"\nprocesses = 1000\noutput_limit = \"1MB\"\n\
    [agent]\ncommand = [\"./evil\"]\ntries = 9\n[verify]\ncommand = [\"./evil\"]\nsteps = [\"tests/a\"]\n\
    [ui]\nreplay_on_save = true\nascii = true\n[policy]\npreset = \"trusted\"\nnetwork = \"allow\"\nprocess = \"deny\"\n";

#[test]
fn a_runs_own_file_only_tightens() {
    let config = files("timeout = \"1m\"\n", HOSTILE, false);
    assert_eq!(problems(&config), "");
    assert_eq!(
        waiting(&config),
        [
            "1: python = \"./evil\"",
            "2: timeout = 5m",
            "3: memory = 90%",
            "4: processes = 1000",
            "16: policy.preset = \"trusted\"",
            "10: verify.command = [\"./evil\"]",
            "7: agent.command = [\"./evil\"]",
            "8: agent.tries = 9",
            "13: ui.replay_on_save = true",
            "17: policy.network = allow",
        ]
    );
    assert_eq!((&config.python, &config.agent.command), (&None, &Vec::new()));
    assert_eq!(config.limits.timeout, Some(Duration::from_secs(60)));
    assert_eq!(config.limits.output, Some(Size::Bytes(1 << 20)), "tighter is taken");
    assert_eq!((config.ui.ascii, config.verify.steps.len()), (true, 1));
    assert_eq!(config.policy.decide(Area::Process, "/bin/ls"), Decision::Deny, "tighter is taken");
    assert_eq!(config.policy.decide(Area::Network, "x.org"), Decision::Ask);
}

#[test]
fn bytes_and_a_share_both_count() {
    let config = files("", "memory = \"2GB\"\n", false);
    assert_eq!(waiting(&config), [""; 0]);
    assert_eq!(config.limits.memory, Some(Size::Least { bytes: 2 << 30, share: 0.8 }));
    assert_eq!(config.limits.memory.unwrap().of(1 << 30), (1 << 30) * 4 / 5);
}

#[test]
fn an_approved_file_counts_in_full() {
    let config = files("timeout = \"1m\"\n", HOSTILE, true);
    assert_eq!(waiting(&config), [""; 0]);
    assert_eq!(config.python.as_deref(), Some("./evil"));
    assert_eq!(config.limits.timeout, Some(Duration::from_secs(300)));
    assert_eq!(config.policy.decide(Area::Network, "x.org"), Decision::Allow);
    assert_eq!(config.policy.decide(Area::Write, "/x"), Decision::Allow);
}

#[test]
fn by_hand_a_user_may_loosen() {
    let mut sources = Sources {
        user: Some(("config.toml".into(), "[policy]\npreset = \"sealed\"\n".into())),
        run: Some(("reweave.toml".into(), "timeout = 5\n".into())),
        ..Sources::default()
    };
    sources.flags = vec![("timeout".into(), "none".into()), ("policy.preset".into(), "trusted".into())];
    let config = Config::resolve(&sources);
    assert_eq!((config.limits.timeout, config.policy.preset()), (None, Preset::Trusted));
}

#[test]
fn keys_and_themes_are_kept_with_their_lines() {
    let config =
        files("[keys]\nq = \"quit\"\n[keys.patch]\ny = \"accept\"\n[themes.mine]\naccent = \"#f00\"\n", "", false);
    let keys = config.keys.unwrap();
    assert_eq!(keys.lines.get("patch.y"), Some(&4));
    assert_eq!(keys.table.get("q").and_then(toml::Value::as_str), Some("quit"));
    assert_eq!(config.themes.unwrap().lines.get("mine.accent"), Some(&6));
}

#[test]
fn the_approval_is_pinned_to_the_files_content() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::write(run.join("reweave.toml"), "python = \"/opt/python\"\n").unwrap();
    let run = RunDir::open(run).unwrap();
    let user = UserDirs::at(&dir.path().join("home"));
    let config = Config::load(&run, Some(&user), Vec::new());
    assert_eq!(config.python, None);
    Trust::new(&user).approve(&config.claim.unwrap(), 1).unwrap();
    assert_eq!(Config::load(&run, Some(&user), Vec::new()).python.as_deref(), Some("/opt/python"));
    std::fs::write(run.path().join("reweave.toml"), "python = \"/opt/evil\"\n").unwrap();
    assert_eq!(Config::load(&run, Some(&user), Vec::new()).python, None);
}

#[test]
fn a_file_that_can_not_be_read_seals() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("reweave.toml")).unwrap();
    let config = Config::load(&RunDir::open(dir.path()).unwrap(), None, Vec::new());
    assert_eq!(problems(&config), "reweave.toml: it is a directory: rename it");
    assert_eq!(config.policy.preset(), Preset::Sealed);
    std::fs::remove_dir(dir.path().join("reweave.toml")).unwrap();
    std::fs::write(dir.path().join("reweave.toml"), b"\xff").unwrap();
    let config = Config::load(&RunDir::open(dir.path()).unwrap(), None, Vec::new());
    assert_eq!(problems(&config), "reweave.toml: it is not UTF-8: save it as UTF-8");
}

#[test]
fn a_hostile_file_costs_neither_the_stack_nor_the_settings() {
    for deep in ["[", "{a=", "a."] {
        let config = files("", &format!("seed = 3\nx = {}\n", deep.repeat(100_000)), false);
        assert!(config.problems.iter().any(|problem| problem.line == Some(2)), "{deep}");
    }
}

proptest::proptest! {
    #[test]
    fn whatever_a_runs_file_says_it_allows_no_more_than_the_user(
        user in "(|timeout = [1-9]|memory = \"[1-9]GB\"|\\[policy\\]\nnetwork = \"(allow|ask|deny)\"|processes = [3-9]{2})\n",
        run in "(python = \"x\"\n)?(timeout = ([1-9]{2}|\"none\")\n)?(memory = \"([1-9]{2}GB|90%|none)\"\n)?\
                (processes = [0-9]{2,4}\n)?(\\[policy\\]\npreset = \"(trusted|sealed)\"\nnetwork = \"(allow|ask|deny|what)\")?",
    ) {
        let (alone, both) = (files(&user, "", false), files(&user, &run, false));
        proptest::prop_assert_eq!(&both.python, &None);
        let longest = |config: &Config| config.limits.timeout.unwrap_or(Duration::MAX);
        proptest::prop_assert!(longest(&both) <= longest(&alone));
        let most = |config: &Config| config.limits.memory.map_or(u64::MAX, |size| size.of(1 << 34));
        proptest::prop_assert!(most(&both) <= most(&alone));
        proptest::prop_assert!(both.limits.processes <= alone.limits.processes);
        for area in Area::ALL {
            proptest::prop_assert!(both.policy.decide(area, "/x") >= alone.policy.decide(area, "/x"));
        }
    }
}
