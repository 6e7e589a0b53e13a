//! Logs from outside: of requests at three doors, of questions, and the program's own; to files,
//! to syslog, and past readers that do not read.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, tidegate, wait};

const ADMIN: &str = "admin: { listen: '127.0.0.1:0' }\n";

fn origin() -> Origin {
    Origin::start(&[("/a", Page::new("text/plain", "hello"))])
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until the file `name` has so many lines.
fn logged(edge: &Tidegate, name: &str, count: usize) -> Vec<String> {
    let path = edge.scratch.path().join(name);
    wait::until(name, || Some(lines(&path)).filter(|lines| lines.len() >= count))
}

fn gateway(origin: &Origin, log: &str) -> String {
    format!(
        "{ADMIN}gateway: {{ listen: ['http://127.0.0.1:0'], pools: {{ app: {{ servers: ['{}'] }} }}, \
         routes: [{{ path: '/*', pool: app }}], access_log: {log} }}\n",
        at(origin, ""),
    )
}

fn at(origin: &Origin, path: &str) -> String {
    format!("http://{}{path}", origin.address)
}

fn url(edge: &Tidegate, path: &str) -> String {
    format!("http://{}{path}", edge.address("gateway", "http"))
}

fn refused(yaml: &str) -> String {
    let scratch = Scratch::new();
    let path = scratch.write("tidegate.yaml", yaml);
    let output =
        Command::new(tidegate::binary()).args(["check", "--config"]).arg(path).output().unwrap();
    assert!(!output.status.success(), "{yaml}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn gateway_and_proxy_write_a_line_for_each_request_without_secrets() {
    let origin = origin();
    let yaml = gateway(&origin, "gateway.log")
        + "proxy: { listen: ['http://127.0.0.1:0'], cache: {}, destinations: any, \
           access_log: { file: proxy.log, format: json } }\n";
    let edge = Tidegate::start(&yaml);
    let secret = ["-H", "Authorization: Bearer hunter2", "-H", "Cookie: sid=hunter2"];
    let forged = "x\"\t1.2.3.4 - - [evil";
    let target = url(&edge, "/a?page=2&access_token=hunter2");
    let (status, _) = curl(&[&secret[..], &["-A", forged, &target]].concat());
    assert_eq!(status, 200);
    let line = &logged(&edge, "gateway.log", 1)[0];
    assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
    let request = "] \"GET /a?page=2&access_token=[redacted] HTTP/1.1\" 200 5 \"-\" ";
    assert!(line.ends_with(&format!("{request}\"x\\\"\\x091.2.3.4 - - [evil\"")), "{line}");

    let proxy = format!("http://{}", edge.address("proxy", "http"));
    for _ in 0..2 {
        let at_origin = at(&origin, "/a?key=hunter2");
        let asked = curl(&[&secret[..2], &["-x", &proxy, &at_origin]].concat());
        assert_eq!(asked.0, 200);
    }
    let all = logged(&edge, "proxy.log", 2);
    for line in &all {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["door"], "proxy");
        assert_eq!(line["host"], "127.0.0.1");
        assert_eq!(line["target"], at(&origin, "/a?key=[redacted]"));
        assert_eq!((&line["status"], &line["bytes"]), (&200.into(), &5.into()));
    }
    let text = lines(&edge.scratch.path().join("gateway.log")).join("") + &all.join("");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_template_is_written_as_it_says_and_a_wrong_one_is_refused_with_its_field() {
    let origin = origin();
    let own = "{ file: own.log, template: '$remote_addr $status \"$request\" $http_x_request_id', \
               anonymise: network }";
    let edge = Tidegate::start(&gateway(&origin, own));
    curl(&["-H", "X-Request-Id: r-7", &url(&edge, "/a")]);
    assert_eq!(logged(&edge, "own.log", 1), ["127.0.0.0 200 \"GET /a HTTP/1.1\" r-7"]);
    for (log, told) in [
        ("{ file: a.log, template: '$remote_adr' }", "there is no field $remote_adr"),
        ("{ file: a.log, template: '$http_cookie' }", "$http_cookie carries secrets"),
        ("{ file: a.log, format: json, template: '$status' }", "a format or a template"),
        ("{ format: json }", "it names no file"),
        ("{ syslog: 'tls://h:6514' }", "reached by udp://, tcp:// or unix://"),
        ("{ syslog: { address: 'udp://h:514', tag: 'a b' } }", "a tag is 1 to 48"),
    ] {
        let said = refused(&gateway(&origin, log));
        assert!(said.contains(told) && said.contains("access_log"), "{log}: {said}");
    }
}

#[test]
fn every_log_follows_its_file_when_it_was_moved_and_sigusr1_comes() {
    let origin = origin();
    let yaml = gateway(&origin, "a.log")
        + "dns: { listen: ['udp://127.0.0.1:0'], local: ['nas.lan A 192.0.2.7'], \
           query_log: { file: q.log, anonymise: network } }\n\
           log: { file: program.log, format: text_time }\n";
    let edge = Tidegate::start(&yaml);
    let ask = || dig_short(edge.address("dns", "udp"), &["nas.lan"]);
    let folder = edge.scratch.path().to_owned();
    curl(&[&url(&edge, "/a")]);
    assert_eq!(ask().trim(), "192.0.2.7");
    logged(&edge, "a.log", 1);
    let question: serde_json::Value = serde_json::from_str(&logged(&edge, "q.log", 1)[0]).unwrap();
    assert_eq!(question["client"], "127.0.0.0");
    assert_eq!(
        (&question["name"], &question["type"], &question["rcode"]),
        (&"nas.lan".into(), &"A".into(), &"NOERROR".into())
    );
    assert_eq!(question["addresses"], serde_json::json!(["192.0.2.7"]));
    let all = ["a.log", "q.log", "program.log"];
    for name in all {
        std::fs::rename(folder.join(name), folder.join(format!("{name}.1"))).unwrap();
    }
    edge.signal("USR1");
    wait::until("new files", || all.iter().all(|it| folder.join(it).exists()).then_some(()));
    curl(&[&url(&edge, "/a?2")]);
    ask();
    assert!(logged(&edge, "a.log", 1)[0].contains("/a?2"));
    assert_eq!(logged(&edge, "q.log", 1).len(), 1);
    // A reload that fails is told in the program's log.
    std::fs::write(&edge.config, "gateway: { listen: [] }").unwrap();
    edge.signal("HUP");
    let told = logged(&edge, "program.log", 2);
    let last = told.last().unwrap();
    assert!(last.ends_with("Z error program: nothing was changed"), "{told:?}");
}

#[test]
fn blocked_questions_name_list_and_rule() {
    let scratch = Scratch::new();
    scratch.write("ads.txt", "||ads.example^\n");
    let yaml = "policy: { lists: [{ name: ads, path: ads.txt }] }\n\
                dns: { listen: ['udp://127.0.0.1:0', 'tcp://127.0.0.1:0'], query_log: q.log }\n";
    let edge = Tidegate::start_in(scratch, &[ADMIN, yaml].concat());
    dig_short(edge.address("dns", "udp"), &["x.ads.example"]);
    dig_short(edge.address("dns", "tcp"), &["+tcp", "x.ads.example", "AAAA"]);
    let told: Vec<serde_json::Value> =
        logged(&edge, "q.log", 2).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        told.iter().all(|it| it["list"] == "ads" && it["rule"] == "||ads.example^"),
        "{told:?}"
    );
    let mut ways: Vec<&str> = told.iter().filter_map(|it| it["protocol"].as_str()).collect();
    ways.sort_unstable();
    assert_eq!(ways, ["tcp", "udp"]);
}

#[test]
fn syslog_gets_messages_of_rfc_5424_and_its_absence_stops_nobody() {
    let origin = origin();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let place = server.local_addr().unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let log = format!("{{ syslog: {{ address: 'udp://{place}', facility: local1, tag: edge }} }}");
    let yaml = gateway(&origin, &log)
        + &format!(
            "proxy: {{ listen: ['http://127.0.0.1:0'], destinations: any, \
             access_log: {{ syslog: 'tcp://{gone}' }} }}\n"
        );
    let edge = Tidegate::start(&yaml);
    assert_eq!(curl(&[&url(&edge, "/a")]).0, 200);
    let mut bytes = [0; 4096];
    let read = server.recv(&mut bytes).unwrap();
    let message = String::from_utf8_lossy(&bytes[..read]).into_owned();
    let parts: Vec<&str> = message.splitn(8, ' ').collect();
    assert_eq!((parts[0], parts[3], parts[5], parts[6]), ("<142>1", "edge", "access", "-"));
    assert!(parts[7].contains("\"GET /a HTTP/1.1\" 200 5"), "{message}");
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    for _ in 0..20 {
        assert_eq!(curl(&["-m", "5", "-x", &proxy, &at(&origin, "/a")]).0, 200);
    }
    wait::until("the loss to be told", || {
        edge.output.try_recv().ok().filter(|it| it.contains("lines for tcp://"))
    });
}

#[test]
fn a_reader_that_does_not_read_holds_up_no_request() {
    let scratch = Scratch::new();
    let pipe = scratch.path().join("stuck");
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&pipe).status().unwrap().success());
    let held = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let origin = origin();
    let edge = Tidegate::start_in(scratch, &gateway(&origin, "stuck"));
    let long = format!("/a?{}", "x".repeat(1_500));
    for _ in 0..100 {
        assert_eq!(curl(&["-m", "5", &url(&edge, &long)]).0, 200);
    }
    let (ended, _scratch) = edge.stop_by("TERM");
    assert!(ended.success(), "{ended}");
    drop(held);
}

