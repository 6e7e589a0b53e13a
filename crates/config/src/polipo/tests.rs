//! Configurations of Polipo, and what is read of what becomes of them.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use crate::Plan;

fn no_file(path: &Path) -> io::Result<String> {
    Err(io::Error::other(format!("{} is not there", path.display())))
}

fn made(text: &str) -> String {
    from_polipo(text, Path::new("/etc/polipo/config"), &no_file).unwrap()
}

/// The plan that comes of it, with the proxy's settings as JSON.
fn planned(text: &str) -> (Plan, serde_json::Value) {
    let yaml = made(text);
    let plan = crate::parse(&yaml, Path::new("tidegate.yaml"));
    let plan = plan.unwrap_or_else(|complaints| panic!("{complaints:?}\n{yaml}"));
    let proxy = serde_json::to_value(plan.file.proxy.as_ref().unwrap()).unwrap();
    (plan, proxy)
}

#[test]
fn a_file_that_says_nothing_is_polipos_default() {
    let (_, proxy) = planned("# nothing\n");
    assert_eq!(proxy["listen"], json!(["http://127.0.0.1:8123"]));
    assert_eq!(proxy["clients"].as_array().unwrap().len(), 2);
    assert_eq!(proxy["cache"]["memory"], json!("256MiB"));
}

