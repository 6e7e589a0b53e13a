//! Bundles in a bucket: `GET`, `HEAD` and `PUT`, signed by Signature Version 4 in the query.
//!
//! What is sent is not hashed for the signature (`UNSIGNED-PAYLOAD`): each object is named by its
//! digest or signed itself, so whoever changes one on the way is found out by every reader.

use super::exchange::{PlaceConnections, PlaceRequest, found, time_of};
use super::s3_answer::S3Refusal;
use crate::objects;
use crate::placed::{PlaceFault, PlacedObject};
use crate::s3_credentials::{S3Credentials, region_of_surroundings};
use crate::s3_location::S3Location;
use bytes::Bytes;
use fetch::{Url, WholeAnswer};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};
use http::{Method, StatusCode};
use jiff::Timestamp;
use rusty_s3::{Bucket, S3Action};
use std::time::Duration;

/// Time for which a signature holds: as long as AWS believes those in header fields.
const SIGNED_FOR: Duration = Duration::from_mins(15);
/// Bytes of an answer that tells a refusal.
const ANSWER_MAX: usize = 64 << 10;

/// Part of a bucket.
pub(crate) struct S3Place {
    location: S3Location,
    bucket: Bucket,
    credentials: Option<S3Credentials>,
    connections: PlaceConnections,
}

impl S3Place {
    pub(crate) fn open(
        location: &S3Location,
        credentials: Option<S3Credentials>,
        connections: PlaceConnections,
    ) -> Result<Self, PlaceFault> {
        let bucket = location.bucket(region_of_surroundings())?;
        Ok(Self { location: location.clone(), bucket, credentials, connections })
    }

    /// Asks for the object that is read first, so that a wrong bucket, region or key is told.
    pub(crate) fn prepare(&self) -> Result<(), PlaceFault> {
        let newest = self.get(objects::LATEST, None, fleet_bundle::ENVELOPE_BYTES_MAX);
        newest.map(drop)
    }

    pub(crate) fn get(
        &self,
        path: &str,
        tag: Option<&str>,
        most: usize,
    ) -> Result<PlacedObject, PlaceFault> {
        let tag = tag.and_then(|tag| HeaderValue::try_from(tag).ok());
        let field = tag.map(|tag| (IF_NONE_MATCH, tag));
        let answer = self.send(Method::GET, path, field, Bytes::new(), most.max(ANSWER_MAX))?;
        match answer.status {
            StatusCode::OK if answer.body.len() > most => Err(PlaceFault::TooLarge(most)),
            StatusCode::OK => Ok(found(answer)),
            StatusCode::NOT_MODIFIED => Ok(PlacedObject::Same),
            _ => match refusal(&answer) {
                S3Refusal::NoObject => Ok(PlacedObject::Missing),
                why => Err(self.fault(&why)),
            },
        }
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
        let kind = HeaderValue::from_static("application/octet-stream");
        let body = Bytes::copy_from_slice(bytes);
        let answer = self.send(Method::PUT, path, Some((CONTENT_TYPE, kind)), body, ANSWER_MAX)?;
        if answer.status.is_success() { Ok(()) } else { Err(self.fault(&refusal(&answer))) }
    }

    pub(crate) fn has(&self, path: &str) -> Result<bool, PlaceFault> {
        let answer = self.send(Method::HEAD, path, None, Bytes::new(), 0)?;
        match answer.status {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            // The answer to HEAD has no words: a question that is refused alike has them.
            _ => match self.get(path, None, ANSWER_MAX) {
                Ok(PlacedObject::Missing) => Ok(false),
                Ok(PlacedObject::Same | PlacedObject::Found { .. })
                | Err(PlaceFault::TooLarge(_)) => Ok(true),
                Err(why) => Err(why),
            },
        }
    }

    fn fault(&self, why: &S3Refusal) -> PlaceFault {
        let key = self.credentials.as_ref().map(|it| it.inner().key());
        why.fault(&self.location.bucket, self.bucket.region(), key)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        field: Option<(HeaderName, HeaderValue)>,
        body: Bytes,
        most: usize,
    ) -> Result<WholeAnswer, PlaceFault> {
        let url = self.signed(&method, &self.location.key(path))?;
        let mut headers = HeaderMap::new();
        headers.extend(field);
        self.connections.send(PlaceRequest { method, url, headers, body, most })
    }

    /// Address of an object with a signature that is made now.
    fn signed(&self, method: &Method, key: &str) -> Result<Url, PlaceFault> {
        let seconds = transport::clock::now().unix_secs();
        let now = i64::try_from(seconds).ok().and_then(|it| Timestamp::from_second(it).ok());
        let now = now.ok_or_else(|| PlaceFault::unreachable("this machine's clock is not set"))?;
        let who = self.credentials.as_ref().map(S3Credentials::inner);
        let url = match *method {
            Method::PUT => self.bucket.put_object(who, key).sign_with_time(SIGNED_FOR, &now),
            Method::HEAD => self.bucket.head_object(who, key).sign_with_time(SIGNED_FOR, &now),
            _ => self.bucket.get_object(who, key).sign_with_time(SIGNED_FOR, &now),
        };
        Url::parse(url.as_str()).map_err(PlaceFault::unreachable)
    }
}

fn refusal(answer: &WholeAnswer) -> S3Refusal {
    let clock_ahead_s = time_of(&answer.headers)
        .and_then(|server| transport::clock::now().unix_secs().checked_signed_diff(server));
    S3Refusal::read(answer, clock_ahead_s)
}
