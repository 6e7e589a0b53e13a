//! Inspection: beginnings of bodies that pages post to blocked hosts, kept for the administrator.
//!
//! Only of clients that are named, redacted before they are kept, in memory alone, in a ring that
//! is capped by count, bytes and age: a reload that changes its settings and the end of the program
//! forget them. No door sends any of it. Filled by `request`; read by the admin API.

use crate::redaction::RedactedKeys;
use crate::settings::InspectSettings;
use bytes::Bytes;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// Bytes that the ring takes at most, its URLs included.
const RING_BYTES_MAX: usize = 4 << 20;
/// Bodies whose beginnings are gathered at once; others are not kept.
const GATHERED_MAX: u32 = 64;
/// Bytes of a URL that are kept.
const URL_BYTES_MAX: usize = 2048;

/// A posted body, as it is kept: redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedBody {
    /// When it came, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The client that sent it.
    pub client: IpAddr,
    /// Method of its request.
    pub method: String,
    /// URL of its request, redacted.
    pub url: String,
    /// Type that the request gave it; empty if none.
    pub content_type: String,
    /// Bytes that came of it.
    pub bytes: u64,
    /// The beginning without secrets; none where it is no text, of which nothing is kept: nobody
    /// could say what is secret in it.
    pub text: Option<String>,
    /// Bytes of it that `text` was made from.
    pub shown_bytes: u64,
}

impl InspectedBody {
    fn cost(&self) -> usize {
        size_of::<Self>()
            + self.url.len()
            + self.content_type.len()
            + self.text.as_ref().map_or(0, String::len)
    }
}

/// The beginning of a body, while it comes.
pub(crate) struct BodyBeginning<'i> {
    place: &'i AtomicU32,
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl BodyBeginning<'_> {
    pub(crate) fn add(&mut self, data: &Bytes) {
        let room = self.bytes_max - self.bytes.len();
        self.bytes.extend(&data[..room.min(data.len())]);
    }
}

impl Drop for BodyBeginning<'_> {
    fn drop(&mut self) {
        self.place.fetch_sub(1, Relaxed);
    }
}

/// Request that a body came with.
pub(crate) struct BodyContext<'r> {
    pub(crate) client: IpAddr,
    pub(crate) method: &'r str,
    pub(crate) url: &'r str,
    pub(crate) content_type: &'r str,
    pub(crate) taken: u64,
}

/// Posted bodies that are kept, and on which terms.
pub(crate) struct BodyInspection {
    settings: InspectSettings,
    keys: RedactedKeys,
    kept: Mutex<KeptBodies>,
    gathered: AtomicU32,
}

#[derive(Default)]
struct KeptBodies {
    /// The oldest first.
    ring: VecDeque<(u64, InspectedBody)>,
    bytes: usize,
}

impl BodyInspection {
    pub(crate) fn new(settings: &InspectSettings) -> Self {
        Self {
            settings: settings.clone(),
            keys: RedactedKeys::with(&settings.redact),
            kept: Mutex::default(),
            gathered: AtomicU32::new(0),
        }
    }

    pub(crate) const fn settings(&self) -> &InspectSettings {
        &self.settings
    }

    /// Begins to gather a body of a client that is named, while there is room for one more.
    pub(crate) fn begin(&self, client: IpAddr) -> Option<BodyBeginning<'_>> {
        if !self.settings.clients.iter().any(|network| network.0.contains(client)) {
            return None;
        }
        if self.gathered.fetch_add(1, Relaxed) >= GATHERED_MAX {
            self.gathered.fetch_sub(1, Relaxed);
            return None;
        }
        let bytes_max = usize::try_from(self.settings.bytes.0.0).unwrap_or(usize::MAX);
        Some(BodyBeginning { place: &self.gathered, bytes: Vec::new(), bytes_max })
    }

    /// Keeps a body of a request that was blocked.
    pub(crate) fn keep(&self, begun: &BodyBeginning<'_>, of: &BodyContext<'_>, now: Now) {
        if begun.bytes.is_empty() {
            return;
        }
        let url = &of.url[..of.url.floor_char_boundary(URL_BYTES_MAX)];
        let body = InspectedBody {
            unix_ms: now.unix_ms,
            client: of.client,
            method: of.method.to_owned(),
            url: self.keys.redact_url(url),
            content_type: of.content_type.chars().take(128).collect(),
            bytes: of.taken,
            text: self.text(&begun.bytes),
            shown_bytes: begun.bytes.len() as u64,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += body.cost();
        kept.ring.push_back((now.mono_ms, body));
        while kept.ring.len() > self.settings.count as usize || kept.bytes > RING_BYTES_MAX {
            kept.drop_oldest();
        }
        kept.drop_older(self.age_ms(), now);
    }

    /// Returns what is kept, the newest first.
    pub(crate) fn kept(&self, now: Now) -> Vec<InspectedBody> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_older(self.age_ms(), now);
        kept.ring.iter().rev().map(|(_, body)| body.clone()).collect()
    }

    fn age_ms(&self) -> u64 {
        u64::try_from(self.settings.age.0.0.as_millis()).unwrap_or(u64::MAX)
    }

    /// Redacted text.
    fn text(&self, bytes: &[u8]) -> Option<String> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Some(text),
            // The last character may be cut.
            Err(why) if why.error_len().is_none() => {
                std::str::from_utf8(&bytes[..why.valid_up_to()]).ok()
            }
            Err(_) => None,
        };
        let is_text = |text: &&str| !text.chars().any(|it| it.is_control() && !it.is_whitespace());
        text.filter(is_text).map(|text| self.keys.redact(text))
    }
}

