//! Many edges in one process, without doors: how long until all have a revision. Driven by
//! `bench/fleet/run.py`.
//!
//! `many_edges KEY COUNT FOLDER POLL_MS PLACE…`: edges share the places among them. A line of
//! JSON is printed for each revision that all of them have; the end of standard input ends it.

use fleet_edge::{
    BundleClient, BundlePlace, EdgeIdentity, EdgeSetup, EdgeSync, LaidRevision, RevisionStore,
    RevisionTaker, TakenBy,
};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use transport::ClientTls;

/// Bytes of stack of one edge: it holds little.
const STACK_BYTES: usize = 512 << 10;

/// A program that takes everything over.
struct TakesAll;

impl RevisionTaker for TakesAll {
    fn take_over(&self, _: &LaidRevision<'_>) -> Result<TakenBy, Vec<String>> {
        Ok(TakenBy::ThisProcess)
    }
}

fn since_epoch() -> Duration {
    Duration::from_millis(transport::clock::now().unix_ms)
}

/// News of an edge, or the end.
enum EdgeNews {
    /// A revision that it has, since this moment.
    Has(u64, Duration),
    /// Nobody listens any more.
    End,
}

/// Task of one edge.
struct EdgeJob {
    number: usize,
    folder: PathBuf,
    place: BundlePlace,
    key: String,
    poll: Duration,
    dialer: Dialer,
}

impl EdgeJob {
    fn run(self, told: &Sender<EdgeNews>) -> Result<(), Box<dyn Error>> {
        std::fs::create_dir_all(&self.folder)?;
        let store = RevisionStore::of(&self.folder);
        let identity = EdgeIdentity::open(store.make()?)?;
        let setup = EdgeSetup {
            name: fleet_bundle::EdgeName::parse(&format!("edge-{}", self.number))?,
            labels: BTreeMap::new(),
            trusted: fleet_bundle::TrustedKeys { keys: vec![self.key.parse()?], signatures: 1 },
            version: "bench".into(),
            program: None,
        };
        let client = BundleClient::open(&self.place, None, self.dialer)?;
        let mut sync = EdgeSync::new(setup, identity, store, client);
        let mut last = 0;
        // Edges that start at once look at different moments, as their jitter has them.
        std::thread::sleep(self.poll.mul_f64(self.number as f64 * 0.618 % 1.0));
        loop {
            if let Ok((_, revision)) = sync.look(since_epoch().as_secs(), &TakesAll)
                && revision != last
            {
                last = revision;
                if told.send(EdgeNews::Has(revision, since_epoch())).is_err() {
                    return Ok(());
                }
            }
            std::thread::sleep(self.poll);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [key, count, folder, poll, places @ ..] = words.as_slice() else {
        return Err("many_edges KEY COUNT FOLDER POLL_MS PLACE…".into());
    };
    let (count, poll): (usize, u64) = (count.parse()?, poll.parse()?);
    let tls = ClientTls::new();
    let dialer = Dialer::new(Resolver::start(&ResolverSettings::default(), tls.clone())?, tls);
    let (told, heard) = channel();
    for number in 0..count {
        let job = EdgeJob {
            number,
            folder: Path::new(folder).join(number.to_string()),
            place: BundlePlace::parse(&places[number % places.len()])?,
            key: key.clone(),
            poll: Duration::from_millis(poll),
            dialer: dialer.clone(),
        };
        let told = told.clone();
        let begun = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            if let Err(why) = job.run(&told) {
                // The driver waits in vain, and shows this.
                let _ = writeln!(io::stderr(), "{why}");
            }
        });
        begun?;
    }
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = told.send(EdgeNews::End);
    });
    let mut times: BTreeMap<u64, Vec<Duration>> = BTreeMap::new();
    for news in heard {
        let EdgeNews::Has(revision, at) = news else { break };
        let of_revision = times.entry(revision).or_default();
        of_revision.push(at);
        if of_revision.len() == count {
            of_revision.sort_unstable();
            let at = |share: usize| of_revision[(count - 1) * share / 100].as_secs_f64();
            let (first, median, last) = (at(0), at(50), at(100));
            let line = format!("\"first\":{first},\"median\":{median},\"last\":{last}");
            writeln!(io::stdout(), "{{\"revision\":{revision},{line}}}")?;
        }
    }
    Ok(())
}
