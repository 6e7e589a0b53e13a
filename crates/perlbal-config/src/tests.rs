//! Configurations of Perlbal's kind, and the lines that come of them.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value as Json;
use std::fmt::Write;

/// Files and variables that tests have.
struct TestFiles;

impl PerlbalSurroundings for TestFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/etc/perlbal/nodes") => Ok("10.1.0.10\n".into()),
            Some("/etc/perlbal/more/a.conf") => Ok("CREATE POOL more\n".into()),
            Some("/etc/perlbal/more/b.conf") => Ok("\nFROB\n".into()),
            Some("/etc/perlbal/circle.conf") => Ok("INCLUDE = /etc/perlbal/circle.conf\n".into()),
            _ => Err(io::Error::other("not there")),
        }
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Ok(["b.conf", "a.conf", ".a.conf", "a.txt"].map(str::to_owned).into())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "NODE").then(|| "10.0.0.7:8080".into())
    }
}

fn made(text: &str) -> String {
    let made = from_perlbal(text, Path::new("/etc/perlbal/perlbal.conf"), &TestFiles);
    in_lines(&made.unwrap_or_else(|wrong| panic!("{wrong:?}")))
}

/// A configuration with a line for each pool, route, site and other setting, in JSON.
fn in_lines(yaml: &str) -> String {
    let mut out: String = yaml.split_inclusive('\n').filter(|it| it.starts_with('#')).collect();
    let documents = Yaml::load_from_str(yaml).unwrap();
    let Json::Object(sections) = documents.first().map(json_of).unwrap_or_default() else {
        return out;
    };
    for (section, value) in &sections {
        let _ = writeln!(out, "{section}:");
        let settings = value.as_object().into_iter().flatten();
        out.extend(value.as_array().into_iter().flatten().map(|it| format!("  - {it}\n")));
        for (key, value) in settings {
            match (key.as_str(), value) {
                ("pools", Json::Object(pools)) => {
                    let pools =
                        pools.iter().map(|(name, pool)| format!("    \"{name}\": {pool}\n"));
                    out.extend(pools);
                }
                ("routes", Json::Array(routes)) => {
                    out.extend(routes.iter().map(|route| format!("    - {route}\n")));
                }
                (key, value) => {
                    let _ = writeln!(out, "  {key}: {value}");
                }
            }
        }
    }
    out
}

fn json_of(yaml: &Yaml<'_>) -> Json {
    match yaml {
        Yaml::Value(Scalar::Boolean(yes)) => Json::from(*yes),
        Yaml::Value(Scalar::Integer(number)) => Json::from(*number),
        Yaml::Value(Scalar::String(text)) => Json::from(text.as_ref()),
        Yaml::Sequence(items) => items.iter().map(json_of).collect(),
        Yaml::Mapping(entries) => Json::Object(
            entries
                .iter()
                .map(|(key, it)| (key.as_str().unwrap().to_owned(), json_of(it)))
                .collect(),
        ),
        other => panic!("{other:?} is not written"),
    }
}

/// What is wrong, by line.
fn wrong(text: &str) -> Vec<(String, String)> {
    let wrong = from_perlbal(text, Path::new("perlbal.conf"), &TestFiles).unwrap_err();
    wrong.into_iter().map(|it| (it.place.to_string(), it.complaint.to_string())).collect()
}

fn has(yaml: &str, lines: &[&str]) {
    for line in lines {
        assert!(yaml.lines().any(|it| it.trim() == *line), "{line}\nis not in\n{yaml}");
    }
}

