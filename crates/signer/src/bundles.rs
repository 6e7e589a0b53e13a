//! Which blocked names share a leaf, so that a browser needs one connection for all of them.
//!
//! A browser sends requests for another host over an open HTTP/2 connection if that host has the
//! same address and the certificate is for it too (RFC 9113 §9.1.1). It signs nothing, and puts no
//! name into a bundle that the policy does not permit; what one client asked for never shows in
//! another's bundle (see docs/adr/0021). Called by the signer in each handshake.

use crate::coverage::{self, LeafCoverage};
use crate::mint_policy::MintPolicy;
use crate::settings::BundleMode;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// Bytes that the names of one leaf take in it: with all else that a server sends first (a kilobyte
/// and a half, with a post-quantum key share two and a half) they fit into the ten packets of 1,400
/// bytes that TCP sends without waiting (RFC 6928).
pub(crate) const BUNDLE_BYTES_MAX: usize = 10 << 10;
/// Names of one leaf at most, wildcards counted with their base.
pub(crate) const BUNDLE_NAMES_MAX: usize = 400;
/// The same as [`BUNDLE_BYTES_MAX`] where a client's own names make a bundle, and each new one has
/// the leaf signed again: some 150 names, more than any page was seen to have.
const LEARNED_BYTES_MAX: usize = 4 << 10;
/// Bundles of one client; the oldest is forgotten for the next.
const LEARNED_BUNDLES_MAX: usize = 4;
/// Time for which the names of a client stay together, in milliseconds.
const LEARNED_MS: u64 = 12 * 3_600_000;
/// Clients whose names are kept; at the cap the one that was heard of longest ago is forgotten.
const LEARNERS_MAX: usize = 256;
/// Greatest age of the policy's word on the other names of a bundle, in milliseconds. The name that
/// is asked for is looked up in each handshake.
const RECHECK_MS: u64 = 1000;

/// Hosts that many pages name, by words; lines that begin with `#` are for people.
const KNOWN: &str = include_str!("known.txt");

/// Names that share a leaf.
#[derive(Clone, Debug)]
pub(crate) struct NameBundle {
    /// Another set of names has another number.
    pub(crate) number: u64,
    pub(crate) names: Arc<[LeafCoverage]>,
}

/// All bundles.
#[derive(Debug, Default)]
pub(crate) struct NameBundles(Mutex<KeptBundle>);

#[derive(Debug, Default)]
struct KeptBundle {
    way: BundleMode,
    numbers: u64,
    known: Option<CheckedBundle>,
    learned: HashMap<IpAddr, BundleLearner>,
}

/// A bundle, and when the policy was asked about all of it.
#[derive(Debug)]
struct CheckedBundle {
    bundle: NameBundle,
    mono_ms: u64,
}

#[derive(Debug)]
struct BundleLearner {
    /// The oldest first.
    groups: Vec<NameGroup>,
    heard_ms: u64,
}

#[derive(Debug)]
struct NameGroup {
    checked: CheckedBundle,
    begun_ms: u64,
}

fn permits(policy: &dyn MintPolicy, coverage: &LeafCoverage) -> bool {
    match coverage {
        LeafCoverage::Exact(name) => policy.may_mint_alone(name),
        LeafCoverage::WithWildcard(base) => coverage::is_wholly_permitted(base, policy),
    }
}

impl NameBundles {
    /// Which names share a leaf from now on. What clients asked for so far is forgotten.
    pub(crate) fn choose(&self, way: BundleMode) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.way != way {
            *kept = KeptBundle { way, numbers: kept.numbers, ..KeptBundle::default() };
        }
    }

    /// Forgets all bundles, because a name in one of them may have been let through.
    pub(crate) fn forget(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = KeptBundle { way: kept.way, numbers: kept.numbers, ..KeptBundle::default() };
    }

    /// The bundle that `own`, which `policy` permits, belongs to for this client. None where it
    /// stays alone.
    pub(crate) fn of(
        &self,
        own: &LeafCoverage,
        client: IpAddr,
        policy: &dyn MintPolicy,
        now: Now,
    ) -> Option<NameBundle> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.way {
            BundleMode::Never => None,
            BundleMode::Known => kept.known(policy, now).filter(|known| known.has(own)),
            BundleMode::Learned => Some(kept.learned(own, client, policy, now)),
        }
    }
}

impl KeptBundle {
    /// Returns those of the well-known hosts that the policy blocks.
    fn known(&mut self, policy: &dyn MintPolicy, now: Now) -> Option<NameBundle> {
        let stale = |it: &CheckedBundle| now.mono_ms.saturating_sub(it.mono_ms) >= RECHECK_MS;
        if self.known.as_ref().is_none_or(stale) {
            let names = plan_known(policy);
            let before = self.known.take().map(|it| it.bundle).filter(|it| *it.names == *names);
            let bundle = before.unwrap_or_else(|| {
                self.numbers += 1;
                NameBundle { number: self.numbers, names: names.into() }
            });
            self.known = Some(CheckedBundle { bundle, mono_ms: now.mono_ms });
        }
        self.known.as_ref().map(|it| it.bundle.clone())
    }

