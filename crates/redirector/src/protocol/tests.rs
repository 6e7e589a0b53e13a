//! Lines as squidGuard, ufdbGuard and Polipo's scripts write them.

use super::*;

fn squid(channels: ChannelNumbers) -> LineForm {
    let redirect_status = StatusCode::FOUND;
    LineForm { protocol: HelperProtocol::Squid, channels, redirect_status }
}

fn said(line: &str) -> HelperAnswer {
    squid(ChannelNumbers::None).answer(line).unwrap().answer
}

fn to(status: u16, url: &str) -> HelperAnswer {
    HelperAnswer::Redirect(StatusCode::from_u16(status).unwrap(), url.into())
}

#[test]
fn a_question_is_a_line_of_words() {
    let question = HelperQuestion {
        url: "http://a.example/x?y=1".into(),
        client: "192.0.2.7".parse().unwrap(),
        user: Some("ann lee".into()),
        method: Method::GET,
    };
    let plain = squid(ChannelNumbers::None);
    let expected = "http://a.example/x?y=1 192.0.2.7/- ann%20lee GET\n";
    assert_eq!(plain.question(&question, 7).as_deref(), Some(expected));
    let nobody = HelperQuestion { user: None, ..question.clone() };
    let expected = "7 http://a.example/x?y=1 192.0.2.7/- - GET\n";
    assert_eq!(squid(ChannelNumbers::First).question(&nobody, 7).as_deref(), Some(expected));
    let polipo = LineForm { protocol: HelperProtocol::Polipo, ..plain };
    assert_eq!(polipo.question(&question, 7).as_deref(), Some("http://a.example/x?y=1\n"));
    for url in ["http://a/ b", "http://a/\nhttp://b/", &format!("http://a/{}", "x".repeat(20_000))]
    {
        assert_eq!(plain.question(&HelperQuestion { url: url.into(), ..nobody.clone() }, 0), None);
    }
}

#[test]
fn answers_of_squids_versions_are_read() {
    for line in ["", "\r", "ERR", "ERR message=\"no\"", "OK", "OK tag=x"] {
        assert_eq!(said(line), HelperAnswer::Unchanged, "{line:?}");
    }
    let rewritten = HelperAnswer::Rewrite("http://b.example/".into());
    for line in [
        "OK rewrite-url=\"http://b.example/\"",
        "OK rewrite-url=http://b.example/",
        "http://b.example/ 192.0.2.7/- - GET",
        "http://b.example/",
    ] {
        assert_eq!(said(line), rewritten, "{line:?}");
    }
    assert_eq!(said("OK status=301 url=\"http://b.example/\""), to(301, "http://b.example/"));
    assert_eq!(said("OK url=\"https://b.example/\""), to(302, "https://b.example/"));
    assert_eq!(said("302:http://b.example/blocked"), to(302, "http://b.example/blocked"));
    assert_eq!(said("OK x=\"a \\\"b\\\" c\" url=http://b.example/"), to(302, "http://b.example/"));
}

#[test]
fn answers_that_make_no_sense_are_failures() {
    for line in [
        "BH",
        "BH message=\"out of memory\"",
        "OK url=\"javascript:alert(1)\"",
        "OK url=\"http://b.example/",
        "OK status=200 url=http://b.example/",
        "200:http://b.example/",
        "OK rewrite-url=ftp://b.example/",
        "OK rewrite-url=\"http://b.example/\\\r\"",
        "word",
        "OK =x",
    ] {
        assert_eq!(said(line), HelperAnswer::Failed, "{line:?}");
    }
}

#[test]
fn numbers_tell_answers_apart() {
    let form = squid(ChannelNumbers::First);
    let line = form.answer("12 OK rewrite-url=http://b.example/").unwrap();
    assert_eq!(
        (line.channel, line.answer),
        (Some(12), HelperAnswer::Rewrite("http://b.example/".into()))
    );
    assert_eq!(form.answer("3").unwrap().channel, Some(3));
    assert_eq!(form.answer("OK"), None);
    assert_eq!(form.answer("-1 OK"), None);
}

#[test]
fn polipo_redirects_by_a_url() {
    let form = LineForm { protocol: HelperProtocol::Polipo, ..squid(ChannelNumbers::None) };
    assert_eq!(form.answer("http://b.example/").unwrap().answer, to(302, "http://b.example/"));
    assert_eq!(form.answer("").unwrap().answer, HelperAnswer::Unchanged);
    assert_eq!(form.answer("OK").unwrap().answer, HelperAnswer::Failed);
}
