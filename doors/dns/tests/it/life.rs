//! The door over time: reload, drain, real clients.

use crate::support;

use door_dns::{Settings, StartError};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use support::{A, Bench, DEADLINE, query, read_framed, receive, send_framed};
use transport::udp::listen_udp;
use vocab::{Listen, Scheme};

fn listen(entry: &str) -> settings::Text<Listen> {
    entry.parse::<Listen>().unwrap().into()
}

#[test]
fn a_reload_keeps_listeners_that_stay_and_loses_no_question() {
    let bench = Bench::start(|settings| settings.local = vec!["a.test A 192.0.2.1".into()]);
    let before = bench.door.listeners();
    let client = bench.client();
    let asking = std::thread::spawn(move || {
        let mut addresses = Vec::new();
        for id in 0..2000 {
            client.send(&query(id, "a.test", A)).unwrap();
            addresses.push(receive(&client).address().to_string());
        }
        addresses
    });
    let mut settings = bench.settings.clone();
    for round in 0..20 {
        settings.local = vec![format!("a.test A 192.0.2.{}", 2 - round % 2)];
        bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
    }
    let answered = asking.join().unwrap();
    assert_eq!(answered.len(), 2000);
    assert!(answered.iter().all(|address| address == "192.0.2.1" || address == "192.0.2.2"));
    assert_eq!(bench.door.listeners(), before);
}

#[test]
fn a_policy_that_was_replaced_is_not_kept_by_workers_that_wait() {
    let bench = Bench::start(|_| {});
    bench.ask("ads.blocked.test", A);
    let before = Arc::downgrade(&bench.policy.load_full());
    bench.policy.store(Arc::new(support::policy("")));
    let deadline = Instant::now() + DEADLINE;
    while before.strong_count() > 0 {
        assert!(Instant::now() < deadline, "a worker holds on to it though nobody asks");
        std::thread::yield_now();
    }
}

#[test]
fn a_listener_that_is_gone_from_the_settings_is_closed() {
    let bench = Bench::start(|_| {});
    let (udp, tcp) = (bench.address(Scheme::Udp), bench.address(Scheme::Tcp));
    let settings =
        Settings { listen: vec![bench.settings.listen[1].clone()], ..bench.settings.clone() };
    bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
    assert!(listen_udp(udp, 1).is_ok());
    assert_eq!(bench.door.listeners().len(), 1);
    assert_eq!(bench.address(Scheme::Tcp), tcp);
}

#[test]
fn a_reload_that_cannot_listen_changes_nothing() {
    let bench = Bench::start(|settings| settings.local = vec!["a.test A 192.0.2.1".into()]);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut settings = bench.settings.clone();
    settings.local = vec!["a.test A 192.0.2.2".into()];
    settings.listen.push(listen("tcp://127.0.0.1:0"));
    settings.listen[2].0.address.set_ip([127, 0, 0, 2].into());
    settings.listen.push(listen(&format!("udp://{}", taken.local_addr().unwrap())));
    let refused = bench.door.reload(&settings, &[], &bench.cores, &[]);
    assert!(matches!(refused, Err(StartError::Bind(_))), "{refused:?}");
    assert_eq!(bench.door.listeners().len(), 2);
    assert_eq!(bench.ask("a.test", A).address().to_string(), "192.0.2.1");
}

#[test]
fn draining_answers_what_was_asked_and_then_ends() {
    let bench = Bench::start(|_| {});
    let mut stream = bench.connect();
    send_framed(&mut stream, &query(1, "held.test", A));
    let client = bench.client();
    client.send(&query(2, "held-too.test", A)).unwrap();
    for name in ["held.test", "held-too.test"] {
        while bench.upstream.asked(name) == 0 {
            std::thread::yield_now();
        }
    }
    bench.drain.start();
    bench.upstream.release(2);
    assert_eq!(read_framed(&mut stream).unwrap().id(), 1);
    assert_eq!(receive(&client).id(), 2);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert_eq!(runtime.block_on(bench.drain.finished(DEADLINE)), Ok(()));
}

#[test]
fn settings_that_cannot_be_met_say_what_to_write_instead() {
    let wrong = Settings {
        listen: ["tls://127.0.0.1:853", "udp://127.0.0.1:53", "udp://127.0.0.1:53"]
            .map(listen)
            .into(),
        local: vec!["no record".into()],
        ..Settings::default()
    };
    let complaints = wrong.check();
    let paths: Vec<_> = complaints.iter().map(|complaint| complaint.path.as_str()).collect();
    assert_eq!(paths, ["listen.2", "local.0"]);
    assert!(complaints.iter().all(|complaint| complaint.remedy.is_some()));
}

#[test]
fn dig_and_kdig_read_our_answers() {
    let bench = Bench::start(|settings| settings.local = vec!["a.test A 192.0.2.7".into()]);
    let (udp, tcp) = (bench.address(Scheme::Udp), bench.address(Scheme::Tcp));
    let run = |program: &str, port: u16, words: &str| {
        let output = Command::new(program)
            .args(["@127.0.0.1", "-p", &port.to_string()])
            .args(words.split(' '))
            .output()
            .unwrap_or_else(|why| panic!("{program} is needed (dnsutils, knot-dnsutils): {why}"));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("dig", udp.port(), "+short a.test A"), "192.0.2.7\n");
    assert_eq!(run("dig", tcp.port(), "+tcp +short www.test A"), "192.0.2.1\n");
    let blocked = run("dig", udp.port(), "ads.blocked.test A");
    assert!(
        blocked.contains("status: NOERROR") && blocked.contains("EDE: 15 (Blocked)"),
        "{blocked}"
    );
    assert!(blocked.contains("SOA") && !blocked.contains("WARNING"), "{blocked}");
    let kdig = run("kdig", tcp.port(), "+tcp +keepopen a.test A www.test A");
    assert!(kdig.contains("192.0.2.7") && kdig.contains("192.0.2.1"), "{kdig}");
}