#[test]
fn the_programs_log_has_levels_forms_and_the_journals_prefixes() {
    let scratch = Scratch::new();
    // Whoever starts it has connected standard error to the journal, and says so.
    let script = "JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) exec \"$@\" 2>\"$0\"";
    let dns = [ADMIN, "dns: { listen: ['udp://127.0.0.1:0'] }\n"].concat();
    let config = scratch.write("tidegate.yaml", &dns);
    let told = scratch.write("told", "");
    let script = script.replace("/dev/stderr", &told.display().to_string());
    let mut running = Command::new("sh")
        .args(["-c", &script])
        .arg(&told)
        .arg(tidegate::binary())
        .args(["run", "--config"])
        .arg(&config)
        .arg("--state")
        .arg(scratch.path().join("state"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = running.stdout.take().unwrap();
    let mut said = String::new();
    wait::until("ready", || {
        let mut bytes = [0; 1024];
        let read = output.read(&mut bytes).unwrap();
        said += &String::from_utf8_lossy(&bytes[..read]);
        said.contains("\nready\n").then_some(())
    });
    let hup = || Command::new("kill").args(["-HUP", &running.id().to_string()]).status().unwrap();
    std::fs::write(&config, "dns: { listen: [] }\n").unwrap();
    hup();
    wait::until("the complaint", || {
        Some(lines(&told)).filter(|it| it.iter().any(|it| it == "<3>program: nothing was changed"))
    });
    std::fs::write(&config, dns + "log: { format: json, level: debug }\n").unwrap();
    hup();
    let line = wait::until("a line of JSON", || {
        lines(&told).into_iter().find(|line| line.starts_with('{'))
    });
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["level"], &line["target"]), (&"debug".into(), &"program".into()));
    let _ = (running.kill(), running.wait());
    let said = refused("log: { targets: { kitchen: debug } }\n");
    assert!(said.contains("kitchen"), "{said}");
}

