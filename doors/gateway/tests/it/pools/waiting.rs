//! Who waits: places, classes, deadlines, clients that go, second servers.

use super::{pool_of, span, until};
use crate::support::{DEADLINE, Gateway, Origin, Reply, ask, get, ok, parts, read_message, start};
use door_gateway::{PoolSettings, RetryCause, RetryOn, RouteSettings, Settings};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

/// A server that answers one request for each time it is told to.
fn told() -> (Origin, Sender<()>) {
    let (tell, told) = channel();
    let told = Mutex::new(told);
    let origin = Origin::start(move |_, _, _| {
        told.lock().unwrap().recv_timeout(DEADLINE).unwrap();
        ok("x")
    });
    (origin, tell)
}

fn one_place(origin: &Origin, change: impl FnOnce(&mut PoolSettings)) -> Settings {
    pool_of(&[origin.address], |pool| {
        pool.max_requests = 1;
        change(pool);
    })
}

fn send(gateway: &Gateway, path: &str, fields: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn waiting(gateway: &Gateway) -> [usize; 3] {
    gateway.door.pools()[0].waiting
}

#[test]
fn who_is_urgent_is_served_first_and_who_goes_leaves_the_line() {
    let (server, tell) = told();
    let mut settings = one_place(&server, |pool| {
        pool.queue.high = vec!["cookie:vip=1".into()];
        pool.queue.low = vec!["header:x-batch".into()];
    });
    let low = RouteSettings {
        path: "/batch/*".into(),
        pool: Some("app".into()),
        priority: door_gateway::RequestPriority::Low,
        ..Default::default()
    };
    settings.routes.insert(0, low);
    let gateway = start(settings, parts(""));
    let mut streams = vec![send(&gateway, "/first", "")];
    until("the first is served", || server.seen().len() == 1);
    for (path, fields, waits) in [
        ("/batch/1", "", [0, 0, 1]),
        ("/low", "X-Batch: 1\r\n", [0, 0, 2]),
        ("/normal", "", [0, 1, 2]),
        ("/goes", "Cookie: vip=1\r\n", [1, 1, 2]),
        ("/high", "Cookie: a=b; vip=1\r\n", [2, 1, 2]),
    ] {
        streams.push(send(&gateway, path, fields));
        until("it waits", || waiting(&gateway) == waits);
    }
    drop(streams.remove(4));
    until("who went left the line", || waiting(&gateway) == [1, 1, 2]);
    for _ in 0..5 {
        tell.send(()).unwrap();
    }
    for stream in &mut streams {
        assert!(read_message(stream).unwrap().starts_with("HTTP/1.1 200"));
    }
    let seen = server.seen();
    let paths: Vec<_> = seen.iter().map(|it| it.split(' ').nth(1).unwrap()).collect();
    assert_eq!(paths, ["/first", "/high", "/normal", "/batch/1", "/low"]);
    assert_eq!(gateway.door.pools()[0].servers[0].pending, 0);
}

#[test]
fn servers_are_told_of_those_that_wait_where_the_pool_says_so() {
    for is_told in [true, false] {
        let (server, tell) = told();
        let settings = one_place(&server, |pool| {
            pool.queue.high = vec!["cookie:vip=1".into()];
            pool.queue.fields = is_told;
        });
        let gateway = start(settings, parts(""));
        let mut streams = vec![send(&gateway, "/first", "X-Queue-Count: 99\r\n")];
        until("the first is served", || server.seen().len() == 1);
        for (fields, waits) in
            [("", [0, 1, 0]), ("Cookie: vip=1\r\n", [1, 1, 0]), ("Cookie: vip=1\r\n", [2, 1, 0])]
        {
            streams.push(send(&gateway, "/", fields));
            until("it waits", || waiting(&gateway) == waits);
        }
        for _ in 0..4 {
            tell.send(()).unwrap();
        }
        for stream in &mut streams {
            assert!(read_message(stream).unwrap().starts_with("HTTP/1.1 200"));
        }
        let seen = server.seen();
        let numbers = |name: &str| -> Vec<Option<u64>> {
            let of = |head: &String| {
                let head = head.to_ascii_lowercase();
                let value = head.lines().find_map(|it| it.strip_prefix(name).map(str::to_owned));
                value.map(|it| it.trim().parse().unwrap())
            };
            seen.iter().map(of).collect()
        };
        if is_told {
            assert_eq!(numbers("x-queue-count:"), [0, 1, 1, 0].map(Some));
            assert_eq!(numbers("x-hp-queue-count:"), [0, 1, 0, 0].map(Some));
            assert!(numbers("x-queue-age:").iter().all(Option::is_some));
            assert!(numbers("x-hp-queue-age:").iter().all(Option::is_some));
        } else {
            assert_eq!(numbers("x-queue-count:"), [Some(99), None, None, None]);
            assert_eq!(numbers("x-hp-queue-count:"), [None; 4]);
        }
    }
}

#[test]
fn a_full_line_and_a_deadline_are_503_with_a_time() {
    let (server, tell) = told();
    let settings = one_place(&server, |pool| {
        pool.queue.length = 1;
        pool.queue.deadline = span("300ms");
    });
    let gateway = start(settings, parts(""));
    let mut first = send(&gateway, "/first", "");
    until("the first is served", || server.seen().len() == 1);
    let mut second = send(&gateway, "/second", "");
    until("the second waits", || waiting(&gateway) == [0, 1, 0]);
    for answer in [get(&gateway, "/third"), read_message(&mut second).unwrap()] {
        let answer = answer.to_ascii_lowercase();
        assert!(
            answer.starts_with("http/1.1 503") && answer.contains("retry-after: 1"),
            "{answer}"
        );
    }
    tell.send(()).unwrap();
    assert!(read_message(&mut first).unwrap().starts_with("HTTP/1.1 200"));
    assert_eq!(gateway.door.pools()[0].rejected, 2);
}

#[test]
fn each_class_waits_as_long_as_it_may() {
    let (server, tell) = told();
    let settings = one_place(&server, |pool| {
        pool.queue.high = vec!["header:x-high".into()];
        pool.queue.low = vec!["header:x-low".into()];
        pool.queue.deadline_high = Some(span("100ms"));
        pool.queue.deadline_low = Some(span("50ms"));
    });
    let gateway = start(settings, parts(""));
    let mut answers = vec![send(&gateway, "/first", "")];
    until("the first is served", || server.seen().len() == 1);
    answers.push(send(&gateway, "/normal", ""));
    until("the second waits", || waiting(&gateway) == [0, 1, 0]);
    for class in ["X-High: 1\r\n", "X-Low: 1\r\n"] {
        let answer = read_message(&mut send(&gateway, "/", class)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{class}: {answer}");
    }
    let state = &gateway.door.pools()[0];
    assert_eq!((state.waiting, state.queued, state.rejected), ([0, 1, 0], 3, 2));
    for stream in &mut answers {
        tell.send(()).unwrap();
        assert!(read_message(stream).unwrap().starts_with("HTTP/1.1 200"));
    }
}

#[test]
fn silence_and_what_is_no_http_go_to_another_server_where_the_pool_says_so() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let garbage = Origin::start(|_, _, _| Reply::Close("220 smtp.example ready\r\n\r\n".into()));
    let good = Origin::start(|_, _, _| ok("good"));
    let addresses = [silent.local_addr().unwrap(), garbage.address, good.address];
    let before = |on: &[RetryCause]| {
        let settings = pool_of(&addresses, |pool| {
            pool.retry.on = on.iter().map(|cause| RetryOn::Cause(*cause)).collect();
            pool.timeouts.first_byte = Some(span("100ms"));
            pool.passive.failures = 0;
            pool.passive.percent = 0;
        });
        start(settings, parts(""))
    };
    let answers = |gateway: &Gateway| {
        let one = |_| get(gateway, "/").split(' ').nth(1).unwrap().to_owned();
        let mut all: Vec<_> = (0..3).map(one).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(answers(&before(&[RetryCause::Timeout, RetryCause::Garbage])), ["200"; 3]);
    assert_eq!(answers(&before(&[RetryCause::Closed])), ["200", "502", "504"]);
}

#[test]
fn what_may_be_repeated_goes_to_another_server() {
    let closing = Origin::start(|_, _, _| Reply::Close(String::new()));
    let busy = Origin::start(|_, _, _| {
        Reply::Keep("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy".into())
    });
    let good = Origin::start(|_, _, _| ok("good"));
    let addresses = [closing.address, busy.address, good.address];
    let settings = pool_of(&addresses, |pool| {
        pool.retry.on = vec![RetryOn::Cause(RetryCause::Closed), RetryOn::Status(503)];
        pool.passive.failures = 0;
        pool.passive.percent = 0;
    });
    let gateway = start(settings, parts(""));
    for _ in 0..6 {
        assert!(get(&gateway, "/").ends_with("good"));
    }
    assert_eq!(good.seen().len(), 6);
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    let mut answers: Vec<_> =
        (0..3).map(|_| ask(gateway.address, post).split(' ').nth(1).unwrap().to_owned()).collect();
    answers.sort_unstable();
    assert_eq!(answers, ["200", "502", "503"], "a post goes where it goes");
}

#[test]
fn the_budget_ends_retries() {
    let closing = [(); 2].map(|()| Origin::start(|_, _, _| Reply::Close(String::new())));
    let settings = pool_of(&closing.each_ref().map(|it| it.address), |pool| {
        pool.retry.budget = 0;
        pool.retry.budget_minimum = 0;
        pool.passive.failures = 0;
        pool.passive.percent = 0;
    });
    let gateway = start(settings, parts(""));
    for _ in 0..4 {
        assert!(get(&gateway, "/").starts_with("HTTP/1.1 502"));
    }
    assert_eq!(closing.each_ref().map(|it| it.seen().len()), [2, 2]);
}

#[test]
fn a_second_server_is_asked_if_the_first_takes_too_long() {
    let (slow, tell) = told();
    let quick = Origin::start(|_, _, _| ok("quick"));
    let settings = pool_of(&[slow.address, quick.address], |pool| {
        pool.retry.hedge = Some(span("50ms"));
    });
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/").ends_with("quick"));
    assert_eq!(gateway.door.pools()[0].retries, 1);
    until("the slow one has read its request", || slow.seen().len() == 1);
    until("the slow one is let go", || gateway.door.pools()[0].servers[0].pending == 0);
    drop(tell);
}

#[test]
fn a_client_that_goes_takes_its_request_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = pool_of(&[listener.local_addr().unwrap()], |_| {});
    let gateway = start(settings, parts(""));
    let client = send(&gateway, "/", "");
    let (mut server, _) = listener.accept().unwrap();
    assert!(read_message(&mut server).is_some());
    drop(client);
    let mut rest = Vec::new();
    assert_eq!(server.read_to_end(&mut rest).unwrap(), 0, "the connection is closed");
    until("its place is free", || gateway.door.pools()[0].servers[0].pending == 0);
}
