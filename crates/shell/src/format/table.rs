//! Rows as a table, or one below the other.

use super::shown::Shown;

/// A page of rows under their names; `has_names`: the names come first. Without rows the names stand alone, with an empty line.
pub(crate) fn table(names: &[Shown], rows: &[Vec<Shown>], has_names: bool, is_coloured: bool) -> String {
    let mut widths: Vec<usize> = names.iter().map(Shown::width).collect();
    for row in rows {
        for (width, value) in widths.iter_mut().zip(row) {
            *width = (*width).max(value.width());
        }
    }
    let mut out = String::new();
    if has_names || rows.is_empty() {
        let cells: Vec<String> =
            names.iter().zip(&widths).map(|(name, width)| name.left(*width, is_coloured)).collect();
        out.push_str(&format!(" {}\n", cells.join(" | ").trim_end()));
        let lines: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        out.push_str(&format!("-{}-\n", lines.join("-+-")));
    }
    if rows.is_empty() {
        out.push('\n');
    }
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(value, width)| value.right(*width, is_coloured)).collect();
        out.push_str(&format!(" {}\n", cells.join(" | ")));
    }
    out
}

/// Each row as lines of a name and its value, after `before` rows of pages before.
pub(crate) fn expanded(names: &[Shown], rows: &[Vec<Shown>], before: usize, is_coloured: bool) -> String {
    let name_width = names.iter().map(Shown::width).max().unwrap_or(0);
    let value_width = rows.iter().flatten().map(Shown::width).max().unwrap_or(0);
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        out.push_str(&format!("@ Row {}\n", before + index + 1));
        out.push_str(&format!("-{}-+-{}-\n", "-".repeat(name_width), "-".repeat(value_width)));
        for (name, value) in names.iter().zip(row) {
            out.push_str(&format!(" {} | {}\n", name.left(name_width, is_coloured), value.text(is_coloured)));
        }
        out.push('\n');
    }
    out
}
