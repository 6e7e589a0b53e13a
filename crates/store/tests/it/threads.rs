//! Two threads on one store, as two cores are: whatever crosses, every client gets the right bytes.

use crate::door::{Door, Page, bytes};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Purge, PurgeStrength};

const THREADS: u64 = 2;
const CLIENTS: u64 = 40;
const REQUESTS: u64 = 60;

fn page(url: &str) -> Page {
    let number: u64 = url.rsplit('/').next().unwrap().parse().unwrap();
    let length = [10, 3000, 70_000, 400_000, 1_500_000][(number % 5) as usize];
    let control = if number.is_multiple_of(7) { "no-store" } else { "max-age=600" };
    let page = Page::ok(control, bytes(number, length)).with("etag", &format!("\"{number}\""));
    let breaks_at = (number % 11 == 3 && length > 100_000).then_some(90_000);
    Page { breaks_at, ..page }
}

#[test]
fn every_client_gets_the_right_bytes() {
    let door = Door::new(3 << 20, |url, _| page(url));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let door = Arc::clone(&door);
            scope.spawn(move || {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_time().build().unwrap();
                runtime.block_on(async {
                    let clients: Vec<_> = (0..CLIENTS)
                        .map(|client| {
                            tokio::spawn(client_of(Arc::clone(&door), thread * CLIENTS + client))
                        })
                        .collect();
                    for client in clients {
                        client.await.unwrap();
                    }
                });
            });
        }
    });
    let figures = door.store.stats();
    assert!(figures.counters.hits > 0 && figures.counters.collapsed > 0, "{figures:?}");
    assert!(figures.peak_bytes <= figures.limit_bytes, "{figures:?}");
    assert_eq!((figures.fills, figures.window_bytes), (0, 0));
    assert_eq!(figures.memory.bytes, figures.cache_bytes);
    assert!(door.requests.load(Ordering::Relaxed) < THREADS * CLIENTS * REQUESTS);
}

async fn client_of(door: Arc<Door>, client: u64) {
    let mut state = client + 1;
    for _ in 0..REQUESTS {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Low numbers are asked for more often.
        let number = ((state >> 33) % 40) * ((state >> 50) % 40) / 40;
        let url = format!("http://example.test/{number}");
        let expected = page(&url).body;
        let (how, body) = door.get(&url, &[]).await;
        assert!(body == expected, "{url} {how:?}: {} of {}", body.len(), expected.len());
        if state >> 56 == 7 {
            let what = Purge::Key(door.store.key(&url).hash());
            door.store.purge(&what, PurgeStrength::Hard, door.now()).unwrap();
        }
    }
}
