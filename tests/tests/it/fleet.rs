//! A fleet: bundles published, taken over, refused, and gone on with when nothing can be reached.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::tidegate::{Tidegate, run};
use tidegate_tests::wait;

/// A fleet's folder, its key, and where its bundles lie.
pub(crate) struct Fleet {
    pub(crate) scratch: Scratch,
    pub(crate) place: String,
    pub(crate) key: String,
}

impl Fleet {
    /// One whose bundles lie in a folder.
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        let place = scratch.path().join("bundles").display().to_string();
        Self::at(scratch, place)
    }

    fn at(scratch: Scratch, place: String) -> Self {
        let key = scratch.path().join("fleet.key").display().to_string();
        let fleet = Self { scratch, place, key };
        Fleet::tell(&["init", &fleet.folder(), "--bundles", &fleet.place, "--key", &fleet.key]);
        fleet
    }

    pub(crate) fn folder(&self) -> String {
        self.scratch.path().join("home").display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.scratch.write(&format!("home/{name}"), text);
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("home/fleet.yaml")).unwrap()
    }

    fn public_key(&self) -> String {
        let file = self.file();
        let begin = file.find("ed25519:").unwrap();
        file[begin..].split('"').next().unwrap().to_owned()
    }

    /// Runs `tidegate fleet` with these words, which must succeed; what it said.
    pub(crate) fn tell(words: &[&str]) -> String {
        let (said, is_fine) = Self::try_tell(words);
        assert!(is_fine, "{words:?}: {said}");
        said
    }

    pub(crate) fn try_tell(words: &[&str]) -> (String, bool) {
        let out = run(&[&["fleet"], words].concat());
        let said = [out.stdout, out.stderr].concat();
        (String::from_utf8(said).unwrap(), out.status.success())
    }

    pub(crate) fn publish(&self, more: &[&str]) -> String {
        Self::tell(&[&["publish", &self.folder(), "--key", &self.key], more].concat())
    }

    /// A command that signs.
    pub(crate) fn signed(&self, word: &str, more: &[&str]) -> String {
        Self::tell(&[&[word, &self.folder(), "--key", &self.key], more].concat())
    }

    fn status(&self) -> String {
        Self::tell(&["status", &self.folder()])
    }

    fn object(&self, name: &str) -> PathBuf {
        Path::new(&self.place).join(name)
    }

    /// A machine of this name, with more lines of its section.
    fn edge(&self, name: &str, more: &str) -> Tidegate {
        Tidegate::start(&self.own_file(name, more))
    }

    pub(crate) fn own_file(&self, name: &str, more: &str) -> String {
        let (place, key) = (&self.place, self.public_key());
        format!(
            "admin: {{ listen: \"127.0.0.1:0\" }}\nfleet:\n  name: {name}\n  bundles: \"{place}\"\n  \
             keys: [\"{key}\"]\n  poll: 1s\n{more}"
        )
    }
}

/// A configuration that blocks one name at an address.
pub(crate) fn blocking(name: &str, dns: SocketAddr) -> String {
    format!(
        "policy: {{ lists: [{{ name: ads, path: lists/ads.txt }}, {{ name: one, rules: [\"||{name}^\"] }}] }}\n\
         dns: {{ listen: [\"udp://{dns}\"], upstreams: [\"udp://127.0.0.1:9\"], timeout: 100ms }}\n"
    )
}

pub(crate) fn free() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

pub(crate) fn is_blocked(dns: SocketAddr, name: &str) -> Option<()> {
    dig(dns, &["+tries=1", "+time=1", name]).contains("EDE: 15").then_some(())
}

/// The revision in force on a machine, by its own record.
pub(crate) fn in_force(edge: &Tidegate) -> Option<u64> {
    record(edge)["in_force"]["number"].as_u64()
}

pub(crate) fn record(edge: &Tidegate) -> serde_json::Value {
    let text = std::fs::read(edge.state().join("fleet/record.json"));
    text.map_or(serde_json::Value::Null, |text| serde_json::from_slice(&text).unwrap())
}

/// Waits until the machine has said something.
pub(crate) fn until_said(edge: &Tidegate, what: &str) {
    loop {
        let line = edge.output.recv_timeout(wait::DEADLINE);
        if line.unwrap_or_else(|_| panic!("never said: {what}")).contains(what) {
            return;
        }
    }
}

pub(crate) fn until_in_force(edge: &Tidegate, revision: u64) {
    wait::until("the revision to be in force", || (in_force(edge)? == revision).then_some(()));
}

