//! A fleet whose bundles lie at S3: a server that verifies signatures by AWS' own signer.

use std::process::Command;
use tidegate_tests::s3_server::{BUCKET, KEY, S3Server, SECRET};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::{Scratch, wait};

/// A fleet's folder whose bundles lie in a bucket.
struct BucketFleet {
    server: S3Server,
    scratch: Scratch,
}

impl BucketFleet {
    fn new() -> Self {
        let fleet = Self { server: S3Server::start(), scratch: Scratch::new() };
        let said = fleet.tell(&["init", &fleet.path("home"), "--bundles", &fleet.place()]);
        assert!(said.contains("secret_access_key: \"${file:"), "{said}");
        fleet.write("home/tidegate.yaml", &blocking("first.example"));
        fleet
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        self.scratch.write(name, text);
    }

    fn place(&self) -> String {
        format!(
            "s3://{BUCKET}/sites/home?region=eu-central-1&endpoint=http://{}",
            self.server.address
        )
    }

    /// `tidegate fleet` with these words, the fleet's key, and variables; what it said, if it was
    /// content.
    fn told_with(&self, words: &[&str], variables: &[(&str, &str)]) -> (String, bool) {
        let mut command = Command::new(binary());
        command.arg("fleet").args(words);
        if !matches!(words[0], "status" | "invite") {
            command.args(["--key", &self.path("fleet.key")]);
        }
        command.env("HOME", self.scratch.path()).envs(variables.iter().copied());
        let out = command.output().unwrap();
        (String::from_utf8([out.stdout, out.stderr].concat()).unwrap(), out.status.success())
    }

    fn tell(&self, words: &[&str]) -> String {
        let (said, is_fine) = self.told_with(words, &credentials());
        assert!(is_fine, "{words:?}: {said}");
        said
    }

    fn own_file(&self, s3: &str) -> String {
        let file = std::fs::read_to_string(self.path("home/fleet.yaml")).unwrap();
        let key = &file[file.find("ed25519:").unwrap()..];
        let (place, key) = (self.place(), key.split('"').next().unwrap());
        format!(
            "admin: {{ listen: \"127.0.0.1:0\" }}\nfleet:\n  name: a\n  bundles: \"{place}\"\n  \
             keys: [\"{key}\"]\n  poll: 1s\n  {s3}\n"
        )
    }
}

