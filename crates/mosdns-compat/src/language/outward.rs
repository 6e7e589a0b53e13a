//! Arguments of executors that reach outside: sets of the packet filter, HTTP requests, programs,
//! downloads, reloads.
//!
//! They are handed on as the DNS door's own settings for effects: [`OutwardEffect::settings`].
//! Nothing is sent or run here. Called by [`super::executors`] and [`super::schedule`].

use super::network::{proxy, usual_proxy};
use super::packet_sets::{IpsetPlugin, NftsetPlugin, ipset, nftset, quick_ipset, quick_nftset};
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::router::{RosAddressList, RosRoute};
use super::spans::written;
use super::tree::{ConfigSection, UnknownKeys, texts_of};
use super::words::SetWords;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

/// Something outside.
#[derive(Clone, Debug, PartialEq)]
pub enum OutwardEffect {
    /// Adds the answer's addresses to sets of ipset.
    Ipset(IpsetPlugin),
    /// Adds them to sets of nftables.
    Nftset(NftsetPlugin),
    /// Sends an HTTP request.
    HttpRequest(Box<HttpRequest>),
    /// Runs a program.
    Script(ScriptPlugin),
    /// Fetches files.
    Download(DownloadPlugin),
    /// Adds them to address lists of a router.
    RosAddressList(Box<RosAddressList>),
    /// Adds routes to them there.
    RosRoute(Box<RosRoute>),
    /// Reads the configuration anew.
    Reload,
    /// Reads lists anew, by their tags.
    ReloadProvider(Vec<PlacedWord>),
}

/// An HTTP request with `${...}` in its texts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HttpRequest {
    /// `GET`, `POST`…
    pub method: String,
    /// `http://` or `https://`.
    pub url: String,
    /// Default after.
    pub phase: PluginPhase,
    /// True if nobody waits for it. Default true.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Default 5 s.
    #[serde(serialize_with = "written")]
    pub timeout: Duration,
    /// What its failure means. Default: nothing.
    pub error_mode: ErrorMode,
    /// Headers.
    pub headers: BTreeMap<String, String>,
    /// Added to the URL.
    pub query_params: BTreeMap<String, String>,
    /// The body as text; at most one of the three.
    pub body: Option<String>,
    /// The body as JSON.
    pub json: Option<Value>,
    /// The body as a form.
    pub form: Option<BTreeMap<String, String>>,
    /// What `body` is.
    pub content_type: Option<String>,
    /// Through this proxy. It is parsed by whoever connects.
    pub socks5: Option<String>,
    /// True if certificates are not checked. Default false.
    pub insecure_skip_verify: bool,
    /// Default 5.
    pub max_redirects: u64,
    /// Requests that wait. Default 256.
    pub queue_size: u64,
}

/// When something is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginPhase {
    /// Before the rest of the sequence.
    Before,
    /// After it.
    After,
}

/// Tells what a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorMode {
    /// Nothing.
    Continue,
    /// The sequence ends.
    Stop,
    /// The question fails.
    Fail,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScriptPlugin {
    /// The program.
    pub command: String,
    /// Arguments, with `${...}`.
    pub args: Vec<String>,
    /// Environment added to our own.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in.
    pub cwd: Option<String>,
    /// Default 5 s.
    #[serde(serialize_with = "written")]
    pub timeout: Duration,
    /// What its failure means. Default: nothing.
    pub error_mode: ErrorMode,
    /// Bytes of output that are kept. Default 4096.
    pub max_output_bytes: u64,
}

/// Files to fetch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DownloadPlugin {
    /// Default 30 s for each file.
    #[serde(serialize_with = "written")]
    pub timeout: Duration,
    /// Through this proxy. It is parsed by whoever connects.
    pub socks5: Option<String>,
    /// True if certificates are not checked. Default false.
    pub insecure_skip_verify: bool,
    /// True if what is not there is fetched at the start. Default true; not in the quick form.
    pub startup_if_missing: bool,
    /// The files. At least one.
    pub downloads: Vec<DownloadFile>,
}

/// A file to fetch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DownloadFile {
    /// Where from.
    pub url: String,
    /// Into which folder.
    pub dir: String,
    /// Under which name. Default: the last part of the URL.
    pub filename: Option<String>,
}

