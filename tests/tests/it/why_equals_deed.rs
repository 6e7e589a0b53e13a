//! `why` equals the deed: some thousands of generated requests are made at every door, and each is
//! asked about.
//!
//! Names and URLs come from real lists and from around them; kinds, pages and clients are drawn
//! from a fixed seed. What the log says of a request is what was done; `why` must say the same of
//! action, cause and rule, and its words must fit the answer. Then again with names let through,
//! and under a pause.

use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use tidegate_tests::clients::said;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::{Scratch, shared, wait};

/// Requests a phase.
const CASES: usize = 3000;

const YAML: &str = r#"
policy:
  lists:
    - { name: easylist, path: "LISTS/easylist.txt" }
    - { name: hosts, path: "LISTS/adservers.hosts" }
    - { name: own, rules: ["||own.example^", "@@||fine.own.example^", "||video.example^$media",
        "/track/*$script,third-party", "||page.example^$domain=news.example", "||x.example^$redirect=2x2.png",
        "||js.example^$redirect=noopjs", "@@||google-analytics.com/allowed.js", "$removeparam=utm_source",
        "||rewritten.example^$dnsrewrite=127.0.0.77", "||gone.example^$dnsrewrite=NXDOMAIN;;",
        "||elsewhere.example^$dnsrewrite=www.plain.example", "||a.important.example^$important",
        "@@||a.important.example^", "||v6.example^$dnstype=AAAA", "||kid.example^$client=kids"] }
    - { name: games, rules: ["||games.example^"] }
  clients:
    - name: kids
      match: [127.0.0.2]
      lists: [easylist, own]
      blocked: nxdomain
      schedule: [{ lists: [games], from: "00:00", to: "24:00" }, { block: "||never.example^", days: NEVER, from: "00:00", to: "24:00" }]
    - { name: guests, match: [127.0.0.3], lists: [] }
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: ["udp://UPSTREAM"]
  local: ["router.lan A 127.0.0.1", "own.example A 127.0.0.1"]
  filter_types: [TXT]
  blocked: pixel
  rebinding: { protect: false }
pixel: { listen: ["http://127.0.0.1:0"], addresses: [192.0.2.1] }
proxy: { listen: ["http://127.0.0.1:0"] }
web: [{ listen: ["http://127.0.0.1:0"], root: www }]
gateway:
  listen: ["http://127.0.0.1:0"]
  routes:
    - { path: "/admin/*", answer: { status: 200, body: "in" }, block: { patterns: ["/wp-login.php", "/.env"] } }
    - { path: "/*", answer: { status: 200, body: "hello" }, block: { patterns: ["/.env", "*.bak"] } }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
"#;

/// Numbers that are the same at each run (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}

