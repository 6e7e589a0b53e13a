//! What the client takes for an answer, and what it refuses; each case in one piece, a byte at a
//! time, and cut in two at every place; to requests with a body and without one alike.

use crate::support::{DEADLINE, run};
use http::{Request, Version};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use http_engine::body::BodyError;
use http_engine::client::{
    AnswerLimits, BadBody, BadHead, ClientError, connect_http1, connect_http1_with_limits,
};
use http_engine::{Body, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::{spawn_local, yield_now};
use tokio::time::timeout;

const LIMITS: AnswerLimits = AnswerLimits::DEFAULT;

/// What a server does once it has answered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Holds,
    Closes,
}

/// Whether the connection carries another request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goes {
    On,
    Away,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// Status, body, trailers, and what becomes of the connection.
    Answer(u16, String, String, Goes),
    Head(BadHead),
    Body(BadBody),
    Closed,
}

fn answer(status: u16, body: &str, goes: Goes) -> Outcome {
    Outcome::Answer(status, body.to_owned(), String::new(), goes)
}

/// Reads a request's head, then sends `wire` in these pieces.
async fn serve(mut io: DuplexStream, pieces: Vec<Vec<u8>>, then: Then) -> Option<DuplexStream> {
    let mut head = Vec::new();
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        assert!(io.read_buf(&mut head).await.unwrap() > 0, "no request");
    }
    for piece in pieces {
        if io.write_all(&piece).await.is_err() {
            return None;
        }
        // The client's turn: one piece is one read.
        yield_now().await;
    }
    (then == Then::Holds).then_some(io)
}

/// Reads a body to its end, checking that it says so at the right time.
async fn read(mut body: Incoming) -> Result<(String, String), BodyError> {
    let (mut data, mut trailers) = (Vec::new(), Vec::new());
    let promised = body.size_hint().exact();
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(piece) => data.extend_from_slice(&piece),
            Err(frame) => {
                for (name, value) in &frame.into_trailers().unwrap() {
                    trailers.push(format!("{name}={}", value.to_str().unwrap()));
                }
            }
        }
        let due = promised.map(|all| all - data.len() as u64);
        assert_eq!(body.size_hint().exact().filter(|_| due.is_some()), due);
        assert!(due != Some(0) || body.is_end_stream(), "the end is told late");
    }
    assert!(body.is_end_stream());
    assert!(promised.is_none_or(|all| all == data.len() as u64));
    Ok((String::from_utf8(data).unwrap(), trailers.join(" ")))
}

async fn outcome(method: &str, pieces: Vec<Vec<u8>>, then: Then) -> Outcome {
    let (client, server) = duplex(256 << 10);
    let serving = spawn_local(serve(server, pieces, then));
    let mut sender = connect_http1(client);
    let request = Request::builder().method(method).uri("/p").header("host", "a.example");
    let body = if method == "POST" { Body::from("some") } else { Body::empty() };
    let sent = timeout(DEADLINE, sender.send(request.body(body).unwrap())).await;
    let response = match sent.expect("an answer in time") {
        Ok(response) => response,
        Err(failed) => {
            assert!(sender.is_closed() && failed.unsent_request.is_none());
            return match failed.error {
                ClientError::BadHead(why) => Outcome::Head(why),
                ClientError::Closed => Outcome::Closed,
                ClientError::Engine(why) => panic!("hyper was not asked: {why}"),
                ClientError::Body(why) => panic!("the body is whole: {why}"),
            };
        }
    };
    let status = response.status().as_u16();
    match timeout(DEADLINE, read(response.into_body())).await.expect("a body in time") {
        Ok((body, trailers)) => {
            // All that the server has to say has come before the connection is judged.
            let held = serving.await.unwrap();
            let goes = if sender.is_closed() { Goes::Away } else { Goes::On };
            drop(held);
            Outcome::Answer(status, body, trailers, goes)
        }
        Err(BodyError::Answer(why)) => {
            assert!(sender.is_closed());
            Outcome::Body(why)
        }
        Err(why) => panic!("not a body of an answer: {why}"),
    }
}

/// Checks a case in one piece.
fn whole(method: &str, wire: &str, then: Then, expected: &Outcome) {
    let pieces = vec![wire.as_bytes().to_vec()];
    assert_eq!(&run(outcome(method, pieces.clone(), then)), expected, "{method} {}", shown(wire));
    if method == "GET" {
        assert_eq!(&run(outcome("POST", pieces, then)), expected, "POST {}", shown(wire));
    }
}