impl KeptBodies {
    fn drop_oldest(&mut self) {
        if let Some((_, gone)) = self.ring.pop_front() {
            self.bytes -= gone.cost();
        }
    }

    fn drop_older(&mut self, age_ms: u64, now: Now) {
        while self.ring.front().is_some_and(|(since, _)| since + age_ms <= now.mono_ms) {
            self.drop_oldest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Text;
    use std::time::Duration;
    use vocab::{ByteSize, TimeSpan};

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn inspection(count: u32) -> BodyInspection {
        BodyInspection::new(&InspectSettings {
            clients: vec![Text("192.0.2.0/24".parse().unwrap())],
            bytes: Text(ByteSize(16)),
            count,
            age: Text(TimeSpan(Duration::from_mins(1))),
            redact: Vec::new(),
        })
    }

    fn post(inspection: &BodyInspection, body: &'static str, at_s: u64) {
        let Some(mut begun) = inspection.begin(CLIENT) else { panic!("it is named") };
        begun.add(&Bytes::from_static(body.as_bytes()));
        let of = BodyContext {
            client: CLIENT,
            method: "POST",
            url: "https://ads.example/x?token=abc&q=1",
            content_type: "text/plain",
            taken: body.len() as u64,
        };
        let now = Now { unix_ms: at_s * 1000, mono_ms: at_s * 1000 };
        inspection.keep(&begun, &of, now);
    }

    #[test]
    fn the_beginning_is_kept_redacted_and_no_more_of_it() {
        let inspection = inspection(10);
        post(&inspection, "pin=1234&city=Berlin", 1);
        let kept = inspection.kept(Now { unix_ms: 0, mono_ms: 2000 });
        assert_eq!(kept[0].text.as_deref(), Some("pin=[redacted]&city=Be"));
        assert_eq!((kept[0].bytes, kept[0].shown_bytes), (20, 16));
        assert_eq!(kept[0].url, "https://ads.example/x?token=[redacted]&q=1");
        let stranger = IpAddr::from([198, 51, 100, 1]);
        assert!(inspection.begin(stranger).is_none());
    }

    #[test]
    fn what_is_old_or_too_much_is_forgotten() {
        let inspection = inspection(2);
        for (body, at_s) in [("a=1", 1), ("a=2", 20), ("a=3", 50)] {
            post(&inspection, body, at_s);
        }
        let texts = |at_s: u64| -> Vec<String> {
            let now = Now { unix_ms: 0, mono_ms: at_s * 1000 };
            inspection.kept(now).into_iter().filter_map(|it| it.text).collect()
        };
        assert_eq!(texts(51), ["a=3", "a=2"]);
        assert_eq!(texts(80), ["a=3"]);
        assert!(texts(110).is_empty());
        assert_eq!(inspection.kept.lock().unwrap().bytes, 0);
    }

    #[test]
    fn of_what_is_no_text_nothing_is_kept_but_how_much_it_was() {
        let inspection = inspection(2);
        post(&inspection, "\u{1}\u{2}", 1);
        let kept = inspection.kept(Now { unix_ms: 0, mono_ms: 1000 });
        assert_eq!((kept[0].text.as_deref(), kept[0].bytes), (None, 2));
    }

    #[test]
    fn a_long_url_is_cut_wherever_its_characters_end() {
        let inspection = inspection(2);
        let Some(mut begun) = inspection.begin(CLIENT) else { panic!("it is named") };
        begun.add(&Bytes::from_static(b"a=1"));
        // The cap is within a character.
        let url = format!("https://ads.example/{}", "\u{e9}".repeat(2000));
        let url = url.replacen("ads", "adse", usize::from(url.is_char_boundary(URL_BYTES_MAX)));
        let of =
            BodyContext { client: CLIENT, method: "POST", url: &url, content_type: "", taken: 3 };
        inspection.keep(&begun, &of, Now { unix_ms: 0, mono_ms: 0 });
        let kept = inspection.kept(Now { unix_ms: 0, mono_ms: 0 });
        assert_eq!(kept[0].url.len(), URL_BYTES_MAX - 1);
    }

    #[test]
    fn bodies_beyond_those_that_are_gathered_at_once_are_left() {
        let inspection = inspection(2);
        let gathered: Vec<_> = (0..GATHERED_MAX).map(|_| inspection.begin(CLIENT)).collect();
        assert!(gathered.iter().all(Option::is_some) && inspection.begin(CLIENT).is_none());
        drop(gathered);
        assert!(inspection.begin(CLIENT).is_some());
    }
}
