//! When jobs come due.
//!
//! Pure: the time is handed in. A job that was missed, because the machine slept or the clock was
//! set, runs once and not once for every time it missed; a clock that was set back sets the times
//! anew. Called by the scheduler in `jobs`.

use super::settings::{EFFECTS_MAX, JobSettings, JobTime};
use cronexpr::{Crontab, FallbackTimezoneOption, MakeTimestamp, ParseOptions, parse_crontab_with};
use std::time::Duration;
use vocab::{Complaint, Now};

/// Shortest interval, as with cron itself.
pub const INTERVAL_MIN: Duration = Duration::from_mins(1);
const INTERVAL_MAX: Duration = Duration::from_hours(366 * 24);
/// A clock that goes back by less is being steered, not set.
const CLOCK_STEP_MS: u64 = 60_000;
/// Time to wait before another look where nothing comes due: the clock may be set meanwhile.
const RECHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Tells what makes a job come due.
#[derive(Clone, Debug)]
enum JobRhythm {
    /// By the calendar; the next time in milliseconds since 1970, if there is one.
    Calendar { crontab: Box<Crontab>, next_unix_ms: Option<u64> },
    /// By elapsed time, on the clock that is never set.
    Elapsed { every: Duration, next_mono_ms: u64 },
}

/// The times of all jobs.
#[derive(Clone, Debug)]
pub(super) struct JobTimetable {
    schedules: Vec<JobRhythm>,
    seen_unix_ms: u64,
}

/// A job that has come due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueJob {
    pub(super) job: usize,
    /// When it should have run.
    pub(super) at_unix_ms: u64,
}

impl JobSettings {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        let mut wrong = Vec::new();
        if let Err(complaint) = JobRhythm::new(&self.when, Now { unix_ms: 0, mono_ms: 0 }) {
            wrong.push(complaint);
        }
        let count = self.effects.len();
        super::bounds(&mut wrong, "executors", &count, &(1..=EFFECTS_MAX), "at least one");
        wrong
    }
}

impl JobTime {
    /// `schedule` or `interval`, as placeholders call it.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Cron { .. } => "schedule",
            Self::Every(_) => "interval",
        }
    }
}

impl JobRhythm {
    fn new(when: &JobTime, now: Now) -> Result<Self, Complaint> {
        match when {
            JobTime::Every(every) if (INTERVAL_MIN..=INTERVAL_MAX).contains(every) => {
                let next_mono_ms = now.mono_ms + millis(*every);
                Ok(Self::Elapsed { every: *every, next_mono_ms })
            }
            JobTime::Every(every) => {
                let message = format!("{every:?} is out of bounds");
                Err(Complaint::new("interval", message).remedy("from 1m to 366d"))
            }
            JobTime::Cron { fields, timezone } => {
                let complain = |message: String| {
                    let remedy = "write five fields, as in 30 4 * * *, and a zone as in UTC";
                    Complaint::new("schedule", message).remedy(remedy)
                };
                let count = fields.split_ascii_whitespace().count();
                if count != 5 {
                    return Err(complain(format!("{fields:?} has {count} fields")));
                }
                let zone = timezone.as_deref().map(str::trim).filter(|it| !it.is_empty());
                let whole = format!("{fields} {}", zone.unwrap_or_default());
                let mut options = ParseOptions::default();
                options.fallback_timezone_option = FallbackTimezoneOption::System;
                let crontab = parse_crontab_with(whole.trim(), options)
                    .map_err(|why| complain(why.to_string().replace('\n', " ")))?;
                let next_unix_ms = next_after(&crontab, now.unix_ms);
                Ok(Self::Calendar { crontab: Box::new(crontab), next_unix_ms })
            }
        }
    }
}