/// Checks a case however it is cut.
fn check_with(method: &str, wire: &str, then: Then, expected: &Outcome) {
    whole(method, wire, then, expected);
    let bytes = wire.as_bytes();
    let single: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
    run(async {
        let found = outcome(method, single, then).await;
        assert_eq!(&found, expected, "{method} {} byte by byte", shown(wire));
        for at in 1..bytes.len() {
            let pieces = vec![bytes[..at].to_vec(), bytes[at..].to_vec()];
            let found = outcome(method, pieces, then).await;
            assert_eq!(&found, expected, "{method} {} cut at {at}", shown(wire));
        }
    });
}

fn shown(wire: &str) -> String {
    wire.chars().take(200).collect::<String>().escape_debug().to_string()
}

fn check(wire: &str, expected: &Outcome) {
    check_with("GET", wire, Then::Holds, expected);
}

/// A first chunk that is malformed: where it comes with the head, that is refused.
fn bad_chunk(wire: &str, why: BadBody) {
    let head = wire.find("\r\n\r\n").expect("a head") + 4;
    let is_behind_data = wire[head..].starts_with("1\r\na");
    let at_once =
        if is_behind_data { Outcome::Body(why) } else { Outcome::Head(BadHead::FirstChunk) };
    whole("GET", wire, Then::Holds, &at_once);
    let single: Vec<Vec<u8>> = wire.bytes().map(|byte| vec![byte]).collect();
    let apart = vec![wire.as_bytes()[..head].to_vec(), wire.as_bytes()[head..].to_vec()];
    for pieces in [single, apart] {
        let found = run(outcome("GET", pieces, Then::Holds));
        assert_eq!(found, Outcome::Body(why), "{}", shown(wire));
    }
}

fn refused(wire: &str, why: BadHead) {
    check(wire, &Outcome::Head(why));
}

#[test]
fn plain_answers_are_taken_and_the_connection_goes_on() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &answer(200, "hello", Goes::On));
    check("HTTP/1.1 404 Nope\r\ncontent-length:0\r\n\r\n", &answer(404, "", Goes::On));
    check("HTTP/1.1 200\r\nContent-Length: 2\r\nX: \r\n\r\nab", &answer(200, "ab", Goes::On));
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab";
    check(twice, &answer(200, "ab", Goes::On));
    // Bare line feeds end lines too (RFC 9112 §2.2).
    check("HTTP/1.1 200 OK\nContent-Length: 2\n\nab", &answer(200, "ab", Goes::On));
}

#[test]
fn who_says_close_is_closed() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nab";
    check(close, &answer(200, "ab", Goes::Away));
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\
                Connection: keep-alive\r\n\r\nab";
    check(both, &answer(200, "ab", Goes::Away));
}

#[test]
fn version_1_0_goes_on_only_if_it_says_so() {
    check("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", &answer(200, "ab", Goes::Away));
    let keep = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nab";
    check(keep, &answer(200, "ab", Goes::On));
    check(
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        &Outcome::Head(BadHead::Coding),
    );
}

#[test]
fn an_answer_without_a_length_ends_with_the_connection() {
    // So does one of which an old server says that it is in no coding.
    for version in ["1.0", "1.1"] {
        let wire = format!("HTTP/{version} 200 OK\r\nTransfer-Encoding: Identity\r\n\r\nab");
        check_with("GET", &wire, Then::Closes, &answer(200, "ab", Goes::Away));
    }
    // So does one behind words that name no coding (RFC 9112 §6.3).
    let odd = "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nTransfer-Encoding: y z\r\n\r\nab";
    check_with("GET", odd, Then::Closes, &answer(200, "ab", Goes::Away));
    refused(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nContent-Length: 2\r\n\r\nab",
        BadHead::LengthAndCoding,
    );
    let both = "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab";
    check(both, &answer(200, "ab", Goes::Away));
    let expected = answer(200, "all of it", Goes::Away);
    for head in ["HTTP/1.1 200 OK", "HTTP/1.0 200 OK\r\nConnection: keep-alive"] {
        check_with("GET", &format!("{head}\r\n\r\nall of it"), Then::Closes, &expected);
    }
    check_with("GET", "HTTP/1.1 200 OK\r\n\r\n", Then::Closes, &answer(200, "", Goes::Away));
}

#[test]
fn some_answers_have_no_body_whatever_they_say() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    check_with("HEAD", head, Then::Holds, &answer(200, "", Goes::On));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_with("HEAD", chunked, Then::Holds, &answer(200, "", Goes::On));
    check_with("HEAD", "HTTP/1.1 200 OK\r\n\r\n", Then::Holds, &answer(200, "", Goes::On));
    check("HTTP/1.1 204 No Content\r\n\r\n", &answer(204, "", Goes::On));
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", &answer(304, "", Goes::On));
}

