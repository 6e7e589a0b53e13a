//! What the tier promises: what is asked for often stays, scans pass through, and the account
//! holds.

use super::*;
use crate::fill::FillBody;
use disk_store::KeySeed;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_freshness::{CachingRules, ReuseTerms, StoredHead};
use std::collections::VecDeque;

const SEED: KeySeed = KeySeed([7; 16]);

fn key(number: u64) -> CacheKey {
    CacheKey::new(&SEED, &format!("http://example.test/{number}"))
}

fn entry(
    budget: &Arc<Budget>,
    key: &CacheKey,
    variant: &str,
    bytes: usize,
) -> Option<Arc<StoredEntry>> {
    let mut selecting = HeaderMap::new();
    if !variant.is_empty() {
        selecting.insert("accept-language", HeaderValue::from_str(variant).unwrap());
    }
    let head = StoredHead {
        status: StatusCode::OK,
        fields: HeaderMap::new(),
        selecting,
        requested_ms: 0,
        received_ms: 0,
    };
    let terms = ReuseTerms::of(&CachingRules::forward(), &head);
    let body = FillBody::copied(budget, &vec![variant.len() as u8; bytes])?;
    let filed = FiledHead::new(budget, key.clone(), &head, terms)?;
    Some(Arc::new(StoredEntry::new(filed, EntryContent::Memory(body))))
}

/// Asks for a key, stores it when it is not there, and says whether it was.
fn ask(tier: &MemoryTier, budget: &Arc<Budget>, key: &CacheKey, bytes: usize) -> bool {
    if let Some((found, _)) = tier.find(key) {
        found.hit();
        return true;
    }
    let Some(entry) = entry(budget, key, "", bytes) else { return false };
    let _ = tier.insert(&entry, EntrySeen::Once);
    false
}

/// A deterministic series that looks random.
fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Ranks by Zipf's law with exponent 0.9, as web requests are distributed.
fn zipf(state: &mut u64, count: f64) -> u64 {
    let power = 0.1_f64;
    let rank = (random(state) * (count.powf(power) - 1.0) + 1.0).powf(1.0 / power);
    #[expect(clippy::cast_sign_loss, reason = "a rank is at least 1")]
    let rank = rank as u64;
    rank
}

/// The same trace through a list of those used last, with room for `room` entries.
fn lru_hits(trace: &[u64], room: usize) -> usize {
    let mut list = VecDeque::new();
    trace
        .iter()
        .filter(|number| {
            let place = list.iter().position(|it| it == *number);
            place.map(|place| list.remove(place));
            list.push_front(**number);
            list.truncate(room);
            place.is_some()
        })
        .count()
}

#[test]
fn more_is_found_than_by_last_use_and_a_scan_does_no_harm() {
    let mut state = 42;
    let plain: Vec<u64> = (0..60_000).map(|_| zipf(&mut state, 4000.0)).collect();
    // Every fourth request walks through what nobody asks for again.
    let scanned: Vec<u64> = plain
        .iter()
        .enumerate()
        .map(|(at, it)| if at % 4 == 0 { 10_000 + at as u64 } else { *it })
        .collect();
    for (what, trace) in [("plain", plain), ("scanned", scanned)] {
        let budget = Budget::new(1 << 20);
        let tier = MemoryTier::new(&budget, 1);
        let hits = trace.iter().filter(|it| ask(&tier, &budget, &key(**it), 1000)).count();
        let room = tier.usage().entries as usize;
        let by_last_use = lru_hits(&trace, room);
        assert!(room > 300 && budget.peak() <= budget.limit());
        assert!(
            hits > by_last_use,
            "{what}: {hits} hits, {by_last_use} by last use, {room} places"
        );
    }
}

#[test]
fn what_is_large_comes_in_when_it_is_asked_for_twice() {
    let budget = Budget::new(4 << 20);
    let tier = MemoryTier::new(&budget, 1);
    let insert =
        |number, bytes, seen| tier.insert(&entry(&budget, &key(number), "", bytes).unwrap(), seen);
    assert_eq!(insert(1, 100_000, EntrySeen::Once), Ok(()));
    assert_eq!(insert(2, 800_000, EntrySeen::Once), Err(NotKept::LargeAndNew));
    assert!(tier.find(&key(2)).is_none() && budget.held(ByteClass::Windows) == 0);
    assert_eq!(insert(2, 800_000, EntrySeen::Once), Ok(()), "the second time");
    assert_eq!(insert(3, 800_000, EntrySeen::Often), Ok(()), "two waited for it");
    assert_eq!(insert(4, 2_095_000, EntrySeen::Often), Err(NotKept::TooLarge), "more than half");
}

