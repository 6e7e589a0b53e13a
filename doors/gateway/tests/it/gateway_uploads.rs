//! Request bodies that are taken as a whole before a server is asked, on real sockets.

use crate::support;

use door_gateway::{Settings, UploadMode};
use http_front::HttpDoor;
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use support::{
    DEADLINE, Origin, Reply, ask, get, numbered, ok, parts, read_message, scratch, simple, start,
};
use test_support::until;

const MEGA: usize = 1 << 20;

fn settings(server: SocketAddr, mode: UploadMode, folder: &Path) -> Settings {
    let mut settings = simple(&[server]);
    settings.uploads.mode = mode;
    settings.uploads.disk_folder = Some(folder.to_str().unwrap().into());
    settings
}

fn post(length: usize) -> String {
    format!("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// Lengths of the files without a name in `folder` that this process holds open.
fn nameless(folder: &Path) -> Vec<u64> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours = open.filter(|fd| {
        std::fs::read_link(fd.path()).is_ok_and(|path: PathBuf| {
            path.starts_with(folder) && path.to_string_lossy().ends_with(" (deleted)")
        })
    });
    ours.filter_map(|fd| std::fs::metadata(fd.path()).ok()).map(|file| file.len()).collect()
}

fn body_of(message: &str) -> &str {
    message.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn a_slow_upload_holds_a_server_only_once_it_is_whole() {
    let server = Origin::start(|_, _, _| ok("thanks"));
    let folder = scratch();
    let gateway = start(settings(server.address, UploadMode::Buffer, &folder), parts(""));
    let sent = numbered(MEGA);
    let mut client = connect(gateway.address);
    client.write_all(post(MEGA).as_bytes()).unwrap();
    let (last_piece, pieces) = {
        let mut pieces: Vec<_> = sent.as_bytes().chunks(64 << 10).collect();
        (pieces.pop().unwrap(), pieces)
    };
    for piece in pieces {
        client.write_all(piece).unwrap();
    }
    // All but the last piece is here, most of it in a file that no folder knows.
    until("a file", || nameless(&folder).iter().any(|bytes| *bytes >= 512 << 10));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "kill -9 would leave nothing");
    assert_eq!(server.connections(), 0);
    client.write_all(last_piece).unwrap();
    let answer = read_message(&mut client).unwrap();
    assert!(answer.ends_with("thanks"), "{answer}");
    let seen = server.seen().remove(0);
    assert!(seen.to_ascii_lowercase().contains(&format!("content-length: {MEGA}\r\n")));
    assert!(body_of(&seen) == sent, "the body arrived otherwise");
    until("the file's end", || nameless(&folder).is_empty());
}

#[test]
fn a_body_that_breaks_off_reaches_no_server() {
    let server = Origin::start(|_, _, _| ok("thanks"));
    let folder = scratch();
    let gateway = start(settings(server.address, UploadMode::Buffer, &folder), parts(""));
    for pieces in [1, 12] {
        let mut client = connect(gateway.address);
        client.write_all(post(MEGA).as_bytes()).unwrap();
        client.write_all(&numbered(MEGA).as_bytes()[..pieces * (64 << 10)]).unwrap();
        if pieces > 1 {
            until("a file", || !nameless(&folder).is_empty());
        }
        drop(client);
        until("the file's end", || nameless(&folder).is_empty());
    }
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let broken = ask(gateway.address, &format!("{chunked}5\r\nhello\r\nzz\r\n"));
    assert!(broken.starts_with("HTTP/1.1 400"), "{broken}");
    assert!(ask(gateway.address, &(post(2) + "hi")).ends_with("thanks"));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_chunked_body_that_was_taken_has_a_length() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[server.address]);
    settings.routes[0].uploads = Some(UploadMode::Auto);
    let gateway = start(settings, parts(""));
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n";
    assert!(ask(gateway.address, chunked).ends_with('x'));
    let seen = server.seen().remove(0).to_ascii_lowercase();
    assert!(seen.contains("content-length: 5\r\n") && seen.ends_with("\r\n\r\nabcde"), "{seen}");
    assert!(!seen.contains("transfer-encoding") && !seen.contains("x-trailer"), "{seen}");
}

