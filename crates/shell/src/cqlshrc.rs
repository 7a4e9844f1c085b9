//! Files of settings as Python's `configparser` reads them: cqlshrc and the credentials file. Pure.

/// Sections with their options, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sections {
    options: Vec<(String, String, String)>,
}

impl Sections {
    /// Reads a text. Lines that are neither a section, an option nor a comment are left out: a shell should start with half of its settings rather than not.
    pub(crate) fn parse(text: &str) -> Sections {
        let mut section = String::new();
        let mut options: Vec<(String, String, String)> = Vec::new();
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name.trim().to_owned();
                continue;
            }
            // A line that is set in goes on with the value before it.
            let goes_on = line.starts_with([' ', '\t']);
            if let Some((of, _, value)) = options.last_mut().filter(|_| goes_on)
                && *of == section
            {
                value.push('\n');
                value.push_str(trimmed);
                continue;
            }
            if let Some(at) = trimmed.find(['=', ':']) {
                let (name, value) = (trimmed[..at].trim().to_ascii_lowercase(), trimmed[at + 1..].trim().to_owned());
                options.push((section.clone(), name, value));
            }
        }
        Sections { options }
    }

    /// An option's value: the last that is given.
    pub(crate) fn get(&self, section: &str, name: &str) -> Option<&str> {
        let is_it = |(of, option, _): &&(String, String, String)| of == section && option == name;
        self.options.iter().rev().find(is_it).map(|(_, _, value)| value.as_str())
    }

    /// An option that is on or off.
    pub(crate) fn switch(&self, section: &str, name: &str) -> Option<bool> {
        match self.get(section, name)?.to_ascii_lowercase().as_str() {
            "1" | "yes" | "true" | "on" => Some(true),
            "0" | "no" | "false" | "off" => Some(false),
            _ => None,
        }
    }

    /// An option that is a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, section: &str, name: &str) -> Option<T> {
        self.get(section, name)?.parse().ok()
    }

    /// All options of a section.
    pub(crate) fn section<'s>(&'s self, name: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let of = move |(section, _, _): &&(String, String, String)| section == name;
        self.options.iter().filter(of).map(|(_, option, value)| (option.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_options_and_comments() {
        let text = "; a comment\n[connection]\nhostname = 10.0.0.1\nPort: 9043\n# another\nssl = yes\n\n[ui]\ntime_format = %Y-%m\nfloat_precision = 7\nbroken line\n[ui]\nfloat_precision=8\n";
        let read = Sections::parse(text);
        assert_eq!(read.get("connection", "hostname"), Some("10.0.0.1"));
        assert_eq!(read.number("connection", "port"), Some(9043_u16));
        assert_eq!(read.switch("connection", "ssl"), Some(true));
        assert_eq!(read.get("ui", "time_format"), Some("%Y-%m"));
        assert_eq!(read.number("ui", "float_precision"), Some(8_usize));
        assert_eq!(read.get("ui", "hostname"), None);
        assert_eq!(read.section("connection").count(), 3);
    }

    #[test]
    fn a_value_goes_on_in_lines_that_are_set_in() {
        let read = Sections::parse("[ssl]\ncertfile = a\n   b\nvalidate = maybe\n");
        assert_eq!(read.get("ssl", "certfile"), Some("a\nb"));
        assert_eq!(read.switch("ssl", "validate"), None);
    }
}
