//! Rows of text in columns as wide as their longest entry.

/// The rows as lines, columns two blanks apart, without blanks at the end of a line.
pub(crate) fn lines<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_entry() {
        let rows = [["a", "long", "x"], ["bcd", "e", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(lines(&rows), "a    long  x\nbcd  e\n");
        assert_eq!(lines::<2>(&[]), "");
    }
}
