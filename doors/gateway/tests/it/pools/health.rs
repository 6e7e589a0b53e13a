//! Servers that are asked how they are.

use super::{pool_of, span, until};
use crate::support::{Origin, Reply, closed_port, get, ok, parts, start};
use door_gateway::{BalanceMethod, HealthKind, HealthSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

fn checks() -> HealthSettings {
    HealthSettings {
        path: "/health".into(),
        interval: span("100ms"),
        timeout: span("2s"),
        unhealthy: 2,
        ..Default::default()
    }
}

#[test]
fn a_server_whose_checks_fail_gets_nothing_until_they_are_well_again() {
    let ill = Arc::new(AtomicBool::new(true));
    let is_ill = Arc::clone(&ill);
    let one = Origin::start(move |_, _, request| {
        if request.starts_with("GET /health ") && is_ill.load(SeqCst) {
            return Reply::Keep("HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n".into());
        }
        ok("one")
    });
    let two = Origin::start(|_, _, _| ok("two"));
    let settings = pool_of(&[one.address, two.address], |pool| pool.health = Some(checks()));
    let gateway = start(settings.clone(), parts(""));
    gateway.door.reload(settings).unwrap();
    let health = || gateway.door.pools()[0].servers.iter().map(|it| it.health).collect::<Vec<_>>();
    until("its checks fail", || health() == ["down", "up"]);
    for _ in 0..4 {
        assert!(get(&gateway, "/").ends_with("two"));
    }
    ill.store(false, SeqCst);
    until("its checks are well", || health() == ["up", "up"]);
    let answers: Vec<_> = (0..4).map(|_| get(&gateway, "/").ends_with("one")).collect();
    assert_eq!(answers.iter().filter(|&&one| one).count(), 2);
    let asked = one.seen();
    assert!(asked[0].to_ascii_lowercase().contains(&format!("host: {}", one.address)), "{asked:?}");
}

#[test]
fn a_server_that_takes_no_connection_is_down_before_anybody_asks_for_it() {
    let two = Origin::start(|_, _, _| ok("two"));
    let settings = pool_of(&[closed_port(), two.address], |pool| {
        pool.health = Some(HealthSettings { kind: HealthKind::Tcp, ..checks() });
    });
    let gateway = start(settings.clone(), parts(""));
    gateway.door.reload(settings.clone()).unwrap();
    let states = || gateway.door.pools()[0].servers.iter().map(|it| it.state).collect::<Vec<_>>();
    until("it is down", || states() == ["down", "up"]);
    assert_eq!(gateway.door.pools()[0].servers[0].failures, 0);
    // What is known stays known where other settings of the pool change.
    let mut other = settings;
    other.pools.get_mut("app").unwrap().balance = BalanceMethod::Random;
    gateway.door.reload(other).unwrap();
    assert_eq!(states(), ["down", "up"]);
}
