//! Requests as a browser makes them, out of the lists' own hosts and patterns and of plain pages.

use crate::dice::Dice;
use std::collections::HashSet;
use vocab::{Name, RequestKind};

/// One request.
pub struct Case {
    pub url: String,
    pub host: String,
    pub page: String,
    pub kind: RequestKind,
    /// The word that `adblock` has for the kind.
    pub word: &'static str,
}

const KINDS: &[(RequestKind, &str, &str)] = &[
    (RequestKind::Script, "script", "js"),
    (RequestKind::Script, "script", "js"),
    (RequestKind::Script, "script", "js"),
    (RequestKind::Image, "image", "png"),
    (RequestKind::Image, "image", "gif"),
    (RequestKind::Image, "image", "jpg"),
    (RequestKind::Fetch, "xmlhttprequest", "json"),
    (RequestKind::Fetch, "xmlhttprequest", ""),
    (RequestKind::Stylesheet, "stylesheet", "css"),
    (RequestKind::Font, "font", "woff2"),
    (RequestKind::Subdocument, "subdocument", "html"),
    (RequestKind::Ping, "ping", ""),
    (RequestKind::Media, "media", "mp4"),
];

const SITES: &[&str] = &[
    "news.example.com",
    "www.wikipedia.org",
    "shop.example.co.uk",
    "github.com",
    "www.bbc.co.uk",
    "forum.example.net",
    "mail.example.org",
    "www.reddit.com",
    "stackoverflow.com",
    "video.example.de",
    "weather.example.fr",
    "blog.example.io",
    "www.nytimes.com",
    "dood.la",
    "www.spiegel.de",
    "docs.rs",
    "maps.example.com",
    "www.lemonde.fr",
    "tv.example.jp",
];

const CDNS: &[&str] = &[
    "cdn.jsdelivr.net",
    "static.example.com",
    "images.example.com",
    "fonts.gstatic.com",
    "cdnjs.cloudflare.com",
    "upload.wikimedia.org",
    "a0.muscache.com",
    "assets.example.co.uk",
    "s3.amazonaws.com",
    "i.ytimg.com",
    "www.gstatic.com",
    "d1.cloudfront.net",
];

const WORDS: &[&str] = &[
    "assets", "static", "js", "css", "img", "images", "media", "build", "dist", "v2", "api",
    "content", "article", "news", "2026", "11", "main", "vendor", "app", "common", "bundle",
    "header", "logo", "icons", "user", "search", "product", "list", "embed", "player", "uploads",
];

/// About `count` different requests: a third plain, a third to hosts of the lists, a third out of
/// patterns of the lists.
pub fn make(lists: &[&str], count: usize) -> Vec<Case> {
    let mut dice = Dice(0x7159_a7e5_eed5);
    let lines: Vec<&str> = lists
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.contains('#') && !line.starts_with(['!', '[']))
        .collect();
    let hosts: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("||")?.split_once('^'))
        .map(|(host, _)| host)
        .filter(|host| Name::from_lowercase(host).is_ok())
        .collect();
    let patterns: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.trim_start_matches("@@").split('$').next())
        .filter(|pattern| pattern.len() > 4 && !pattern.ends_with('/') && pattern.is_ascii())
        .filter(|pattern| !pattern.ends_with('^') || !pattern.starts_with("||"))
        .collect();
    let mut seen = HashSet::new();
    let mut cases = Vec::new();
    while cases.len() < count {
        let (kind, word, extension) = *dice.pick(KINDS);
        let url = match cases.len() % 3 {
            0 => plain(&mut dice, extension),
            1 => format!("https://{}{}", dice.pick(&hosts), path(&mut dice, extension)),
            _ => from_pattern(&mut dice, &patterns, extension),
        };
        let host = host_of(&url);
        if Name::from_lowercase(&host).is_err()
            || adblock::request::Request::new(&url, "", word, "GET").is_err()
            || !seen.insert(url.clone())
        {
            continue;
        }
        cases.push(Case { url, host, page: (*dice.pick(SITES)).to_owned(), kind, word });
    }
    cases
}

fn plain(dice: &mut Dice, extension: &str) -> String {
    let host = if dice.roll(3) == 0 { dice.pick(SITES) } else { dice.pick(CDNS) };
    format!("https://{host}{}", path(dice, extension))
}

fn path(dice: &mut Dice, extension: &str) -> String {
    let mut path = String::new();
    for _ in 0..1 + dice.roll(4) {
        path.push('/');
        path.push_str(dice.pick::<&str>(WORDS));
        if dice.roll(4) == 0 {
            path.push('-');
            let length = 4 + dice.roll(8);
            path.push_str(&dice.word(length));
        }
    }
    if !extension.is_empty() {
        path.push('.');
        path.push_str(extension);
    }
    if dice.roll(3) == 0 {
        path = format!("{path}?v={}&id={}", dice.word(6), dice.roll(1_000_000));
    }
    path
}

/// A URL that holds a pattern's text, though its modifiers may spare it.
fn from_pattern(dice: &mut Dice, patterns: &[&str], extension: &str) -> String {
    let pattern = dice.pick(patterns);
    let body = pattern.trim_matches('|').replace('^', "/").replace('*', "x1");
    if pattern.starts_with("||") {
        return format!("https://{body}");
    }
    if body.contains("://") {
        return body;
    }
    let host = if dice.roll(2) == 0 { dice.pick(SITES) } else { dice.pick(CDNS) };
    format!("https://{host}/{}{body}{}", dice.pick(WORDS), path(dice, extension))
}

fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority
        .rsplit('@')
        .next()
        .unwrap_or_default()
        .split(':')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}
