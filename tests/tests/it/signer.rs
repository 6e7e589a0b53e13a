//! The signer's process: its walls, its death, its log, what it refuses, and who trusts what it
//! signs.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use tidegate_tests::clients::{curl, dig, dig_short, openssl};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::wait;

fn config(rules: &str) -> String {
    format!(
        r#"
policy: {{ lists: [{{ name: mine, rules: [{rules}] }}] }}
pixel: {{ listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [192.0.2.80] }}
dns: {{ listen: ["udp://127.0.0.1:0"], blocked: pixel, upstreams: ["udp://127.0.0.1:9"] }}
admin: {{ listen: "127.0.0.1:0" }}
"#
    )
}

const RULES: &str =
    r#""||ads.example^", "||first.com^", "||second.com^", "||third.com^", "||x.gov^""#;

/// The status that curl gets for a name over HTTPS; 0 without a certificate that it trusts.
fn fetch(edge: &Tidegate, name: &str) -> u16 {
    fetch_from(edge.address("pixel", "https"), &edge.state().join("ca/ca.pem"), name)
}

fn fetch_from(door: SocketAddr, ca: &Path, name: &str) -> u16 {
    let (to, url) = (format!("::{door}"), format!("https://{name}/x.js"));
    curl(&["--cacert", ca.to_str().unwrap(), "--connect-to", &to, &url]).0
}

/// The processes that a process has started, the youngest of a thread last.
fn children(process: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let children = |task: std::io::Result<fs::DirEntry>| {
        fs::read_to_string(task.ok()?.path().join("children")).ok()
    };
    let texts: Vec<String> = tasks.filter_map(children).collect();
    texts.iter().flat_map(|it| it.split_whitespace()).filter_map(|it| it.parse().ok()).collect()
}

/// The signer's processes of a running Tidegate: its children, or where root started it its
/// launcher's.
fn signers(edge: &Tidegate) -> Vec<u32> {
    let is_launcher = |child: &&u32| {
        let command = fs::read_to_string(format!("/proc/{child}/cmdline"));
        command.is_ok_and(|it| it.ends_with("\0launcher\0"))
    };
    let all = children(edge.pid());
    all.iter().find(is_launcher).map_or_else(|| all.clone(), |launcher| children(*launcher))
}

/// The youngest of them.
fn signer(edge: &Tidegate) -> Option<u32> {
    signers(edge).last().copied()
}

fn status_of(process: u32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(&format!("{field}:"))).unwrap();
    line[field.len() + 1..].trim().to_owned()
}

#[test]
fn the_signer_stands_behind_walls() {
    let edge = Tidegate::start(&config(RULES));
    assert_eq!(fetch(&edge, "ads.example"), 200);
    let process = wait::until("the signer", || signer(&edge));
    assert_eq!(status_of(process, "Seccomp"), "2");
    assert_eq!(status_of(process, "NoNewPrivs"), "1");
    assert_eq!(status_of(process, "Threads"), "1");
    let user = status_of(process, "Uid");
    if rustix::process::geteuid().is_root() {
        assert!(user.split_whitespace().all(|id| id != "0"), "it is still root: {user}");
        assert_eq!(status_of(process, "CapEff"), "0000000000000000");
        assert_eq!(status_of(process, "CapPrm"), "0000000000000000");
        // Its memory is closed to others, so only root sees what it has open.
        let open: BTreeSet<String> = fs::read_dir(format!("/proc/{process}/fd"))
            .unwrap()
            .map(|fd| fs::read_link(fd.unwrap().path()).unwrap().display().to_string())
            .map(|to| to.split([':', '[']).next().unwrap().to_owned())
            .map(|to| to.rsplit('/').next().unwrap().to_owned())
            .collect();
        let expected = ["audit.log", "audit.log.1", "null", "pipe", "socket"];
        assert_eq!(open, expected.map(str::to_owned).into());
    }
    let key = edge.state().join("ca/ca.key");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(key).unwrap().permissions()) & 0o777,
        0o600
    );
}

