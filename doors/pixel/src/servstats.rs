//! The counters under pixelserv-tls's names: `/servstats` as a page, `/servstats.txt` as one line
//! of `value name` pairs that scripts read.
//!
//! All 51 stand in pixelserv-tls's order; one for which there is nothing here is 0. Shown to the
//! clients of `pixel.servstats` alone. `docs/manual/reference/pixel.md` says what each counts.
//! Called by `setup`.

use crate::counters::{Count, PixelCounters};
use crate::door::PixelDoor;
use http::{Response, StatusCode};
use http_engine::Body;
use http_engine::html;
use null_answers::BlankBody;
use std::fmt::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use transport::clock;

/// Handshakes that fail because no certificate is made.
const NO_LEAF: [Count; 3] = [Count::NameNotBlocked, Count::RateLimited, Count::Unsigned];
/// Handshakes that fail for another reason.
const OTHER_FAILURES: [Count; 12] = [
    Count::ClosedEarly,
    Count::ClosedAtCertificate,
    Count::Slow,
    Count::Busy,
    Count::NotTls,
    Count::NoName,
    Count::BadName,
    Count::UnknownCa,
    Count::BadCertificate,
    Count::CertificateUnknown,
    Count::Expired,
    Count::OtherFailure,
];
const BITMAPS: [BlankBody; 4] =
    [BlankBody::Png, BlankBody::Png2x2, BlankBody::Png3x2, BlankBody::Png32x32];
const ICONS: [BlankBody; 2] = [BlankBody::Icon, BlankBody::Favicon];

/// One counter: its name, its value, and what it counts.
struct NamedFigure {
    name: &'static str,
    value: FigureValue,
    what: &'static str,
}

/// The value of a counter.
#[derive(Clone, Copy)]
enum FigureValue {
    Whole(u64),
    /// A mean, with two decimals.
    Mean(f64),
}

impl fmt::Display for FigureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Mean(value) => write!(f, "{value:.2}"),
        }
    }
}

/// The answer in one line.
pub(crate) fn text(door: &PixelDoor) -> String {
    let mut line = String::with_capacity(640);
    for figure in figures(door) {
        let separator = if line.is_empty() { "" } else { ", " };
        let _ = write!(line, "{separator}{} {}", figure.value, figure.name);
    }
    line
}

/// The answer as a page.
pub(crate) fn page(door: &PixelDoor) -> Response<Body> {
    let mut content = String::from(
        "<div class=\"text\">\n<p class=\"label calm\">Counters</p>\n<h1>servstats</h1>\n\
         <p class=\"lead\">Counted since the pixel door was opened, under the names of \
         pixelserv-tls. The metrics page and the dashboard say more.</p>\n<dl>\n",
    );
    for NamedFigure { name, value, what } in figures(door) {
        let _ = writeln!(content, "<dt><code>{name}</code> {what}</dt><dd>{value}</dd>");
    }
    content.push_str("</dl>\n</div>\n<footer><span>Shown by Tidegate.</span></footer>\n");
    html::page(StatusCode::OK, "servstats", &content)
}

fn figures(door: &PixelDoor) -> Vec<NamedFigure> {
    let mut all = connections(door);
    all.extend(handshakes(door));
    all.extend(answers(&door.counters));
    all.extend(dropped(door));
    all
}

fn whole(name: &'static str, value: u64, what: &'static str) -> NamedFigure {
    NamedFigure { name, value: FigureValue::Whole(value), what }
}

fn sum(counters: &PixelCounters, all: &[Count]) -> u64 {
    all.iter().map(|count| counters.of(*count)).sum()
}

fn requests(counters: &PixelCounters) -> u64 {
    sum(counters, &[Count::Plain, Count::Secure])
}

fn connections(door: &PixelDoor) -> Vec<NamedFigure> {
    let counters = &*door.counters;
    let requests = requests(counters);
    let carried = sum(counters, &[Count::ConnectionPlain, Count::ConnectionSecure]).max(1);
    let uptime_ms = clock::now().mono_ms.saturating_sub(door.started.mono_ms);
    let mean = |total: u64| total.checked_div(requests).unwrap_or(0);
    vec![
        whole("uts", uptime_ms / 1000, "seconds since it was opened"),
        whole("log", 0, "log level (there is none)"),
        whole("kcc", counters.open.load(Relaxed), "connections open now"),
        whole("kmx", counters.open_max.load(Relaxed), "most connections at once"),
        NamedFigure {
            name: "kvg",
            value: FigureValue::Mean(requests as f64 / carried as f64),
            what: "requests a connection, on average",
        },
        whole("krq", counters.requests_max.load(Relaxed), "most requests of one connection"),
        whole("req", requests, "requests"),
        whole("avg", mean(counters.of(Count::BodyBytes)), "bytes of a request's body, on average"),
        whole("rmx", counters.body_max.load(Relaxed), "bytes of the largest body"),
        whole("tav", mean(counters.of(Count::TookUs)) / 1000, "milliseconds a request, on average"),
        whole("tmx", counters.took_max_us.load(Relaxed) / 1000, "milliseconds of the slowest"),
    ]
}

