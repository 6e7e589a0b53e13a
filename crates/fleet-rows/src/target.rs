//! The database that a URL names: PostgreSQL, or ClickHouse by its HTTP interface.

use crate::clickhouse_client::ClickHouseAddress;
use fetch::Url;
use percent_encoding::percent_decode_str;
use settings::without_credentials;
use std::borrow::Cow;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use vocab::Complaint;

/// Database that rows go to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RowTarget {
    Postgres(Box<Config>),
    ClickHouse(Box<ClickHouseAddress>),
}

impl RowTarget {
    /// Reads a URL, or complains without telling a secret.
    pub(crate) fn parse(url: &str) -> Result<Self, Complaint> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        match scheme {
            "postgresql" | "postgres" => postgres(url).map(|it| Self::Postgres(Box::new(it))),
            "http" | "https" => clickhouse(url).map(|it| Self::ClickHouse(Box::new(it))),
            _ if url.is_empty() => Err(wrong("no database is named".into())),
            _ => Err(wrong("it is no URL of PostgreSQL, nor of ClickHouse".into())),
        }
    }
}

fn wrong(why: String) -> Complaint {
    let remedy = "write postgresql://USER:PASSWORD@HOST/NAME, or https://USER:PASSWORD@HOST/NAME \
                  for ClickHouse";
    Complaint::new("url", why).remedy(remedy)
}

fn postgres(url: &str) -> Result<Config, Complaint> {
    let path = url.split('?').next().unwrap_or_default();
    let shown = without_credentials(path);
    let config: Config = url
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

fn clickhouse(url: &str) -> Result<ClickHouseAddress, Complaint> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let shown = format!("{host}/{database}");
    // It stands in every question, bare.
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    if database.is_empty() || !database.bytes().all(is_plain) {
        return Err(wrong(format!("{shown:?} names no database by letters, digits and _")));
    }
    let (user, key) = user.split_once(':').unwrap_or((user, ""));
    if user.is_empty() {
        return Err(wrong(format!("{shown:?} names no user")));
    }
    let text = |part: &str| {
        let decoded = percent_decode_str(part).decode_utf8();
        decoded.map(Cow::into_owned).map_err(|_| wrong(format!("{shown:?}: its user is no text")))
    };
    let (user, key) = (text(user)?, text(key)?);
    let url = Url::parse(&format!("{scheme}://{host}/"));
    let url = url.map_err(|why| wrong(format!("{shown:?}: {why}")))?;
    Ok(ClickHouseAddress { url, user, key, database: database.into() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_everything_that_the_others_leave_to_defaults() {
        for url in [
            "postgresql://tidegate:secret@db.example/fleet",
            "postgres://tidegate@10.0.0.1:6432/fleet?sslmode=require",
            "postgresql://tidegate@%2Frun%2Fpostgresql/fleet",
        ] {
            assert!(matches!(RowTarget::parse(url), Ok(RowTarget::Postgres(_))), "{url}");
        }
    }

    #[test]
    fn a_wrong_url_is_a_complaint_that_tells_no_password() {
        for (url, why) in [
            ("", "no database is named"),
            ("mysql://a:hidden@db/x", "is no URL of PostgreSQL, nor of"),
            ("host=db user=a password=hidden", "is no URL of PostgreSQL, nor of"),
            ("postgresql:///x?user=a&password=hidden", "names no host"),
            ("postgresql://a:hidden@db:port/x", "cannot be read"),
            ("postgresql://a:hidden@db/x?sslmode=perhaps", "cannot be read"),
            ("postgresql://db/x", "names no user"),
            ("postgresql:///x?user=a", "names no host"),
            ("https://a:hidden@db.example", "names no database"),
            ("https://a:hidden@db.example/x?y=1", "names no database"),
            ("https://db.example/fleet", "names no user"),
            ("https://a:hidden@:1/fleet", ":1/fleet"),
        ] {
            let told = RowTarget::parse(url).unwrap_err().to_string();
            assert!(told.contains(why) && !told.contains("hidden"), "{url}: {told}");
        }
    }

    #[test]
    fn a_url_of_clickhouse_says_who_asks_whom_about_which_database() {
        let found =
            RowTarget::parse("https://tide%40gate:se%3Acret@db.example:8443/fleet").unwrap();
        let RowTarget::ClickHouse(address) = found else { panic!("{found:?}") };
        assert_eq!(address.url.to_string(), "https://db.example:8443/");
        assert_eq!([&*address.user, &*address.key], ["tide@gate", "se:cret"]);
        assert_eq!(address.database, "fleet");
    }
}
