//! Pieces of HTML that all parts of the page have: escaped text, drawings side by side, tables.

use std::fmt::Write;

use crate::results::Results;

/// A system's colour is that of its place in the study.
pub(crate) fn series_of(results: &Results, system: &str) -> usize {
    results.study.systems.iter().position(|other| other.name == system).unwrap_or(0)
}

/// So many letters of a text, the last of them `…` if there were more.
pub(crate) fn cut(text: &str, letters_max: usize) -> String {
    match text.char_indices().nth(letters_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(letters_max - 1).chain(['…']).collect(),
    }
}

/// Text as HTML has it.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
    out
}

/// Drawings side by side, as many as there is room for.
pub(crate) fn write_drawings(drawings: &[String], out: &mut String) -> std::fmt::Result {
    match drawings.iter().all(String::is_empty) {
        true => Ok(()),
        false => writeln!(out, "<div class=\"drawings\">\n{}</div>", drawings.concat()),
    }
}

/// A table that is wider than its page is moved by itself, by the keyboard too.
pub(crate) fn table_begins(name: &str, class: &str, out: &mut String) -> std::fmt::Result {
    let name = escaped(name);
    writeln!(out, "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"{name}\"><table class=\"{class}\">")
}

pub(crate) fn table_ends(out: &mut String) -> std::fmt::Result {
    writeln!(out, "</tbody></table></div>")
}
