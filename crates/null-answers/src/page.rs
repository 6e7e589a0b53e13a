//! The page for people: why a page is blocked, and what to do where it should not be.
//!
//! Self-contained: no script, no picture from elsewhere, one style sheet that the page's own policy
//! names by its hash. Everything that came from outside is escaped. Other sites cannot read these
//! pages or frame them: they name the client's profile. Called by the doors.

use crate::continue_link;
use crate::own_page::{self, SlotValues};
use http::{Response, StatusCode};
use http_engine::html::{self, escape, fill};
use http_engine::{Body, conditional};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use policy::{BlockPage, ClientIdentity, Policy, RuleText, Verdict};
use std::net::{IpAddr, SocketAddr};
use vocab::{Cause, DomainName, Door, Now, RequestNumber};

const BLOCKED: &str = include_str!("blocked.html");
const LEGAL_PAGE: &str = include_str!("law.html");
const TARGET: &str = include_str!("target.html");

/// Characters of a URL that are shown; the ledger holds more.
const URL_SHOWN_MAX: usize = 400;
/// Longest URL that the page which lets a name through is told to lead back to, in bytes.
const RETURN_URL_BYTES_MAX: usize = 2048;

/// Holds what a block page tells.
pub struct BlockNotice<'p> {
    /// The policy that decided.
    pub policy: &'p Policy,
    /// What it decided.
    pub verdict: Verdict,
    /// The door that was asked.
    pub door: Door,
    /// Who asked.
    pub client: IpAddr,
    /// What else is known of the client.
    pub identity: &'p ClientIdentity<'p>,
    /// Where the dashboard is.
    pub dashboard: Option<SocketAddr>,
    /// Where devices find our authority's certificate.
    pub setup: Option<String>,
    /// When.
    pub now: Now,
}

/// The page in place of a blocked one: 403, or the owner's own page or redirect.
pub fn blocked(host: &DomainName, url: &str, told: &BlockNotice<'_>) -> Response<Body> {
    let rule = told.verdict.cause.rule();
    let since = rule.and_then(|rule| told.policy.list_changed_ms(rule.list)).map(unchanged_since);
    let rule = rule.and_then(|rule| told.policy.rule_text(rule, host.as_name()));
    let own = told.policy.block_page();
    if let Some(answer) = own.and_then(|page| own_answer(page, host, url, told, rule.as_ref())) {
        return answer;
    }
    let law = match rule {
        None if told.verdict.cause == Cause::Unlisted => {
            "<p class=\"lead\">This device opens listed addresses only, and this one is not \
             listed.</p>"
                .to_owned()
        }
        None if told.verdict.cause == Cause::OtherBlocker => {
            "<p class=\"lead\">No list of Tidegate names this address: another blocker of this \
             network sent you here.</p>"
                .to_owned()
        }
        None if told.verdict.cause == Cause::ByHand => {
            "<p class=\"lead\">Whoever runs this network has blocked this address by hand.</p>"
                .to_owned()
        }
        // The lists have been replaced since the verdict.
        None => "<p class=\"lead\">This network does not open this address.</p>".to_owned(),
        Some(rule) => fill(
            LEGAL_PAGE,
            &[
                ("rule", &escape(&rule.text)),
                ("list", &escape(&rule.list)),
                ("line", &rule.line.to_string()),
                ("since", &since.unwrap_or_default()),
            ],
        ),
    };
    let (client, door) = (told.client.to_string(), told.door.as_str());
    let command = format!(
        "tidegate why {} --client {client} --kind document --door {door}",
        shell_quote(url)
    );
    let content = fill(
        BLOCKED,
        &[
            ("host", &escape(host.as_str())),
            ("url", &escape(shortened(url))),
            ("law", &law),
            ("client", &client),
            ("profile", &escape(told.policy.profile_of(told.client, Some(told.identity)))),
            ("target", &target(url, host)),
            ("id", &RequestNumber::from(told.now).to_string()),
            ("time", conditional::format_date(told.now.unix_secs()).to_str().unwrap_or("")),
            ("command", &escape(&command)),
            ("allow", &allow(host, url, told)),
            ("dashboard", &dashboard(url, told)),
            ("setup", &setup_link(told.setup.as_deref())),
        ],
    );
    html::page(StatusCode::FORBIDDEN, &format!("Blocked: {host}"), &content)
}

