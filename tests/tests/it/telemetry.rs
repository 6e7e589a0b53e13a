//! Traces, metrics and logs at a receiver of the OpenTelemetry protocol.

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use std::time::{Duration, Instant};
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::collector::{Collector, attribute, text};
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, run};
use tidegate_tests::{Scratch, wait};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
/// SERVER and CLIENT of `SpanKind`.
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn door(span: &Span) -> String {
    attribute(&span.attributes, "tidegate.door").unwrap_or_default()
}

/// The configuration of a collector with these signals.
fn otlp(collector: &Collector, signals: &str) -> String {
    format!("telemetry: {{ otlp: {{ endpoint: \"{}\", {signals} }} }}\n", collector.endpoint())
}

/// A site, and a gateway in front of it, each with the same telemetry.
fn site_behind_gateway(telemetry: &str) -> (Tidegate, Tidegate) {
    let scratch = Scratch::new();
    scratch.write("www/index.html", "home");
    let site = Tidegate::start_in(
        scratch,
        &format!(
            "web: [{{ listen: [\"http://127.0.0.1:0\"], root: www }}]\nadmin: {{ listen: \
             \"127.0.0.1:0\" }}\n{telemetry}"
        ),
    );
    let front = Tidegate::start(&format!(
        r#"
dns: {{ listen: ["udp://127.0.0.1:0", "http://127.0.0.1:0"], local: ["site.test A 127.0.0.1"] }}
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: {{ site: {{ servers: ["http://{}"] }} }}
  routes: [{{ pool: site }}]
admin: {{ listen: "127.0.0.1:0" }}
{telemetry}"#,
        site.address("web", "http")
    ));
    (site, front)
}

#[test]
fn a_request_through_dns_gateway_and_site_is_one_trace() {
    let collector = Collector::start();
    let (_site, front) = site_behind_gateway(&otlp(&collector, "traces: { sample: 0 }"));
    let sent = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    let (dns, gateway) = (front.address("dns", "http"), front.address("gateway", "http"));
    let question = format!("http://{dns}/dns-query?name=site.test");
    assert_eq!(curl(&["-H", &sent, &question]).0, 200);
    let secret = format!("http://{gateway}/?token=s3cret&page=2");
    let state = "tracestate: vendor=1";
    assert_eq!(curl(&["-H", &sent, "-H", state, &secret]), (200, "home".into()));
    // Not in a trace that is recorded, and the ratio is 0.
    assert_eq!(curl(&[&format!("http://{gateway}/other")]).0, 404);

    let spans = collector.wait_for_spans(4);
    assert_eq!(spans.len(), 4, "{spans:?}");
    assert!(spans.iter().all(|it| hex(&it.trace_id) == TRACE), "{spans:?}");
    let find = |name: &str, kind: i32| {
        let found = spans.iter().find(|it| door(it) == name && it.kind == kind);
        found.unwrap_or_else(|| panic!("no span of {name:?} among {spans:?}"))
    };
    let (dns, gateway, web) = (find("dns", SERVER), find("gateway", SERVER), find("web", SERVER));
    let client = find("", CLIENT);
    assert_eq!(hex(&dns.parent_span_id), PARENT);
    assert_eq!(hex(&gateway.parent_span_id), PARENT);
    assert_eq!(client.parent_span_id, gateway.span_id);
    assert_eq!(web.parent_span_id, client.span_id);
    assert!(gateway.start_time_unix_nano <= client.start_time_unix_nano);
    assert!(client.end_time_unix_nano <= gateway.end_time_unix_nano);
    assert_eq!((gateway.trace_state.as_str(), web.trace_state.as_str()), ("vendor=1", "vendor=1"));

    let of = |span: &Span, name: &str| attribute(&span.attributes, name);
    assert_eq!(of(dns, "dns.question.name").as_deref(), Some("site.test"));
    assert_eq!(of(dns, "dns.response_code").as_deref(), Some("NOERROR"));
    assert_eq!(of(dns, "tidegate.source").as_deref(), Some("local"));
    assert_eq!(of(gateway, "http.request.method").as_deref(), Some("GET"));
    assert_eq!(of(gateway, "http.response.status_code").as_deref(), Some("200"));
    assert_eq!(of(gateway, "url.query").as_deref(), Some("token=[redacted]&page=2"));
    assert_eq!(of(gateway, "tidegate.policy.action").as_deref(), Some("pass"));
    assert_eq!(of(client, "http.response.status_code").as_deref(), Some("200"));
    assert!(of(client, "server.port").is_some() && of(client, "error.type").is_none());
    assert_eq!(of(web, "tidegate.source").as_deref(), Some("file"));
    let sent: Vec<u8> =
        collector.exports("/v1/traces").into_iter().flat_map(|it| it.body).collect();
    assert!(!String::from_utf8_lossy(&sent).contains("s3cret"));
}

