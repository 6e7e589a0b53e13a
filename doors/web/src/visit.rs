//! One request at a site: the way in, and what stands at the path.
//!
//! The order is the site's safety, and neither path knows another: the handshake, HTTPS, the
//! password; then redirects, scripts and files. It shapes no answer. Called by `request`.

use crate::auth::AuthAccess;
use crate::concat;
use crate::film;
use crate::forwarded;
use crate::handshake::WebContext;
use crate::hsts::https_location;
use crate::listing;
use crate::look::{self, PathContent};
use crate::negotiate;
use crate::outcome::{WebOutcome, WebRefusal};
use crate::palimg;
use crate::path::PathTarget;
use crate::root::NotOpened;
use crate::rules::RedirectRequest;
use crate::script;
use crate::site::Site;
use crate::write_visit::{self, WriteRequest};
use http::{Method, request};
use http_engine::Incoming;
use http_front::HookVisit;
use http_front::scripts::{self, ScriptedClient, ScriptedCourse};
use ledger::Ledger;
use std::sync::Arc;
use vocab::Now;

/// One request at a site.
pub(crate) struct SiteVisit<'r> {
    pub(crate) site: &'r Arc<Site>,
    /// The host that was asked for.
    pub(crate) host: &'r str,
    /// The name that the client has proven.
    pub(crate) user: Option<Arc<str>>,
    pub(crate) context: &'r WebContext,
    /// State that the site's hooks share.
    pub(crate) hooks: &'r HookVisit,
    /// Where scripts' complaints go.
    pub(crate) ledger: &'r Ledger,
    pub(crate) now: Now,
}

impl<'r> SiteVisit<'r> {
    /// The client, as scripts in Luau are told.
    fn scripted(&self) -> ScriptedClient<'r> {
        let (scheme, ip) = (self.context.scheme(), self.context.client_ip());
        ScriptedClient { host: self.host, scheme, ip, visit: self.hooks }
    }
}

/// Where a path stands to its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStanding {
    Below,
    /// Lacks the site's slash.
    Slash,
}

/// True if a request is one for files.
pub(crate) fn reads(head: &request::Parts) -> bool {
    head.method == Method::GET || head.method == Method::HEAD
}

/// Returns what the site has for a request of `target`.
pub(crate) async fn answer(
    visit: &mut SiteVisit<'_>,
    standing: PathStanding,
    target: &mut PathTarget,
    head: &mut request::Parts,
    body: Incoming,
) -> WebOutcome {
    match standing {
        PathStanding::Below => act(visit, target, head, body).await,
        PathStanding::Slash => match admit(visit, &target.text(), head).await {
            Ok(()) => WebOutcome::Slash(target.as_folder_url()),
            Err(outcome) => outcome,
        },
    }
}

async fn act(
    visit: &mut SiteVisit<'_>,
    target: &mut PathTarget,
    head: &mut request::Parts,
    body: Incoming,
) -> WebOutcome {
    if let Err(outcome) = admit(visit, &target.text(), head).await {
        return outcome;
    }
    if let Err(outcome) = consult(visit, target, head).await {
        return outcome;
    }
    let (target, head, path) = (&*target, &*head, target.text());
    let (site, now) = (visit.site, visit.now);
    if let Some(moved) = redirected(visit, &path, head) {
        return moved;
    }
    if let Some(writing) = site.writing.as_ref().filter(|it| it.takes(&head.method)) {
        let (host, user) = (visit.host, visit.user.as_deref());
        let client = visit.context.client_ip();
        let request = WriteRequest { site, writing, target, head, host, user, client, now };
        return write_visit::answer(request, body).await;
    }
    if !reads(head) && site.fastcgi.is_empty() && site.programs.is_empty() {
        return WebOutcome::Refused(WebRefusal::Method);
    }
    if let Some(names) = concat::names_of(site, head.uri.query()).filter(|_| reads(head)) {
        return concat::join(site, target, names, now).await;
    }
    if let Some(image) = palimg::asked(site, target).filter(|_| reads(head)) {
        return match identify(visit, &image.target.text(), head).await {
            Ok(()) => palimg::recolour(site, &image, now).await,
            Err(outcome) => outcome,
        };
    }
    let found = look::look(site, head.uri.path(), target, now);
    // An index or a fallback may be guarded where its folder is not.
    if let Some(served) = found.served().filter(|served| *served != path)
        && let Err(outcome) = identify(visit, served, head).await
    {
        return outcome;
    }
    match found {
        PathContent::Script(script) => {
            WebOutcome::Script(script::ask(&script, head, body, visit).await)
        }
        PathContent::Program(program) => {
            WebOutcome::Script(script::run(&program, head, body, visit).await)
        }
        _ if !reads(head) => WebOutcome::Refused(WebRefusal::Method),
        PathContent::File(file) => {
            WebOutcome::File(match film::begin(site, &file.meta().path, head.uri.query()) {
                Some(begin) => film::from(file, begin),
                None => negotiate::coded(site, file, head, now).await,
            })
        }
        PathContent::Slash => WebOutcome::Slash(target.as_folder_url()),
        PathContent::NotFound(why) => WebOutcome::NotOpened(why),
        // What a query asks of a folder (`??a.js,b.js`), no notice answers.
        PathContent::Unlisted if head.uri.query().is_some() => {
            WebOutcome::NotOpened(NotOpened::NotFound)
        }
        PathContent::Unlisted => WebOutcome::Unlisted,
        PathContent::Folder(below) => match listing::list(site, below, now).await {
            Ok(listed) => WebOutcome::Listing(listed),
            Err(why) => WebOutcome::NotOpened(why),
        },
    }
}

