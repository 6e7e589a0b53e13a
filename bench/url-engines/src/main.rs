//! Our URL engine beside Brave's `adblock` crate, and the cost of our table of names.
//!
//! `cargo run --release -- urls DIR` loads easylist.txt and easyprivacy.txt of DIR into both
//! engines and asks them the same requests; `names DIR` times the table of names at 206 k, 1 M and
//! 5 M; `load DIR` compiles the four lists and reads them back from a snapshot; `scale DIR`
//! measures 5 M names and 200,000 rules about URLs together. Everything random comes from a fixed
//! seed.

mod clock;
mod counting;
mod dice;
mod load;
mod names;
mod requests;
mod scale;
mod urls;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: url-engines urls|names|load|scale LISTS_DIR";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(mode), Some(dir)) = (words.next(), words.next()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let dir = PathBuf::from(dir);
    match mode.as_str() {
        "urls" => urls::run(&read(&dir, "easylist.txt"), &read(&dir, "easyprivacy.txt")),
        "names" => names::run(&dir),
        "load" => load::run(&dir),
        "scale" => scale::run(&dir),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The text of a list; a bench without its lists has nothing to say.
fn read(dir: &Path, name: &str) -> String {
    let path = dir.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