/// A request.
#[derive(Clone, Debug)]
struct Case {
    door: &'static str,
    client: Ipv4Addr,
    /// A name at the DNS door and for a tunnel, else a URL.
    target: String,
    kind: &'static str,
    page: Option<String>,
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Deed {
    status: u16,
    body: usize,
    /// Records of an answer of the DNS door, as text.
    answers: Vec<String>,
}

const OWN_NAMES: [&str; 21] = [
    "own.example",
    "fine.own.example",
    "video.example",
    "page.example",
    "x.example",
    "js.example",
    "rewritten.example",
    "gone.example",
    "elsewhere.example",
    "a.important.example",
    "v6.example",
    "kid.example",
    "games.example",
    "never.example",
    "router.lan",
    "localhost",
    "www.plain.example",
    "alias.plain.example",
    "doubleclick.net",
    "www.google-analytics.com",
    "use-application-dns.net",
];
const PATHS: [&str; 18] = [
    "/",
    "/index.html",
    "/track/t.js",
    "/ads/banner.gif",
    "/analytics.js",
    "/allowed.js",
    "/ga.js",
    "/.env",
    "/%2eenv",
    "/admin/.env",
    "/admin/x;a=b/wp-login.php",
    "/site.bak",
    "/a%64s/banner.gif",
    "/x?utm_source=mail&id=7",
    "/pixel.png?cb=f",
    "/v.mp4",
    "/data.json?callback=cb",
    "/generate_204",
];
/// Kinds with what browsers say of them in `Sec-Fetch-Dest`.
const KINDS: [(&str, &str); 9] = [
    ("document", "document"),
    ("subdocument", "iframe"),
    ("script", "script"),
    ("stylesheet", "style"),
    ("image", "image"),
    ("font", "font"),
    ("fetch", "empty"),
    ("object", "object"),
    ("ping", "report"),
];
const TYPES: [(&str, u16); 5] = [("A", 1), ("AAAA", 28), ("HTTPS", 65), ("TXT", 16), ("MX", 15)];

/// Names and URLs that lists speak of.
struct Seeds {
    names: Vec<String>,
    urls: Vec<String>,
}

impl Seeds {
    fn read() -> Self {
        let list = |name: &str| {
            let bytes = std::fs::read(shared().join("data/lists").join(name)).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let is_name = |it: &&str| {
            let fits = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
            it.contains('.')
                && it.bytes().all(fits)
                && !it.starts_with(['.', '-'])
                && !it.ends_with('.')
        };
        let hosts = list("adservers.hosts");
        let names = hosts.lines().filter_map(|line| line.split_whitespace().nth(1)).filter(is_name);
        let names: Vec<String> = names.step_by(23).map(str::to_owned).collect();
        let easy = list("easylist.txt");
        let mut urls = Vec::new();
        for line in
            easy.lines().filter(|line| !line.contains('#') && !line.starts_with('!')).step_by(7)
        {
            let pattern = line.split('$').next().unwrap().trim_start_matches("@@");
            let plain = pattern.replace('^', "/").replace('*', "x").replace('|', "");
            if pattern.starts_with('/') && pattern.ends_with('/') || !plain.bytes().all(is_plain) {
                continue;
            }
            let url = match pattern.strip_prefix("||") {
                Some(_) => format!("http://{plain}"),
                None => format!("http://www.plain.example/a{plain}"),
            };
            let (host, path) = url["http://".len()..].split_once('/').unwrap_or((&url[7..], ""));
            // What the gateway would write in another form is left to the paths below.
            let is_normal = !path.contains("//") && !path.contains("/.") && !path.contains('%');
            if is_name(&host) && is_normal && !path.starts_with(['/', '.']) {
                urls.push(url);
            }
        }
        assert!(names.len() > 500 && urls.len() > 500, "{} {}", names.len(), urls.len());
        Self { names, urls }
    }

    fn name(&self, dice: &mut Dice) -> String {
        match dice.below(6) {
            0 | 1 => (*dice.pick(&OWN_NAMES)).to_owned(),
            2 => format!("sub.{}", dice.pick(&self.names)),
            3 => format!("not{}", dice.pick(&self.names)),
            _ => dice.pick(&self.names).clone(),
        }
    }

    fn url(&self, dice: &mut Dice) -> String {
        match dice.below(3) {
            0 => dice.pick(&self.urls).clone(),
            _ => format!("http://{}{}", self.name(dice), dice.pick(&PATHS)),
        }
    }

    fn case(&self, dice: &mut Dice) -> Case {
        let client = Ipv4Addr::new(127, 0, 0, 1 + dice.below(3) as u8);
        let page = match dice.below(4) {
            0 => Some("news.example".to_owned()),
            1 => Some((*dice.pick(&OWN_NAMES)).to_owned()),
            _ => None,
        };
        let door =
            *dice.pick(&["dns", "dns", "pixel", "pixel", "proxy", "proxy", "web", "gateway"]);
        if door == "dns" {
            let (target, (kind, _)) = (self.name(dice), *dice.pick(&TYPES));
            return Case { door, client, target, kind, page: None };
        }
        if door == "proxy" && dice.below(6) == 0 {
            return Case { door, client, target: self.name(dice), kind: "tunnel", page: None };
        }
        let (kind, _) = *dice.pick(&KINDS);
        Case { door, client, target: self.url(dice), kind, page }
    }
}

/// Bytes of a URL that stand there as they are.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._/?=&,%~".contains(&byte)
}

impl Case {
    fn make(&self, edge: &Tidegate) -> Deed {
        match self.door {
            "dns" => self.look_up(edge.address("dns", "udp")),
            door => self.fetch(edge.address(door, "http")),
        }
    }