#[test]
fn a_trace_that_begins_here_goes_to_servers_and_a_strangers_does_not() {
    let collector = Collector::start();
    let origin = Origin::start(&[("/", Page::new("text/plain", "origin"))]);
    let front = Tidegate::start(&format!(
        "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  pools: {{ a: {{ servers: [\"http://{}\"] \
         }} }}\n  routes: [{{ pool: a }}]\nproxy: {{ listen: [\"http://127.0.0.1:0\"] }}\nadmin: \
         {{ listen: \"127.0.0.1:0\" }}\n{}",
        origin.address,
        otlp(&collector, "traces: { trusted_parents: [\"192.0.2.0/24\"] }")
    ));
    let gateway = format!("http://{}/", front.address("gateway", "http"));
    let sent = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    assert_eq!(curl(&["-H", &sent, "-H", "tracestate: a=1", &gateway]).0, 200);
    let proxy = format!("http://{}", front.address("proxy", "http"));
    let page = format!("http://{}/", origin.address);
    assert_eq!(curl(&["-x", &proxy, &page]).0, 200);
    let spans = collector.wait_for_spans(4);
    for (head, name) in origin.requests().iter().zip(["gateway", "proxy"]) {
        let told = header(head, "traceparent").unwrap();
        let server = spans.iter().find(|it| door(it) == name).unwrap();
        let trace = hex(&server.trace_id);
        assert!(server.parent_span_id.is_empty() && trace != TRACE, "{server:?}");
        let client = spans.iter().find(|it| it.parent_span_id == server.span_id).unwrap();
        assert_eq!(told, format!("00-{trace}-{}-01", hex(&client.span_id)));
        assert_eq!(header(head, "tracestate"), None);
    }
}

#[test]
fn a_question_has_a_span_for_what_its_upstream_was_asked_and_none_from_the_cache() {
    let collector = Collector::start();
    let upstream = Resolver::start(&[("a.test", Reply::Address([192, 0, 2, 1].into()))]);
    let dns = Tidegate::start(&format!(
        "policy: {{ lists: [{{ name: mine, rules: [\"||ads.test^\"] }}] }}\ndns: {{ listen: \
         [\"udp://127.0.0.1:0\"], upstreams: [\"udp://{}\"] }}\n{}",
        upstream.address,
        otlp(&collector, "traces: {}")
    ));
    let address = dns.address("dns", "udp");
    assert_eq!(dig_short(address, &["a.test"]).trim(), "192.0.2.1");
    assert_eq!(dig_short(address, &["a.test"]).trim(), "192.0.2.1");
    dig_short(address, &["ads.test"]);
    let spans = collector.wait_for_spans(4);
    assert_eq!(spans.len(), 4, "{spans:?}");
    let of = |span: &Span, name: &str| attribute(&span.attributes, name).unwrap_or_default();
    let source = |name: &str| {
        let mut found = spans.iter().filter(|it| it.kind == SERVER);
        found.find(|it| of(it, "tidegate.source") == name).unwrap()
    };
    let (asked, client) = (source("upstream"), spans.iter().find(|it| it.kind == CLIENT).unwrap());
    assert_eq!(client.parent_span_id, asked.span_id);
    assert_eq!(client.trace_id, asked.trace_id);
    assert!(of(client, "server.address").contains("127.0.0.1"), "{client:?}");
    assert_ne!(source("cache").trace_id, asked.trace_id);
    let blocked = source("policy");
    assert_eq!(of(blocked, "tidegate.policy.action"), "block");
    assert_eq!(of(blocked, "tidegate.policy.cause"), "rule");
    assert_eq!(of(blocked, "tidegate.policy.list"), "mine");
    assert_eq!(of(blocked, "tidegate.policy.rule"), "||ads.test^");
    assert_eq!(
        (of(blocked, "dns.question.type"), of(blocked, "network.transport")),
        ("A".into(), "udp".into())
    );
}

