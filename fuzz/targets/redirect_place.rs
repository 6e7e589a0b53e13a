//! A redirect's template, patterns, and a request of any text: a `Location` is one line, no longer
//! than it may be, and on the host that the template says.
#![no_main]

use http::Uri;
use libfuzzer_sys::fuzz_target;
use route_matching::{
    GroupNames, LOCATION_BYTES_MAX, LocationFacts, LocationGroups, LocationTemplate,
    MatchExpression, RequestPath,
};
use std::net::IpAddr;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(4, '\n');
    let mut line = || lines.next().unwrap_or("");
    let (to, expression, path, query) = (line(), line(), line(), line());
    let Ok(expression) = MatchExpression::compile(expression) else { return };
    let names = GroupNames::of_expression(&expression);
    let groups = LocationGroups { path: names, ..LocationGroups::default() };
    let Ok(template) = LocationTemplate::parse(to, &groups) else { return };
    let Ok(path) = RequestPath::read(path) else { return };
    let Some(path_groups) = expression.groups(path.decoded()) else { return };
    let facts = LocationFacts {
        client: IpAddr::from([192, 0, 2, 1]),
        host: "asked.example",
        scheme: "https",
        path: path.as_url(),
        query: Some(query),
        path_groups: &path_groups,
        host_groups: &[],
    };
    let Ok(place) = template.location(&facts) else { return };
    assert!(place.len() <= LOCATION_BYTES_MAX);
    let place = place.to_str().expect("visible ASCII");
    assert!(!place.contains([' ', '\r', '\n']));
    if template.stays() {
        assert!(place.starts_with('/') && !place.starts_with("//"), "{place}");
        assert!(!place.starts_with("/\\"), "{place}");
    } else if let Ok(uri) = place.parse::<Uri>() {
        // The same for a request that chooses nothing.
        let plain = LocationFacts { path: "/", query: None, path_groups: &[], ..facts };
        let plain = template.location(&plain).expect("a place for the root");
        let plain = plain.to_str().expect("visible ASCII").parse::<Uri>();
        let host = |uri: &Uri| uri.authority().map(ToString::to_string);
        assert_eq!(plain.ok().as_ref().map(host), Some(host(&uri)), "{to} {place}");
    }
});
