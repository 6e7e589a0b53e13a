//! Parent proxies: which is asked, with what, and what becomes of those that fail.

use crate::support::{
    Given, Origin, Reply, ask, certificate, curl, get, ok, proxy, secure_proxy, serve_one, start,
};
use door_proxy::{AuthSettings, ParentSettings, ParentsOf};
use settings::Text;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

fn one(parent: impl std::fmt::Display) -> ParentSettings {
    ParentSettings::One(Text(parent.to_string().parse().unwrap()))
}

fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn urls_and_tunnels_go_through_a_parent_that_knows_us() {
    let origin = Origin::start(|_, _, _| ok("far"));
    let parent = proxy("", |settings| {
        settings.auth = Some(AuthSettings {
            users: [("child".into(), bcrypt::hash("p@ss", 4).unwrap())].into(),
            ..AuthSettings::default()
        });
    });
    let url = format!("http://{}/a?b", origin.address);
    for (password, served) in [("p%40ss", true), ("wrong", false)] {
        let parent = format!("http://child:{password}@{parent}");
        let child = proxy("", |settings| settings.parent = Some(one(&parent)));
        let plain = get(child, &url);
        assert_eq!(plain.ends_with("far"), served, "{plain}");
        assert_eq!(plain.starts_with("HTTP/1.1 502"), !served, "{plain}");
        let tunnelled = curl(&["--proxytunnel", "-x", &format!("http://{child}"), &url]);
        assert_eq!(tunnelled == "far", served, "{tunnelled}");
    }
    let seen = origin.seen()[0].to_ascii_lowercase();
    assert!(seen.contains("via: 1.1 tidegate\r\nvia: 1.1 tidegate"), "{seen}");
    assert!(!seen.contains("proxy-authorization"), "{seen}");
}

#[test]
fn a_parent_may_be_spoken_to_over_tls() {
    let origin = Origin::start(|_, _, _| ok("far"));
    let (chain, key, pem) = certificate();
    let parent = secure_proxy((chain, key), "", |_| {});
    let given = Given { trusts: Some(&pem), ..Given::default() };
    let child = start(&given, |settings| settings.parent = Some(one(format!("https://{parent}"))));
    let url = format!("http://{}/", origin.address);
    assert!(get(child, &url).ends_with("far"));
    assert_eq!(curl(&["--proxytunnel", "-x", &format!("http://{child}"), &url]), "far");
}

/// Carries bytes both ways until the server has ended.
fn carry(mut client: TcpStream, mut server: TcpStream) {
    let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut up, &mut down).ok());
    let _ = std::io::copy(&mut server, &mut client);
}

/// A SOCKS5 proxy for one connection, which takes every name for 127.0.0.1 and tells the name.
fn socks() -> (SocketAddr, std::sync::mpsc::Receiver<String>) {
    let (tell, told) = std::sync::mpsc::channel();
    let address = serve_one(move |mut client| {
        let mut greeting = [0; 3];
        client.read_exact(&mut greeting).unwrap();
        client.write_all(&[5, 0]).unwrap();
        let mut head = [0; 5];
        client.read_exact(&mut head).unwrap();
        assert_eq!(head[..4], [5, 1, 0, 3], "a name is asked for as a name");
        let mut rest = vec![0; usize::from(head[4]) + 2];
        client.read_exact(&mut rest).unwrap();
        let (name, port) = rest.split_at(rest.len() - 2);
        tell.send(String::from_utf8_lossy(name).into_owned()).unwrap();
        let port = u16::from_be_bytes([port[0], port[1]]);
        let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        carry(client, server);
    });
    (address, told)
}

#[test]
fn names_behind_socks_are_the_parents_to_look_up() {
    let origin = Origin::start(|_, _, _| ok("onion"));
    let port = origin.address.port();
    for flags in [["-x"].as_slice(), ["--proxytunnel", "-x"].as_slice()] {
        let (socks, told) = socks();
        let child = proxy("", |settings| {
            settings.parent = Some(one(format!("http://{}", nobody())));
            settings.parents = vec![ParentsOf {
                domains: vec![Text("onion".parse().unwrap())],
                parent: one(format!("socks5://{socks}")),
            }];
        });
        let (child, url) = (format!("http://{child}"), format!("http://hidden.onion:{port}/"));
        let mut arguments = flags.to_vec();
        arguments.extend([child.as_str(), url.as_str()]);
        assert_eq!(curl(&arguments), "onion");
        assert_eq!(told.recv().unwrap(), "hidden.onion");
    }
}

/// A proxy of `SOCKS4a` for one connection: it takes every name for 127.0.0.1 and tells the name.
fn socks4a() -> (SocketAddr, std::sync::mpsc::Receiver<String>) {
    let (tell, told) = std::sync::mpsc::channel();
    let address = serve_one(move |mut client| {
        let mut head = [0; 9];
        client.read_exact(&mut head).unwrap();
        assert_eq!((head[..2].to_vec(), head[4..].to_vec()), (vec![4, 1], vec![0, 0, 0, 1, 0]));
        let mut name = Vec::new();
        let mut byte = [0];
        while client.read_exact(&mut byte).is_ok() && byte != [0] {
            name.push(byte[0]);
        }
        tell.send(String::from_utf8_lossy(&name).into_owned()).unwrap();
        let port = u16::from_be_bytes([head[2], head[3]]);
        let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&[0, 90, 0, 0, 0, 0, 0, 0]).unwrap();
        carry(client, server);
    });
    (address, told)
}

