//! Depth of the XML in a request's body.
//!
//! dav-server reads a body into a tree, by recursion: one of 64 KiB could have twenty thousand
//! elements within one another. This looks at it first, without recursion. Called by `folder`.

use xml::reader::{EventReader, XmlEvent};

/// Elements within one another. Requests of `WebDAV` need eight, owners of locks a few more.
const DEPTH_MAX: usize = 32;

/// A body that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadXml {
    /// No XML, or none that is understood.
    Form,
    /// Too many elements within one another.
    TooDeep,
    /// A document type, which could define entities.
    DocumentType,
}

/// Looks at a body that has some bytes.
pub(crate) fn check(body: &[u8]) -> Result<(), BadXml> {
    let mut depth = 0_usize;
    for event in EventReader::new(body) {
        match event.map_err(|_| BadXml::Form)? {
            XmlEvent::StartElement { .. } => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(BadXml::TooDeep);
                }
            }
            XmlEvent::EndElement { .. } => depth = depth.saturating_sub(1),
            XmlEvent::Doctype { .. } => return Err(BadXml::DocumentType),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_bombs_are_not() {
        let find = br#"<?xml version="1.0"?><D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>"#;
        assert_eq!(check(find), Ok(()));
        assert_eq!(check("<a>".repeat(20_000).as_bytes()), Err(BadXml::TooDeep));
        let entities = br#"<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>"#;
        assert_eq!(check(entities), Err(BadXml::DocumentType));
        assert_eq!(check(b"<a><b></a>"), Err(BadXml::Form));
        assert_eq!(check(b"not at all"), Err(BadXml::Form));
    }
}
