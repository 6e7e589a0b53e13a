//! What the tests of the disk tier share: a folder that goes away, and answers whose every byte is
//! known from a few numbers, so that whatever is read can be checked.

use disk_store::{
    CacheKey, DiskStore, KeySeed, LearnedAt, NotStored, PurgeEffect, RecordDraft, Settings,
    StoredAnswer,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use vocab::Now;

pub(crate) const SEED: KeySeed = KeySeed([7; 16]);
pub(crate) const NOW: Now = Now { unix_ms: 1_800_000_000_000, mono_ms: 1_000 };

/// A folder of the test's own, in memory where the machine has such a place: thousands of syncs.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("tidegate-disk-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn settings(&self, bytes: u64, segment_bytes: u64) -> Settings {
        Settings { segment_bytes, ..Settings::new(self.0.clone(), bytes, SEED) }
    }

    /// A store of 64 MiB in segments of 1 MiB.
    pub(crate) fn open(&self) -> DiskStore {
        DiskStore::open(&self.settings(64 << 20, 1 << 20), NOW).unwrap().0
    }

    /// Paths of its segments, the oldest first.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.0).unwrap().map(|it| it.unwrap().path());
        let mut segments: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|it| it == "segment")).collect();
        segments.sort();
        segments
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A small generator: the same numbers for ever.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.below(1 << 31) as u32);
        words.take(len.div_ceil(4)).flat_map(u32::to_le_bytes).take(len).collect()
    }
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) number: u64,
    pub(crate) variant: u64,
    pub(crate) version: u64,
    pub(crate) len: usize,
    /// How often its head was renewed.
    pub(crate) renewal: u64,
}

impl Answer {
    pub(crate) fn new(number: u64, version: u64, len: usize) -> Self {
        Self { number, variant: 0, version, len, renewal: 0 }
    }

    pub(crate) fn host(&self) -> String {
        format!("h{}.example", self.number % 5)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/{}", self.host(), self.number % 7, self.number)
    }

    pub(crate) fn tag(&self) -> String {
        format!("tag {}", self.number % 3)
    }

    pub(crate) fn key(&self) -> CacheKey {
        CacheKey::new(&SEED, &self.url())
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        Dice(self.number << 32 ^ self.variant << 24 ^ self.version).bytes(self.len)
    }

    fn head(&self) -> String {
        let Self { number, variant, version, len, renewal } = self;
        format!("{number} {variant} {version} {len} {renewal}")
    }

    /// What a stored answer says that it is.
    pub(crate) fn of(stored: &StoredAnswer) -> Self {
        let head = stored.head();
        let head = std::str::from_utf8(&head).unwrap();
        let numbers: Vec<u64> = head.split(' ').map(|it| it.parse().unwrap()).collect();
        let [number, variant, version, len, renewal] = numbers[..] else { panic!("{head}") };
        Self { number, variant, version, len: len as usize, renewal }
    }

    /// Stores it, as learned at `moment`.
    pub(crate) fn put_at(&self, disk: &DiskStore, moment: LearnedAt) -> Result<(), NotStored> {
        self.put_until(disk, moment, u64::MAX)
    }

    pub(crate) fn put_until(
        &self,
        disk: &DiskStore,
        moment: LearnedAt,
        until_ms: u64,
    ) -> Result<(), NotStored> {
        self.drafted(moment, until_ms, |draft| {
            let mut writer = disk.writer(draft, NOW)?;
            for chunk in self.body().chunks(50_000) {
                writer.write(chunk)?;
            }
            writer.commit()
        })
    }

    pub(crate) fn put(&self, disk: &DiskStore) {
        self.put_at(disk, disk.moment()).unwrap();
    }

    pub(crate) fn drafted<T>(
        &self,
        moment: LearnedAt,
        until_ms: u64,
        then: impl FnOnce(&RecordDraft<'_>) -> T,
    ) -> T {
        let (url, tag, head) = (self.url(), self.tag(), self.head());
        then(&RecordDraft {
            key: self.key().hash(),
            variant: self.variant,
            moment,
            url: &url,
            tags: &[&tag, "all"],
            head: head.as_bytes(),
            useful_until_ms: until_ms,
        })
    }

    /// Stores this as the newer head of what is stored.
    pub(crate) fn renew(&self, disk: &DiskStore, stored: &StoredAnswer) {
        self.drafted(disk.moment(), u64::MAX, |draft| disk.renew(stored, draft, NOW)).unwrap();
    }

    /// What is stored under the number and variant, not read but for its head.
    pub(crate) fn stored(&self, disk: &DiskStore) -> Option<StoredAnswer> {
        let candidates = disk.find(self.key().hash());
        let mut stored = candidates.iter().filter_map(|candidate| disk.read(candidate));
        stored.find(|it| Self::of(it).variant == self.variant)
    }

    /// What is stored, with every byte compared: nothing but exactly what was put in ever comes
    /// out.
    pub(crate) fn get(&self, disk: &DiskStore) -> Option<(Self, PurgeEffect)> {
        let mut stored = self.stored(disk)?;
        let found = Self::of(&stored);
        assert_eq!((stored.url(), found.number), (self.url().as_str(), self.number));
        assert_eq!(stored.tags(), [&self.tag(), "all"]);
        let body = read_all(&mut stored)?;
        assert!(body == found.body(), "other bytes than were stored: {found:?}");
        Some((found, stored.purged))
    }
}

/// Stores several.
pub(crate) fn put_all(disk: &DiskStore, answers: &[Answer]) {
    for answer in answers {
        answer.put(disk);
    }
}

/// The whole body, block by block; `None` where a block is damaged.
pub(crate) fn read_all(stored: &mut StoredAnswer) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while (body.len() as u64) < stored.body.len() {
        body.extend(stored.body.read(body.len() as u64).ok()?);
    }
    Some(body)
}