/// The owner's page, with the values of this request in its slots.
fn own_answer(
    page: &BlockPage,
    host: &DomainName,
    url: &str,
    told: &BlockNotice<'_>,
    rule: Option<&RuleText>,
) -> Option<Response<Body>> {
    let line = rule.map_or_else(String::new, |rule| rule.line.to_string());
    let (client, id) = (told.client.to_string(), RequestNumber::from(told.now).to_string());
    let time = conditional::format_date(told.now.unix_secs());
    let reason = match told.verdict.cause {
        Cause::Unlisted => "unlisted",
        Cause::OtherBlocker => "other_blocker",
        Cause::ByHand => "by_hand",
        Cause::Rule(_) | Cause::NoRule | Cause::Paused | Cause::NotAsked => "rule",
    };
    let values = SlotValues {
        host: host.as_str(),
        url,
        rule: rule.map_or("", |rule| rule.text.as_str()),
        list: rule.map_or("", |rule| rule.list.as_str()),
        line: &line,
        reason,
        client: &client,
        profile: told.policy.profile_of(told.client, Some(told.identity)),
        door: told.door.as_str(),
        id: &id,
        time: time.to_str().unwrap_or(""),
    };
    own_page::answer(page, host, &values)
}

/// Since when a list is unchanged: `, unchanged since 12 Nov 2026, 14:03 UTC`.
fn unchanged_since(unix_ms: u64) -> String {
    // `Thu, 12 Nov 2026 14:03:37 GMT` (RFC 9110 section 5.6.7).
    let date = conditional::format_date(unix_ms / 1000);
    let date = date.to_str().unwrap_or("");
    match (date.get(5..16), date.get(17..22)) {
        (Some(day), Some(time)) => format!(", unchanged since {day}, {time} UTC"),
        (None, _) | (_, None) => String::new(),
    }
}

/// A link to where the click was to lead.
fn target(url: &str, host: &DomainName) -> String {
    continue_link::find(url, host).map_or_else(String::new, |onward| {
        let (host, url) = (escape(onward.host.as_str()), escape(&onward.url));
        fill(TARGET, &[("host", &host), ("url", &url)])
    })
}

/// For devices that were warned before they came here.
fn setup_link(address: Option<&str>) -> String {
    address.map_or_else(String::new, |address| {
        format!("<a href=\"{}\">Certificate warnings on this device?</a>", escape(address))
    })
}

/// Where the dashboard is, for a client that can reach it.
fn reachable(told: &BlockNotice<'_>) -> Option<SocketAddr> {
    // What another blocker sends here, it alone can let through.
    let is_ours = told.verdict.cause != Cause::OtherBlocker;
    told.dashboard.filter(|_| is_ours).filter(|address| match address.ip() {
        ip if ip.is_unspecified() => false,
        ip => !ip.is_loopback() || told.client.is_loopback(),
    })
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A link to the page that lets the name through.
fn allow(host: &DomainName, url: &str, told: &BlockNotice<'_>) -> String {
    let Some(address) = reachable(told) else { return String::new() };
    // A top-level domain cannot be let through, and an address cut short leads elsewhere.
    if !host.as_str().contains('.') {
        return String::new();
    }
    let back = if url.len() > RETURN_URL_BYTES_MAX { "" } else { url };
    let (host, client, back) =
        (encoded(host.as_str()), encoded(&told.client.to_string()), encoded(back));
    let link = format!("http://{address}/allow?host={host}&client={client}&back={back}");
    format!("<a class=\"button\" href=\"{}\">Let it through…</a> ", escape(&link))
}

/// A link to the dashboard's account of it.
fn dashboard(url: &str, told: &BlockNotice<'_>) -> String {
    let Some(address) = reachable(told) else { return String::new() };
    let (target, client) = (encoded(shortened(url)), encoded(&told.client.to_string()));
    let door = told.door.as_str();
    let link =
        format!("http://{address}/#/why?target={target}&client={client}&kind=document&door={door}");
    format!("<a class=\"button second\" href=\"{}\">Ask the dashboard</a>", escape(&link))
}

/// As one word of a POSIX shell: people paste this.
fn shell_quote(text: &str) -> String {
    format!("'{}'", shortened(text).replace('\'', "'\\''"))
}

fn shortened(url: &str) -> &str {
    &url[..url.floor_char_boundary(URL_SHOWN_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_unchanged_since_a_minute_of_a_day() {
        assert_eq!(unchanged_since(1_794_492_217_000), ", unchanged since 12 Nov 2026, 14:03 UTC");
    }

    #[test]
    fn what_people_paste_is_one_word() {
        assert_eq!(shell_quote("http://a/'; rm -rf /; '"), r"'http://a/'\''; rm -rf /; '\'''");
    }
}
