//! The HTTP hook: a request that tells another program what happened.
//!
//! Its answer is not looked at beyond its status. The host is the configuration's, never a
//! client's. Called by the effects' thread.

use super::event::EffectOccurrence;
use super::proxy_route::{CertificateChecking, Detour};
use super::settings::HttpSpec;
use super::template::{BadTemplate, Template, TemplateEscape, URL_UNSAFE};
use super::{EffectFailure, bounds};
use bytes::Bytes;
use fetch::{RepeatableRequest, Url, fetch, printable};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::{BodyExt, Limited};
use origins::Origins;
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value};
use std::time::Duration;
use vocab::Complaint;

/// Headers, and parameters of a query, at most.
const FIELDS_MAX: usize = 64;
const REDIRECTS_MAX: u8 = 20;
pub(super) const QUEUE_MAX: usize = 65_536;
/// Requests of one hook that are under way at once: a receiver that hangs for the whole timeout
/// holds up no others until so many do.
pub(super) const CONCURRENT: usize = 8;
/// Bytes of an answer that are read so that its connection can be used again; a longer one is cut.
const ANSWER_BYTES_MAX: usize = 64 << 10;
const TIMEOUT_MIN: Duration = Duration::from_millis(10);
const TIMEOUT_MAX: Duration = Duration::from_hours(1);

/// A hook, read.
#[derive(Debug)]
pub(super) struct HookEffect {
    method: Method,
    /// Up to the path, without words.
    base: Url,
    /// Path and query, escaped but for what is filled in.
    target: Template,
    query: Vec<(String, Template)>,
    headers: Vec<(HeaderName, Template)>,
    body: HookBody,
    content_type: Option<HeaderValue>,
    pub(super) proxy: Detour,
    timeout: Duration,
    redirects_max: u8,
}

#[derive(Debug)]
enum HookBody {
    Nothing,
    Text(Template),
    Json(JsonTemplate),
    Form(Vec<(String, Template)>),
}

/// JSON whose texts are filled in.
#[derive(Debug)]
enum JsonTemplate {
    Text(Template),
    List(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
    Other(Value),
}

impl HttpSpec {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        HookEffect::read(self).err().unwrap_or_default()
    }
}

impl HookEffect {
    pub(super) fn read(spec: &HttpSpec) -> Result<Self, Vec<Complaint>> {
        let mut wrong = Vec::new();
        check_bounds(spec, &mut wrong);
        let certificates = if spec.insecure_skip_verify {
            CertificateChecking::Unchecked
        } else {
            CertificateChecking::Checked
        };
        let detour = Detour::read(spec.socks5.as_deref(), certificates, &mut wrong);
        let method = Method::from_bytes(spec.method.trim().to_ascii_uppercase().as_bytes());
        if method.is_err() {
            let message = format!("{:?} is no method", spec.method);
            wrong.push(Complaint::new("method", message).remedy("write GET or POST"));
        }
        let url = read_url(&spec.url).map_err(|complaint| wrong.push(complaint));
        let headers = read_headers(spec, &mut wrong);
        let query = read_pairs("query_params", &spec.query_params, &mut wrong);
        let (body, content_type) = read_body(spec, &mut wrong);
        match (method, url) {
            (Ok(method), Ok((base, target))) if wrong.is_empty() => Ok(Self {
                method,
                base,
                target,
                query,
                headers,
                body,
                content_type,
                proxy: detour,
                timeout: spec.timeout.0.0,
                redirects_max: spec.max_redirects,
            }),
            _ => Err(wrong),
        }
    }

    pub(super) async fn run(
        &self,
        origins: &Origins,
        of: &EffectOccurrence,
    ) -> Result<(), EffectFailure> {
        let outgoing = self.render(of)?;
        let exchange = async {
            let response = fetch(origins, outgoing, self.redirects_max)
                .await
                .map_err(|why| EffectFailure::new(why.to_string()))?;
            let status = response.status();
            // Read for the sake of the connection alone: whether that works does not matter.
            let _ = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            if status.is_success() {
                Ok(())
            } else {
                Err(EffectFailure::new(format!("the answer was {status}")))
            }
        };
        let outcome = tokio::time::timeout(self.timeout, exchange).await;
        outcome.unwrap_or_else(|_| Err(EffectFailure::new("no answer within the timeout")))
    }

