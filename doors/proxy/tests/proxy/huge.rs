//! A body of more than 2 GiB through a proxy with a cache that does not keep it: positions and
//! counts that 31 bits do not hold.

use crate::support::{DEADLINE, Given, open_ledger, read_message, start, until};
use ledger::RowFilter;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Such a block of the body begins with its own position, in eight bytes; the rest is the letter
/// `a`.
const BLOCK_BYTES: u64 = 1 << 20;
const TOTAL: u64 = (1 << 31) + 5_000;

/// An origin that makes its body of nothing.
fn start_origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                while let Some(request) = read_message(&mut stream) {
                    if answer(&mut stream, &request.to_ascii_lowercase()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn answer(stream: &mut TcpStream, request: &str) -> std::io::Result<()> {
    let range = request.lines().find_map(|line| line.strip_prefix("range: bytes="));
    let (status, first, last): (_, u64, u64) = match range.and_then(|range| range.split_once('-')) {
        Some((first, last)) => {
            let range = format!("bytes {first}-{last}/{TOTAL}");
            let status = format!("206 Partial Content\r\nContent-Range: {range}");
            (status, first.parse().unwrap(), last.parse().unwrap())
        }
        None => ("200 OK".to_owned(), 0, TOTAL - 1),
    };
    let fields = "Cache-Control: max-age=3600\r\nETag: \"huge\"";
    let length = last - first + 1;
    let head = format!("HTTP/1.1 {status}\r\n{fields}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut block = vec![b'a'; BLOCK_BYTES as usize];
    let mut at = first;
    while at <= last {
        let begin = at - at % BLOCK_BYTES;
        let end = (begin + BLOCK_BYTES).min(last + 1);
        block[..8].copy_from_slice(&begin.to_be_bytes());
        stream.write_all(&block[(at - begin) as usize..(end - begin) as usize])?;
        at = end;
    }
    Ok(())
}

/// The head of the answer, in lower case, and the connection that its body comes over.
fn ask(proxy: SocketAddr, origin: SocketAddr, fields: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!(
        "GET http://{origin}/huge HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    (String::from_utf8(head).unwrap().to_ascii_lowercase(), stream)
}

#[test]
fn a_body_of_more_than_2_gib_arrives_whole_in_part_and_in_the_log() {
    let (origin, ledger) = (start_origin(), open_ledger());
    let given = Given { ledger: Some(ledger.clone()), ..Given::default() };
    let cache = http_cache::Settings::default();
    assert!(cache.memory_object.bytes() < TOTAL);
    let proxy = start(&given, |settings| settings.cache = Some(cache));

    let (head, mut body) = ask(proxy, origin, "");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains(&format!("content-length: {TOTAL}\r\n")), "{head}");
    let mut block = vec![0; BLOCK_BYTES as usize];
    for at in (0..TOTAL).step_by(BLOCK_BYTES as usize) {
        let length = (TOTAL - at).min(BLOCK_BYTES) as usize;
        body.read_exact(&mut block[..length]).unwrap();
        assert_eq!(&block[..8], at.to_be_bytes(), "at {at}");
        assert_eq!(block[length - 1], b'a', "at {at}");
    }
    assert_eq!(body.read(&mut block).unwrap(), 0, "nothing follows");

    // Two bytes before the position 2^31, and nine from there.
    let (head, mut body) = ask(proxy, origin, "Range: bytes=2147483646-2147483656\r\n");
    assert!(head.starts_with("http/1.1 206"), "{head}");
    let range = format!("content-range: bytes 2147483646-2147483656/{TOTAL}\r\n");
    assert!(head.contains(&range), "{head}");
    let mut part = Vec::new();
    body.read_to_end(&mut part).unwrap();
    assert_eq!(part, b"aa\x00\x00\x00\x00\x80\x00\x00\x00a");

    let counted = || {
        ledger.flush();
        let rows = ledger.rows(&RowFilter::default(), 10).map(|page| page.rows).unwrap_or_default();
        rows.iter().map(|row| (row.status, u64::from(row.bytes))).collect::<Vec<_>>()
    };
    until("both are recorded", || counted().len() == 2);
    assert_eq!(counted(), [(206, 11), (200, TOTAL)]);
}
