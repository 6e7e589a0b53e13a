//! Names that are decided about once each, for a tool that counts instructions: processor time on a
//! shared machine says little, the number of instructions says the same every time.

use crate::dice::Dice;
use crate::{names, read};
use policy::{Ask, ListKind, ListSource, Policy, Profiles};
use std::hint::black_box;
use std::path::Path;
use vocab::{Name, Now};

const NAMES: usize = 20_000;
const NOW: Now = Now { unix_ms: 1, mono_ms: 1 };

/// Which names are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Listed,
    Unlisted,
}

pub fn run(dir: &Path, asked: Asked) {
    let mut dice = Dice(0x5eed);
    let listed: Vec<String> = (0..NAMES).map(|_| names::name(&mut dice)).collect();
    let text: String = listed.iter().map(|name| format!("||{name}^\n")).collect();
    let urls = read(dir, "easylist.txt");
    let lists = [&text, &urls].map(|text| ListSource {
        name: "list",
        kind: ListKind::Block,
        text: text.as_bytes(),
    });
    let policy = Policy::new(policy::compile(&lists, 7).into(), Profiles::everyone());
    let hosts = match asked {
        Asked::Listed => listed,
        Asked::Unlisted => (0..NAMES).map(|_| format!("www.{}", names::name(&mut dice))).collect(),
    };
    for host in &hosts {
        let name = Name::from_lowercase(host).expect("made of names");
        black_box(policy.decide(&Ask::lookup(name, 1, [127, 0, 0, 1].into()), NOW));
    }
    println!("{} decisions", hosts.len());
}