#[test]
fn a_body_over_the_cap_is_refused_before_a_server_is_asked() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = settings(server.address, UploadMode::Buffer, &scratch());
    settings.body_max = settings::Text("1KiB".parse().unwrap());
    let gateway = start(settings, parts(""));
    let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = ask(gateway.address, &format!("{head}{chunk}{chunk}0\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn what_finds_no_room_is_passed_on_as_it_comes() {
    let server = Origin::start(|_, _, _| ok("x"));
    let file = scratch().join("file");
    std::fs::write(&file, "").unwrap();
    let small = |settings: &mut Settings, memory: &str, disk: &str| {
        settings.uploads.memory = settings::Text(memory.parse().unwrap());
        settings.uploads.memory_max = settings::Text(memory.parse().unwrap());
        settings.uploads.disk_max = settings::Text(disk.parse().unwrap());
    };
    for (number, (memory, disk)) in
        [("0", "0"), ("64KiB", "0"), ("64KiB", "300KiB"), ("64KiB", "1GiB")].into_iter().enumerate()
    {
        let folder = scratch();
        let mut settings = settings(server.address, UploadMode::Buffer, &folder);
        small(&mut settings, memory, disk);
        let gateway = start(settings, parts(""));
        if disk == "1GiB" {
            // There is room, and nowhere to put it.
            std::fs::remove_dir(&folder).unwrap();
        }
        let sent = numbered(MEGA);
        let mut client = connect(gateway.address);
        client.write_all(post(MEGA).as_bytes()).unwrap();
        client.write_all(&sent.as_bytes()[..MEGA - 8]).unwrap();
        until("a connection", || server.connections() > number);
        client.write_all(&sent.as_bytes()[MEGA - 8..]).unwrap();
        assert!(read_message(&mut client).unwrap().ends_with('x'));
        assert!(body_of(&server.seen()[number]) == sent, "{memory} {disk}: it arrived otherwise");
    }
}

#[test]
fn room_is_given_back() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = settings(server.address, UploadMode::Buffer, &scratch());
    settings.uploads.disk_max = settings::Text("1MiB".parse().unwrap());
    settings.uploads.memory_max = settings.uploads.memory;
    let gateway = start(settings, parts(""));
    for _ in 0..5 {
        // A length shows that it was taken as a whole.
        let size = MEGA - 8;
        let sent = numbered(size);
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let request = format!("{head}{size:x}\r\n{sent}\r\n0\r\n\r\n");
        assert!(ask(gateway.address, &request).ends_with('x'));
        let seen = server.seen().pop().unwrap();
        assert!(seen.to_ascii_lowercase().contains(&format!("content-length: {size}\r\n")));
    }
}

#[test]
fn auto_waits_for_what_is_small_or_slow_and_streams_the_rest() {
    let server = Origin::start(|_, _, _| ok("x"));
    let slow = |settings: &mut Settings| {
        settings.uploads.threshold.rate = Some(settings::Text("1GiB".parse().unwrap()));
    };
    let long = |settings: &mut Settings| {
        settings.uploads.threshold.size = Some(settings::Text("1MiB".parse().unwrap()));
    };
    let quick = |_: &mut Settings| {};
    let sent = numbered(MEGA);
    let upload = |change: &dyn Fn(&mut Settings)| {
        let folder = scratch();
        let mut settings = settings(server.address, UploadMode::Auto, &folder);
        // However slow this machine is today.
        settings.uploads.threshold.time = settings::Text("1h".parse().unwrap());
        change(&mut settings);
        let gateway = start(settings, parts(""));
        let mut client = connect(gateway.address);
        client.write_all(post(MEGA).as_bytes()).unwrap();
        client.write_all(&sent.as_bytes()[..MEGA - 8]).unwrap();
        (client, folder, gateway)
    };
    let finish = |mut client: TcpStream| {
        client.write_all(&sent.as_bytes()[MEGA - 8..]).unwrap();
        assert!(read_message(&mut client).unwrap().ends_with('x'));
    };
    for change in [&slow as &dyn Fn(&mut Settings), &long] {
        let before = server.connections();
        let (client, folder, _gateway) = upload(change);
        until("a file", || !nameless(&folder).is_empty());
        assert_eq!(server.connections(), before);
        finish(client);
        assert!(body_of(server.seen().last().unwrap()) == sent);
    }
    let before = server.connections();
    let (client, _, _gateway) = upload(&quick);
    until("a connection", || server.connections() > before);
    finish(client);
    assert!(body_of(server.seen().last().unwrap()) == sent);
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on_and_the_server_is_not_asked() {
    let server = Origin::start(|_, _, _| ok("thanks"));
    let gateway = start(settings(server.address, UploadMode::Buffer, &scratch()), parts(""));
    let mut client = connect(gateway.address);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    let mut told = [0; 25];
    client.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(server.connections(), 0);
    client.write_all(b"hi").unwrap();
    assert!(read_message(&mut client).unwrap().ends_with("thanks"));
    assert!(!server.seen()[0].to_ascii_lowercase().contains("expect"));
    // Nobody is told to send what is refused.
    let large = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\
                 Expect: 100-continue\r\n\r\n";
    assert!(ask(gateway.address, large).starts_with("HTTP/1.1 413"));
}

#[test]
fn who_talks_while_listening_is_not_made_to_wait() {
    let server = Origin::start(|_, _, _| Reply::Keep(String::new()));
    let gateway = start(settings(server.address, UploadMode::Buffer, &scratch()), parts(""));
    for (number, field) in
        ["Content-Type: application/grpc+proto", "Trailer: Grpc-Status"].into_iter().enumerate()
    {
        let mut client = connect(gateway.address);
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{field}\r\nContent-Length: 9\r\n\r\nh");
        client.write_all(head.as_bytes()).unwrap();
        until("a connection", || server.connections() > number);
    }
}

/// Begins an upload from `client`, and gives its connection and the first byte of an answer, if one
/// comes before its body has.
fn begin_upload(client: Ipv4Addr, gateway: SocketAddr) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(client, 0)).unwrap();
    rustix::net::connect(&socket, &gateway).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(format!("{}half", post(8)).as_bytes()).unwrap();
    stream
}