#[test]
fn names_behind_socks4a_are_the_parents_to_look_up() {
    let origin = Origin::start(|_, _, _| ok("onion"));
    let port = origin.address.port();
    for flags in [["-x"].as_slice(), ["--proxytunnel", "-x"].as_slice()] {
        let (socks, told) = socks4a();
        let child = proxy("", |settings| settings.parent = Some(one(format!("socks4a://{socks}"))));
        let (child, url) = (format!("http://{child}"), format!("http://hidden.onion:{port}/"));
        let mut arguments = flags.to_vec();
        arguments.extend([child.as_str(), url.as_str()]);
        assert_eq!(curl(&arguments), "onion");
        assert_eq!(told.recv().unwrap(), "hidden.onion");
    }
}

#[test]
fn connections_leave_from_the_address_that_is_set() {
    for source in [None, Some("127.0.0.5")] {
        let (tell, told) = std::sync::mpsc::channel();
        let origin = serve_one(move |mut client| {
            tell.send(client.peer_addr().unwrap().ip().to_string()).unwrap();
            let _ = client.read(&mut [0; 4096]).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").unwrap();
        });
        let proxy = proxy("", |settings| {
            settings.source = source.into_iter().map(|it| Text(it.parse().unwrap())).collect();
        });
        assert!(get(proxy, &format!("http://{origin}/")).ends_with('x'));
        assert_eq!(told.recv().unwrap(), source.unwrap_or("127.0.0.1"));
    }
}

#[test]
fn addresses_of_a_family_that_is_not_connected_to_are_none() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let proxy = proxy("", |settings| settings.family = origins::FamilyChoice::Ipv6);
    let answer = get(proxy, &format!("http://{}/", origin.address));
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert_eq!(origin.connections(), 0);
}

#[test]
fn the_next_parent_serves_where_one_is_gone_and_some_hosts_need_none() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let good = proxy("", |_| {});
    let several = [format!("http://{}", nobody()), format!("http://{good}")];
    let several = several.map(|it| Text(it.parse().unwrap())).to_vec();
    let child = proxy("", |settings| {
        settings.parent = Some(ParentSettings::Several(several));
        settings.parents = vec![ParentsOf {
            domains: vec![Text("localhost".parse().unwrap())],
            parent: one("direct"),
        }];
    });
    let hops = |seen: &str| seen.matches("via:").count();
    let post = format!(
        "POST http://{}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        origin.address
    );
    for _ in 0..3 {
        assert!(ask(child, &post).ends_with('x'));
    }
    assert!(get(child, &format!("http://localhost:{}/", origin.address.port())).ends_with('x'));
    let seen = origin.seen();
    let hops: Vec<_> = seen.iter().map(|seen| hops(&seen.to_ascii_lowercase())).collect();
    assert_eq!(hops, [2, 2, 2, 1], "{seen:?}");
}

#[test]
fn what_a_parent_says_is_final_and_what_it_may_not_be_asked_is_not() {
    let refusing = proxy("||ads.example^\n", |_| {});
    let several = [format!("http://{refusing}"), "direct".to_owned()];
    let several = several.map(|it| Text(it.parse().unwrap())).to_vec();
    let child = proxy("", |settings| settings.parent = Some(ParentSettings::Several(several)));
    let answer = ask(child, "CONNECT ads.example:443 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("403"), "{answer}");
    assert!(get(child, "http://ads.example/").contains("||ads.example^"));
    let metadata = get(child, "http://169.254.169.254/latest/");
    assert!(metadata.contains("destination_ip_prohibited"), "{metadata}");
}

#[test]
fn two_proxies_that_are_each_others_parents_notice_it() {
    // The first one's parent is the second, which is made afterwards: it stands behind a relay.
    let relay = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = proxy("", |settings| {
        settings.parent = Some(one(format!("http://{}", relay.local_addr().unwrap())));
    });
    let second = proxy("", |settings| settings.parent = Some(one(format!("http://{first}"))));
    std::thread::spawn(move || {
        for client in relay.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(second).unwrap());
            std::thread::spawn(move || carry(client, server));
        }
    });
    let origin = Origin::start(|_, _, _| Reply::Close(String::new()));
    let answer = get(first, &format!("http://{}/", origin.address));
    assert!(answer.starts_with("HTTP/1.1 508"), "{answer}");
    let tunnel = format!("CONNECT {} HTTP/1.1\r\nHost: a\r\n\r\n", origin.address);
    let answer = ask(first, &tunnel);
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert_eq!(origin.connections(), 0);
}
