//! Rows of a statement, by the path that the console runs statements on: with the rights of the user that nodetool has logged in as.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::error::ToolError;
use crate::surroundings::{Request, Surroundings};

/// Time that the node gives a statement, beyond that of other requests.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(10);

/// A row: what its columns show, null left out.
pub(super) type Row = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Page {
    columns: Vec<Column>,
    rows: Vec<Vec<Option<String>>>,
    more: bool,
    page: Option<String>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

/// All rows, page by page.
pub(super) fn rows(statement: &str, node: &mut dyn Surroundings) -> Result<Vec<Row>, ToolError> {
    let (mut rows, mut page) = (Vec::new(), None);
    loop {
        let body = match &page {
            None => json!({"statement": statement}),
            Some(page) => json!({"statement": statement, "page": page}),
        };
        let request = Request::post("/helenus/cql").with_body(body.to_string()).patient(STATEMENT_TIME_MAX);
        let answer: Page = node.get(request)?;
        if let Some(Refusal { message }) = answer.error {
            return Err(ToolError::Refused { status: 400, sentence: printable(message) });
        }
        let names = || answer.columns.iter().map(|column| column.name.clone());
        let row = |cells: Vec<Option<String>>| {
            names().zip(cells).filter_map(|(name, cell)| Some((name, printable(cell?)))).collect::<Row>()
        };
        rows.extend(answer.rows.into_iter().map(row));
        match answer.page {
            Some(next) if answer.more && page.as_ref() != Some(&next) => page = Some(next),
            _ => return Ok(rows),
        }
    }
}

/// Clients name their drivers themselves: what would steer a terminal is left out.
fn printable(text: String) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A text as a constant of a statement.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The pairs of a map of texts, `{'a': 'b', 'it''s': 'c'}`. Of one that was cut short, those before the cut.
pub(super) fn pairs(map: &str) -> BTreeMap<String, String> {
    let mut texts = Vec::new();
    let mut rest = map;
    while let Some(start) = rest.find('\'') {
        let mut text = String::new();
        rest = &rest[start + 1..];
        loop {
            let Some(end) = rest.find('\'') else { return paired(texts) };
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('\'') {
                Some(behind) => {
                    text.push('\'');
                    rest = behind;
                }
                None => break,
            }
        }
        texts.push(text);
    }
    paired(texts)
}

fn paired(texts: Vec<String>) -> BTreeMap<String, String> {
    texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_with_their_quotes() {
        let of = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(pairs("{'a': 'b', 'it''s': ''}"), of(&[("a", "b"), ("it's", "")]));
        assert_eq!(pairs("{'a, b': ': x'}"), of(&[("a, b", ": x")]));
        assert_eq!(pairs("{}"), of(&[]));
        assert_eq!(pairs("{'a': 'b', 'c': 'd… (5000 bytes)"), of(&[("a", "b")]));
        assert_eq!(quoted("it's"), "'it''s'");
    }
}
