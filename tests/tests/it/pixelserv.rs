//! `tidegate pixelserv`: the command line of pixelserv-tls, and the authority that it had.

use std::process::Command;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, openssl};
use tidegate_tests::tidegate::{Tidegate, run};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An authority as pixelserv-tls's users make it, RSA in `ca.crt` and `ca.key`.
fn authority(scratch: &Scratch) {
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "365", "-sha256"])
        .args(["-subj", "/CN=Pixelserv CA", "-extensions", "v3_ca", "-out", "ca.crt"])
        .args(["-keyout", "ca.key"])
        .current_dir(scratch.path())
        .output()
        .unwrap()
        .status;
    assert!(status.success());
}

#[test]
fn its_options_become_a_configuration_and_the_rest_is_told() {
    let output =
        run(&["pixelserv", "192.168.1.2", "-p", "81", "-A", "8443", "-R", "-2", "-l", "--print"]);
    let (said, noted) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{noted}");
    for part in [
        "\"http://192.168.1.2:81\",\"https://192.168.1.2:443\",\"https://192.168.1.2:8443\"",
        "\"any_name\":true",
        "\"redirect\":true",
        "signer: {\"names\":\"any\"}",
    ] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    for part in ["-l: every request", "-2: /generate_204"] {
        assert!(noted.contains(part), "{part} is missing in {noted}");
    }
    for (args, part) in
        [(["-n", "nosuch0"], "ip address shows what there is"), (["-p", "x"], "invalid value")]
    {
        let output = run(&["pixelserv", args[0], args[1]]);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
}

#[test]
fn it_answers_any_name_with_the_authority_that_devices_trust_already() {
    let scratch = Scratch::new();
    authority(&scratch);
    let ca = std::fs::read(scratch.path().join("ca.crt")).unwrap();
    let folder = scratch.path().to_str().unwrap().to_owned();
    let state = scratch.path().join("tidegate");
    let args = ["pixelserv", "127.0.0.1", "-p", "0", "-k", "0", "-z", &folder];
    let edge = Tidegate::start_by(scratch, &args);
    let https = edge.address("pixel", "https");
    assert_eq!(std::fs::read(state.join("ca/ca.pem")).unwrap(), ca);
    let connect = format!("::{https}");
    let trusted = format!("{folder}/ca.crt");
    let url = "https://elsewhere.test/x.js";
    let (status, _) = curl(&["--cacert", &trusted, "--connect-to", &connect, url]);
    assert_eq!(status, 200);
    assert!(openssl(https, "elsewhere.test", &[]).contains("Pixelserv CA"));
    let (status, line) =
        curl(&[&format!("http://{}/servstats.txt", edge.address("pixel", "http"))]);
    assert_eq!(status, 200);
    assert!(line.contains(" slh, "), "{line}");
}
