//! Letting names through, asked as a program asks and as a browser does.

use super::house::{Answer, House};
use admin_api::{AllowList, BlockList, OverrideInfo};
use http::header::LOCATION;
use policy::{OverrideClients, OverrideEnd};

const PAGE: &str =
    "/allow?host=ads.example&client=192.168.1.7&back=https%3A%2F%2Fads.example%2Fa&again=1";

/// The value of a field of the page's form.
fn field<'p>(page: &'p str, name: &str) -> &'p str {
    let mark = format!("name=\"{name}\" value=\"");
    let at = page.find(&mark).unwrap_or_else(|| panic!("no {name} in {page}")) + mark.len();
    page[at..].split('"').next().unwrap()
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// Opens the page and sends its form.
async fn send(house: &House, cookie: &str, once: Option<&str>, rest: &str) -> Answer {
    let page = text(&house.ask("GET", PAGE, &[("cookie", cookie)], "").await);
    let once = once.map_or_else(|| field(&page, "once").to_owned(), str::to_owned);
    let form = format!("host=ads.example&client=192.168.1.7&back=&once={once}&{rest}");
    let fields = [
        ("cookie", cookie),
        ("sec-fetch-site", "same-origin"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    house.ask("POST", "/allow", &fields, &form).await
}

#[tokio::test]
async fn a_program_lets_a_name_through_and_takes_it_back() {
    let house = House::new();
    let sent = r#"{"host": "ADS.example.", "minutes": 60, "client": "192.168.1.7"}"#;
    let allow: OverrideInfo = house.post("/api/allow", sent).await.json();
    assert_eq!((allow.host.as_str(), allow.left_s), ("ads.example", Some(3600)));
    let all: AllowList = house.get("/api/allows").await.json();
    assert_eq!(all.allows.len(), 1);
    let other = house.post("/api/revoke", r#"{"host": "ads.example"}"#).await;
    assert_eq!(other.status, 404, "that is another leave");
    let end = r#"{"host": "ads.example", "client": "192.168.1.7"}"#;
    assert_eq!(house.post("/api/revoke", end).await.json::<AllowList>().allows, []);
    let always = house.post("/api/allow", r#"{"host": "ads.example", "minutes": "always"}"#).await;
    let always: OverrideInfo = always.json();
    assert_eq!((always.until, always.left_s), (None, None));
    let end = house.post("/api/revoke", r#"{"host": "ads.example"}"#).await;
    assert_eq!(end.json::<AllowList>().allows, []);
    for wrong in [
        r#"{"host": "ads.example", "minutes": 0}"#,
        r#"{"host": "ads.example", "minutes": 1441}"#,
        r#"{"host": "ads.example", "minutes": "soon"}"#,
        r#"{"host": "example", "minutes": 5}"#,
        r#"{"host": "a b.example", "minutes": 5}"#,
        r#"{"host": "ads.example", "minutes": 5, "client": "me"}"#,
        r#"{"host": "ads.example", "minutes": 5, "client": "192.168.1.7", "profile": "kids"}"#,
        r#"{"host": "ads.example"}"#,
    ] {
        let answer = house.post("/api/allow", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
    assert!(house.program.orders.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_program_blocks_a_name_for_a_profile_and_takes_it_back() {
    let house = House::new();
    let sent = r#"{"host": "Game.example.", "minutes": 60, "profile": "kids"}"#;
    let block: OverrideInfo = house.post("/api/block", sent).await.json();
    let told = (block.host.as_str(), block.profile.as_deref(), block.left_s);
    assert_eq!(told, ("game.example", Some("kids"), Some(3600)));
    let all: BlockList = house.get("/api/blocks").await.json();
    // Time goes on between the two, and the seconds that are left with it.
    let left_s = all.blocks[0].left_s;
    assert!(left_s.is_some_and(|left| (3590..=3600).contains(&left)), "{left_s:?}");
    assert_eq!(all.blocks, [OverrideInfo { left_s, ..block }]);
    assert_eq!(house.get("/api/allows").await.json::<AllowList>().allows, []);
    let end = r#"{"host": "game.example", "profile": "kids"}"#;
    assert_eq!(house.post("/api/revoke", end).await.status, 404, "it is no allow");
    assert_eq!(house.post("/api/unblock", r#"{"host": "game.example"}"#).await.status, 404);
    assert_eq!(house.post("/api/unblock", end).await.json::<BlockList>().blocks, []);
    for wrong in [
        r#"{"host": "example", "minutes": 5}"#,
        r#"{"host": "a.example", "minutes": 0}"#,
        r#"{"host": "*", "minutes": 5}"#,
        r#"{"host": "a.example", "minutes": 5, "profile": "kids", "client": "192.168.1.7"}"#,
        r#"{"host": "a.example"}"#,
    ] {
        let answer = house.post("/api/block", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
    assert!(house.program.orders.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_client_alone_has_everything_allowed_or_blocked() {
    let house = House::new();
    let sent = r#"{"host": "*", "minutes": "always", "client": "192.168.1.7"}"#;
    let end = r#"{"host": "*", "client": "192.168.1.7"}"#;
    for (begin, finish) in [("/api/allow", "/api/revoke"), ("/api/block", "/api/unblock")] {
        let held: OverrideInfo = house.post(begin, sent).await.json();
        assert_eq!((held.host.as_str(), held.client.as_deref()), ("*", Some("192.168.1.7")));
        assert_eq!(house.post(finish, end).await.status, 200);
        assert_eq!(house.post(finish, end).await.status, 404, "once");
    }
}

#[tokio::test]
async fn the_page_changes_nothing_and_its_form_works_once() {
    let house = House::new();
    let cookie = house.session().await;
    let page = house.ask("GET", PAGE, &[("cookie", &cookie)], "").await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let once = field(&text(&page), "once").to_owned();
    assert!(house.program.orders.lock().unwrap().is_empty(), "a GET grants nothing");

    let done = send(&house, &cookie, Some(&once), "whom=client&act=5").await;
    assert_eq!(done.status, 303);
    assert!(done.header(LOCATION).starts_with("/allow?host=ads%2Eexample&"));
    let granted = house.program.orders.lock().unwrap().clone();
    assert_eq!(granted.len(), 1);
    assert_eq!(granted[0].clients, OverrideClients::Address("192.168.1.7".parse().unwrap()));
    let again = send(&house, &cookie, Some(&once), "whom=all&act=60").await;
    assert_eq!(again.status, 403, "the same form again");

    let page = text(&house.ask("GET", PAGE, &[("cookie", &cookie)], "").await);
    assert!(page.contains("ads.example passes") && page.contains("5 minutes are left"), "{page}");
    assert!(page.contains("href=\"https://ads.example/a\""), "a link back");
    assert_eq!(send(&house, &cookie, None, "whom=client&act=end").await.status, 303);
    assert!(house.program.orders.lock().unwrap().is_empty());
    let always = send(&house, &cookie, None, "whom=client&act=always").await;
    assert_eq!(always.status, 303);
    assert_eq!(house.program.orders.lock().unwrap()[0].until, OverrideEnd::Revoked);
    let page = text(&house.ask("GET", PAGE, &[("cookie", &cookie)], "").await);
    assert!(page.contains("until it is blocked again"), "{page}");
    assert!(page.contains("@@||ads.example^$client=192.168.1.7"), "the rule as advice: {page}");
}

#[tokio::test]
async fn forged_forms_do_nothing() {
    let house = House::new();
    let cookie = house.session().await;
    let page = text(&house.ask("GET", PAGE, &[("cookie", &cookie)], "").await);
    let form = format!(
        "host=ads.example&client=192.168.1.7&back=&once={}&whom=all&act=60",
        field(&page, "once")
    );
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let other = house.session().await;
    for (what, fields) in [
        ("another site", vec![("cookie", cookie.as_str()), ("sec-fetch-site", "cross-site")]),
        ("no session", vec![("sec-fetch-site", "same-origin")]),
        ("another session", vec![("cookie", other.as_str()), ("sec-fetch-site", "same-origin")]),
    ] {
        let fields = [fields, vec![kind]].concat();
        let answer = house.ask("POST", "/allow", &fields, &form).await;
        assert!(answer.status.is_client_error(), "{what}: {}", answer.status);
    }
    for form in ["", "host=ads.example", "act=60"] {
        let fields = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin"), kind];
        assert!(house.ask("POST", "/allow", &fields, form).await.status.is_client_error());
    }
    assert!(house.program.orders.lock().unwrap().is_empty());
}

#[tokio::test]
async fn who_is_not_logged_in_logs_in_and_comes_back() {
    let house = House::new();
    let first = house.ask("GET", &PAGE.replace("&again=1", ""), &[], "").await;
    assert!(text(&first).contains("http-equiv=\"refresh\""), "the cookie did not come along");
    let page = house.ask("GET", PAGE, &[], "").await;
    assert_eq!(page.status, 401);
    let next = field(&text(&page), "next").replace("&amp;", "&").replace('%', "%25");
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let next = next.replace('&', "%26").replace('=', "%3D");
    let wrong = house.ask("POST", "/login", &kind, &format!("token=guess&next={next}")).await;
    assert_eq!(wrong.status, 303);
    assert!(wrong.header(LOCATION).ends_with("&wrong=1"), "{}", wrong.header(LOCATION));
    let right = format!("token={}&next={next}", house.token);
    let right = house.ask("POST", "/login", &kind, &right).await;
    assert_eq!(right.status, 303);
    let there = house.ask("GET", right.header(LOCATION), &[("cookie", &right.cookie())], "").await;
    assert!(text(&there).contains("Let ads.example through?"));
    for elsewhere in ["https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2Fallow%3Fa%0D%0Ab"] {
        let form = format!("token={}&next={elsewhere}", house.token);
        let answer = house.ask("POST", "/login", &kind, &form).await;
        assert_eq!(answer.header(LOCATION), "/", "{elsewhere}");
    }
}

#[tokio::test]
async fn what_the_address_says_is_text_and_no_more() {
    let house = House::new();
    let cookie = house.session().await;
    let fields = [("cookie", cookie.as_str())];
    for (words, status) in [
        ("host=%3Cscript%3E.example", 400),
        ("host=example", 400),
        ("client=1.2.3.4", 400),
        ("host=ads.example&client=%22%3E", 400),
        ("host=ads.example&back=javascript%3Aalert(1)", 200),
        ("host=ads.example&back=https%3A%2F%2Fa.example%2F%22%3E%3Cscript%3E", 200),
    ] {
        let answer = house.ask("GET", &format!("/allow?{words}&again=1"), &fields, "").await;
        assert_eq!(answer.status, status, "{words}");
        let page = text(&answer);
        assert!(!page.contains("<script") && !page.contains("javascript:"), "{words}: {page}");
    }
}