#[test]
fn handshakes_go_on_when_the_signer_is_killed() {
    let edge = Tidegate::start(&config(RULES));
    for name in ["first.com", "second.com", "third.com"] {
        let process = wait::until("the signer", || signer(&edge));
        let killed = std::process::Command::new("kill").args(["-9", &process.to_string()]).status();
        assert!(killed.unwrap().success());
        // On a busy machine the next one may come later than a handshake waits.
        wait::until("an answer", || (fetch(&edge, name) == 200).then_some(()));
        assert_ne!(signer(&edge), Some(process));
    }
    // Signals that end programs are for Tidegate; it takes its signer with it.
    let process = wait::until("the signer", || signer(&edge));
    let asked = std::process::Command::new("kill").args(["-TERM", &process.to_string()]).status();
    assert!(asked.unwrap().success());
    assert_eq!(fetch(&edge, "x.ads.example"), 200);
    assert_eq!(signer(&edge), Some(process));
    let (_, _scratch) = edge.stop_by("KILL");
    wait::until("the signer to end", || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"));
        stat.map_or(Some(()), |stat| stat.contains(") Z ").then_some(()))
    });
}

#[test]
fn what_is_signed_is_written_down_and_a_domain_is_signed_once() {
    let edge = Tidegate::start(&config(RULES));
    for name in ["first.com", "a.first.com", "b.first.com", "random-4711.first.com"] {
        assert_eq!(fetch(&edge, name), 200, "{name}");
    }
    let log = fs::read_to_string(edge.state().join("ca/audit.log")).unwrap();
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 1, "{log}");
    let fields: Vec<_> = lines[0].split(' ').collect();
    assert_eq!(fields[1..3], ["blocked", "first.com,*.first.com"]);
    assert!(fields[0].ends_with('Z') && fields[3].len() == 40, "{log}");
}

/// The names in the certificate that a client gets for `name`; none without a certificate.
fn certified(edge: &Tidegate, name: &str) -> Vec<String> {
    let said = openssl(edge.address("pixel", "https"), name, &["-showcerts"]);
    let Some(begin) = said.find("-----BEGIN CERTIFICATE-----") else { return Vec::new() };
    let pem = edge.scratch.write("leaf.pem", &said[begin..]);
    let output = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-ext", "subjectAltName", "-in", pem.to_str().unwrap()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().last().unwrap_or_default().split(',');
    names.filter_map(|it| it.trim().strip_prefix("DNS:").map(str::to_owned)).collect()
}

#[test]
fn no_certificate_covers_a_name_that_is_let_through() {
    let rules = r#""||example.com^", "@@||www.example.com^", "||tracker.net^", "||pattern.org^",
        "@@||cdn*.pattern.org^", "||co.uk^", "||single.com^", "@@||a.b.single.com^""#;
    let edge = Tidegate::start(&config(rules));
    assert_eq!(certified(&edge, "ads.example.com"), ["ads.example.com"]);
    assert_eq!(certified(&edge, "www.example.com"), [] as [&str; 0]);
    assert_eq!(certified(&edge, "x.pattern.org"), ["x.pattern.org"]);
    // What is let through there lies below what the wildcard is for.
    assert_eq!(certified(&edge, "x.single.com"), ["single.com", "*.single.com"]);
    assert_eq!(certified(&edge, "co.uk"), [] as [&str; 0]);
    assert_eq!(certified(&edge, "x.co.uk"), ["x.co.uk", "*.x.co.uk"]);
    // Let through by hand, after a wildcard was signed and while it is kept.
    assert_eq!(certified(&edge, "a.tracker.net"), ["tracker.net", "*.tracker.net"]);
    edge.told(&["ctl", "allow", "www.tracker.net", "--always"]);
    assert_eq!(certified(&edge, "a.tracker.net"), ["a.tracker.net"]);
    assert_eq!(certified(&edge, "www.tracker.net"), [] as [&str; 0]);
    edge.told(&["ctl", "revoke", "www.tracker.net"]);
    assert_eq!(certified(&edge, "a.tracker.net"), ["tracker.net", "*.tracker.net"]);
}