#[test]
fn a_balancer_becomes_a_pool_and_a_route() {
    let yaml = made(
        "CREATE POOL apaches # three of them
           POOL apaches ADD 10.0.0.10:8080
           pool add apaches 10.0.0.11
           POOL apaches ADD $NODE
           POOL apaches REMOVE 10.0.0.11:80

         CREATE SERVICE balancer
           SET listen          = 0.0.0.0:80
           SET role            = reverse_proxy
           SET pool            = apaches
           SET persist_backend = on
           SET verify_backend  = on
           SET verify_backend_path = /alive
           SET high_priority_cookie = paid
           SET queue_relief_size = 50
           SET queue_relief_chance = 30
           SET enable_error_retries = yes
         ENABLE balancer
         HEADER balancer INSERT X-Rack: {7}
         HEADER balancer REMOVE X-Debug
         CREATE SERVICE mgmt
           SET role = management
           SET listen = 127.0.0.1:16000
         ENABLE mgmt",
    );
    has(
        &yaml,
        &[
            "listen: [\"http://0.0.0.0:80\"]",
            "\"apaches\": {\"balance\":\"idle_connection\",\"keep_alive\":{\"connections\":2},\
             \"queue\":{\"high\":[\"cookie:paid\"],\"relief\":{\"percent\":30,\"waiting\":50}},\
             \"retry\":{\"attempts\":8,\"on\":[\"closed\",500]},\
             \"servers\":[\"http://10.0.0.10:8080\",\"http://10.0.0.7:8080\"],\
             \"verify_connection\":\"/alive\"}",
            "- {\"headers\":{\"request\":[{\"set\":\"X-Rack\",\"value\":\"{{7}}\"},\
             {\"remove\":\"X-Debug\"}]},\"merge_slashes\":false,\"path\":\"/*\",\
             \"pool\":\"apaches\",\"rewrite_location\":false,\"uploads\":\"auto\"}",
            "console: {\"listen\":\"127.0.0.1:16000\",\"services\":{\"balancer\":\"0.0.0.0:80\"},\
             \"trust\":\"loopback\"}",
        ],
    );
    let notes = yaml.lines().filter(|it| it.starts_with("#   ")).collect::<Vec<_>>();
    assert_eq!(notes.len(), 1, "{yaml}");
    assert!(notes[0].starts_with("#   line 21: mgmt: everybody on this machine"), "{yaml}");
}

#[test]
fn services_on_ports_of_their_own_become_routes_of_listeners() {
    let yaml = made(
        "DEFAULT persist_backend = off
         CREATE POOL a
           SET nodefile = /etc/perlbal/nodes
         CREATE POOL b
           SET nodefile = /gone
         CREATE SERVICE one
           SET listen = 81
           SET role = reverse_proxy
           SET pool = a
         ENABLE one
         CREATE SERVICE two
           SET listen = 82
           SET role = reverse_proxy
           SET pool = b
           SET buffer_backend_connect = 0
         ENABLE two
         CREATE SERVICE three
           SET role = web_server
           SET docroot = /srv/www
         DISABLE three",
    );
    has(
        &yaml,
        &[
            "listen: [\"http://0.0.0.0:81\",\"http://0.0.0.0:82\"]",
            "\"a\": {\"keep_alive\":{\"connections\":0},\"servers\":[],\
             \"servers_file\":\"/etc/perlbal/nodes\"}",
            "\"b\": {\"keep_alive\":{\"connections\":0},\"servers\":[],\"starts_empty\":true}",
            "- {\"listen\":[\"http://0.0.0.0:81\"],\"merge_slashes\":false,\"path\":\"/*\",\
             \"pool\":\"a\",\"rewrite_location\":false,\"uploads\":\"auto\"}",
            "- {\"listen\":[\"http://0.0.0.0:82\"],\"merge_slashes\":false,\"path\":\"/*\",\
             \"pool\":\"b\",\"rewrite_location\":false,\"uploads\":\"stream\"}",
            "#   line 5: nodefile: /gone: not there; make it, and write servers_file: /gone",
            "#   line 17: three: it is not enabled, and nothing leads to it",
        ],
    );
    assert!(!yaml.contains("web:"), "{yaml}");
}

