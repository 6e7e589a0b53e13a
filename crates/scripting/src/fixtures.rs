//! Fixtures of a script: requests and questions, and what is to become of them. For `tidegate
//! script test`.

mod questions;

pub use questions::{FixtureAnswer, FixtureQuery, FixtureQuestion};

use crate::hook::ScriptHook;
use crate::request::ScriptedRequest;
use crate::response::ScriptedResponse;
use crate::script::LuauScript;
use crate::variables::ScriptVariables;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use vocab::Complaint;

/// The fixtures of one script, in the order in which they run; `shared` goes on from one to the
/// next.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFixtures {
    /// The fixtures.
    pub cases: Vec<FixtureCase>,
}

/// A request or a question, and what is to become of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixtureCase {
    /// The name, for people.
    pub name: String,
    /// The request of a client: this, `query` or `question`.
    #[serde(default)]
    pub request: Option<FixtureRequest>,
    /// A DNS question, for `on_query`.
    #[serde(default)]
    pub query: Option<FixtureQuery>,
    /// A request that the policy is asked about, for `on_decide`.
    #[serde(default)]
    pub question: Option<FixtureQuestion>,
    /// The answer of the server, where one is asked. Default: 200 without fields.
    #[serde(default)]
    pub response: FixtureResponse,
    /// The outcome that is due. What is left out is not looked at.
    pub expect: FixtureOutcome,
}

/// A request of a fixture.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixtureRequest {
    /// The absolute URL.
    pub url: String,
    /// The method. Default `GET`.
    #[serde(default = "get")]
    pub method: String,
    /// The client. Default `127.0.0.1`.
    #[serde(default)]
    pub client: Option<String>,
    /// Header fields. Default none.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// An answer of a server in a fixture.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixtureResponse {
    /// The status.
    pub status: u16,
    /// Header fields.
    pub headers: BTreeMap<String, String>,
}

/// The outcome that is due.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixtureOutcome {
    /// The status that the client gets.
    pub status: Option<u16>,
    /// The body of an answer of the script's own.
    pub body: Option<String>,
    /// Fields of the answer, each with its first value.
    pub headers: BTreeMap<String, String>,
    /// Fields that the answer does not have.
    pub without: Vec<String>,
    /// The request as a server is sent it.
    pub sent: Option<FixtureSent>,
    /// The answer to a query.
    pub answer: Option<FixtureAnswer>,
    /// The verdict on a question, `pass` or `block`, whoever gives it.
    pub verdict: Option<String>,
    /// The reason that the script gives.
    pub reason: Option<String>,
    /// Words of the error with which a hook fails.
    pub error: Option<String>,
}

/// A request as a server is to be sent it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixtureSent {
    /// Path and query.
    pub path: Option<String>,
    /// Fields, each with its first value.
    pub headers: BTreeMap<String, String>,
    /// Fields that it does not have.
    pub without: Vec<String>,
}

impl Default for FixtureResponse {
    fn default() -> Self {
        Self { status: 200, headers: BTreeMap::new() }
    }
}

fn get() -> String {
    "GET".into()
}

/// The outcome of a request.
struct FixtureResult {
    sent: Option<ScriptedRequest>,
    response: ScriptedResponse,
    body: Option<Vec<u8>>,
    error: Option<String>,
}

impl FixtureCase {
    /// Runs the hooks of a script as a request would; every difference to what was expected.
    pub fn run(&self, script: &LuauScript) -> Vec<String> {
        let request = match (&self.request, &self.query, &self.question) {
            (Some(request), None, None) => request,
            (None, Some(query), None) => return query.run(script, &self.expect),
            (None, None, Some(question)) => return question.run(script, &self.expect),
            _ => return vec!["a case has one of request, query and question".into()],
        };
        let (request, response) = match (request.read(), self.response.read()) {
            (Ok(request), Ok(response)) => (request, response),
            (Err(why), _) | (_, Err(why)) => return vec![why.to_string()],
        };
        self.expect.differences(&play(script, request, response))
    }
}

/// Calls the hooks in the order of a request.
fn play(
    script: &LuauScript,
    mut request: ScriptedRequest,
    response: ScriptedResponse,
) -> FixtureResult {
    request.variables = script.variables();
    let mut asked = ScriptedRequest {
        method: request.method.clone(),
        uri: request.uri.clone(),
        headers: HeaderMap::new(),
        host: request.host.clone(),
        variables: request.variables.clone(),
        ..request
    };
    let mut result = FixtureResult { sent: None, response, body: None, error: None };
    let decided = script.on_request(ScriptHook::Request, &mut request);
    result.error = decided.failure.map(|why| why.message);
    if let Some(answer) = decided.answer {
        result.response = ScriptedResponse { status: answer.status, headers: answer.headers };
        result.body = Some(answer.body);
    } else if result.error.is_none() {
        let sent = script.on_request(ScriptHook::Upstream, &mut request);
        result.error = sent.failure.map(|why| why.message);
        result.sent = Some(request);
    }
    if result.error.is_none() {
        let failure = script.on_response(&mut asked, &mut result.response);
        result.error = failure.map(|why| why.message);
    }
    result
}

