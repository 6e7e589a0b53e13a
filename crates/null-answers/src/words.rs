//! Null answers in words, for whoever asks why: with the status and the length that a client gets.
//!
//! They are read off the answers themselves, so that they are true. Called by the doors' own
//! accounts of what they would do.

use crate::callback;
use crate::null::{Blank, Due, Hints, Null, due, seat};
use crate::ready::{self, Ready};
use http::Method;
use policy::Ask;
use vocab::Kind;

static GET: Method = Method::GET;

/// The answer that is due to a `GET` with no fields beyond those that its kind implies; `named` is
/// the stand-in that a rule names.
pub fn due_to_get<'a>(ask: &Ask<'a>, named: Option<&'a str>) -> Due<'a> {
    let behind = ask.url.and_then(|url| url.split_once("://")).map_or("", |(_, behind)| behind);
    let target = behind.find(['/', '?', '#']).map_or("", |at| &behind[at..]);
    let target = target.split('#').next().unwrap_or(target);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let destination = destination(ask.kind);
    due(&Hints {
        method: &GET,
        kind: ask.kind,
        seat: seat(destination, ask.page, ask.host),
        host: ask.host,
        path: if path.is_empty() { "/" } else { path },
        query,
        accept: "",
        destination,
        service_worker: "",
        named,
    })
}

/// A null answer in a few words: `200, an empty script (0 bytes)`.
pub fn in_words(null: &Null<'_>) -> String {
    match null {
        Null::Blank(blank) => told(ready::blank(*blank), named(*blank)),
        Null::Stub(stub) => {
            let ready = ready::stub(*stub);
            told(ready, &format!("the stand-in {}", stub.file_name()))
        }
        Null::Callback(name) => {
            let [before, behind] = callback::AROUND;
            let length = before.len() + name.len() + behind.len();
            format!("200, a script that calls {name} with nothing ({length} bytes)")
        }
        Null::Socket => "101, a WebSocket that is closed at once".into(),
        Null::Preflight => "204, which allows the request that it asks about".into(),
    }
}

/// `Sec-Fetch-Dest` of a browser's request of this kind, as far as the kind tells.
const fn destination(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => "document",
        Kind::Subdocument => "iframe",
        Kind::Script => "script",
        Kind::Stylesheet => "style",
        Kind::Image => "image",
        Kind::Font => "font",
        Kind::Object => "object",
        Kind::Fetch | Kind::Websocket => "empty",
        Kind::Ping => "report",
        Kind::Media | Kind::Tunnel | Kind::Lookup(_) | Kind::Other => "",
    }
}

fn told(ready: &Ready, what: &str) -> String {
    let (status, length) = (ready.status.as_str(), ready.body.len());
    if ready.status.is_success() && ready.status != http::StatusCode::NO_CONTENT {
        let plural = if length == 1 { "" } else { "s" };
        format!("{status}, {what} ({length} byte{plural})")
    } else {
        format!("{status}, {what}")
    }
}

const fn named(blank: Blank) -> &'static str {
    match blank {
        Blank::Frame => "an empty page",
        Blank::ClickToLoad => "a page with a link that opens it in a tab",
        Blank::Script => "an empty script",
        Blank::Worker => "a service worker that takes itself off",
        Blank::Style => "an empty style sheet",
        Blank::Bitmap => "a transparent GIF of one pixel",
        Blank::Png => "a transparent PNG of one pixel",
        Blank::Png2x2 => "a transparent PNG of two pixels by two",
        Blank::Png3x2 => "a transparent PNG of three pixels by two",
        Blank::Png32x32 => "a transparent PNG of 32 pixels by 32",
        Blank::Icon => "a transparent icon",
        Blank::Favicon => "Tidegate's sign",
        Blank::Drawing => "a transparent drawing",
        Blank::Font => "a font without a letter",
        Blank::Sound => "a tenth of a second of silence",
        Blank::Film => "a second of black",
        Blank::Captions => "captions without a word",
        Blank::Playlist => "a stream that has ended",
        Blank::Json => "an empty JSON object",
        Blank::Vast2 | Blank::Vast3 | Blank::Vast4 => "a VAST response without an advertisement",
        Blank::Vmap => "a VMAP list without a break",
        Blank::Text => "no text",
        Blank::Nothing => "nothing to say",
        Blank::NoSocket => "a WebSocket that is not opened",
        Blank::NoMethod => "a method that has no meaning here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stubs::Stub;

    #[test]
    fn what_is_told_is_what_is_sent() {
        for (null, expected) in [
            (Null::Blank(Blank::Script), "200, an empty script (0 bytes)"),
            (Null::Blank(Blank::Nothing), "204, nothing to say"),
            (Null::Blank(Blank::NoMethod), "405, a method that has no meaning here"),
            (Null::Callback("cb"), "200, a script that calls cb with nothing (25 bytes)"),
        ] {
            assert_eq!(in_words(&null), expected);
        }
        let length = Stub::GoogleAnalytics.text().len();
        assert_eq!(
            in_words(&Null::Stub(Stub::GoogleAnalytics)),
            format!("200, the stand-in google-analytics.js ({length} bytes)")
        );
    }
}