#[test]
fn a_selector_leads_by_the_most_exact_host() {
    let yaml = made(
        "LOAD Vhosts
         CREATE SERVICE docs
           SET role = web_server
           SET docroot = /srv/docs/
           SET dirindexing = 1
           SET index_files = home.html, index.html
         CREATE SERVICE store
           SET role = web_server
           SET docroot = /srv/store
           SET enable_put = 1
           SET max_put_size = 10m
           SET min_put_directory = 1
         CREATE SERVICE ss
           SET listen = 127.0.0.1:80
           SET role = selector
           SET plugins = vhosts
           VHOST * = docs
           VHOST *.Example.com = store
           VHOST ss www.example.com = docs
           VHOST ss app.example.com;using:alt.example.com = docs
         ENABLE ss",
    );
    let routes: Vec<_> = yaml.lines().filter(|it| it.starts_with("    - {")).collect();
    let folder = "\"index\":[\"home.html\",\"index.html\"],\"listing\":true";
    let expected = [
        format!(
            "{{\"host\":\"app.example.com\",{folder},\"path\":\"/__using/alt.example.com/*\",\
             \"root\":\"/srv/docs/\"}}"
        ),
        format!("{{\"host\":\"www.example.com\",{folder},\"path\":\"/*\",\"root\":\"/srv/docs/\"}}"),
        "{\"host\":\"example.com\",\"path\":\"/*\",\"pool\":\"store-site\",\"set_host\":\"server\"}"
            .into(),
        "{\"host\":\"*.example.com\",\"path\":\"/*\",\"pool\":\"store-site\",\
         \"set_host\":\"server\"}"
            .into(),
        format!("{{{folder},\"path\":\"/*\",\"root\":\"/srv/docs/\"}}"),
    ];
    assert_eq!(routes, expected.map(|it| format!("    - {it}")), "{yaml}");
    has(
        &yaml,
        &[
            "- {\"listen\":[\"http://127.0.0.1:8100\"],\"listing\":\"notice\",\"put\":{\"body_max\":\"10MiB\",\
           \"min_put_directory\":1},\"root\":\"/srv/store\",\"writers\":[\"0.0.0.0/0\",\"::/0\"]}",
        ],
    );
    assert!(yaml.contains("store: everybody who reaches it may write"), "{yaml}");
}

#[test]
fn plug_ins_become_routes_in_front() {
    let yaml = made(
        "LOAD AccessControl
         CREATE POOL a
           POOL a ADD 10.0.0.1
         CREATE SERVICE one
           SET listen = 80
           SET role = reverse_proxy
           SET pool = a
           SET plugins = AccessControl, Highpri NotModified, Redirect, Queues, Throttle, MyOwn
           SET one.highpri.uri_pattern = ^/login
           SET one.notmodified.host_pattern = ^static\\.
           REDIRECT HOST old.example new.example
           ACCESS DENY ip 192.0.2.9
           ACCESS QUEUE_LOW netmask 198.51.100.0/24
           ACCESS ALLOW netmask 10.0.0.0/8
           ACCESS POLICY DENY
         ENABLE one",
    );
    let routes: Vec<_> = yaml.lines().filter(|it| it.starts_with("    - {")).collect();
    let tail = "\"rewrite_location\":false,\"uploads\":\"auto\"}";
    let denied = "{\"answer\":{\"body\":\"Access denied.\\n\",\"status\":403}";
    let expected = [
        "{\"host\":\"old.example\",\"path\":\"/*\",\"redirect\":{\"status\":301,\
         \"to\":\"http://new.example{uri}\"}}"
            .into(),
        "{\"answer\":{\"status\":304},\"host\":\"~^static\\\\.\",\"path\":\"/*\",\
         \"with_headers\":{\"If-Modified-Since\":\"*\"}}"
            .into(),
        format!("{denied},\"clients\":[\"192.0.2.9/32\"],\"path\":\"/*\"}}"),
        format!(
            "{{\"clients\":[\"198.51.100.0/24\"],\"merge_slashes\":false,\"path\":\"~^/login\",\
             \"pool\":\"a\",\"priority\":\"low\",{tail}"
        ),
        format!(
            "{{\"clients\":[\"198.51.100.0/24\"],\"merge_slashes\":false,\"path\":\"/*\",\
             \"pool\":\"a\",\"priority\":\"low\",{tail}"
        ),
        format!(
            "{{\"clients\":[\"10.0.0.0/8\"],\"merge_slashes\":false,\"path\":\"~^/login\",\
             \"pool\":\"a\",\"priority\":\"high\",{tail}"
        ),
        format!(
            "{{\"clients\":[\"10.0.0.0/8\"],\"merge_slashes\":false,\"path\":\"/*\",\
             \"pool\":\"a\",{tail}"
        ),
        format!("{denied},\"path\":\"/*\"}}"),
    ];
    assert_eq!(routes, expected.map(|it| format!("    - {it}")), "{yaml}");
    assert!(yaml.contains("\"queue\":{\"fields\":true}"), "{yaml}");
    assert!(yaml.contains("#   line 4: one, plug-in throttle: write limit:"), "{yaml}");
    assert!(yaml.contains("#   line 4: one, plug-in myown: a plug-in of your own"), "{yaml}");
}

