//! A configuration in several files, with values from outside.

use tidegate_tests::Scratch;
use tidegate_tests::clients::curl;
use tidegate_tests::tidegate::{Tidegate, run};

#[test]
fn a_configuration_in_several_files_with_secrets_runs_and_shows_none() {
    let scratch = Scratch::new();
    let secret = scratch.write("password", "hunter2\n");
    scratch.write("www/index.html", "home");
    scratch.write("www/conf.d/10-site.yaml", "");
    let folder = secret.parent().unwrap().display().to_string();
    let site = format!(
        "web: [{{ listen: [\"http://127.0.0.1:${{env:WEB_PORT:-0}}\"], root: \"{folder}/www\" }}]\n\
         proxy:\n  listen: [\"http://127.0.0.1:0\"]\n  \
         parent: \"http://ann:${{file:{folder}/password}}@127.0.0.1:9\"\n"
    );
    scratch.write("www/conf.d/10-site.yaml", site);
    let edge = Tidegate::start(&format!(
        "include: [\"{folder}/www/conf.d/*.yaml\"]\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"
    ));
    let at = format!("http://{}", edge.address("web", "http"));
    assert_eq!(curl(&[&at]).1, "home");
    // The file is private, though it lies in a folder that is served.
    let file = curl(&["-i", &format!("{at}/conf.d/10-site.yaml")]).1;
    assert!(file.starts_with("HTTP/1.1 404"), "{file}");
    let parent = edge.told(&["ctl", "get", "proxy.parent"]);
    assert!(parent.contains("ann:…@") && !parent.contains("hunter2"), "{parent}");
}

#[test]
fn check_names_the_file_that_is_wrong() {
    let scratch = Scratch::new();
    let main = scratch.write("tidegate.yaml", "include: [more.yaml]\n");
    scratch
        .write("more.yaml", "web:\n  - listen: [\"http://127.0.0.1:${env:NOBODY_SETS_THIS}\"]\n");
    let output = run(&["check", "--config", main.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("more.yaml:2:14: web.0.listen.0: the environment has no"), "{said}");
}

#[test]
fn the_signer_reads_values_from_the_environment_too() {
    let yaml = "policy: { lists: [{ name: mine, rules: ['||${env:BLOCKED}^'] }] }\n\
                pixel: { listen: ['http://127.0.0.1:0', 'https://127.0.0.1:0'], \
                addresses: [127.0.0.1] }\n";
    let edge = Tidegate::start_with(Scratch::new(), yaml, &[("BLOCKED", "ads.example")]);
    let (ca, port) = (edge.state().join("ca/ca.pem"), edge.address("pixel", "https").port());
    let connect = format!("::127.0.0.1:{port}");
    let trust = ca.to_str().unwrap();
    let url = "https://ads.example/x.js";
    assert_eq!(curl(&["--cacert", trust, "--connect-to", &connect, url]).0, 200);
}
