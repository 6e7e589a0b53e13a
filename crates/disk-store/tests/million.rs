//! A million small objects: what the index costs, and how long a start takes after a kill.
//!
//! The allocator of this test counts bytes; it stands alone here because it is the whole process's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "times are printed, not judged")]

use disk_store::{CacheKey, DiskStore, KeySeed, NotStored, RecordDraft, Settings};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::time::Instant;
use vocab::Now;

const OBJECTS: u64 = 1_000_000;
const FOLDER: &str = "TIDEGATE_TEST_FOLDER";
const SEED: KeySeed = KeySeed([3; 16]);
const NOW: Now = Now { unix_ms: 1_800_000_000_000, mono_ms: 0 };

static BYTES: AtomicIsize = AtomicIsize::new(0);

struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size().cast_signed(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size().cast_signed(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn settings(folder: &Path) -> Settings {
    Settings { objects: 2 * OBJECTS, ..Settings::new(folder.into(), 2 << 30, SEED) }
}

/// Nanoseconds that this thread was on a processor: what does not depend on other processes.
fn processor_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

fn url(number: u64) -> String {
    format!("http://host{}.example/images/{number}.png", number % 1000)
}

/// Does nothing unless the test below started this program again: then it stores them all.
#[test]
fn the_process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let (disk, _) = DiskStore::open(&settings(Path::new(&folder)), NOW).unwrap();
    for number in 0..OBJECTS {
        let url = url(number);
        let draft = RecordDraft {
            key: CacheKey::new(&SEED, &url).hash(),
            variant: 0,
            moment: disk.moment(),
            url: &url,
            tags: &[],
            head: b"200 Content-Type: image/png",
            useful_until_ms: u64::MAX,
        };
        loop {
            let mut writer = disk.writer(&draft, NOW).unwrap();
            writer.write(url.as_bytes()).unwrap();
            match writer.commit() {
                Ok(()) => break,
                Err(why) => assert_eq!(why, NotStored::QueueFull),
            }
            disk.flush();
        }
    }
    disk.flush();
    eprintln!("stored");
    // Until it is killed.
    loop {
        std::thread::park();
    }
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_million_objects_cost_24_bytes_each_at_most_and_are_found_after_a_kill() {
    if std::env::var(FOLDER).is_ok() {
        return;
    }
    let name = format!("tidegate-disk-million-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["the_process_that_is_killed", "--exact", "--nocapture"])
        .env(FOLDER, &scratch.0)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let stored = lines.any(|line| line.unwrap() == "stored");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stored);

    let (before, begun, busy) = (BYTES.load(Relaxed), Instant::now(), processor_ns());
    let (disk, recovered) = DiskStore::open(&settings(&scratch.0), NOW).unwrap();
    let (took, busy) = (begun.elapsed(), (processor_ns() - busy) / 1_000_000);
    disk.flush();
    let each = (BYTES.load(Relaxed) - before) as f64 / OBJECTS as f64;
    println!(
        "{OBJECTS} objects in {} segments, {} of them walked: ready after {took:?}, \
         {busy} ms of it on a processor; {each:.1} bytes each",
        recovered.segments, recovered.scanned
    );
    assert_eq!(recovered.objects, OBJECTS);
    assert!(recovered.scanned > 0, "it was not closed in order");
    assert!(each <= 24.0, "{each} bytes an object, all of the store's memory together");
    let begun = Instant::now();
    for number in (0..OBJECTS).step_by(100) {
        let url = url(number);
        let found = disk.find(CacheKey::new(&SEED, &url).hash());
        let stored = disk.read(&found[0]).unwrap();
        assert_eq!(stored.body.inline().unwrap(), url);
    }
    println!("{:?} to find and read each", begun.elapsed() / (OBJECTS / 100) as u32);
}
