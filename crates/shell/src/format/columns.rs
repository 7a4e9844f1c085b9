//! Names in columns, as Python's `cmd.columnize` lays them out.

/// The columns of a terminal.
const WIDTH: usize = 80;
/// Between two columns.
const GAP: usize = 2;

/// Lines of names, down the columns first. No names: `<empty>`.
pub(crate) fn columnize(names: &[String]) -> String {
    let length = |name: &String| name.chars().count();
    match names {
        [] => return "<empty>\n".to_owned(),
        [name] => return format!("{name}\n"),
        _ => {}
    }
    for row_count in 1..names.len() {
        let widths: Vec<usize> =
            names.chunks(row_count).map(|column| column.iter().map(length).max().unwrap_or(0)).collect();
        if widths.iter().sum::<usize>() + GAP * (widths.len() - 1) <= WIDTH {
            return lines(names, row_count, &widths);
        }
    }
    names.iter().map(|name| format!("{name}\n")).collect()
}

fn lines(names: &[String], row_count: usize, widths: &[usize]) -> String {
    let mut out = String::new();
    for row in 0..row_count {
        let mut cells: Vec<String> = Vec::new();
        for (column, width) in widths.iter().enumerate() {
            // A column that has ended leaves no spaces at the end of a line.
            let Some(name) = names.get(column * row_count + row) else { continue };
            cells.push(format!("{name:<width$}"));
        }
        out.push_str(&cells.join(&" ".repeat(GAP)));
        out.push('\n');
    }
    out
}
