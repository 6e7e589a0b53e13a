//! Tables as files: CSV (RFC 4180) and JSON lines.
//!
//! A cell of CSV that a spreadsheet would take for a formula gets an apostrophe in front, since
//! names and URLs come from anybody. Made in pieces, so that a long table is never held as a whole.
//! Called by the API's routes that take `format`.

use csv::{QuoteStyle, Terminator, WriterBuilder};
use std::borrow::Cow;
use std::io;

/// Characters by which spreadsheets know a formula (OWASP, CSV injection).
const FORMULA_STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Form of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma-separated values, with a line of names first.
    Csv,
    /// One JSON object a line.
    JsonLines,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportCell<'c> {
    /// A text.
    Text(Cow<'c, str>),
    /// A whole number.
    Number(u64),
    /// A share of one, with four decimals in CSV.
    Share(f64),
    /// Nothing: empty in CSV, `null` in JSON.
    Nothing,
}

/// A table that is written piece by piece.
#[derive(Clone, Debug)]
pub struct TableExport {
    format: ExportFormat,
    columns: &'static [&'static str],
    begun: HeadLine,
}

/// Tells whether the line of names was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadLine {
    Missing,
    Written,
}

impl<'c> ExportCell<'c> {
    /// A text.
    pub fn text(text: impl Into<Cow<'c, str>>) -> Self {
        Self::Text(text.into())
    }

    fn csv(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) if text.starts_with(FORMULA_STARTS) => format!("'{text}").into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Number(number) => number.to_string().into(),
            Self::Share(share) => format!("{share:.4}").into(),
            Self::Nothing => "".into(),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_ref().into(),
            Self::Number(number) => (*number).into(),
            Self::Share(share) => (*share).into(),
            Self::Nothing => serde_json::Value::Null,
        }
    }
}

impl ExportFormat {
    /// The media type of such a file.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::JsonLines => "application/x-ndjson",
        }
    }

    /// The end of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

impl TableExport {
    /// A table with these columns.
    pub const fn new(format: ExportFormat, columns: &'static [&'static str]) -> Self {
        Self { format, columns, begun: HeadLine::Missing }
    }

    /// The next rows as text, with the line of names before the first. A row has a cell for each
    /// column.
    ///
    /// # Errors
    /// None in practice: the text is written to memory.
    pub fn rows<'c>(
        &mut self,
        rows: impl IntoIterator<Item = Vec<ExportCell<'c>>>,
    ) -> io::Result<Vec<u8>> {
        match self.format {
            ExportFormat::Csv => {
                let mut out = WriterBuilder::new()
                    .terminator(Terminator::CRLF)
                    .quote_style(QuoteStyle::Necessary)
                    .from_writer(Vec::new());
                if self.begun == HeadLine::Missing {
                    out.write_record(self.columns)?;
                }
                for row in rows {
                    out.write_record(row.iter().map(|cell| cell.csv().into_owned()))?;
                }
                self.begun = HeadLine::Written;
                out.into_inner().map_err(csv::IntoInnerError::into_error)
            }
            ExportFormat::JsonLines => {
                let mut out = String::new();
                for row in rows {
                    // By hand, so that keys stand in the order of the columns.
                    let fields = self.columns.iter().zip(&row).map(|(name, cell)| {
                        format!("{}:{}", serde_json::Value::from(*name), cell.json())
                    });
                    out.push('{');
                    out.push_str(&fields.collect::<Vec<_>>().join(","));
                    out.push_str("}\n");
                }
                Ok(out.into_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn written(format: ExportFormat) -> String {
        let mut table = TableExport::new(format, &["name", "count", "share"]);
        let row = |name: &'static str, count| {
            vec![ExportCell::text(name), ExportCell::Number(count), ExportCell::Share(0.5)]
        };
        let mut out = table.rows([row("a,\"b\"\r\nc", 1), row("=cmd|' /C calc'!A0", 2)]).unwrap();
        for start in ["+1", "-1", "@SUM(A1)", "\tx", "\rx"] {
            out.extend(table.rows([row(start, 3)]).unwrap());
        }
        let last = [ExportCell::text(""), ExportCell::Nothing, ExportCell::Share(1.0)];
        out.extend(table.rows([last.to_vec()]).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_of_csv_are_quoted_and_no_formula() {
        let lines = "name,count,share\r\n\"a,\"\"b\"\"\r\nc\",1,0.5000\r\n\
                     '=cmd|' /C calc'!A0,2,0.5000\r\n'+1,3,0.5000\r\n'-1,3,0.5000\r\n\
                     '@SUM(A1),3,0.5000\r\n'\tx,3,0.5000\r\n\"'\rx\",3,0.5000\r\n,,1.0000\r\n";
        assert_eq!(written(ExportFormat::Csv), lines);
    }

    #[test]
    fn json_lines_keep_the_order_of_columns_and_every_character() {
        let written = written(ExportFormat::JsonLines);
        let first = written.lines().next().unwrap();
        assert_eq!(first, r#"{"name":"a,\"b\"\r\nc","count":1,"share":0.5}"#);
        assert_eq!(written.lines().count(), 8);
        for line in written.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object());
        }
        assert!(written.ends_with("{\"name\":\"\",\"count\":null,\"share\":1.0}\n"));
    }
}
