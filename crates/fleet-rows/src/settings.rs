//! Settings: the section `fleet.rows` of the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Text, without_credentials};
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use vocab::{Complaint, TimeSpan};

/// Rows that may wait in a request log, at least and at most.
const BACKLOG_BOUNDS: [u64; 2] = [1_000, 1_000_000_000];
/// Days for which rows and minutes may be kept.
const KEEP_DAYS: [u64; 2] = [1, 3_650];
/// Beginnings of a database's URL.
const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// Rows of a fleet's requests in PostgreSQL. Counts by the minute are sent in any case, rows of
/// requests where `sample` says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RowSettings {
    /// Database: `postgresql://USER:PASSWORD@HOST[:PORT]/NAME`, with `?sslmode=require` behind it
    /// where the connection must be encrypted: the certificate is checked then too.
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
        complaints.extend(self.database().err());
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
    pub(crate) fn database(&self) -> Result<Config, Complaint> {
        let wrong = |why: String| {
            Complaint::new("url", why).remedy("write postgresql://USER:PASSWORD@HOST/NAME")
        };
        if self.url.is_empty() {
            return Err(wrong("no database is named".into()));
        }
        if !SCHEMES.iter().any(|scheme| self.url.starts_with(scheme)) {
            return Err(wrong("it is no URL of PostgreSQL".into()));
        }
        let path = self.url.split('?').next().unwrap_or_default();
        let shown = without_credentials(path);
        let config: Config = self
            .url
            .parse()
            .map_err(|_| wrong(format!("{shown:?} cannot be read as a URL of PostgreSQL")))?;
        if config.get_user().is_none_or(str::is_empty) {
            return Err(wrong(format!("{shown:?} names no user")));
        }
        let is_named = |host: &Host| match host {
            Host::Tcp(name) => !name.is_empty(),
            Host::Unix(_) => true,
        };
        if config.get_hosts().is_empty() || !config.get_hosts().iter().all(is_named) {
            return Err(wrong(format!("{shown:?} names no host")));
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_url(url: &str) -> RowSettings {
        RowSettings { url: url.into(), ..RowSettings::default() }
    }

    #[test]
    fn a_url_says_everything_that_the_others_leave_to_defaults() {
        for url in [
            "postgresql://tidegate:secret@db.example/fleet",
            "postgres://tidegate@10.0.0.1:6432/fleet?sslmode=require",
            "postgresql://tidegate@%2Frun%2Fpostgresql/fleet",
        ] {
            assert_eq!(with_url(url).check(), [], "{url}");
        }
    }

    #[test]
    fn a_wrong_url_is_a_complaint_that_tells_no_password() {
        for (url, why) in [
            ("", "no database is named"),
            ("mysql://a:hidden@db/x", "is no URL of PostgreSQL"),
            ("host=db user=a password=hidden", "is no URL of PostgreSQL"),
            ("postgresql:///x?user=a&password=hidden", "names no host"),
            ("postgresql://a:hidden@db:port/x", "cannot be read"),
            ("postgresql://a:hidden@db/x?sslmode=perhaps", "cannot be read"),
            ("postgresql://db/x", "names no user"),
            ("postgresql:///x?user=a", "names no host"),
        ] {
            let complaints = with_url(url).check();
            let told = complaints[0].to_string();
            assert!(told.contains(why) && !told.contains("hidden"), "{url}: {told}");
        }
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