#[test]
fn goaccess_reads_the_combined_format() {
    let origin = origin();
    let edge = Tidegate::start(&gateway(&origin, "a.log"));
    for _ in 0..3 {
        curl(&["-A", "a \"quoted\" agent", "-e", "http://from.example/", &url(&edge, "/a")]);
    }
    curl(&[&url(&edge, "/missing")]);
    logged(&edge, "a.log", 4);
    let report = edge.scratch.path().join("report.json");
    let read = Command::new("goaccess")
        .arg(edge.scratch.path().join("a.log"))
        .args(["--log-format=COMBINED", "--no-global-config", "--ignore-crawlers", "-o"])
        .arg(&report)
        .output()
        .unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let general = &report["general"];
    assert_eq!((&general["valid_requests"], &general["failed_requests"]), (&4.into(), &0.into()));
}

#[test]
fn where_standard_error_leads_to_the_journal_it_gets_entries_with_fields() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("run/systemd/journal");
    std::fs::create_dir_all(&folder).unwrap();
    let journal = std::os::unix::net::UnixDatagram::bind(folder.join("socket")).unwrap();
    journal.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.join("socket"), everyone).unwrap();
    let told = scratch.write("told", "");
    let config = scratch.write("tidegate.yaml", "dns: { listen: ['udp://127.0.0.1:0'] }\n");
    let script = "mount --bind \"$1\" /run && shift && \
                  JOURNAL_STREAM=$(stat -L -c %d:%i \"$0\") exec \"$@\" 2>\"$0\"";
    let mut running = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(&told)
        .arg(scratch.path().join("run"))
        .arg(tidegate::binary())
        .args(["run", "--config"])
        .arg(&config)
        .arg("--state")
        .arg(scratch.path().join("state"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = running.stdout.take().unwrap();
    let mut said = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    assert!(said.any(|line| line.unwrap() == "ready"));
    std::fs::write(&config, "dns: { listen: [] }\n").unwrap();
    assert!(
        Command::new("kill").args(["-HUP", &running.id().to_string()]).status().unwrap().success()
    );
    let mut bytes = vec![0; 1 << 16];
    let entry = loop {
        let read = journal.recv(&mut bytes).unwrap();
        let entry = String::from_utf8(bytes[..read].to_vec()).unwrap();
        if entry.contains("\nMESSAGE=program: nothing was changed\n") {
            break entry;
        }
    };
    for field in ["PRIORITY=3\n", "\nSYSLOG_IDENTIFIER=tidegate\n", "\nTIDEGATE_PART=program\n"] {
        assert!(entry.contains(field), "{entry}");
    }
    assert!(entry.contains("\nCODE_FILE=crates/tidegate/src/app/mod.rs\nCODE_LINE="), "{entry}");
    let _ = (running.kill(), running.wait());
    assert!(!std::fs::read_to_string(&told).unwrap().contains("nothing was changed"));
    let said = refused("log: { file: journald, format: json }\n");
    assert!(said.contains("log.format"), "{said}");
}
