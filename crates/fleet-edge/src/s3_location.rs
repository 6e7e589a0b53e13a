//! A bucket at S3, or at a server that speaks as S3 does: `s3://BUCKET/PREFIX?region=…&endpoint=…`.
//!
//! The text says where bundles lie and never who asks: it stands in `fleet.yaml`, in tokens and in
//! every machine's file.

use crate::placed::PlaceFault;
use rusty_s3::{Bucket, UrlStyle};
use std::fmt;

/// Region where neither the place nor the environment names one, as all of AWS' clients have it.
const REGION: &str = "us-east-1";
/// Bytes of the longest prefix: with the longest object it stays below the 1024 of a key.
const PREFIX_BYTES_MAX: usize = 512;

/// Where a bucket is, and which part of it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Location {
    /// Name of the bucket.
    pub bucket: String,
    /// Keys begin so: empty, or a text that ends with a slash.
    pub prefix: String,
    /// Region that the place names.
    pub region: Option<String>,
    /// Server; none for that of AWS in the region.
    pub endpoint: Option<url::Url>,
    /// Place of the bucket's name in addresses, where the place says so.
    style: Option<BucketStyle>,
}

/// Place of a bucket's name in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BucketStyle {
    /// `https://SERVER/BUCKET/KEY`.
    Path,
    /// `https://BUCKET.SERVER/KEY`.
    Host,
}

/// Reason why a text names no bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLocation {
    /// Credentials before the bucket.
    Credentials,
    /// No name of a bucket.
    Bucket,
    /// A prefix with `..`, empty parts, or too long.
    Prefix,
    /// A parameter that is not known, or twice there.
    Parameter,
    /// A region of other characters than letters, digits and hyphens.
    Region,
    /// An endpoint that is no address of a server.
    Endpoint,
    /// Neither `true` nor `false`.
    PathStyle,
}

impl S3Location {
    /// Reads what follows `s3://`.
    ///
    /// # Errors
    /// [`BadLocation`].
    pub(crate) fn parse(rest: &str) -> Result<Self, BadLocation> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.contains('@') {
            return Err(BadLocation::Credentials);
        }
        if !is_bucket(bucket) {
            return Err(BadLocation::Bucket);
        }
        let mut read = Self {
            bucket: bucket.to_owned(),
            prefix: read_prefix(prefix.trim_end_matches('/'))?,
            region: None,
            endpoint: None,
            style: None,
        };
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            read.take(&key, &value)?;
        }
        Ok(read)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), BadLocation> {
        let is_there = match key {
            "region" => self.region.replace(read_region(value)?).is_some(),
            "endpoint" => self.endpoint.replace(read_endpoint(value)?).is_some(),
            "path_style" => {
                let style = match value {
                    "true" => BucketStyle::Path,
                    "false" => BucketStyle::Host,
                    _ => return Err(BadLocation::PathStyle),
                };
                self.style.replace(style).is_some()
            }
            _ => true,
        };
        if is_there { Err(BadLocation::Parameter) } else { Ok(()) }
    }

    /// Key of an object of the fleet.
    pub(crate) fn key(&self, object: &str) -> String {
        format!("{}{object}", self.prefix)
    }

    /// The bucket as it is asked; `region` is the environment's, where the place names none.
    ///
    /// # Errors
    /// The address of the endpoint cannot carry the bucket's name.
    pub(crate) fn bucket(&self, region: Option<String>) -> Result<Bucket, PlaceFault> {
        let region = self.region.clone().or(region).unwrap_or_else(|| REGION.to_owned());
        let at_aws = || format!("https://s3.{region}.amazonaws.com").parse::<url::Url>();
        let endpoint = self.endpoint.clone().map_or_else(at_aws, Ok);
        let wrong = |why| PlaceFault::Unreachable(format!("the region {region:?}: {why}"));
        let endpoint = endpoint.map_err(wrong)?;
        let style = match (self.style, &self.endpoint) {
            (Some(BucketStyle::Path), _) | (None, Some(_)) => UrlStyle::Path,
            // No certificate is for two labels below that of the region.
            (None, None) if self.bucket.contains('.') => UrlStyle::Path,
            (Some(BucketStyle::Host), _) | (None, None) => UrlStyle::VirtualHost,
        };
        let bucket = Bucket::new(endpoint, style, self.bucket.clone(), region);
        bucket.map_err(|why| {
            let remedy = "write path_style=true";
            PlaceFault::Unreachable(format!("no address for this bucket: {why}; {remedy}"))
        })
    }
}

/// Rules of AWS: 3 to 63 letters, digits, dots and hyphens.
fn is_bucket(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| is_plain(*byte) || b".-".contains(byte))
        && bytes.first().is_some_and(|byte| is_plain(*byte))
        && bytes.last().is_some_and(|byte| is_plain(*byte))
        && !name.contains("..")
}