impl FixtureRequest {
    fn read(&self) -> Result<ScriptedRequest, Complaint> {
        let cannot = || {
            Complaint::new("request.url", format!("{:?} is no URL", self.url))
                .remedy("write http://HOST/PATH or https://HOST/PATH")
        };
        let url: Uri = self.url.parse().map_err(|_| cannot())?;
        let scheme = match url.scheme_str() {
            Some("http") => "http",
            Some("https") => "https",
            _ => return Err(cannot()),
        };
        let method = Method::from_bytes(self.method.as_bytes());
        let mut headers = fields(&self.headers)?;
        let host = url.host().unwrap_or_default().to_ascii_lowercase();
        if let Ok(host) = HeaderValue::from_str(&host) {
            headers.insert(http::header::HOST, host);
        }
        Ok(ScriptedRequest {
            method: method.map_err(|why| Complaint::new("request.method", why.to_string()))?,
            uri: url.path_and_query().map_or_else(Uri::default, |it| Uri::from(it.clone())),
            headers,
            host,
            scheme,
            client: Some(parse_client(self.client.as_deref(), "request.client")?),
            variables: ScriptVariables::default(),
        })
    }
}

/// The client of a case: this machine where none is named.
fn parse_client(text: Option<&str>, path: &str) -> Result<IpAddr, Complaint> {
    let text = text.unwrap_or("127.0.0.1");
    text.parse().map_err(|_| {
        let message = format!("{text:?} is no address");
        Complaint::new(path, message).remedy("write client: 192.0.2.7")
    })
}

impl FixtureResponse {
    fn read(&self) -> Result<ScriptedResponse, Complaint> {
        let status = StatusCode::from_u16(self.status);
        let status = status.map_err(|why| Complaint::new("response.status", why.to_string()))?;
        Ok(ScriptedResponse { status, headers: fields(&self.headers)? })
    }
}

fn fields(named: &BTreeMap<String, String>) -> Result<HeaderMap, Complaint> {
    let field = |(name, value): (&String, &String)| {
        let read = HeaderName::from_bytes(name.as_bytes()).ok();
        let read = read.zip(HeaderValue::from_str(value).ok());
        read.ok_or_else(|| {
            Complaint::new("headers", format!("{name}: {value:?} is no header field"))
        })
    };
    named.iter().map(field).collect()
}

impl FixtureOutcome {
    /// Compares errors; true if there is one, or was to be, and nothing else is to be compared.
    fn fails(&self, found: &mut Vec<String>, error: Option<&str>) -> bool {
        match (&self.error, error) {
            (None, Some(error)) => found.push(format!("it failed: {error}")),
            (Some(words), Some(error)) if !error.contains(words.as_str()) => {
                found.push(format!("error: expected {words:?}, got {error:?}"));
            }
            (Some(words), None) => found.push(format!("error: expected {words:?}, got none")),
            (Some(_), Some(_)) | (None, None) => {}
        }
        self.error.is_some() || error.is_some()
    }

    fn differences(&self, result: &FixtureResult) -> Vec<String> {
        let mut found = Vec::new();
        if self.fails(&mut found, result.error.as_deref()) {
            return found;
        }
        differ(&mut found, "status", self.status, Some(result.response.status.as_u16()));
        if let Some(body) = &self.body {
            let got = result.body.as_deref().map(String::from_utf8_lossy);
            differ(&mut found, "body", Some(body.as_str()), got.as_deref());
        }
        compare_fields(&mut found, "", &self.headers, &self.without, &result.response.headers);
        match (&self.sent, &result.sent) {
            (Some(expected), Some(sent)) => {
                let path = sent.uri.to_string();
                differ(&mut found, "sent.path", expected.path.as_deref(), Some(&path));
                let (named, without) = (&expected.headers, &expected.without);
                compare_fields(&mut found, "sent.", named, without, &sent.headers);
            }
            (Some(_), None) => found.push("sent: no server is asked, the script answers".into()),
            (None, _) => {}
        }
        found
    }
}

fn differ<T: PartialEq + std::fmt::Debug>(
    found: &mut Vec<String>,
    what: &str,
    expected: Option<T>,
    got: Option<T>,
) {
    let Some(expected) = expected else { return };
    if got.as_ref() == Some(&expected) {
        return;
    }
    let mut told = format!("{what}: expected {expected:?}, got ");
    // A text takes all.
    let _ = match got {
        Some(got) => write!(told, "{got:?}"),
        None => write!(told, "none"),
    };
    found.push(told);
}

fn compare_fields(
    found: &mut Vec<String>,
    under: &str,
    expected: &BTreeMap<String, String>,
    without: &[String],
    got: &HeaderMap,
) {
    for (name, value) in expected {
        let value_got = got.get(name).map(|it| String::from_utf8_lossy(it.as_bytes()));
        let what = format!("{under}headers.{name}");
        differ(found, &what, Some(value.as_str()), value_got.as_deref());
    }
    for name in without.iter().filter(|name| got.contains_key(name.as_str())) {
        found.push(format!("{under}without: there is a field {name}"));
    }
}
