//! Null answers in Chromium: what it shows, plays, parses and opens without an error.

use crate::support::{DEADLINE, Edge};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// What each check of `page.html` is to say.
const EXPECTED: &[&str] = &[
    "gif=1x1",
    "png=1x1",
    "png2=2x2",
    "png3=3x2",
    "png32=32x32",
    "embed=load",
    "ico=1x1",
    "favicon=32x32",
    "svg=1x1",
    "font=loaded",
    "audio=ended",
    "video=ended",
    "style=load",
    "script=load",
    "module=load",
    "frame=load",
    "callback=called",
    "fetch=object",
    "vast=VAST",
    "events=closed",
    "socket=true.true.1000",
    "beacon=true",
    "standin=called",
];

struct Browser(Child);

impl Browser {
    fn open(edge: &Edge, home: &Path) -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pixel/page.html");
        let child = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--autoplay-policy=no-user-gesture-required", "--mute-audio"])
            .args(["--disable-background-networking", "--remote-debugging-port=0"])
            // Every name leads to the door, which lies on loopback: a page from a file may go
            // there.
            .arg(format!("--host-resolver-rules=MAP * {}", edge.http))
            .arg("--disable-features=LocalNetworkAccessChecks,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable")
            .arg(format!("--user-data-dir={}", home.display()))
            .arg(format!("file://{}", page.display()))
            .env("HOME", home)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_browser_takes_every_null_answer_for_what_it_asked_for() {
    let named = ["2x2.png", "3x2.png", "32x32.png"];
    let named = named.map(|it| format!("||ads.example/named/{it}$image,redirect={it}\n")).concat();
    let embed = "||ads.example/named/film$subdocument,redirect=click2load.html\n";
    let edge = Edge::start(&["||ads.example^\n", &named, embed].concat());
    let home = edge.scratch("browser");
    let _browser = Browser::open(&edge, &home);
    let start = Instant::now();
    let report = loop {
        let rows = edge.rows();
        if let Some(row) = rows.iter().find(|row| row.subject.contains("/report?")) {
            break row.subject.clone();
        }
        // A browser takes its time to start where others build.
        assert!(start.elapsed() < DEADLINE * 6, "no report: {rows:#?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let (_, told) = report.split_once('?').unwrap();
    assert_eq!(told.split('&').collect::<Vec<_>>(), EXPECTED);
}
