//! Where the bundles of a fleet lie: a folder, any HTTP server that takes `PUT`, or S3.
//!
//! What is there is believed for nothing but its bytes; they are verified by whoever reads them.

use crate::s3_location::{BadLocation, S3Location};
use fetch::Url;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// Where bundles lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundlePlace {
    /// A folder of this machine, which several may share.
    Folder(PathBuf),
    /// A folder of an HTTP server.
    Http {
        /// Address, which ends with a slash.
        url: Box<Url>,
        /// User and password for Basic authentication (RFC 7617).
        user: Option<String>,
    },
    /// Part of a bucket at S3, or at a server that speaks as S3 does.
    S3(Box<S3Location>),
}

/// Reason why a text names no such place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPlace {
    /// A relative path.
    Relative,
    /// An address that cannot be asked.
    Url(String),
    /// A scheme that is not spoken.
    Scheme(String),
    /// No bucket.
    S3(BadLocation),
}

impl BundlePlace {
    /// Reads a place as settings write it.
    ///
    /// # Errors
    /// [`BadPlace`].
    pub fn parse(text: &str) -> Result<Self, BadPlace> {
        let Some((scheme, rest)) = text.split_once("://") else {
            let path = Path::new(text);
            let is_plain = path.components().all(|it| it != Component::ParentDir);
            return if path.is_absolute() && is_plain {
                Ok(Self::Folder(path.into()))
            } else {
                Err(BadPlace::Relative)
            };
        };
        if scheme.eq_ignore_ascii_case("s3") {
            let location = S3Location::parse(rest).map_err(BadPlace::S3)?;
            return Ok(Self::S3(Box::new(location)));
        }
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(BadPlace::Scheme(scheme.to_owned()));
        }
        let host_end = rest.find('/').unwrap_or(rest.len());
        let (user, host) = match rest[..host_end].rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, &rest[..host_end]),
        };
        let path = rest[host_end..].trim_end_matches('/');
        if path.contains(['?', '#']) {
            return Err(BadPlace::Url("it has a query or a fragment".into()));
        }
        let url = Url::parse(&format!("{scheme}://{host}{path}/"));
        let url = url.map_err(|why| BadPlace::Url(why.to_string()))?;
        Ok(Self::Http { url: Box::new(url), user })
    }

    /// `true` where machines write into folders, which have to be there.
    pub fn has_folders(&self) -> bool {
        !matches!(self, Self::S3(_))
    }
}

impl fmt::Display for BundlePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Http { url, .. } => url.fmt(f),
            Self::S3(location) => location.fmt(f),
        }
    }
}

impl BadPlace {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::S3(why) => why.remedy(),
            Self::Relative | Self::Url(_) | Self::Scheme(_) => {
                "write an absolute folder, https://HOST/PATH, or s3://BUCKET/PREFIX"
            }
        }
    }
}

impl fmt::Display for BadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => f.write_str("this is neither an absolute folder nor an address"),
            Self::Url(why) => f.write_str(why),
            Self::Scheme(scheme) => write!(f, "bundles are not fetched by {scheme}://"),
            Self::S3(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadPlace {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_folders_and_addresses_and_nothing_else() {
        assert_eq!(BundlePlace::parse("/srv/fleet"), Ok(BundlePlace::Folder("/srv/fleet".into())));
        for wrong in ["fleet", "./fleet", "/srv/../etc", "s3://a:b@c/x", "https://", "ftp://a/"] {
            assert!(BundlePlace::parse(wrong).is_err(), "{wrong}");
        }
        let place = BundlePlace::parse("https://ann:pa@ss@bundles.example/a/b/").expect("right");
        assert_eq!(place.to_string(), "https://bundles.example/a/b/");
        let BundlePlace::Http { user, .. } = place else { unreachable!("an address") };
        assert_eq!(user.as_deref(), Some("ann:pa@ss"));
        let place = BundlePlace::parse("s3://bundles/home?region=eu-west-1").expect("right");
        assert_eq!(place.to_string(), "s3://bundles/home/");
        assert!(!place.has_folders());
    }
}
