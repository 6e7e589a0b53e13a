//! The forecast for a request that a person asks about: the same decision, and nothing is counted
//! or done.
//!
//! It knows neither fields nor connection, so routes that ask for fields are held against none, and
//! guards that look at clients (limits, passwords) are not asked. Called for `why`.

use crate::decide::{RequestRules, RouteDecision, RouteQuestion, decide};
use crate::door::GatewayDoor;
use crate::guards::BlockOccasion;
use crate::route::{GatewayRoute, RouteDestination, display_name};
use crate::settings::FixedAnswer;
use crate::setup::GatewaySetup;
use http::uri::Authority;
use http::{HeaderMap, Method, Uri};
use origins::{Origin, OriginScheme};
use policy::{RuleText, Verdict};
use route_matching::{BadPath, MatchInput, ParsedRequest, PathSource, RequestAim, SlashRules};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use vocab::{DomainName, Now, RequestKind};

/// A `GET` that a person asks about.
#[derive(Clone, Copy, Debug)]
pub struct ForecastQuestion<'q> {
    /// Address of the client.
    pub client: IpAddr,
    /// The page from which it is asked for.
    pub page: Option<&'q DomainName>,
    /// The absolute URL.
    pub url: &'q str,
    /// Kind of thing that is asked for.
    pub kind: RequestKind,
}

/// Holds what a request would meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayForecast {
    /// The pattern of the gateway's own that refuses it; not one that only logs.
    pub refused_by: Option<RuleText>,
    /// Verdict of the policy that blocks it, in one spelling of its path or another.
    pub blocked: Option<Verdict>,
    /// Outcome at the gateway, in a few words.
    pub outcome: String,
}

impl GatewayDoor {
    /// Forecast for a request; none where no client could ask
    /// the gateway for it.
    pub fn preview(&self, question: &ForecastQuestion<'_>, now: Now) -> Option<GatewayForecast> {
        let setup = self.setup();
        let parsed = match parsed(question, setup.table.slashes)? {
            Ok(parsed) => parsed,
            Err(why) => {
                let outcome = refused(why);
                return Some(GatewayForecast { refused_by: None, blocked: None, outcome });
            }
        };
        let (method, headers, local) = (Method::GET, HeaderMap::new(), came_to(question.url));
        let rules = RequestRules { table: &setup.table, policy: &self.parts.policy };
        let question = RouteQuestion {
            parsed: &parsed,
            input: MatchInput { method: &method, headers: &headers, local, peer: parsed.client },
            occasion: BlockOccasion::Question,
            local: None,
            now,
        };
        let decision = decide(rules, &question);
        let mut blocked = None;
        let (refused_by, outcome) = match &decision {
            RouteDecision::Block(verdict, Some(block)) => {
                let rule = verdict.cause.rule().and_then(|rule| block.rule_text(rule));
                (rule, block.answer.describe())
            }
            RouteDecision::Block(verdict, None) => {
                blocked = Some(*verdict);
                (None, "403 that names list and rule".into())
            }
            RouteDecision::Pass(verdict, route) => {
                let noted = verdict.cause.rule().and_then(|rule| setup.table.rule_text(rule));
                let noted = noted.map_or_else(String::new, |rule| {
                    format!(
                        "; {} is line {} of {}, which only logs",
                        rule.text, rule.line, rule.list
                    )
                });
                (None, format!("{}{noted}", setup.describe_route(route)))
            }
            RouteDecision::Nowhere(_) => (None, "404: no route fits".into()),
            RouteDecision::Refuse(why) => (None, refused(*why)),
        };
        Some(GatewayForecast { refused_by, blocked, outcome })
    }
}

/// Port that a request for this URL comes to, at any address.
fn came_to(url: &str) -> Option<SocketAddr> {
    let uri: Uri = url.parse().ok()?;
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    Some(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), uri.port_u16().unwrap_or(usual)))
}

fn refused(why: BadPath) -> String {
    format!("400: {why}")
}

/// As `request` reads it from a client, which sends no field but `Host`; none where no client could
/// ask for it.
fn parsed(
    question: &ForecastQuestion<'_>,
    rules: SlashRules,
) -> Option<Result<ParsedRequest, BadPath>> {
    let uri: Uri = question.url.parse().ok()?;
    let scheme =
        if uri.scheme_str() == Some("https") { OriginScheme::Https } else { OriginScheme::Http };
    let origin = Origin::from_authority(scheme, uri.authority().map(Authority::as_str)?).ok()?;
    let RequestAim { path, decoded: plain, raw } =
        match RequestAim::read(uri.path(), uri.query(), rules) {
            Ok(aimed) => aimed,
            Err(why) => return Some(Err(why)),
        };
    Some(Ok(ParsedRequest {
        client: question.client,
        host: origin.host.to_name(),
        page: question.page.cloned(),
        kind: question.kind,
        url: origin.url(&path),
        path,
        plain,
        raw,
        path_source: PathSource::Client,
    }))
}

impl GatewaySetup {
    /// Where a route leads, in words.
    fn describe_route(&self, route: &Arc<GatewayRoute>) -> String {
        let number =
            self.table.routes.iter().position(|one| Arc::ptr_eq(one, route)).unwrap_or_default();
        let does = match &route.to {
            Some(RouteDestination::Pool(_)) => {
                let pool = self.settings.routes.get(number).and_then(|it| it.pool.as_deref());
                format!("passes it to the pool {}", pool.unwrap_or("?"))
            }
            Some(RouteDestination::Fixed(FixedAnswer::Redirect(target))) => {
                format!("sends the client elsewhere with {}", target.status.as_str())
            }
            Some(RouteDestination::Fixed(FixedAnswer::Fixed { status, .. })) => {
                format!("answers with {} and fixed words", status.as_str())
            }
            Some(RouteDestination::Fixed(FixedAnswer::Null)) => "gives an empty answer".into(),
            Some(RouteDestination::Folder(_)) => "serves it from a folder".into(),
            None => "404".into(),
        };
        format!("{does} ({})", display_name(number))
    }
}
