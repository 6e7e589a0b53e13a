//! A site's own pages for errors: which file stands for which status.
//!
//! It reads no file; a page that is not there, or too large, is replaced by the built-in one.
//! Compiled from the settings; asked by `request` for every answer of 400 and above.

use crate::path::PathTarget;
use crate::settings::file_below_root;
use http::StatusCode;
use std::collections::{BTreeMap, HashMap};
use vocab::Complaint;

/// Pages by status, and by class.
#[derive(Debug, Default)]
pub(crate) struct ErrorPages {
    exact: HashMap<u16, PathTarget>,
    client: Option<PathTarget>,
    server: Option<PathTarget>,
}

impl ErrorPages {
    /// Compiles what can be, and complains about the rest with paths relative to the site.
    pub(crate) fn compile(errors: &BTreeMap<String, String>) -> (Self, Vec<Complaint>) {
        let (mut pages, mut complaints) = (Self::default(), Vec::new());
        for (status, file) in errors {
            let place = format!("errors.{status}");
            let Some(page) = file_below_root(file) else {
                let message = format!("{file:?} is no file below the root");
                complaints.push(Complaint::new(place, message).remedy("write /404.html"));
                continue;
            };
            match (&**status, status.parse()) {
                ("4xx", _) => pages.client = Some(page),
                ("5xx", _) => pages.server = Some(page),
                (_, Ok(number @ 400..=599)) => drop(pages.exact.insert(number, page)),
                (_, Ok(_) | Err(_)) => {
                    let message = format!("{status:?} is no status of an error");
                    complaints.push(
                        Complaint::new(place, message).remedy("write 400 to 599, 4xx or 5xx"),
                    );
                }
            }
        }
        (pages, complaints)
    }

    /// The page for a status, if the site has one.
    pub(crate) fn of(&self, status: StatusCode) -> Option<&PathTarget> {
        self.exact.get(&status.as_u16()).or(match status.as_u16() {
            400..=499 => self.client.as_ref(),
            500..=599 => self.server.as_ref(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_comes_before_its_class() {
        let settings = [("404", "/404.html"), ("4xx", "/bad.html"), ("5xx", "/oops.html")];
        let settings = settings.map(|(status, file)| (status.into(), file.into()));
        let (pages, complaints) = ErrorPages::compile(&BTreeMap::from(settings));
        assert_eq!(complaints, []);
        let page = |status| pages.of(status).map(PathTarget::as_url);
        assert_eq!(page(StatusCode::NOT_FOUND), Some("/404.html".into()));
        assert_eq!(page(StatusCode::FORBIDDEN), Some("/bad.html".into()));
        assert_eq!(page(StatusCode::BAD_GATEWAY), Some("/oops.html".into()));
        assert_eq!(page(StatusCode::OK), None);
    }

    #[test]
    fn what_is_no_error_or_no_file_is_refused() {
        let settings = [("200", "/a.html"), ("6xx", "/a.html"), ("404", "a.html"), ("500", "/a/")];
        let settings = settings.map(|(status, file)| (status.into(), file.into()));
        let (_, complaints) = ErrorPages::compile(&BTreeMap::from(settings));
        let paths: Vec<_> = complaints.iter().map(|it| &*it.path).collect();
        assert_eq!(paths, ["errors.200", "errors.404", "errors.500", "errors.6xx"]);
    }
}
