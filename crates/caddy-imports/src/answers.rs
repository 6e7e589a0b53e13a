//! Answers of a site: texts, folders, fields, passwords.

use super::CaddyReader;
use super::handlers::SiteState;
use super::tree::CaddyDirective;
use import_routes::flow::{FieldSide, FlowStep, FolderEnd, RouteEnd};
use import_routes::names::is_field;
use import_routes::report::LineFate;
use import_routes::unknown_word::UnknownWord;
use serde_json::{Map, Value, json};

impl CaddyReader<'_> {
    pub(super) fn answered(&mut self, first: &CaddyDirective, args: &[String]) -> Vec<FlowStep> {
        let is_error = first.name == "error";
        let mut status = if is_error { 500 } else { 200 };
        let mut body = None;
        for arg in args {
            match arg.parse::<u16>() {
                Ok(number) if (200..600).contains(&number) => status = number,
                _ => body = Some(arg.clone()),
            }
        }
        for line in &first.block {
            self.report.mark(line.row, LineFate::Carried, "");
            if line.name == "body" {
                body = Some(line.arg(0).to_owned());
            }
        }
        let mut answer = json!({ "status": status });
        let body = body.filter(|it| !matches!(status, 204 | 205 | 304) && it.len() < 60_000);
        if let Some(body) = body.filter(|_| !is_error) {
            if body.contains('{') && text_of(&body).is_ok_and(|it| it != body) {
                let why =
                    "an answer's text is always the same: its variables are sent as they stand";
                self.report.mark(first.row, LineFate::Changed, why);
            }
            answer["body"] = json!(body);
        }
        vec![FlowStep::settings(json!({ "answer": answer }))]
    }

    pub(super) fn fields(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        side: FieldSide,
    ) -> Vec<FlowStep> {
        let mut lines: Vec<(import_routes::report::RowId, Vec<String>)> = Vec::new();
        if !args.is_empty() {
            lines.push((first.row, args.to_vec()));
        }
        for line in &first.block {
            lines.push((
                line.row,
                [std::slice::from_ref(&line.name), line.args.as_slice()].concat(),
            ));
        }
        let mut steps = Vec::new();
        for (row, words) in lines {
            self.report.mark(row, LineFate::Carried, "");
            let name = words[0].as_str();
            let value = words.get(1).map_or("", String::as_str);
            let (verb, name) = match name.chars().next() {
                Some('-') => ("remove", &name[1..]),
                Some('+') => ("add", &name[1..]),
                Some('?') => ("default", &name[1..]),
                Some('>') => ("set", &name[1..]),
                _ => ("set", name),
            };
            if name == "defer" || name == "match" {
                continue;
            }
            if words.len() > 2 || !is_field(name, "") {
                self.report.mark(row, LineFate::LeftOut, "this is no rule for one field");
                continue;
            }
            let rule = match (verb, text_of(value)) {
                ("remove", _) => json!({ "remove": name }),
                (verb, Ok(text)) if is_field(name, &text) => json!({ verb: name, "value": text }),
                (_, _) => {
                    let why = "its value has no counterpart: none is sent";
                    self.report.mark(row, LineFate::Changed, why);
                    json!({ "remove": name })
                }
            };
            steps.push(FlowStep::Field(side, rule));
        }
        steps
    }

    pub(super) fn password(&mut self, first: &CaddyDirective, args: &[String]) -> Option<Value> {
        let mut users = Map::new();
        for line in &first.block {
            let hash = match line.arg(0) {
                text if text.starts_with('$') => text.to_owned(),
                text => base64_text(text).unwrap_or_default(),
            };
            if import_routes::passwords::is_taken(&hash) {
                users.insert(line.name.clone(), json!(hash));
                self.report.mark(line.row, LineFate::Carried, "");
            } else {
                let why = "this user has no access until you write a hash of bcrypt, Argon2 or \
                           SHA-crypt";
                self.report.mark(line.row, LineFate::Refused, why);
            }
        }
        let is_text = |it: char| (' '..='~').contains(&it) && it != '"' && it != '\\';
        let realm = args.get(1).map_or("restricted", String::as_str);
        let realm: String = realm.chars().filter(|it| is_text(*it)).collect();
        (!users.is_empty()).then(|| json!({ "users": users, "realm": realm }))
    }

    /// A folder that is sent.
    pub(super) fn files(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        state: &SiteState,
    ) -> Vec<FlowStep> {
        let mut settings = Map::new();
        let mut root = state.root.clone();
        if args.iter().any(|it| it == "browse") {
            settings.insert("listing".into(), json!(true));
        }
        let mut hidden: Vec<String> = Vec::new();
        for line in &first.block {
            let mut said = (LineFate::Carried, "");
            match line.name.as_str() {
                "browse" => {
                    settings.insert("listing".into(), json!(true));
                }
                "root" => root = Some(self.folder.join(line.arg(0)).to_string_lossy().into_owned()),
                "index" => {
                    settings.insert("index".into(), json!(&line.args[..line.args.len().min(16)]));
                }
                "hide" => {
                    for name in &line.args {
                        if name.contains('/') || name.is_empty() {
                            return Self::refused(line, "hide names names alone here");
                        }
                        let below = [name.clone(), format!("/{name}/*"), format!("/*/{name}/*")];
                        hidden.extend(below);
                    }
                }
                "precompressed" => said = (LineFate::LeftOut, "a site of the web door finds them"),
                _ => said = (LineFate::LeftOut, "it has no counterpart"),
            }
            self.report.mark(line.row, said.0, said.1);
        }
        let Some(root) = root else {
            return Self::refused(first, "no root says which folder it is");
        };
        if state.rewrite.is_some() {
            return Self::refused(first, "the path of a folder is not rewritten");
        }
        if !hidden.is_empty() {
            hidden.extend(SCRIPTS.iter().map(|it| (*it).to_owned()));
            settings.insert("forbidden_files".into(), json!(hidden));
        }
        let why = "names that begin with a dot and sources of scripts are not sent";
        self.report.mark(first.row, LineFate::Changed, why);
        let mount = if state.base.is_empty() { "/".into() } else { format!("{}/", state.base) };
        let fallback = state.fallback.as_ref().map(|it| format!("{}{it}", state.base));
        let folder = FolderEnd { root, mount, fallback, settings, has_scripts: false };
        vec![FlowStep::End(RouteEnd::Folder(folder))]
    }
}