#[test]
fn what_has_a_counterpart_is_carried_over() {
    let (_, proxy) = planned(
        r#"
proxyAddress = "::0"
proxyPort = 8124
allowedClients = 127.0.0.1, 192.168.0.0/16
tunnelAllowedPorts = 22, 443, 8000-8002
parentProxy = "squid.example.org:3128"
parentAuthCredentials = "me:p@ss:word"
censoredHeaders = from, accept-language
censorReferer = maybe
disableVia = false
serverTimeout = 1m30s
serverMaxSlots = 6
chunkHighMark = 819200
relaxTransparency = true
diskCacheRoot = "/var/cache/polipo/"
"#,
    );
    assert_eq!(proxy["listen"], json!(["http://[::]:8124"]));
    assert_eq!(proxy["clients"], json!(["127.0.0.1/32", "192.168.0.0/16"]));
    assert_eq!(proxy["connect_ports"], json!(["22", "443", "8000-8002"]));
    assert_eq!(proxy["parent"], json!("http://me:p%40ss%3Aword@squid.example.org:3128"));
    assert_eq!(proxy["censor"], json!(["from", "accept-language"]));
    assert_eq!((&proxy["referer"], &proxy["via"]), (&json!("same-site"), &json!("on")));
    assert_eq!(proxy["response_timeout"], json!("90s"));
    assert_eq!(proxy["connections_per_origin"], json!(6));
    assert_eq!(proxy["cache"]["memory"], json!("800KiB"));
    assert_eq!(proxy["cache"]["stale"], json!("always"));
    assert_eq!(proxy["cache"]["disk"]["path"], json!("proxy-cache"));
    let (_, proxy) =
        planned("socksParentProxy = localhost:9050\nproxyOffline = yes\nchunkHighMark=1");
    assert_eq!(proxy["parent"], json!("socks5://localhost:9050"));
    assert_eq!(
        proxy["cache"],
        json!({ "stale": "offline", "memory": "256KiB",
        "memory_object": proxy["cache"]["memory_object"], "finish_percent": 50, "disk": null, "never": [],
        "shared": true, "store_cookies": true, "store_redirects": true, "freshness": [] })
    );
    let (_, proxy) = planned(
        "socksParentProxy = localhost:9050\nsocksProxyType = socks4a\n\
         proxyOutgoingAddress = 192.0.2.1\ndnsQueryIPv6 = no",
    );
    assert_eq!(proxy["parent"], json!("socks4a://localhost:9050"));
    assert_eq!((&proxy["source"], &proxy["family"]), (&json!(["192.0.2.1"]), &json!("ipv4")));
    let yaml = made("forbiddenUrl = https://intranet.example/no");
    assert!(yaml.contains("policy:\n  block_page: \"https://intranet.example/no\"\n"), "{yaml}");
    let (_, proxy) = planned("redirector = \"/usr/bin/adzapper\"\nredirectorRedirectCode = 307");
    let redirector = &proxy["redirector"];
    assert_eq!(redirector["program"], json!(["/usr/bin/adzapper"]));
    assert_eq!(
        (&redirector["protocol"], &redirector["redirect_status"]),
        (&json!("polipo"), &json!(307))
    );
    let yaml = made("redirector = adzapper");
    assert!(yaml.contains("line 1, redirector: name the program by its whole path"), "{yaml}");
    let yaml = made("dnsQueryIPv6 = happily");
    assert!(yaml.contains("line 1, dnsQueryIPv6: both families"), "{yaml}");
    let (_, proxy) = planned("cacheIsShared = false");
    assert_eq!(proxy["cache"]["shared"], json!(false));
    let (_, proxy) =
        planned("dontCacheCookies = true\ndontCacheRedirects = yes\nalwaysAddNoTransform = true");
    let cache = &proxy["cache"];
    assert_eq!(
        (&cache["store_cookies"], &cache["store_redirects"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(proxy["no_transform"], json!("on"));
}

/// A value of each variable that is carried over which is not what holds without it.
const SAMPLES: [(&str, &str); CARRIED.len()] = [
    ("allowedClients", "10.0.0.0/8"),
    ("allowedPorts", "80"),
    ("alwaysAddNoTransform", "true"),
    ("authCredentials", "ann:secret"),
    ("authRealm", "Home"),
    ("cacheIsShared", "false"),
    ("censorReferer", "true"),
    ("censoredHeaders", "from"),
    ("chunkHighMark", "819200"),
    ("disableVia", "true"),
    ("dnsQueryIPv6", "no"),
    ("diskCacheRoot", "/var/cache/polipo"),
    ("dontCacheCookies", "true"),
    ("dontCacheRedirects", "true"),
    ("forbiddenFile", "/some/file"),
    ("forbiddenTunnelsFile", "/some/file"),
    ("forbiddenUrl", "http://a.example/"),
    ("maxAge", "1d"),
    ("maxAgeFraction", "0.2"),
    ("maxExpiresAge", "1d"),
    ("maxNoModifiedAge", "1h"),
    ("parentAuthCredentials", "a:b"),
    ("parentProxy", "a.example:3128"),
    ("proxyAddress", "10.0.0.1"),
    ("proxyOffline", "true"),
    ("proxyOutgoingAddress", "10.0.0.1"),
    ("proxyPort", "1"),
    ("redirector", "/bin/cat"),
    ("redirectorRedirectCode", "301"),
    ("relaxTransparency", "true"),
    ("serverMaxSlots", "6"),
    ("serverTimeout", "1m"),
    ("socksAuthCredentials", "a:b"),
    ("socksParentProxy", "a.example:1080"),
    ("socksProxyType", "socks4a"),
    ("tunnelAllowedPorts", "22"),
    ("uncachableFile", "/some/file"),
];

#[test]
fn no_variable_of_polipo_is_passed_over_in_silence() {
    let file = |path: &Path| match path.to_str() {
        Some("/some/file") => Ok("a.example\n".to_owned()),
        _ => no_file(path),
    };
    let made = |text: &str| from_polipo(text, Path::new("config"), &file).unwrap();
    let without = made("");
    for name in CARRIED {
        let (_, value) = SAMPLES.iter().find(|(of, _)| *of == name).unwrap();
        // A kind of SOCKS proxy says nothing where there is none.
        let before = match name {
            "socksProxyType" => "socksParentProxy = a.example:1080\n",
            _ => "",
        };
        assert_ne!(made(&format!("{before}{name} = {value}\n")), made(before), "{name}");
    }
    for name in absent::names() {
        let told = made(&format!("{name} = 1\n"));
        let note = told.lines().find(|line| line.contains(&format!("line 1, {name}: "))).unwrap();
        assert!(note.len() > name.len() + 30, "a reason is a sentence: {note}");
        assert_eq!(told.lines().last(), without.lines().last(), "{name} changes nothing");
    }
}

#[test]
fn how_long_answers_are_fresh_is_a_rule_for_every_url() {
    let (_, proxy) = planned("maxAge = 14d1h\nmaxAgeFraction = 0.1\nmaxNoModifiedAge = 23m");
    assert_eq!(
        proxy["cache"]["freshness"],
        json!([{ "urls": [], "min": "23m", "last_modified_percent": 10, "max": "337h",
        "explicit_max": null }])
    );
    let text = "maxExpiresAge = 10000d\nmaxNoModifiedAge = 2d";
    let yaml = from_polipo(text, Path::new("config"), &no_file).unwrap();
    let (_, proxy) = planned(text);
    assert_eq!(
        proxy["cache"]["freshness"],
        json!([{ "urls": [], "min": "1d", "last_modified_percent": 10, "max": "1d",
        "explicit_max": "3650d" }])
    );
    assert!(yaml.contains("line 1, maxExpiresAge: ten years"), "{yaml}");
    assert!(yaml.contains("line 2, maxNoModifiedAge: what says nothing"), "{yaml}");
    let wrong = from_polipo("maxAgeFraction = 2", Path::new("config"), &no_file).unwrap_err();
    assert!(wrong[0].to_string().contains("maxAgeFraction: \"2\" is no part of a whole"));
}

#[test]
fn what_is_forbidden_is_a_list() {
    let file = |path: &Path| match path.to_str() {
        Some("/etc/polipo/forbidden") => Ok("counter.com\n/ads/\nno name\n".to_owned()),
        _ => no_file(path),
    };
    let source = Path::new("config");
    let yaml = from_polipo("forbiddenFile = /etc/polipo/forbidden", source, &file).unwrap();
    let plan = crate::parse(&yaml, Path::new("tidegate.yaml")).unwrap();
    let [list] = plan.file.policy.lists.as_slice() else { panic!("{yaml}") };
    assert_eq!(list.rules, ["||counter.com^", "//ads//"]);
    assert!(yaml.contains("1 lines of what is forbidden are left out: 3\n"), "{yaml}");
    let usual = from_polipo("proxyPort = 1", source, &file).unwrap();
    assert!(usual.contains("||counter.com^"), "where no file is named Polipo looks there: {usual}");
    let none = from_polipo("forbiddenFile = \"\"", source, &file).unwrap();
    assert!(!none.contains("counter.com"), "{none}");
    let gone = from_polipo("\nforbiddenFile = /none", source, &file).unwrap_err();
    assert_eq!(
        gone[0].to_string(),
        "config:2:1: forbiddenFile: /none is not there; make it readable, or take the line out"
    );
}

#[test]
fn what_is_forbidden_to_tunnels_is_a_list_of_its_own() {
    let file = |path: &Path| match path.to_str() {
        Some("/etc/polipo/forbiddenTunnels") => Ok("chat.example\n.*:22\n".to_owned()),
        _ => no_file(path),
    };
    let source = Path::new("config");
    for text in ["forbiddenTunnelsFile = /etc/polipo/forbiddenTunnels", "proxyPort = 1"] {
        let yaml = from_polipo(text, source, &file).unwrap();
        let plan = crate::parse(&yaml, Path::new("tidegate.yaml")).unwrap();
        let [list] = plan.file.policy.lists.as_slice() else { panic!("{yaml}") };
        assert_eq!((list.name.as_str(), list.rules.len()), ("forbidden-tunnels", 1));
        assert_eq!(list.rules[0], "||chat.example^");
        assert!(yaml.contains("forbidden to tunnels are left out: 2\n"), "{yaml}");
        assert!(yaml.contains("is forbidden to http: URLs too\n"), "{yaml}");
    }
}

#[test]
fn what_is_not_to_be_cached_is_said_to_the_cache() {
    let file = |path: &Path| match path.to_str() {
        Some("/etc/polipo/uncachable") => Ok("live.example\n\\.cgi\n[a*\nno name\n".to_owned()),
        _ => no_file(path),
    };
    let source = Path::new("config");
    for text in ["uncachableFile = /etc/polipo/uncachable", "proxyPort = 1"] {
        let yaml = from_polipo(text, source, &file).unwrap();
        let plan = crate::parse(&yaml, Path::new("tidegate.yaml")).unwrap();
        let never = plan.file.proxy.unwrap().cache.unwrap().never;
        assert_eq!(never, ["||live.example^", r"/\.cgi/"]);
        let left_out = "2 lines of what is not to be cached are left out: 3, 4\n";
        assert!(yaml.contains(left_out), "{yaml}");
    }
    assert!(from_polipo("uncachableFile = /none", source, &file).is_err());
}

#[test]
fn a_password_is_never_dropped_or_written_down() {
    let yaml = made("authCredentials = ann:secret\nauthRealm = Home");
    assert!(!yaml.contains("secret"), "{yaml}");
    assert!(yaml.contains("htpasswd -cB polipo.htpasswd ann"), "{yaml}");
    let (_, proxy) = planned("authCredentials = ann:secret\nauthRealm = Home");
    assert_eq!(proxy["auth"]["file"], json!("polipo.htpasswd"));
    assert_eq!(proxy["auth"]["realm"], json!("Home"));
}

#[test]
fn odd_characters_stay_what_they_are() {
    let odd = "/a\u{7f}\u{85}\u{2028}\u{e9}\u{1f600}\tb/";
    let file = |_: &Path| Ok(odd.to_owned());
    let yaml = from_polipo("forbiddenFile = x", Path::new("a\nb"), &file).unwrap();
    let plan = crate::parse(&yaml, Path::new("tidegate.yaml")).unwrap();
    assert_eq!(plan.file.policy.lists[0].rules, [format!("/{odd}/")]);
}

#[test]
fn what_is_not_carried_over_is_told() {
    let yaml = made("socksAuthCredentials = a:b\nauthRealm = x");
    assert!(yaml.contains("line 1, socksAuthCredentials:"), "{yaml}");
    assert!(yaml.contains("line 2, authRealm:"), "{yaml}");
    let yaml = made("pmmSize = 8192\n\nfooBar = 1\nallowedPorts = 1-65535\nproxyName = \"a\"");
    let notes: Vec<_> = yaml.lines().filter_map(|line| line.strip_prefix("#   line ")).collect();
    assert_eq!(
        notes,
        [
            "3, fooBar: Polipo has no such variable",
            "1, pmmSize: an answer is not fetched in pieces; the rest of one that broke off is",
            "5, proxyName: it signs Via as tidegate, by which circles are noticed: a name of its own \
             would tell origins whose it is",
        ]
    );
    assert!(yaml.contains("fetch_ports: [\"1-65535\"]"), "{yaml}");
}

#[test]
fn what_makes_no_sense_names_line_and_remedy() {
    let wrong = |text: &str| {
        let found = from_polipo(text, Path::new("config"), &no_file).unwrap_err();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        wrong("proxyPort = x\nallowedClients = nobody, 10.0.0.0/8\n# c\nproxyAddress = home"),
        [
            "config:1:1: proxyPort: \"x\" is no number; write digits alone",
            "config:2:1: allowedClients: \"nobody\" is no network; write it as 192.168.0.0/16",
            "config:4:1: proxyAddress: \"home\" is no address; write it in digits",
        ]
    );
    assert_eq!(
        wrong("\n\nwhat is this"),
        ["config:3:1: this sets nothing; write it as proxyPort = 8123"]
    );
    assert_eq!(wrong("proxyPort = 65536"), ["config:1:1: proxyPort: there is no port 65536"]);
    assert_eq!(wrong("parentProxy = \"a b\"").len(), 1);
    assert_eq!(wrong("tunnelAllowedPorts = 99999").len(), 1);
    assert_eq!(wrong("tunnelAllowedPorts = 100-80").len(), 1);
}