    fn render(&self, of: &EffectOccurrence) -> Result<RepeatableRequest, EffectFailure> {
        let mut target = self.target.render(of, TemplateEscape::Url);
        for (key, value) in &self.query {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.extend(utf8_percent_encode(key, URL_UNSAFE));
            target.push('=');
            target.extend(utf8_percent_encode(
                &value.render(of, TemplateEscape::Nothing),
                URL_UNSAFE,
            ));
        }
        let url = Url::at(self.base.origin.clone(), &target)
            .map_err(|why| EffectFailure::new(format!("the URL cannot be used: {why}")))?;
        let mut headers = HeaderMap::new();
        if let Some(kind) = &self.content_type {
            headers.insert(CONTENT_TYPE, kind.clone());
        }
        for (name, value) in &self.headers {
            // A line break among what is filled in would begin another header: refused here.
            let value = HeaderValue::from_str(&value.render(of, TemplateEscape::Nothing)).map_err(
                |_| EffectFailure::new(format!("the header {name} cannot carry its value")),
            )?;
            headers.insert(name.clone(), value);
        }
        let body = match &self.body {
            HookBody::Nothing => Bytes::new(),
            HookBody::Text(text) => text.render(of, TemplateEscape::Nothing).into(),
            HookBody::Json(json) => json.render(of).to_string().into(),
            HookBody::Form(fields) => render_form(fields, of).into(),
        };
        Ok(RepeatableRequest { method: self.method.clone(), url, headers, body })
    }
}

fn check_bounds(spec: &HttpSpec, wrong: &mut Vec<Complaint>) {
    bounds(wrong, "timeout", &spec.timeout.0.0, &(TIMEOUT_MIN..=TIMEOUT_MAX), "from 10ms to 1h");
    bounds(wrong, "max_redirects", &spec.max_redirects, &(0..=REDIRECTS_MAX), "at most 20");
    bounds(wrong, "queue_size", &spec.queue_size, &(1..=QUEUE_MAX), "from 1 to 65536");
    bounds(wrong, "headers", &spec.headers.len(), &(0..=FIELDS_MAX), "at most 64");
    bounds(wrong, "query_params", &spec.query_params.len(), &(0..=FIELDS_MAX), "at most 64");
}

/// Words in the scheme or host would let whoever asks a question choose whom we connect to.
fn read_url(text: &str) -> Result<(Url, Template), Complaint> {
    let complain = |message: String| {
        Complaint::new("url", message)
            .remedy("write it as in https://hook.example/path?name=${qname}")
    };
    let template = Template::parse(text.trim()).map_err(|why| complain(why.to_string()))?;
    let first = template.first_text();
    let authority = first.find("://").map_or(0, |at| at + 3);
    let path = first[authority..].find(['/', '?', '#']).map(|at| authority + at);
    let path = match path {
        Some(path) => path,
        None if template.is_text() => first.len(),
        None => return Err(complain("the host must be written out, without ${...}".into())),
    };
    let base = Url::parse(&first[..path]).map_err(|why| complain(why.to_string()))?;
    let target = template.without_first(path).up_to('#').map_text(printable);
    Ok((base, target))
}

fn read_template(path: &str, text: &str, wrong: &mut Vec<Complaint>) -> Template {
    match Template::parse(text) {
        Ok(template) => template,
        Err(why) => {
            wrong.push(unreadable(path, &why));
            Template::default()
        }
    }
}

pub(super) fn unreadable(path: &str, why: &BadTemplate) -> Complaint {
    Complaint::new(path, why.to_string()).remedy("write ${qname}, say, or leave it out")
}

fn read_pairs<'s>(
    path: &str,
    pairs: impl IntoIterator<Item = (&'s String, &'s String)>,
    wrong: &mut Vec<Complaint>,
) -> Vec<(String, Template)> {
    let mut read = |(key, text): (&String, &String)| {
        (key.clone(), read_template(&format!("{path}.{key}"), text, wrong))
    };
    pairs.into_iter().map(&mut read).collect()
}

fn read_headers(spec: &HttpSpec, wrong: &mut Vec<Complaint>) -> Vec<(HeaderName, Template)> {
    let mut headers = Vec::new();
    for (name, text) in &spec.headers {
        let path = format!("headers.{name}");
        match name.parse::<HeaderName>() {
            // The connection is ours: it knows the host and where a message ends.
            Ok(name)
                if ["host", "content-length", "transfer-encoding", "connection"]
                    .contains(&name.as_str()) =>
            {
                wrong.push(
                    Complaint::new(path, "this header is set by itself").remedy("leave it out"),
                );
            }
            Ok(name) => headers.push((name, read_template(&path, text, wrong))),
            Err(_) => {
                let message = format!("{name:?} is no name of a header");
                wrong.push(Complaint::new(path, message).remedy("letters, digits and dashes"));
            }
        }
    }
    headers
}

fn read_body(spec: &HttpSpec, wrong: &mut Vec<Complaint>) -> (HookBody, Option<HeaderValue>) {
    let given = [spec.body.is_some(), spec.json.is_some(), spec.form.is_some()];
    if given.iter().filter(|it| **it).count() > 1 {
        let message = "only one of body, json and form can be sent";
        wrong.push(Complaint::new("body", message).remedy("leave the others out"));
    }
    if spec.content_type.is_some() && spec.body.is_none() {
        let message = "content_type says what body is, and there is none";
        wrong.push(Complaint::new("content_type", message).remedy("leave it out"));
    }
    let kind = spec.content_type.as_deref().map(HeaderValue::from_str);
    if let Some(Err(_)) = kind {
        let message = "content_type is no media type";
        wrong.push(Complaint::new("content_type", message).remedy("as in text/plain"));
    }
    if let Some(text) = &spec.body {
        return (HookBody::Text(read_template("body", text, wrong)), kind.and_then(Result::ok));
    }
    if let Some(json) = &spec.json {
        let kind = HeaderValue::from_static("application/json");
        return (HookBody::Json(JsonTemplate::read("json", json, wrong)), Some(kind));
    }
    if let Some(form) = &spec.form {
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        return (HookBody::Form(read_pairs("form", form, wrong)), Some(kind));
    }
    (HookBody::Nothing, None)
}

