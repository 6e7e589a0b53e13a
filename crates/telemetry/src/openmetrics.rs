//! The metrics page, read: families with their samples.
//!
//! The page is our own, and the only source of figures; what is not a page of `OpenMetrics` is left
//! out line by line. Pure.

use std::collections::BTreeMap;

/// A family of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricFamily {
    /// Name, without the endings of samples.
    pub name: String,
    /// Meaning.
    pub help: String,
    /// Type, as `counter`.
    pub kind: String,
    /// Samples.
    pub samples: Vec<MetricSample>,
}

/// A line of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricSample {
    /// Ending behind the family's name, as `_total`.
    pub ending: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Value.
    pub value: f64,
}

/// Reads a page.
pub fn read_page(page: &str) -> Vec<MetricFamily> {
    let mut families: Vec<MetricFamily> = Vec::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            read_comment(comment, &mut families);
        } else if let Some(family) = families.last_mut()
            && let Some(sample) = read_sample(line, &family.name)
        {
            family.samples.push(sample);
        }
    }
    families
}

fn read_comment(comment: &str, families: &mut Vec<MetricFamily>) {
    let mut words = comment.splitn(3, ' ');
    let (Some(what), Some(name), Some(rest)) = (words.next(), words.next(), words.next()) else {
        return;
    };
    if !matches!(what, "HELP" | "TYPE") {
        return;
    }
    if families.last().is_none_or(|it| it.name != name) {
        families.push(MetricFamily { name: name.to_owned(), ..MetricFamily::default() });
    }
    let Some(family) = families.last_mut() else { return };
    match what {
        "HELP" => family.help = unescaped(rest),
        _ => rest.clone_into(&mut family.kind),
    }
}

fn read_sample(line: &str, family: &str) -> Option<MetricSample> {
    let rest = line.strip_prefix(family)?;
    let end = rest.find(['{', ' '])?;
    let (ending, rest) = rest.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => read_labels(inner)?,
        None => (BTreeMap::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" => f64::INFINITY,
        value => value.parse().ok()?,
    };
    Some(MetricSample { ending: ending.to_owned(), labels, value })
}

/// Labels up to their closing bracket, and what stands behind it.
fn read_labels(text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let (mut labels, mut rest) = (BTreeMap::new(), text);
    loop {
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let end = closing_quote(quoted)?;
        labels.insert(name.to_owned(), unescaped(&quoted[..end]));
        rest = &quoted[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' if !is_escaped => return Some(at),
            '\\' if !is_escaped => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_into_families() {
        let page = "# HELP a_seconds A \\\\ b.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n\
                    a_seconds_total{b=\"x \\\"y\\\\\",c=\"}\"} 2.5\n# HELP g G\n# TYPE g gauge\n\
                    g 7\nnonsense\ng{x 1\ng{x=\"\n# EOF\n";
        let read = read_page(page);
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].kind.as_str(), read[0].help.as_str()), ("counter", "A \\ b."));
        let sample = &read[0].samples[0];
        assert_eq!((sample.ending.as_str(), sample.value), ("_total", 2.5));
        assert_eq!(sample.labels["b"], "x \"y\\");
        assert_eq!(sample.labels["c"], "}");
        assert_eq!(read[1].samples.len(), 1);
    }
}
