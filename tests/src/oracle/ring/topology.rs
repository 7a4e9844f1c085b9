//! A ring's places: `nodes.txt` of a folder of scripts, which `xtask` reads too.

use crate::oracle::root;
use crate::oracle::script::RING_FOLDER;

/// How many nodes a ring has.
pub const NODES: usize = 3;

/// One node's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub datacenter: String,
    pub rack: String,
    pub token: String,
}

/// The names of all topologies: folders of the rings' scripts.
pub fn names() -> Result<Vec<String>, String> {
    let folder = root().join(RING_FOLDER);
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The places of a topology's nodes.
pub fn places(topology: &str) -> Result<Vec<Place>, String> {
    let path = root().join(RING_FOLDER).join(topology).join("nodes.txt");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let places: Vec<Place> =
        parse(&text).ok_or_else(|| format!("{}: not a datacenter, rack and token", path.display()))?;
    if places.len() == NODES { Ok(places) } else { Err(format!("{}: {NODES} nodes are a ring", path.display())) }
}

fn parse(text: &str) -> Option<Vec<Place>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let place = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [datacenter, rack, token] => {
            Some(Place { datacenter: datacenter.into(), rack: rack.into(), token: token.into() })
        }
        _ => None,
    };
    lines.map(place).collect()
}

/// The lines that both servers have in their configuration.
pub fn settings() -> Result<String, String> {
    let path = root().join(RING_FOLDER).join("settings.yaml");
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_node() {
        let places = parse("# of it\n\ndc1 r1 -5\ndc2 r2 7\n").expect("places");
        assert_eq!((places.len(), places[1].datacenter.as_str(), places[0].token.as_str()), (2, "dc2", "-5"));
        assert!(parse("dc1 r1\n").is_none());
    }
}