impl OutwardEffect {
    /// The same as the DNS door's settings for effects have it: keys by OxiDNS's names, and `type`.
    pub fn settings(&self) -> Value {
        let (kind, keys) = match self {
            Self::Ipset(it) => ("ipset", json!(it)),
            Self::Nftset(it) => ("nftset", json!(it)),
            Self::HttpRequest(it) => ("http_request", json!(it)),
            Self::Script(it) => ("script", json!(it)),
            Self::Download(it) => ("download", json!(it)),
            Self::RosAddressList(it) => ("ros_address_list", json!(it)),
            Self::RosRoute(it) => ("ros_route", json!(it)),
            Self::Reload => ("reload", json!({ "what": "everything" })),
            Self::ReloadProvider(tags) => {
                let names: Vec<&str> = tags.iter().map(|it| it.text.as_str()).collect();
                ("reload", json!({ "what": "providers", "names": names }))
            }
        };
        let mut settings = json!({ "type": kind });
        if let (Value::Object(all), Value::Object(keys)) = (&mut settings, keys) {
            all.extend(keys);
        }
        settings
    }
}

impl DownloadPlugin {
    /// True if `path` is one of the files that are fetched at the start where they are not there.
    pub fn provides(&self, path: &str) -> bool {
        // What is wrong with a URL is told where the effect is checked.
        let last = |url: &str| {
            let end = url.find(['?', '#']).unwrap_or(url.len());
            url[..end].rsplit('/').next().unwrap_or_default().to_owned()
        };
        self.startup_if_missing
            && self.downloads.iter().any(|file| {
                let named = file.filename.as_deref().map(str::trim).filter(|it| !it.is_empty());
                let name = named.map_or_else(|| last(file.url.trim()), str::to_owned);
                plain(&Path::new(&file.dir).join(name)).eq(plain(Path::new(path)))
            })
    }
}

/// The parts of a path that say something.
fn plain(path: &Path) -> impl Iterator<Item = Component<'_>> {
    path.components().filter(|part| !matches!(part, Component::CurDir))
}

const SECOND: Duration = Duration::from_secs(1);

