//! Lines as tools read them, and as hostile clients would have them.

use super::*;
use vocab::{Action, Caching, Door, Source};

fn with_agent(
    agent: &[u8],
    change: impl FnOnce(&mut AccessLogEntry<'_>),
    form: &LineForm,
) -> String {
    let field = |name: &str| (name == "user-agent").then_some(agent);
    let mut entry = AccessLogEntry {
        door: Door::Gateway,
        client: "192.0.2.7".parse().unwrap(),
        user: "",
        unix_ms: 1_795_282_147_005,
        method: "GET",
        target: "/a?b",
        protocol: "HTTP/1.1",
        scheme: "https",
        host: "www.example",
        status: 200,
        bytes: 102,
        duration_us: 41_999,
        action: Action::Pass,
        source: Source::Cache,
        caching: Caching::HIT,
        field: &field,
    };
    change(&mut entry);
    let mut out = Vec::new();
    write(&mut out, form, &entry, &mut DateKept::default());
    String::from_utf8(out).unwrap()
}

fn line(form: &LineForm) -> String {
    with_agent(b"curl/8", |_| (), form)
}

fn template(text: &str, mode: TemplateEscape) -> LineForm {
    LineForm::Template(LineTemplate::parse(text).unwrap(), mode)
}

const COMMON: LineForm = LineForm::Format(LogFormat::Common);
const COMBINED: LineForm = LineForm::Format(LogFormat::Combined);
const JSON: LineForm = LineForm::Format(LogFormat::Json);

#[test]
fn lines_have_the_form_that_tools_read() {
    let date = "[21/Nov/2026:17:29:07 +0000]";
    let common = format!("192.0.2.7 - - {date} \"GET /a?b HTTP/1.1\" 200 102");
    assert_eq!(line(&COMMON), format!("{common}\n"));
    assert_eq!(line(&COMBINED), format!("{common} \"-\" \"curl/8\"\n"));
    assert_eq!(
        line(&JSON),
        "{\"time\":1795282147.005,\"door\":\"gateway\",\"client\":\"192.0.2.7\",\"user\":\"\",\
         \"host\":\"www.example\",\"scheme\":\"https\",\"method\":\"GET\",\"target\":\"/a?b\",\
         \"protocol\":\"HTTP/1.1\",\"referrer\":\"\",\"agent\":\"curl/8\",\"action\":\"pass\",\
         \"source\":\"cache\",\"cache\":\"hit\",\"status\":200,\"bytes\":102,\"took_us\":41999}\n"
    );
}

#[test]
fn a_template_writes_nginxs_fields() {
    let all = "$remote_addr $remote_user [$time_local] $time_iso8601 $msec \"$request\" \
               $request_method $request_uri $uri $args $server_protocol $host $scheme $status \
               $body_bytes_sent $request_time $took_us $upstream_cache_status $http_referer \
               \"$http_user_agent\" $door $source $action";
    assert_eq!(
        line(&template(all, TemplateEscape::Default)),
        "192.0.2.7 - [21/Nov/2026:17:29:07 +0000] 2026-11-21T17:29:07+00:00 1795282147.005 \
         \"GET /a?b HTTP/1.1\" GET /a?b /a b HTTP/1.1 www.example https 200 102 0.041 41999 HIT - \
         \"curl/8\" gateway cache pass\n"
    );
    let json = "{\"user\":\"$remote_user\",\"agent\":\"$http_user_agent\"}";
    let hostile = with_agent(
        b"a\"b\n",
        |entry| entry.user = "ann lee",
        &template(json, TemplateEscape::Json),
    );
    assert_eq!(hostile, "{\"user\":\"ann lee\",\"agent\":\"a\\\"b\\u000a\"}\n");
}

#[test]
fn nothing_a_client_sends_forges_a_line() {
    let agent = b"x\"\r\n1.2.3.4 - - [\x1b[2J\xff\\";
    let own = template("$remote_user \"$http_user_agent\" $request", TemplateEscape::Default);
    let own_json = template("{\"a\":\"$http_user_agent\"}", TemplateEscape::Json);
    for form in [&COMMON, &COMBINED, &JSON, &own, &own_json] {
        let line = with_agent(agent, |entry| entry.user = "ann \" lee", form);
        assert_eq!(line.matches('\n').count(), 1, "{line:?}");
        assert!(!line.contains(['\r', '\x1b']), "{line:?}");
    }
    let combined = with_agent(agent, |entry| entry.user = "ann \" lee", &COMBINED);
    assert!(
        combined.ends_with("\"x\\\"\\x0d\\x0a1.2.3.4 - - [\\x1b[2J\\xff\\\\\"\n"),
        "{combined}"
    );
    assert!(combined.contains(" - ann\\x20\\\"\\x20lee ["), "{combined}");
    let long = vec![b'a'; 100_000];
    assert!(with_agent(&long, |_| (), &JSON).len() < 3_000);
}