#[test]
fn a_machine_takes_over_what_is_published_and_goes_on_when_nothing_can_be_reached() {
    let (fleet, dns) = (Fleet::new(), free());
    fleet.write("lists/ads.txt", "||ads.example^\n");
    fleet.write("tidegate.yaml", &blocking("first.example", dns));
    let edge = fleet.edge("a", "");
    assert!(fleet.publish(&["--why", "begin"]).contains("revision 1: "));
    wait::until("the door of the bundle", || is_blocked(dns, "first.example"));
    assert!(is_blocked(dns, "ads.example").is_some());
    fleet.write("tidegate.yaml", &blocking("second.example", dns));
    assert!(Fleet::tell(&["diff", &fleet.folder()]).contains("~ tidegate.yaml"));
    fleet.publish(&[]);
    wait::until("the second revision", || is_blocked(dns, "second.example"));
    assert!(is_blocked(dns, "first.example").is_none());
    // Its own file may be changed, and the bundle's may not.
    let files = edge.api("/api/configuration/files");
    let kinds: Vec<_> = files["files"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["main", "dashboard"], "{files}");
    std::fs::rename(fleet.object(""), fleet.scratch.path().join("gone")).unwrap();
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, &fleet.own_file("a", ""));
    assert_eq!(edge.address("dns", "udp"), dns);
    assert!(is_blocked(dns, "second.example").is_some());
    // What was before is kept, and can be gone back to under a number of its own.
    std::fs::rename(fleet.scratch.path().join("gone"), fleet.object("")).unwrap();
    assert!(fleet.signed("rollback", &["--to", "1"]).contains("revision 3: 0 of "));
    wait::until("the first files again", || is_blocked(dns, "first.example"));
    until_in_force(&edge, 3);
    let kept = std::fs::read_dir(edge.state().join("fleet/revisions")).unwrap().count();
    assert_eq!(kept, 3);
}

#[test]
fn what_is_not_signed_older_half_there_or_wrong_here_is_refused_and_told() {
    let (fleet, dns) = (Fleet::new(), free());
    fleet.write("lists/ads.txt", "||ads.example^\n");
    fleet.write("tidegate.yaml", &blocking("first.example", dns));
    fleet.publish(&[]);
    let first = std::fs::read(fleet.object("latest.json")).unwrap();
    let edge = fleet.edge("a", "");
    until_in_force(&edge, 1);
    fleet.publish(&[]);
    until_in_force(&edge, 2);
    let told = |what: &str| {
        until_said(&edge, what);
        assert_eq!(in_force(&edge), Some(2), "{what}");
    };
    let second = std::fs::read(fleet.object("latest.json")).unwrap();
    // An engine that gives what was true once.
    std::fs::write(fleet.object("latest.json"), &first).unwrap();
    told("revision 1 is older than 2");
    let changed = String::from_utf8(second.clone()).unwrap().replacen("eyJ", "eyK", 1);
    std::fs::write(fleet.object("latest.json"), changed).unwrap();
    told("0 of the trusted keys have signed it");
    std::fs::write(fleet.object("latest.json"), "{}").unwrap();
    told("it is no signed envelope");
    // Somebody else's fleet at the same place.
    let other = fleet.scratch.path().join("other.key").display().to_string();
    std::fs::write(fleet.object("latest.json"), &second).unwrap();
    let (said, is_fine) = Fleet::try_tell(&[
        "publish",
        &fleet.folder(),
        "--key",
        &fleet.key.replace("fleet.key", "none"),
    ]);
    assert!(!is_fine && said.contains("No such file"), "{said}");
    let elsewhere = fleet.scratch.path().join("elsewhere").display().to_string();
    Fleet::tell(&["init", &elsewhere, "--bundles", &fleet.place, "--key", &other]);
    let (said, is_fine) = Fleet::try_tell(&["publish", &fleet.folder(), "--key", &other]);
    assert!(!is_fine && said.contains("none of those in fleet.yaml"), "{said}");
    // A revision that is right everywhere but here: its port is taken.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let site =
        format!("web: [{{ listen: [\"http://{}\"], root: site }}]\n", taken.local_addr().unwrap());
    fleet.write("site/index.html", "from the bundle");
    fleet.write("tidegate.yaml", &[blocking("third.example", dns), site].concat());
    fleet.publish(&[]);
    wait::until("a refusal", || {
        (record(&edge)["refused"]["revision"]["number"] == 3).then_some(())
    });
    assert_eq!(in_force(&edge), Some(2));
    assert!(
        is_blocked(dns, "first.example").is_some() && is_blocked(dns, "third.example").is_none()
    );
    let said = edge.told(&["fleet", "status"]);
    assert!(
        said.contains("revision 2 is in force") && said.contains("revision 3 was refused:"),
        "{said}"
    );
    // A part that is not there yet: the next look finds it.
    let address = taken.local_addr().unwrap();
    drop(taken);
    fleet.write("lists/ads.txt", "||other.example^\n");
    let before = chunks(&fleet);
    fleet.publish(&["--why", "the port is free"]);
    assert!(chunks(&fleet) > before);
    until_in_force(&edge, 4);
    assert_eq!(curl(&[&format!("http://{address}/")]), (200, "from the bundle".into()));
    for secret in ["../tidegate.yaml", "..%2f..%2f..%2frecord.json"] {
        let (status, _) = curl(&["--path-as-is", &format!("http://{address}/{secret}")]);
        assert!(matches!(status, 400 | 404), "{secret}: {status}");
    }
}

