//! Settings changed while it runs: by `tidegate ctl set`, and at the line console.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use tidegate_tests::Scratch;
use tidegate_tests::clients::curl;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{self, Tidegate, binary};
use tidegate_tests::wait;

/// A gateway with a server, and words for the places that change.
fn yaml(server: SocketAddr, admin: &str) -> String {
    format!(
        "# The edge of example.net.\ngateway:\n  listen: [\"http://127.0.0.1:0\"]  # behind the \
         wall\n  pools:\n    app:\n      # Only one so far.\n      servers: [\"http://{server}\"] # \
         rack 1\n      max_requests: 100   # as many as it can\n  routes:\n    - {{ path: \
         \"/*\", pool: app }} # all\nadmin: {{ listen: \"127.0.0.1:0\", {admin} }}\n"
    )
}

/// It runs, and the configuration is a file of the user that it runs as.
fn start(scratch: Scratch, yaml: &str) -> Tidegate {
    let edge = Tidegate::start_in(scratch, yaml);
    let owner = std::fs::metadata(format!("/proc/{}", edge.pid())).unwrap();
    give(&edge, owner.uid());
    edge
}

/// Gives the file to a user.
fn give(edge: &Tidegate, uid: u32) {
    let before = std::fs::metadata(&edge.config).unwrap();
    if before.uid() != uid {
        let group = std::fs::metadata(format!("/proc/{}", edge.pid())).unwrap().gid();
        std::os::unix::fs::chown(&edge.config, Some(uid), Some(group)).unwrap();
    }
}

fn text(edge: &Tidegate) -> String {
    std::fs::read_to_string(&edge.config).unwrap()
}

