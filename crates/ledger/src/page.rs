//! The form of the metrics page, whatever its collectors wrote.
//!
//! Families that end in a base unit get their `# UNIT` line (`OpenMetrics` 1.0 §5.1), a series
//! that is there already is left out, and so is what a family has over its cap: a page is read by
//! machines that refuse all of it for one line. Called by [`super::metrics`].

use std::collections::HashSet;

/// Lines of one family at most.
const FAMILY_LINES_MAX: usize = 40_000;
/// Base units that names end in.
const UNITS: [&str; 2] = ["seconds", "bytes"];

/// Brings a page into its form.
pub(crate) fn in_form(page: &str) -> String {
    let mut formed = String::with_capacity(page.len() + page.len() / 16);
    let mut seen: HashSet<&str> = HashSet::new();
    let mut lines_of_family = 0;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            lines_of_family = 0;
            push(&mut formed, line);
            let name = family.split(' ').next().unwrap_or_default();
            let unit = name.rsplit('_').next().filter(|unit| UNITS.contains(unit));
            let is_told = lines.peek().is_some_and(|next| next.starts_with("# UNIT "));
            if let Some(unit) = unit.filter(|_| !is_told) {
                push(&mut formed, &format!("# UNIT {name} {unit}"));
            }
            continue;
        }
        if !line.starts_with('#') {
            lines_of_family += 1;
            let series = line.rsplit_once(' ').map_or(line, |(series, _)| series);
            if lines_of_family > FAMILY_LINES_MAX || !seen.insert(series) {
                continue;
            }
        }
        push(&mut formed, line);
    }
    formed
}

fn push(page: &mut String, line: &str) {
    page.push_str(line);
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_once_and_series_stand_once() {
        let page = "# HELP a_seconds A\n# TYPE a_seconds counter\na_seconds_total{b=\"1\"} 2\n\
                    a_seconds_total{b=\"1\"} 3\na_seconds_total{b=\"x y\"} 3\n# TYPE c_bytes gauge\n\
                    # UNIT c_bytes bytes\nc_bytes 1\n# TYPE bytes_sent counter\nbytes_sent_total 1\n\
                    # EOF\n";
        let formed = in_form(page);
        assert_eq!(formed.matches("# UNIT").count(), 2);
        assert!(formed.contains("# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"));
        assert_eq!(formed.matches("b=\"1\"").count(), 1);
        assert!(formed.contains("{b=\"x y\"} 3\n") && formed.ends_with("# EOF\n"));
    }
}