fn chunks(fleet: &Fleet) -> usize {
    let objects = std::fs::read_dir(fleet.object("")).unwrap().flatten();
    objects.filter(|it| it.file_name().as_encoded_bytes().starts_with(b"chunk-")).count()
}

#[test]
fn machines_join_by_a_token_and_get_overlays_and_secrets_of_their_own() {
    let (fleet, dns) = (Fleet::new(), free());
    fleet.write("lists/ads.txt", "||ads.example^\n");
    let main = "ledger: { log: all }\nproxy: { parent: \"http://ann:${file:secrets/word}@127.0.0.1:9\" }\n";
    fleet.write("tidegate.yaml", &[&blocking("all.example", dns), main].concat());
    fleet.write(
        "overlays/site=harbour.yaml",
        "policy: { lists: [{ name: here, rules: [\"||harbour.example^\"] }] }\n",
    );
    fleet.write("overlays/edge=b.yaml", "ledger: { log: none }\n");
    fleet.write("secrets/word", "hunter2\n");
    let token = Fleet::tell(&["invite", &fleet.folder(), "--edge", "a", "--label", "site=harbour"]);
    fleet.publish(&[]);
    let edge = fleet.edge("a", "");
    // Without its entry there are no secrets, and the revision is not right without them.
    wait::until("a refusal", || record(&edge)["refused"]["revision"]["number"].as_u64());
    let said = edge.told(&["fleet", "join", token.trim()]);
    assert!(said.contains("a has asked to join"), "{said}");
    assert!(fleet.signed("admit", &[]).contains("a is part of the fleet"));
    assert!(!fleet.file().contains("invitations:\n  -"), "{}", fleet.file());
    until_in_force(&edge, 2);
    for name in ["all.example", "harbour.example", "ads.example"] {
        assert!(is_blocked(dns, name).is_some(), "{name}");
    }
    // Nothing that lies at the place has the secret, and nothing that the machine shows.
    for file in walk(&fleet.object("")) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(7).any(|it| it == b"hunter2"), "{}", file.display());
    }
    assert!(!edge.told(&["ctl", "config"]).contains("hunter2"));
    wait::until("its word", || fleet.status().contains("revision 2 ").then_some(()));
    // A token serves once.
    edge.told(&["fleet", "join", token.trim()]);
    assert!(fleet.signed("admit", &[]).contains("nobody has asked"));
    let ready = format!("http://{}/readyz", edge.address("admin", "http"));
    assert_eq!(curl(&[&ready]), (200, "ready\n".into()));
    fleet.signed("drain", &["--edge", "a"]);
    wait::until("it to be drained", || {
        (curl(&[&ready]) == (503, "draining\n".into())).then_some(())
    });
    fleet.signed("undrain", &["--edge", "a"]);
    wait::until("it to be ready", || (curl(&[&ready]).0 == 200).then_some(()));
    fleet.signed("revoke", &["--edge", "a"]);
    until_said(&edge, "this edge was revoked");
    assert_eq!(in_force(&edge), Some(4));
    assert!(is_blocked(dns, "all.example").is_some());
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|it| it.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_roll_out_halts_where_a_canary_refuses_it_and_goes_on_where_it_does_not() {
    let fleet = Fleet::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    fleet.write(
        "tidegate.yaml",
        "policy: { lists: [{ name: one, rules: [\"||one.example^\"] }] }\n",
    );
    let invited = |name: &str, ring: &str| {
        Fleet::tell(&[
            "invite",
            &fleet.folder(),
            "--edge",
            name,
            "--label",
            &format!("ring={ring}"),
        ])
    };
    let tokens = [invited("a", "first"), invited("b", "last")];
    let (a, b) = (fleet.edge("a", ""), fleet.edge("b", ""));
    a.told(&["fleet", "join", tokens[0].trim()]);
    b.told(&["fleet", "join", tokens[1].trim()]);
    fleet.signed("admit", &[]);
    fleet.publish(&[]);
    until_in_force(&a, 1);
    until_in_force(&b, 1);
    let bad =
        format!("web: [{{ listen: [\"http://{}\"], root: . }}]\n", taken.local_addr().unwrap());
    fleet.write("tidegate.yaml", &bad);
    let canary = ["--canary", "ring=first", "--watch"];
    let (said, is_fine) = Fleet::try_tell(
        &[&["publish", &fleet.folder(), "--key", &fleet.key], &canary[..], &["30s"]].concat(),
    );
    assert!(!is_fine && said.contains("halted: a refused it"), "{said}");
    assert!(fleet.status().contains("revision 1, behind"), "{}", fleet.status());
    assert_eq!((in_force(&a), in_force(&b)), (Some(1), Some(1)));
    // Any machine's dashboard tells it of all of them, without a database.
    let word = wait::until("the word of a at b", || {
        let told = b.api("/api/fleet/revisions");
        let words = told["edges"].as_array()?.clone();
        let a = words.into_iter().find(|it| it["edge"] == "a" && it["state"] == "refused")?;
        assert_eq!(told["newest"]["canary"]["labels"]["ring"], "first", "{told}");
        assert_eq!(told["newest"]["revision"], 2, "{told}");
        assert_eq!((&told["own"]["edge"], &told["own"]["in_force"]), (&"b".into(), &1.into()));
        Some(a)
    });
    assert_eq!((&word["goes_first"], &word["troubles"][0]), (&true.into(), &"refused".into()));
    assert!(word["complaints"][0].as_str().unwrap().contains("cannot listen on"), "{word}");
    assert_eq!(b.api("/api/status")["fleet"], "b");
    let (a_at, b_at) = (free(), free());
    fleet.write(
        "tidegate.yaml",
        "policy: { lists: [{ name: one, rules: [\"||good.example^\"] }] }\n",
    );
    for (name, at) in [("a", a_at), ("b", b_at)] {
        let text =
            format!("dns: {{ listen: [\"udp://{at}\"], upstreams: [\"udp://127.0.0.1:9\"] }}\n");
        fleet.write(&format!("overlays/edge={name}.yaml"), &text);
    }
    fleet.publish(&canary[..2]);
    wait::until("the canary", || is_blocked(a_at, "good.example"));
    assert_eq!((in_force(&a), in_force(&b)), (Some(3), Some(1)));
    wait::until("the other to wait", || {
        fleet.status().contains("it lets canaries go first").then_some(())
    });
    fleet.signed("promote", &[]);
    wait::until("the other", || is_blocked(b_at, "good.example"));
    let (said, is_fine) = Fleet::try_tell(&["promote", &fleet.folder(), "--key", &fleet.key]);
    assert!(!is_fine && said.contains("revision 4 is for all edges already"), "{said}");
}

