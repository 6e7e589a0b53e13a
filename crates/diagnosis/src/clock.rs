//! The clock, beside the one of a server that the configuration names anyhow.
//!
//! Nobody else is asked: which servers a machine speaks to is the operator's to say.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::resolv_conf::host;
use http::header::{DATE, HOST};
use http_engine::Body;
use http_engine::client::connect_http1;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use transport::tls::{Alpn, ConnectError};
use transport::{ClientTls, dial};
use url::Url;

const GROUP: CheckGroup = CheckGroup::Clock;
const DIAL_MAX: Duration = Duration::from_secs(2);
/// Servers that are asked one after the other, at most.
const ASKED_MAX: usize = 3;
/// A clock that is so far off breaks short-lived certificates and one-time passwords.
const SKEW_MAX: Duration = Duration::from_secs(30);
const REMEDY: &str =
    "set it right and keep it so: timedatectl set-ntp true, or systemctl enable --now chrony";

/// Reason why a server tells no time.
enum NoTime {
    /// Not trusted, which a wrong clock can make so.
    Untrusted(String),
    /// Anything else.
    Silent,
}

pub(crate) async fn check(subject: Arc<DiagnosisSubject>) -> Vec<MachineFinding> {
    let places = places(&subject);
    if places.is_empty() {
        let what = "the clock was held against none: no upstream and no list is asked over HTTPS";
        return vec![MachineFinding::note(GROUP, what)];
    }
    let mut untrusted = None;
    for (host, port) in places.into_iter().take(ASKED_MAX) {
        match date(&host, port).await {
            Ok(theirs) => {
                let ours = Duration::from_secs(transport::clock::now().unix_secs());
                return vec![judged(&host, SystemTime::UNIX_EPOCH + ours, theirs)];
            }
            Err(NoTime::Untrusted(why)) => untrusted = untrusted.or(Some((host, why))),
            Err(NoTime::Silent) => {}
        }
    }
    vec![match untrusted {
        Some((host, why)) if is_of_the_clock(&why) => {
            let what = format!("the clock is probably wrong: the certificate of {host}: {why}");
            MachineFinding::obstacle(GROUP, what).remedy(REMEDY)
        }
        Some(_) | None => {
            MachineFinding::note(GROUP, "the clock was held against none: nobody answered")
        }
    }]
}

/// HTTPS servers that the configuration has asked anyhow.
fn places(subject: &DiagnosisSubject) -> Vec<(String, u16)> {
    let file = &subject.plan.file;
    let settings = file.dns.clone().unwrap_or_default().resolver();
    let upstreams = settings.groups.iter().flat_map(|group| &group.upstreams);
    let upstreams = upstreams.map(|it| it.address().to_owned());
    let lists = file.policy.lists.iter().filter_map(|list| list.url.clone());
    let urls = upstreams.chain(lists).filter(|url| url.starts_with("https://"));
    urls.filter_map(|url| {
        let port = Url::parse(&url).ok()?.port_or_known_default()?;
        Some((host(&url)?, port))
    })
    .collect()
}

/// The server's time, by the answer to a request for its root.
async fn date(host: &str, port: u16) -> Result<SystemTime, NoTime> {
    let silent = |_| NoTime::Silent;
    let mut found = tokio::net::lookup_host((host, port)).await.map_err(silent)?;
    let address = found.next().ok_or(NoTime::Silent)?;
    let stream = dial(address, DIAL_MAX).await.map_err(|_| NoTime::Silent)?;
    let tls = ClientTls::new().connect(stream, host, &[Alpn::Http1]).await;
    let tls = tls.map_err(|why| match why {
        ConnectError::Untrusted(why) => NoTime::Untrusted(why),
        ConnectError::BadName(_) | ConnectError::Closed | ConnectError::Other(_) => NoTime::Silent,
    })?;
    let request = http::Request::head("/").header(HOST, host).body(Body::empty());
    let request = request.map_err(|_| NoTime::Silent)?;
    let answer = connect_http1(tls).send(request).await.map_err(|_| NoTime::Silent)?;
    let date = answer.headers().get(DATE).and_then(|it| it.to_str().ok());
    date.and_then(|it| httpdate::parse_http_date(it).ok()).ok_or(NoTime::Silent)
}

fn is_of_the_clock(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    ["expired", "notvalidyet", "not valid yet"].iter().any(|sign| why.contains(sign))
}

fn judged(host: &str, ours: SystemTime, theirs: SystemTime) -> MachineFinding {
    let ahead = ours.duration_since(theirs);
    let (skew, side) = match ahead {
        Ok(skew) => (skew, "ahead of"),
        Err(why) => (why.duration(), "behind"),
    };
    if skew <= SKEW_MAX {
        return MachineFinding::fine(GROUP, format!("the clock agrees with that of {host}"));
    }
    let what = format!("the clock is {} s {side} that of {host}", skew.as_secs());
    // Certificates allow minutes, not days.
    let is_bad = skew > Duration::from_hours(1);
    let finding =
        if is_bad { MachineFinding::obstacle } else { MachineFinding::warning }(GROUP, what);
    finding.remedy(REMEDY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_clock_that_differs_is_told_with_how_much_and_which_way() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(judged("a.test", at(1000), at(1005)).severity, FindingSeverity::Fine);
        let behind = judged("a.test", at(1000), at(1100));
        assert_eq!(behind.severity, FindingSeverity::Warning);
        assert_eq!(behind.what, "the clock is 100 s behind that of a.test");
        let ahead = judged("a.test", at(100_000), at(0));
        assert_eq!(ahead.severity, FindingSeverity::Obstacle);
        assert!(ahead.what.contains("100000 s ahead of") && ahead.remedy.is_some());
    }

    #[test]
    fn certificates_that_are_over_speak_of_the_clock_and_others_do_not() {
        assert!(is_of_the_clock("invalid peer certificate: Expired"));
        assert!(is_of_the_clock("invalid peer certificate: certificate not valid yet"));
        assert!(!is_of_the_clock("invalid peer certificate: UnknownIssuer"));
    }
}
