//! A process that is killed, a disk that is full, a file system that becomes read-only.
//!
//! The second process is this program again, told by a variable what to do.

use crate::support::{Answer, Dice, NOW, Scratch};
use disk_store::{DiskStore, DiskTrouble, NotStored, Purge, PurgeStrength};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use vocab::Now;

const TASK: &str = "TIDEGATE_TEST_TASK";
const FOLDER: &str = "TIDEGATE_TEST_FOLDER";

fn myself(task: &str, folder: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["processes::the_second_process", "--exact", "--nocapture"]);
    command.env(TASK, task).env(FOLDER, folder);
    command
}

/// Does nothing unless one of the tests below started it.
#[test]
fn the_second_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let scratch = Scratch(PathBuf::from(std::env::var(FOLDER).unwrap()));
    match task.split_once(' ') {
        Some(("write", from)) => write_for_ever(&scratch, from.parse().unwrap()),
        _ => on_a_small_disk(&scratch),
    }
    // The folder is the first process's.
    std::mem::forget(scratch);
}

/// What the second process says about itself, a line each, before or after it happens.
fn say(what: &str, number: u64, version: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n@ {what} {number} {version}").unwrap();
}

fn write_for_ever(scratch: &Scratch, from: u64) {
    let mut dice = Dice(from);
    let disk = DiskStore::open(&scratch.settings(3 << 20, 64 << 10), NOW).unwrap().0;
    for version in from.. {
        let number = dice.below(40);
        let answer =
            Answer::new(number, version, [50, 3000, 40_000, 300_000][dice.below(4) as usize]);
        match dice.below(10) {
            0 => {
                disk.purge(&[Purge::Key(answer.key().hash())], PurgeStrength::Hard).unwrap();
                say("purged", number, version);
            }
            1 => {
                disk.purge(&[Purge::Prefix(answer.url())], PurgeStrength::Hard).unwrap();
                say("purged", number, version);
            }
            2 => {
                if let Some(stored) = answer.stored(&disk) {
                    let there = Answer::of(&stored);
                    Answer { renewal: there.renewal + 1, ..there }.renew(&disk, &stored);
                }
                answer.get(&disk);
            }
            3 => {
                disk.flush();
                say("settled", 0, version);
            }
            _ => {
                if answer.put_at(&disk, disk.moment()).is_ok() {
                    say("put", number, version);
                }
            }
        }
    }
}

/// What is known of the second process: nothing older may be found.
#[derive(Default)]
struct Known {
    /// By number: what is not newer than this is purged.
    purged: HashMap<u64, u64>,
    /// By number: the latest version that was settled.
    settled: HashMap<u64, u64>,
    put: HashMap<u64, u64>,
    latest: u64,
}

impl Known {
    fn hear(&mut self, line: &str) {
        let Some(words) = line.strip_prefix("@ ") else { return };
        let words: Vec<&str> = words.split(' ').collect();
        let [what, number, version] = words[..] else { return };
        let (Ok(number), Ok(version)) = (number.parse(), version.parse()) else { return };
        self.latest = version;
        match what {
            "put" => _ = self.put.insert(number, version),
            "purged" => _ = self.purged.insert(number, version),
            "settled" => self.settled.extend(self.put.iter()),
            _ => panic!("{line}"),
        }
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "it had ended by itself: {status}");
}

