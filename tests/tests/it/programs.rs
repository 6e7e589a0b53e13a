//! Programs that the configuration has run: CGI, and a redirector, through the whole program.

use std::os::unix::fs::PermissionsExt as _;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::origin::header;
use tidegate_tests::tidegate::{Tidegate, run};
use tidegate_tests::{Scratch, wait};

/// Number of processes whose command line has this word.
fn running(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

#[test]
fn a_cgi_program_runs_and_check_says_what_that_gives_up() {
    let scratch = Scratch::new();
    scratch.write("www/page.txt", "a file");
    let program = scratch.write(
        "cgi/hello",
        "#!/bin/sh\necho 'Content-Type: text/plain'; echo; echo $REQUEST_METHOD $PATH_INFO; cat\n",
    );
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = r#"
web:
  - { listen: ["http://127.0.0.1:0"], root: www, cgi: { "/cgi-bin/*": cgi } }
admin: { listen: "127.0.0.1:0" }
"#;
    let edge = Tidegate::start_in(scratch, config);
    let url = format!("http://{}/cgi-bin/hello/deep", edge.address("web", "http"));
    assert_eq!(curl(&["-d", "the body", &url]), (200, "POST /deep\nthe body".into()));
    let file = edge.scratch.path().join("tidegate.yaml");
    let checked = run(&["check", "--config", file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(said.contains("seccomp") && !said.contains("landlock"), "{said}");
}

#[test]
fn a_redirector_leads_clients_and_ends_with_the_program() {
    let word = format!("redirector-of-{}", std::process::id());
    let script = format!(
        ": {word}; while read url rest; do case $url in */old) echo 302:http://new.example/;; \
         *) echo ERR;; esac; done"
    );
    let config = format!(
        r#"
proxy:
  listen: ["http://127.0.0.1:0"]
  redirector: {{ program: [/bin/sh, -c, "{script}"], processes: 3 }}
admin: {{ listen: "127.0.0.1:0" }}
"#
    );
    let edge = Tidegate::start(&config);
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let (status, head) = curl_with_head(&["-x", &proxy, "http://a.example/old"]);
    assert_eq!(status, 302, "{head}");
    assert_eq!(header(&head, "location").as_deref(), Some("http://new.example/"));
    assert_eq!(running(&word), 3);
    edge.stop_by("TERM");
    wait::until("its programs to end", || (running(&word) == 0).then_some(()));
}
