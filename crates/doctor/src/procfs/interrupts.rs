//! `/proc/interrupts`: how often each processor was interrupted by each source.

/// One source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interrupt {
    /// Its number; none for those that no device makes.
    pub(crate) number: Option<u32>,
    /// The last word of its line: the driver's name for it.
    pub(crate) action: String,
    /// Times, for each processor of the header.
    pub(crate) counts: Vec<u64>,
}

/// More sources than hosts have.
const INTERRUPTS_MAX: usize = 20_000;

/// The processors of the columns, and the sources. None without a header.
pub(crate) fn interrupts(text: &str) -> Option<(Vec<usize>, Vec<Interrupt>)> {
    let mut lines = text.lines();
    let columns: Option<Vec<usize>> =
        lines.next()?.split_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let columns = columns.filter(|columns| !columns.is_empty())?;
    let found = lines.take(INTERRUPTS_MAX).filter_map(|line| {
        let (label, rest) = line.split_once(':')?;
        let mut words = rest.split_whitespace().peekable();
        let mut counts = Vec::new();
        while counts.len() < columns.len()
            && let Some(count) = words.peek().and_then(|word| word.parse().ok())
        {
            counts.push(count);
            words.next();
        }
        Some(Interrupt {
            number: label.trim().parse().ok(),
            action: words.last().unwrap_or_default().to_owned(),
            counts,
        })
    });
    let found = found.collect();
    Some((columns, found))
}