#[test]
fn well_known_hosts_that_are_blocked_share_a_leaf_until_that_is_set_otherwise() {
    let known = r#""||google-analytics.com^", "||bat.bing.com^", "||ads.example^""#;
    let edge = Tidegate::start(&config(known));
    // The status of a request for `host` over a connection that was opened for another name.
    let over = |name: &str, host: &str| {
        let ca = edge.state().join("ca/ca.pem");
        let to = format!("::{}", edge.address("pixel", "https"));
        let (url, host) = (format!("https://{name}/x.js"), format!("Host: {host}"));
        curl(&["--cacert", ca.to_str().unwrap(), "--connect-to", &to, "-H", &host, &url]).0
    };
    let hosts = ["bat.bing.com", "ssl.google-analytics.com", "static.hotjar.com", "ads.example"];
    let statuses = || hosts.map(|host| over("www.google-analytics.com", host));
    assert_eq!(statuses(), [200, 200, 421, 421], "{hosts:?}");
    assert_eq!(over("ads.example", "bat.bing.com"), 421);
    let log = fs::read_to_string(edge.state().join("ca/audit.log")).unwrap();
    let signed: Vec<_> = log.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    let bundle = "google-analytics.com,*.google-analytics.com,bat.bing.com";
    assert_eq!(signed, [bundle, "ads.example"]);

    let never = format!("{}signer: {{ bundles: never }}\n", config(known));
    fs::write(&edge.config, never).unwrap();
    edge.signal("HUP");
    wait::until("the reload", || {
        edge.output.try_recv().ok().filter(|it| it.starts_with("reloaded"))
    });
    wait::until("an answer", || (fetch(&edge, "ads.example") == 200).then_some(()));
    assert_eq!(statuses(), [421, 200, 421, 421], "{hosts:?}");
}

