//! What a site has for one request: the way in, and what stands at the path.
//!
//! The order is the site's safety, and neither lane knows another: the handshake, HTTPS, the password;
//! then redirects, scripts and files. It shapes no answer. Called by `request`.

use crate::auth::Access;
use crate::fastcgi::Script;
use crate::forwarded;
use crate::hsts::https_location;
use crate::listing;
use crate::look::{self, Stands};
use crate::negotiate;
use crate::path::Target;
use crate::request::{Outcome, Refusal};
use crate::script;
use crate::secure::Ends;
use crate::site::Site;
use http::{Method, request};
use http_engine::Incoming;
use ledger::Ledger;
use std::sync::Arc;
use vocab::Now;

/// One request at a site.
pub(crate) struct Visit<'r> {
    pub(crate) site: &'r Arc<Site>,
    /// The host that was asked for.
    pub(crate) host: &'r str,
    /// The name that the client has proven.
    pub(crate) user: Option<Arc<str>>,
    pub(crate) ends: &'r Ends,
    /// Where scripts' complaints go.
    pub(crate) ledger: &'r Ledger,
    pub(crate) now: Now,
}

/// Where a path stands to its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Below,
    /// It lacks the site's slash.
    Slash,
}

/// Whether a request is one for files.
pub(crate) fn reads(head: &request::Parts) -> bool {
    head.method == Method::GET || head.method == Method::HEAD
}

/// What the site has for a request of `target`.
pub(crate) async fn answer(
    visit: &mut Visit<'_>,
    standing: Standing,
    target: &Target,
    (head, body): (&request::Parts, Incoming),
) -> Outcome {
    match standing {
        Standing::Below => act(visit, target, (head, body)).await,
        Standing::Slash => match enter(visit, &target.text(), head).await {
            Ok(()) => Outcome::Slash(target.as_folder_url()),
            Err(outcome) => outcome,
        },
    }
}

async fn act(
    visit: &mut Visit<'_>,
    target: &Target,
    (head, body): (&request::Parts, Incoming),
) -> Outcome {
    let path = target.text();
    if let Err(outcome) = enter(visit, &path, head).await {
        return outcome;
    }
    let (site, now) = (visit.site, visit.now);
    if let Some((to, status)) = site.rules.redirect(&path) {
        return Outcome::Moved(to, status);
    }
    if !reads(head) && site.fastcgi.is_empty() {
        return Outcome::Refused(Refusal::Method);
    }
    let found = look::look(site, head.uri.path(), target, now);
    // An index or a fallback may be guarded where its folder is not.
    let served = match &found {
        Stands::Script(script) => Some(&*script.name),
        Stands::File(file) => Some(&*file.meta().path),
        Stands::Slash | Stands::Folder(_) | Stands::Nothing(_) => None,
    };
    if let Some(served) = served.filter(|served| *served != path)
        && let Err(outcome) = identify(visit, served, head).await
    {
        return outcome;
    }
    match found {
        Stands::Script(script) => run(visit, &script, head, body).await,
        _ if !reads(head) => Outcome::Refused(Refusal::Method),
        Stands::File(file) => Outcome::File(negotiate::coded(site, file, head, now).await),
        Stands::Slash => Outcome::Slash(target.as_folder_url()),
        Stands::Nothing(why) => Outcome::NotOpened(why),
        Stands::Folder(below) => match listing::list(site, below, now).await {
            Ok(listed) => Outcome::Listing(listed),
            Err(why) => Outcome::NotOpened(why),
        },
    }
}

/// Lets a request in, or says what is answered instead.
async fn enter(visit: &mut Visit<'_>, path: &str, head: &request::Parts) -> Result<(), Outcome> {
    let site = visit.site;
    if !site.demand.is_met(visit.ends) {
        return Err(Outcome::Refused(Refusal::Misdirected));
    }
    if let Some(port) = site.sends_on(visit.ends, forwarded::said(&head.headers)) {
        let asked = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let location = https_location(visit.host, port, asked);
        return Err(location.map_or(Outcome::Refused(Refusal::Plain), Outcome::Secure));
    }
    identify(visit, path, head).await
}

/// Asks for a name and a password where the path wants them.
async fn identify(visit: &mut Visit<'_>, path: &str, head: &request::Parts) -> Result<(), Outcome> {
    let auth = &visit.site.auth;
    let access = match auth.access(path, &head.headers, visit.now) {
        Access::Check(credentials) => auth.check(credentials, visit.now).await,
        known => known,
    };
    match access {
        Access::Open => Ok(()),
        Access::User(user) => {
            visit.user = Some(user);
            Ok(())
        }
        Access::Denied(challenge) => Err(Outcome::Unauthorized(challenge)),
        // A check ends in one of the others.
        Access::Busy | Access::Check(_) => Err(Outcome::Busy),
    }
}

async fn run(visit: &Visit<'_>, script: &Script, head: &request::Parts, body: Incoming) -> Outcome {
    Outcome::Script(script::ask(script, head, body, visit).await)
}
