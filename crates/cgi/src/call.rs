//! Variables of CGI/1.1 (RFC 3875 §4.1), which tell a script of its request.
//!
//! Pure. A client's fields become `HTTP_…`, but for those that would pass for another thing:
//! `Proxy` (scripts' libraries take `HTTP_PROXY` for their own setting), names with more than
//! letters, digits and dashes (with an underscore it would be the variable of another field, with a
//! dot none that a shell knows), and what only a proxy in front may say, unless it is one that the
//! site trusts. Called by `server` and `program`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName};
use http::{Method, Version};
use http_engine::claims::{MethodOverrides, is_claim};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

/// Tells how the client came to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSecurity {
    /// Without TLS.
    Plain,
    /// By TLS.
    Tls,
}

/// Trust in what the client writes about who sent the request and where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientTrust {
    /// None: anybody may write these fields.
    Stranger,
    /// One of the site's `trusted_proxies`.
    TrustedProxy,
}

/// One request, as a script sees it.
pub struct ScriptCall<'r> {
    /// Method.
    pub method: &'r Method,
    /// Version of HTTP.
    pub version: Version,
    /// Fields of the request.
    pub headers: &'r HeaderMap,
    /// Host and port of an absolute target, which stand over the field `Host` (RFC 9112 §3.2.2).
    pub authority: Option<&'r str>,
    /// Path and query as the client sent them.
    pub target: &'r str,
    /// Query, without its question mark.
    pub query: &'r str,
    /// The script's path in the URL, decoded, with its slash.
    pub script_name: &'r str,
    /// Path below the root, from the slash.
    pub script_file: &'r str,
    /// The script's file, absolute, where it is not below the root.
    pub script_filename: Option<&'r Path>,
    /// Rest of the URL's path, decoded; empty or with its slash.
    pub path_info: &'r str,
    /// The site's root, absolute.
    pub root: &'r Path,
    /// The host that was asked for, without its port.
    pub host: &'r str,
    /// Address of the client.
    pub client: SocketAddr,
    /// Trust in the client's fields.
    pub trust: ClientTrust,
    /// Our end of the connection.
    pub server: SocketAddr,
    /// Carrier of the request.
    pub security: CallSecurity,
    /// The certificate that the client has shown, as DER, verified.
    pub client_certificate: Option<&'r [u8]>,
    /// The name that the client has proven to be its own, if the site asks for one.
    pub user: Option<&'r str>,
    /// The exact length of the body.
    pub body_len: u64,
}

impl ScriptCall<'_> {
    /// True for a field that only a proxy in front may write, where the client is none.
    fn is_spoofed(&self, name: &HeaderName) -> bool {
        self.trust == ClientTrust::Stranger && is_claim(name, self.method, MethodOverrides::OfPosts)
    }
}

/// Hands all variables to `out`, each once. `more` are the site's own: they stand over ours.
pub(crate) fn variables(
    call: &ScriptCall<'_>,
    more: &BTreeMap<String, String>,
    out: &mut impl FnMut(&[u8], &[u8]),
) {
    let mut put = |name: &str, value: &[u8]| {
        if !more.contains_key(name) {
            out(name.as_bytes(), value);
        }
    };
    put("GATEWAY_INTERFACE", b"CGI/1.1");
    put("SERVER_SOFTWARE", b"tidegate");
    put("SERVER_PROTOCOL", protocol(call.version).as_bytes());
    put("REQUEST_METHOD", call.method.as_str().as_bytes());
    put("REQUEST_URI", call.target.as_bytes());
    put("DOCUMENT_URI", [call.script_name, call.path_info].concat().as_bytes());
    put("QUERY_STRING", call.query.as_bytes());
    put("SCRIPT_NAME", call.script_name.as_bytes());
    let beneath = |path: &str| {
        let root = call.root.as_os_str().as_encoded_bytes();
        [root.strip_suffix(b"/").unwrap_or(root), path.as_bytes()].concat()
    };
    match call.script_filename {
        Some(file) => put("SCRIPT_FILENAME", file.as_os_str().as_encoded_bytes()),
        None => put("SCRIPT_FILENAME", &beneath(call.script_file)),
    }
    put("DOCUMENT_ROOT", call.root.as_os_str().as_encoded_bytes());
    put("PATH_INFO", call.path_info.as_bytes());
    if !call.path_info.is_empty() {
        put("PATH_TRANSLATED", &beneath(call.path_info));
    }
    put_connection(call, &mut put);
    // php-cgi refuses to run without it unless told otherwise.
    put("REDIRECT_STATUS", b"200");
    if let Some(user) = call.user {
        put("REMOTE_USER", user.as_bytes());
        put("AUTH_TYPE", b"Basic");
    }
    if call.body_len > 0 || *call.method == Method::POST || *call.method == Method::PUT {
        put("CONTENT_LENGTH", call.body_len.to_string().as_bytes());
    }
    if let Some(kind) = call.headers.get(CONTENT_TYPE) {
        put("CONTENT_TYPE", kind.as_bytes());
    }
    if let Some(authority) = call.authority {
        put("HTTP_HOST", authority.as_bytes());
    }
    let stands_above = |name: &HeaderName| call.authority.is_some() && *name == HOST;
    let is_told =
        |name: &&HeaderName| is_passed(name) && !stands_above(name) && !call.is_spoofed(name);
    for name in call.headers.keys().filter(is_told) {
        put(&variable(name), &joined(call.headers, name));
    }
    for (name, value) in more {
        out(name.as_bytes(), value.as_bytes());
    }
}

