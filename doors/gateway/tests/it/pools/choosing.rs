//! Who is asked: weights, cookies, hashes, changes while it runs.

use super::{pool_of, until};
use crate::support::{Origin, ask, closed_port, get, ok, parts, start};
use door_gateway::{
    BalanceMethod, PoolChange, PoolUnchanged, ServerDetails, ServerSettings, StickySettings,
};

fn three() -> [Origin; 3] {
    ["one", "two", "three"].map(|name| Origin::start(move |_, _, _| ok(name)))
}

#[test]
fn a_heavy_server_gets_more() {
    let [one, two, _] = three();
    let settings = pool_of(&[one.address, two.address], |pool| {
        let url = pool.servers[1].url().to_owned();
        let details = ServerDetails { url, weight: 3, ..Default::default() };
        pool.servers[1] = ServerSettings::Detailed(details);
    });
    let gateway = start(settings, parts(""));
    for _ in 0..8 {
        assert!(get(&gateway, "/").starts_with("HTTP/1.1 200"));
    }
    assert_eq!((one.seen().len(), two.seen().len()), (2, 6));
}

#[test]
fn a_cookie_leads_back_to_the_same_server() {
    let servers = three();
    let settings = pool_of(&servers.each_ref().map(|it| it.address), |pool| {
        pool.sticky = Some(StickySettings { cookie: "to".into() });
    });
    let gateway = start(settings, parts(""));
    let first = get(&gateway, "/");
    let line = first.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie: to="));
    let pair = line.unwrap().split_once(": ").unwrap().1.split(';').next().unwrap();
    let name = first.rsplit("\r\n").next().unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {pair}\r\n\r\n");
    for _ in 0..5 {
        let answer = ask(gateway.address, &request);
        assert!(answer.ends_with(name) && !answer.contains("et-cookie"), "{answer}");
    }
}

#[test]
fn a_connection_that_is_idle_chooses_its_server() {
    let servers = three();
    let settings = pool_of(&servers.each_ref().map(|it| it.address), |pool| {
        pool.balance = BalanceMethod::IdleConnection;
    });
    let gateway = start(settings, parts(""));
    let first = get(&gateway, "/");
    for _ in 0..9 {
        assert_eq!(get(&gateway, "/"), first);
    }
    assert_eq!(servers.iter().map(Origin::connections).sum::<usize>(), 1);
}

#[test]
fn a_pool_that_starts_empty_serves_once_a_server_is_added() {
    let server = Origin::start(|_, _, _| ok("here"));
    let settings = pool_of(&[], |pool| pool.starts_empty = true);
    assert_eq!(settings.check(), []);
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 503"));
    let added = ServerDetails { url: format!("http://{}", server.address), ..Default::default() };
    gateway.door.change_pool("app", &PoolChange::Add(added)).unwrap();
    assert!(get(&gateway, "/").ends_with("here"));
}

#[test]
fn a_hash_leads_the_same_url_to_the_same_server() {
    let servers = three();
    let settings = pool_of(&servers.each_ref().map(|it| it.address), |pool| {
        pool.balance = BalanceMethod::ConsistentHash;
    });
    let gateway = start(settings, parts(""));
    for path in ["/a", "/b", "/c", "/d"] {
        let first = get(&gateway, path);
        assert!((0..3).all(|_| get(&gateway, path) == first), "{path}");
    }
}

#[test]
fn a_client_keeps_its_server_and_changes_it_only_if_that_goes() {
    let servers = three();
    let mut settings = pool_of(&servers.each_ref().map(|it| it.address), |pool| {
        pool.balance = BalanceMethod::ClientHash;
    });
    settings.trusted = vec![settings::Text("127.0.0.1/32".parse().unwrap())];
    let gateway = start(settings, parts(""));
    let server_of = |client: u8| {
        let request = format!(
            "GET /{client} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.{client}\r\n\r\n"
        );
        ask(gateway.address, &request).rsplit("\r\n").next().unwrap().to_owned()
    };
    let all = || (1..=60).map(server_of).collect::<Vec<_>>();
    let before = all();
    assert!(["one", "two", "three"].iter().all(|name| before.iter().any(|it| it == name)));
    assert_eq!(all(), before, "whatever they ask for");
    let gone = format!("http://{}", servers[1].address);
    gateway.door.change_pool("app", &PoolChange::Remove(gone)).unwrap();
    for (client, (after, before)) in all().into_iter().zip(before).enumerate() {
        assert_eq!(after == before, before != "two", "{client}: from {before} to {after}");
    }
}

#[test]
fn servers_come_and_go_while_it_runs_and_a_reload_of_the_same_file_keeps_that() {
    let [one, two, three] = three();
    let settings = pool_of(&[one.address, two.address], |_| {});
    let gateway = start(settings.clone(), parts(""));
    let url = |origin: &Origin| format!("http://{}", origin.address);
    let change = |change| gateway.door.change_pool("app", &change);
    let added = ServerDetails { url: url(&three), weight: 2, ..Default::default() };
    change(PoolChange::Add(added.clone())).unwrap();
    assert_eq!(change(PoolChange::Add(added)), Err(PoolUnchanged::AlreadyThere(url(&three))));
    change(PoolChange::Remove(url(&one))).unwrap();
    change(PoolChange::Drain(url(&two))).unwrap();
    gateway.door.reload(settings.clone()).unwrap();
    for _ in 0..4 {
        assert!(get(&gateway, "/").ends_with("three"));
    }
    change(PoolChange::Undrain(url(&two))).unwrap();
    change(PoolChange::SetWeight(url(&three), 1)).unwrap();
    for _ in 0..4 {
        get(&gateway, "/");
    }
    assert_eq!((one.seen().len(), two.seen().len(), three.seen().len()), (0, 2, 6));
    let state = &gateway.door.pools()[0];
    let told: Vec<_> =
        state.servers.iter().map(|it| (it.url.clone(), it.state, it.answers)).collect();
    assert_eq!(told, [(url(&two), "up", 2), (url(&three), "up", 6)]);
    assert!(matches!(change(PoolChange::Remove(url(&one))), Err(PoolUnchanged::NoServer(_))));
    assert!(matches!(change(PoolChange::SetWeight(url(&two), 0)), Err(PoolUnchanged::Wrong(_))));
    let nowhere = gateway.door.change_pool("ap", &PoolChange::Drain(url(&two)));
    assert!(matches!(nowhere, Err(PoolUnchanged::NoPool(_))));
    // Other settings of the pool: the file counts again.
    let mut other = settings;
    other.pools.get_mut("app").unwrap().balance = BalanceMethod::Random;
    gateway.door.reload(other).unwrap();
    assert_eq!(gateway.door.pools()[0].servers[0].url, url(&one));
}

#[test]
fn all_down_is_said_at_once_and_when_to_come_again() {
    let gone = closed_port();
    let gateway = start(pool_of(&[gone], |_| {}), parts(""));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 502"), "the first finds out");
    let answer = get(&gateway, "/").to_ascii_lowercase();
    assert!(
        answer.starts_with("http/1.1 503") && answer.contains("retry-after: 1\r\n"),
        "{answer}"
    );
    let back = std::net::TcpListener::bind(gone).unwrap();
    std::thread::spawn(move || {
        for stream in back.incoming() {
            let mut stream = stream.unwrap();
            crate::support::read_message(&mut stream);
            std::io::Write::write_all(&mut stream, b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        }
    });
    until("it is back after its rest", || get(&gateway, "/").starts_with("HTTP/1.1 204"));
}