    /// The names that this client asked for, up to now.
    fn learned(
        &mut self,
        own: &LeafCoverage,
        client: IpAddr,
        policy: &dyn MintPolicy,
        now: Now,
    ) -> NameBundle {
        if !self.learned.contains_key(&client) && self.learned.len() >= LEARNERS_MAX {
            let quiet = self.learned.iter().min_by_key(|(_, it)| it.heard_ms).map(|(it, _)| *it);
            quiet.and_then(|quiet| self.learned.remove(&quiet));
        }
        let Self { numbers, learned, .. } = self;
        let learner = learned
            .entry(client)
            .or_insert_with(|| BundleLearner { groups: Vec::new(), heard_ms: now.mono_ms });
        learner.heard_ms = now.mono_ms;
        learner.groups.retain(|it| now.mono_ms.saturating_sub(it.begun_ms) < LEARNED_MS);
        let at = learner.place(own, now);
        learner.groups[at].take(own, policy, now, numbers);
        learner.groups[at].checked.bundle.clone()
    }
}

impl BundleLearner {
    /// The group that this name is in, or has room for it; the oldest makes room for a new one.
    fn place(&mut self, own: &LeafCoverage, now: Now) -> usize {
        let roomy = |it: &NameGroup| {
            let bytes: usize = it.checked.bundle.names.iter().map(LeafCoverage::bytes).sum();
            bytes + own.bytes() <= LEARNED_BYTES_MAX
        };
        let found = self.groups.iter().position(|it| it.checked.bundle.has(own));
        if let Some(at) = found.or_else(|| self.groups.iter().rposition(roomy)) {
            return at;
        }
        if self.groups.len() >= LEARNED_BUNDLES_MAX {
            self.groups.remove(0);
        }
        let bundle = NameBundle { number: 0, names: Arc::default() };
        let checked = CheckedBundle { bundle, mono_ms: now.mono_ms };
        self.groups.push(NameGroup { checked, begun_ms: now.mono_ms });
        self.groups.len() - 1
    }
}

impl NameGroup {
    /// Takes a name in, and lets those go that are not blocked any more.
    fn take(&mut self, own: &LeafCoverage, policy: &dyn MintPolicy, now: Now, numbers: &mut u64) {
        let checked = &mut self.checked;
        let is_new = !checked.bundle.has(own);
        let is_stale = now.mono_ms.saturating_sub(checked.mono_ms) >= RECHECK_MS;
        if !is_new && !is_stale {
            return;
        }
        let mut names = checked.bundle.names.to_vec();
        if is_stale {
            names.retain(|it| it == own || permits(policy, it));
            checked.mono_ms = now.mono_ms;
        }
        if is_new {
            names.push(own.clone());
        }
        if *names != *checked.bundle.names {
            *numbers += 1;
            checked.bundle = NameBundle { number: *numbers, names: names.into() };
        }
    }
}

impl NameBundle {
    fn has(&self, coverage: &LeafCoverage) -> bool {
        self.names.contains(coverage)
    }
}

/// The well-known hosts, as far as they are permitted and fit, in the order of the file.
fn plan_known(policy: &dyn MintPolicy) -> Vec<LeafCoverage> {
    let (mut names, mut bytes) = (Vec::new(), 0);
    for host in known_hosts().filter(|host| policy.may_mint(host)) {
        let coverage = coverage::plan(host, policy);
        if names.len() >= BUNDLE_NAMES_MAX || bytes + coverage.bytes() > BUNDLE_BYTES_MAX {
            break;
        }
        if !names.contains(&coverage) {
            bytes += coverage.bytes();
            names.push(coverage);
        }
    }
    names
}

