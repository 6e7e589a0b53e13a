//! The memory that a list refresh takes: alone in its process, so that its peak is its own.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use dns_effects::{DownloadItem, DownloadSpec, EffectId, EffectSpec};
use std::io::Write;
use support::{DEADLINE, Scratch, Web, start, with_event};

const LIST_BYTES: usize = 20 << 20;
/// What a refresh may add to the process: pieces of the connection and of the file, the check's
/// buffer, stacks of threads. Far below the list.
const PEAK_MAX_KIB: u64 = 4 << 10;

/// Peak of the process's memory, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_refresh_holds_no_more_than_buffers_however_long_the_list() {
    let lines = "||name.example^\n".repeat(4096);
    let web = Web::start(move |asked, stream| {
        let bytes = if asked.line.contains("small") { lines.len() } else { LIST_BYTES };
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n")?;
        for _ in 0..bytes / lines.len() {
            stream.write_all(lines.as_bytes())?;
        }
        Ok(())
    });
    let folder = Scratch::new();
    let item = |name: &str| DownloadItem {
        url: web.url(&format!("/{name}")),
        dir: folder.path().into(),
        filename: None,
    };
    let spec = |name: &str| {
        EffectSpec::Download(DownloadSpec {
            downloads: vec![item(name)],
            ..DownloadSpec::default()
        })
    };
    let (effects, told) = start(vec![spec("small.txt"), spec("large.txt")], vec![]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let fetch = |effect: u16| {
        let called = with_event("a.example", &[], |event| effects.call(EffectId(effect), event));
        runtime.block_on(async { tokio::time::timeout(DEADLINE, called).await.unwrap().unwrap() });
    };
    // Whatever is made once is made by now.
    fetch(0);
    let before = peak_kib();
    fetch(1);
    let grown = peak_kib() - before;
    let length = std::fs::metadata(folder.path().join("large.txt")).unwrap().len();
    assert_eq!((length, told.reload_count()), (LIST_BYTES as u64, 2));
    assert!(grown < PEAK_MAX_KIB, "the peak grew by {grown} KiB for a list of {LIST_BYTES} bytes");
}