#[test]
fn a_server_that_does_not_answer_is_a_span_with_its_error() {
    let collector = Collector::start();
    let origin = Origin::start(&[("/", Page::new("text/plain", "origin"))]);
    let front = Tidegate::start(&format!(
        "admin: {{ listen: \"127.0.0.1:0\" }}\ngateway:\n  listen: [\"http://127.0.0.1:0\"]\n  \
         pools: {{ a: {{ servers: [\"http://127.0.0.1:9\", \"http://{}\"], balance: round_robin }} \
         }}\n  routes: [{{ pool: a }}]\n{}",
        origin.address,
        otlp(&collector, "traces: {}, compression: gzip")
    ));
    let gateway = format!("http://{}/", front.address("gateway", "http"));
    // One of two begins at the server that is not there.
    for _ in 0..2 {
        assert_eq!(curl(&[&gateway]), (200, "origin".into()));
    }
    let spans = collector.wait_for_spans(5);
    let failed = spans.iter().find(|it| attribute(&it.attributes, "error.type").is_some()).unwrap();
    assert_eq!(attribute(&failed.attributes, "error.type").unwrap(), "connection_refused");
    assert_eq!(attribute(&failed.attributes, "server.port").unwrap(), "9");
    let beside: Vec<_> = spans
        .iter()
        .filter(|it| it.kind == CLIENT && it.parent_span_id == failed.parent_span_id)
        .collect();
    assert_eq!(beside.len(), 2, "both attempts are below the request: {spans:?}");
}

/// A site with these signals at `collector`, and its URL.
fn site(collector: &Collector, signals: &str) -> (Tidegate, String) {
    let scratch = Scratch::new();
    scratch.write("www/index.html", "home");
    let yaml = site_yaml(&otlp(collector, signals));
    let site = Tidegate::start_in(scratch, &yaml);
    let url = format!("http://{}/", site.address("web", "http"));
    (site, url)
}

fn site_yaml(telemetry: &str) -> String {
    format!(
        "web: [{{ listen: [\"http://127.0.0.1:0\"], root: www }}]\nadmin: {{ listen: \
         \"127.0.0.1:0\" }}\n{telemetry}"
    )
}