/// The place that the site's redirects have for a path.
fn redirected(visit: &SiteVisit<'_>, path: &str, head: &request::Parts) -> Option<WebOutcome> {
    let asked = RedirectRequest {
        client: visit.context.client_ip(),
        host: visit.host,
        scheme: visit.context.scheme(),
        path,
        query: head.uri.query(),
    };
    Some(match visit.site.rules.redirect(&asked)? {
        Ok(found) => WebOutcome::Moved(found.to, found.status),
        Err(why) => WebOutcome::Refused(WebRefusal::Elsewhere(why)),
    })
}

/// Lets a request in, or says what is answered instead.
async fn admit(
    visit: &mut SiteVisit<'_>,
    path: &str,
    head: &request::Parts,
) -> Result<(), WebOutcome> {
    let site = visit.site;
    if !site.handshake_demand.allows(visit.context) {
        return Err(WebOutcome::Refused(WebRefusal::Misdirected));
    }
    if let Some(port) = site.sends_on(visit.context, forwarded::said(&head.headers)) {
        let asked = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let location = https_location(visit.host, port, asked);
        return Err(location.map_or(WebOutcome::Refused(WebRefusal::Plain), WebOutcome::Secure));
    }
    identify(visit, path, head).await
}

/// Asks the site's script and filters, which may change the head and where it leads; or returns
/// what is answered instead.
async fn consult(
    visit: &mut SiteVisit<'_>,
    target: &mut PathTarget,
    head: &mut request::Parts,
) -> Result<(), WebOutcome> {
    let Some(hooks) = &visit.site.hooks else { return Ok(()) };
    let (client, request::Parts { method, uri, headers, .. }) = (visit.scripted(), &mut *head);
    match scripts::on_request(hooks, &client, method, uri, headers) {
        ScriptedCourse::Same => Ok(()),
        ScriptedCourse::Failed => Err(WebOutcome::LuauFailed),
        ScriptedCourse::Answered(answer) => Err(WebOutcome::Luau(answer)),
        ScriptedCourse::Moved => {
            let moved = PathTarget::parse(head.uri.path());
            *target = moved.map_err(|why| WebOutcome::Refused(WebRefusal::Path(why)))?;
            // The other path may have a password of its own.
            identify(visit, &target.text(), head).await
        }
    }
}

/// Asks for a name and a password where the path wants them.
async fn identify(
    visit: &mut SiteVisit<'_>,
    path: &str,
    head: &request::Parts,
) -> Result<(), WebOutcome> {
    let auth = &visit.site.auth;
    let access = match auth.access(path, &head.headers, visit.now) {
        AuthAccess::Check(credentials) => auth.check(credentials, visit.now).await,
        known => known,
    };
    match access {
        AuthAccess::Open => Ok(()),
        AuthAccess::User(user) => {
            visit.user = Some(user);
            Ok(())
        }
        AuthAccess::Denied(challenge) => Err(WebOutcome::Unauthorized(challenge)),
        // A check ends in one of the others.
        AuthAccess::Busy | AuthAccess::Check(_) => Err(WebOutcome::Busy),
    }
}
