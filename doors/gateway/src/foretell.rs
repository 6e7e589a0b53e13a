//! What a request would meet that a person asks about: the same decision, and nothing is counted or done.
//!
//! It knows neither fields nor connection, so routes that ask for fields are held against none, and
//! guards that look at clients (limits, passwords) are not asked. Called for `why`.

use crate::decide::{Decision, decide};
use crate::door::{Door, Setup};
use crate::guards::Occasion;
use crate::matching::Asked;
use crate::own::Own;
use crate::path::BadPath;
use crate::readings::SlashRules;
use crate::request::{Aim, Led, Wish, aim};
use crate::route::{Destination, Route, in_words};
use http::uri::Authority;
use http::{HeaderMap, Method, Uri};
use policy::{RuleText, Verdict};
use std::net::IpAddr;
use std::sync::Arc;
use upstream::origins::{Origin, OriginScheme};
use vocab::{DomainName, Kind, Now};

/// What a request would meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foretold {
    /// The pattern of the gateway's own that refuses it; not one that only logs.
    pub refused_by: Option<RuleText>,
    /// Verdict of the policy that blocks it, in one spelling of its path or another.
    pub blocked: Option<Verdict>,
    /// What the gateway would do, in a few words.
    pub outcome: String,
}

impl Door {
    /// Forecast for a `GET` of this absolute URL, from this page; none where no client could ask
    /// the gateway for it.
    pub fn foretell(
        &self,
        (client, page): (IpAddr, Option<&DomainName>),
        (url, kind): (&str, Kind),
        now: Now,
    ) -> Option<Foretold> {
        let setup = self.setup();
        let wish = match wish(client, url, kind, setup.slashes)? {
            Ok(wish) => Wish { page: page.cloned(), ..wish },
            Err(why) => {
                let outcome = refused(why);
                return Some(Foretold { refused_by: None, blocked: None, outcome });
            }
        };
        let (method, headers) = (Method::GET, HeaderMap::new());
        let asked = Asked { method: &method, headers: &headers };
        let decision = decide((self, &setup), &wish, (asked, Occasion::Question), now);
        let mut blocked = None;
        let (refused_by, outcome) = match &decision {
            Decision::Block(verdict, Some(block)) => {
                let rule = verdict.cause.rule().and_then(|rule| block.rule_text(rule));
                (rule, block.answer.in_words())
            }
            Decision::Block(verdict, None) => {
                blocked = Some(*verdict);
                (None, "403 that names list and rule".into())
            }
            Decision::Pass(verdict, route) => {
                let noted = verdict.cause.rule().and_then(|rule| setup.rule_text(rule));
                let noted = noted.map_or_else(String::new, |rule| {
                    format!(
                        "; {} stands on line {} of {}, which only logs",
                        rule.text, rule.line, rule.list
                    )
                });
                (None, format!("{}{noted}", setup.leads(route)))
            }
            Decision::Nowhere(_) => (None, "404: no route fits".into()),
            Decision::Refuse(why) => (None, refused(*why)),
        };
        Some(Foretold { refused_by, blocked, outcome })
    }
}

fn refused(why: BadPath) -> String {
    format!("400: {why}")
}

/// As `request` reads it from a client, which sends no field but `Host`; none where no client could
/// ask for it.
fn wish(client: IpAddr, url: &str, kind: Kind, rules: SlashRules) -> Option<Result<Wish, BadPath>> {
    let uri: Uri = url.parse().ok()?;
    let scheme =
        if uri.scheme_str() == Some("https") { OriginScheme::Https } else { OriginScheme::Http };
    let origin = Origin::from_authority(scheme, uri.authority().map(Authority::as_str)?).ok()?;
    let Aim { path, plain, raw } = match aim(uri.path(), uri.query(), rules) {
        Ok(aimed) => aimed,
        Err(why) => return Some(Err(why)),
    };
    Some(Ok(Wish {
        client,
        local: None,
        host: origin.host.to_name(),
        page: None,
        kind,
        url: origin.url(&path),
        path,
        plain,
        raw,
        led: Led::ByClient,
    }))
}

impl Setup {
    /// Where a route leads, in words.
    fn leads(&self, route: &Arc<Route>) -> String {
        let number = self.routes.iter().position(|one| Arc::ptr_eq(one, route)).unwrap_or_default();
        let does = match &route.to {
            Some(Destination::Pool(_)) => {
                let pool = self.settings.routes.get(number).and_then(|it| it.pool.as_deref());
                format!("passes it to the pool {}", pool.unwrap_or("?"))
            }
            Some(Destination::Own(Own::Redirect { status, .. })) => {
                format!("sends the client elsewhere with {}", status.as_str())
            }
            Some(Destination::Own(Own::Fixed { status, .. })) => {
                format!("answers with {} and fixed words", status.as_str())
            }
            Some(Destination::Own(Own::Null)) => "gives an empty answer".into(),
            Some(Destination::Folder(_)) => "serves it from a folder".into(),
            None => "404".into(),
        };
        format!("{does} ({})", in_words(number))
    }
}
