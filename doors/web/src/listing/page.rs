//! A listing as a page: breadcrumbs, columns to sort by, light and dark, wide and narrow.
//!
//! No script and nothing from elsewhere: sorting is done here, by the links of the head line. Every
//! name is escaped. Called by `listing`.

use super::{
    ENTRIES_MAX, ListedFolder, ListingEntry, ListingExtent, ListingSort, SortKey, SortOrder,
};
use crate::path::encoded;
use http::HeaderValue;
use std::fmt::{self, Write as _};

/// The style sheet of the page.
pub(super) const STYLE: &str = include_str!("page.css");

/// The hash is that of [`STYLE`]; a test says what to write here when that changes.
pub(super) const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'sha256-FX/E0OQXAPB+G5fXzjM3GnxP8HkGz+BQj1xaQ72Jkm4='; base-uri 'none'; form-action 'none'",
);

/// Text that is safe in HTML, attributes included.
struct EscapedText<'t>(&'t str);

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.split_inclusive(['&', '<', '>', '"', '\'']) {
            let (plain, special) = match piece.char_indices().next_back() {
                Some((at, '&')) => (&piece[..at], "&amp;"),
                Some((at, '<')) => (&piece[..at], "&lt;"),
                Some((at, '>')) => (&piece[..at], "&gt;"),
                Some((at, '"')) => (&piece[..at], "&quot;"),
                Some((at, '\'')) => (&piece[..at], "&#39;"),
                Some(_) | None => (piece, ""),
            };
            f.write_str(plain)?;
            f.write_str(special)?;
        }
        Ok(())
    }
}

/// The page.
pub(super) fn html(listed: &ListedFolder, by: SortKey, order: SortOrder) -> String {
    let mut page = String::with_capacity(2048 + 200 * listed.entries.len());
    write(&mut page, listed, by, order).expect("a String takes everything");
    page
}

fn write(page: &mut String, listed: &ListedFolder, by: SortKey, order: SortOrder) -> fmt::Result {
    let path = listed.target.text();
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
        EscapedText(&path)
    )?;
    breadcrumbs(page, &path)?;
    page.push_str("<table>\n<thead><tr>");
    for (column, name, title) in [
        (SortKey::Name, "name", "Name"),
        (SortKey::Size, "size", "Size"),
        (SortKey::Modified, "modified", "Changed"),
    ] {
        let (next, sign, aria) = match (column == by, order) {
            (true, SortOrder::Ascending) => ("desc", " ↑", " aria-sort=\"ascending\""),
            (true, SortOrder::Falling) => ("asc", " ↓", " aria-sort=\"descending\""),
            (false, _) => ("asc", "", ""),
        };
        write!(page, "<th{aria}><a href=\"?sort={name}&amp;order={next}\">{title}{sign}</a></th>")?;
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    if path != "/" {
        page.push_str(
            "<tr class=\"folder\"><td><a href=\"../\">..</a></td><td></td><td></td></tr>\n",
        );
    }
    for entry in &listed.entries {
        row(page, entry)?;
    }
    page.push_str("</tbody>\n</table>\n<p>");
    if listed.entries.is_empty() {
        page.push_str("This folder is empty.</p>\n</main>\n</body>\n</html>\n");
        return Ok(());
    }
    let folders = listed.entries.iter().filter(|it| it.sort == ListingSort::Folder).count();
    let files = listed.entries.len() - folders;
    let size = SizeText(listed.entries.iter().filter_map(|it| it.size).sum());
    write!(page, "{} and {}, {size}.", CountText(folders, "folder"), CountText(files, "file"))?;
    if listed.extent == ListingExtent::Cut {
        write!(page, " There is more: only the first {ENTRIES_MAX} names are shown.")?;
    }
    page.push_str(" Times are UTC.</p>\n</main>\n</body>\n</html>\n");
    Ok(())
}

fn breadcrumbs(page: &mut String, path: &str) -> fmt::Result {
    page.push_str("<h1><a href=\"/\" aria-label=\"root\">/</a>");
    let mut so_far = String::from("/");
    for segment in path.split('/').filter(|it| !it.is_empty()) {
        write!(so_far, "{}/", encoded(segment.as_bytes()))?;
        write!(page, "<a href=\"{}\">{}</a>/", EscapedText(&so_far), EscapedText(segment))?;
    }
    page.push_str("</h1>\n");
    Ok(())
}

