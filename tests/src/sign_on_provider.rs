//! A provider of OpenID Connect over loopback that the test controls: honest until it is told
//! otherwise.

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Ill will of a provider towards whoever asks for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IllWill {
    /// It takes the request and answers nothing.
    Silent,
    /// It answers without an end.
    Endless,
    /// It leads elsewhere.
    Redirects,
}

/// A provider.
#[derive(Debug)]
pub struct SignOnProvider {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    key: EncodingKey,
    /// Claims beside those of the sign-in, which they outrank.
    person: Value,
    /// Nonces by code.
    codes: HashMap<String, String>,
    ill_will: HashMap<String, IllWill>,
    asked: Vec<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl Default for SignOnProvider {
    fn default() -> Self {
        Self::start()
    }
}

impl SignOnProvider {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let state = State {
            key: EncodingKey::from_ec_der(&pair.serialize_der()),
            person: json!({"sub": "1", "preferred_username": "anna", "groups": ["staff"]}),
            codes: HashMap::new(),
            ill_will: HashMap::new(),
            asked: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let kept = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&kept);
                std::thread::spawn(move || {
                    // Whoever has enough hangs up.
                    let _ = serve(stream, address, &state);
                });
            }
        });
        Self { address, state }
    }

    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Says this of whoever comes.
    pub fn person(&self, claims: Value) {
        self.state.lock().unwrap().person = claims;
    }

    /// Treats those so who ask for this path.
    pub fn turn(&self, path: &str, ill_will: Option<IllWill>) {
        let mut state = self.state.lock().unwrap();
        match ill_will {
            Some(ill_will) => state.ill_will.insert(path.into(), ill_will),
            None => state.ill_will.remove(path),
        };
    }

    /// Paths that it was asked for.
    pub fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }
}

fn serve(stream: TcpStream, own: SocketAddr, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let ill_will = {
        let mut state = state.lock().unwrap();
        state.asked.push(path.to_owned());
        state.ill_will.get(path).copied()
    };
    match ill_will {
        Some(IllWill::Silent) => {
            // Until the other side hangs up.
            let _ = reader.read(&mut [0]);
            Ok(())
        }
        Some(IllWill::Endless) => {
            stream
                .write_all(b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\n\r\n{\"a\": \"")?;
            loop {
                stream.write_all(&[b'a'; 4096])?;
            }
        }
        Some(IllWill::Redirects) => {
            let head = format!("HTTP/1.1 302 x\r\nlocation: http://{own}/elsewhere\r\n");
            stream.write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes())
        }
        None => {
            let (fields, body) = answer(own, state, (path, query), &String::from_utf8_lossy(&body));
            let head = format!("HTTP/1.1 {fields}content-length: {}\r\n", body.len());
            stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())
        }
    }
}

fn answer(
    own: SocketAddr,
    state: &Mutex<State>,
    (path, query): (&str, &str),
    form: &str,
) -> (String, String) {
    let issuer = format!("http://{own}");
    let mut state = state.lock().unwrap();
    let words = |text: &str| -> HashMap<String, String> {
        let pairs = text.split('&').filter_map(|word| word.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), plain(value))).collect()
    };
    let body = match path {
        "/.well-known/openid-configuration" => json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys"),
            "authorization_response_iss_parameter_supported": true,
        }),
        "/authorize" => {
            let words = words(query);
            let code = format!("code-{}", state.codes.len());
            state.codes.insert(code.clone(), words["nonce"].clone());
            let back = &words["redirect_uri"];
            let location = format!("{back}?code={code}&state={}&iss={issuer}", words["state"]);
            return (format!("302 x\r\nlocation: {location}\r\n"), String::new());
        }
        "/keys" => json!({"keys": [Jwk::from_encoding_key(&state.key, Algorithm::ES256).unwrap()]}),
        "/token" => {
            let words = words(form);
            let nonce = state.codes.remove(&words["code"]).unwrap();
            let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
            let mut claims = json!({
                "iss": issuer, "aud": "tidegate", "nonce": nonce, "iat": now, "exp": now + 300,
            });
            claims.as_object_mut().unwrap().extend(state.person.as_object().unwrap().clone());
            let header = Header::new(Algorithm::ES256);
            json!({
                "id_token": jsonwebtoken::encode(&header, &claims, &state.key).unwrap(),
                "access_token": "access", "token_type": "Bearer",
            })
        }
        _ => return ("404 x\r\n".into(), String::new()),
    };
    ("200 x\r\ncontent-type: application/json\r\n".into(), body.to_string())
}

/// A word without its escapes; those here are of single bytes.
fn plain(value: &str) -> String {
    let mut parts = value.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut text, part| {
        let (digits, rest) = part.split_at(2);
        text.push(char::from(u8::from_str_radix(digits, 16).unwrap()));
        text + rest
    })
}
