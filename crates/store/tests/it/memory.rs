//! Little memory and many slow clients.

use crate::door::{Body, Door, Page, header_map};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::CacheLookup;

const READERS: usize = 100;
/// Each body is five times all memory. (A hundred times that behaves the same, and takes minutes.)
const LENGTH: usize = 2_000_000;
const BYTES_A_SECOND: u64 = 10_000;

/// 400 KiB, a hundred clients at 10 kB/s, a hundred large bodies from an origin without limits:
/// each byte is fetched once, nobody is dropped, and the account holds.
#[tokio::test(start_paused = true)]
async fn slow_readers_of_large_bodies_get_all_of_them_within_little_memory() {
    let door = Door::new(400 << 10, |url, _| {
        Page::ok("max-age=60", vec![url.len() as u8; LENGTH]).with("etag", "\"1\"")
    });
    let clients: Vec<_> = (0..READERS)
        .map(|number| {
            let door = Arc::clone(&door);
            tokio::spawn(async move {
                let url = format!("http://example.test/{}", "x".repeat(number));
                let fields = header_map(&[]);
                let CacheLookup::Fetch(permit) = door.look_up(&url, &fields) else {
                    panic!("it is cold")
                };
                let (_, body) = door.fetch(permit, &url, &fields).await;
                let Some(Body::Comes(mut reader)) = body else { panic!("there is room for it") };
                let mut got = 0;
                while let Some(piece) = reader.next().await {
                    let piece = piece.unwrap();
                    assert!(piece.iter().all(|byte| *byte == url.len() as u8));
                    got += piece.len();
                    // The piece is held while its client's connection takes it.
                    let span =
                        Duration::from_micros(piece.len() as u64 * 1_000_000 / BYTES_A_SECOND);
                    tokio::time::sleep(span).await;
                }
                got
            })
        })
        .collect();
    for client in clients {
        assert_eq!(client.await.unwrap(), LENGTH, "nobody is dropped");
    }
    assert_eq!(door.requests(), READERS as u64);
    assert_eq!(door.body_bytes.load(Ordering::Relaxed), (READERS * LENGTH) as u64, "fetched once");
    let figures = door.store.stats();
    assert!(figures.peak_bytes <= figures.limit_bytes, "{figures:?}");
    assert_eq!((figures.fills, figures.window_bytes), (0, 0));
}

/// Where even the least windows do not fit, a further body goes past the store.
#[tokio::test(start_paused = true)]
async fn beyond_all_memory_bodies_go_past_the_store() {
    let door = Door::new(256 << 10, |_, _| Page::ok("max-age=60", vec![1; 100_000]));
    let mut held = Vec::new();
    let fields = header_map(&[]);
    for number in 0..400 {
        let url = format!("http://example.test/{number}");
        let CacheLookup::Fetch(permit) = door.look_up(&url, &fields) else { panic!("it is cold") };
        match door.fetch(permit, &url, &fields).await.1 {
            Some(Body::Comes(reader)) => held.push(reader),
            Some(Body::There(body)) => assert_eq!(body.len(), 100_000),
            None => panic!("every client gets its body"),
        }
    }
    let figures = door.store.stats();
    assert!(held.len() >= 25 && held.len() < 400, "{}", held.len());
    assert!(figures.peak_bytes <= figures.limit_bytes, "{figures:?}");
    for mut reader in held {
        let mut got = 0;
        while let Some(piece) = reader.next().await {
            got += piece.unwrap().len();
        }
        assert_eq!(got, 100_000);
    }
}

/// Pages that are asked for often stay although large bodies pass by.
#[tokio::test(start_paused = true)]
async fn what_is_hot_survives_what_passes() {
    let door = Door::new(2 << 20, |url, _| {
        let length = if url.contains("film") { 3 << 20 } else { 4000 };
        Page::ok("max-age=60", vec![7; length])
    });
    for round in 0..3 {
        for number in 0..20 {
            door.get(&format!("http://example.test/page{number}"), &[]).await;
        }
        door.get(&format!("http://example.test/film{round}"), &[]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(door.requests(), 23);
}
