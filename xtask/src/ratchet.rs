//! The ratchet: figures of the tree beside the marks that they must not pass.
//!
//! A mark is the worst that is still allowed, as `xtask/ratchet.toml` records it, and may only be
//! lowered: a figure above its mark is a finding, one below it a note, and `cargo xtask lower`
//! takes the better figures over. Fed by [`crate::fences`] and [`crate::tidy`].

use crate::finding::Finding;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use toml::Table;

/// The file of the marks, from the root of the repository.
const FILE: &str = "xtask/ratchet.toml";
/// Places of a figure that are printed.
const WORST: usize = 5;
const OPENING: &str = "\
# Marks that the tree must not pass: `cargo xtask fences` and `tidy` fail where a figure is higher.
# They may only fall: `cargo xtask lower` writes the better figures here. A figure that is not named
# has the limit that xtask/src/limits.rs gives it.
";

/// One figure, as it was measured.
pub(crate) struct Gauge {
    /// The table of the file that it is in, as in `circles`.
    pub(crate) table: &'static str,
    /// Its key there.
    pub(crate) name: String,
    pub(crate) count: usize,
    /// Highest count without a mark.
    pub(crate) limit: usize,
    /// Lowest mark that is of any use.
    pub(crate) floor: usize,
    /// Marks are multiples of it, so that a figure of thousands is not renewed for every line.
    pub(crate) step: usize,
    /// Why it should fall.
    pub(crate) because: &'static str,
    /// Where it comes from.
    pub(crate) places: Vec<Finding>,
}

/// Marks by table and key.
pub(crate) struct Ratchet {
    marks: BTreeMap<String, BTreeMap<String, usize>>,
}

/// Gauges held against their marks.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

impl Gauge {
    /// The number of these places, none of which is allowed without a mark.
    pub(crate) fn of_places(
        table: &'static str,
        name: &str,
        because: &'static str,
        places: Vec<Finding>,
    ) -> Self {
        let (name, count) = (name.to_owned(), places.len());
        Self { table, name, count, limit: 0, floor: 0, step: 1, because, places }
    }

    /// As it is called in the file: `circles.doors/gateway`.
    pub(crate) fn key(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }

    /// The lowest mark that the figure does not pass.
    fn lowest_mark(&self) -> usize {
        self.count.next_multiple_of(self.step).max(self.floor)
    }

    /// The files with the most places; none where the figure is of one crate as a whole.
    fn worst_files(&self) -> String {
        let mut files: BTreeMap<&Path, usize> = BTreeMap::new();
        for place in self.places.iter().filter(|place| place.file != Path::new(&self.name)) {
            *files.entry(&place.file).or_default() += 1;
        }
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_by_key(|(_, count)| Reverse(*count));
        let told =
            files.iter().take(WORST).map(|(file, count)| format!("{} {count}", file.display()));
        told.collect::<Vec<_>>().join(", ")
    }
}

