//! Settings of writing: `put`, `delete`, `webdav` and `writers` of a site.

use crate::settings::SiteSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{ByteSize, Complaint};
use webdav::{DavLimits, DavMethods};

/// Networks of writers: more are better told by a password.
const WRITERS_MAX: usize = 64;

/// Writing of files: `true`, `false`, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PutChoice {
    /// On with the defaults, or off.
    Switch(bool),
    /// On, like this.
    Detailed(PutSettings),
}

/// Writing of files in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PutSettings {
    /// The largest file: 413. Default 1 GiB.
    pub body_max: Text<ByteSize>,
    /// Bytes of all files of the site together: 507. They are counted when one is written, and
    /// again after 5 minutes; a site of more than a million files has no room. Default: as much as
    /// the disk has.
    pub quota: Option<Text<ByteSize>>,
    /// Folders on the way to a new file are made, but for the first so many, which must be there;
    /// 0 makes all. Default: none is made (409).
    pub min_put_directory: Option<u32>,
    /// True if a body is held against its `Content-MD5`: 400 where it is another. False for clients
    /// that write something else into the field, such as hexadecimal digits; other digests are
    /// checked all the same. Default true.
    pub content_md5: bool,
}

impl Default for PutSettings {
    fn default() -> Self {
        Self {
            body_max: Text(ByteSize(1 << 30)),
            quota: None,
            min_put_directory: None,
            content_md5: true,
        }
    }
}

impl Default for PutChoice {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl PutChoice {
    /// True if it is on.
    fn is_on(&self) -> bool {
        *self != Self::Switch(false)
    }

    /// The details, those of an upload that is off too: `webdav` has it on.
    fn settings(&self) -> PutSettings {
        match self {
            Self::Switch(_) => PutSettings::default(),
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// Treatment of a `Content-MD5`.
    pub(super) fn md5(&self) -> Md5Field {
        if self.settings().content_md5 { Md5Field::Checked } else { Md5Field::Ignored }
    }

    /// The bounds.
    pub(super) fn limits(&self) -> DavLimits {
        let settings = self.settings();
        DavLimits {
            file_max: settings.body_max.bytes(),
            quota: settings.quota.map(|quota| quota.bytes()),
            min_put_directory: settings.min_put_directory,
        }
    }
}

/// Tells what becomes of the field `Content-MD5` of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Md5Field {
    Checked,
    Ignored,
}

/// Which ways of writing a site has, if any.
pub(super) fn methods(site: &SiteSettings) -> Option<DavMethods> {
    match (site.webdav, site.put.is_on(), site.delete) {
        (true, _, _) => Some(DavMethods::All),
        (false, true, true) => Some(DavMethods::PutAndDelete),
        (false, true, false) => Some(DavMethods::Put),
        (false, false, true) => Some(DavMethods::Delete),
        (false, false, false) => None,
    }
}

/// True if clients write files of the site.
pub(crate) fn is_written(site: &SiteSettings) -> bool {
    methods(site).is_some()
}

/// Everything that is wrong with how a site is written, with paths relative to it.
pub(crate) fn check(site: &SiteSettings) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if site.writers.len() > WRITERS_MAX {
        let message =
            format!("{} networks are too many: at most {WRITERS_MAX}", site.writers.len());
        complaints.push(Complaint::new("writers", message).remedy("use auth, or wider networks"));
    }
    let Some(methods) = methods(site) else {
        if !site.writers.is_empty() {
            let complaint = Complaint::new("writers", "nothing is written at this site");
            complaints.push(complaint.remedy("add put: true, delete: true or webdav: true"));
        }
        return complaints;
    };
    let name = match methods {
        DavMethods::All => "webdav",
        DavMethods::Put | DavMethods::PutAndDelete => "put",
        DavMethods::Delete => "delete",
    };
    if site.auth.is_empty() && site.writers.is_empty() {
        let complaint =
            Complaint::new(name, "nobody may write: no password and no network is given");
        complaints.push(complaint.remedy(
            "add auth: with users, or writers: [192.168.1.0/24] for clients that need no password",
        ));
    }
    if !site.fastcgi.is_empty() || !site.cgi.is_empty() {
        let message = "what is written here could be run by a fastcgi server or as a program";
        complaints.push(
            Complaint::new(name, message)
                .remedy("give what is written a site of its own, without fastcgi and cgi"),
        );
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(site: &SiteSettings) -> Vec<String> {
        check(site).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn a_site_that_is_written_says_by_whom() {
        let site = SiteSettings { put: PutChoice::Switch(true), ..SiteSettings::default() };
        assert_eq!(paths(&site), ["put"]);
        let writers = vec![Text("10.0.0.0/8".parse().unwrap())];
        assert_eq!(paths(&SiteSettings { writers: writers.clone(), ..site }), [""; 0]);
        let idle = SiteSettings { writers, ..SiteSettings::default() };
        assert_eq!(paths(&idle), ["writers"]);
        let choice = crate::FastcgiChoice::Address("tcp://127.0.0.1:1".into());
        let fastcgi = [("*.php".to_owned(), choice)].into();
        assert_eq!(paths(&SiteSettings { webdav: true, fastcgi, ..idle }), ["webdav"]);
    }

    #[test]
    fn webdav_is_all_of_it() {
        let site = SiteSettings { delete: true, ..SiteSettings::default() };
        assert_eq!(methods(&SiteSettings::default()), None);
        assert_eq!(methods(&site), Some(DavMethods::Delete));
        assert_eq!(methods(&SiteSettings { webdav: true, ..site }), Some(DavMethods::All));
    }
}
