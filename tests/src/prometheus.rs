//! A strict reader of Prometheus' text format, version 0.0.4, as its page "Exposition formats" defines it, and of what its
//! conventions ask beyond: a family stands in one piece, no series twice, histograms are cumulative.

use std::collections::{BTreeMap, BTreeSet};

/// A sample: labels, by name, and value.
pub type Sample = (BTreeMap<String, String>, f64);

/// A family: its kind and its samples, by their names.
#[derive(Debug, Default)]
pub struct Family {
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// Its samples.
    pub samples: Vec<(String, Sample)>,
}

/// All families by name, or the first line that is wrong.
pub fn read(text: &str) -> Result<BTreeMap<String, Family>, String> {
    if !text.ends_with('\n') {
        return Err("the last line does not end".to_owned());
    }
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut helped = BTreeSet::new();
    let mut series = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| Err(format!("line {}: {what}: {line}", number + 1));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("no help") };
            if help.is_empty() || !helped.insert(name.to_owned()) {
                return wrong("a help that is empty or comes twice");
            }
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return wrong("no type") };
            if !is_name(name) || !matches!(kind, "counter" | "gauge" | "histogram") {
                return wrong("a name or type that there is not");
            }
            let family = Family { kind: kind.to_owned(), samples: Vec::new() };
            if families.insert(name.to_owned(), family).is_some() {
                return wrong("a family in two pieces");
            }
            name.clone_into(&mut current);
        } else if line.starts_with('#') || line.is_empty() {
            return wrong("a line that says nothing");
        } else {
            let (name, sample) = match read_sample(line) {
                Ok(sample) => sample,
                Err(what) => return wrong(&what),
            };
            let Some(family) = families.get_mut(&current) else { return wrong("a sample of no family") };
            let is_of_family = match family.kind.as_str() {
                "histogram" => ["_bucket", "_sum", "_count"].iter().any(|end| name == format!("{current}{end}")),
                _ => name == current,
            };
            if !is_of_family || !helped.contains(&current) {
                return wrong("a sample that is not of its family, or has no help");
            }
            if !series.insert(format!("{name} {:?}", sample.0)) {
                return wrong("a series that comes twice");
            }
            if family.kind == "counter" && (!name.ends_with("_total") || sample.1 < 0.0) {
                return wrong("a counter that is not called so, or is negative");
            }
            family.samples.push((name, sample));
        }
    }
    for (name, family) in families.iter().filter(|(_, family)| family.kind == "histogram") {
        check_histogram(name, family)?;
    }
    Ok(families)
}

fn is_name(name: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(begins) && name.chars().all(|c| begins(c) || c.is_ascii_digit())
}

fn read_sample(line: &str) -> Result<(String, Sample), String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    if !is_name(name) {
        return Err("not a name".to_owned());
    }
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, value) = rest.split_once("=\"").ok_or("a label without a value")?;
            let (value, after) = read_label_value(value)?;
            if !is_name(label) || label.contains(':') || labels.insert(label.to_owned(), value).is_some() {
                return Err(format!("the label {label}"));
            }
            rest = after;
            if let Some(after) = rest.strip_prefix("} ") {
                rest = after;
                break;
            }
            rest = rest.strip_prefix(',').ok_or("labels are not separated")?;
        }
    } else {
        rest = &rest[1..];
    }
    let value: f64 = match rest {
        "+Inf" => f64::INFINITY,
        "NaN" => f64::NAN,
        number => number.parse().map_err(|_| "not a number")?,
    };
    Ok((name.to_owned(), (labels, value)))
}

/// A label's value and what stands behind its closing quote.
fn read_label_value(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                _ => return Err("an escape that there is not".to_owned()),
            },
            other => value.push(other),
        }
    }
    Err("a label's value does not end".to_owned())
}

fn check_histogram(name: &str, family: &Family) -> Result<(), String> {
    let mut by_labels: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for (sample, (labels, value)) in &family.samples {
        let mut others = labels.clone();
        let bound = others.remove("le");
        let key = format!("{others:?}");
        if sample.ends_with("_bucket") {
            let bound = bound.ok_or_else(|| format!("{name}: a bucket without a bound"))?;
            let bound = if bound == "+Inf" { Ok(f64::INFINITY) } else { bound.parse() };
            by_labels.entry(key).or_default().push((bound.map_err(|_| format!("{name}: a bound"))?, *value));
        } else if sample.ends_with("_count") {
            counts.insert(key, *value);
        }
    }
    for (labels, buckets) in by_labels {
        let rises = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let last = buckets.last().copied();
        let ends = last.is_some_and(|(bound, count)| bound.is_infinite() && counts.get(&labels) == Some(&count));
        if !rises || !ends {
            return Err(format!("{name}{labels}: buckets are not cumulative up to the count"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_the_format_allows_is_read() {
        let text = "# HELP a_total Things.\n# TYPE a_total counter\na_total{x=\"1\",y=\"q\\\"\\\\\\n\"} 3\na_total 4e2\n\
                    # HELP h Times.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n";
        let families = read(text).unwrap();
        assert_eq!(families["a_total"].samples[0].1.0["y"], "q\"\\\n");
        assert_eq!(families["h"].samples.len(), 4);
    }

    #[test]
    fn what_it_does_not_allow_is_refused() {
        let head = "# HELP a Things.\n# TYPE a gauge\n";
        for line in [
            "a",
            "a x",
            "a{x=1} 2",
            "a{x=\"1} 2",
            "a{x=\"\\q\"} 2",
            "1a 2",
            "b 2",
            "a 1\na 2",
            "a{x=\"1\",x=\"2\"} 2",
            "",
        ] {
            assert!(read(&format!("{head}{line}\n")).is_err(), "{line}");
        }
        assert!(read(&format!("{head}a 1")).is_err(), "no end of line");
        assert!(read("# TYPE a gauge\na 1\n").is_err(), "no help");
        assert!(read("# HELP c Things.\n# TYPE c counter\nc 1\n").is_err(), "no _total");
        assert!(read(&format!("{head}a 1\n# HELP b B.\n# TYPE b gauge\nb 1\na{{x=\"1\"}} 2\n")).is_err(), "two pieces");
        let histogram = "# HELP h H.\n# TYPE h histogram\n";
        for buckets in [
            "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_count 1\n",
            "h_bucket{le=\"1\"} 2\nh_count 2\n",
            "h_bucket{le=\"+Inf\"} 1\nh_count 2\n",
        ] {
            assert!(read(&format!("{histogram}{buckets}")).is_err(), "{buckets}");
        }
    }
}