fn handshakes(door: &PixelDoor) -> Vec<NamedFigure> {
    let counters = &*door.counters;
    let of = |count| counters.of(count);
    let leaves = door.parts.signer.counts();
    vec![
        whole("slh", of(Count::Secure), "HTTPS requests"),
        whole("slm", sum(counters, &NO_LEAF), "handshakes refused: no certificate is made"),
        whole("sle", 0, "certificates that could not be used (none is kept)"),
        whole("slc", of(Count::SilentSecure), "HTTPS connections without a request"),
        whole("slu", sum(counters, &OTHER_FAILURES), "handshakes that failed otherwise"),
        whole("v13", of(Count::Tls13), "handshakes of TLS 1.3"),
        whole("v12", of(Count::Tls12), "handshakes of TLS 1.2"),
        whole("v10", 0, "handshakes of TLS 1.0 (not spoken)"),
        whole("zrt", 0, "early data (not taken)"),
        whole("uca", of(Count::UnknownCa), "clients that do not know the authority"),
        whole("ucb", of(Count::BadCertificate), "clients that call the certificate bad"),
        whole(
            "uce",
            sum(counters, &[Count::CertificateUnknown, Count::Expired]),
            "clients that refuse the certificate otherwise",
        ),
        whole("ush", of(Count::ClosedAtCertificate), "clients that close at the certificate"),
        whole("sct", leaves.kept, "certificates kept"),
        whole("sch", leaves.cached, "handshakes with a kept certificate"),
        whole("scm", leaves.minted, "certificates made"),
        whole("scp", leaves.minted.saturating_sub(leaves.kept), "certificates that made room"),
        whole("ssh", of(Count::Resumed), "TLS sessions resumed"),
        whole("ssm", of(Count::Full), "TLS sessions begun"),
        whole("ssp", 0, "TLS sessions purged (clients keep them)"),
    ]
}

fn answers(counters: &PixelCounters) -> Vec<NamedFigure> {
    let blank = |all: &[BlankBody]| all.iter().map(|it| counters.of_blank(*it)).sum::<u64>();
    let scripts = blank(&[BlankBody::Script, BlankBody::Worker])
        + sum(counters, &[Count::StandIn, Count::Callback]);
    let frames = blank(&[BlankBody::Frame, BlankBody::ClickToLoad]);
    let (gifs, icons, bitmaps) = (blank(&[BlankBody::Bitmap]), blank(&ICONS), blank(&BITMAPS));
    let (nothing, refused) = (blank(&[BlankBody::NoContent]), blank(&[BlankBody::NoMethod]));
    let all = blank(&BlankBody::ALL) + sum(counters, &[Count::StandIn, Count::Callback]);
    let others = all - scripts - frames - gifs - icons - bitmaps - nothing - refused;
    vec![
        whole("nfe", frames, "empty pages"),
        whole("gif", gifs, "GIF images, JPEG among them"),
        whole("ico", icons, "icons"),
        whole("txt", scripts, "scripts"),
        whole("jpg", 0, "JPEG images (GIF is given)"),
        whole("png", bitmaps, "PNG images"),
        whole("swf", 0, "Flash (not made)"),
        whole("ufe", others, "other kinds"),
        whole("opt", counters.of(Count::Options), "OPTIONS requests"),
        whole("pst", counters.of(Count::Post), "POST requests"),
        whole("hed", counters.of(Count::Head), "HEAD requests"),
        whole("rdr", counters.of(Count::Redirected), "redirects to the URL inside another"),
        whole("nou", 0, "requests without a URL (refused before)"),
        whole("pth", 0, "malformed paths (refused before)"),
        whole("204", nothing, "answers without content"),
        whole("bad", refused, "methods that have no meaning here"),
    ]
}

fn dropped(door: &PixelDoor) -> Vec<NamedFigure> {
    let counters = &*door.counters;
    let limits = door.limits.connections().counts();
    vec![
        whole("cls", counters.of(Count::SilentPlain), "HTTP connections without a request"),
        whole("cly", counters.of(Count::Gone), "clients that left before their answer"),
        whole("clt", limits.refused_full + limits.refused_client, "connections refused for a cap"),
        whole("err", limits.exhausted, "pauses because descriptors had run out"),
    ]
}
