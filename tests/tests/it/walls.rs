//! What no door gives away: Tidegate's own files, below a root that holds them.

use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use tidegate_tests::clients::curl;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::{Scratch, wait};

/// Everything of this instance in one folder, which is the root of a site and of a route.
fn careless(scratch: &Scratch, origin: &Origin) -> String {
    let root = scratch.path().display();
    scratch.write("users", "ann:$2y$05$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK\n");
    scratch.write("hello.txt", "hello");
    format!(
        r#"
policy: {{ lists: [{{ name: mine, rules: ["||ads.example^"] }}] }}
pixel: {{ listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [127.0.0.1] }}
web:
  - {{ listen: ["http://127.0.0.1:0"], root: ".", listing: on, auth: [{{ path: "/in/*", file: users }}] }}
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: {{ app: {{ servers: ["http://{}"] }} }}
  routes:
    - {{ path: "/named/*", pool: app, reproxy: {{ files: "{root}" }} }}
    - {{ path: "/*", root: ".", listing: true }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        origin.address
    )
}

fn status(at: SocketAddr, path: &str) -> u32 {
    curl(&["--path-as-is", &format!("http://{at}{path}")]).0.into()
}

#[test]
fn a_root_that_holds_the_state_folder_serves_none_of_it() {
    let scratch = Scratch::new();
    let named = |file: &str| {
        let path = scratch.path().join(file);
        Page::new("text/plain", "").header("X-Reproxy-File", path.to_str().unwrap())
    };
    let origin = Origin::start(&[
        ("/named/hello", named("hello.txt")),
        ("/named/token", named("state/admin.token")),
        ("/named/configuration", named("tidegate.yaml")),
        ("/named/link", named("linked/ca/ca.key")),
    ]);
    let yaml = careless(&scratch, &origin);
    symlink("state", scratch.path().join("linked")).unwrap();
    let edge = Tidegate::start_in(scratch, &yaml);
    let folder = edge.scratch.path().to_owned();
    std::fs::hard_link(edge.state().join("admin.token"), folder.join("innocent.txt")).unwrap();
    let doors = [edge.address("web", "http"), edge.address("gateway", "http")];
    for at in doors {
        assert_eq!(status(at, "/hello.txt"), 200);
        for path in [
            "/state/ca/ca.key",
            "/state/ca/ca.pem",
            "/state/admin.token",
            "/state/ledger.db",
            "/state/ledger.db-wal",
            "/state/",
            "/linked/admin.token",
            "/innocent.txt",
            "/tidegate.yaml",
            "/tidegate.yaml~",
            "/users",
        ] {
            assert_eq!(status(at, path), 404, "{at} {path}");
        }
        assert!(matches!(status(at, "/x/../state/admin.token"), 400 | 404));
        let (_, listed) = curl(&[&format!("http://{at}/")]);
        assert!(listed.contains("hello.txt"), "{listed}");
        for name in ["state", "tidegate.yaml", "users", "innocent", "linked"] {
            assert!(!listed.contains(name), "{name} stands in\n{listed}");
        }
    }
    assert_eq!(curl(&[&format!("http://{}/named/hello", doors[1])]), (200, "hello".into()));
    for path in ["/named/token", "/named/configuration", "/named/link"] {
        assert_ne!(status(doors[1], path), 200, "{path}");
    }
    let note = edge.greeting.iter().find(|line| line.contains("web.0.root")).unwrap();
    assert!(note.contains("tidegate.yaml:5:") && note.contains("state"), "{note}");
    let checked = edge.told(&["check"]);
    assert!(checked.contains("web.0.root") && checked.contains("fine"), "{checked}");
    assert!(checked.contains("gateway.routes.0.reproxy.files"), "{checked}");
}

#[test]
fn a_configuration_that_is_replaced_is_never_served_and_a_reload_hides_what_it_names() {
    let (scratch, origin) = (Scratch::new(), Origin::start(&[]));
    let yaml = careless(&scratch, &origin);
    scratch.write("others", "ann:x\n");
    let edge = Tidegate::start_in(scratch, &yaml);
    let web = edge.address("web", "http");
    assert_eq!((status(web, "/users"), status(web, "/others")), (404, 200));
    std::fs::copy(edge.scratch.path().join("users"), edge.scratch.path().join("others")).unwrap();
    edge.scratch.write("fresh", yaml.replace("file: users", "file: others"));
    std::fs::rename(edge.scratch.path().join("fresh"), &edge.config).unwrap();
    assert_eq!(status(web, "/tidegate.yaml"), 404);
    edge.told(&["ctl", "reload"]);
    let gone = || (status(web, "/others") == 404).then_some(());
    wait::until("the new password file to be hidden", gone);
    assert_eq!(status(web, "/tidegate.yaml"), 404);
}

#[test]
fn a_root_among_our_own_keys_is_refused_with_its_line() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path().join("state/ca")).unwrap();
    for (root, section) in [
        ("state", "web: [{ listen: [\"http://127.0.0.1:0\"], root: state }]\n"),
        ("state/ca", "web: [{ listen: [\"http://127.0.0.1:0\"], root: state/ca }]\n"),
        (
            "state",
            "gateway: { listen: [\"http://127.0.0.1:0\"], routes: [{ path: \"/*\", root: state }] }\n",
        ),
    ] {
        let yaml = format!("admin: {{ listen: \"127.0.0.1:0\" }}\n{section}");
        let (said, code) = tidegate::refused(&yaml, &scratch, &scratch.path().join("state"));
        assert_ne!(code, 0, "{said}");
        let has_place = said.contains("tidegate.yaml:2:") && said.contains("root: state");
        assert!(has_place && said.contains("outside the state folder"), "{root}: {said}");
    }
}

