//! Pipelines as they are written, and what they become.
#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use import_report::ImportSurroundings;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// One file; nothing is beside it.
struct OneFile(String);

impl ImportSurroundings for OneFile {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == Path::new("f.yaml") {
            Ok(self.0.clone())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// JSON is YAML enough.
fn document(text: &str) -> Result<PlacedDocument, DocumentFault> {
    let value = serde_json::from_str(text);
    let value =
        value.map_err(|why| DocumentFault { line: why.line(), message: why.to_string() })?;
    Ok(PlacedDocument { value, line: Box::new(|_| 1) })
}

/// The settings or reasons that rules of a sequence become, with some plugins beside it.
fn imported(program: Dialect, rules: &[(&[&str], &str)]) -> ImportedConfig {
    let rules: Vec<Value> =
        rules.iter().map(|(matches, exec)| json!({ "matches": matches, "exec": exec })).collect();
    let plugins = json!([
        { "tag": "up", "type": "forward", "args": { "upstreams": [{ "addr": "192.0.2.53" }] } },
        { "tag": "near", "type": "forward", "args": { "upstreams": [{ "addr": "192.168.1.1" }] } },
        { "tag": "cache", "type": "cache", "args": { "size": 1024 } },
        { "tag": "hosts", "type": "hosts", "args": { "entries": ["a.test 192.0.2.1"] } },
        { "tag": "ends", "type": "sequence", "args": [{ "matches": "has_resp", "exec": "accept" }] },
        { "tag": "asks", "type": "sequence", "args": [{ "exec": "$near" }, { "exec": "accept" }] },
        { "tag": "start", "type": "sequence", "args": rules },
        { "tag": "udp", "type": "udp_server", "args": { "entry": "start", "listen": "127.0.0.1:5353" } },
    ]);
    let file = OneFile(json!({ "plugins": plugins }).to_string());
    from_pipeline(program, &["f.yaml".into()], &file, &document).unwrap()
}

/// True if the rules become settings.
fn are_settings(rules: &[(&[&str], &str)]) -> bool {
    !imported(Dialect::Mosdns, rules).yaml.contains("pipeline")
}

const END: (&[&str], &str) = (&["has_resp"], "accept");

#[test]
fn a_pipeline_that_ends_at_its_first_answer_is_settings() {
    assert!(are_settings(&[(&[], "$up")]));
    assert!(are_settings(&[(&[], "$hosts"), END, (&[], "$cache"), END, (&[], "$up")]));
    assert!(are_settings(&[(&[], "$hosts"), (&[], "jump ends"), (&[], "$up"), (&[], "accept")]));
    assert!(are_settings(&[(&["qname b.test"], "$near"), END, (&[], "$up")]));
    assert!(are_settings(&[(&["qname b.test"], "goto asks"), (&[], "$up")]));
    assert!(are_settings(&[(&["!has_resp"], "$up"), (&["!has_resp"], "reject 2")]));
    assert!(are_settings(&[
        (&["qname b.test"], "reject 3"),
        (&[], "query_summary x"),
        (&[], "$up")
    ]));
}

#[test]
fn an_answer_that_a_later_rule_replaces_is_no_setting() {
    assert!(!are_settings(&[(&["qname b.test"], "$near"), (&[], "$up")]));
    assert!(!are_settings(&[(&[], "$hosts"), (&[], "$up")]));
    // The end of a sequence that is run ends that sequence alone.
    assert!(!are_settings(&[(&["qname b.test"], "$asks"), (&[], "$up")]));
    assert!(!are_settings(&[(&[], "$up"), (&["resp_ip 192.0.2.9"], "drop_resp")]));
    assert!(!are_settings(&[(&[], "prefer_ipv4"), (&[], "$up")]));
    assert!(!are_settings(&[(&["qname b.test"], "$near"), END]));
}

#[test]
fn steps_in_another_order_than_ours_are_taken_where_it_makes_no_difference() {
    assert!(are_settings(&[(&["qname b.test"], "reject 3"), (&[], "$hosts"), END, (&[], "$up")]));
    assert!(!are_settings(&[(&["qname test"], "reject 3"), (&[], "$hosts"), END, (&[], "$up")]));
    let allowed: &[(&[&str], &str)] =
        &[(&["qname ok.b.test"], "$up"), END, (&["qname b.test"], "reject 3"), (&[], "$up")];
    assert!(!are_settings(allowed));
    // The first rule counts there, so the later one never does.
    let routes = imported(
        Dialect::Mosdns,
        &[(&["qname b.test"], "$near"), END, (&["qname a.b.test"], "$up"), END, (&[], "$up")],
    );
    assert!(routes.yaml.contains("domains: [\"b.test\"]"), "{}", routes.yaml);
    assert!(!routes.yaml.contains("a.b.test"), "{}", routes.yaml);
}

#[test]
fn two_answers_for_blocked_names_are_no_setting() {
    let both: &[(&[&str], &str)] =
        &[(&["qname b.test"], "reject 3"), (&["qname c.test"], "reject 5"), (&[], "$up")];
    assert!(!are_settings(both));
    assert!(!are_settings(&[(&["qname b.test"], "reject 2"), (&[], "$up")]));
    let types = imported(Dialect::Mosdns, &[(&["qtype 65 28"], "reject 3"), (&[], "$up")]);
    assert!(types.yaml.contains("*$dnstype=HTTPS\", \"*$dnstype=AAAA"), "{}", types.yaml);
}

#[test]
fn in_oxidns_an_end_ends_everything_and_the_language_is_told() {
    let made = imported(Dialect::Oxidns, &[(&["qname b.test"], "$asks"), (&[], "$up")]);
    assert!(!made.yaml.contains("pipeline"), "{}", made.commented());
    let made = imported(Dialect::Oxidns, &[(&["qclass 3"], "$asks"), (&[], "$up")]);
    assert!(made.yaml.contains("pipeline_language: \"oxidns\""), "{}", made.yaml);
    assert!(made.yaml.contains("tag: \"main\""), "{}", made.yaml);
}

#[test]
fn upstreams_of_ones_own_network_know_its_reverse_names() {
    let made = imported(Dialect::Mosdns, &[(&[], "$near")]);
    assert!(made.yaml.contains("private_reverse: [\"udp://192.168.1.1:53\"]"), "{}", made.yaml);
    let made = imported(Dialect::Mosdns, &[(&[], "$up")]);
    assert!(!made.yaml.contains("private_reverse"), "{}", made.yaml);
}

#[test]
fn a_server_with_another_entry_is_left_out_and_told_of() {
    let text = json!({ "plugins": [
        { "tag": "a", "type": "sequence", "args": [{ "exec": "forward 192.0.2.1" }] },
        { "tag": "b", "type": "sequence", "args": [{ "exec": "forward 192.0.2.2" }] },
        { "type": "udp_server", "args": { "entry": "a", "listen": "127.0.0.1:53" } },
        { "type": "udp_server", "args": { "entry": "b", "listen": "127.0.0.1:54" } },
    ]});
    let file = OneFile(text.to_string());
    let made = from_pipeline(Dialect::Mosdns, &["f.yaml".into()], &file, &document).unwrap();
    assert!(!made.yaml.contains(":54"), "{}", made.yaml);
    assert!(made.table().contains("run the file as it is"), "{}", made.table());
}

#[test]
fn what_the_reader_refuses_is_a_fault_with_its_line() {
    for text in ["[", "{}", "{\"plugins\": [{\"type\": \"none\"}]}", "{\"servers\": []}"] {
        let file = OneFile(text.to_owned());
        let faults = from_pipeline(Dialect::Mosdns, &["f.yaml".into()], &file, &document);
        assert!(faults.is_err_and(|all| !all.is_empty()), "{text}");
    }
}