    fn look_up(&self, dns: SocketAddr) -> Deed {
        let socket = UdpSocket::bind((self.client, 0)).unwrap();
        socket.connect(dns).unwrap();
        socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in self.target.split('.') {
            query.push(label.len() as u8);
            query.extend(label.as_bytes());
        }
        let (_, number) = TYPES.iter().find(|(word, _)| *word == self.kind).unwrap();
        query.push(0);
        query.extend(number.to_be_bytes());
        query.extend(1_u16.to_be_bytes());
        socket.send(&query).unwrap();
        let mut packet = [0; 4096];
        let length = socket.recv(&mut packet).unwrap_or_else(|why| panic!("{self:?}: {why}"));
        let answers = answers(&packet[..length]);
        Deed { status: u16::from(packet[3] & 15), body: length, answers }
    }

    fn fetch(&self, door: SocketAddr) -> Deed {
        let authority = self.target.strip_prefix("http://").unwrap_or(&self.target);
        let (host, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
        let path = if path.is_empty() { "/" } else { path };
        let mut head = match (self.door, self.kind) {
            (_, "tunnel") => format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n"),
            ("proxy", _) => format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n"),
            _ => format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n"),
        };
        if let Some((_, destination)) = KINDS.iter().find(|(word, _)| *word == self.kind) {
            write!(head, "Sec-Fetch-Dest: {destination}\r\n").unwrap();
        }
        if let Some(page) = &self.page {
            write!(head, "Referer: http://{page}/\r\n").unwrap();
        }
        head += "Connection: close\r\n\r\n";
        let answer = said(self.client, door, &head);
        let text = String::from_utf8_lossy(&answer);
        let status = text.get(9..12).and_then(|it| it.parse().ok());
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").map_or(0, |at| at + 4);
        let status = status.unwrap_or_else(|| panic!("{self:?}: {text}"));
        Deed { status, body: answer.len() - end, answers: Vec::new() }
    }

    /// Answer of `why` about it.
    fn why(&self, api: &mut impl FnMut(&str) -> Json) -> Json {
        let page = self.page.as_ref().map_or_else(String::new, |page| format!("&page={page}"));
        let target = self.target.bytes().fold(String::new(), |mut text, byte| {
            write!(text, "%{byte:02X}").unwrap();
            text
        });
        let (client, kind, door) = (self.client, self.kind, self.door);
        api(&format!("/api/why?target={target}&client={client}&kind={kind}&door={door}{page}"))
    }

    /// Key of its row in the log.
    fn key(&self) -> (String, String, String, String) {
        let subject = match self.door {
            // They write paths in their normal form.
            "gateway" | "web" => self.target.replace("%2e", ".").replace("%64", "d"),
            _ => self.target.clone(),
        };
        let whole = !subject.starts_with("http://") || subject["http://".len()..].contains('/');
        let subject = if whole { subject } else { subject + "/" };
        (self.door.to_owned(), self.client.to_string(), subject, self.kind.to_owned())
    }
}

/// The addresses of a DNS answer, and other records by their type.
fn answers(packet: &[u8]) -> Vec<String> {
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let name_end = |mut at: usize| loop {
        match packet[at] {
            0 => break at + 1,
            length if length & 0xC0 == 0xC0 => break at + 2,
            length => at += usize::from(length) + 1,
        }
    };
    let mut at = name_end(12) + 4;
    (0..word(6))
        .map(|_| {
            let fixed = name_end(at);
            let (rtype, length) = (word(fixed), usize::from(word(fixed + 8)));
            at = fixed + 10 + length;
            let data = &packet[fixed + 10..at];
            match (rtype, <[u8; 4]>::try_from(data), <[u8; 16]>::try_from(data)) {
                (1, Ok(bytes), _) => IpAddr::from(bytes).to_string(),
                (28, _, Ok(bytes)) => IpAddr::from(bytes).to_string(),
                _ => format!("type {rtype}"),
            }
        })
        .collect()
}

/// True if the words of `why` fit what was answered.
fn fits(case: &Case, outcome: &str, deed: &Deed, is_paused: bool) -> bool {
    if case.door == "dns" {
        let words: Vec<&str> = outcome.split([' ', ',']).collect();
        let rcodes = [("NODATA", 0), ("NXDOMAIN", 3), ("REFUSED", 5)];
        return match rcodes.iter().find(|(word, _)| *word == words[0]) {
            Some((_, rcode)) => deed.status == *rcode && deed.answers.is_empty(),
            None if words[0].parse::<IpAddr>().is_ok() => {
                let told = words.iter().filter(|it| it.parse::<IpAddr>().is_ok());
                let sent = deed.answers.iter().filter(|it| it.parse::<IpAddr>().is_ok());
                told.eq(sent)
            }
            None => outcome.starts_with("asks the upstream") || words.get(1) == Some(&"records"),
        };
    }
    // What is carried to a server that is not there is answered after all.
    if case.door == "pixel" && is_paused && outcome.starts_with("carries") {
        return true;
    }
    let status = outcome.get(..3).and_then(|digits| digits.parse::<u16>().ok());
    let length = outcome.rsplit_once('(').and_then(|(_, rest)| rest.split_once(" byte"));
    let length = length.and_then(|(digits, _)| digits.parse::<usize>().ok());
    status.is_none_or(|status| status == deed.status)
        && length.is_none_or(|length| length == deed.body)
}

/// True for the same rule; the log cuts long ones.
fn is_one_rule(logged: &Json, told: &Json) -> bool {
    let cut = |it: &Json| it["text"].as_str().unwrap_or_default().to_owned();
    logged["list"] == told["list"]
        && logged["line"] == told["line"]
        && cut(told).starts_with(&cut(logged))
}

/// Makes the requests of a phase, and asks about each. Gives what differs.
fn differences(edge: &Tidegate, cases: &[Case], is_paused: bool) -> Vec<String> {
    let admin = edge.address("admin", "http");
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let mut api = |path: &str| -> Json {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {admin}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token.trim()
        );
        let answer = said(Ipv4Addr::LOCALHOST, admin, &head);
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
        serde_json::from_slice(&answer[end..])
            .unwrap_or_else(|why| panic!("{path}: {why}: {}", String::from_utf8_lossy(&answer)))
    };
    let newest = api("/api/requests?limit=1")["rows"][0]["id"].as_u64().unwrap_or(0);
    let deeds: Vec<Deed> = cases.iter().map(|case| case.make(edge)).collect();
    let mut rows = HashMap::new();
    let mut page = "/api/requests?limit=500".to_owned();
    loop {
        let told = api(&page);
        let all = told["rows"].as_array().unwrap();
        for row in all.iter().filter(|row| row["id"].as_u64().unwrap() > newest) {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            let key = (text("door"), text("client"), text("subject"), text("kind"));
            rows.entry(key).or_insert_with(|| row.clone());
        }
        let is_last = all.last().is_none_or(|row| row["id"].as_u64().unwrap() <= newest);
        match told["next_before"].as_u64() {
            Some(before) if !is_last => page = format!("/api/requests?limit=500&before={before}"),
            _ => break,
        }
    }
    let mut found = Vec::new();
    for (case, deed) in cases.iter().zip(&deeds) {
        let why = case.why(&mut api);
        let Some(row) = rows.get(&case.key()) else {
            found.push(format!("{case:?}: no row, {deed:?}"));
            continue;
        };
        let outcome = why["door_outcome"].as_str().unwrap_or("");
        let is_same = row["action"] == why["action"] && row["cause"] == why["cause"];
        if !is_same
            || !is_one_rule(&row["rule"], &why["rule"])
            || !fits(case, outcome, deed, is_paused)
        {
            let of = |it: &Json| format!("{} {} {}", it["action"], it["cause"], it["rule"]);
            found.push(format!(
                "{case:?}\n  done {}, {deed:?}\n  why  {}, {outcome}: {}",
                of(row),
                of(&why),
                why["summary"]
            ));
        }
    }
    found
}

fn check(phase: &str, edge: &Tidegate, cases: &[Case], is_paused: bool) {
    let found = differences(edge, cases, is_paused);
    let shown = found.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(found.is_empty(), "{phase}: {} of {} differ:\n{shown}", found.len(), cases.len());
}

/// Answers of `why -` about these names, line by line.
fn lines_of(edge: &Tidegate, names: &[&str], more: &[&str]) -> Vec<Json> {
    let mut child = Command::new(binary())
        .args(["why", "-", "--state"])
        .arg(edge.state())
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(names.join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn why_says_what_every_door_does() {
    let alias = Reply::Alias("own.example".into(), Ipv4Addr::new(127, 0, 0, 9));
    let plain = Reply::Address(Ipv4Addr::new(127, 0, 0, 10));
    let upstream = Resolver::start(&[("alias.plain.example", alias), ("www.plain.example", plain)]);
    let scratch = Scratch::new();
    scratch.write("www/index.html", "the site");
    // Some other day than today, wherever this runs: yesterday may still be today somewhere.
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400;
    let never = days[((since + 3 + 3) % 7) as usize];
    let yaml = YAML
        .replace("LISTS", shared().join("data/lists").to_str().unwrap())
        .replace("UPSTREAM", &upstream.address.to_string())
        .replace("NEVER", never);
    let edge = Tidegate::start_in(scratch, &yaml);
    let (seeds, mut dice) = (Seeds::read(), Dice(0x7153_6A7E));
    // Each is found in the log by what stands there, which is not the page.
    let mut cases = || {
        let all = (0..CASES).map(|_| seeds.case(&mut dice)).map(|case| (case.key(), case));
        all.collect::<BTreeMap<_, _>>().into_values().collect::<Vec<_>>()
    };
    // From then on every door knows of what stands behind it.
    let alias = "alias.plain.example".to_owned();
    let prime =
        Case { door: "dns", client: Ipv4Addr::LOCALHOST, target: alias, kind: "A", page: None };
    prime.make(&edge);
    check("as it is", &edge, &cases(), false);

    edge.told(&["ctl", "allow", "own.example"]);
    edge.told(&["ctl", "allow", "doubleclick.net", "--client", "127.0.0.2"]);
    edge.told(&["ctl", "allow", "google-analytics.com", "--always"]);
    check("with names let through", &edge, &cases(), false);
    edge.told(&["ctl", "block", "plain.example", "--client", "127.0.0.2"]);
    edge.told(&["ctl", "block", "own.example", "--always"]);
    check("with names blocked by hand", &edge, &cases(), false);
    edge.told(&["ctl", "unblock", "own.example"]);
    edge.told(&["ctl", "allow", "own.example"]);

    let told =
        lines_of(&edge, &["own.example", "ü ü", "doubleclick.net"], &["--client", "127.0.0.1"]);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(
        (&told[0]["action"], &told[2]["action"]),
        (&"pass".into(), &"block".into()),
        "{told:?}"
    );
    assert!(told[1]["error"].is_string() && told[1]["line"] == 2, "{told:?}");

    edge.told(&["ctl", "pause", "5"]);
    check("paused", &edge, &cases()[..CASES / 3], true);
    edge.told(&["ctl", "resume"]);
}