#[test]
fn bytes_beyond_the_end_close_the_connection() {
    let split = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    check(&format!("{split}{split}"), &answer(200, "", Goes::Away));
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\r\n";
    check(length, &answer(200, "ab", Goes::Away));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nx";
    check(chunked, &answer(200, "a", Goes::Away));
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    check_with("HEAD", head, Then::Holds, &answer(200, "", Goes::Away));
    check("HTTP/1.1 304 Not Modified\r\n\r\nhello", &answer(304, "", Goes::Away));
}

#[test]
fn chunks_are_put_together() {
    let with = |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n{body}");
    check(
        &with("3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n"),
        &answer(200, "abc0123456789", Goes::On),
    );
    check(&with("0\r\n\r\n"), &answer(200, "", Goes::On));
    check(&with("2 ;a=b;c=\"d e\"\r\nab\r\n0;x\r\n\r\n"), &answer(200, "ab", Goes::On));
    let trailers = with("1\r\na\r\n0\r\nSum: 1\r\nx-b: c d \r\n\r\n");
    let expected = Outcome::Answer(200, "a".into(), "sum=1 x-b=c d".into(), Goes::On);
    check(&trailers, &expected);
}

#[test]
fn malformed_chunks_are_errors() {
    let with = |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    for body in [
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\na",
        "0x1\r\na",
        " 1\r\na",
        ";a\r\n",
        "1\na\r\n",
        "1\r\r\n",
        "1\r\nab\r\n",
        "1\r\na\n0\r\n\r\n",
        "1\r\na\rx",
        "1;a\nb\r\na\r\n",
        "1;\u{1}\r\na\r\n",
        "1 a\r\na\r\n",
        "10000000000000000\r\n",
        "00000000000000001\r\na",
    ] {
        bad_chunk(&with(body), BadBody::Chunk);
    }
    for trailers in ["0\r\n a: b\r\n\r\n", "0\r\na b\r\n\r\n", "0\r\na: b\n\nc: d\r\n\r\n"] {
        bad_chunk(&with(trailers), BadBody::Trailers);
    }
    for cut in
        ["", "5", "5\r\n", "5\r\nab", "5\r\nabcde", "5\r\nabcde\r\n", "0\r\n", "0\r\na: b\r\n"]
    {
        check_with("GET", &with(cut), Then::Closes, &Outcome::Body(BadBody::CutOff));
    }
}

#[test]
fn extensions_and_trailers_have_an_end() {
    let with =
        |body: String| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    let too_large = Outcome::Body(BadBody::TooLarge);
    let long = run(outcome(
        "GET",
        vec![with(String::new()).into(), format!("1;{}", "x".repeat(17 << 10)).into()],
        Then::Holds,
    ));
    assert_eq!(long, too_large);
    let many = format!("1;{}\r\na\r\n", "x".repeat(100)).repeat(170);
    whole("GET", &with(many), Then::Holds, &too_large);
    let field = format!("a: {}\r\n", "x".repeat(1000));
    whole("GET", &with(format!("1\r\na\r\n0\r\n{}", field.repeat(17))), Then::Holds, &too_large);
    let fields = "a: b\r\n".repeat(101);
    whole("GET", &with(format!("1\r\na\r\n0\r\n{fields}\r\n")), Then::Holds, &too_large);
}

#[test]
fn a_body_that_breaks_off_is_an_error() {
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello";
    check_with("GET", short, Then::Closes, &Outcome::Body(BadBody::CutOff));
}

#[test]
fn a_length_is_one_plain_number() {
    let with = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nhello");
    for fields in [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: ",
        "Content-Length : 5",
        "Content-Length\t: 5",
        "Content-Length:\r\n 5",
        "Content-Length: 5\r\n ",
        "Content-Length: 5\r\n 5",
        "Content-Length: 99999999999999999999999999",
    ] {
        refused(&with(fields), BadHead::Length);
    }
}

#[test]
fn a_coding_is_chunked_and_stands_alone() {
    let with = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n0\r\n\r\n");
    for fields in [
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity, gzip",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding: chunked\r\n ",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: \x0bchunked",
        "Transfer-Encoding:",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    ] {
        let expected = if fields.contains('\x0b') { BadHead::Syntax } else { BadHead::Coding };
        refused(&with(fields), expected);
    }
    refused(&with("Transfer-Encoding: chunked\r\nContent-Length: 5"), BadHead::LengthAndCoding);
    refused(&with("Content-Length: 5\r\nTransfer-Encoding: chunked"), BadHead::LengthAndCoding);
}

#[test]
fn what_is_no_head_is_refused() {
    for wire in [
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n",
    ] {
        refused(wire, BadHead::Syntax);
    }
}