/// The executor of type `name` with the arguments of its own plugin.
pub(super) fn read(
    name: &str,
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<OutwardEffect> {
    if name == "reload_provider" {
        let mut words = SetWords::default();
        for item in texts_of(args, place, notes) {
            words.add(&item.text, &item.position, notes.dialect);
        }
        return providers(words, place, notes);
    }
    let mut section = ConfigSection::new(args, place, notes);
    let (outward, unknown) = match name {
        "ipset" => (Some(OutwardEffect::Ipset(ipset(&mut section))), UnknownKeys::AsUsual),
        "nftset" => (Some(OutwardEffect::Nftset(nftset(&mut section))), UnknownKeys::AsUsual),
        "reload" => (Some(OutwardEffect::Reload), UnknownKeys::AsUsual),
        "http_request" => {
            let it = http_request(&mut section).map(|it| OutwardEffect::HttpRequest(Box::new(it)));
            (it, UnknownKeys::Refused)
        }
        "script" => (script(&mut section).map(OutwardEffect::Script), UnknownKeys::Refused),
        "download" => (download(&mut section).map(OutwardEffect::Download), UnknownKeys::Refused),
        "ros_address_list" => {
            let it = RosAddressList::read(&mut section);
            (it.map(|it| OutwardEffect::RosAddressList(Box::new(it))), UnknownKeys::Refused)
        }
        "ros_route" => {
            let it = RosRoute::read(&mut section);
            (it.map(|it| OutwardEffect::RosRoute(Box::new(it))), UnknownKeys::Refused)
        }
        _ => (None, UnknownKeys::AsUsual),
    };
    section.finish(unknown);
    outward
}

/// The executor of type `name` with the words of its quick form.
pub(super) fn quick(
    name: &str,
    text: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<OutwardEffect> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match name {
        "ipset" => quick_ipset(&words, place, notes).map(OutwardEffect::Ipset),
        "nftset" => quick_nftset(&words, place, notes).map(OutwardEffect::Nftset),
        "reload" => {
            super::words::no_words(name, text, place, notes);
            Some(OutwardEffect::Reload)
        }
        "reload_provider" => {
            let mut words = SetWords::default();
            words.add(text, place, notes.dialect);
            providers(words, place, notes)
        }
        "download" => {
            let [url, dir] = words[..] else {
                let complaint = place.complaint("a download takes two words");
                return notes.refuse(complaint.remedy("write download URL FOLDER"));
            };
            let file = DownloadFile { url: url.into(), dir: dir.into(), filename: None };
            Some(OutwardEffect::Download(DownloadPlugin {
                timeout: SECOND * 30,
                socks5: usual_proxy(notes),
                insecure_skip_verify: false,
                startup_if_missing: false,
                downloads: vec![file],
            }))
        }
        _ => None,
    }
}

fn providers(words: SetWords, place: &SourcePosition, notes: &ReadNotes) -> Option<OutwardEffect> {
    if words.sets.is_empty() || !words.rules.is_empty() || !words.files.is_empty() {
        let complaint = place.complaint("only tags of providers can be reloaded");
        notes.complain(complaint.remedy("write reload_provider $TAG"));
        return None;
    }
    Some(OutwardEffect::ReloadProvider(words.sets))
}

/// Longest time that anything outside may take, in seconds.
const TIMEOUT_MAX: Duration = Duration::from_hours(1);

fn timeout(section: &mut ConfigSection<'_>, usual: Duration) -> Duration {
    let timeout = section.span("timeout", SECOND).unwrap_or(usual);
    if timeout.is_zero() || timeout > TIMEOUT_MAX {
        let complaint = section.position.below("timeout").complaint("the time is out of bounds");
        section.notes.complain(complaint.remedy("up to 1h"));
    }
    timeout
}

fn error_mode(section: &mut ConfigSection<'_>) -> ErrorMode {
    let Some(mode) = section.text("error_mode") else { return ErrorMode::Continue };
    match mode.text.as_str() {
        "continue" => ErrorMode::Continue,
        "stop" => ErrorMode::Stop,
        "fail" => ErrorMode::Fail,
        other => {
            let complaint =
                mode.position.complaint(format!("{other:?} is no way to take a failure"));
            section.notes.complain(complaint.remedy("continue, stop or fail"));
            ErrorMode::Continue
        }
    }
}

fn http_request(section: &mut ConfigSection<'_>) -> Option<HttpRequest> {
    let (method, url) = (section.needed("method"), section.needed("url"));
    let phase = match section.text("phase") {
        None => PluginPhase::After,
        Some(it) if it.text == "after" => PluginPhase::After,
        Some(it) if it.text == "before" => PluginPhase::Before,
        Some(it) => {
            let complaint = it.position.complaint(format!("{:?} is no phase", it.text));
            section.notes.complain(complaint.remedy("before or after"));
            PluginPhase::After
        }
    };
    let mut map = |key| section.pairs(key).into_iter().collect::<BTreeMap<_, _>>();
    let (headers, query_params, form) = (map("headers"), map("query_params"), map("form"));
    let json = section.value("json").map(|(value, _)| value.clone());
    let body = section.text("body").map(|it| it.text);
    let bodies = [body.is_some(), json.is_some(), !form.is_empty()];
    if bodies.iter().filter(|is_there| **is_there).count() > 1 {
        section
            .notes
            .complain(section.position.complaint("only one of body, json and form can be"));
    }
    let is_async = section.flag("async").unwrap_or(true);
    let timeout = timeout(section, SECOND * 5);
    Some(HttpRequest {
        phase,
        is_async,
        timeout,
        error_mode: error_mode(section),
        headers,
        query_params,
        body,
        json,
        form: (!form.is_empty()).then_some(form),
        content_type: section.text("content_type").map(|it| it.text),
        socks5: proxy(section),
        insecure_skip_verify: section.is_on("insecure_skip_verify"),
        max_redirects: section.whole("max_redirects", 0..=20).unwrap_or(5),
        queue_size: section.whole("queue_size", 1..=65536).unwrap_or(256),
        method: method?.text,
        url: url?.text,
    })
}

fn script(section: &mut ConfigSection<'_>) -> Option<ScriptPlugin> {
    let command = section.needed("command");
    let args = section.texts("args").into_iter().map(|it| it.text).collect();
    let timeout = timeout(section, SECOND * 5);
    Some(ScriptPlugin {
        args,
        env: section.pairs("env").into_iter().collect(),
        cwd: section.text("cwd").map(|it| it.text),
        timeout,
        error_mode: error_mode(section),
        max_output_bytes: section.whole("max_output_bytes", 1..=1 << 20).unwrap_or(4096),
        command: command?.text,
    })
}

fn download(section: &mut ConfigSection<'_>) -> Option<DownloadPlugin> {
    let timeout = timeout(section, SECOND * 30);
    let startup_if_missing = section.flag("startup_if_missing").unwrap_or(true);
    let mut downloads = Vec::new();
    for mut it in section.sections("downloads") {
        let (url, dir) = (it.needed("url"), it.needed("dir"));
        let filename = it.text("filename").map(|item| item.text);
        it.finish(UnknownKeys::Refused);
        if let (Some(url), Some(dir)) = (url, dir) {
            downloads.push(DownloadFile { url: url.text, dir: dir.text, filename });
        }
    }
    if downloads.is_empty() {
        section.missing("downloads");
        return None;
    }
    Some(DownloadPlugin {
        timeout,
        socks5: proxy(section),
        insecure_skip_verify: section.is_on("insecure_skip_verify"),
        startup_if_missing,
        downloads,
    })
}
