//! Filters in WebAssembly at a site: what they change for programs and clients, and what a faulty
//! one costs.

use crate::support::{Edge, Folder, site};
use door_web::{CgiChoice, HeaderRule, SiteSettings};
use scripting::OnScriptError;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use test_support::PROBE_FILTER;
use vocab::Source;
use wasm_filters::WasmFilterSettings;

/// A site with a page, a program that says what team it was told, and the filter of tests.
fn base() -> Folder {
    let base = Folder::new();
    base.write("www/index.html", "home");
    base.write("a.wasm", wat::parse_str(PROBE_FILTER).unwrap());
    base.write(
        "cgi/team",
        "#!/bin/sh\nsaid=\"team $HTTP_X_TEAM\"\n\
         printf 'Content-Type: text/plain\\nContent-Length: %d\\n\\n%s' ${#said} \"$said\"\n",
    );
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(base.path().join("cgi/team"), mode).unwrap();
    base
}

fn filter(on_error: OnScriptError) -> WasmFilterSettings {
    WasmFilterSettings { file: "a.wasm".into(), on_error, ..WasmFilterSettings::default() }
}

fn filtered(on_error: OnScriptError) -> SiteSettings {
    let server = HeaderRule {
        pattern: "*".into(),
        set: BTreeMap::from([("Server".into(), "ours".into()), ("X-Site".into(), "a".into())]),
        ..HeaderRule::default()
    };
    let programs = CgiChoice::Folder("cgi".into());
    SiteSettings {
        wasm: vec![filter(on_error)],
        headers: vec![server],
        cgi: BTreeMap::from([("/cgi-bin/*".to_owned(), programs)]),
        ..site("www", &[])
    }
}

#[test]
fn a_filter_lets_pass_changes_and_refuses() {
    let base = base();
    let edge = Edge::start_with(&base, &[filtered(OnScriptError::Fail)], "||blocked.example^\n");
    // The second comes from memory: no lane goes past the filter.
    for _ in 0..2 {
        let home = edge.ask("GET /", &[]);
        assert_eq!((home.status, home.text().as_str()), (200, "home"));
        assert_eq!((home.field("server"), home.field("x-site")), ("", "a"));
    }
    let told = edge.ask("GET /cgi-bin/team", &[("X-User", "ann"), ("X-Team", "forged")]);
    assert_eq!((told.status, told.text().as_str()), (200, "team ann"));
    for path in ["/", "/cgi-bin/team", "/none"] {
        let refused = edge.ask(&format!("GET {path}"), &[("X-No", "1")]);
        assert_eq!((refused.status, refused.text().as_str()), (403, "Not here.\n"), "{path}");
    }
    // The policy comes first: its block is not the filter's to answer.
    let blocked = edge.ask_host("blocked.example", "GET /", &[("X-No", "1")]);
    assert!(blocked.status == 403 && blocked.text() != "Not here.\n", "{}", blocked.text());
}

#[test]
fn a_filter_that_traps_or_loops_fails_its_request_and_no_other() {
    let base = base();
    let edge = Edge::start_with(&base, &[filtered(OnScriptError::Fail)], "");
    for fault in ["X-Trap", "X-Loop"] {
        for path in ["/", "/cgi-bin/team"] {
            let failed = edge.ask(&format!("GET {path}"), &[(fault, "1")]);
            assert_eq!(failed.status, 500, "{fault} {path}: {}", failed.text());
            assert_eq!(edge.ask("GET /", &[]).text(), "home");
        }
    }
    let failed = edge.rows(8).into_iter().filter(|row| row.source == Source::Failed).count();
    assert_eq!(failed, 4);
    let told = edge.told.lock().unwrap().join("\n");
    assert!(told.contains("a.wasm"), "{told}");

    edge.door.reload(&[filtered(OnScriptError::Pass)]).unwrap();
    for fault in ["X-Trap", "X-Loop"] {
        let passed = edge.ask("GET /", &[(fault, "1")]);
        assert_eq!((passed.status, passed.text().as_str()), (200, "home"), "{fault}");
    }
}

#[test]
fn a_filter_that_is_none_changes_nothing_at_a_reload() {
    let base = base();
    let edge = Edge::start_with(&base, &[filtered(OnScriptError::Fail)], "");
    base.write("a.wasm", "(module");
    let wrong = edge.door.reload(&[filtered(OnScriptError::Fail)]).unwrap_err();
    assert_eq!(wrong[0].path, "0.wasm.0", "{wrong:?}");
    assert_eq!(edge.ask("GET /", &[("X-No", "1")]).status, 403);
}