impl JobTimetable {
    /// When `jobs` come due, counted from `now`.
    pub(super) fn new<'j>(
        jobs: impl IntoIterator<Item = &'j JobSettings>,
        now: Now,
    ) -> Result<Self, Vec<Complaint>> {
        let mut wrong = Vec::new();
        let mut rhythms = Vec::new();
        for (index, job) in jobs.into_iter().enumerate() {
            match JobRhythm::new(&job.when, now) {
                Ok(rhythm) => rhythms.push(rhythm),
                Err(complaint) => wrong.push(complaint.under(&format!("jobs.{index}"))),
            }
        }
        if wrong.is_empty() {
            Ok(Self { schedules: rhythms, seen_unix_ms: now.unix_ms })
        } else {
            Err(wrong)
        }
    }

    /// The jobs that have come due, each once; their next times are after `now`.
    pub(super) fn take_due(&mut self, now: Now) -> Vec<DueJob> {
        let was_set_back = now.unix_ms + CLOCK_STEP_MS < self.seen_unix_ms;
        self.seen_unix_ms = now.unix_ms;
        let mut due = Vec::new();
        for (job, rhythm) in self.schedules.iter_mut().enumerate() {
            match rhythm {
                JobRhythm::Calendar { crontab, next_unix_ms } if was_set_back => {
                    *next_unix_ms = next_after(crontab, now.unix_ms);
                }
                JobRhythm::Calendar { crontab, next_unix_ms } => {
                    if let Some(at_unix_ms) = next_unix_ms.filter(|next| *next <= now.unix_ms) {
                        *next_unix_ms = next_after(crontab, now.unix_ms);
                        due.push(DueJob { job, at_unix_ms });
                    }
                }
                JobRhythm::Elapsed { every, next_mono_ms } => {
                    if let Some(late_ms) = now.mono_ms.checked_sub(*next_mono_ms) {
                        // In step with before, unless whole turns were missed.
                        let missed_ms = late_ms / millis(*every) * millis(*every);
                        *next_mono_ms += missed_ms + millis(*every);
                        due.push(DueJob { job, at_unix_ms: now.unix_ms.saturating_sub(late_ms) });
                    }
                }
            }
        }
        due
    }

    /// Returns how long until the next look is due.
    pub(super) fn wait(&self, now: Now) -> Duration {
        let waits = self.schedules.iter().filter_map(|rhythm| match rhythm {
            JobRhythm::Calendar { next_unix_ms, .. } => {
                Some((*next_unix_ms)?.saturating_sub(now.unix_ms))
            }
            JobRhythm::Elapsed { next_mono_ms, .. } => {
                Some(next_mono_ms.saturating_sub(now.mono_ms))
            }
        });
        // At least a moment: the coarse clocks lag behind by as much as 10 ms.
        waits
            .min()
            .map_or(RECHECK_INTERVAL, Duration::from_millis)
            .clamp(Duration::from_millis(1), RECHECK_INTERVAL)
    }

    /// When a job comes due next, in milliseconds since 1970.
    pub(super) fn next_unix_ms(&self, job: usize, now: Now) -> Option<u64> {
        match self.schedules.get(job)? {
            JobRhythm::Calendar { next_unix_ms, .. } => *next_unix_ms,
            JobRhythm::Elapsed { next_mono_ms, .. } => {
                Some(now.unix_ms + next_mono_ms.saturating_sub(now.mono_ms))
            }
        }
    }
}

/// None where no such day ever comes: 30 February.
fn next_after(crontab: &Crontab, unix_ms: u64) -> Option<u64> {
    let from = MakeTimestamp::from_millisecond(i64::try_from(unix_ms).ok()?).ok()?;
    let next = crontab.find_next(from).ok()?;
    u64::try_from(next.timestamp().as_millisecond()).ok()
}

const fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::super::settings::EffectId;
    use super::*;

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;
    /// 2026-03-01T00:00:00Z.
    const BEGIN: u64 = 1_772_323_200_000;

    fn job(when: JobTime) -> JobSettings {
        let effects = vec![EffectId(0)];
        JobSettings { schedule: "s".into(), name: "j".into(), when, effects }
    }

    fn cron(fields: &str, zone: &str) -> JobSettings {
        job(JobTime::Cron { fields: fields.into(), timezone: Some(zone.into()) })
    }

    fn at(ms: u64) -> Now {
        Now { unix_ms: BEGIN + ms, mono_ms: 5000 + ms }
    }

    fn fired(table: &mut JobTimetable, now: Now) -> usize {
        table.take_due(now).len()
    }

    #[test]
    fn a_cron_job_runs_at_its_minute_in_its_zone() {
        let check = |fields: &str, zone: &str, first_ms: u64| {
            let table = JobTimetable::new(&[cron(fields, zone)], at(0)).expect("right");
            assert_eq!(table.next_unix_ms(0, at(0)), Some(BEGIN + first_ms), "{fields} {zone}");
        };
        check("30 4 * * *", "UTC", 4 * HOUR + HOUR / 2);
        check("0 9 * * *", "Asia/Tokyo", DAY);
        check("15 9 * * *", "Asia/Tokyo", HOUR / 4);
        check("0 0 * * MON", "UTC", DAY);
        check("*/20 * * * *", "UTC", HOUR / 3);
    }

    #[test]
    fn the_hour_that_a_zone_skips_costs_no_run_and_the_one_it_repeats_brings_no_second() {
        // 29 March 2026 in Berlin: 02:00 to 03:00 does not exist. 25 October: it comes twice.
        let mut table =
            JobTimetable::new(&[cron("30 2 * * *", "Europe/Berlin")], at(0)).expect("right");
        let runs = (0..365).map(|day| fired(&mut table, at(day * DAY + 12 * HOUR))).sum::<usize>();
        assert!((364..=365).contains(&runs), "{runs}");
    }

    #[test]
    fn a_machine_that_slept_for_a_week_runs_each_job_once() {
        let jobs = [cron("* * * * *", "UTC"), job(JobTime::Every(INTERVAL_MIN))];
        let mut table = JobTimetable::new(&jobs, at(0)).expect("right");
        assert_eq!(fired(&mut table, at(59_999)), 0);
        assert_eq!(fired(&mut table, at(60_000)), 2);
        assert_eq!(fired(&mut table, at(7 * DAY + 30_000)), 2);
        assert_eq!(fired(&mut table, at(7 * DAY + 59_999)), 0);
        assert_eq!(fired(&mut table, at(7 * DAY + 60_000)), 2);
    }

    #[test]
    fn a_clock_that_is_set_fires_at_most_once_and_never_stops_a_job() {
        let mut table = JobTimetable::new(&[cron("0 * * * *", "UTC")], at(0)).expect("right");
        let clock = |unix_ms| Now { unix_ms: BEGIN + unix_ms, mono_ms: 1 };
        assert_eq!(fired(&mut table, clock(10 * 365 * DAY)), 1, "ten years ahead");
        assert_eq!(fired(&mut table, clock(1000)), 0, "and back");
        assert_eq!(fired(&mut table, clock(HOUR - 1)), 0);
        assert_eq!(fired(&mut table, clock(HOUR)), 1, "in step again");
        let mut elapsed =
            JobTimetable::new(&[job(JobTime::Every(INTERVAL_MIN))], at(0)).expect("right");
        assert_eq!(fired(&mut elapsed, Now { unix_ms: BEGIN + 99 * DAY, mono_ms: 5001 }), 0);
    }

    #[test]
    fn the_wait_is_short_enough_to_notice_a_clock_being_set() {
        let table = JobTimetable::new(&[cron("0 0 1 1 *", "UTC")], at(0)).expect("right");
        assert_eq!(table.wait(at(0)), RECHECK_INTERVAL);
        let table = JobTimetable::new(&[job(JobTime::Every(INTERVAL_MIN))], at(0)).expect("right");
        assert_eq!(table.wait(at(50_000)), Duration::from_secs(10));
    }

    #[test]
    fn wrong_times_are_refused() {
        for (fields, zone) in [
            ("* * * *", "UTC"),
            ("* * * * * *", "UTC"),
            ("60 * * * *", "UTC"),
            ("@daily", "UTC"),
            ("* * * * *", "Middle/Earth"),
        ] {
            assert_eq!(cron(fields, zone).check().len(), 1, "{fields} {zone}");
        }
        assert_eq!(job(JobTime::Every(Duration::from_secs(59))).check()[0].path, "interval");
        let idle = JobSettings { effects: Vec::new(), ..cron("0 0 * * *", "UTC") };
        assert_eq!(idle.check()[0].path, "executors");
    }
}
