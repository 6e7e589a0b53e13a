//! Polipo's `redirector`, as ours in its language.

use super::PolipoImport;
use serde_json::json;

impl PolipoImport {
    /// A program that is asked about URLs, in Polipo's language.
    pub(super) fn redirector(&mut self) {
        let status = self.text("redirectorRedirectCode");
        let Some((said, program)) = self.text("redirector") else {
            if let Some((said, _)) = status {
                self.note(&said, "there is no redirector");
            }
            return;
        };
        if !program.starts_with('/') {
            self.note(&said, "name the program by its whole path under proxy.redirector");
            return;
        }
        let mut section = json!({ "program": [program], "protocol": "polipo" });
        match status.map(|(said, status)| (said, status.parse::<u16>())) {
            Some((_, Ok(status @ (301 | 302 | 303 | 307 | 308)))) => {
                section["redirect_status"] = json!(status);
            }
            Some((said, _)) => self.note(&said, "this is no redirect: 302 is taken"),
            None => {}
        }
        self.proxy.push(("redirector", section));
    }
}
