//! A ring's script: its keyspace, and which of its blocks run with how many nodes down.

use crate::oracle::script::{Block, Script};

/// Begins the line of a script's head about its keyspace.
const REPLICATION: &str = "-- replication: ";
/// At most so many nodes are down: the one that is asked stays.
pub const DOWN_MAX: usize = 2;

/// A script and what a run must know before it begins.
#[derive(Clone, Debug)]
pub struct RingScript {
    pub script: Script,
    /// Named after the file, so that all scripts of a topology can be under way at once.
    pub keyspace: String,
    /// As `CREATE KEYSPACE` takes it.
    pub replication: String,
    /// How many nodes are down, block by block.
    pub down: Vec<usize>,
}

impl RingScript {
    /// Reads the head and the directives.
    pub fn of(script: Script) -> Result<RingScript, String> {
        let fail = |message: &str| format!("{}: {message}", script.name());
        let replication = script.about.iter().find_map(|line| line.strip_prefix(REPLICATION));
        let replication = replication.ok_or_else(|| fail("its head has no `-- replication: {…}`"))?.to_string();
        let stem = script.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let keyspace = stem.replace('-', "_");
        let (mut down, mut now) = (Vec::with_capacity(script.blocks.len()), 0);
        for block in &script.blocks {
            if let Some(value) = block.directive("down") {
                let next = value.parse().ok().filter(|next| (now + 1..=DOWN_MAX).contains(next));
                now = next.ok_or_else(|| fail("`@down` is 1, then 2"))?;
            }
            down.push(now);
        }
        Ok(RingScript { script, keyspace, replication, down })
    }

    /// The topology that it is of: its folder's folder.
    pub fn topology(&self) -> String {
        self.script.name().split('/').next().unwrap_or_default().to_string()
    }
}

/// The node that a block asks, counted from 0: the first, unless it says otherwise.
pub fn asked(block: &Block) -> Result<usize, String> {
    number(block, "at").map(|node| node.unwrap_or(0))
}

/// The node that stands still while a block runs.
pub fn paused(block: &Block) -> Result<Option<usize>, String> {
    number(block, "paused")
}

fn number(block: &Block, directive: &str) -> Result<Option<usize>, String> {
    let Some(value) = block.directive(directive) else { return Ok(None) };
    match value.parse::<usize>() {
        Ok(number @ 1..=super::topology::NODES) => Ok(Some(number - 1)),
        _ => Err(format!("`@{directive} {value}`: there is no such node")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn blocks_after_a_node_is_down_are_of_the_next_stage() {
        let parse =
            |text: &str| RingScript::of(Script::parse(Path::new("a/b/some-levels.cql"), text).expect("a script"));
        let script = parse("-- It.\n-- replication: {'class': 'X'}\n\nSELECT 1;\n\n@down 1\nSELECT 2;\n\nSELECT 3;\n")
            .expect("of a ring");
        assert_eq!((script.keyspace.as_str(), script.replication.as_str()), ("some_levels", "{'class': 'X'}"));
        assert_eq!(script.down, [0, 1, 1]);
        assert!(parse("-- It.\n\nSELECT 1;\n").is_err());
        assert!(parse("-- It.\n-- replication: {}\n\n@down 1\nSELECT 1;\n\n@down 1\nSELECT 2;\n").is_err());
        assert!(parse("-- It.\n-- replication: {}\n\n@down 3\nSELECT 1;\n").is_err());
    }

    #[test]
    fn a_node_is_named_by_its_number() {
        let block = |text: &str| Block::parse(text).expect("a block");
        assert_eq!(asked(&block("SELECT 1;")), Ok(0));
        assert_eq!(asked(&block("@at 3\nSELECT 1;")), Ok(2));
        assert_eq!(paused(&block("@paused 2\nSELECT 1;")), Ok(Some(1)));
        assert!(asked(&block("@at 4\nSELECT 1;")).is_err() && asked(&block("@at 0\nSELECT 1;")).is_err());
    }
}