#[test]
fn half_sent_requests_are_bounded_in_sum_and_shared_fairly() {
    const GREEDY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
    let server = Origin::start(|_, _, _| ok("thanks"));
    let mut settings = simple(&[server.address]);
    // A fifth of them may be within a body; of these, half are one client's.
    settings.connections = 400;
    let gateway = start(settings, parts(""));
    let counts = || gateway.door.unfinished_requests().unwrap();
    let mut held: Vec<_> = (0..40).map(|_| begin_upload(GREEDY, gateway.address)).collect();
    until("all that it may have", || counts().open == 40);
    for _ in 0..10 {
        let refused = read_message(&mut begin_upload(GREEDY, gateway.address)).unwrap();
        assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("connection: close"));
        assert!(refused.contains("retry-after: "), "{refused}");
    }
    assert_eq!((counts().open, counts().refused), (40, 10));
    until("the server has heard of those", || server.connections() >= 40);
    assert_eq!(server.connections(), 40, "and of no other");

    // Who sends no body, or is somebody else, does not notice.
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 200 "));
    for mut upload in (0..20).map(|_| begin_upload(OTHER, gateway.address)) {
        upload.write_all(b"done").unwrap();
        assert!(read_message(&mut upload).unwrap().starts_with("HTTP/1.1 200 "));
    }
    for upload in &mut held {
        upload.write_all(b"done").unwrap();
        assert!(read_message(upload).unwrap().starts_with("HTTP/1.1 200 "));
    }
    until("their places are given up", || counts().open == 0);
}

#[test]
fn the_progress_of_an_upload_is_told_to_whoever_knows_its_name() {
    let server = Origin::start(|_, _, _| ok("thanks"));
    let folder = scratch();
    let mut settings = settings(server.address, UploadMode::Buffer, &folder);
    settings.routes[0].upload_status = true;
    let gateway = start(settings, parts(""));
    let status = |name: &str| {
        let path = format!("/__upload_status?client_up_sess={name}");
        body_of(&get(&gateway, &path)).to_owned()
    };
    let name = "a_secret_1234";
    assert_eq!(status(name), "{}");
    let mut client = connect(gateway.address);
    let head = post(MEGA).replace("/up ", &format!("/up?x=1&client_up_sess={name} "));
    client.write_all(head.as_bytes()).unwrap();
    let sent = numbered(MEGA);
    client.write_all(&sent.as_bytes()[..MEGA / 2]).unwrap();
    let half = format!("{{\"done\":{},\"total\":{MEGA},\"starttime\":", MEGA / 2);
    until("half of it", || status(name).starts_with(&half));
    assert_eq!(status("a_secret_1235"), "{}");
    assert_eq!(status(""), "{}");
    client.write_all(&sent.as_bytes()[MEGA / 2..]).unwrap();
    assert!(read_message(&mut client).unwrap().ends_with("thanks"));
    assert!(status(name).starts_with(&format!("{{\"done\":{MEGA},\"total\":{MEGA},")));
    assert_eq!(server.seen().len(), 1, "no server is asked about progress");
}

#[test]
fn without_the_setting_a_server_is_asked_for_the_status() {
    let server = Origin::start(|_, _, _| ok("of the server"));
    let folder = scratch();
    let gateway = start(settings(server.address, UploadMode::Stream, &folder), parts(""));
    let answer = get(&gateway, "/__upload_status?client_up_sess=abcdef");
    assert!(answer.ends_with("of the server"), "{answer}");
}