/// Variables about the connection.
fn put_connection(call: &ScriptCall<'_>, put: &mut impl FnMut(&str, &[u8])) {
    put("SERVER_NAME", call.host.as_bytes());
    put("SERVER_ADDR", call.server.ip().to_string().as_bytes());
    put("SERVER_PORT", call.server.port().to_string().as_bytes());
    put("REMOTE_ADDR", call.client.ip().to_string().as_bytes());
    put("REMOTE_PORT", call.client.port().to_string().as_bytes());
    let scheme: &[u8] = match call.security {
        CallSecurity::Plain => b"http",
        CallSecurity::Tls => {
            put("HTTPS", b"on");
            b"https"
        }
    };
    put("REQUEST_SCHEME", scheme);
    if let Some(der) = call.client_certificate {
        put("SSL_CLIENT_VERIFY", b"SUCCESS");
        put("SSL_CLIENT_CERT", pem(der).as_bytes());
    }
}

/// A certificate as PEM (RFC 7468), 64 characters a line.
fn pem(der: &[u8]) -> String {
    let coded = STANDARD.encode(der);
    let mut pem = String::with_capacity(coded.len() + coded.len() / 64 + 64);
    pem.push_str("-----BEGIN CERTIFICATE-----\n");
    for line in coded.as_bytes().chunks(64) {
        // Base64 is ASCII: no character is cut.
        pem.extend(line.iter().map(|it| char::from(*it)));
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

/// True if a script hears of a field. RFC 3875 §4.1.18: those that are variables already are not
/// repeated.
fn is_passed(name: &HeaderName) -> bool {
    let is_ours = *name == CONTENT_LENGTH
        || *name == CONTENT_TYPE
        || *name == "proxy"
        || *name == http::header::TRANSFER_ENCODING
        || *name == http::header::CONNECTION;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !is_ours && name.as_str().bytes().all(is_plain)
}

fn variable(name: &HeaderName) -> String {
    let mut variable = String::with_capacity(name.as_str().len() + 5);
    let _ = write!(variable, "HTTP_");
    variable.extend(name.as_str().chars().map(|it| match it {
        '-' => '_',
        other => other.to_ascii_uppercase(),
    }));
    variable
}

/// A field that comes several times is one variable (RFC 3875 §4.1.18); cookies are joined as RFC
/// 9113 §8.2.3 says.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Vec<u8> {
    let between: &[u8] = if *name == http::header::COOKIE { b"; " } else { b", " };
    let mut values = headers.get_all(name).iter();
    let mut all = values.next().map(|it| it.as_bytes().to_vec()).unwrap_or_default();
    // Only one Authorization can be meant: the first is what we checked.
    if *name != AUTHORIZATION {
        for value in values {
            all.extend_from_slice(between);
            all.extend_from_slice(value.as_bytes());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(call: &ScriptCall<'_>, more: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        variables(call, more, &mut |name, value| {
            assert!(all.insert(text(name), text(value)).is_none(), "twice: {}", text(name));
        });
        all
    }

    fn call(headers: &HeaderMap) -> ScriptCall<'_> {
        ScriptCall {
            method: &Method::POST,
            version: Version::HTTP_11,
            headers,
            authority: None,
            target: "/a.php/b%20c?x=1",
            query: "x=1",
            script_name: "/a.php",
            script_file: "/a.php",
            script_filename: None,
            path_info: "/b c",
            root: Path::new("/srv/www/"),
            host: "www.example",
            client: "192.0.2.7:1234".parse().unwrap(),
            trust: ClientTrust::Stranger,
            server: "192.0.2.1:443".parse().unwrap(),
            security: CallSecurity::Tls,
            client_certificate: Some(&[0; 60]),
            user: Some("ann"),
            body_len: 5,
        }
    }

    #[test]
    fn a_script_is_told_everything_cgi_promises() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "text/plain".parse().unwrap());
        headers.append("x-two", "1".parse().unwrap());
        headers.append("x-two", "2".parse().unwrap());
        let all = read(&call(&headers), &BTreeMap::new());
        for (name, value) in [
            ("SCRIPT_FILENAME", "/srv/www/a.php"),
            ("SCRIPT_NAME", "/a.php"),
            ("PATH_INFO", "/b c"),
            ("PATH_TRANSLATED", "/srv/www/b c"),
            ("REQUEST_URI", "/a.php/b%20c?x=1"),
            ("QUERY_STRING", "x=1"),
            ("CONTENT_LENGTH", "5"),
            ("CONTENT_TYPE", "text/plain"),
            ("REMOTE_ADDR", "192.0.2.7"),
            ("REMOTE_USER", "ann"),
            ("SERVER_PORT", "443"),
            ("HTTPS", "on"),
            ("SSL_CLIENT_VERIFY", "SUCCESS"),
            ("HTTP_X_TWO", "1, 2"),
        ] {
            assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
        }
        let pem: Vec<_> = all["SSL_CLIENT_CERT"].lines().collect();
        assert_eq!(pem[1..pem.len() - 1], ["A".repeat(64), "A".repeat(16)]);
    }

    #[test]
    fn a_client_cannot_forge_a_variable() {
        let mut headers = HeaderMap::new();
        headers.insert("proxy", "http://evil.example".parse().unwrap());
        headers.insert("x_forwarded_for", "10.0.0.1".parse().unwrap());
        headers.insert("x.dot", "1".parse().unwrap());
        headers.insert("x!", "1".parse().unwrap());
        headers.insert("x-fine", "yes".parse().unwrap());
        headers.insert("remote-user", "root".parse().unwrap());
        headers.insert("x-original-url", "/admin".parse().unwrap());
        let told = |trust| {
            let all = read(&ScriptCall { trust, ..call(&headers) }, &BTreeMap::new());
            all.into_keys().filter(|name| name.starts_with("HTTP_")).collect::<Vec<_>>()
        };
        assert_eq!(told(ClientTrust::Stranger), ["HTTP_X_FINE"]);
        let claims = ["HTTP_REMOTE_USER", "HTTP_X_FINE", "HTTP_X_ORIGINAL_URL"];
        assert_eq!(told(ClientTrust::TrustedProxy), claims);
    }

    #[test]
    fn the_host_of_an_absolute_target_stands_over_the_field() {
        let mut headers = HeaderMap::new();
        headers.insert("host", "a.example".parse().unwrap());
        let told = |authority| {
            let call = ScriptCall { authority, ..call(&headers) };
            read(&call, &BTreeMap::new())["HTTP_HOST"].clone()
        };
        assert_eq!(told(None), "a.example");
        assert_eq!(told(Some("b.example:81")), "b.example:81");
    }

    #[test]
    fn the_sites_own_parameters_stand_over_ours() {
        let more =
            BTreeMap::from([("SERVER_NAME".into(), "mine".into()), ("A".into(), "b".into())]);
        let all = read(&call(&HeaderMap::new()), &more);
        assert_eq!((all["SERVER_NAME"].as_str(), all["A"].as_str()), ("mine", "b"));
    }
}
