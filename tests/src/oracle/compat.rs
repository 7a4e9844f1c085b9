//! COMPAT.md, as far as scripts call upon it.

/// The line of which the oracle makes use for every syntax error.
const SYNTAX_ERRORS: &str = "words and place of a syntax error";

/// The first cells of COMPAT.md's tables: each names a deviation.
pub struct Deviations(Vec<String>);

impl Deviations {
    /// Reads the file.
    pub fn read() -> Result<Deviations, String> {
        let path = super::root().join("COMPAT.md");
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let deviations = Deviations::of(&text);
        if deviations.holds(SYNTAX_ERRORS) {
            Ok(deviations)
        } else {
            Err(format!("COMPAT.md has no line about {SYNTAX_ERRORS}"))
        }
    }

    /// Reads the file's text.
    pub fn of(text: &str) -> Deviations {
        let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        Deviations(cells.map(|cell| cell.replace('`', "")).collect())
    }

    /// Whether there is a line of that name.
    pub fn holds(&self, name: &str) -> bool {
        self.0.contains(&name.replace('`', ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lines_first_cell_is_its_name() {
        let deviations = Deviations::of("# T\n\n| what | why |\n|---|---|\n| the `IN` of it | bounded |\n");
        assert!(deviations.holds("the IN of it"));
        assert!(!deviations.holds("bounded"));
    }
}
