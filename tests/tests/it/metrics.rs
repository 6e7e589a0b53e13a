//! The metrics page held against a strict reading of its format, the manual, the dashboard of
//! Grafana and the alert rules; health; the live views of `ctl`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::{Scratch, wait};

/// All five doors, so that no family is missing.
const YAML: &str = r#"
policy:
  lists:
    - { name: mine, rules: ["||ads.example^"] }
    - { name: far, url: "http://127.0.0.1:9/list.txt" }
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://UPSTREAM"]
pixel: { listen: ["http://127.0.0.1:0"] }
proxy: { listen: ["http://127.0.0.1:0"], cache: { memory: 16MiB }, health: /healthz }
web: [{ listen: ["https://127.0.0.1:0"], hosts: [site.example], root: site }]
gateway:
  listen: ["http://127.0.0.1:0"]
  health: /healthz
  pools: { app: { servers: ["ORIGIN"] } }
  routes: [{ pool: app }]
# Nobody is there: the figures are, all the same.
fleet: { live: { url: "redis://127.0.0.1:1", secret: "0123456789abcdef0123456789abcdef", cache: { dns: true, http: true } }, rows: { url: "postgresql://tidegate@127.0.0.1:1/none" } }
admin: { listen: "127.0.0.1:0", metrics_listen: "127.0.0.1:SCRAPED" }
"#;

struct House {
    edge: Tidegate,
    scraped: u16,
    _upstream: Resolver,
    _origin: Origin,
}

