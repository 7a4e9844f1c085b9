//! Lists of processors, as `0-3,8,10-11`.

/// More processors than Linux can be built for; guards against `0-4000000000`.
const CPUS_MAX: usize = 8192;

/// Reads a list, which may be empty; ascending, each once. None if it is no list.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= CPUS_MAX || cpus.len() > CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The list as the kernel writes it. `cpus` ascend.
pub(crate) fn print_cpu_list(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|before, after| before + 1 == *after);
    let runs = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}
