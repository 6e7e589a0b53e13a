//! Why something is blocked or not.

use super::{App, Asked};
use crate::control::Question;
use crate::model::{Problem, Why, WhyQuery};
use crate::query::Query;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use http::{StatusCode, Uri};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::{DomainName, Door, Kind};

/// Longest target that is taken, in bytes.
const TARGET_BYTES_MAX: usize = 8192;

/// The verdict about a name or URL, with every rule that matched and what the door would do.
#[utoipa::path(get, path = "/api/why", params(WhyQuery), responses(
    (status = 200, body = Why), (status = 400, body = Problem), (status = 401, body = Problem)
))]
pub(crate) async fn why(
    State(app): State<Arc<App>>,
    asked: Asked,
    Query(query): Query<WhyQuery>,
) -> Result<Json<Why>, Refused> {
    let question = question(&query)?;
    Ok(Json(app.ask(move |app| app.control.why(&question, asked.now)).await?))
}

/// Reads a question; what is left out is guessed from the target.
pub(crate) fn question(query: &WhyQuery) -> Result<Question, Refused> {
    fn filled(word: Option<&String>) -> Option<&str> {
        word.map(String::as_str).filter(|word| !word.is_empty())
    }
    let target = query.target.trim();
    let (host, url) = host_and_url(target)?;
    let kind = match filled(query.kind.as_ref()) {
        Some(word) => word.parse().map_err(|_| {
            Refused::word("kind", word, "document, script, image, A, AAAA and so on")
        })?,
        None => url.as_deref().map_or(Kind::Lookup(1), guess_kind),
    };
    let door = match filled(query.door.as_ref()) {
        Some(word) => word
            .parse()
            .map_err(|_| Refused::word("door", word, "dns, pixel, proxy, web, gateway"))?,
        None if url.is_some() => Door::Proxy,
        None => Door::Dns,
    };
    let client = match filled(query.client.as_ref()) {
        Some(word) => word
            .parse()
            .map_err(|_| Refused::word("client", word, "the IP addresses, as in 192.168.1.7"))?,
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    Ok(Question { host, url, client, kind, door })
}

fn host_and_url(target: &str) -> Result<(DomainName, Option<String>), Refused> {
    let wrong = |why: String| {
        Refused::new(
            StatusCode::BAD_REQUEST,
            why,
            "write a name as in ads.example, or a URL as in https://ads.example/x.js",
        )
    };
    if target.len() > TARGET_BYTES_MAX {
        return Err(wrong(format!("the target is longer than {TARGET_BYTES_MAX} bytes")));
    }
    let shown: String = target.chars().take(128).collect();
    let Some((scheme, _)) = target.split_once("://") else {
        let name = DomainName::parse_or_root(target)
            .map_err(|_| wrong(format!("{shown:?} is neither a name nor a URL")))?;
        return Ok((name, None));
    };
    let is_web =
        ["http", "https", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let uri: Uri = target.parse().map_err(|_| wrong(format!("{shown:?} is no URL")))?;
    let host = uri.host().and_then(|host| DomainName::parse(host).ok());
    match host {
        Some(host) if is_web => Ok((host, Some(target.to_owned()))),
        Some(_) | None => Err(wrong(format!("{shown:?} is no URL of the web with a host name"))),
    }
}

/// The kind that a URL's file extension suggests.
fn guess_kind(url: &str) -> Kind {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let file = path.rsplit('/').next().unwrap_or(path);
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    // A bare `https://ads.example` ends in its host, whose last label is no extension.
    if path.matches('/').count() < 3 {
        return Kind::Document;
    }
    match extension.as_deref() {
        Some("js" | "mjs") => Kind::Script,
        Some("css") => Kind::Stylesheet,
        Some("gif" | "png" | "jpg" | "jpeg" | "webp" | "svg" | "ico" | "avif") => Kind::Image,
        Some("woff" | "woff2" | "ttf" | "otf") => Kind::Font,
        Some("mp4" | "webm" | "mp3" | "m3u8" | "ogg") => Kind::Media,
        Some("json") => Kind::Fetch,
        Some(_) | None => Kind::Document,
    }
}