fn house() -> House {
    let upstream =
        Resolver::start(&[("www.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 10)))]);
    let origin = Origin::start(&[("/some/page", Page::new("text/plain", "hello"))]);
    // Bound and given up at once: the next to ask for a port gets another.
    let scraped = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("site")).unwrap();
    scratch.write("site/index.html", "hello");
    let yaml = YAML
        .replace("UPSTREAM", &upstream.address.to_string())
        .replace("ORIGIN", &format!("http://{}", origin.address))
        .replace("SCRAPED", &scraped.to_string());
    let edge = Tidegate::start_in(scratch, &yaml);
    House { edge, scraped, _upstream: upstream, _origin: origin }
}

impl House {
    /// Some requests at every door.
    fn used(self) -> Self {
        dig(self.edge.address("dns", "udp"), &["www.example"]);
        dig(self.edge.address("dns", "udp"), &["ads.example"]);
        dig(self.edge.address("dns", "tcp"), &["+tcp", "nothing.example"]);
        let gateway = format!("http://{}/some/page", self.edge.address("gateway", "http"));
        curl(&[&gateway]);
        let web = self.edge.address("web", "https");
        let to = format!("site.example:{}:127.0.0.1", web.port());
        curl(&["-k", "--resolve", &to, &format!("https://site.example:{}/", web.port())]);
        self
    }

    /// A command to it, by the state folder alone: the configuration may be wrong by then.
    fn ctl(&self, args: &[&str]) -> Output {
        let state = self.edge.state();
        let mut command = Command::new(binary());
        command.args(["--state", state.to_str().unwrap(), "ctl"]).args(args).output().unwrap()
    }

    fn told(&self, args: &[&str]) -> String {
        let output = self.ctl(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// One family of the page.
#[derive(Default)]
struct Family {
    kind: String,
    unit: Option<String>,
    labels: BTreeSet<String>,
    samples: usize,
}

/// Reads a page as `OpenMetrics` 1.0 asks for it, and panics where it is anything else.
fn families(page: &str) -> BTreeMap<String, Family> {
    let mut all: BTreeMap<String, Family> = BTreeMap::new();
    let (mut current, mut series) = (String::new(), BTreeSet::new());
    let mut ended = false;
    for line in page.lines() {
        assert!(!ended, "something stands behind # EOF: {line}");
        if line == "# EOF" {
            ended = true;
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
            assert!(!help.trim().is_empty(), "{line}");
            assert!(!all.contains_key(name), "{name} stands twice");
            all.insert(name.into(), Family::default());
            current = name.into();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, current, "type without help");
            assert!(["counter", "gauge", "histogram", "info"].contains(&kind), "{line}");
            all.get_mut(name).unwrap().kind = kind.into();
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert_eq!(name, current);
            assert!(name.ends_with(&format!("_{unit}")), "{line}");
            all.get_mut(name).unwrap().unit = Some(unit.into());
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            value.parse::<f64>().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(series.insert(sample.to_owned()), "{sample} stands twice");
            let (name, labels) = match sample.split_once('{') {
                Some((name, labels)) => (name, labels.strip_suffix('}').expect("closed")),
                None => (sample, ""),
            };
            let family = all.get_mut(&current).unwrap_or_else(|| panic!("no family: {line}"));
            let rest = name.strip_prefix(&current).unwrap_or_else(|| panic!("{name} in {current}"));
            let expected: &[&str] = match family.kind.as_str() {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(expected.contains(&rest), "{name} of {current}, a {}", family.kind);
            family.samples += 1;
            for label in labels_of(labels) {
                if label != "le" {
                    family.labels.insert(label);
                }
            }
        }
    }
    assert!(ended, "no # EOF");
    all
}

/// The names of labels: values are quoted, and may hold commas.
fn labels_of(text: &str) -> Vec<String> {
    let (mut names, mut name, mut in_value, mut escaped) =
        (Vec::new(), String::new(), false, false);
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_value => escaped = true,
            '"' => in_value = !in_value,
            '=' if !in_value => names.push(std::mem::take(&mut name)),
            ',' if !in_value => {}
            letter if !in_value => name.push(letter),
            _ => {}
        }
    }
    assert!(!in_value && name.is_empty(), "{text}");
    for name in &names {
        assert!(name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_'), "{name}");
    }
    names
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

#[test]
fn the_page_is_strict_openmetrics_in_base_units() {
    let house = house().used();
    let page = house.edge.figures();
    let all = families(&page);
    for (name, family) in &all {
        for unit in ["milliseconds", "microseconds", "_ms", "_us", "minutes", "kilobytes"] {
            assert!(!name.ends_with(unit), "{name} is in no base unit");
        }
        if name.ends_with("_seconds") || name.ends_with("_bytes") {
            assert!(family.unit.is_some(), "{name} has no unit line");
        }
        assert!(!name.ends_with("_total"), "{name}");
    }
    for wanted in [
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_open_fds ",
        "process_max_fds ",
        "process_start_time_seconds ",
        "tidegate_build_info{version=",
        "tidegate_config_last_reload_successful 1",
        "tidegate_list_rules{list=\"mine\"} 1",
        "tidegate_list_in_force{list=\"far\"} 0",
        "tidegate_list_fetch_timestamp_seconds{list=\"far\"} 0",
        "tidegate_certificate_expiry_timestamp_seconds{door=\"web\",name=\"site.example\"} ",
        "tidegate_certificate_expiry_timestamp_seconds{door=\"authority\"",
        "tidegate_http_responses_total{door=\"gateway\",class=\"2xx\"} 1",
        "tidegate_dns_responses_total{rcode=\"NOERROR\"} ",
        "tidegate_response_bytes_total{door=\"dns\"} ",
        "tidegate_connections_accepted_total{door=\"gateway\"} 1",
        "tidegate_connection_received_bytes_total{door=\"gateway\"} ",
        "tidegate_upstream_answer_seconds_count{",
        "tidegate_pool_server_answer_seconds_count{pool=\"app\"",
        "tidegate_request_time_seconds_total{door=\"gateway\",source=\"origin\"} ",
        "tidegate_ledger_queue_rows ",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing:\n{page}");
    }
    // What moved over a connection is told once it waits or closes.
    let told = wait::until("the bytes of the gateway", || {
        let page = house.edge.figures();
        let line = page
            .lines()
            .find(|it| it.starts_with("tidegate_connection_sent_bytes_total{door=\"gateway\"}"))?;
        line.rsplit_once(' ')?.1.parse::<u64>().ok().filter(|bytes| *bytes > 0)
    });
    assert!(told > 50, "{told}");
}

#[test]
fn every_metric_stands_in_the_manual_and_the_manual_names_no_other() {
    let house = house().used();
    let all = families(&house.edge.figures());
    let manual = std::fs::read_to_string(root().join("docs/manual/reference/metrics.md")).unwrap();
    let mut told: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    let (_, tables) = manual.split_once("## Every metric").unwrap();
    for line in tables.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let words = |cell: &str| -> BTreeSet<String> {
            cell.split(',')
                .map(|it| it.trim().trim_matches('`').to_owned())
                .filter(|it| !it.is_empty())
                .collect()
        };
        let name = cells[0].trim_matches('`').to_owned();
        told.insert(name, (cells[1].into(), words(cells[2])));
    }
    for (name, family) in &all {
        let shown = if family.kind == "counter" { format!("{name}_total") } else { name.clone() };
        let (kind, labels) = told.remove(&shown).unwrap_or_else(|| {
            panic!("{shown} ({}, {:?}) is not in the manual", family.kind, family.labels)
        });
        assert_eq!(kind, family.kind, "{shown}");
        if family.samples > 0 {
            assert_eq!(labels, family.labels, "{shown}");
        }
    }
    assert!(told.is_empty(), "the manual has metrics that there are not: {:?}", told.keys());
}

/// Names of our metrics in a text, without what histograms and counters end in.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let words = text.split(|it| !is_name(it));
    words
        .filter(|word| word.starts_with("tidegate_") || word.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_there_are() {
    let house = house().used();
    let all = families(&house.edge.figures());
    let mut samples = BTreeSet::new();
    for (name, family) in &all {
        match family.kind.as_str() {
            "counter" => {
                samples.insert(format!("{name}_total"));
            }
            "histogram" => {
                samples.extend(["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")));
            }
            _ => {
                samples.insert(name.clone());
            }
        }
    }
    for file in ["packaging/grafana/tidegate.json", "packaging/prometheus/alerts.yaml"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let unknown: Vec<_> = named(&text).into_iter().filter(|it| !samples.contains(it)).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
        assert!(named(&text).len() > 10, "{file}");
    }
}

#[test]
fn the_dashboard_has_the_structure_that_grafana_imports() {
    let text = std::fs::read_to_string(root().join("packaging/grafana/tidegate.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(board["uid"].is_string() && board["title"].is_string() && board["id"].is_null());
    assert!(board["schemaVersion"].as_u64().unwrap() >= 36);
    let source = "${datasource}";
    assert_eq!(board["templating"]["list"][0]["type"], "datasource");
    let (mut ids, mut places) = (BTreeSet::new(), BTreeSet::new());
    let panels = board["panels"].as_array().unwrap();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let place = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| place[key].as_u64().unwrap());
        assert!(x + w <= 24 && w > 0 && h > 0, "{place}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(places.insert(cell), "two panels at {cell:?}");
        }
        if panel["type"] == "row" {
            continue;
        }
        assert!(
            ["timeseries", "stat", "table", "bargauge"].contains(&panel["type"].as_str().unwrap())
        );
        assert_eq!(panel["datasource"]["uid"], source, "{}", panel["title"]);
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{}", panel["title"]);
        let targets = panel["targets"].as_array().unwrap();
        let mut refs = BTreeSet::new();
        for target in targets {
            assert!(refs.insert(target["refId"].as_str().unwrap()));
            let expression = target["expr"].as_str().unwrap();
            let count = |it: char| expression.matches(it).count();
            assert_eq!((count('('), count('{'), count('[')), (count(')'), count('}'), count(']')));
        }
        assert!(!refs.is_empty());
    }
    assert!(panels.len() > 10);
}

#[test]
fn scrapers_have_a_listener_and_a_token_of_their_own() {
    let house = house();
    let scraped = format!("http://127.0.0.1:{}", house.scraped);
    let (status, page) = curl(&[&format!("{scraped}/metrics")]);
    assert_eq!(status, 200);
    families(&page);
    assert_eq!(curl(&[&format!("{scraped}/api/status")]).0, 404);
    assert_eq!(curl(&[&format!("{scraped}/healthz")]).0, 200);

    let admin = house.edge.address("admin", "http");
    let file = house.edge.state().join("admin.metrics-token");
    let token = std::fs::read_to_string(file).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    assert_eq!(curl(&["-H", &bearer, &format!("http://{admin}/metrics")]).0, 200);
    assert_eq!(curl(&["-H", &bearer, &format!("http://{admin}/api/status")]).0, 401);
}

#[test]
fn ready_is_who_has_every_list_in_force_and_alive_is_who_answers() {
    let house = house();
    let admin = house.edge.address("admin", "http");
    assert_eq!(curl(&[&format!("http://{admin}/healthz")]), (200, "ok\n".into()));
    // The list with a URL cannot be fetched.
    assert_eq!(curl(&[&format!("http://{admin}/readyz")]), (503, "lists\n".into()));
    let config = house.edge.state().with_file_name("tidegate.yaml");
    let yaml = std::fs::read_to_string(&config).unwrap();
    let without: Vec<&str> = yaml.lines().filter(|line| !line.contains("name: far")).collect();
    std::fs::write(&config, without.join("\n")).unwrap();
    house.told(&["reload"]);
    assert_eq!(curl(&[&format!("http://{admin}/readyz")]), (200, "ready\n".into()));
    std::fs::write(&config, "nonsense: 1\n").unwrap();
    assert!(!house.ctl(&["reload"]).status.success());
    let page = house.edge.figures();
    assert!(page.contains("tidegate_config_last_reload_successful 0"), "{page}");
    assert!(page.contains("tidegate_config_reloads_total{outcome=\"taken\"} 1"), "{page}");
    assert!(page.contains("tidegate_config_reloads_total{outcome=\"refused\"} 1"), "{page}");
}

#[test]
fn doors_answer_at_their_path_of_health_and_record_nothing() {
    let house = house();
    for door in ["gateway", "proxy"] {
        let url = format!("http://{}/healthz", house.edge.address(door, "http"));
        assert_eq!(curl(&[&url]), (200, "ok\n".into()), "{door}");
    }
    let proxy = format!("http://{}", house.edge.address("proxy", "http"));
    // Through the proxy it is somebody else's page.
    let (status, _) = curl(&["-x", &proxy, "http://ads.example/healthz"]);
    assert_ne!(status, 200);
    let rows = house.edge.api("/api/requests");
    assert_eq!(rows["rows"].as_array().unwrap().len(), 1, "{rows}");
}

#[test]
fn top_prints_one_view_into_a_pipe_and_status_prints_json() {
    let house = house().used();
    let view = house.told(&["top"]);
    for wanted in ["tidegate ", "door ", "dns ", "gateway ", "www.example", "127.0.0.1", "pool app"]
    {
        assert!(view.contains(wanted), "{wanted}:\n{view}");
    }
    assert!(!view.contains('\x1b'), "{view}");
    let status: serde_json::Value =
        serde_json::from_str(&house.told(&["status", "--json"])).unwrap();
    assert_eq!(status["pid"], house.edge.pid());
    assert!(status["latency"].as_array().unwrap().iter().any(|it| it["door"] == "dns"));
}

#[test]
fn trace_follows_one_client_and_ends_after_as_many_as_were_wanted() {
    let house = house();
    let state = house.edge.state();
    let mut follower = Command::new(binary())
        .args(["--state", state.to_str().unwrap(), "ctl", "trace", "127.0.0.1", "--count", "2"])
        .args(["--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(follower.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().contains("following 127.0.0.1"));
    let dns = house.edge.address("dns", "udp");
    for name in ["www.example", "ads.example"] {
        dig(dns, &[name]);
    }
    let output = follower.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = rows.iter().map(|row| (&row["subject"], &row["action"])).collect();
    let expected = [("www.example", "pass"), ("ads.example", "block")];
    assert_eq!(told.len(), 2, "{text}");
    for (row, (subject, action)) in told.iter().zip(expected) {
        assert_eq!((row.0.as_str().unwrap(), row.1.as_str().unwrap()), (subject, action));
    }
}
