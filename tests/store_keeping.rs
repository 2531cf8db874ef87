//! What a store clears away and what it never does; saved values; damage and disks that can't be written.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::sync::Arc;

use reweave::step::*;
use reweave::store::query::LogFilter;
use reweave::store::{Key, Notice, Proposal, Reader, Retention, SavedValue, Store, StoreError};

const DAY: i64 = 86_400_000;

fn id(text: &str) -> StepId {
    text.parse().unwrap()
}

fn by(at: Millis) -> Provenance {
    Provenance::new(Author::Person, at)
}

fn execution(step: &str, version: u32, at: Millis, output: &str) -> Arc<Execution> {
    let mut execution = Execution::new(id(step), VersionNumber(version), at);
    execution.output.chunks.push(Chunk { stream: Stream::Stdout, text: output.repeat(100) });
    execution.observation.reads.insert(output.into(), None);
    Arc::new(execution)
}

/// Text that does not pack.
fn noise(seed: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut state = u64::from(seed) + 1;
    for byte in &mut bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    }
    bytes
}

#[test]
fn gc_drops_old_executions_and_what_only_they_held_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (context, receipt) = store.put_blob(b"what was shown".to_vec());
    receipt.wait().unwrap();
    store.record_version(&id("a"), b"one", &Provenance { context: Some(context), ..by(1) }).unwrap();
    for n in 0..10 {
        drop(store.record_execution(execution("a", 1, n, &format!("old{n}"))));
    }
    store.record_version(&id("a"), b"two", &by(2)).unwrap();
    for n in 0..3 {
        drop(store.record_execution(execution("a", 2, 100 * DAY + n, &format!("new{n}"))));
    }
    store.record_removed(&id("a"), &by(3)).unwrap();
    let proposal = Proposal {
        state: PatchState::Rejected,
        title: "t".into(),
        provenance: by(4),
        text: b"a patch".to_vec(),
        files: vec![],
        problems: vec![],
    };
    let patch = store.insert_patch(&proposal).unwrap().id();
    let (kept, receipt) = store.keep_file("out.csv", b"by hand".to_vec(), 5);
    receipt.wait().unwrap();
    let (waste, receipt) = store.put_blob(noise(1, 100_000));
    receipt.wait().unwrap();
    // What was put since the opening may be about to be used.
    let policy = Retention { executions: 2, days: 30, ..Retention::default() };
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    let freed = store.gc(&policy, 101 * DAY).unwrap();
    // Three are young, and the newest of the first version stays.
    assert_eq!(freed.executions, 9);
    assert!(freed.blobs >= 10 && freed.bytes > 90_000, "{freed:?}");
    assert_eq!(store.executions(&id("a"), 99).unwrap().len(), 4);
    assert!(!store.has_blob(&waste).unwrap());
    assert!(store.has_blob(&context).unwrap() && store.has_blob(&kept).unwrap());
    assert_eq!(store.version_text(&id("a"), VersionNumber(1)).unwrap(), b"one");
    assert_eq!(store.patch_text(patch).unwrap(), b"a patch");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert_eq!(store.log(&LogFilter::default()).unwrap().len(), 4 + 3 + 2);
    assert_eq!(store.gc(&policy, 101 * DAY).unwrap().executions, 0);
    let sizes = store.sizes().unwrap();
    assert_eq!((sizes.versions, sizes.executions, sizes.patches), (3, 4, 1));
    // Names are found as before.
    drop(store.record_execution(execution("a", 2, 101 * DAY, "old3")));
    assert_eq!(store.readers(&reweave::store::Subject::name("old3"), 9).unwrap().len(), 1);
}

#[test]
fn saved_values_go_by_when_they_were_used() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let key = Key::new([1; 32]);
    let value = |n: u8| SavedValue {
        digest: Digest::of([n]),
        interpreter: "py".into(),
        names: vec!["x".into()],
        bytes: noise(n, 1_000),
    };
    for n in 0..4 {
        store.save_value(&key, value(n), i64::from(n)).wait().unwrap();
    }
    store.used_values(&[value(0).digest], 99).wait().unwrap();
    let freed = store.gc(&Retention { saved: 2_500, ..Retention::default() }, 100).unwrap();
    assert_eq!(freed.saved_values, 2);
    let there: Vec<Digest> = (0..4).map(|n| value(n).digest).collect();
    assert_eq!(store.are_saved(&there, "py").unwrap(), [true, false, false, true]);
    assert_eq!(store.saved_value(&key, &there[3], "py").unwrap(), Some(value(3)));
    assert_eq!(store.saved_value(&key, &there[3], "another").unwrap(), None);
}