/// Scripts of servers, which are never sent by default.
pub(super) const SCRIPTS: [&str; 13] = [
    "*.php", "*.php3", "*.php4", "*.php5", "*.php7", "*.php8", "*.phtml", "*.phar", "*.cgi",
    "*.fcgi", "*.asp", "*.aspx", "*.jsp",
];

pub(super) fn encoded(first: &CaddyDirective, args: &[String]) -> FlowStep {
    let named =
        args.iter().map(String::as_str).chain(first.block.iter().map(|it| it.name.as_str()));
    let mut codings: Vec<&str> = named.filter(|it| matches!(*it, "zstd" | "br" | "gzip")).collect();
    if codings.is_empty() {
        codings = vec!["zstd", "gzip"];
    }
    codings.dedup();
    FlowStep::Set("compress", json!({ "codings": codings }))
}

/// A text with placeholders in our words, or why that cannot be.
pub(super) fn text_of(text: &str) -> Result<String, UnknownWord> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('}').map(|it| at + it);
        let (Some(end), true) = (end, rest[at..].starts_with('{')) else {
            out.push_str(&rest[at..=at].repeat(2));
            rest = &rest[at + 1..];
            continue;
        };
        let word = &rest[at + 1..end];
        out.push_str(known_word(word).ok_or_else(|| UnknownWord(format!("{{{word}}}")))?);
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A placeholder in our words.
pub(super) fn known_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "host" | "http.request.host" | "hostport" | "http.request.hostport" => "{host}",
        "uri" | "http.request.uri" | "http.request.orig_uri" => "{uri}",
        "path" | "http.request.uri.path" | "http.request.orig_uri.path" => "{path}",
        "query" | "http.request.uri.query" => "{query}",
        "scheme" | "http.request.scheme" => "{scheme}",
        "remote_host" | "client_ip" | "remote" | "http.request.remote.host" => "{client}",
        _ => return None,
    })
}

/// Text in base64, in which older hashes stand.
fn base64_text(text: &str) -> Option<String> {
    let (mut bits, mut count, mut out) = (0_u32, 0, Vec::new());
    for byte in text.bytes().filter(|it| *it != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    String::from_utf8(out).ok()
}