fn row(page: &mut String, entry: &ListingEntry) -> fmt::Result {
    let (class, slash) = match entry.sort {
        ListingSort::Folder => ("folder", "/"),
        ListingSort::File => ("file", ""),
    };
    let (url, name) = (EscapedText(&entry.url), EscapedText(&entry.name));
    write!(page, "<tr class=\"{class}\"><td><a href=\"{url}\">{name}{slash}</a></td><td>")?;
    if let Some(size) = entry.size {
        write!(page, "<data value=\"{size}\">{}</data>", SizeText(size))?;
    }
    let moment = MinuteText(entry.modified);
    writeln!(page, "</td><td><time datetime=\"{moment}Z\">{moment}</time></td></tr>")
}

/// A number of things in words.
struct CountText(usize, &'static str);

impl fmt::Display for CountText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// A size as people read it.
struct SizeText(u64);

impl fmt::Display for SizeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 {
            return write!(f, "{} B", self.0);
        }
        let (mut size, mut unit) = (self.0 as f64 / 1000.0, 0);
        // As it is rounded below, so that 999,960 B is 1.0 MB.
        while size >= 999.95 && unit < 4 {
            size /= 1000.0;
            unit += 1;
        }
        write!(f, "{size:.1} {}", ["kB", "MB", "GB", "TB", "PB"][unit])
    }
}

/// A moment in UTC, to the minute: `2026-11-21 17:29`.
struct MinuteText(u64);

impl fmt::Display for MinuteText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Days since 1 March of the year 0, counted in eras of 400 years: leap days come last then
        // (Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
        let days = self.0 / 86_400 + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year + era * 400 + u64::from(month <= 2);
        let (hour, minute) = (self.0 / 3600 % 24, self.0 / 60 % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathTarget;

    #[test]
    fn the_pages_policy_names_its_style_sheet() {
        crate::pages::tests::names_style(&POLICY, STYLE);
    }

    #[test]
    fn sizes_and_moments_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (89_700, "89.7 kB"),
            (999_960, "1.0 MB"),
            (15_000_000, "15.0 MB"),
            (u64::MAX, "18446.7 PB"),
        ] {
            assert_eq!(SizeText(bytes).to_string(), text);
        }
        assert_eq!(MinuteText(0).to_string(), "1970-01-01 00:00");
        assert_eq!(MinuteText(951_827_696).to_string(), "2000-02-29 12:34");
        assert_eq!(MinuteText(4_102_444_799).to_string(), "2099-12-31 23:59");
    }

    #[test]
    fn an_empty_folder_says_so() {
        let target = PathTarget::parse("/a/").unwrap();
        let listed = ListedFolder { target, entries: Vec::new(), extent: ListingExtent::All };
        let page = html(&listed, SortKey::Name, SortOrder::Ascending);
        assert!(page.contains("<p>This folder is empty.</p>\n</main>"), "{page}");
        assert!(page.contains("<a href=\"../\">..</a>") && !page.contains("0 files"), "{page}");
    }

    #[test]
    fn a_name_cannot_become_markup() {
        let name = "<img src=x onerror=\"a('b')\">&.txt";
        let entry = ListingEntry {
            name: name.into(),
            url: format!("./{}", encoded(name.as_bytes())),
            sort: ListingSort::File,
            size: Some(5),
            modified: 0,
        };
        let target = PathTarget::parse("/a%3Cb%3E/").unwrap();
        let listed = ListedFolder { target, entries: vec![entry], extent: ListingExtent::All };
        let page = html(&listed, SortKey::Name, SortOrder::Ascending);
        assert!(!page.contains("<img") && !page.contains("<b>"), "{page}");
        assert!(page.contains("&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;.txt"));
        assert!(page.contains("href=\"./%3Cimg%20src=x"), "{page}");
        assert!(page.contains("0 folders and 1 file, 5 B."));
    }
}
