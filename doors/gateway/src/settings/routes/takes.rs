//! Which requests a route takes, as its settings say it.

use super::RouteSettings;
use http::Method;
use http::header::HeaderName;
use route_matching::{HostPattern, PathPattern, RouteMatch, ValuePattern};
use settings::Text;
use std::collections::BTreeMap;
use vocab::{Complaint, Network};

/// Methods, fields and names of one route.
const CONDITIONS_MAX: usize = 16;
/// Networks of one route: each is looked at.
const NETWORKS_MAX: usize = 256;

impl RouteSettings {
    /// Which requests it takes, or all that is wrong with that.
    pub(crate) fn route_match(&self) -> Result<RouteMatch, Vec<Complaint>> {
        let mut wrong = Vec::new();
        let host = self.host.as_deref().and_then(|text| {
            let parsed = HostPattern::parse(text);
            parsed.map_err(|why| wrong.push(wrong_host(text, &why.to_string()))).ok()
        });
        let path = PathPattern::parse(&self.path, self.slashes()).map_err(|why| {
            wrong.push(
                Complaint::new("path", format!("{:?}: {why}", self.path))
                    .remedy("write /exact, /prefix/*, /a/*/b or ~expression"),
            );
        });
        let methods = methods(&self.methods, &mut wrong);
        let headers = fields(&self.with_headers, &mut wrong);
        let query = values("with_query", &self.with_query, &mut wrong);
        let query = query.map(|(name, value)| (name.into(), value)).collect();
        let clients = networks("clients", &self.clients, &mut wrong);
        let peers = networks("peers", &self.peers, &mut wrong);
        let listeners = self.listen.iter().map(|listen| listen.address).collect();
        match path {
            Ok(path) if wrong.is_empty() => {
                Ok(RouteMatch { host, path, methods, headers, query, clients, peers, listeners })
            }
            Ok(_) | Err(()) => Err(wrong),
        }
    }
}

fn wrong_host(text: &str, why: &str) -> Complaint {
    Complaint::new("host", format!("{text:?}: {why}"))
        .remedy("write a name, *.example for all below it, or ~expression")
}

fn networks(path: &str, texts: &[Text<Network>], wrong: &mut Vec<Complaint>) -> Vec<Network> {
    if texts.len() > NETWORKS_MAX {
        let complaint = Complaint::new(path, format!("at most {NETWORKS_MAX} networks"));
        wrong.push(complaint.remedy("write wider networks"));
    }
    texts.iter().map(|network| network.0).collect()
}

fn too_many(path: &str, count: usize) -> Option<Complaint> {
    let message = format!("{count} are too many: at most {CONDITIONS_MAX}");
    (count > CONDITIONS_MAX).then(|| Complaint::new(path, message))
}

fn methods(texts: &[String], wrong: &mut Vec<Complaint>) -> Vec<Method> {
    wrong.extend(too_many("methods", texts.len()));
    let mut methods = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        // Methods are told apart by case (RFC 9110 §9.1), and `get` would fit nothing.
        let is_plain = !text.bytes().any(|byte| byte.is_ascii_lowercase());
        match Method::from_bytes(text.as_bytes()) {
            Ok(method) if is_plain && method != Method::CONNECT => methods.push(method),
            Ok(_) | Err(_) => wrong.push(
                Complaint::new(format!("methods.{index}"), format!("{text:?} is no method here"))
                    .remedy("write methods: [GET, HEAD]"),
            ),
        }
    }
    methods
}

fn fields(
    texts: &BTreeMap<String, String>,
    wrong: &mut Vec<Complaint>,
) -> Vec<(HeaderName, ValuePattern)> {
    let mut found = Vec::new();
    let values: Vec<_> = values("with_headers", texts, wrong).collect();
    for (name, value) in values {
        if let Ok(name) = HeaderName::try_from(name) {
            found.push((name, value));
        } else {
            let message = format!("{name:?} is no name of a field");
            wrong.push(Complaint::new(format!("with_headers.{name}"), message));
        }
    }
    found
}

fn values<'t>(
    path: &str,
    texts: &'t BTreeMap<String, String>,
    wrong: &mut Vec<Complaint>,
) -> impl Iterator<Item = (&'t str, ValuePattern)> + use<'t> {
    wrong.extend(too_many(path, texts.len()));
    let mut found = Vec::new();
    for (name, text) in texts {
        match ValuePattern::parse(text) {
            Ok(value) => found.push((name.as_str(), value)),
            Err(why) => {
                wrong.push(Complaint::new(format!("{path}.{name}"), why.to_string()));
            }
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_condition_is_named() {
        let map = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
        let wrong = RouteSettings {
            host: Some("~(".into()),
            path: "a".into(),
            methods: vec!["GET".into(), "get".into(), "CONNECT".into(), "A B".into()],
            with_headers: map("A b", "*"),
            with_query: map("a", "~("),
            ..RouteSettings::default()
        };
        let paths: Vec<_> =
            wrong.route_match().unwrap_err().into_iter().map(|it| it.path).collect();
        let expected = [
            "host",
            "path",
            "methods.1",
            "methods.2",
            "methods.3",
            "with_headers.A b",
            "with_query.a",
        ];
        assert_eq!(paths, expected);
    }
}