#[test]
fn the_state_folder_lies_hidden_beside_a_configuration_unless_an_older_one_is_in_use() {
    const YAML: &str = "admin: { listen: \"127.0.0.1:0\" }\n\
                        pixel: { listen: [\"https://127.0.0.1:0\"], addresses: [127.0.0.1] }\n\
                        policy: { lists: [{ name: mine, rules: [\"||ads.example^\"] }] }\n";
    let edge = Tidegate::start_at_home(Scratch::new(), YAML);
    assert!(edge.scratch.path().join(".tidegate-state/ca/ca.key").exists());
    let (_, scratch) = edge.stop_by("TERM");
    let path = scratch.path().to_owned();
    std::fs::rename(path.join(".tidegate-state"), path.join("tidegate-state")).unwrap();
    let before = std::fs::read(path.join("tidegate-state/ca/ca.pem")).unwrap();
    let edge = Tidegate::start_at_home(scratch, YAML);
    assert!(!path.join(".tidegate-state").exists());
    assert_eq!(std::fs::read(path.join("tidegate-state/ca/ca.pem")).unwrap(), before);
    let said = edge.greeting.join("\n");
    assert!(said.contains("mv tidegate-state .tidegate-state"), "{said}");
}

#[test]
fn a_folder_served_at_once_keeps_another_tidegates_state_to_itself() {
    let scratch = Scratch::new();
    scratch.write("site/tidegate-state/admin.token", "secret");
    scratch.write("site/tidegate.yaml", "secret");
    scratch.write("site/notes.txt", "notes");
    let edge = Tidegate::serve(scratch, &["site", "--port", "0"]);
    let at = edge.address("web", "http");
    assert_eq!(status(at, "/notes.txt"), 200);
    for path in ["/tidegate-state/admin.token", "/tidegate-state/", "/tidegate.yaml"] {
        assert_eq!(status(at, path), 404, "{path}");
    }
}

#[test]
fn every_file_of_the_state_folder_is_its_owners_alone_even_where_the_folder_was_there() {
    let scratch = Scratch::new();
    let state = scratch.path().join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["ledger.lock", "lock"] {
        scratch.write(&format!("state/{name}"), "");
    }
    let origin = Origin::start(&[]);
    let yaml = careless(&scratch, &origin);
    let edge = Tidegate::start_in(scratch, &yaml);
    edge.told(&["ctl", "allow", "ads.example"]);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    let mut seen = 0;
    let mut left = vec![state.clone()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if !path.ends_with("ca.pem") {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "only {seen} files");
    let said = edge.greeting.join("\n");
    let token = std::fs::read_to_string(state.join("admin.token")).unwrap();
    assert!(!said.contains(token.trim()) && said.contains("admin.token"), "{said}");
}
