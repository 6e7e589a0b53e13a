//! Things that the DNS door does by itself and no pipeline did: left away where it can be.

use super::{MadePart, SimpleBuilder};
use serde_json::json;

impl SimpleBuilder<'_, '_> {
    pub(super) fn write_defaults(&mut self) {
        let place = self.book.files.whole();
        let report = &mut self.draft.report;
        let sections = &mut self.draft.sections;
        if !self.made.contains(&MadePart::Limit) {
            sections.set("dns", "rate_limit", json!({ "queries_per_second": 0 }));
            let said = "no limit for a client";
            report.carried(&place, said, "dns.rate_limit");
        }
        sections.set("dns", "rebinding", json!({ "protect": false }));
        let said = "answers may point inside the network";
        report.carried(&place, said, "dns.rebinding");
        sections.set("dns", "canaries", "pass");
        report.carried(&place, "no names by which programs are told to stay", "dns.canaries");
        let why = "localhost, invalid and reverse names of private addresses are answered here, \
                   and of ANY, other classes and zone transfers nobody is asked";
        report.changed(&place, "special names", "dns", why);
    }
}