#[test]
fn a_saved_value_that_was_tampered_with_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::new([1; 32]);
    let value =
        SavedValue { digest: Digest::of("v"), interpreter: "py".into(), names: vec![], bytes: b"good".to_vec() };
    {
        let store = Store::open(dir.path()).unwrap();
        store.save_value(&key, value.clone(), 1).wait().unwrap();
        store.put_blob(b"evil".to_vec()).1.wait().unwrap();
    }
    let sql = rusqlite::Connection::open(dir.path().join(".reweave/store.db")).unwrap();
    sql.execute("UPDATE saved SET blob = (SELECT id FROM blob WHERE data = x'6576696c')", []).unwrap();
    drop(sql);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.notices(), []);
    assert_eq!(store.saved_value(&key, &value.digest, "py").unwrap(), None);
}

#[test]
fn a_frame_that_would_unpack_to_more_than_it_says_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let digest = {
        let store = Store::open(dir.path()).unwrap();
        let (digest, receipt) = store.put_blob(vec![b'x'; 10_000]);
        receipt.wait().unwrap();
        digest
    };
    let sql = rusqlite::Connection::open(dir.path().join(".reweave/store.db")).unwrap();
    for size in [10, -1, i64::MAX] {
        sql.execute("UPDATE blob SET size = ?", [size]).unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert!(matches!(store.get_blob(&digest), Err(StoreError::Damaged { .. })), "{size}");
        assert_eq!(store.check().unwrap().len(), 1);
    }
}

#[test]
fn what_is_damaged_in_a_large_store_is_found_when_it_is_said_to_be_suspect() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".reweave/store.db");
    {
        let store = Store::open(dir.path()).unwrap();
        for n in 0..80 {
            drop(store.put_blob(noise(n, 100_000)));
        }
        let steps: Vec<(StepId, String)> = (0..400).map(|n| (id(&format!("s{n}")), format!("x = {n}"))).collect();
        store.record_run(steps.iter().map(|(step, text)| (step, text.as_bytes())), &by(1)).unwrap();
        let proposal = |text: &str| Proposal {
            state: PatchState::Proposed,
            title: text.into(),
            provenance: by(4),
            text: text.as_bytes().to_vec(),
            files: vec![],
            problems: vec![],
        };
        store.insert_patch(&proposal("one")).unwrap();
        let two = store.insert_patch(&proposal("two")).unwrap().id();
        store.set_patch_state(two, PatchState::Accepted, Some("good"), 5).unwrap();
    }
    // A page that opening does not need turns to nothing.
    let sql = rusqlite::Connection::open(&path).unwrap();
    let page: usize =
        sql.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'event_at'", [], |row| row.get(0)).unwrap();
    drop(sql);
    let mut bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 5 << 20);
    bytes[(page - 1) * 4096..page * 4096].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.notices(), []);
    store.suspect();
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    let [notice @ Notice::SetAside { why: StoreError::Damaged { .. }, salvaged, .. }] = store.notices() else {
        unreachable!("{:?}", store.notices())
    };
    assert_eq!((salvaged.versions, salvaged.patches), (400, 2));
    assert!(notice.to_string().contains("400 versions and 2 patches were brought over"), "{notice}");
    assert_eq!(store.version_text(&id("s399"), VersionNumber(1)).unwrap(), b"x = 399");
    let patch = store.patch(PatchId(2)).unwrap();
    assert_eq!((patch.state, &patch.comments[..]), (PatchState::Accepted, &[(5, "good".to_owned())][..]));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert_eq!(store.sizes().unwrap().aside.len(), 1);
    drop(store);
    assert_eq!(Store::open(dir.path()).unwrap().notices(), []);
}

