//! Settings: the section `fleet.rows` of the configuration.

use crate::target::RowTarget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::path::PathBuf;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Rows that may wait in a request log, at least and at most.
const BACKLOG_BOUNDS: [u64; 2] = [1_000, 1_000_000_000];
/// Days for which rows and minutes may be kept.
const KEEP_DAYS: [u64; 2] = [1, 3_650];

/// Rows of a fleet's requests in PostgreSQL or ClickHouse. Counts by the minute are sent in any
/// case, rows of requests where `sample` says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RowSettings {
    /// Database: `postgresql://USER:PASSWORD@HOST[:PORT]/NAME`, with `?sslmode=require` behind it
    /// where the connection must be encrypted: the certificate is checked then too. Or ClickHouse
    /// by its HTTP interface: `https://USER:PASSWORD@HOST[:PORT]/DATABASE`.
    /// Passwords are best kept in a file: `${file:…}`.
    pub url: String,
    /// Authorities that are trusted for the database besides the usual ones, in PEM; a relative
    /// path starts from the configuration's folder. Default none.
    pub ca: Option<PathBuf>,
    /// Share of requests of which a row is sent: one of so many, `1` for all, `10` for a tenth; `0`
    /// for none. Default 0.
    pub sample: u32,
    /// Rows of the request log that may wait for the database; older ones are left out and
    /// counted. Default 1000000, from 1000 to 1000000000.
    pub backlog: u64,
    /// Time for which the database keeps rows, in whole days. Default 14d, from 1d to 3650d.
    pub keep: Text<TimeSpan>,
    /// Time for which the database keeps counts by the minute, in whole months. Default 400d, from
    /// 1d to 3650d.
    pub keep_minutes: Text<TimeSpan>,
}

impl Default for RowSettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            ca: None,
            sample: 0,
            backlog: 1_000_000,
            keep: days(14),
            keep_minutes: days(400),
        }
    }
}

const fn days(count: u64) -> Text<TimeSpan> {
    Text(TimeSpan(Duration::from_hours(count * 24)))
}

impl RowSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        complaints.extend(self.target().err());
        let [least, most] = BACKLOG_BOUNDS;
        if !(least..=most).contains(&self.backlog) {
            complaints.push(
                Complaint::new("backlog", format!("{} is out of bounds", self.backlog))
                    .remedy(format!("write {least} to {most}")),
            );
        }
        for (path, kept) in [("keep", &self.keep), ("keep_minutes", &self.keep_minutes)] {
            let [least, most] = KEEP_DAYS;
            if !(days(least).0.0..=days(most).0.0).contains(&kept.0.0) {
                complaints.push(
                    Complaint::new(path, format!("{kept} is out of bounds"))
                        .remedy(format!("write {least}d to {most}d")),
                );
            }
        }
        complaints
    }

    /// The database that the URL names, or a complaint that tells no secret.
    pub(crate) fn target(&self) -> Result<RowTarget, Complaint> {
        RowTarget::parse(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_url(url: &str) -> RowSettings {
        RowSettings { url: url.into(), ..RowSettings::default() }
    }

    #[test]
    fn every_bound_is_checked() {
        let wrong = RowSettings {
            backlog: 999,
            keep: Text(TimeSpan(Duration::from_hours(23))),
            keep_minutes: days(3_651),
            ..with_url("postgresql://a@db/x")
        };
        let paths: Vec<_> = wrong.check().iter().map(|it| it.path.clone()).collect();
        assert_eq!(
            paths.iter().map(String::as_str).collect::<Vec<_>>(),
            ["backlog", "keep", "keep_minutes"]
        );
    }
}
