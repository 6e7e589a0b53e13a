//! Routes that nothing can reach, because one before them takes all of it.
//!
//! Only what is certain is said: expressions are compared as text. Called by `check`.

use super::RouteSettings;
use vocab::Complaint;

/// A complaint for each route that is never reached.
pub(crate) fn check_order(routes: &[RouteSettings]) -> Vec<Complaint> {
    let takes: Vec<_> = routes.iter().map(|route| route.route_match().ok()).collect();
    let mut complaints = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let Some(own) = &takes[index] else { continue };
        let mut before = routes[..index].iter().zip(&takes);
        let first = before.position(|(earlier, takes)| {
            // One that only blocks leaves the rest to others.
            earlier.destinations().next().is_some()
                && (!earlier.internal || route.internal)
                && takes.as_ref().is_some_and(|takes| takes.covers(own))
        });
        if let Some(first) = first {
            complaints.push(
                Complaint::new(
                    format!("routes.{index}"),
                    format!("nothing gets here: routes.{first} takes all of it"),
                )
                .remedy("put the narrower route first"),
            );
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_behind_a_wider_one_is_named() {
        let route = |host: Option<&str>, path: &str| RouteSettings {
            host: host.map(Into::into),
            path: path.into(),
            pool: Some("app".into()),
            ..RouteSettings::default()
        };
        let check = |routes: &[RouteSettings]| -> Vec<String> {
            check_order(routes).into_iter().map(|it| it.path).collect()
        };
        let any = route(None, "/*");
        assert_eq!(check(&[any.clone(), route(Some("a.example"), "/x")]), ["routes.1"]);
        assert_eq!(check(&[route(Some("a.example"), "/x"), any.clone()]), [""; 0]);
        let get = RouteSettings { methods: vec!["GET".into()], ..any.clone() };
        assert_eq!(check(&[get.clone(), any.clone(), get.clone()]), ["routes.2"]);
        let with = RouteSettings {
            with_headers: [("X-A".to_owned(), "*".to_owned())].into(),
            ..any.clone()
        };
        assert_eq!(check(&[with.clone(), any.clone()]), [""; 0]);
        assert_eq!(check(&[with.clone(), with]), ["routes.1"]);
        let blocks = RouteSettings { pool: None, ..any.clone() };
        assert_eq!(check(&[blocks, any.clone()]), [""; 0]);
        let internal = RouteSettings { internal: true, ..any.clone() };
        assert_eq!(check(&[internal.clone(), any.clone()]), [""; 0]);
        assert_eq!(check(&[any, internal]), ["routes.1"]);
    }
}
