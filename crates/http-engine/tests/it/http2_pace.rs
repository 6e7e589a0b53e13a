//! HTTP/2 streams that stall or drip while others live: each is cut by itself, frame by frame.

use crate::http2_abuse::{
    DATA, END_HEADERS, END_STREAM, GET, HEADERS, Peer, Pings, RST_STREAM, WINDOW_UPDATE, frame,
    peer,
};
use crate::support::run_in_simulated_time;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, WriteHalf, duplex, split};
use tokio::time::{Instant, sleep};

/// `POST http://a/`, whose body follows.
const POST: &[u8] = &[0x83, 0x84, 0x86, 0x41, 1, b'a'];
/// Every window as wide as it can be: nothing of an answer waits.
const OPEN: &[u8] = &[0, 4, 0x7f, 0xff, 0xff, 0xff];
const CANCEL: u32 = 8;

/// The writing half by itself, so that frames can be read meanwhile.
fn take_writer(peer: &mut Peer) -> WriteHalf<tokio::io::DuplexStream> {
    let (replaced, _) = duplex(1);
    std::mem::replace(&mut peer.to, split(replaced).1)
}

/// Sends `bytes` of body each second on stream 1, while stream after stream asks for a page; what
/// became of both, by the frames that came.
async fn upload(bytes: usize, seconds: u32) -> (Option<u64>, usize) {
    let mut peer = peer(OPEN, 0).await;
    peer.to.write_all(&frame(HEADERS, END_HEADERS, 1, POST)).await.unwrap();
    let mut to = take_writer(&mut peer);
    let sending = tokio::task::spawn_local(async move {
        for second in 0..seconds {
            let pages = frame(HEADERS, END_HEADERS | END_STREAM, 3 + 2 * second, GET);
            let piece = frame(DATA, 0, 1, &vec![b'x'; bytes]);
            if to.write_all(&[pages, piece].concat()).await.is_err() {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
        drop(to.write_all(&frame(DATA, END_STREAM, 1, &[])).await);
        drop(to.shutdown().await);
    });
    let (start, mut cut, mut pages) = (Instant::now(), None, 0);
    loop {
        let mut head = [0; 9];
        if peer.from.read_exact(&mut head).await.is_err() {
            break;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        peer.from.read_exact(&mut payload).await.unwrap();
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        match (head[3], stream) {
            (RST_STREAM, 1) => {
                assert_eq!(payload[..], CANCEL.to_be_bytes());
                cut = Some(start.elapsed().as_secs());
            }
            (RST_STREAM, other) => panic!("stream {other} is not at fault"),
            (HEADERS, 3..) => pages += 1,
            (HEADERS, _) => assert_eq!(cut, None, "an answer after the cut"),
            _ => {}
        }
    }
    sending.await.unwrap();
    (cut, pages)
}

#[test]
fn an_upload_that_stalls_is_cut_and_other_streams_are_served() {
    run_in_simulated_time(async {
        let (cut, pages) = upload(0, 24).await;
        assert!(cut.is_some_and(|cut| (19..=31).contains(&cut)), "{cut:?}");
        assert_eq!(pages, 24);
    });
}

#[test]
fn an_upload_may_take_long_but_not_drip() {
    run_in_simulated_time(async {
        let (cut, pages) = upload(100, 29).await;
        assert!(cut.is_some_and(|cut| (20..=30).contains(&cut)), "{cut:?}");
        assert_eq!(pages, 29);
        // As slow as is allowed, for longer than any grace: it is heard out.
        assert_eq!(upload(600, 300).await, (None, 300));
    });
}

#[test]
fn a_window_kept_shut_stalls_its_own_stream_only() {
    run_in_simulated_time(async {
        // No window for any stream; stream 1 never gets one, the others do at once.
        let mut peer = peer(&[0, 4, 0, 0, 0, 0], 1000).await;
        peer.to.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET)).await.unwrap();
        let mut to = take_writer(&mut peer);
        let asking = tokio::task::spawn_local(async move {
            for stream in (3..3 + 2 * 60).step_by(2) {
                let ask = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
                let room = frame(WINDOW_UPDATE, 0, stream, &1000_u32.to_be_bytes());
                if to.write_all(&[ask, room].concat()).await.is_err() {
                    return;
                }
                sleep(Duration::from_secs(1)).await;
            }
            drop(to.shutdown().await);
        });
        let frames = peer.frames(Pings::Ignored).await;
        asking.await.unwrap();
        let of = |kind: u8, stream: u32| {
            frames.iter().filter(|it| it.0 == kind && it.1 == stream).map(|it| it.2.len()).sum()
        };
        assert_eq!((of(DATA, 1), of(RST_STREAM, 1)), (0_usize, 4_usize));
        for stream in (3..3 + 2 * 60).step_by(2) {
            assert_eq!((of(DATA, stream), of(RST_STREAM, stream)), (1000, 0), "{stream}");
        }
    });
}

#[test]
fn a_connection_without_requests_is_closed_though_pings_are_answered() {
    run_in_simulated_time(async {
        let mut peer = peer(OPEN, 0).await;
        peer.to.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET)).await.unwrap();
        let start = Instant::now();
        peer.frames(Pings::Answered).await;
        assert!(matches!(peer.ended.await.unwrap(), Ok(())));
        assert!((60..=80).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    });
}