fn credentials() -> [(&'static str, &'static str); 2] {
    [("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]
}

fn blocking(name: &str) -> String {
    format!("policy: {{ lists: [{{ name: one, rules: [\"||{name}^\"] }}] }}\n")
}

/// The revision in force on a machine, by its own record.
fn in_force(edge: &Tidegate) -> Option<u64> {
    let text = std::fs::read(edge.state().join("fleet/record.json")).ok()?;
    let record: serde_json::Value = serde_json::from_slice(&text).ok()?;
    record["in_force"]["number"].as_u64()
}

#[test]
fn a_fleet_lives_in_a_bucket_and_news_costs_a_conditional_question() {
    let fleet = BucketFleet::new();
    let said = fleet.tell(&["publish", &fleet.path("home"), "--why", "begin"]);
    assert!(said.contains("revision 1: 1 of 1 parts sent"), "{said}");
    // The secret lies in a file of the machine's own, with the line break of an editor.
    fleet.write("secret", &format!("{SECRET}\n"));
    let s3 = format!(
        "s3: {{ access_key_id: {KEY}, secret_access_key: \"${{file:{}}}\" }}",
        fleet.path("secret")
    );
    let edge = Tidegate::start(&fleet.own_file(&s3));
    wait::until("revision 1", || (in_force(&edge)? == 1).then_some(()));
    let newest = format!("GET /{BUCKET}/sites/home/latest.json");
    let from = fleet.server.answers().len();
    fleet.server.until_answered(from, &format!("{newest} 304"));
    let whole = format!("{newest} 200");
    assert!(!fleet.server.answers()[from..].contains(&whole));
    // It joins, and what it says reaches whoever publishes.
    let token = fleet.tell(&["invite", &fleet.path("home"), "--edge", "a"]);
    let joined = edge.told(&["fleet", "join", token.trim()]);
    assert!(joined.contains("a has asked to join"), "{joined}");
    let admitted = fleet.tell(&["admit", &fleet.path("home")]);
    assert!(admitted.contains("a is part of the fleet"), "{admitted}");
    fleet.write("home/tidegate.yaml", &blocking("second.example"));
    fleet.tell(&["publish", &fleet.path("home")]);
    wait::until("revision 3", || (in_force(&edge)? == 3).then_some(()));
    wait::until("its word", || {
        let said = fleet.tell(&["status", &fleet.path("home")]);
        let is_told = |line: &str| line.starts_with("a ") && line.contains(" revision 3 ");
        said.lines().any(is_told).then_some(())
    });
    // Parts that lie there already are not sent again.
    let back = fleet.tell(&["rollback", &fleet.path("home"), "--to", "1"]);
    assert!(back.contains("revision 4: 0 of 1 parts sent"), "{back}");
    assert!(fleet.server.objects().is_dir());
    // Nothing that is shown, said or published has the secret.
    let shown = edge.told(&["ctl", "config"]);
    assert!(shown.contains(KEY) && !shown.contains(SECRET), "{shown}");
    assert!(edge.output.try_iter().all(|line| !line.contains(SECRET)));
    for text in [&token, &joined, &admitted, &back] {
        assert!(!text.contains(SECRET) && !text.contains("X-Amz-Signature"), "{text}");
    }
}

#[test]
fn wrong_credentials_buckets_and_clocks_are_told_by_name() {
    let fleet = BucketFleet::new();
    let home = fleet.path("home");
    let refused = |variables: &[(&str, &str)], expected: &str| {
        let (said, is_fine) = fleet.told_with(&["publish", &home], variables);
        assert!(!is_fine && said.contains(expected), "{expected}: {said}");
        assert!(!said.contains(SECRET) && !said.contains("X-Amz-"), "{said}");
    };
    refused(
        &[("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", "another")],
        &format!("the secret is not that of \"{KEY}\" (SignatureDoesNotMatch)"),
    );
    refused(
        &[("AWS_ACCESS_KEY_ID", "AKIANOBODY"), ("AWS_SECRET_ACCESS_KEY", SECRET)],
        "S3 knows no \"AKIANOBODY\" (InvalidAccessKeyId)",
    );
    refused(
        &[("AWS_ACCESS_KEY_ID", KEY)],
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together",
    );
    refused(&[], "lets nobody in who does not sign (AccessDenied): set fleet.s3");
    fleet.write(".aws/credentials", "[default]\naws_access_key_id = A\n");
    refused(&[("AWS_PROFILE", "default")], ".aws/credentials has no aws_access_key_id and");
    // The shared file of AWS' own clients serves too.
    let file = format!("[fleet]\naws_access_key_id={KEY}\naws_secret_access_key = {SECRET}\n");
    fleet.write(".aws/credentials", &file);
    let (said, is_fine) = fleet.told_with(&["publish", &home], &[("AWS_PROFILE", "fleet")]);
    assert!(is_fine && said.contains("revision 1: "), "{said}");
    // A machine says why it gets nothing, and serves on.
    let s3 = format!("s3: {{ access_key_id: {KEY}, secret_access_key: wrong }}");
    let edge = Tidegate::start(&fleet.own_file(&s3));
    let told = wait::until("a word", || {
        edge.output.try_iter().find(|line| line.contains("SignatureDoesNotMatch"))
    });
    assert!(told.contains("the bundles cannot be reached"), "{told}");
    assert_eq!(in_force(&edge), None);
    let file = std::fs::read_to_string(fleet.path("home/fleet.yaml")).unwrap();
    fleet.write("home/fleet.yaml", &file.replace("//bundles/", "//no-such-bucket/"));
    refused(&credentials(), "S3 has no bucket \"no-such-bucket\" here (NoSuchBucket)");
}

#[test]
fn a_clock_that_differs_from_that_of_s3_is_told() {
    let fleet =
        BucketFleet { server: S3Server::start_with_a_fast_clock(), scratch: Scratch::new() };
    let begun = ["init", &fleet.path("home"), "--bundles", &fleet.place()];
    let (said, is_fine) = fleet.told_with(&begun, &credentials());
    let slow = "s slow (RequestTimeTooSkewed): set it";
    // The folder is made all the same.
    assert!(is_fine && said.contains("this machine's clock is 7") && said.contains(slow), "{said}");
    fleet.write("home/tidegate.yaml", &blocking("first.example"));
    let (said, is_fine) = fleet.told_with(&["publish", &fleet.path("home")], &credentials());
    assert!(!is_fine && said.contains(slow), "{said}");
}
