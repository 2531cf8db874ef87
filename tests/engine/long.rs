//! Many steps, and steps that hold much: both end within the budget for checkpoints.
//!
//! Two hundred here; more by hand: `STEPS=1000 cargo test --test engine long`.

use super::harness::Run;
use reweave::engine::OnError;

#[test]
fn many_steps_end_within_the_budget() {
    let count: usize = std::env::var("STEPS").map_or(200, |count| count.parse().unwrap());
    let budget = 48 << 20;
    let mut run = Run::with(OnError::Block, |settings| settings.checkpoint_memory = Some(budget));
    let text = |n: usize| match n % 4 {
        0 => format!("v{n} = [{n}] * 100\n"),
        1 => format!("total = v{} + [{n}]\n", n - 1),
        2 => "print(len(total))\n".to_owned(),
        _ => format!("import time\ntime.sleep(0.004)\nw{n} = {n}\n"),
    };
    let mut texts: Vec<(String, String)> = (0..count).map(|n| (format!("s{n:05}"), text(n))).collect();
    let update = |run: &mut Run, texts: &[(String, String)]| {
        let steps: Vec<(&str, &str)> = texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        run.update(&steps)
    };
    assert_eq!(update(&mut run, &texts).ran.len(), count);
    let (held, memory) = run.engine.checkpoints();
    assert!(memory <= budget, "{held} checkpoints of {memory} bytes");
    texts[4].1 = "v4 = [4] * 50\n".to_owned();
    assert_eq!(update(&mut run, &texts).ran, ["s00004", "s00005", "s00006"]);
}

#[test]
fn steps_that_hold_much_end_within_the_budget() {
    let budget = 60 << 20;
    let mut run = Run::with(OnError::Block, |settings| settings.checkpoint_memory = Some(budget));
    let mut texts: Vec<(String, String)> =
        vec![("00".into(), "import time\nmuch = bytearray(16_000_000)\nseen = []\n".into())];
    // Each writes all of it, so that every checkpoint holds its own.
    texts.extend((1..13).map(|n| {
        (format!("{n:02}"), format!("much[:] = bytes([{n}]) * len(much)\nseen.append(much[-1])\ntime.sleep(0.1)\n"))
    }));
    texts.push(("99".into(), "print(seen, much[0])\n".into()));
    let steps: Vec<(&str, &str)> = texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let first = run.update(&steps);
    let (held, memory) = run.engine.checkpoints();
    assert!(memory <= budget, "{held} checkpoints of {memory} bytes");
    assert!(held > 0, "some are worth their memory");
    let mut after = steps.clone();
    after[13].1 = "print(seen, much[1])\n";
    let again = run.update(&after);
    assert_eq!(again.ran, ["99"]);
    assert_eq!(again.results, first.results);
    after[6].1 = "much[:] = bytes([77]) * len(much)\nseen.append(much[-1])\n";
    assert!(run.update(&after).results["99"].starts_with("[1, 2, 3, 4, 5, 77, 7, 8, 9, 10, 11, 12] 12"));
    let (held, memory) = run.engine.checkpoints();
    assert!(memory <= budget, "{held} checkpoints of {memory} bytes");
}

#[test]
fn what_took_long_to_import_is_imported_once() {
    let mut run = Run::new(OnError::Block);
    std::fs::write(run.dir.path().join("slow.py"), "import time\ntime.sleep(0.15)\n").unwrap();
    let steps = [("1", "import slow"), ("2", "x = 1"), ("3", "print(x)")];
    run.update(&steps);
    assert_eq!(run.engine.checkpoints().0, 1, "one after it, to begin again from");
}
