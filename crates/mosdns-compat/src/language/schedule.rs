//! Arguments of `cron`: which executors run when.
//!
//! Whether a schedule can be is looked at by who runs it. Called by [`super::executors`].

use super::position::PlacedWord;
use super::tree::{ConfigSection, UnknownKeys, span_of};
use std::time::Duration;

/// Jobs of one plugin, at most.
const JOBS_MAX: usize = 256;

/// Executors that run by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronPlugin {
    /// An IANA time zone. None: the system's.
    pub timezone: Option<String>,
    /// The jobs. At least one.
    pub jobs: Vec<CronJob>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJob {
    /// What it is called.
    pub name: String,
    /// When it runs.
    pub when: CronTime,
    /// What it runs: `$tag`, `tag`, or a quick form. At least one.
    pub executors: Vec<PlacedWord>,
}

/// When a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronTime {
    /// At the minutes that these five fields name.
    Fields(String),
    /// Again and again, at least a minute apart.
    Every(Duration),
}

pub(super) fn cron(section: &mut ConfigSection<'_>) -> CronPlugin {
    let timezone = section.text("timezone").map(|it| it.text);
    let mut jobs: Vec<CronJob> = Vec::new();
    for mut it in section.sections("jobs").into_iter().take(JOBS_MAX) {
        let place = it.position.clone();
        let job = job(&mut it);
        it.finish(UnknownKeys::AsUsual);
        let Some(job) = job else { continue };
        if jobs.iter().any(|other| other.name == job.name) {
            let message = format!("another job is called {:?} too", job.name);
            section.notes.complain(place.below("name").complaint(message));
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        section.missing("jobs");
    }
    CronPlugin { timezone, jobs }
}

fn job(section: &mut ConfigSection<'_>) -> Option<CronJob> {
    let name = section.needed("name");
    let (fields, interval) = (section.text("schedule"), section.text("interval"));
    let executors = section.texts("executors");
    if executors.is_empty() {
        section.missing("executors");
    }
    let when = match (fields, interval) {
        (Some(fields), None) if fields.text.split_whitespace().count() == 5 => {
            Some(CronTime::Fields(fields.text))
        }
        (Some(fields), None) => {
            let complaint = fields.position.complaint(format!("{:?} is no schedule", fields.text));
            let remedy = "five fields: minute, hour, day, month, day of the week";
            section.notes.complain(complaint.remedy(remedy));
            None
        }
        (None, Some(interval)) => {
            let has_unit = interval.text.ends_with(|it: char| it.is_ascii_alphabetic());
            let span = span_of(&interval.text).filter(|it| has_unit && it.as_secs() >= 60);
            if span.is_none() {
                let complaint =
                    interval.position.complaint(format!("{:?} cannot be", interval.text));
                section.notes.complain(complaint.remedy("at least 1m, with its unit"));
            }
            span.map(CronTime::Every)
        }
        (Some(_), Some(_)) | (None, None) => {
            let complaint = section.position.complaint("a job has a schedule or an interval");
            section.notes.complain(complaint.remedy("set one of them"));
            None
        }
    };
    Some(CronJob { name: name?.text, when: when?, executors })
}
