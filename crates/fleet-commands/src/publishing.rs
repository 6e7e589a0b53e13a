//! Revisions published, signed, watched, promoted and taken back.

use crate::{
    FleetHost, PublishArgs, RollbackArgs, SignArgs, judged_folder, key, publication, publisher,
    wrong,
};
use command_output::CommandFailure;
use fleet_bundle::{CanaryShare, PublisherKey, SyncState, check_label};
use fleet_publish::{
    FleetPublisher, ProgramChoice, PublishedRevision, RepublishedFiles, RolloutChoice, SourceFiles,
};
use std::time::{Duration, Instant};

/// Pause between two looks at the canaries.
const WATCH_AGAIN: Duration = Duration::from_secs(2);
/// Share of failed requests among the canaries' at which a roll-out halts, in percent; and the
/// requests that say anything.
const FAILURES_PERCENT: u64 = 5;
const REQUESTS_MIN: u64 = 200;

/// Checks, signs and puts a revision at its place.
pub(crate) fn publish(host: &dyn FleetHost, args: &PublishArgs) -> Result<(), CommandFailure> {
    let publisher = publisher(&args.sign.folder)?;
    let warnings = judged_folder::judge(host, &publisher.folder)?;
    for warning in &warnings {
        println!("{warning}");
    }
    let mut source = SourceFiles::gather(&publisher.folder.path).map_err(wrong)?;
    if publisher.folder.file.compiled_lists {
        let made = judged_folder::compiled_lists(&publisher.folder)?;
        for warning in made.warnings {
            println!("{warning}");
        }
        source.made = made.files;
    }
    if args.dry_run {
        println!("{} files are fine, and nothing was published", source.open.len());
        return Ok(());
    }
    let key = key(&args.sign.key)?;
    let mut publication = publication(&args.sign);
    publication.not_after = args.expires.map(|span| publication.now + span.0.as_secs());
    publication.program = program(args);
    let mut waves = waves(args)?.into_iter();
    if let Some(first) = waves.next() {
        publication.rollout = RolloutChoice::Canary(first);
    }
    let done = publisher.publish(&source, &publication, &key).map_err(wrong)?;
    tell(&done);
    match args.watch {
        Some(span) if done.signatures_missing == 0 => {
            let rollout = WatchedRollout { publisher: &publisher, span: span.0, args, key: &key };
            rollout.see_through(done.revision, waves)
        }
        Some(_) | None => Ok(()),
    }
}

/// The program that is asked for.
fn program(args: &PublishArgs) -> ProgramChoice {
    match &*args.program {
        [] if args.without_program => ProgramChoice::Installed,
        [] => ProgramChoice::AsBefore,
        files => ProgramChoice::Builds(files.to_vec()),
    }
}

/// Shares of the edges that go before all of them, in their order.
fn waves(args: &PublishArgs) -> Result<Vec<CanaryShare>, CommandFailure> {
    let first = (!args.canary.is_empty()).then(|| share(&args.canary)).transpose()?;
    let mut waves: Vec<CanaryShare> = first.into_iter().collect();
    for text in &args.waves {
        let mut wave = share(std::slice::from_ref(text))?;
        if let Some(before) = waves.last() {
            if wave.labels.is_empty() && wave.percent <= before.percent {
                return Err(wrong(format!("the wave of {text} is no larger than the one before")));
            }
            // Whoever went before goes on.
            wave.percent = wave.percent.max(before.percent);
            if wave.labels.is_empty() {
                wave.labels = before.labels.clone();
            }
        }
        waves.push(wave);
    }
    match (waves.is_empty(), args.watch) {
        (true, Some(_)) => Err(wrong("nobody goes first: say --canary or --waves beside --watch")),
        (true | false, _) => Ok(waves),
    }
}

/// A roll-out that is watched, wave after wave.
struct WatchedRollout<'r> {
    publisher: &'r FleetPublisher,
    span: Duration,
    args: &'r PublishArgs,
    key: &'r PublisherKey,
}

impl WatchedRollout<'_> {
    /// Gives the revision to one wave after another, each when the one before did well, and then to
    /// all.
    fn see_through(
        &self,
        mut revision: u64,
        waves: impl Iterator<Item = CanaryShare>,
    ) -> Result<(), CommandFailure> {
        for wave in waves {
            watch(self.publisher, revision, self.span)?;
            println!("they are fine; for {}:", told(&wave));
            revision = self.again(RepublishedFiles::NextWave(wave))?;
        }
        watch(self.publisher, revision, self.span)?;
        println!("the canaries are fine; for all edges:");
        self.again(RepublishedFiles::Promoted).map(drop)
    }

    fn again(&self, files: RepublishedFiles) -> Result<u64, CommandFailure> {
        let note = publication_again(self.args);
        let done = self.publisher.republish(&note, self.key, files).map_err(wrong)?;
        tell(&done);
        Ok(done.revision)
    }
}

