//! What the tests of effects share: a web server that does as it is told, and surroundings that
//! remember what they were asked.
#![allow(clippy::unwrap_used)] // A test that cannot set itself up has failed.
#![allow(dead_code)] // Each test file uses its part of it.

use dns_effects::{
    AskedFor, EffectEvent, EffectId, EffectSettings, EffectSpec, Effects, EffectsEnv, EffectsPlan,
    GivenAnswer, JobSettings, ReloadWhat,
};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use transport::ClientTls;
use vocab::Name;

pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until `done` says so.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A request as the server read it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A web server on loopback: each request is kept and answered by a function, which writes the
/// whole response. Each connection carries one request.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Web {
    pub(crate) fn start(
        answer: impl Fn(&Asked, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream;
                    let Some(request) = read_request(&stream) else { return };
                    kept.lock().unwrap().push(request.clone());
                    // The client may have gone: its affair.
                    let _ = answer(&request, &mut stream);
                });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let line = head.lines().next().unwrap_or_default().to_owned();
    let mut request = Asked { line, head, body: String::new() };
    let length = request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}

/// Writes a whole response.
pub(crate) fn respond(
    stream: &mut TcpStream,
    status: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    )?;
    stream.write_all(body)
}

/// A folder that is removed with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-effects-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Names of what is in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What effects asked of their surroundings.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) reloads: Arc<Mutex<Vec<ReloadWhat>>>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

impl Told {
    pub(crate) fn reload_count(&self) -> usize {
        self.reloads.lock().unwrap().len()
    }
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

/// Effects and what they asked for. Fetched files must not hold the word `poison`.
pub(crate) fn start(specs: Vec<EffectSpec>, jobs: Vec<JobSettings>) -> (Effects, Told) {
    let told = Told::default();
    let (reloads, lines) = (Arc::clone(&told.reloads), Arc::clone(&told.lines));
    let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
    let around = EffectsEnv {
        dialer: Dialer::new(resolver, ClientTls::new()),
        reload: Arc::new(move |what| reloads.lock().unwrap().push(what)),
        check: Arc::new(|candidate| {
            let content = &mut *candidate.content;
            for line in content.lines() {
                if line.map_err(|why| why.to_string())?.contains("poison") {
                    return Err("it is poisoned".into());
                }
            }
            Ok(())
        }),
        log: Arc::new(move |line| lines.lock().unwrap().push(line.into())),
    };
    let effects = specs
        .into_iter()
        .enumerate()
        .map(|(index, spec)| EffectSettings { name: format!("effect-{index}"), spec })
        .collect();
    let effects = Effects::start(&EffectsPlan { effects, jobs }, around).unwrap();
    (effects, told)
}

/// Sets off an effect with an answer to a question for `name`.
pub(crate) fn emit(effects: &Effects, effect: u16, name: &str, addresses: &[IpAddr]) {
    with_event(name, addresses, |event| effects.emit(EffectId(effect), event));
}

/// Lends an event about `name`.
pub(crate) fn with_event<T>(
    name: &str,
    addresses: &[IpAddr],
    lend: impl FnOnce(&EffectEvent<'_>) -> T,
) -> T {
    lend(&EffectEvent {
        now: transport::clock::now(),
        question: Some(AskedFor {
            name: Name::from_lowercase(name).unwrap(),
            qtype: 1,
            qclass: 1,
            client: "192.0.2.53".parse().unwrap(),
            client_port: 4711,
            server_name: "",
            url_path: "",
            marks: &[],
        }),
        answer: Some(GivenAnswer { rcode: 0, addresses, ttl_s: 300 }),
    })
}

pub(crate) fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}
