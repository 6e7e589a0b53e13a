//! A clock that was never set, as machines without a battery have it until the network is up.

use std::path::PathBuf;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::tidegate::Tidegate;

/// Debian's libfaketime, whatever the processor.
fn faketime() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|it| it.path());
    let mut all = folders.map(|it| it.join("faketime/libfaketimeMT.so.1"));
    all.find(|it| it.is_file()).expect("the package faketime is installed")
}

#[test]
fn a_clock_before_1970_ends_nothing() {
    let yaml = r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], blocked: "null", upstreams: ["udp://127.0.0.1:9"] }
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [192.0.2.80] }
admin: { listen: "127.0.0.1:0" }
"#;
    let library = faketime();
    let variables = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME", "-60y"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("NO_FAKE_STAT", "1"),
    ];
    let edge = Tidegate::start_with(Scratch::new(), yaml, &variables);
    let secure = |path: &str| {
        let ca = edge.state().join("ca/ca.pem");
        let to = format!("::{}", edge.address("pixel", "https"));
        let url = format!("https://ads.example{path}");
        let trusted = ["--cacert", ca.to_str().unwrap(), "--connect-to", &to];
        curl(&[&trusted[..], &["--http1.1", &url]].concat()).0
    };
    let plain = |more: &[&str]| {
        let url = format!("http://{}/x.js", edge.address("pixel", "http"));
        curl(&[&["-H", "Host: ads.example"], more, &[&url]].concat()).0
    };
    assert_eq!(dig_short(edge.address("dns", "udp"), &["ads.example"]).trim(), "0.0.0.0");
    // With tickets and without; the second one would be resumed.
    assert_eq!([secure("/a.js"), secure("/b.js")], [200, 200]);
    assert_eq!(plain(&[]), 200);
    // hyper cannot serve without a date, which is said rather than tried.
    assert_eq!(plain(&["--data", "x=1"]), 503);
    assert_eq!(plain(&[]), 200);
    let said: Vec<String> = edge.greeting.iter().cloned().chain(edge.output.try_iter()).collect();
    assert!(!said.iter().any(|line| line.contains("panicked")), "{}", said.join("\n"));
}