#[test]
fn variants_live_side_by_side_and_the_oldest_makes_room() {
    let budget = Budget::new(1 << 20);
    let tier = MemoryTier::new(&budget, 1);
    let names: Vec<String> = (1..=VARIANTS_MAX + 2).map(|count| "x".repeat(count)).collect();
    for name in &names {
        tier.insert(&entry(&budget, &key(1), name, 10).unwrap(), EntrySeen::Once).unwrap();
    }
    let count = || tier.find(&key(1)).map_or(0, |(_, others)| 1 + others.len());
    assert_eq!(count(), VARIANTS_MAX);
    tier.insert(&entry(&budget, &key(1), &names[9], 99).unwrap(), EntrySeen::Once).unwrap();
    let (newest, others) = tier.find(&key(1)).unwrap();
    assert_eq!(
        (newest.content().len(), others.len()),
        (99, VARIANTS_MAX - 1),
        "its like is replaced"
    );
    drop((newest, others));
    let is_even = |entry: &StoredEntry| entry.head().selecting.values().all(|it| it.len() % 2 == 0);
    tier.sweep(is_even, |entry| assert!(tier.remove(&entry)));
    assert_eq!(count(), VARIANTS_MAX / 2);
    tier.sweep(|_| true, |entry| assert!(tier.remove(&entry)));
    assert_eq!((count(), tier.usage().entries, budget.held(ByteClass::Cache)), (0, 0, 0));
}

#[test]
fn it_gives_way_to_fetches_and_what_is_still_read_is_still_counted() {
    let budget = Budget::new(1 << 20);
    let tier = MemoryTier::new(&budget, 1);
    for number in 0..200 {
        ask(&tier, &budget, &key(number), 4000);
    }
    let (held, _) = tier.find(&key(150)).unwrap();
    let before = budget.held(ByteClass::Cache);
    assert!(before > 800 << 10);
    let window = budget.try_charge(ByteClass::Windows, 1 << 19).unwrap();
    assert!(budget.total() <= budget.limit() && budget.held(ByteClass::Cache) <= 1 << 19);
    let most = budget.limit() - budget.total() + budget.held(ByteClass::Cache);
    assert!(budget.try_charge(ByteClass::Heads, most).is_none(), "one is read by somebody");
    assert!(tier.find(&key(150)).is_none() && tier.usage().entries == 0);
    assert_eq!(held.content().len(), 4000);
    assert_eq!(budget.held(ByteClass::Windows), (1 << 19) + held.cost());
    drop((held, window));
    assert_eq!((budget.held(ByteClass::Windows), budget.held(ByteClass::Cache)), (0, 0));
}

#[test]
fn a_freshened_head_keeps_the_body_and_is_counted_once() {
    let budget = Budget::new(1 << 20);
    let tier = MemoryTier::new(&budget, 1);
    let old = entry(&budget, &key(1), "", 1000).unwrap();
    tier.insert(&old, EntrySeen::Once).unwrap();
    let total = budget.total();
    let again = |old: &StoredEntry| {
        let filed = FiledHead::new(&budget, old.key().clone(), old.head(), old.terms().clone());
        Arc::new(StoredEntry::new(filed.unwrap(), old.content().clone()))
    };
    assert!(tier.freshen(&old, &again(&old)) && !tier.freshen(&old, &again(&old)));
    drop(old);
    assert_eq!((budget.total(), tier.usage().entries), (total, 1));
    tier.sweep(|_| true, |old| assert!(tier.freshen(&old, &again(&old))));
    assert_eq!((budget.total(), tier.usage().entries), (total, 1));
    assert_eq!(budget.held(ByteClass::Cache), tier.usage().bytes);
}

/// Real threads on one tier: whoever finds a body finds the right one.
#[test]
fn threads_find_what_belongs_to_their_key() {
    let budget = Budget::new(3 << 20);
    let tier = MemoryTier::new(&budget, 2);
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            let (tier, budget) = (&tier, &budget);
            scope.spawn(move || {
                let mut state = seed;
                for _ in 0..20_000 {
                    let number = zipf(&mut state, 1000.0);
                    let key = key(number);
                    let length = 1 + (number as usize * 7919) % 9000;
                    match tier.find(&key) {
                        Some((found, _)) => {
                            assert_eq!(found.key().url(), key.url());
                            assert_eq!(found.content().len(), length as u64);
                            found.hit();
                        }
                        None if number.is_multiple_of(97) => {
                            tier.sweep(
                                |it| it.content().len().is_multiple_of(97),
                                |it| assert!(tier.remove(&it) || !it.content().is_empty()),
                            );
                        }
                        None => {
                            if let Some(entry) = entry(budget, &key, "", length) {
                                let _ = tier.insert(&entry, EntrySeen::Once);
                            }
                        }
                    }
                }
            });
        }
    });
    assert_eq!(tier.usage().bytes, budget.held(ByteClass::Cache));
    tier.sweep(|_| true, |entry| assert!(tier.remove(&entry)));
    assert_eq!((budget.held(ByteClass::Cache), budget.held(ByteClass::Windows)), (0, 0));
}
