//! What outlives a restart, and what must not.

use crate::door::{Door, How, Page, bytes};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use store::{DiskSettings, Purge, PurgeStrength, Settings};
use vocab::ByteSize;

const SMALL: &str = "http://example.test/small";
const LARGE: &str = "http://example.test/large";

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("tidegate-store-{}-{number}", std::process::id())))
    }

    /// A door whose store begins with what is on disk: 4 MiB of memory, 64 MiB of disk.
    fn door(&self) -> Arc<Door> {
        let size = |bytes| ByteSize(bytes).into();
        let disk = DiskSettings { path: self.0.clone(), size: size(64 << 20) };
        let settings = Settings { memory: size(4 << 20), disk: Some(disk), ..Settings::default() };
        Door::with(settings, |url, _| {
            let length = if url == LARGE { 5_000_000 } else { 5000 };
            let page = Page::ok("max-age=60", bytes(url.len() as u64, length));
            page.with("etag", "\"1\"").with("surrogate-key", "tag")
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn get(door: &Arc<Door>, url: &str) -> How {
    let (how, body) = door.get(url, &[]).await;
    let length = if url == LARGE { 5_000_000 } else { 5000 };
    assert!(body == bytes(url.len() as u64, length), "{url}");
    // What writes the body behind the client's back comes to its end.
    tokio::time::sleep(Duration::from_secs(1)).await;
    how
}

#[tokio::test(start_paused = true)]
async fn small_and_large_bodies_outlive_a_restart() {
    let folder = Folder::new();
    let door = folder.door();
    assert_eq!((get(&door, SMALL).await, get(&door, LARGE).await), (How::Fetched, How::Fetched));
    drop(door);
    let door = folder.door();
    assert_eq!((get(&door, SMALL).await, get(&door, LARGE).await), (How::Hit, How::Hit));
    assert_eq!(get(&door, SMALL).await, How::Hit, "from memory now");
    let figures = door.store.stats();
    let disk = figures.disk.unwrap();
    assert_eq!((door.requests(), figures.memory.entries, disk.objects), (0, 1, 2));
    assert_eq!(figures.window_bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn what_memory_cannot_keep_is_found_on_disk() {
    let folder = Folder::new();
    let door = folder.door();
    assert_eq!(get(&door, LARGE).await, How::Fetched);
    // The disk's thread writes when it comes to it.
    let begun = std::time::Instant::now();
    while door.store.stats().disk.unwrap().objects == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30));
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
    assert_eq!((get(&door, LARGE).await, door.requests()), (How::Hit, 1));
}

#[tokio::test(start_paused = true)]
async fn a_freshened_head_outlives_a_restart_wherever_the_body_is() {
    let folder = Folder::new();
    let door = folder.door();
    for url in [SMALL, LARGE] {
        get(&door, url).await;
    }
    drop(door);
    let door = folder.door();
    door.pass(Duration::from_secs(100));
    for url in [SMALL, LARGE] {
        assert_eq!(get(&door, url).await, How::Confirmed);
    }
    drop(door);
    let door = folder.door();
    door.pass(Duration::from_secs(140));
    for url in [SMALL, LARGE] {
        assert_eq!(get(&door, url).await, How::Hit, "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_purged_stays_purged() {
    for (strength, expected) in
        [(PurgeStrength::Hard, How::Fetched), (PurgeStrength::Soft, How::Confirmed)]
    {
        let folder = Folder::new();
        let door = folder.door();
        for url in [SMALL, LARGE] {
            get(&door, url).await;
        }
        let what = Purge::Tag("tag".into());
        door.store.purge(&what, strength, door.now()).unwrap();
        drop(door);
        let door = folder.door();
        for url in [SMALL, LARGE] {
            assert_eq!(get(&door, url).await, expected, "{url}");
        }
    }
}