fn read_prefix(text: &str) -> Result<String, BadLocation> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\\%#?".contains(&byte);
    if text.len() <= PREFIX_BYTES_MAX && text.split('/').all(is_part) && text.bytes().all(is_plain)
    {
        Ok(format!("{text}/"))
    } else {
        Err(BadLocation::Prefix)
    }
}

/// A region, as the environment or a place names it.
pub(crate) fn read_region(text: &str) -> Result<String, BadLocation> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=63).contains(&text.len()) && text.bytes().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(BadLocation::Region)
    }
}

fn read_endpoint(text: &str) -> Result<url::Url, BadLocation> {
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let read: url::Url = text.parse().map_err(|_| BadLocation::Endpoint)?;
    let is_server = matches!(read.scheme(), "http" | "https")
        && read.host_str().is_some()
        && read.username().is_empty()
        && read.password().is_none()
        && read.query().is_none()
        && read.fragment().is_none();
    if is_server { Ok(read) } else { Err(BadLocation::Endpoint) }
}

impl fmt::Display for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)?;
        match &self.endpoint {
            Some(endpoint) => write!(f, " at {endpoint}"),
            None => Ok(()),
        }
    }
}

impl BadLocation {
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Credentials => {
                "leave them out: machines have them in fleet.s3 or in AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY"
            }
            Self::Bucket | Self::Prefix => "write s3://BUCKET/PREFIX",
            Self::Parameter => "there are region, endpoint and path_style, each once",
            Self::Region => "write it as AWS does, region=eu-central-1",
            Self::Endpoint => "write endpoint=https://HOST:PORT",
            Self::PathStyle => "write path_style=true or path_style=false",
        }
    }
}

impl fmt::Display for BadLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Credentials => "a place names no credentials: everybody in the fleet reads it",
            Self::Bucket => "this is no name of a bucket",
            Self::Prefix => "this is no beginning of the keys of objects",
            Self::Parameter => "a parameter is not known, or there twice",
            Self::Region => "this is no region",
            Self::Endpoint => "the endpoint is no address of a server",
            Self::PathStyle => "path_style is true or false",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(rest: &str, object: &str) -> String {
        let location = S3Location::parse(rest).expect(rest);
        let bucket = location.bucket(None).expect(rest);
        bucket.object_url(&location.key(object)).to_string()
    }

    #[test]
    fn places_lead_to_the_addresses_that_other_clients_ask() {
        let cases = [
            ("bundles", "https://bundles.s3.us-east-1.amazonaws.com/latest.json"),
            (
                "bundles/home/?region=eu-central-1",
                "https://bundles.s3.eu-central-1.amazonaws.com/home/latest.json",
            ),
            (
                "my.bundles/a/b?region=eu-west-1",
                "https://s3.eu-west-1.amazonaws.com/my.bundles/a/b/latest.json",
            ),
            (
                "bundles/x?endpoint=http://127.0.0.1:9000",
                "http://127.0.0.1:9000/bundles/x/latest.json",
            ),
            (
                "bundles?endpoint=minio.example&path_style=false",
                "https://bundles.minio.example/latest.json",
            ),
        ];
        for (place, expected) in cases {
            assert_eq!(address(place, "latest.json"), expected, "{place}");
        }
        let chosen = S3Location::parse("bundles").expect("right").bucket(Some("eu-north-1".into()));
        assert_eq!(chosen.expect("right").region(), "eu-north-1");
        let at_address = S3Location::parse("bundles?endpoint=http://[::1]:1&path_style=false");
        let told = at_address.expect("right").bucket(None).expect_err("no such host").to_string();
        assert!(told.contains("path_style=true"), "{told}");
    }

    #[test]
    fn what_is_no_place_is_refused_and_told_by_its_part() {
        for (place, expected) in [
            ("AKIA:secret@bundles/x", BadLocation::Credentials),
            ("", BadLocation::Bucket),
            ("Bundles/x", BadLocation::Bucket),
            ("a..b/x", BadLocation::Bucket),
            ("-bundles", BadLocation::Bucket),
            ("bundles/../other", BadLocation::Prefix),
            ("bundles/a//b", BadLocation::Prefix),
            ("bundles/a%2e%2e", BadLocation::Prefix),
            ("bundles?region=", BadLocation::Region),
            ("bundles?region=x.evil.example/", BadLocation::Region),
            ("bundles?endpoint=ftp://x", BadLocation::Endpoint),
            ("bundles?endpoint=https://a:b@x", BadLocation::Endpoint),
            ("bundles?path_style=yes", BadLocation::PathStyle),
            ("bundles?secret_access_key=x", BadLocation::Parameter),
            ("bundles?region=a&region=b", BadLocation::Parameter),
        ] {
            assert_eq!(S3Location::parse(place), Err(expected), "{place}");
        }
    }
}
