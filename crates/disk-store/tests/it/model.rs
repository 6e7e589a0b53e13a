//! Random histories, compared with a map: puts, newer heads, purges of every kind, and restarts.

use crate::support::{Answer, Dice, NOW, Scratch};
use disk_store::{DiskStore, Purge, PurgeEffect, PurgeStrength};
use std::collections::BTreeMap;

/// What must be found: the latest answer, and whether it was purged softly since.
type Model = BTreeMap<(u64, u64), (Answer, PurgeEffect)>;

/// Whether a purge concerns an answer.
type Hits = Box<dyn Fn(&Answer) -> bool>;

/// Whether everything that was stored must still be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    /// There is room for all.
    Ample,
    /// What is old may have gone, but nothing older than the latest may be found.
    Scarce,
}

struct History {
    dice: Dice,
    model: Model,
    version: u64,
}

impl History {
    fn len(&mut self) -> usize {
        let most =
            [1, 400, 4000, 17_000, 70_000, 300_000, 700_000][self.dice.below(20) as usize % 7];
        self.dice.below(most) as usize
    }

    fn some(&mut self) -> (u64, u64) {
        (self.dice.below(60), self.dice.below(3))
    }

    fn put(&mut self, disk: &DiskStore) {
        let (number, variant) = self.some();
        self.version += 1;
        let (version, len) = (self.version, self.len());
        let answer = Answer { number, variant, version, len, renewal: 0 };
        answer.put(disk);
        self.model.insert((number, variant), (answer, PurgeEffect::No));
    }

    fn renew(&mut self, disk: &DiskStore) {
        let (number, variant) = self.some();
        let some = Answer { variant, ..Answer::new(number, 0, 0) };
        disk.flush();
        let Some((there, _)) = some.get(disk) else { return };
        let stored = some.stored(disk).unwrap();
        disk.hit(&stored);
        let newer = Answer { renewal: there.renewal + 1, ..there };
        newer.renew(disk, &stored);
        self.model.insert((number, variant), (newer, PurgeEffect::No));
    }

    /// A purge, and an answer that was learned before it and comes too late.
    fn purge(&mut self, disk: &DiskStore) {
        let (number, _) = self.some();
        let like = Answer::new(number, 0, 100);
        let (before, strength) = match self.dice.below(2) {
            0 => (disk.moment(), PurgeStrength::Soft),
            _ => (disk.moment(), PurgeStrength::Hard),
        };
        let directory = like.url().rsplit_once('/').unwrap().0.to_owned() + "/";
        let (purge, hits): (Purge, Hits) = match self.dice.below(20) {
            0 => (Purge::Everything, Box::new(|_| true)),
            1..4 => (Purge::Host(like.host()), Box::new(move |it| it.host() == like.host())),
            4..6 => (Purge::Tag(like.tag()), Box::new(move |it| it.tag() == like.tag())),
            6..12 => (
                Purge::Prefix(directory.clone()),
                Box::new(move |it| it.url().starts_with(&directory)),
            ),
            _ => (Purge::Key(like.key().hash()), Box::new(move |it| it.number == number)),
        };
        disk.purge(&[purge], strength).unwrap();
        match strength {
            PurgeStrength::Hard => {
                self.model.retain(|_, (answer, _)| !hits(answer));
                like.put_at(disk, before).unwrap();
            }
            PurgeStrength::Soft => {
                let hit = self.model.values_mut().filter(|(answer, _)| hits(answer));
                hit.for_each(|(_, purged)| *purged = PurgeEffect::Soft);
            }
        }
    }

    fn compare(&self, disk: &DiskStore, space: Space) {
        disk.flush();
        for number in 0..60 {
            for variant in 0..3 {
                let some = Answer { variant, ..Answer::new(number, 0, 0) };
                let found = some.get(disk);
                let expected = self.model.get(&(number, variant)).copied();
                if space == Space::Ample || found.is_some() {
                    assert_eq!(found, expected);
                }
            }
        }
        assert_eq!(disk.stats().corrupted, 0);
    }
}

fn check(seed: u64, steps: u32, bytes: u64, segment_bytes: u64, space: Space) {
    let scratch = Scratch::new();
    let settings = scratch.settings(bytes, segment_bytes);
    let mut disk = DiskStore::open(&settings, NOW).unwrap().0;
    let mut reclaimed = 0;
    let mut history = History { dice: Dice(seed), model: Model::new(), version: 0 };
    for _ in 0..steps {
        match history.dice.below(100) {
            0..60 => history.put(&disk),
            60..85 => history.renew(&disk),
            85..93 => history.purge(&disk),
            93..97 => history.compare(&disk, space),
            _ => {
                disk.flush();
                reclaimed += disk.stats().reclaimed;
                drop(disk);
                disk = DiskStore::open(&settings, NOW).unwrap().0;
                history.compare(&disk, space);
            }
        }
        assert!(disk.stats().bytes <= bytes, "{} bytes", disk.stats().bytes);
    }
    history.compare(&disk, space);
    if space == Space::Scarce {
        reclaimed += disk.stats().reclaimed;
        assert!(reclaimed > 20, "{reclaimed}");
    }
}

#[test]
fn with_ample_space_exactly_the_latest_is_found() {
    for seed in 0..4 {
        check(seed, 400, 512 << 20, 2 << 20, Space::Ample);
    }
}

#[test]
fn with_scarce_space_never_anything_but_the_latest_is_found() {
    for seed in 0..8 {
        check(100 + seed, 400, 6 << 20, 96 << 10, Space::Scarce);
    }
}
