//! A line by a template of a made-up request: what a hostile client sends stands in every field.
//!
//! For fuzz targets and tests; it writes to no log.

use crate::entry::AccessLogEntry;
use crate::line;
use crate::log::LineForm;
use crate::settings::TemplateEscape;
use crate::template::LineTemplate;
use log_sink::DateKept;
use std::net::{IpAddr, Ipv4Addr};
use vocab::{Action, Caching, Door, Source};

impl LineTemplate {
    /// The line of a request whose words are all `sent`, in both escapes.
    pub fn example(&self, sent: &[u8]) -> [Vec<u8>; 2] {
        let text = String::from_utf8_lossy(sent);
        let entry = AccessLogEntry {
            door: Door::Gateway,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            user: &text,
            unix_ms: 0,
            method: &text,
            target: &text,
            protocol: "HTTP/1.1",
            scheme: "http",
            host: &text,
            status: 200,
            bytes: 0,
            duration_us: 0,
            action: Action::Pass,
            source: Source::Origin,
            caching: Caching::NONE,
            field: &|_| Some(sent),
        };
        [TemplateEscape::Default, TemplateEscape::Json].map(|escape| {
            let (mut out, form) = (Vec::new(), LineForm::Template(self.clone(), escape));
            line::write(&mut out, &form, &entry, &mut DateKept::default());
            out
        })
    }
}
