//! The signer asked by a main process that was taken over, in the very words that main uses: every
//! sentence of SECURITY.md about what it signs.

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use std::fs;
use std::process::{Child, Command, Stdio};
use tidegate_tests::Scratch;
use tidegate_tests::tidegate::binary;

const RULES: &str = r#""||ads.example^", "||tracker.net^", "@@||www.tracker.net^", "||co.uk^", "||com^$denyallow=google.com|paypal.com|github.com",
      "||irs.gov^", "||shop.bank^", "||github.io^", "||wide.org^", "0.0.0.0 exact.org""#;

/// A signer's process that takes our orders.
struct Signer {
    socket: OwnedFd,
    child: Child,
}

impl Signer {
    /// Starts one as main does, and hands it the public key of our own making.
    fn start(scratch: &Scratch, more: &str) -> Self {
        let config = scratch.write(
            "tidegate.yaml",
            format!(
                "policy: {{ lists: [{{ name: mine, rules: [{RULES}] }}] }}\n\
                 pixel: {{ listen: [\"https://127.0.0.1:0\"], addresses: [192.0.2.80] }}\n\
                 dns: {{ listen: [\"tls://127.0.0.1:0\"], names: [dns.home.arpa] }}\n{more}\n"
            ),
        );
        let kind = SocketType::SEQPACKET;
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        let child = Command::new(binary())
            .arg("--config")
            .arg(&config)
            .arg("--state")
            .arg(scratch.path().join("state"))
            .arg("signer")
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        let signer = Self { socket, child };
        // Opened, then ready.
        while signer.hear()[1] != 2 {}
        signer.say(&[&[VERSION, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &public_key(scratch)].concat());
        signer
    }

    fn say(&self, packet: &[u8]) {
        send(&self.socket, packet, SendFlags::empty()).unwrap();
    }

    fn hear(&self) -> Vec<u8> {
        let mut packet = vec![0; 1 << 16];
        let (_, length) = recv(&self.socket, packet.as_mut_slice(), RecvFlags::empty()).unwrap();
        assert!(length > 1, "the signer has ended");
        packet.truncate(length);
        packet
    }

    /// The names in the leaf that it signs for an order; none where it refuses.
    fn order(&self, kind: u8, body: &[u8]) -> Option<Vec<u8>> {
        self.say(&[&[VERSION, kind, 7, 0, 0, 0, 0, 0, 0, 0][..], body].concat());
        let said = self.hear();
        (said[1] == 4).then(|| said[18..].to_vec())
    }

    /// Whether it signs for a blocked name alone.
    fn signs(&self, name: &str) -> bool {
        self.order(2, &[&[0, 0][..], &text(name)].concat()).is_some()
    }

    /// Whether it signs for a blocked name and all directly below it.
    fn signs_wildcard(&self, base: &str) -> bool {
        self.order(2, &[&[0, 1][..], &text(base)].concat()).is_some()
    }

    /// Whether it signs on our word that an alias of the name is blocked.
    fn signs_vouched(&self, name: &str) -> bool {
        self.order(3, &[&[0][..], &text(name)].concat()).is_some()
    }

    /// Whether it signs for a name as one of a server of ours.
    fn signs_own(&self, name: &str) -> bool {
        self.order(4, &[&[1][..], &text(name), &[0]].concat()).is_some()
    }

    /// Whether it signs for an address as one of a server of ours.
    fn signs_address(&self, address: [u8; 4]) -> bool {
        self.order(4, &[&[0, 1, 4][..], &address].concat()).is_some()
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of the messages, as `signer/frame.rs` has them.
const VERSION: u8 = 3;

/// A name as it stands in a message.
fn text(name: &str) -> Vec<u8> {
    [&[u8::try_from(name.len()).unwrap()][..], name.as_bytes()].concat()
}

/// A P-256 key's public half, in DER.
fn public_key(scratch: &Scratch) -> Vec<u8> {
    let (key, public) = (scratch.path().join("leaf.key"), scratch.path().join("leaf.pub"));
    let run = |args: &[&str]| {
        assert!(Command::new("openssl").args(args).status().unwrap().success(), "{args:?}");
    };
    run(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key.to_str().unwrap()]);
    let out = public.to_str().unwrap();
    run(&["ec", "-in", key.to_str().unwrap(), "-pubout", "-outform", "DER", "-out", out]);
    fs::read(public).unwrap()
}

#[test]
fn it_signs_what_its_lists_block_and_its_servers_own_names() {
    let scratch = Scratch::new();
    let signer = Signer::start(&scratch, "");
    for name in ["ads.example", "x.ads.example", "a.tracker.net", "exact.org", "some.com"] {
        assert!(signer.signs(name), "{name}");
    }
    assert!(signer.signs_wildcard("wide.org"));
    assert!(signer.signs_own("dns.home.arpa") && signer.signs_address([127, 0, 0, 1]));
    let log = fs::read_to_string(scratch.path().join("state/ca/audit.log")).unwrap();
    assert!(log.contains("blocked exact.org ") && log.contains("own dns.home.arpa "), "{log}");
}

#[test]
fn it_signs_nothing_else_whatever_it_is_told() {
    let scratch = Scratch::new();
    let signer = Signer::start(&scratch, "");
    let names = [
        // Blocked by no list, or let through by one.
        "accounts.google.com",
        "www.paypal.com",
        "github.com",
        "www.tracker.net",
        "x.www.tracker.net",
        // Public suffixes, though a list blocks them.
        "com",
        "co.uk",
        "github.io",
        "org",
        // Excluded, though a list blocks them.
        "irs.gov",
        "www.irs.gov",
        "shop.bank",
        // No host names.
        "*.ads.example",
        "Ads.example",
        "ads.example.",
        "192.0.2.1",
        "a\0b",
        "",
    ];
    for name in names {
        assert!(!signer.signs(name), "{name:?}");
        assert!(!signer.signs_wildcard(name), "*.{name:?}");
        assert!(!signer.signs_vouched(name), "{name:?} on our word");
        assert!(!signer.signs_own(name), "{name:?} as our own");
    }
    // Wildcards that cover a name let through, or nothing that is known to be blocked.
    for base in ["tracker.net", "exact.org", "some.com", "google.com"] {
        assert!(!signer.signs_wildcard(base), "*.{base}");
    }
    assert!(!signer.signs_vouched("shop.example"), "no alias by default");
    assert!(!signer.signs_own("ads.example"));
    assert!(!signer.signs_address([198, 41, 0, 4]));
    let log = fs::read_to_string(scratch.path().join("state/ca/audit.log")).unwrap();
    assert_eq!(log, "");
}

#[test]
fn what_it_signs_on_our_word_is_counted_across_restarts() {
    let scratch = Scratch::new();
    let mut signed = 0;
    for restart in 0..3 {
        let started = Signer::start(&scratch, "signer: { aliases: limited }");
        let names = (0..100).map(|number| format!("shop{restart}-{number}.example"));
        signed += names.filter(|name| started.signs_vouched(name)).count();
        assert!(!started.signs_vouched("com") && !started.signs_vouched("www.irs.gov"));
    }
    // One more comes back in ten seconds, and starts take a while.
    assert!((100..110).contains(&signed), "{signed} of 300");
}
