//! Edits of files as people write them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

const FILE: &str = "\
# The edge of example.net.
gateway:
  listen: [\"http://127.0.0.1:8080\"]   # behind the firewall
  pools:
    app: { servers: [\"http://10.0.0.1:80\", http://10.0.0.2:80], max_connections: 5 } # two
    # The old one.
    old:
      servers:
        - http://10.0.1.1:80 # rack 1
        - http://10.0.1.2:80
      max_connections: 7   # was 70

  routes:
    - path: /a   # first
      pool: app
    - { path: \"/*\", pool: old }
web: []
ledger: { keep: 30d }
dns:
";

fn set(text: &str, path: &str, value: &str) -> Result<String, EditRefusal> {
    let value = WrittenValue::parse(value).unwrap();
    edit_text(text, &SettingPath::parse(path).unwrap(), &SettingChange::Set(value))
}

fn unset(text: &str, path: &str) -> Result<String, EditRefusal> {
    edit_text(text, &SettingPath::parse(path).unwrap(), &SettingChange::Unset)
}

/// The file with this line in place of that one, and every other line as it was.
fn with_line(old: &str, new: &str) -> String {
    assert_eq!(FILE.matches(old).count(), 1, "{old}");
    FILE.replace(old, new)
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    for (path, value, old, new) in [
        ("gateway.pools.app.max_connections", "10", "connections: 5 }", "connections: 10 }"),
        ("gateway.pools.old.max_connections", "70", "7   # was", "70   # was"),
        ("gateway.pools.old.servers[0]", "http://10.0.1.9:80", "10.0.1.1:80 #", "10.0.1.9:80 #"),
        ("gateway.pools.app.servers[1]", "http://10.0.0.3:80", "10.0.0.2:80]", "10.0.0.3:80]"),
        (
            "gateway.listen[0]",
            "http://[::1]:80",
            "[\"http://127.0.0.1:8080\"]",
            "[\"http://[::1]:80\"]",
        ),
        ("gateway.routes[0].pool", "old", "pool: app\n", "pool: old\n"),
        ("gateway.routes.1.pool", "app", "pool: old }", "pool: app }"),
        (
            "gateway.pools.app",
            "{servers: [x]}",
            "{ servers: [\"http://10.0.0.1:80\", http://10.0.0.2:80], max_connections: 5 }",
            "{servers: [x]}",
        ),
        ("web", "[{root: www}]", "web: []", "web: [{root: www}]"),
    ] {
        assert_eq!(set(FILE, path, value).unwrap(), with_line(old, new), "{path}");
    }
}

#[test]
fn a_block_gives_way_to_a_value_with_the_comments_around_it_kept() {
    let old = "servers:\n        - http://10.0.1.1:80 # rack 1\n        - http://10.0.1.2:80\n";
    let new = set(FILE, "gateway.pools.old.servers", "[http://a:1]").unwrap();
    assert_eq!(new, with_line(old, "servers: [http://a:1]\n"));
    let text = "a: # keep\n  b: 1\n  c: 2 # lost\n# stays\nd: |\n  two\n  lines\n\n# end\n";
    assert_eq!(
        set(text, "a", "5").unwrap(),
        "a: 5 # keep\n# stays\nd: |\n  two\n  lines\n\n# end\n"
    );
    assert_eq!(
        set(text, "d", "one").unwrap(),
        "a: # keep\n  b: 1\n  c: 2 # lost\n# stays\nd: one\n\n# end\n"
    );
    assert_eq!(set("a:\n  b: 1", "a", "5").unwrap(), "a: 5");
    assert_eq!(set("a:\r\n  b: 1\r\nc: 2\r\n", "a", "5").unwrap(), "a: 5\r\nc: 2\r\n");
}

#[test]
fn what_is_missing_is_added_below_its_parent() {
    for (path, value, old, new) in [
        (
            "gateway.pools.old.retry.tries",
            "2",
            "# was 70\n",
            "# was 70\n      retry:\n        tries: 2\n",
        ),
        (
            "gateway.pools.app.balance",
            "random",
            "connections: 5 }",
            "connections: 5, balance: random }",
        ),
        (
            "gateway.pools.app.retry.tries",
            "2",
            "connections: 5 }",
            "connections: 5, retry: { tries: 2 } }",
        ),
        ("gateway.pools.old.servers[2]", "http://c", "1.2:80\n", "1.2:80\n        - http://c\n"),
        ("gateway.pools.app.servers[2]", "http://c", "0.2:80]", "0.2:80, http://c]"),
        ("gateway.routes[2].pool", "app", "pool: old }\n", "pool: old }\n    - { pool: app }\n"),
        (
            "gateway.routes[0].host",
            "x.example",
            "pool: app\n",
            "pool: app\n      host: x.example\n",
        ),
        ("web[0].root", "www", "web: []", "web: [{ root: www }]"),
        ("dns.blocked", "auto", "dns:\n", "dns: { blocked: auto }\n"),
        ("admin.hosts[0]", "box.lan", "dns:\n", "dns:\nadmin:\n  hosts: [box.lan]\n"),
        ("user", "tidegate", "dns:\n", "dns:\nuser: tidegate\n"),
        (
            "gateway.pools.\"10.1\".servers",
            "[x]",
            "# was 70\n",
            "# was 70\n    \"10.1\":\n      servers: [x]\n",
        ),
    ] {
        assert_eq!(set(FILE, path, value).unwrap(), with_line(old, new), "{path}");
    }
}

#[test]
fn a_file_without_settings_gets_its_first() {
    assert_eq!(set("", "a.b", "1").unwrap(), "a:\n  b: 1\n");
    assert_eq!(set("# none yet", "a", "1").unwrap(), "# none yet\na: 1\n");
    assert_eq!(set("a: {}", "a.b", "1").unwrap(), "a: { b: 1 }");
    assert_eq!(set("a: 1", "b", "2").unwrap(), "a: 1\nb: 2");
    assert_eq!(set("a: 1\r\n", "b.c", "2").unwrap(), "a: 1\r\nb:\r\n  c: 2\r\n");
}

#[test]
fn lines_are_counted_as_the_reader_counts_them() {
    assert_eq!(set("a: 1\rb: 2 # two\n", "b", "3").unwrap(), "a: 1\rb: 3 # two\n");
    assert_eq!(
        set("\u{e9}: 1\r\nb: [\u{e9}, c] # two\n", "b[1]", "3").unwrap(),
        "\u{e9}: 1\r\nb: [\u{e9}, 3] # two\n"
    );
}

#[test]
fn what_is_taken_away_leaves_the_rest() {
    for (path, old, new) in [
        ("gateway.pools.old.max_connections", "      max_connections: 7   # was 70\n", ""),
        ("gateway.pools.app.max_connections", ", max_connections: 5", ""),
        ("gateway.pools.old.servers[0]", "        - http://10.0.1.1:80 # rack 1\n", ""),
        ("gateway.pools.app.servers[0]", "\"http://10.0.0.1:80\", ", ""),
        ("gateway.routes[0].path", "path: /a   # first\n      ", ""),
        ("gateway.routes[0]", "    - path: /a   # first\n      pool: app\n", ""),
        ("ledger.keep", "{ keep: 30d }", "{}"),
        ("dns", "dns:\n", ""),
    ] {
        assert_eq!(unset(FILE, path).unwrap(), with_line(old, new), "{path}");
    }
    assert_eq!(unset("a:\n  b: 1 # one\nc: 2\n", "a.b").unwrap(), "a: {}\nc: 2\n");
    assert_eq!(unset("# top\na: 1\n", "a").unwrap(), "# top\n");
}

#[test]
fn a_text_is_quoted_where_it_would_be_read_as_something_else() {
    let value = "a, b";
    assert_eq!(set("x: { y: 1 }", "x.y", value).unwrap(), "x: { y: \"a, b\" }");
    assert_eq!(set("x:\n  y: 1\n", "x.y", value).unwrap(), "x:\n  y: a, b\n");
    let text = WrittenValue::text("on: [1] # \u{e9}").unwrap();
    let path = SettingPath::parse("x").unwrap();
    let new = edit_text("x: 1 # one\n", &path, &SettingChange::Set(text)).unwrap();
    assert_eq!(new, "x: \"on: [1] # \u{e9}\" # one\n");
}

#[test]
fn a_refusal_names_the_place_and_what_stands_there() {
    for (told, said) in [
        (unset(FILE, "gateway.pools.none"), "gateway.pools.none is not in the file"),
        (unset(FILE, "user"), "user is not in the file"),
        (unset(FILE, "ledger.keep.more"), "ledger.keep.more is not in the file"),
        (set(FILE, "ledger.keep.more", "1"), "ledger.keep is text in the file"),
        (set(FILE, "gateway.routes.pool", "x"), "gateway.routes is a list in the file"),
        (set(FILE, "gateway.pools[0]", "x"), "gateway.pools is a section of keys"),
        (set(FILE, "gateway.routes[3].pool", "x"), "gateway.routes has 2 items"),
        (set("a: [1", "a", "x"), "line 2: "),
    ] {
        let told = told.unwrap_err().to_string();
        assert!(told.starts_with(said), "{told}");
    }
}

#[test]
fn what_an_anchor_lends_to_several_places_is_left_alone() {
    let text = "a: &one { x: 1 }\nb: *one\n";
    for path in ["a.x", "b.x", "b.y"] {
        let refused = set(text, path, "2").unwrap_err();
        assert!(matches!(refused, EditRefusal::Entangled(_)), "{path}: {refused}");
    }
}

#[test]
fn a_value_is_one_line_of_yaml() {
    for (text, why) in [
        ("", ValueError::Empty),
        ("# nothing", ValueError::Empty),
        ("a\nb", ValueError::SeveralLines),
        ("a: b", ValueError::NoBrackets),
        ("- a", ValueError::NoBrackets),
        (&"x".repeat(70_000), ValueError::TooLong),
    ] {
        assert_eq!(WrittenValue::parse(text).unwrap_err(), why, "{text}");
    }
    assert!(matches!(WrittenValue::parse("[a"), Err(ValueError::NotYaml(_))));
    assert!(matches!(WrittenValue::parse("a\u{2028}b"), Err(ValueError::SeveralLines)));
}
