//! Lists with a URL: fetched, renewed, refused, kept; with servers that change, lie, hang and die.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::list_server::{ListServer, Manner, gzip};
use tidegate_tests::origin::header;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::{Scratch, wait};

/// The list's own server is blocked: that must not keep the list from coming.
const YAML: &str = r#"
policy:
  lists:
    - { name: own, rules: ["||lists.example^"] }
    - { name: ads, url: "URL", max_size: 64KiB }
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://UPSTREAM"]
admin: { listen: "127.0.0.1:0" }
"#;

struct House {
    server: ListServer,
    resolver: Resolver,
}

impl House {
    fn new(manner: Manner) -> Self {
        let lists = ("lists.example", Reply::Address(Ipv4Addr::LOCALHOST));
        let web = ("www.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 10)));
        Self { server: ListServer::start(manner), resolver: Resolver::start(&[lists, web]) }
    }

    fn yaml(&self) -> String {
        YAML.replace("URL", &self.server.url("lists.example"))
            .replace("UPSTREAM", &self.resolver.address.to_string())
    }
}

fn list(name: &str) -> Manner {
    Manner::Text(format!("||{name}.example^\n"))
}

fn is_blocked(edge: &Tidegate, name: &str) -> bool {
    let said = dig(edge.address("dns", "udp"), &[name]);
    assert!(said.contains("status: "), "no answer: {said}");
    said.contains("EDE: 15")
}

fn wait_until_blocked(edge: &Tidegate, name: &str) {
    wait::until(&format!("{name} to be blocked"), || is_blocked(edge, name).then_some(()));
}

/// What `tidegate lists update` prints where every list could be fetched.
fn updated(edge: &Tidegate) -> String {
    edge.told(&["lists", "update"])
}

/// What it complains of where one could not.
fn refused(edge: &Tidegate) -> String {
    let output = edge.command(&["lists", "update", "ads"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

fn subscription(edge: &Tidegate) -> serde_json::Value {
    edge.api("/api/lists")["lists"][1]["subscription"].clone()
}

/// The file that the list is kept in.
fn kept(edge: &Tidegate) -> PathBuf {
    let mut files = std::fs::read_dir(edge.state().join("lists")).unwrap();
    let is_text = |path: &PathBuf| path.extension().is_some_and(|it| it == "txt");
    files.find_map(|it| Some(it.unwrap().path()).filter(is_text)).unwrap()
}

#[test]
fn a_list_comes_at_the_first_start_and_then_only_when_it_is_another() {
    let house = House::new(list("ads1"));
    let edge = Tidegate::start(&house.yaml());
    wait_until_blocked(&edge, "x.ads1.example");
    assert!(is_blocked(&edge, "lists.example") && !is_blocked(&edge, "www.example"));
    let state = subscription(&edge);
    assert_eq!((&state["failures"], state["bytes"].as_u64()), (&0.into(), Some(16)), "{state}");
    assert!(state["next_at"].as_str() > state["fetched_at"].as_str(), "{state}");

    assert_eq!(updated(&edge), "ads: same\n");
    let heads = house.server.heads();
    assert_eq!(header(&heads[0], "if-none-match"), None);
    assert_eq!(header(&heads[1], "if-none-match").as_deref(), Some("\"16-||ads1.example^\""));
    assert_eq!(header(&heads[0], "accept-encoding").as_deref(), Some("zstd, gzip"));

    house.server.answers(list("ads2"));
    assert_eq!(updated(&edge), "ads: changed\n");
    assert!(is_blocked(&edge, "ads2.example") && !is_blocked(&edge, "ads1.example"));
    house.server.answers(Manner::Gzip(gzip(b"||ads3.example^\n")));
    assert_eq!(updated(&edge), "ads: changed\n");
    assert!(is_blocked(&edge, "ads3.example"));
    assert_eq!(std::fs::read(kept(&edge)).unwrap(), b"||ads3.example^\n");
    assert_eq!(updated(&edge), "ads: same\n", "the same text without a validator is the same");
    let said = edge.told(&["lists"]);
    assert!(said.contains("16 bytes, fetched 20") && said.contains("next try about 20"), "{said}");
}

#[test]
fn whatever_comes_the_last_good_list_stays_and_everybody_hears_why() {
    let good = format!("||good.example^\n{}", "||a-good-long-name.example^\n".repeat(1000));
    let house = House::new(Manner::Text(good.clone()));
    let edge = Tidegate::start(&house.yaml());
    wait_until_blocked(&edge, "good.example");
    let whole = |length: usize, body: &str| {
        Manner::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"))
    };
    let bad = [
        (Manner::Status("200 OK", "<!doctype html><h1>Sign in</h1>".into()), "web page"),
        (Manner::Status("404 Not Found", "gone".into()), "404"),
        (Manner::Status("200 OK", String::new()), "empty"),
        (Manner::Status("200 OK", "{\"error\": \"no such list\"}\n".into()), "no line of it"),
        (Manner::Status("200 OK", "||stump.example^\n".into()), "less than a tenth"),
        (whole(65_537, "||large.example^\n"), "larger than max_size"),
        (whole(1000, "||short.example^\n"), "broke off"),
        (Manner::Endless, "larger than max_size"),
        (Manner::Gzip(gzip(&vec![b'\n'; 50 << 20])), "larger than max_size"),
        (Manner::Gzip(b"||plain.example^".to_vec()), "coding is spoilt"),
        (Manner::Redirect("/round"), "redirects"),
        (Manner::Nothing, "closed the connection"),
    ];
    for (count, (manner, why)) in bad.into_iter().enumerate() {
        house.server.answers(manner);
        let said = refused(&edge);
        assert!(said.contains(why), "{why}: {said}");
        let state = subscription(&edge);
        assert_eq!(state["failures"].as_u64(), Some(count as u64 + 1), "{why}: {state}");
        assert!(state["failure"].as_str().unwrap().contains(why), "{why}: {state}");
        assert!(is_blocked(&edge, "good.example"), "{why}");
        assert_eq!(std::fs::read(kept(&edge)).unwrap(), good.as_bytes(), "{why}");
    }
    let status = edge.told(&["ctl", "status"]);
    assert!(status.contains("list ads: still as fetched at"), "{status}");
    let notes = edge.api("/api/notes");
    assert_eq!(notes["notes"][0]["from"], "list ads", "{notes}");
    assert!(notes["notes"].to_string().contains("web page"), "{notes}");
    let said = edge.told(&["lists"]);
    assert!(said.contains("12 tries failed since"), "{said}");

    house.server.answers(Manner::Text("||stump.example^\n".into()));
    edge.told(&["lists", "update", "ads", "--even-if-smaller"]);
    assert!(is_blocked(&edge, "stump.example") && !is_blocked(&edge, "good.example"));
    assert!(!edge.told(&["ctl", "status"]).contains("list ads"), "all is well again");
    let lists = std::fs::read_dir(edge.state().join("lists")).unwrap();
    assert_eq!(lists.count(), 2, "the list and its record, and nothing half");
}

#[test]
fn a_start_needs_no_network_and_a_kill_in_the_middle_spoils_nothing() {
    let house = House::new(list("ads1"));
    let edge = Tidegate::start(&house.yaml());
    wait_until_blocked(&edge, "ads1.example");
    house.server.answers(Manner::Stall);
    let waiting = {
        let (config, state) = (edge.config.clone(), edge.state());
        std::thread::spawn(move || {
            let place = ["--config", config.to_str().unwrap(), "--state", state.to_str().unwrap()];
            tidegate::run(&[&["lists", "update"], &place[..]].concat())
        })
    };
    wait::until("half a list", || {
        let lists = std::fs::read_dir(edge.state().join("lists")).unwrap();
        let part =
            lists.flatten().find(|it| it.file_name().to_string_lossy().ends_with(".part"))?;
        (part.metadata().ok()?.len() > 0).then_some(())
    });
    assert_eq!(subscription(&edge)["is_fetching"], true);
    let (_, scratch) = edge.stop_by("KILL");
    assert!(!waiting.join().unwrap().status.success());

    house.server.answers(Manner::Nothing);
    house.resolver.silence();
    let edge = Tidegate::start_in(scratch, &house.yaml());
    assert!(is_blocked(&edge, "ads1.example"), "at once");
    // A record that makes no sense costs a fetch, and no list.
    let name = format!(".{}.source", kept(&edge).file_name().unwrap().to_str().unwrap());
    let record = kept(&edge).with_file_name(name);
    let (_, scratch) = edge.stop_by("TERM");
    std::fs::write(&record, b"url \x00\xff").unwrap();
    let house = House { resolver: House::new(Manner::Nothing).resolver, ..house };
    house.server.answers(list("ads1"));
    let before = house.server.heads().len();
    let edge = Tidegate::start_in(scratch, &house.yaml());
    assert!(is_blocked(&edge, "ads1.example"), "at once");
    wait::until("the list to be fetched anew", || {
        (subscription(&edge)["bytes"] == 16).then_some(())
    });
    assert_eq!(header(&house.server.heads()[before], "if-none-match"), None);
}

#[test]
fn without_network_at_the_first_start_it_runs_says_so_and_fetches_later() {
    let house = House::new(Manner::Nothing);
    let edge = Tidegate::start(&house.yaml());
    assert!(edge.greets("list ads could not be downloaded yet"));
    assert!(!is_blocked(&edge, "ads1.example") && is_blocked(&edge, "lists.example"));
    let state = wait::until("a failure", || {
        let state = subscription(&edge);
        (state["failures"] == 1).then_some(state)
    });
    let (checked, next) =
        (state["checked_at"].as_str().unwrap(), state["next_at"].as_str().unwrap());
    assert!(next > checked, "{state}");
    assert!(edge.told(&["check"]).contains("list ads: nothing of it is here yet"));
    house.server.answers(list("ads1"));
    assert_eq!(updated(&edge), "ads: changed\n");
    assert!(is_blocked(&edge, "ads1.example"));
}

#[test]
fn a_list_comes_over_https_from_a_server_that_an_authority_of_ours_vouches_for() {
    let scratch = Scratch::new();
    scratch.write("www/ads.txt", "||ads1.example^\n");
    let server = Tidegate::start_in(
        scratch,
        "web: [{ listen: [\"https://127.0.0.1:0\"], hosts: [lists.example], root: www }]\n",
    );
    let house = House::new(Manner::Nothing);
    let port = server.address("web", "https").port();
    let url = format!("https://lists.example:{port}/ads.txt");
    let list = format!("\"{url}\", ca: \"CA\"");
    let yaml = house.yaml().replace(&format!("\"{}\"", house.server.url("lists.example")), &list);
    let authority = server.state().join("ca/ca.pem").display().to_string();

    let edge = Tidegate::start(&yaml.replace(", ca: \"CA\"", ""));
    let said = refused(&edge);
    assert!(said.contains("certificate"), "nobody public vouches for it: {said}");
    drop(edge);
    let scratch = Scratch::new();
    scratch.write("none.pem", "no PEM at all");
    let edge = Tidegate::start_in(scratch, &yaml.replace("CA", "none.pem"));
    let said = refused(&edge);
    assert!(said.contains("none.pem"), "{said}");
    drop(edge);
    let edge = Tidegate::start(&yaml.replace("CA", &authority));
    wait_until_blocked(&edge, "x.ads1.example");
    assert_eq!(updated(&edge), "ads: same\n");
}

#[test]
fn a_text_with_another_digest_than_the_pinned_one_is_refused() {
    let house = House::new(list("ads1"));
    let pinned =
        |digest: &str| house.yaml().replace("max_size: 64KiB", &format!("sha256: \"{digest}\""));
    let edge = Tidegate::start(&pinned(&"0".repeat(64)));
    let said = refused(&edge);
    assert!(said.contains("its SHA-256 is ") && !is_blocked(&edge, "ads1.example"), "{said}");
    let is = said.split("SHA-256 is ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    edge.scratch.write("tidegate.yaml", pinned(&is.to_uppercase()));
    edge.told(&["ctl", "reload"]);
    wait_until_blocked(&edge, "ads1.example");
    house.server.answers(list("ads2"));
    assert!(refused(&edge).contains("its SHA-256 is "));
    assert!(is_blocked(&edge, "ads1.example") && !is_blocked(&edge, "ads2.example"));
    // Somebody changes the text at hand: it is not what was pinned.
    std::fs::write(kept(&edge), "||evil.example^\n").unwrap();
    edge.told(&["ctl", "reload"]);
    assert!(!is_blocked(&edge, "evil.example"));
}

#[test]
fn where_nothing_runs_lists_are_fetched_into_the_state_folder() {
    let house = House::new(list("ads1"));
    let scratch = Scratch::new();
    let config = scratch.write("tidegate.yaml", house.yaml());
    let state = scratch.path().join("state");
    let place = ["--config", config.to_str().unwrap(), "--state", state.to_str().unwrap()];
    let update = |words: &[&str]| tidegate::run(&[words, &place[..]].concat());
    let output = update(&["lists", "update"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ads: changed\n", "{output:?}");
    let output = update(&["lists", "update", "nobody"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no list with url is called"));
    house.server.answers(Manner::Nothing);
    let edge = Tidegate::start_in(scratch, &house.yaml());
    assert!(is_blocked(&edge, "ads1.example"), "at once");
    assert_eq!(house.server.heads().len(), 1, "it is not due");
}

#[test]
fn a_reload_during_a_fetch_wins_and_a_stop_ends_it() {
    let house = House::new(Manner::Stall);
    let other = ListServer::start(list("other"));
    let more = format!("    - {{ name: other, url: \"{}\" }}\n", other.url("localhost"));
    let yaml = house.yaml().replace("dns:\n", &format!("{more}dns:\n"));
    let edge = Tidegate::start(&yaml);
    // One that hangs holds up no other: both are fetched at once, and taken when both have settled.
    wait::until("a stalled fetch", || (house.server.heads().len() == 1).then_some(()));
    wait_until_blocked(&edge, "other.example");
    assert_eq!(subscription(&edge)["is_fetching"], true);

    // Its list is named no more: what comes of it is for nobody.
    let without = yaml.replace("    - { name: ads,", "    # - { name: ads,");
    edge.scratch.write("tidegate.yaml", &without);
    edge.told(&["ctl", "reload"]);
    assert_eq!(edge.api("/api/lists")["lists"].as_array().unwrap().len(), 2);
    house.server.answers(list("ads1"));
    assert_eq!(updated(&edge), "other: same\n");
    assert!(is_blocked(&edge, "other.example") && !is_blocked(&edge, "ads1.example"));

    house.server.answers(Manner::Stall);
    edge.scratch.write("tidegate.yaml", &yaml);
    let before = house.server.heads().len();
    edge.told(&["ctl", "reload"]);
    wait::until("a stalled fetch", || (house.server.heads().len() > before).then_some(()));
    let (status, _) = edge.stop_by("TERM");
    assert!(status.success(), "{status}");
}

#[test]
fn the_signer_hears_of_fetched_lists_too() {
    let house = House::new(list("first"));
    let yaml = house.yaml()
        + "pixel: { listen: [\"http://127.0.0.1:0\", \"https://127.0.0.1:0\"], addresses: [192.0.2.80] }\n";
    let edge = Tidegate::start(&yaml);
    let status = |name: &str| {
        let ca = edge.state().join("ca/ca.pem");
        let to = format!("::{}", edge.address("pixel", "https"));
        let url = format!("https://{name}/x.js");
        curl(&["--cacert", ca.to_str().unwrap(), "--connect-to", &to, &url]).0
    };
    wait::until("a certificate for a listed name", || {
        (status("first.example") == 200).then_some(())
    });
    house.server.answers(list("second"));
    assert_eq!(updated(&edge), "ads: changed\n");
    assert_eq!(status("second.example"), 200);
    assert_ne!(status("third.example"), 200);
}
