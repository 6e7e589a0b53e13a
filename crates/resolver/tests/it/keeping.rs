//! What is kept: within its bytes, within its times, and beyond the process.

use super::fake::{ADDRESS, Deed, Fake};
use super::{addresses, ask, question, settings, start, udp};
use dns_wire::{DnsQuery, KeyBuffer, synthesize, write_query};
use resolver::{BadSnapshot, CacheId, CachedState, NotRestored, Resolver, StaleMode};
use settings::Text;
use std::path::PathBuf;
use std::time::Duration;
use vocab::{ByteSize, DomainName, NameBuffer, Now, Source, TimeSpan};

const SECOND: Duration = Duration::from_secs(1);
const YEAR_MILLIS: u64 = 366 * 86_400_000;

/// A directory that is gone afterwards.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("resolver-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The response to a question for the addresses of `name`, with this TTL.
fn response(key: &[u8], ttl: u32) -> Vec<u8> {
    let (mut query, mut message) = (Vec::new(), Vec::new());
    write_query(7, key, &mut query);
    let query = DnsQuery::parse(&query, &mut NameBuffer::new()).unwrap();
    let query = DnsQuery { edns: None, ..query };
    synthesize::addresses(&query, &[ADDRESS], ttl, None, &mut message);
    message
}

fn later(millis: u64) -> Now {
    let now = transport::clock::now();
    Now { unix_ms: now.unix_ms + millis, mono_ms: now.mono_ms + millis }
}

fn is_fresh(resolver: &Resolver, name: &str, seconds: u64) -> bool {
    let looked = resolver.cached(CacheId(0), question(name).key(), later(seconds * 1000));
    matches!(looked.cached, CachedState::Fresh { .. })
}

#[tokio::test]
async fn a_million_names_stay_within_the_bytes() {
    const SIZE: u64 = 8 << 20;
    let mut settings = settings(&["127.0.0.1".into()]);
    settings.caches[0].size = Text(ByteSize(SIZE));
    let resolver = start(&settings);
    let now = transport::clock::now();
    let mut most = 0;
    for number in 0..1_000_000_u32 {
        let name = DomainName::parse(&format!("{number:x}.many.example")).unwrap();
        let key = dns_wire::key_of(name.as_name(), 1).unwrap();
        resolver.keep(CacheId(0), &key, &response(&key, 300), now);
        if number % 1000 == 0 {
            most = most.max(resolver.stats().cache.bytes);
        }
    }
    let stats = resolver.stats().cache;
    assert!(most.max(stats.bytes) <= SIZE, "{most}");
    assert!(stats.bytes > SIZE / 2 && stats.entries > 10_000, "{stats:?}");
}

#[tokio::test]
async fn a_clock_that_is_set_makes_no_answer_older_or_younger() {
    let mut settings = settings(&["127.0.0.1".into()]);
    settings.caches[0].stale_mode = StaleMode::AtOnce;
    settings.caches[0].stale = Text(TimeSpan(Duration::from_secs(100)));
    let resolver = start(&settings);
    let key = question("www.example");
    let came = transport::clock::now();
    resolver.keep(CacheId(0), key.key(), &response(key.key(), 300), came);
    // Whatever the clock on the wall says: 1970, a year back, a year on.
    for unix_ms in [0, came.unix_ms - YEAR_MILLIS, came.unix_ms, came.unix_ms + YEAR_MILLIS] {
        let look = |seconds: u64| {
            let now = Now { unix_ms, mono_ms: came.mono_ms + seconds * 1000 };
            resolver.cached(CacheId(0), key.key(), now).cached
        };
        assert!(matches!(look(0), CachedState::Fresh { age_s: 0, .. }), "{unix_ms}");
        assert!(matches!(look(299), CachedState::Fresh { age_s: 299, .. }), "{unix_ms}");
        assert!(matches!(look(300), CachedState::Stale { age_s: 300, .. }), "{unix_ms}");
        assert!(matches!(look(399), CachedState::Stale { .. }), "{unix_ms}");
        assert!(matches!(look(400), CachedState::Miss), "{unix_ms}");
    }
}

#[tokio::test]
async fn what_is_kept_by_hand_must_answer_its_key() {
    let resolver = start(&settings(&["127.0.0.1".into()]));
    let key = question("www.example");
    let now = transport::clock::now();
    let good = response(key.key(), 300);
    resolver.keep(CacheId(0), question("other.example").key(), &good, now);
    resolver.keep(CacheId(0), b"", &good, now);
    resolver.keep(CacheId(0), key.key(), &good[..20], now);
    resolver.keep(CacheId(9), key.key(), &good, now);
    resolver.keep(CacheId(0), key.key(), &response(key.key(), 0), now);
    assert_eq!(resolver.stats().cache.entries, 0);
    resolver.keep(CacheId(0), key.key(), &good, now);
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
}

