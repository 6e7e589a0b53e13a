//! Hosts of a visit: when each was asked for first, how much of it was kept away and by which rule.

use ledger::{LogRow, RowCause};
use policy::site_of;
use request_rows::RuleInfo;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use utoipa::ToSchema;
use vocab::Action;

/// Hosts that are told of a visit, in the order in which they were asked for.
pub const HOSTS_MAX: usize = 500;

/// A host of a visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VisitedHost {
    /// The host.
    pub host: String,
    /// Site that it belongs to.
    pub site: String,
    /// Time from the visit's begin to the first request, in milliseconds.
    pub first_after_ms: u64,
    /// Requests.
    pub requests: u64,
    /// Requests among them that were blocked.
    pub blocked: u64,
    /// Bytes of the answers.
    pub bytes: u64,
    /// Doors that they came to, each once.
    pub doors: Vec<String>,
    /// The rule that blocked the first that was blocked by one; null if none was.
    pub rule: Option<RuleInfo>,
}

/// Hosts of the rows of a visit, in the order in which they were asked for.
pub fn visited_hosts(rows: &[LogRow]) -> Vec<VisitedHost> {
    let begun_ms = rows.first().map_or(0, |row| row.at_ms);
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut hosts: Vec<VisitedHost> = Vec::new();
    for row in rows {
        let name = row.host();
        let place = match places.get(&*name) {
            Some(place) => *place,
            None if hosts.len() < HOSTS_MAX => {
                hosts.push(VisitedHost {
                    site: site_of(&name).to_owned(),
                    host: name.clone().into_owned(),
                    first_after_ms: row.at_ms.saturating_sub(begun_ms),
                    ..VisitedHost::default()
                });
                places.insert(name.into_owned(), hosts.len() - 1);
                hosts.len() - 1
            }
            None => continue,
        };
        let host = &mut hosts[place];
        host.requests += 1;
        host.bytes += u64::from(row.bytes);
        if row.action == Action::Block {
            host.blocked += 1;
            if let (None, RowCause::Rule { list, line, text }) = (&host.rule, &row.cause) {
                let (list, text) = (list.clone(), text.clone());
                host.rule = Some(RuleInfo { list, line: *line, text });
            }
        }
        if !host.doors.iter().any(|door| door == row.door.as_str()) {
            host.doors.push(row.door.as_str().to_owned());
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found_visit::tests::row;

    #[test]
    fn a_host_has_its_doors_its_bytes_and_the_rule_that_kept_it_away() {
        let rows = [
            row(1_000, "www.news.example", Action::Pass),
            row(1_200, "ads.example", Action::Block),
            row(1_300, "https://ads.example/a.js", Action::Block),
            row(1_400, "https://www.news.example/", Action::Pass),
        ];
        let hosts = visited_hosts(&rows);
        let [own, ads] = hosts.as_slice() else { panic!("{hosts:?}") };
        assert_eq!((own.site.as_str(), own.requests, own.bytes), ("news.example", 2, 20));
        assert_eq!(own.doors, ["dns", "proxy"]);
        assert_eq!((ads.first_after_ms, ads.blocked), (200, 2));
        let rule = ads.rule.as_ref().map(|rule| (rule.list.as_str(), rule.line));
        assert_eq!(rule, Some(("ads", 3)));
        let many: Vec<_> =
            (0..2000).map(|at| row(at, &format!("h{at}.example"), Action::Pass)).collect();
        assert_eq!(visited_hosts(&many).len(), HOSTS_MAX);
    }
}