/// A share, as it is written.
fn told(share: &CanaryShare) -> String {
    let percent = (share.percent > 0).then(|| format!("{}%", share.percent));
    let labels = share.labels.iter().map(|(key, value)| format!("{key}={value}"));
    percent.into_iter().chain(labels).collect::<Vec<_>>().join(", ")
}

fn publication_again(args: &PublishArgs) -> fleet_publish::RevisionNote {
    let mut again = publication(&args.sign);
    again.not_after = args.expires.map(|span| again.now + span.0.as_secs());
    again
}

/// Adds a signature.
pub(crate) fn sign(args: &SignArgs) -> Result<(), CommandFailure> {
    let done = publisher(&args.folder)?.sign_pending(&key(&args.key)?).map_err(wrong)?;
    tell(&done);
    Ok(())
}

/// Gives the canaries' revision to all.
pub(crate) fn promote(args: &SignArgs) -> Result<(), CommandFailure> {
    republish(args, RepublishedFiles::Promoted)
}

/// Publishes earlier files again.
pub(crate) fn rollback(args: &RollbackArgs) -> Result<(), CommandFailure> {
    republish(&args.sign, RepublishedFiles::Earlier(args.to))
}

/// Publishes files that are there.
pub(crate) fn republish(args: &SignArgs, what: RepublishedFiles) -> Result<(), CommandFailure> {
    let publisher = publisher(&args.folder)?;
    let done = publisher.republish(&publication(args), &key(&args.key)?, what).map_err(wrong)?;
    tell(&done);
    Ok(())
}

fn tell(done: &PublishedRevision) {
    let PublishedRevision { revision, chunks_sent, chunks, bytes_sent, signatures_missing } = done;
    println!("revision {revision}: {chunks_sent} of {chunks} parts sent, {bytes_sent} bytes");
    if *signatures_missing > 0 {
        println!(
            "it waits for {signatures_missing} more signatures: tidegate fleet sign FOLDER --key FILE"
        );
    }
}

/// Reads `10%` and `ring=first`.
fn share(texts: &[String]) -> Result<CanaryShare, CommandFailure> {
    let mut share = CanaryShare::default();
    for text in texts {
        let percent = text.strip_suffix('%').and_then(|it| it.parse().ok());
        let label = text
            .split_once('=')
            .filter(|(key, value)| check_label(key).is_ok() && check_label(value).is_ok());
        match (percent, label) {
            (Some(percent @ 1..=99), _) => share.percent = percent,
            (_, Some((key, value))) => {
                share.labels.insert(key.into(), value.into());
            }
            (_, None) => {
                return Err(wrong(format!("{text:?} is neither a share such as 10% nor a label")));
            }
        }
    }
    Ok(share)
}

/// Watches the edges that have a revision for so long; the first that refuses it or fails halts the
/// roll-out, and so do canaries of which none has it in the end.
fn watch(publisher: &FleetPublisher, revision: u64, span: Duration) -> Result<(), CommandFailure> {
    let until = Instant::now() + span;
    let edges = publisher.folder.entries().map_err(wrong)?;
    let halted = |why: String| {
        wrong(format!(
            "halted: {why}; the other edges keep what they have. Publish what mends it, or go back: \
             tidegate fleet rollback FOLDER --to {}",
            revision.saturating_sub(1)
        ))
    };
    loop {
        let statuses = publisher.statuses(&edges).map_err(wrong)?;
        let told = statuses.into_iter().flatten().filter(|it| it.offered == Some(revision));
        let mut in_force = 0;
        for status in told {
            let name = &status.edge;
            match status.state {
                SyncState::Refused => {
                    return Err(halted(format!(
                        "{name} refused it: {}",
                        status.complaints.join("; ")
                    )));
                }
                SyncState::InForce => in_force += 1,
                SyncState::WaitsForCanary | SyncState::Unreached => {}
            }
            let is_failing = status.requests >= REQUESTS_MIN
                && status.failures * 100 > status.requests * FAILURES_PERCENT;
            if status.state == SyncState::InForce && is_failing {
                let (failed, all) = (status.failures, status.requests);
                return Err(halted(format!("{failed} of {all} requests failed at {name}")));
            }
        }
        if Instant::now() >= until {
            return match in_force {
                0 => Err(halted("no canary has it in force".into())),
                _ => Ok(()),
            };
        }
        std::thread::sleep(WATCH_AGAIN.min(until.saturating_duration_since(Instant::now())));
    }
}