#[test]
fn two_of_two_keys_must_sign_and_bundles_lie_at_any_server_that_takes_put() {
    let scratch = Scratch::new();
    let root = scratch.path().join("objects");
    for folder in ["fleet/status", "fleet/enrolments"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    for folder in ["fleet", "fleet/status", "fleet/enrolments"] {
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(root.join(folder), everybody).unwrap();
    }
    let server = Tidegate::start(&format!(
        "ledger: {{ log: all }}\nadmin: {{ listen: \"127.0.0.1:0\" }}\nweb:\n  - listen: [\"http://127.0.0.1:0\"]\n    \
         root: \"{}\"\n    put: true\n    writers: [127.0.0.1]\n",
        root.display()
    ));
    let address = server.address("web", "http");
    let fleet = Fleet::at(scratch, format!("http://{address}/fleet"));
    fleet.write(
        "tidegate.yaml",
        "policy: { lists: [{ name: one, rules: [\"||one.example^\"] }] }\n",
    );
    let other = Fleet::new();
    let (file, keys) =
        (fleet.file(), format!("\"{}\", \"{}\"", fleet.public_key(), other.public_key()));
    let first = format!("\"{}\"", fleet.public_key());
    fleet.write(
        "fleet.yaml",
        &file.replace(&first, &keys).replace("signatures: 1", "signatures: 2"),
    );
    let edge = fleet.edge("a", "");
    // One of two is not enough, for the publisher as for the machine.
    assert!(fleet.publish(&[]).contains("waits for 1 more signatures"));
    assert!(!root.join("fleet/latest.json").exists());
    drop(edge);
    let own = fleet.own_file("a", "  signatures: 2\n").replace(&first, &keys);
    let edge = Tidegate::start(&own);
    let second = Fleet::tell(&["sign", &fleet.folder(), "--key", &other.key]);
    assert!(second.contains("revision 1: "), "{second}");
    until_in_force(&edge, 1);
    // News is asked for with a condition.
    wait::until("a question without news", || {
        let rows = server.api("/api/requests?name=127.0.0.1&status=304&limit=5");
        (!rows["rows"].as_array()?.is_empty()).then_some(())
    });
    server.signal("STOP");
    until_said(&edge, "cannot be reached");
    server.signal("CONT");
    assert_eq!(in_force(&edge), Some(1));
}
