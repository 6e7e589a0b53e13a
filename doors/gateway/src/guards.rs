//! The guards of a route: URLs that are blocked, limits, passwords and authorities.
//!
//! Made with a route from its settings. Blocks are asked while a route is sought (`decide`), the
//! rest once it is found and the policy has let the request pass (`act`): what costs least
//! comes first, and a password is checked last. It never reaches a server of a pool.

mod answer;
mod basic;
mod block;
mod forward_auth;
mod guard_answer;
mod in_flight;
mod limit;

pub(crate) use self::block::{
    BlockMode, BlockOccasion, BlockRules, ListNumbers, decide_in_both_spellings,
};
pub(crate) use self::guard_answer::{AnswerAuthor, GuardAnswer};
pub(crate) use self::in_flight::InFlightPermit;

use self::basic::BasicAuth;
use self::forward_auth::ForwardAuth;
use self::in_flight::InFlight;
use self::limit::{LimitNotice, RateLimiter};
use crate::context::RequestContext;
use crate::settings::RouteSettings;
use http::Method;
use http::header::HeaderMap;
use rate_limit::LeaseBook;
use route_matching::ParsedRequest;
use std::path::Path;
use std::sync::Arc;
use vocab::Complaint;

/// The guards of one route, but for its block.
#[derive(Default)]
pub(crate) struct RouteGuards {
    limit: Option<RateLimiter>,
    requests: Option<InFlight>,
    basic: Option<BasicAuth>,
    authority: Option<ForwardAuth>,
}

/// A request that was let through.
#[derive(Default)]
pub(crate) struct AdmittedRequest {
    /// Notice of the limit in its answer.
    limit_notice: Option<LimitNotice>,
    /// Places among those under way, to be kept until its answer is over.
    pub(crate) permits: Vec<InFlightPermit>,
    /// The name that was proven with a password.
    pub(crate) user: Option<Arc<str>>,
}

impl AdmittedRequest {
    /// At another route, to which a server has led it.
    pub(crate) fn add(&mut self, other: Self) {
        self.limit_notice = self.limit_notice.or(other.limit_notice);
        self.permits.extend(other.permits);
        self.user = other.user.or(self.user.take());
    }

    /// Tells the client of the limit.
    pub(crate) fn apply_limit_headers(&self, headers: &mut HeaderMap) {
        if let Some(told) = &self.limit_notice {
            told.put(headers);
        }
    }
}

impl RouteGuards {
    /// The guards of the route of these settings; files are read from `base`. Without `leases`, a
    /// shared limit is none. `before` are those that stood there until now: nobody's debts are
    /// forgiven.
    pub(crate) fn open(
        settings: &RouteSettings,
        base: &Path,
        leases: Option<&Arc<LeaseBook>>,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let under = |path: &str, found: Vec<Complaint>| -> Vec<Complaint> {
            found.into_iter().map(|it| it.under(path)).collect()
        };
        let limit = settings.limit.as_ref().map(|limit| {
            let before = before.and_then(|guards| guards.limit.as_ref());
            let made = RateLimiter::new(limit, leases, before);
            made.map_err(|why| vec![Complaint::new("limit", why.to_string())])
        });
        let requests = settings.requests.as_ref().map(|requests| {
            let before = before.and_then(|guards| guards.requests.as_ref());
            let made = InFlight::new(requests, before);
            made.map_err(|why| vec![Complaint::new("requests", why.to_string())])
        });
        let basic = settings.auth.as_ref();
        let basic = basic.map(|auth| BasicAuth::open(auth, base).map_err(|why| under("auth", why)));
        let authority = settings.forward_auth.as_ref().map(|settings| {
            let made = ForwardAuth::new(settings);
            made.map_err(|why| vec![Complaint::new("forward_auth.url", why.to_string())])
        });
        Ok(Self {
            limit: limit.transpose()?,
            requests: requests.transpose()?,
            basic: basic.transpose()?,
            authority: authority.transpose()?,
        })
    }

    /// Holds a request against all of them, the cheap ones first.
    pub(crate) async fn check(
        &self,
        context: &RequestContext<'_>,
        parsed: &ParsedRequest,
        method: &Method,
        headers: &mut HeaderMap,
    ) -> Result<AdmittedRequest, Box<GuardAnswer>> {
        let (client, now) = (context.client, context.now);
        let mut stood = AdmittedRequest::default();
        if let Some(limit) = &self.limit {
            stood.limit_notice = limit.take(client, headers, now)?;
        }
        if let Some(requests) = &self.requests {
            stood.permits.push(requests.acquire(client, headers)?);
        }
        if let Some(basic) = &self.basic {
            stood.user = Some(Box::pin(basic.admit(client, headers, now)).await?);
        }
        if let Some(authority) = &self.authority {
            Box::pin(authority.admit(context, parsed, method, headers)).await?;
        }
        Ok(stood)
    }

    /// Requests that a limit would have refused, had it not been told to log only.
    pub(crate) fn log_only_matches(&self) -> u64 {
        self.limit.as_ref().map_or(0, RateLimiter::log_only_matches)
    }

    /// Requests that a limit has refused.
    pub(crate) fn limited(&self) -> u64 {
        let requests = self.requests.as_ref().map_or(0, InFlight::refused);
        self.limit.as_ref().map_or(0, RateLimiter::refused) + requests
    }
}