/// What a command that fails says.
fn refused(edge: &Tidegate, args: &[&str]) -> String {
    let output = edge.command(args);
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The page that the gateway has.
fn page(edge: &Tidegate) -> String {
    curl(&[&format!("http://{}/", edge.address("gateway", "http"))]).1
}

/// Two servers with pages of their own.
fn servers() -> [Origin; 2] {
    ["one", "two"].map(|body| Origin::start(&[("/", Page::new("text/plain", body))]))
}

/// Commands at the console, and all that it answers until it closes the connection.
fn asked(stream: &mut (impl Read + Write), commands: &str) -> String {
    // One over the cap is told so and closed, before it has said anything.
    drop(stream.write_all(commands.as_bytes()));
    let mut told = Vec::new();
    // A connection that is closed with bytes unread is reset.
    drop(stream.read_to_end(&mut told));
    String::from_utf8(told).unwrap().replace("\r\n", "\n")
}

/// A connection to the console that the greeting names.
fn console(edge: &Tidegate) -> TcpStream {
    let line = edge.greeting.iter().find_map(|line| line.trim().strip_prefix("console"));
    let stream = TcpStream::connect(line.unwrap().trim()).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream
}

fn token(edge: &Tidegate) -> String {
    std::fs::read_to_string(edge.state().join("admin.token")).unwrap().trim().to_owned()
}

#[test]
fn a_setting_is_changed_at_the_door_and_in_the_file_with_every_comment_kept() {
    let [one, two] = servers();
    let before = yaml(one.address, "config_edits: on");
    let edge = start(Scratch::new(), &before);
    std::fs::set_permissions(&edge.config, PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(page(&edge), "one");
    let url = format!("http://{}", two.address);
    let told = edge.told(&["ctl", "set", "gateway.pools.app.servers[0]", &url]);
    assert!(told.starts_with("reloaded: "), "{told}");
    assert_eq!(page(&edge), "two");
    let after = before.replace(&one.address.to_string(), &two.address.to_string());
    assert_eq!(text(&edge), after);
    assert_eq!(edge.config.metadata().unwrap().mode() & 0o777, 0o640);
    // What is not in the file is in force by its default, and added where it belongs.
    assert_eq!(edge.told(&["ctl", "get", "gateway.pools.app.balance"]), "p2c\n");
    edge.told(&["ctl", "set", "gateway.pools.app.balance", "random"]);
    assert_eq!(edge.told(&["ctl", "get", "gateway.pools.app.balance"]), "random\n");
    let line = "max_requests: 100   # as many as it can\n";
    assert!(text(&edge).contains(&format!("{line}      balance: random\n")), "{}", text(&edge));
    let shown = edge.told(&["ctl", "config"]);
    assert!(shown.ends_with(&text(&edge)), "{shown}");
    edge.told(&["ctl", "unset", "gateway.pools.app.balance"]);
    assert_eq!(edge.told(&["ctl", "get", "gateway.pools.app.balance"]), "p2c\n");
}

#[test]
fn what_is_wrong_or_was_changed_meanwhile_changes_nothing() {
    let [one, _] = servers();
    let before = yaml(one.address, "config_edits: on");
    let edge = start(Scratch::new(), &before);
    for (args, said) in [
        (["set", "gateway.pools.app.max_requests", "soup"], "expected"),
        (["set", "gateway.pools.app.max_request", "5"], "did you mean"),
        (["set", "gateway.routes[0].pool", "none"], "none"),
        (["set", "gateway.routes[7].pool", "app"], "has 1 items"),
        (["set", "gateway..x", "5"], "a key is missing"),
        (["set", "gateway.pools.app.max_requests", "[1"], "no YAML"),
        // A reload alone finds that nobody can listen there.
        (["set", "gateway.listen[0]", "http://192.0.2.1:8080"], "192.0.2.1"),
    ] {
        let told = refused(&edge, &[&["ctl"], &args[..]].concat());
        assert!(told.contains(said), "{args:?}: {told}");
        assert_eq!(text(&edge), before, "{args:?}");
    }
    assert_eq!(page(&edge), "one");
    let meanwhile = format!("{before}# by hand\n");
    edge.scratch.write("tidegate.yaml", &meanwhile);
    let set = ["ctl", "set", "gateway.pools.app.max_requests", "5"];
    let told = refused(&edge, &set);
    assert!(told.contains("was changed since it was loaded; reload first"), "{told}");
    assert_eq!(text(&edge), meanwhile);
    edge.told(&["ctl", "reload"]);
    edge.told(&set);
    assert_eq!(text(&edge), meanwhile.replace("max_requests: 100", "max_requests: 5"));
}

#[test]
fn a_file_that_is_not_tidegates_to_write_stays_as_it_is() {
    let [one, _] = servers();
    let set = ["ctl", "set", "gateway.pools.app.max_requests", "5"];
    let before = yaml(one.address, "hosts: []");
    let off = start(Scratch::new(), &before);
    let told = refused(&off, &set);
    assert!(told.contains("write `config_edits: on` below `admin`"), "{told}");
    assert_eq!(text(&off), before);
    let before = yaml(one.address, "config_edits: on");
    let closed = start(Scratch::new(), &before);
    std::fs::set_permissions(closed.scratch.path(), PermissionsExt::from_mode(0o555)).unwrap();
    let told = refused(&closed, &set);
    std::fs::set_permissions(closed.scratch.path(), PermissionsExt::from_mode(0o777)).unwrap();
    assert!(told.contains("cannot be replaced"), "{told}");
    assert_eq!(text(&closed), before);
    assert_eq!(page(&closed), "one");
}

#[test]
fn several_editors_at_once_lose_no_change() {
    let [one, _] = servers();
    let edge = start(Scratch::new(), &yaml(one.address, "config_edits: on"));
    let keys = ["max_requests", "keep_alive.connections", "keep_alive.requests", "retry.attempts"];
    let begin = |key: &str| {
        let path = format!("gateway.pools.app.{key}");
        let mut command = Command::new(binary());
        command.args(["ctl", "set", &path, "3", "--config"]).arg(&edge.config);
        command.arg("--state").arg(edge.state()).stdout(Stdio::null()).spawn().unwrap()
    };
    for mut editor in keys.map(begin) {
        assert!(editor.wait().unwrap().success());
    }
    for key in keys {
        let path = format!("gateway.pools.app.{key}");
        assert_eq!(edge.told(&["ctl", "get", &path]), "3\n", "{key}");
    }
    assert_eq!(page(&edge), "one");
}

#[test]
fn the_console_changes_servers_and_settings_live_and_in_the_file() {
    let [one, two] = servers();
    let settings = "config_edits: on, console: \"127.0.0.1:0\"";
    let edge = start(Scratch::new(), &yaml(one.address, settings));
    let told = asked(&mut console(&edge), "show pool\nset app.max_requests = 5\nquit\n");
    let wanted = "app nodes 1\napp services 1\n.\nERROR: show the token first";
    assert!(told.starts_with(wanted), "{told}");
    let commands = format!(
        "auth {}\r\nPOOL app ADD {}\r\nPOOL app REMOVE {}\r\nSET app.max_requests = 5\r\nshow \
         pool app\r\nset app.soup = 1\r\nquit\r\n",
        token(&edge),
        two.address,
        one.address
    );
    let told = asked(&mut console(&edge), &commands);
    let wanted = format!("OK\nOK\nOK\nOK\n{} 0\n.\nERROR: ", two.address);
    assert!(told.starts_with(&wanted), "{told}");
    assert_eq!(page(&edge), "two");
    let written = text(&edge);
    for line in [
        &format!("servers: [\"http://{}\"] # rack 1\n", two.address),
        "max_requests: 5   # as many as it can\n",
        "# Only one so far.\n",
    ] {
        assert!(written.contains(line), "{line} is not in {written}");
    }
}

#[test]
fn a_page_that_posts_to_the_console_changes_nothing() {
    let [one, two] = servers();
    let settings = "config_edits: on, console: { listen: \"127.0.0.1:0\", trust: loopback }";
    let before = yaml(one.address, settings);
    let edge = start(Scratch::new(), &before);
    let body = format!("pool app add {}\nset app.max_requests = 5\n", two.address);
    let address = console(&edge).peer_addr().unwrap();
    let sent = Command::new("curl")
        .args(["-s", "--max-time", "30", "-d", &body, &format!("http://{address}/")])
        .output()
        .unwrap();
    assert!(!sent.status.success() && sent.stdout.is_empty(), "{sent:?}");
    assert_eq!(text(&edge), before);
    assert_eq!(asked(&mut console(&edge), &format!("{body}quit\n")), "OK\nOK\n");
    assert!(text(&edge).contains("max_requests: 5 "));
}

#[test]
fn a_console_at_a_path_asks_for_no_token_and_a_flood_of_commands_leaves_the_door_open() {
    let [one, _] = servers();
    let settings = "console: \"unix:console.sock\"";
    let edge = start(Scratch::new(), &yaml(one.address, settings));
    let path = edge.state().join("console.sock");
    assert_eq!(path.symlink_metadata().unwrap().mode() & 0o777, 0o600);
    let mut flood: Vec<UnixStream> = Vec::new();
    for _ in 0..16 {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_write_timeout(Some(wait::DEADLINE)).unwrap();
        // More than the console reads before its answers are taken, which nobody does.
        let commands = "show pool app\nnodes\nqueues\nhelp\n".repeat(500);
        stream.write_all(commands.as_bytes()).unwrap();
        flood.push(stream);
    }
    for _ in 0..50 {
        assert_eq!(page(&edge), "one");
    }
    let mut late = UnixStream::connect(&path).unwrap();
    assert_eq!(asked(&mut late, ""), "ERROR: too many connections\n");
    drop(flood);
    wait::until("a place at the console", || {
        let told = asked(&mut UnixStream::connect(&path).unwrap(), "reload\nquit\n");
        assert!(["OK\n", "", "ERROR: too many connections\n"].contains(&told.as_str()), "{told}");
        (told == "OK\n").then_some(())
    });
    edge.stop_by("TERM");
    assert!(!path.exists());
}

#[test]
fn check_foretells_that_commands_cannot_change_the_file() {
    let scratch = Scratch::new();
    let yaml = "admin: { config_edits: on, listen: \"127.0.0.1:0\" }\n\
                proxy: { listen: [\"http://127.0.0.1:0\"] }\n";
    let file = scratch.write("tidegate.yaml", yaml).display().to_string();
    let state = scratch.path().join("state").display().to_string();
    let checked = tidegate::run(&["--state", &state, "check", "--config", &file]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    // Started as root, it runs as somebody else, whose file this is not.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    assert_eq!(said.contains("commands cannot change it"), is_root, "{said}");
    assert!(checked.status.success());
}
