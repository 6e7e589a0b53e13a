//! A newer version is told where releases are, once the configuration says where.

use tidegate_tests::Scratch;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{Tidegate, refused};
use tidegate_tests::wait;

fn release(tag: &str) -> Page {
    let text = format!(
        r#"{{"tag_name":"{tag}","html_url":"https://git.example/releases/{tag}","body":"notes"}}"#
    );
    Page::new("application/json", text)
}

fn configuration(updates: &str) -> String {
    format!("admin: {{ listen: \"127.0.0.1:0\" }}\nupdates: {{ {updates} }}\n")
}

#[test]
fn what_is_newer_is_told_by_status_terminal_and_metrics_and_nothing_is_fetched_of_it() {
    let origin = Origin::start(&[("/latest", release("v999.1.0"))]);
    let releases = format!("releases: \"http://{}/latest\"", origin.address);
    let edge = Tidegate::start(&configuration(&releases));
    let newer = wait::until("the newer version", || {
        Some(edge.api("/api/status")["newer"].clone()).filter(|it| !it.is_null())
    });
    assert_eq!(newer["version"], "999.1.0");
    assert_eq!(newer["page"], "https://git.example/releases/v999.1.0");
    let said = edge.told(&["ctl", "status"]);
    assert!(
        said.contains("newer version   999.1.0  https://git.example/releases/v999.1.0"),
        "{said}"
    );
    let page = edge.figures();
    assert!(page.contains("tidegate_update_available{newer=\"999.1.0\"} 1"), "{page}");
    assert_eq!(origin.requests().len(), 1);
    // Elsewhere there is none: a reload asks at once.
    origin.add("/old", release("v0.0.1"));
    edge.scratch.write("tidegate.yaml", configuration(&releases.replace("/latest", "/old")));
    edge.told(&["ctl", "reload"]);
    wait::until("the question", || (origin.requests().len() == 2).then_some(()));
    assert!(edge.api("/api/status")["newer"].is_null());
    assert!(edge.figures().contains("tidegate_update_available{newer=\"\"} 0"));
}

#[test]
fn an_answer_that_tells_no_release_is_logged_and_changes_nothing() {
    let origin = Origin::start(&[("/latest", Page::new("text/html", "<html>"))]);
    let releases = format!("releases: \"http://{}/latest\"", origin.address);
    let edge = Tidegate::start(&configuration(&releases));
    // It may be told before all doors are open.
    let told = "updates.releases: it tells no release";
    if !edge.greets(told) {
        let line = edge.output.recv_timeout(wait::DEADLINE).unwrap();
        assert!(line.contains(told), "{line}");
    }
    assert!(edge.api("/api/status")["newer"].is_null());
    let scratch = Scratch::new();
    let wrong = configuration("releases: \"git.example\", refresh: 1s");
    let (said, _) = refused(&wrong, &scratch, &scratch.path().join("state"));
    assert!(said.contains("updates.releases") && said.contains("updates.refresh"), "{said}");
}