#[test]
fn killed_at_any_moment_it_finds_nothing_purged_nothing_older_and_nothing_wrong() {
    let scratch = Scratch::new();
    let mut known = Known::default();
    let (mut dice, mut found, mut walked) = (Dice(11), 0, 0);
    for _ in 0..25 {
        // What was put and not settled before the last end may be lost.
        known.put.clear();
        let mut command = myself(&format!("write {}", known.latest + 1), &scratch.0);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let most = 50 + dice.below(1500) as usize;
        for line in lines.by_ref().take(most) {
            known.hear(&line.unwrap());
        }
        end(child);
        // What it had said before it died.
        lines.map_while(Result::ok).for_each(|line| known.hear(&line));
        // Versions that it did not speak of are not used again.
        known.latest += 10_000;
        let settings = scratch.settings(3 << 20, 64 << 10);
        let (disk, recovered) = DiskStore::open(&settings, NOW).unwrap();
        walked += recovered.scanned;
        for number in 0..40 {
            let Some((there, _)) = Answer::new(number, 0, 0).get(&disk) else { continue };
            found += 1;
            let least = known.settled.get(&number).copied().unwrap_or(0);
            assert!(there.version >= least, "{there:?} is older than {least}");
            let purged = known.purged.get(&number).copied().unwrap_or(0);
            assert!(there.version > purged, "{there:?} was purged at {purged}");
            known.settled.insert(number, there.version);
        }
        assert_eq!(disk.stats().corrupted, 0);
    }
    assert!(found > 100 && walked > 10, "{found} found, {walked} segments walked");
}

/// In a file system of 3 MB, though the store may have 32.
fn on_a_small_disk(scratch: &Scratch) {
    let settings = scratch.settings(32 << 20, 128 << 10);
    let disk = DiskStore::open(&settings, NOW).unwrap().0;
    let mut later = NOW;
    let mut troubles = 0;
    for number in 0..800 {
        let answer = Answer::new(number, 1, 20_000 + 1000 * (number as usize % 9));
        match answer.put_at(&disk, disk.moment()) {
            Ok(()) => {}
            Err(why) => assert_eq!(why, NotStored::DiskFailure),
        }
        disk.flush();
        if let Some(trouble) = disk.stats().failure {
            assert_eq!(trouble, DiskTrouble::DiskFull);
            troubles += 1;
            // One tries after a pause, and finds the room that was made.
            later = Now { mono_ms: later.mono_ms + 40_000, ..later };
            let tried = Answer::new(5000 + number, 1, 0);
            // Once or twice, or more often where the thread that syncs still holds what was freed.
            for _ in 0..100 {
                let _ = tried
                    .drafted(disk.moment(), u64::MAX, |draft| disk.writer(draft, later)?.commit());
                later = Now { mono_ms: later.mono_ms + 40_000, ..later };
                disk.flush();
                if disk.stats().failure.is_none() {
                    break;
                }
            }
            assert_eq!(disk.stats().failure, None);
        }
    }
    assert!(troubles > 0 && disk.stats().corrupted == 0);
    let there =
        |disk: &DiskStore| (0..800).filter(|it| Answer::new(*it, 1, 0).get(disk).is_some()).count();
    let before = there(&disk);
    assert!(before > 50, "{before}");
    drop(disk);
    assert_eq!(there(&DiskStore::open(&settings, NOW).unwrap().0), before);
    read_only(scratch);
}

fn read_only(scratch: &Scratch) {
    let settings = scratch.settings(32 << 20, 128 << 10);
    let disk = DiskStore::open(&settings, NOW).unwrap().0;
    let number = (0..800).find(|it| Answer::new(*it, 1, 0).get(&disk).is_some()).unwrap();
    let mount = scratch.0.parent().unwrap();
    drop(disk);
    let done = Command::new("mount").args(["-o", "remount,ro"]).arg(mount).status().unwrap();
    assert!(done.success());
    let refused = DiskStore::open(&settings, NOW).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("mount it for writing"), "{refused} {number}");
}

#[test]
fn a_full_or_read_only_disk_is_reported_and_costs_only_what_does_not_fit() {
    let scratch = Scratch::new();
    std::fs::create_dir(&scratch.0).unwrap();
    let exe = std::env::current_exe().unwrap();
    let script = "mount -t tmpfs -o size=3m none \"$1\" && exec \"$2\" processes::the_second_process --exact --nocapture";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(&scratch.0).arg(&exe);
    command.env(TASK, "small").env(FOLDER, scratch.0.join("store"));
    assert!(command.status().unwrap().success());
}