impl Ratchet {
    /// Reads the marks of the repository at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(FILE)).map_err(|why| format!("{FILE}: {why}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let tables: Table = text.parse().map_err(|why| format!("{FILE}: {why}"))?;
        let mut marks = BTreeMap::new();
        for (table, keys) in tables {
            let keys = keys.as_table().ok_or_else(|| format!("{FILE}: {table} is no table"))?;
            let read = |(key, mark): (&String, &toml::Value)| {
                let mark = mark.as_integer().and_then(|mark| usize::try_from(mark).ok());
                let mark = mark.ok_or_else(|| format!("{FILE}: {table}.{key} is no count"))?;
                Ok((key.clone(), mark))
            };
            marks.insert(table.clone(), keys.iter().map(read).collect::<Result<_, String>>()?);
        }
        Ok(Self { marks })
    }

    /// Holds figures against their marks, and tells the worst of each table.
    pub(crate) fn hold(&self, gauges: &[Gauge]) -> Held {
        let mut held = Held { findings: Vec::new(), notes: self.worst(gauges) };
        for gauge in gauges {
            let (key, mark, lowest) = (gauge.key(), self.mark(gauge), gauge.lowest_mark());
            if gauge.count > mark {
                let message = format!(
                    "{key} is {}, over its mark of {mark}: {} (cargo xtask places {key})",
                    gauge.count, gauge.because
                );
                held.findings.push(Finding::new(Path::new(FILE), 0, message));
            } else if lowest < mark {
                let better =
                    format!("{key} is {}: lower the ratchet from {mark} to {lowest}", gauge.count);
                held.notes.push(format!("{better} (cargo xtask lower)"));
            }
        }
        held
    }

    /// The worst figures of each table in one line, and the worst files of a figure that has some.
    fn worst(&self, gauges: &[Gauge]) -> Vec<String> {
        let mut tables: BTreeMap<&str, Vec<&Gauge>> = BTreeMap::new();
        for gauge in gauges.iter().filter(|gauge| gauge.count > 0) {
            tables.entry(gauge.table).or_default().push(gauge);
        }
        let mut lines = Vec::new();
        for (table, mut gauges) in tables {
            gauges.sort_by_key(|gauge| Reverse(gauge.count));
            let told =
                |gauge: &&Gauge| format!("{} {} of {}", gauge.name, gauge.count, self.mark(gauge));
            let worst: Vec<_> = gauges.iter().take(WORST).map(told).collect();
            lines.push(format!("{table}: {}", worst.join(", ")));
            let files = gauges.iter().map(|gauge| (&gauge.name, gauge.worst_files()));
            let files = files.filter(|(_, files)| !files.is_empty());
            lines.extend(files.map(|(name, files)| format!("    {name}: {files}")));
        }
        lines
    }

    /// The mark of a figure, or its limit where none is recorded.
    fn mark(&self, gauge: &Gauge) -> usize {
        let recorded = self.marks.get(gauge.table).and_then(|marks| marks.get(&gauge.name));
        recorded.copied().unwrap_or(gauge.limit)
    }

    /// Takes over every figure that is better; a mark never rises.
    pub(crate) fn lower(&mut self, gauges: &[Gauge]) {
        let mut lowered: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for gauge in gauges {
            let mark = self.mark(gauge).min(gauge.lowest_mark());
            if mark != gauge.limit {
                lowered.entry(gauge.table.into()).or_default().insert(gauge.name.clone(), mark);
            }
        }
        self.marks = lowered;
    }

    /// Writes the marks.
    pub(crate) fn write(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(FILE), self.text()).map_err(|why| format!("{FILE}: {why}"))
    }

    fn text(&self) -> String {
        let mut text = OPENING.to_owned();
        for (table, marks) in &self.marks {
            let _ = writeln!(text, "\n[{table}]");
            for (key, mark) in marks {
                let quote = if key.contains('/') { "\"" } else { "" };
                let _ = writeln!(text, "{quote}{key}{quote} = {mark}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: &str = "[circles]\n\"doors/gateway\" = 34\n\n[words]\none_word_types = 9\n";

    fn circle(count: usize) -> Gauge {
        let (name, because) = ("doors/gateway".to_owned(), "knots are not taken apart");
        Gauge {
            table: "circles",
            name,
            count,
            limit: 12,
            floor: 0,
            step: 1,
            because,
            places: Vec::new(),
        }
    }

    fn ratchet() -> Result<Ratchet, String> {
        Ratchet::parse(MARKS)
    }

    #[test]
    fn a_figure_over_its_mark_is_a_finding() -> Result<(), String> {
        let held = ratchet()?.hold(&[circle(35)]);
        assert!(
            held.findings[0].message.contains("circles.doors/gateway is 35, over its mark of 34")
        );
        assert_eq!(ratchet()?.hold(&[circle(34)]).findings, []);
        let new = Gauge { name: "doors/new".into(), ..circle(13) };
        assert_eq!(ratchet()?.hold(&[new]).findings.len(), 1, "the limit, where there is no mark");
        Ok(())
    }

    #[test]
    fn a_better_figure_is_said_and_lowers_the_mark() -> Result<(), String> {
        let mut ratchet = ratchet()?;
        let held = ratchet.hold(&[circle(20)]);
        assert!(held.notes.iter().any(|note| note.contains("from 34 to 20")), "{:?}", held.notes);
        ratchet.lower(&[circle(20)]);
        assert!(
            ratchet.text().ends_with("[circles]\n\"doors/gateway\" = 20\n"),
            "{}",
            ratchet.text()
        );
        ratchet.lower(&[circle(50)]);
        assert_eq!(ratchet.mark(&circle(50)), 20, "it never rises");
        ratchet.lower(&[Gauge { floor: 12, ..circle(3) }]);
        assert_eq!(ratchet.text(), OPENING, "the limit needs no mark");
        Ok(())
    }

    #[test]
    fn marks_of_large_figures_have_steps() {
        let lines = Gauge { step: 250, limit: 10_000, floor: 10_000, ..circle(14_941) };
        assert_eq!(lines.lowest_mark(), 15_000);
        assert_eq!(Gauge { count: 9_000, ..lines }.lowest_mark(), 10_000);
    }

    #[test]
    fn the_worst_files_are_named() -> Result<(), String> {
        let place = |file: &str, line| Finding::new(Path::new(file), line, "Place");
        let places = vec![place("a.rs", 1), place("b.rs", 1), place("b.rs", 2)];
        let gauge = Gauge::of_places("words", "one_word_types", "take the field's word", places);
        let notes = ratchet()?.hold(&[gauge]).notes;
        assert_eq!(
            notes[..2],
            ["words: one_word_types 3 of 9", "    one_word_types: b.rs 2, a.rs 1"]
        );
        Ok(())
    }

    #[test]
    fn the_file_is_as_it_is_written() -> Result<(), String> {
        let ratchet = ratchet()?;
        assert_eq!(ratchet.text(), format!("{OPENING}\n{MARKS}"));
        assert!(Ratchet::parse("a = 1\n").is_err() && Ratchet::parse("[a]\nb = -1\n").is_err());
        Ok(())
    }
}
