//! Files of `Name: value` lines.

/// The value of the first line with that name.
pub(crate) fn colon_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// `<number> kB` in bytes.
pub(crate) fn kilobytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