/// The child's part of the tests below: it is run by them alone, with `STORE_CHILD` naming what to do.
#[test]
#[ignore = "run by other tests"]
fn child() {
    let run = std::path::PathBuf::from(std::env::var_os("STORE_CHILD").unwrap());
    let what = std::env::var("STORE_CHILD_DOES").unwrap();
    let store = Store::open(&run).unwrap();
    match what.as_str() {
        "read-only" => {
            assert!(matches!(store.notices(), [Notice::Temporary { .. }]), "{:?}", store.notices());
            // What was there is there, and what comes is there as long as it is open.
            let known = store.heads().unwrap().len();
            store.record_version(&id("b"), b"B", &by(1)).unwrap();
            assert_eq!(store.heads().unwrap().len(), known + 1);
            assert_eq!(Reader::open(&run).map(|reader| reader.heads().unwrap().len()).unwrap_or(0), known);
        }
        "fill" => {
            let mut recorded = 0;
            let error = loop {
                match store.record_version(&id("b"), &noise(recorded, 50_000), &by(1)) {
                    Ok(_) => recorded += 1,
                    Err(error) => break error,
                }
                assert!(recorded < 200);
            };
            assert_eq!(error, StoreError::Full, "{error}");
            assert!(error.hint().unwrap().contains("free some space"));
            fs::write(std::env::var_os("STORE_CHILD_TELLS").unwrap(), recorded.to_string()).unwrap();
            // What was recorded before is there, and can be asked for.
            assert_eq!(store.versions(&id("b")).unwrap().len(), usize::from(recorded));
        }
        other => unreachable!("{other}"),
    }
}

/// Runs [`child`] below `prefix`, a shell's text that ends before the command. Whether it could be run.
#[cfg(unix)]
fn run_child(prefix: &str, run: &std::path::Path, does: &str, tells: &std::path::Path) -> std::process::Output {
    let me = std::env::current_exe().unwrap();
    let text = format!("{prefix} '{}' --exact child --ignored --nocapture", me.display());
    std::process::Command::new("sh")
        .args(["-c", &text])
        .env("STORE_CHILD", run)
        .env("STORE_CHILD_DOES", does)
        .env("STORE_CHILD_TELLS", tells)
        .output()
        .unwrap()
}

#[cfg(unix)]
fn assert_done(output: &std::process::Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Whether this process may mount in a namespace of its own.
#[cfg(unix)]
fn can_mount() -> bool {
    let tried = std::process::Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// By its mode, or for root, to whom modes forbid nothing, by a read-only mount in a namespace of its own.
#[cfg(unix)]
#[test]
fn a_run_on_a_disk_that_cant_be_written_opens_and_says_so() {
    use std::os::unix::fs::PermissionsExt;
    for recorded in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        if recorded {
            Store::open(dir.path()).unwrap().record_version(&id("a"), b"A", &by(1)).unwrap();
        }
        let before = fs::read(dir.path().join(".reweave/store.db")).ok();
        let set = |mode| {
            for path in [dir.path().join(".reweave"), dir.path().to_owned()] {
                if path.exists() {
                    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        };
        let prefix = if !rustix::process::geteuid().is_root() {
            set(0o555);
            String::new()
        } else if can_mount() {
            let run = dir.path().display();
            format!(
                "unshare -m sh -c 'mount --bind {run} {run} && mount -o remount,ro,bind {run} && exec \"$0\" \"$@\"'"
            )
        } else {
            eprintln!("skipped: root may not mount here");
            return;
        };
        let done = run_child(&prefix, dir.path(), "read-only", dir.path());
        set(0o755);
        assert_done(&done);
        assert_eq!(fs::read(dir.path().join(".reweave/store.db")).ok(), before, "nothing was written");
        assert_eq!(dir.path().join(".reweave").exists(), recorded);
    }
}

/// A limit on the size of files, which needs no rights, and for root a file system of 2 MB.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let tells = tempfile::tempdir().unwrap();
    let tells = tells.path().join("recorded");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.py"), "A").unwrap();
    // In blocks of 512 bytes. The signal that would end the process is ignored, so that `write` fails instead.
    assert_done(&run_child("trap '' XFSZ; ulimit -f 2000;", dir.path(), "fill", &tells));
    let recorded: usize = fs::read_to_string(&tells).unwrap().parse().unwrap();
    assert!(recorded > 0);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!((store.notices(), store.check().unwrap().len()), (&[][..], 0));
    assert_eq!(store.versions(&id("b")).unwrap().len(), recorded);
    assert_eq!(fs::read_to_string(dir.path().join("a.py")).unwrap(), "A");

    if !rustix::process::geteuid().is_root() || !can_mount() {
        eprintln!("the part with a small file system is skipped: only root may mount");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().display();
    let prefix = format!("unshare -m sh -c 'mount -t tmpfs -o size=2m none {run} && exec \"$0\" \"$@\"'");
    assert_done(&run_child(&prefix, dir.path(), "fill", &tells));
}