#[test]
fn heads_have_an_end() {
    let fields = |count: usize| format!("HTTP/1.1 204 OK\r\n{}\r\n", "A: b\r\n".repeat(count));
    for count in [100, 101, 150, LIMITS.fields_max] {
        whole("GET", &fields(count), Then::Holds, &answer(204, "", Goes::On));
    }
    let many = Outcome::Head(BadHead::TooManyFields);
    whole("GET", &fields(LIMITS.fields_max + 1), Then::Holds, &many);
    let frame = "HTTP/1.1 204 OK\r\nA: \r\n\r\n";
    let filled =
        |bytes: usize| frame.replace("A: ", &format!("A: {}", "x".repeat(bytes - frame.len())));
    let large = Outcome::Head(BadHead::TooLarge);
    let longest = filled(LIMITS.head_bytes_max);
    whole("GET", &longest, Then::Holds, &answer(204, "", Goes::On));
    whole("GET", &filled(LIMITS.head_bytes_max + 1), Then::Holds, &large);
    let endless = &longest[..longest.len() - 4];
    whole("GET", &format!("{endless}xxxx"), Then::Holds, &large);
    let single = |wire: &str| wire.bytes().map(|byte| vec![byte]).collect();
    let expected = answer(204, "", Goes::On);
    assert_eq!(run(outcome("GET", single(&longest), Then::Holds)), expected);
    assert_eq!(run(outcome("GET", single(&format!("{endless}xxxx")), Then::Holds)), large);
}

#[test]
fn heads_have_the_end_that_is_set() {
    run(async {
        for (fields, bytes, expected) in [
            (3, 4096, None),
            (4, 4096, Some(BadHead::TooManyFields)),
            (3, 40, Some(BadHead::TooLarge)),
        ] {
            let (client, server) = duplex(4096);
            let wire = format!("HTTP/1.1 204 OK\r\n{}\r\n", "Abcd: efgh\r\n".repeat(fields));
            spawn_local(serve(server, vec![wire.into()], Then::Holds));
            let limits = AnswerLimits { head_bytes_max: bytes, fields_max: 3 };
            let request = Request::get("/").body(Body::empty()).unwrap();
            let answer = connect_http1_with_limits(limits, client).send(request).await;
            let found = answer.err().map(|failed| match failed.error {
                ClientError::BadHead(why) => why,
                other => panic!("{other}"),
            });
            assert_eq!(found, expected, "{fields} fields, {bytes} bytes");
        }
    });
}

#[test]
fn untidy_fields_are_put_right() {
    run(async {
        for (sent, expected) in [
            ("X-A : b", "b"),
            ("X-A \t : b", "b"),
            ("X-A: b\r\n c", "b c"),
            ("X-A: b \r\n\t  c\r\n \r\n d ", "b c d"),
            ("X-A:\r\n b", "b"),
            ("X-A: b\n c", "b c"),
            ("X-A:", ""),
            ("X-A:\r\n ", ""),
        ] {
            let (client, server) = duplex(1024);
            let wire = format!("HTTP/1.1 200 OK\r\n{sent}\r\nContent-Length: 2\r\n\r\nab");
            spawn_local(serve(server, vec![wire.into()], Then::Holds));
            let request = Request::get("/").body(Body::empty()).unwrap();
            let response = connect_http1(client).send(request).await.unwrap();
            assert_eq!(response.headers()["x-a"], expected, "{sent:?}");
            assert_eq!(response.headers().len(), 2, "{sent:?}");
            assert_eq!(read(response.into_body()).await.unwrap().0, "ab", "{sent:?}");
        }
    });
}

#[test]
fn interim_answers_are_passed_over_up_to_a_cap() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let two = format!("HTTP/1.1 100 Continue\r\n\r\n{hints}{ok}");
    check(&two, &answer(200, "ok", Goes::On));
    whole("GET", &format!("{}{ok}", hints.repeat(16)), Then::Holds, &answer(200, "ok", Goes::On));
    let many = Outcome::Head(BadHead::TooManyInterim);
    whole("GET", &format!("{}{ok}", hints.repeat(17)), Then::Holds, &many);
    refused("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", BadHead::Switched);
}

#[test]
fn a_connection_that_ends_before_a_head_is_closed() {
    for wire in ["H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n"] {
        check_with("GET", wire, Then::Closes, &Outcome::Closed);
    }
}

#[test]
fn version_and_reason_are_handed_on() {
    run(async {
        let (client, server) = duplex(1024);
        let wire = b"HTTP/1.0 200 Fine by me\r\nContent-Length: 0\r\n\r\n".to_vec();
        spawn_local(serve(server, vec![wire], Then::Holds));
        let request = Request::get("/").body(Body::empty()).unwrap();
        let response = connect_http1(client).send(request).await.unwrap();
        assert_eq!(response.version(), Version::HTTP_10);
        let reason = response.extensions().get::<hyper::ext::ReasonPhrase>().unwrap();
        assert_eq!(reason.as_bytes(), b"Fine by me");
    });
}
