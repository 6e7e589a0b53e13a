//! `format` of the API: which file is wanted, and its answer.
//!
//! The text of such a file is [`table_files`]'.

use crate::refused::ApiRefusal;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use table_files::ExportFormat;

/// Reads `format`: none for JSON, as without it.
pub(crate) fn read_format(word: Option<&str>) -> Result<Option<ExportFormat>, ApiRefusal> {
    match word {
        None | Some("" | "json") => Ok(None),
        Some("csv") => Ok(Some(ExportFormat::Csv)),
        Some("jsonl") => Ok(Some(ExportFormat::JsonLines)),
        Some(other) => Err(ApiRefusal::unknown_word("format", other, "json, csv, jsonl")),
    }
}

/// An answer that a browser saves as a file. `name` is one of ours, without an extension.
pub(crate) fn attachment(format: ExportFormat, name: &str, body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(format.content_type());
    headers.insert(header::CONTENT_TYPE, kind);
    let saved = format!("attachment; filename=\"{name}.{}\"", format.extension());
    if let Ok(saved) = HeaderValue::from_str(&saved) {
        headers.insert(header::CONTENT_DISPOSITION, saved);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_formats_are_refused() {
        assert_eq!(read_format(None).unwrap(), None);
        assert_eq!(read_format(Some("csv")).unwrap(), Some(ExportFormat::Csv));
        assert!(read_format(Some("xlsx")).unwrap_err().problem.remedy.contains("jsonl"));
    }
}