fn known_hosts() -> impl Iterator<Item = &'static str> {
    KNOWN.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Permits all but the names in it, and all below these.
    #[derive(Default)]
    struct AllBut(Mutex<HashSet<&'static str>>);
    impl AllBut {
        fn let_through(&self, name: &'static str) {
            self.0.lock().unwrap().insert(name);
        }
    }
    impl MintPolicy for AllBut {
        fn may_mint(&self, name: &str) -> bool {
            let mut above = std::iter::successors(Some(name), |it| Some(it.split_once('.')?.1));
            let free = self.0.lock().unwrap();
            !above.any(|it| free.contains(it))
        }
        fn may_mint_below(&self, base: &str) -> bool {
            let free = self.0.lock().unwrap();
            !free.iter().any(|it| it.split_once('.').is_some_and(|(_, above)| above == base))
        }
    }

    const ANNE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));
    const BERT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 8));

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    /// The bundle of a host, as names; empty where it stays alone.
    fn names(
        bundles: &NameBundles,
        policy: &AllBut,
        host: &str,
        client: IpAddr,
        now: Now,
    ) -> Vec<String> {
        let own = coverage::plan(host, policy);
        let bundle = bundles.of(&own, client, policy, now);
        bundle.map_or_else(Vec::new, |it| it.names.iter().flat_map(LeafCoverage::names).collect())
    }

    fn bundles(way: BundleMode) -> NameBundles {
        let bundles = NameBundles::default();
        bundles.choose(way);
        bundles
    }

    #[test]
    fn every_known_host_is_a_name_and_all_fit_into_one_leaf() {
        let policy = AllBut::default();
        let names = plan_known(&policy);
        let bytes: usize = names.iter().map(LeafCoverage::bytes).sum();
        assert!(bytes <= BUNDLE_BYTES_MAX && names.len() < BUNDLE_NAMES_MAX, "{bytes}");
        let mut seen = HashSet::new();
        for host in known_hosts() {
            assert_eq!(crate::names::host_name(host), Ok(host.to_owned()));
            assert!(seen.insert(host), "{host} stands there twice");
            assert!(names.contains(&coverage::plan(host, &policy)), "{host} does not fit");
        }
    }

    #[test]
    fn known_hosts_share_a_bundle_and_others_stay_alone() {
        let (bundles, policy) = (bundles(BundleMode::Known), AllBut::default());
        let all = names(&bundles, &policy, "www.google-analytics.com", ANNE, at(0));
        for name in ["*.google-analytics.com", "*.g.doubleclick.net", "*.facebook.net"] {
            assert!(all.iter().any(|it| it == name), "{name}: {all:?}");
        }
        assert_eq!(names(&bundles, &policy, "stats.g.doubleclick.net", BERT, at(0)), all);
        assert!(names(&bundles, &policy, "ads.example.com", ANNE, at(0)).is_empty());
    }

    #[test]
    fn a_known_host_that_is_let_through_leaves_the_bundle_within_a_second() {
        let (bundles, policy) = (bundles(BundleMode::Known), AllBut::default());
        let has = |now| {
            names(&bundles, &policy, "bat.bing.com", ANNE, now).contains(&"hotjar.com".to_owned())
        };
        assert!(has(at(0)));
        policy.let_through("hotjar.com");
        assert!(!has(at(RECHECK_MS)));
        // Nor does it get one itself.
        assert!(names(&bundles, &policy, "hotjar.com", ANNE, at(RECHECK_MS)).is_empty());
    }

    #[test]
    fn a_bundle_keeps_its_number_until_its_names_change() {
        let (bundles, policy) = (bundles(BundleMode::Known), AllBut::default());
        let own = coverage::plan("bat.bing.com", &policy);
        let number = |now| bundles.of(&own, ANNE, &policy, now).unwrap().number;
        assert_eq!(number(at(0)), number(at(3 * RECHECK_MS)));
        policy.let_through("hotjar.com");
        assert_ne!(number(at(3 * RECHECK_MS)), number(at(4 * RECHECK_MS)));
    }

    #[test]
    fn learned_names_are_a_clients_own_and_end_after_hours() {
        let (bundles, policy) = (bundles(BundleMode::Learned), AllBut::default());
        let ask = |host, client, now| names(&bundles, &policy, host, client, now);
        assert_eq!(ask("a.test", ANNE, at(0)), ["a.test"]);
        assert_eq!(ask("b.test", ANNE, at(0)), ["a.test", "b.test"]);
        assert_eq!(ask("a.test", ANNE, at(0)), ["a.test", "b.test"]);
        assert_eq!(ask("c.test", BERT, at(0)), ["c.test"], "nothing of another client's");
        policy.let_through("b.test");
        assert_eq!(ask("a.test", ANNE, at(RECHECK_MS)), ["a.test"]);
        assert_eq!(ask("d.test", ANNE, at(LEARNED_MS)), ["d.test"]);
    }

    #[test]
    fn learned_bundles_and_their_clients_are_bounded() {
        let (bundles, policy) = (bundles(BundleMode::Learned), AllBut::default());
        for number in 0..2000 {
            let host = format!("tracker-number-{number}.test");
            let mine = names(&bundles, &policy, &host, ANNE, at(number));
            assert!(mine.contains(&host));
            assert!(mine.iter().map(|it| it.len() + 2).sum::<usize>() <= LEARNED_BYTES_MAX);
        }
        for number in 0..2 * LEARNERS_MAX as u32 {
            let client = IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
            names(&bundles, &policy, "a.test", client, at(3000 + u64::from(number)));
        }
        let kept = bundles.0.lock().unwrap();
        assert_eq!(kept.learned.len(), LEARNERS_MAX);
        let groups = |it: &BundleLearner| it.groups.len() <= LEARNED_BUNDLES_MAX;
        assert!(kept.learned.values().all(groups));
    }
}