#[test]
fn a_reload_reaches_the_signer() {
    let edge = Tidegate::start(&config(RULES));
    assert_eq!(fetch(&edge, "first.com"), 200);
    assert_eq!(fetch(&edge, "new.com"), 0);
    let before = signer(&edge);
    fs::write(&edge.config, config(r#""||new.com^""#)).unwrap();
    edge.signal("HUP");
    wait::until("the reload", || {
        edge.output.try_recv().ok().filter(|it| it.starts_with("reloaded"))
    });
    assert_ne!(signer(&edge), before);
    wait::until("an answer", || (fetch(&edge, "new.com") == 200).then_some(()));
    assert_eq!(fetch(&edge, "first.com"), 0);
}

#[test]
fn reloads_lose_no_handshake_for_a_new_name() {
    const RELOADS: usize = 100;
    let edge = Tidegate::start(&config(RULES));
    let (door, ca) = (edge.address("pixel", "https"), edge.state().join("ca/ca.pem"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let handshakes = scope.spawn(|| {
            let (mut count, begun) = (0, Instant::now());
            // Bounded, should the other side fail.
            while !done.load(Relaxed) && begun.elapsed() < 4 * wait::DEADLINE {
                // Deep enough that no wildcard covers it: each is signed.
                let name = format!("a.n{count}.ads.example");
                assert_eq!(fetch_from(door, &ca, &name), 200, "{name}");
                count += 1;
            }
            count
        });
        for _ in 0..RELOADS {
            edge.told(&["ctl", "reload"]);
        }
        done.store(true, Relaxed);
        assert!(handshakes.join().unwrap() > 0);
    });
    wait::until("the last signer alone", || (signers(&edge).len() == 1).then_some(()));
}

#[test]
fn excluded_domains_are_never_signed_and_the_authority_says_so() {
    let edge = Tidegate::start(&config(RULES));
    assert_eq!(fetch(&edge, "x.gov"), 0);
    let ca = edge.state().join("ca/ca.pem");
    let output = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-text", "-in", ca.to_str().unwrap()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for part in
        ["Name Constraints: critical", "Excluded:", "DNS:gov", "DNS:bank", "IP:192.168.0.0/"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn a_client_that_knows_no_ecdsa_gets_an_rsa_leaf() {
    let edge = Tidegate::start(&config(RULES));
    let address = edge.address("pixel", "https");
    let ca = edge.state().join("ca/ca.pem");
    for (schemes, expected) in [
        ("RSA-PSS+SHA256:RSA+SHA256", "Peer signature type: RSA-PSS"),
        ("ECDSA+SHA256:RSA-PSS+SHA256", "Peer signature type: ECDSA"),
    ] {
        // On a busy machine the key may take longer to make than a handshake waits.
        let said = wait::until(expected, || {
            let args = ["-sigalgs", schemes, "-CAfile", ca.to_str().unwrap()];
            Some(openssl(address, "first.com", &args)).filter(|said| said.contains(expected))
        });
        assert!(said.contains("Verify return code: 0 (ok)"), "{schemes}: {said}");
    }
}

#[test]
fn a_client_that_does_not_trust_the_authority_gets_no_address_until_it_does() {
    let edge = Tidegate::start(&config(RULES));
    let (dns, https) = (edge.address("dns", "udp"), edge.address("pixel", "https"));
    let to = format!("::{https}");
    let stranger = ["--interface", "127.0.0.2", "--connect-to", &to, "https://ads.example/"];
    let asked = ["-b", "127.0.0.2", "ads.example"];
    assert_eq!(dig_short(dns, &asked).trim(), "192.0.2.80");
    for _ in 0..3 {
        assert_eq!(curl(&stranger).0, 0);
    }
    wait::until("the door to learn", || {
        let all = edge.api("/api/trust");
        let one = all["clients"].as_array()?.iter().find(|it| it["client"] == "127.0.0.2")?.clone();
        (one["trust"] == "distrusts" && one["alerts"] == 3 && one["avoided_until"].is_string())
            .then_some(())
    });
    let told = dig(dns, &asked);
    assert!(told.contains("NOERROR") && told.contains("ANSWER: 0"), "{told}");
    assert_eq!(dig_short(dns, &["ads.example"]).trim(), "192.0.2.80", "others are unaffected");
    // Somebody has installed the authority there.
    let ca = edge.state().join("ca/ca.pem");
    let mut trusting = vec!["--cacert", ca.to_str().unwrap()];
    trusting.extend(stranger);
    assert_ne!(curl(&trusting).0, 0);
    assert_eq!(dig_short(dns, &asked).trim(), "192.0.2.80");
}

#[test]
fn a_thousand_domains_and_random_names_from_one_client_are_answered_in_bounded_memory() {
    let rules: Vec<String> = (0..1200).map(|it| format!("\"||n{it}.com^\"")).collect();
    let edge = Tidegate::start(&config(&rules.join(",")));
    let ca = edge.state().join("ca/ca.pem");
    let to = format!("::{}", edge.address("pixel", "https"));
    let visit = |names: Vec<String>| {
        let mut args =
            vec!["--cacert", ca.to_str().unwrap(), "--connect-to", &to, "-o", "/dev/null"];
        let urls: Vec<_> = names.iter().map(|name| format!("https://{name}/x.js")).collect();
        for url in &urls {
            args.push(url);
        }
        let output = std::process::Command::new("curl")
            .args(["-sS", "--max-time", "20", "-w", "%{http_code}\n", "--parallel"])
            .args(args.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let answered = text.lines().filter(|line| line.ends_with("200")).count();
        assert_eq!(answered, names.len(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    // One client that says nothing delays nobody.
    let silent = std::net::TcpStream::connect(edge.address("pixel", "https")).unwrap();
    for part in 0..12 {
        visit((part * 100..part * 100 + 100).map(|it| format!("n{it}.com")).collect());
    }
    let before = edge.resident_bytes();
    for part in 0..3 {
        visit((0..100).map(|it| format!("r{}.n7.com", part * 100 + it)).collect());
    }
    drop(silent);
    assert!(edge.resident_bytes() < before + (16 << 20));
    let log = fs::read_to_string(edge.state().join("ca/audit.log")).unwrap();
    assert!((1200..1210).contains(&log.lines().count()), "{} lines", log.lines().count());
}

/// The device and number of every file of shared tables that a process has mapped.
fn shared_tables(process: u32) -> BTreeSet<String> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let tables = maps.lines().filter(|line| line.contains("/memfd:tidegate tables"));
    tables.map(|line| line.split_whitespace().skip(3).take(2).collect()).collect()
}

#[test]
fn the_signer_shares_the_tables_of_names_that_are_the_same_as_its_own() {
    let edge = Tidegate::start(&config(RULES));
    assert_eq!(fetch(&edge, "ads.example"), 200);
    let before = shared_tables(edge.pid());
    assert_eq!(before.len(), 1);
    // Of another process's memory root alone may know.
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        assert_eq!(shared_tables(signer(&edge).unwrap()), before);
    }
    fs::write(&edge.config, config(&format!("{RULES}, \"||fourth.com^\""))).unwrap();
    edge.signal("HUP");
    wait::until("an answer", || (fetch(&edge, "fourth.com") == 200).then_some(()));
    let after = wait::until("the tables of before to be given back", || {
        Some(shared_tables(edge.pid())).filter(|it| it.len() == 1 && *it != before)
    });
    if is_root {
        assert_eq!(shared_tables(signer(&edge).unwrap()), after);
    }
}

#[test]
fn the_hidden_command_is_for_tidegate_alone() {
    let output = std::process::Command::new(binary())
        .arg("signer")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("tidegate run"));
}
