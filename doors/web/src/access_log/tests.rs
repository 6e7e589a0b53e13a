//! Access logs on a real file.

use super::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-log-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until `file` has so many lines.
    fn until(&self, file: &str, count: usize) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = self.lines(file);
            if lines.len() >= count {
                return lines;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "only {} lines", lines.len());
            std::thread::yield_now();
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn entry(target: &str) -> AccessLogEntry<'_> {
    AccessLogEntry {
        client: "192.0.2.7".parse().unwrap(),
        user: "",
        unix_ms: 0,
        method: "GET",
        target,
        protocol: "HTTP/1.1",
        host: "www.example",
        status: 200,
        bytes: 1,
        referrer: b"",
        agent: b"",
        duration_us: 1,
    }
}

fn open(folder: &Folder) -> AccessLog {
    let settings = AccessLogSettings { file: "access.log".into(), format: LogFormat::Common };
    AccessLog::open(&settings, &folder.0).unwrap()
}

#[test]
fn lines_wait_for_a_second_or_a_full_buffer() {
    let folder = Folder::new("second");
    let log = open(&folder);
    log.write(&entry("/1"), 100);
    log.write(&entry("/2"), 900);
    assert_eq!(folder.lines("access.log"), Vec::<String>::new());
    flush_core(1_099);
    flush_core(1_100);
    assert_eq!(folder.until("access.log", 2).len(), 2);
    for _ in 0..2_000 {
        log.write(&entry("/3"), 1_200);
    }
    folder.until("access.log", 700);
    assert_eq!(log.dropped(), 0);
}

#[test]
fn a_core_that_ends_leaves_no_line_behind() {
    let folder = Folder::new("end");
    let log = Arc::new(open(&folder));
    let cores: Vec<_> = (0..4)
        .map(|_| {
            let log = Arc::clone(&log);
            std::thread::spawn(move || (0..1_000).for_each(|_| log.write(&entry("/"), 0)))
        })
        .collect();
    for core in cores {
        core.join().unwrap();
    }
    drop(Arc::into_inner(log).unwrap());
    let lines = folder.lines("access.log");
    assert_eq!(lines.len(), 4_000);
    assert!(lines.iter().all(|line| *line == lines[0]), "no line is torn");
}

#[test]
fn a_file_that_was_moved_is_opened_anew() {
    let folder = Folder::new("rotate");
    let log = open(&folder);
    log.write(&entry("/before"), 0);
    flush_core(1_000);
    folder.until("access.log", 1);
    std::fs::rename(folder.0.join("access.log"), folder.0.join("access.log.1")).unwrap();
    log.reopen();
    let begun = Instant::now();
    while !folder.0.join("access.log").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    log.write(&entry("/after"), 2_000);
    flush_core(3_000);
    assert!(folder.until("access.log", 1)[0].contains("/after"));
    assert!(folder.until("access.log.1", 1)[0].contains("/before"));
}

#[test]
fn a_disk_that_takes_nothing_costs_lines_and_nothing_else() {
    let settings = AccessLogSettings { file: "/dev/full".into(), format: LogFormat::Common };
    let log = AccessLog::open(&settings, Path::new("/")).unwrap();
    log.write(&entry("/lost"), 0);
    flush_core(1_000);
    let begun = Instant::now();
    while log.dropped() != 1 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
}