/// As browsers write forms, but for blanks, which `%20` says as well as `+` does.
fn render_form(fields: &[(String, Template)], of: &EffectOccurrence) -> String {
    let mut out = String::new();
    for (key, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        out.extend(utf8_percent_encode(key, URL_UNSAFE));
        out.push('=');
        out.extend(utf8_percent_encode(&value.render(of, TemplateEscape::Nothing), URL_UNSAFE));
    }
    out
}

impl JsonTemplate {
    fn read(path: &str, value: &Value, wrong: &mut Vec<Complaint>) -> Self {
        match value {
            Value::String(text) => Self::Text(read_template(path, text, wrong)),
            Value::Array(all) => Self::List(
                all.iter()
                    .enumerate()
                    .map(|(index, it)| Self::read(&format!("{path}.{index}"), it, wrong))
                    .collect(),
            ),
            Value::Object(all) => Self::Object(
                all.iter()
                    .map(|(key, it)| (key.clone(), Self::read(&format!("{path}.{key}"), it, wrong)))
                    .collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Other(value.clone()),
        }
    }

    fn render(&self, of: &EffectOccurrence) -> Value {
        match self {
            Self::Text(text) => Value::String(text.render(of, TemplateEscape::Nothing)),
            Self::List(all) => all.iter().map(|it| it.render(of)).collect(),
            Self::Object(all) => {
                let all = all.iter().map(|(key, it)| (key.clone(), it.render(of)));
                Value::Object(all.collect::<Map<_, _>>())
            }
            Self::Other(value) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::template::tests::occurrence;
    use super::*;

    fn spec(url: &str) -> HttpSpec {
        HttpSpec { method: "post".into(), url: url.into(), ..HttpSpec::default() }
    }

    #[test]
    fn a_request_is_filled_in_and_escaped() {
        let mut spec = spec("http://hook.example:81/a b/${qname}?c=${rcode}#x${qname}");
        spec.query_params.insert("na me".into(), "${qname}&".into());
        spec.headers.insert("X-Name".into(), "<${qname}>".into());
        spec.json = Some(serde_json::json!({"n": ["${qname}", 1], "t": "${qtype}"}));
        let sent =
            HookEffect::read(&spec).expect("right").render(&occurrence("a/\"b")).expect("sent");
        assert_eq!(
            sent.url.to_string(),
            "http://hook.example:81/a%20b/a%2F%22b?c=3&na%20me=a%2F%22b%26"
        );
        assert_eq!(sent.headers["x-name"], "<a/\"b>");
        assert_eq!(sent.body, r#"{"n":["a/\"b",1],"t":"65"}"#);
        assert_eq!(sent.headers[CONTENT_TYPE], "application/json");
    }

    #[test]
    fn a_name_with_a_line_break_makes_no_header() {
        let mut spec = spec("http://hook.example/");
        spec.headers.insert("X-Name".into(), "${qname}".into());
        let hook = HookEffect::read(&spec).expect("right");
        assert!(hook.render(&occurrence("a\r\nX-Other: 1")).is_err());
    }

    #[test]
    fn wrong_hooks_are_refused() {
        let check = |change: &dyn Fn(&mut HttpSpec), path: &str| {
            let mut spec = spec("http://hook.example/");
            change(&mut spec);
            let paths: Vec<_> = spec.check().into_iter().map(|it| it.path).collect();
            assert_eq!(paths, [path]);
        };
        check(&|it| it.method = "B C".into(), "method");
        check(&|it| it.url = "http://${qname}/".into(), "url");
        check(&|it| it.url = "http://a.${qname}".into(), "url");
        check(&|it| it.url = "${qname}".into(), "url");
        check(&|it| it.url = "ftp://a.example/".into(), "url");
        check(&|it| it.url = "http://a.example/${x}".into(), "url");
        check(&|it| it.socks5 = Some("proxy.example:1080".into()), "socks5");
        check(&|it| it.queue_size = 0, "queue_size");
        check(&|it| it.max_redirects = 21, "max_redirects");
        check(&|it| drop(it.headers.insert("Host".into(), "x".into())), "headers.Host");
        check(&|it| drop(it.headers.insert("a b".into(), "x".into())), "headers.a b");
        check(&|it| it.json = Some(serde_json::json!({"a": ["${y}"]})), "json.a.0");
        check(&|it| it.content_type = Some("text/plain".into()), "content_type");
        assert!(spec("https://hook.example").check().is_empty());
    }
}
