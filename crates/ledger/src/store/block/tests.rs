//! Blocks are read as they were written, and damage costs rows and nothing else.

use super::decode::{BlockBody, BlockSummary, ReadBlock};
use super::encode::BlockEncoder;
use super::rules::{RuleLine, RuleTable};
use super::*;
use crate::store::join::block_round_trips;
use crate::tests::{NOON, event};
use vocab::Action;

/// Rows of several doors, clients and rules, whose times go back and forth.
fn rows() -> Vec<BlockRow<'static>> {
    let pass = RowFacts::of(&event("a.example", Action::Pass));
    let block = RowFacts::of(&event("a.example", Action::Block));
    let row = |text: &'static str, at_ms, facts, rule| BlockRow {
        at_ms,
        client: "192.168.1.77".parse().unwrap(),
        text: text.as_bytes(),
        form: RowTextForm::Name,
        facts,
        rule,
        bytes: 120,
        duration_us: 41,
    };
    let url = BlockRow {
        form: RowTextForm::Url,
        client: "2001:db8::7".parse().unwrap(),
        facts: RowFacts { door: 3, kind: 2, status: 404, caching: 0x0102, ..pass },
        bytes: u32::MAX,
        duration_us: u32::MAX,
        ..row("https://Shop.example/Straße?id=7", NOON + 7, pass, 0)
    };
    vec![
        row("www.example", NOON, pass, 0),
        row("ads.example", NOON + 5, block, 1),
        url,
        // A tunnel that was opened an hour before.
        row("www.example", NOON - 3_600_000, pass, 0),
        row("tracker.example", NOON + 9, block, 0),
        row("ads.example", NOON + 9, block, 1),
        row("", NOON + 9, pass, 0),
    ]
}

fn rules() -> Vec<RuleLine> {
    let rule = |line, text: &str| RuleLine { list: "ads".into(), line, text: text.into() };
    vec![rule(7, "||tracker.example^"), rule(12, "||ads.example^")]
}

fn encoded() -> EncodedBlock {
    let rows = rows();
    let mut encoder = BlockEncoder::new(rows.len());
    for row in &rows {
        encoder.push(row);
    }
    encoder.finish(&rules())
}

#[test]
fn a_block_is_read_as_it_was_written() {
    let block = encoded();
    assert_eq!((block.rows, block.first_ms, block.last_ms), (7, NOON - 3_600_000, NOON + 9));
    assert_eq!((block.doors, block.actions), (0b1001, 0b11));
    let mut table = RuleTable::default();
    let read = ReadBlock::read(&block.summary, &block.body).unwrap().rows(&mut table);
    let rules_by_text = |rows: &[BlockRow<'_>], rules: &[RuleLine]| -> Vec<BlockRow<'static>> {
        // The places of rules may differ: what counts is the rule.
        let known = |row: &BlockRow<'_>| match row.facts.cause() {
            crate::codes::CauseCode::Rule => rules[row.rule as usize].line,
            _ => 0,
        };
        rows.iter().map(|row| BlockRow { text: b"", rule: known(row), ..*row }).collect()
    };
    assert_eq!(rules_by_text(&read, &table.lines), rules_by_text(&rows(), &rules()));
    let texts =
        |rows: &[BlockRow<'_>]| rows.iter().map(|row| row.text.to_vec()).collect::<Vec<_>>();
    assert_eq!(texts(&read), texts(&rows()));
}

#[test]
fn a_summary_counts_each_client_and_word() {
    let block = encoded();
    let summary = BlockSummary::read(&block.summary).unwrap();
    let tallies: Vec<_> = (0..summary.words.len())
        .map(|place| {
            let tally = summary.words[place].tally;
            (summary.word(place).unwrap().0, tally.passed, tally.blocked)
        })
        .collect();
    assert_eq!(
        tallies,
        [
            ("www.example", 2, 0),
            ("ads.example", 0, 2),
            ("https://Shop.example/Straße?id=7", 1, 0),
            ("tracker.example", 0, 1),
            ("", 1, 0),
        ]
    );
    let clients: Vec<_> = summary
        .clients
        .iter()
        .map(|entry| (entry.client.to_string(), entry.tally.passed, entry.tally.blocked))
        .collect();
    assert_eq!(clients, [("192.168.1.77".into(), 3, 3), ("2001:db8::7".into(), 1, 0)]);
}

#[test]
fn a_name_has_no_case_and_a_url_has() {
    let row = BlockRow { text: b"WWW.Example", ..rows()[0] };
    let mut encoder = BlockEncoder::new(2);
    encoder.push(&row);
    encoder.push(&BlockRow { text: b"http://WWW.Example/", form: RowTextForm::Url, ..row });
    let block = encoder.finish(&[]);
    let summary = BlockSummary::read(&block.summary).unwrap();
    assert_eq!(summary.text, "www.examplehttp://WWW.Example/");
}

#[test]
fn a_damaged_block_has_fewer_rows_and_harms_nobody() {
    let block = encoded();
    let count = |summary: &[u8], body: &[u8]| {
        ReadBlock::read(summary, body).map_or(0, |read| read.rows(&mut RuleTable::default()).len())
    };
    for end in 0..block.summary.len() {
        assert_eq!(count(&block.summary[..end], &block.body), 0, "cut at {end}");
    }
    for end in 0..block.body.len() {
        assert!(count(&block.summary, &block.body[..end]) < 7, "cut at {end}");
        assert!(BlockBody::read(&block.body[..end]).is_none_or(|body| body.rows().count() < 7));
    }
    for value in [0, 0x7f, 0x80, 0xff] {
        for place in 0..block.summary.len() {
            let mut summary = block.summary.clone();
            summary[place] = value;
            assert!(count(&summary, &block.body) <= 7);
            assert!(block_round_trips(&summary, &block.body), "{value} at {place}");
        }
        for place in 0..block.body.len() {
            let mut body = block.body.clone();
            body[place] = value;
            // A row takes seven bytes or more, however they are read.
            assert!(count(&block.summary, &body) <= block.body.len() / 7);
            assert!(block_round_trips(&block.summary, &body), "{value} at {place}");
        }
    }
}