fn figure(tidegate: &Tidegate, series: &str) -> u64 {
    let page = tidegate.figures();
    let line = page.lines().find(|line| line.starts_with(series));
    line.unwrap_or_else(|| panic!("no {series}")).rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_collector_that_is_busy_gets_the_same_spans_again_when_it_asked_for() {
    let collector = Collector::start();
    collector.answer(&[
        (429, "retry-after: 2\r\n", b""),
        (503, "", b"<html>"),
        (200, "", b"\xff?"),
    ]);
    let (site, url) = site(&collector, "traces: {}");
    assert_eq!(curl(&[&url]).0, 200);
    wait::until("the first attempt", || collector.exports("/v1/traces").first().map(drop));
    let refused = Instant::now();
    wait::until("the second", || collector.exports("/v1/traces").get(1).map(drop));
    assert!(refused.elapsed() > Duration::from_millis(1800), "{:?}", refused.elapsed());
    // What it answers last is no message of the protocol: it has taken the span all the same.
    assert_eq!(collector.wait_for_spans(1).len(), 1);
    let exports = collector.exports("/v1/traces");
    assert!(exports.iter().all(|it| it.body == exports[0].body), "the same each time");
    let exported = "tidegate_otlp_exported_total{signal=\"traces\"}";
    wait::until("the count", || (figure(&site, exported) == 1).then_some(()));
    assert_eq!(figure(&site, "tidegate_otlp_retries_total{signal=\"traces\"}"), 2);
}

#[test]
fn a_collector_that_is_slow_or_down_slows_nobody_and_losses_are_counted() {
    let collector = Collector::start();
    collector.silence();
    let (site, url) = site(&collector, "traces: { queue: 4 }, timeout: 30s");
    curl(&[&url]);
    wait::until("an export that hangs", || collector.exports("/v1/traces").first().map(drop));
    let begun = Instant::now();
    let urls = vec![url.as_str(); 50];
    assert_eq!(curl(&urls).0, 200);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let dropped = "tidegate_otlp_dropped_total{signal=\"traces\",reason=\"queue_full\"}";
    wait::until("losses", || (figure(&site, dropped) >= 46).then_some(()));
    assert_eq!(figure(&site, "tidegate_otlp_queue{signal=\"traces\"}"), 4);
    // The end does not wait for it either.
    let begun = Instant::now();
    let (status, _) = site.stop_by("TERM");
    assert!(status.success() && begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_reload_sends_to_another_collector_and_none_without_the_section() {
    let (first, second) = (Collector::start(), Collector::start());
    let (site, url) = site(&first, "traces: {}");
    curl(&[&url]);
    first.wait_for_spans(1);
    site.scratch.write("tidegate.yaml", site_yaml(&otlp(&second, "traces: {}")));
    site.told(&["ctl", "reload"]);
    curl(&[&url]);
    second.wait_for_spans(1);
    site.scratch.write("tidegate.yaml", site_yaml(""));
    site.told(&["ctl", "reload"]);
    curl(&[&url]);
    site.stop_by("TERM");
    assert_eq!((first.spans().len(), second.spans().len()), (1, 1));
}

#[test]
fn what_waits_is_sent_at_the_end_and_the_ratio_decides() {
    let collector = Collector::start();
    let (site, url) = site(&collector, "traces: { sample: 0.5 }");
    let urls = vec![url.as_str(); 400];
    assert_eq!(curl(&urls).0, 200);
    site.stop_by("TERM");
    let recorded = collector.spans().len();
    assert!((140..=260).contains(&recorded), "{recorded} of 400");
}

#[test]
fn the_metrics_page_is_exported_as_sums_gauges_and_histograms() {
    let collector = Collector::start();
    let (site, url) = site(&collector, "metrics: { interval: 1s }, resource: { team: edge }");
    assert_eq!(curl(&[&url]).0, 200);
    let requests = |metrics: &[Metric]| {
        let found = metrics.iter().find(|it| it.name == "tidegate.requests")?;
        let Some(Data::Sum(sum)) = &found.data else { panic!("{found:?}") };
        assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
        let web =
            |it: &&NumberDataPoint| attribute(&it.attributes, "door").as_deref() == Some("web");
        sum.data_points.iter().find(web).cloned()
    };
    let point = wait::until("the web door's requests", || requests(&collector.metrics()));
    assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano < point.time_unix_nano);
    let metrics = collector.metrics();
    let find = |name: &str| metrics.iter().find(|it| it.name == name).unwrap();
    assert!(matches!(find("process.resident_memory").data, Some(Data::Gauge(_))));
    assert_eq!(find("process.resident_memory").unit, "By");
    let latency = metrics.iter().find(|it| matches!(it.data, Some(Data::Histogram(_)))).unwrap();
    let Some(Data::Histogram(histogram)) = &latency.data else { panic!("it was one") };
    let point = &histogram.data_points[0];
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    let body = String::from_utf8_lossy(&collector.exports("/v1/metrics")[0].body).into_owned();
    assert!(body.contains("service.name") && body.contains("team"), "the resource is told");
    assert!(collector.exports("/v1/traces").is_empty() && collector.exports("/v1/logs").is_empty());
    drop(site);
}

#[test]
fn the_programs_log_and_rows_of_requests_are_log_records() {
    let collector = Collector::start();
    let (site, url) = site(&collector, "traces: {}, logs: { requests: all }");
    assert_eq!(curl(&[&format!("{url}?password=s3cret")]).0, 200);
    // A configuration that is wrong is told in the log.
    site.scratch.write("tidegate.yaml", "web: 7\n");
    site.signal("HUP");
    let records = wait::until("a row and an error", || {
        let records = collector.records();
        let has = |event: &str| records.iter().any(|it| it.event_name == event);
        let error = records.iter().any(|it| it.severity_number == 17);
        (has("tidegate.request") && error).then_some(records)
    });
    let row = records.iter().find(|it| it.event_name == "tidegate.request").unwrap();
    let span = &collector.wait_for_spans(1)[0];
    assert_eq!((&row.trace_id, &row.span_id), (&span.trace_id, &span.span_id));
    let full = attribute(&row.attributes, "url.full").unwrap();
    assert!(full.ends_with("/?password=[redacted]"), "{full}");
    let error = records.iter().find(|it| it.severity_number == 17).unwrap();
    assert_eq!(error.severity_text, "ERROR");
    assert_eq!(attribute(&error.attributes, "tidegate.part").as_deref(), Some("program"));
    assert!(text(error.body.as_ref().unwrap()).is_some_and(|it| !it.is_empty()));
}

#[test]
fn fields_for_the_collector_are_sent_and_shown_nowhere() {
    let collector = Collector::start();
    let scratch = Scratch::new();
    scratch.write("www/index.html", "home");
    scratch.write("token", "Bearer s3cret\n");
    let telemetry = otlp(
        &collector,
        "headers: { x-team-key: \"${file:token}\" }, traces: {}, logs: { requests: all }",
    );
    let site = Tidegate::start_in(scratch, &site_yaml(&telemetry));
    curl(&[&format!("http://{}/", site.address("web", "http"))]);
    collector.wait_for_spans(1);
    let export = &collector.exports("/v1/traces")[0];
    assert_eq!(header(&export.head, "x-team-key").as_deref(), Some("Bearer s3cret"));
    assert_eq!(header(&export.head, "content-type").as_deref(), Some("application/x-protobuf"));
    for told in
        [site.told(&["check", "--json"]), site.api("/api/config").to_string(), site.figures()]
    {
        assert!(!told.contains("s3cret"), "{told}");
    }
    let all: Vec<u8> = ["/v1/traces", "/v1/logs"]
        .iter()
        .flat_map(|path| collector.exports(path))
        .flat_map(|it| it.body)
        .collect();
    assert!(!String::from_utf8_lossy(&all).contains("s3cret"));
}

#[test]
fn check_refuses_what_is_not_spoken_with_line_and_remedy() {
    let scratch = Scratch::new();
    for (otlp, place, remedy) in [
        ("protocol: grpc, traces: {}", "telemetry.otlp.protocol", "4318"),
        ("endpoint: \"grpc://c:4317\", traces: {}", "telemetry.otlp.endpoint", "http://HOST:4318"),
        ("endpoint: \"http://c:4318\"", "telemetry.otlp: ", "traces: {}"),
        ("traces: { sample: 2 }", "telemetry.otlp.traces.sample", "1"),
        ("trace: {}", "telemetry.otlp", "traces"),
    ] {
        let yaml = format!("telemetry:\n  otlp: {{ {otlp} }}\n");
        let config = scratch.write("tidegate.yaml", yaml).display().to_string();
        let output = run(&["check", "--config", &config]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{otlp}: {said}");
        assert!(said.contains(place) && said.contains(remedy) && said.contains(":2:"), "{said}");
    }
}