#[tokio::test]
async fn times_are_kept_within_the_bounds_that_are_set_and_clients_see_them() {
    let fake = Fake::start(Deed::Answer(5));
    let mut settings = settings(&[udp(&fake)]);
    settings.caches[0].min_ttl = Text(TimeSpan(60 * SECOND));
    settings.caches[0].max_ttl = Text(TimeSpan(100 * SECOND));
    settings.caches[0].max_negative_ttl = Text(TimeSpan(10 * SECOND));
    let resolver = start(&settings);
    let short = ask(&resolver, "short.example").await;
    fake.deed(Deed::Answer(4000));
    let long = ask(&resolver, "long.example").await;
    fake.deed(Deed::NxDomain);
    let none = ask(&resolver, "none.example").await;
    let ttls = [short, long, none].map(|it| it.result.unwrap().0.ttl());
    assert_eq!(ttls, [60, 100, 10]);
    for (name, life) in [("short.example", 60), ("long.example", 100), ("none.example", 10)] {
        assert!(is_fresh(&resolver, name, life - 2) && !is_fresh(&resolver, name, life), "{name}");
    }
    // The client's bytes say the same.
    let asked = question("short.example");
    let looked = resolver.cached(CacheId(0), asked.key(), later(0)).cached;
    let CachedState::Fresh { answer, .. } = looked else { panic!("{looked:?}") };
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    write_query(7, asked.key(), &mut bytes);
    let query = DnsQuery::parse(&bytes, &mut NameBuffer::new()).unwrap();
    assert!(KeyBuffer::question(asked.key()).eq_ignore_ascii_case(query.question));
    answer.write_message(&query, 0, &mut out);
    assert_eq!(dns_wire::reply::least_ttl(&out), Some(60));
}

#[tokio::test]
async fn answers_outlive_the_process_and_age_meanwhile() {
    let dir = Dir::new("outlive");
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    for name in ["a.example", "b.example"] {
        ask(&resolver, name).await;
    }
    let written = resolver.dump(&dir.0).unwrap();
    assert_eq!((written.entries, written.left_out), (2, 0));
    let file = dir.0.join("answers-0");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), written.bytes);
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1, "nothing is left aside");
    drop(resolver);

    let again = start(&settings(&[udp(&fake)]));
    let read = again.restore(&dir.0);
    assert_eq!((read.entries, read.dropped, read.refused.len()), (2, 0, 0));
    assert_eq!(ask(&again, "a.example").await.source, Source::Cache);
    assert_eq!(fake.asked().len(), 2);

    // 200 s later, as far as the clock on the wall says, though the machine has just started.
    let bytes = std::fs::read(&file).unwrap();
    let after = |seconds: u64| Now { unix_ms: later(seconds * 1000).unix_ms, mono_ms: 5000 };
    let aged = start(&settings(&[udp(&fake)]));
    assert_eq!(aged.restore_bytes(CacheId(0), &bytes, after(200)), Ok((2, 0)));
    let looked = aged.cached(CacheId(0), question("a.example").key(), after(200)).cached;
    assert!(matches!(looked, CachedState::Fresh { age_s: 200..=210, .. }), "{looked:?}");
    // Past its time it serves as any other answer past its time, but not for ever.
    let empty = || start(&settings(&[udp(&fake)]));
    assert_eq!(empty().restore_bytes(CacheId(0), &bytes, after(1000)), Ok((2, 0)));
    assert_eq!(empty().restore_bytes(CacheId(0), &bytes, after(24 * 3600)), Ok((0, 2)));
    // Where the clock was set back, nobody knows how old it is.
    let past = Now { unix_ms: later(0).unix_ms - 3_600_000, mono_ms: 5000 };
    assert_eq!(empty().restore_bytes(CacheId(0), &bytes, past), Ok((0, 2)));
}

#[tokio::test]
async fn damaged_files_are_refused_and_do_no_harm() {
    let dir = Dir::new("damaged");
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    ask(&resolver, "a.example").await;
    let file = dir.0.join("answers-0");
    assert!(resolver.restore(&dir.0).refused.is_empty(), "no file is no damage");
    resolver.dump(&dir.0).unwrap();
    let good = std::fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[40] ^= 4;
    for (bytes, why) in [
        (&b"hello"[..], BadSnapshot::Foreign),
        (&good[..good.len() - 1], BadSnapshot::Damaged),
        (&flipped, BadSnapshot::Damaged),
        (&[0; 4096], BadSnapshot::Foreign),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let again = start(&settings(&[udp(&fake)]));
        let report = again.restore(&dir.0);
        assert_eq!(report.entries, 0);
        let [(path, NotRestored::Bad(said))] = &report.refused[..] else { panic!("{report:?}") };
        assert_eq!((path, *said), (&file, why));
        assert!(ask(&again, "a.example").await.result.is_ok());
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let report = resolver.restore_from(CacheId(0), &file);
    assert!(matches!(&report.refused[..], [(_, NotRestored::Io(_))]), "{report:?}");
    // A directory that cannot be written to leaves what is there.
    assert!(resolver.dump(&dir.0).is_err());
    assert!(resolver.dump_to(CacheId(9), &dir.0.join("x")).is_err());
}

#[tokio::test]
async fn an_answer_that_lives_too_short_is_given_and_not_kept() {
    for (ttl, source) in [(59, Source::Upstream), (60, Source::Cache)] {
        let fake = Fake::start(Deed::Answer(ttl));
        let mut settings = settings(&[udp(&fake)]);
        settings.caches[0].kept_ttl_min = Text(TimeSpan(60 * SECOND));
        let resolver = start(&settings);
        assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
        assert_eq!(ask(&resolver, "www.example").await.source, source, "{ttl}");
    }
    // What says that there is nothing has bounds of its own.
    let fake = Fake::start(Deed::NxDomain);
    let mut settings = settings(&[udp(&fake)]);
    settings.caches[0].kept_ttl_min = Text(TimeSpan(3600 * SECOND));
    let resolver = start(&settings);
    ask(&resolver, "nowhere.example").await;
    assert_eq!(ask(&resolver, "nowhere.example").await.source, Source::Cache);
}