#[test]
fn uploads_and_reproxying_are_carried_over_and_what_is_wide_is_told() {
    let yaml = made(
        "CREATE POOL a
           POOL a ADD 10.0.0.1
         CREATE SERVICE one
           SET listen = 80
           SET role = reverse_proxy
           SET pool = a
           SET enable_reproxy = 1
           SET reproxy_cache_maxsize = 150
           SET buffer_uploads = on
           SET buffer_uploads_path = /var/tmp/perlbal
           SET buffer_upload_threshold_time = 0
           SET buffer_upload_threshold_rate = 300k
           SET trusted_upstream_proxies = 10.0.0.0/24, 127.0.0.1
           SET idle_timeout = 45
           SET connect_ahead = 2
           SET frobnicate = 1
         ENABLE one",
    );
    has(
        &yaml,
        &[
            "trusted: [\"10.0.0.0/24\",\"127.0.0.1/32\"]",
            "client: {\"idle_timeout\":\"45s\"}",
            "body_max: \"200MiB\"",
            "uploads: {\"disk_folder\":\"/var/tmp/perlbal\",\"memory\":\"100KiB\",\
             \"threshold\":{\"rate\":\"300KiB\",\"size\":\"250KiB\",\"time\":\"3600s\"}}",
            "#   line 15: connect_ahead: connections are opened when they are needed, and kept",
            "#   line 16: frobnicate: Perlbal has no such setting for this role",
        ],
    );
    assert!(yaml.contains("\"remembered\":150"), "{yaml}");
    assert!(yaml.contains("one, enable_reproxy: servers may name every file"), "{yaml}");
}

#[test]
fn a_leading_folder_is_a_place_of_its_own() {
    let yaml = made(
        "CREATE SERVICE stc
           SET listen = 127.0.0.1:8080
           SET role = web_server
           SET docroot = /srv/htdocs/stc/
           SET plugins = AutoRemoveLeadingDir, palimg, FlvStreaming
           SET enable_concatenate_get = 1
         ENABLE stc",
    );
    let site = "\"concat\":true,\"flv\":true,\"listen\":[\"http://127.0.0.1:8080\"],\
                \"listing\":\"notice\",\"palimg\":true";
    has(
        &yaml,
        &[
            &format!("- {{{site},\"path\":\"/stc/\",\"root\":\"/srv/htdocs/stc/\"}}"),
            &format!("- {{{site},\"root\":\"/srv/htdocs/stc/\"}}"),
        ],
    );
}

#[test]
fn connections_of_clients_end_where_the_service_that_listens_says_so() {
    let made = |selector: &str, proxy: &str| {
        made(&format!(
            "CREATE POOL a\nCREATE SERVICE p\nSET role = reverse_proxy\nSET pool = a\n{proxy}\n\
             CREATE SERVICE s\nSET listen = 80\nSET role = selector\nSET plugins = vhosts\n\
             SET idle_timeout = 45\n{selector}\nVHOST * = p\nENABLE s"
        ))
    };
    let off = "SET persist_client = off";
    has(&made(off, ""), &["client: {\"idle_timeout\":\"45s\",\"keep_alive\":false}"]);
    for yaml in [made("", off), made("SET persist_client = on", off)] {
        has(&yaml, &["client: {\"idle_timeout\":\"45s\"}"]);
    }
    let two = "CREATE SERVICE t\nSET listen = 81\nSET role = selector\nSET persist_client = 1\n\
               ENABLE t";
    let yaml = made(&format!("{off}\nVHOST * = p\nENABLE s\n{two}\nUSE s"), "");
    assert!(yaml.contains("t, gateway.client.keep_alive: it holds for the whole"), "{yaml}");
    let site = "CREATE SERVICE w\nSET listen = 80\nSET role = web_server\nSET docroot = /srv\n\
                SET persist_client = 0\nENABLE w";
    assert!(super::tests::made(site).contains("w, persist_client: connections to a site"));
}

#[test]
fn rules_of_access_are_about_the_other_end_unless_they_say_otherwise() {
    let made = |more: &str| {
        made(&format!(
            "CREATE POOL a\nCREATE SERVICE p\nSET listen = 80\nSET role = reverse_proxy\n\
             SET pool = a\nSET plugins = AccessControl\nACCESS DENY ip 192.0.2.9\n{more}\nENABLE p"
        ))
    };
    let believed = "SET trusted_upstream_proxies = 10.0.0.0/8";
    let observed = "SET p.AccessControl.use_observed_ip = 1";
    assert!(made(believed).contains("\"peers\":[\"192.0.2.9/32\"]"));
    for more in ["", observed, &format!("{believed}\n{observed}")] {
        let yaml = made(more);
        assert!(yaml.contains("\"clients\":[\"192.0.2.9/32\"]"), "{yaml}");
        assert!(!yaml.contains("peers"), "{yaml}");
    }
}

#[test]
fn content_md5_is_passed_over_where_it_was() {
    let made = |md5: &str| {
        made(&format!(
            "CREATE SERVICE w\nSET listen = 80\nSET role = web_server\nSET docroot = /srv\n\
             SET enable_put = on\nSET enable_md5 = {md5}\nENABLE w"
        ))
    };
    assert!(made("off").contains("\"put\":{\"content_md5\":false,"), "{}", made("off"));
    assert!(!made("on").contains("md5"), "{}", made("on"));
}

#[test]
fn a_folder_has_no_priority() {
    let yaml = made(
        "CREATE SERVICE w\nSET listen = 80\nSET role = web_server\nSET docroot = /srv/www\n\
         SET plugins = highpri accesscontrol\nACCESS QUEUE_LOW ip 192.0.2.1\nENABLE w",
    );
    assert!(yaml.contains("\"root\":\"/srv/www\"") && !yaml.contains("priority"), "{yaml}");
}

#[test]
fn what_perlbal_would_not_take_is_named_by_its_line() {
    let told = wrong(
        "CREATE POOL a
         CREATE SERVICE a
         FROB
         SET b.role = selector
         SHOW SERVICE
         POOL a ADD localhost
         SET a
         CREATE SERVICE s
         SET persist_backend = maybe
         VHOST s *!x = t
         POOL a ADD ${ip:eth0}:80",
    );
    let lines: Vec<_> = told.iter().map(|(place, _)| place.as_str()).collect();
    let expected = [2, 3, 4, 5, 6, 7, 10, 11, 9].map(|line| format!("line {line}"));
    assert_eq!(lines, expected, "{told:?}");
    assert!(told.iter().all(|(_, text)| text.contains(';')), "{told:?}");
}

#[test]
fn included_files_are_read_in_their_order_and_named() {
    let told = wrong("LOAD include\nINCLUDE = /etc/perlbal/more/*.conf\nPOOL more ADD 10.0.0.1");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "/etc/perlbal/more/b.conf line 2");
    assert_eq!(wrong("INCLUDE = /etc/perlbal/gone.conf")[0].0, "line 1");
    assert!(wrong("INCLUDE = /etc/perlbal/circle.conf")[0].1.contains("without end"));
    // What was created there is known here.
    let yaml = made("INCLUDE = /etc/perlbal/more/a*.conf\nPOOL more ADD 10.0.0.1");
    assert!(!yaml.contains("Not carried over"), "{yaml}");
}

#[test]
fn selectors_that_lead_to_one_another_come_to_an_end() {
    let mut text = String::from(
        "CREATE SERVICE s\nSET listen = 80\nSET role = selector\nSET plugins = vhosts\nENABLE s\n",
    );
    let hosts = (1..40).map(|length| format!("VHOST s *{} = s", ".a".repeat(length)));
    text += &hosts.collect::<Vec<_>>().join("\n");
    let yaml = made(&text);
    assert!(yaml.contains("s: selectors lead to too many places"), "{yaml}");
    assert!(
        made(
            "CREATE SERVICE s\nSET listen = 80\nSET role = selector\nSET plugins = vhosts\n\
        VHOST * = s\nENABLE s"
        )
        .contains("s: selectors lead in a circle")
    );
}

#[test]
fn lines_of_a_kind_are_bounded() {
    let rules = (0..70).map(|n| format!("ACCESS DENY ip 192.0.2.{n}")).collect::<Vec<_>>();
    let told = wrong(&format!("CREATE SERVICE s\n{}", rules.join("\n")));
    assert_eq!((told.len(), told[0].0.as_str()), (6, "line 66"), "{told:?}");
    let defaults = (0..300).map(|n| format!("DEFAULT a{n} = 1")).collect::<Vec<_>>();
    let told = wrong(&defaults.join("\n"));
    assert_eq!(told.len(), 300 - 256, "{told:?}");
}

#[test]
fn nothing_of_a_file_can_end_a_comment() {
    let yaml = made("CREATE SERVICE s\nSET listen = 80\nSET role = \u{85}x\u{2028}y\nENABLE s");
    assert!(yaml.is_ascii() && yaml.contains("line 1: s: there is no such role"), "{yaml}");
}
