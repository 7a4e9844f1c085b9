//! A replication strategy that a program adds: of a range of tokens, all copies lie in racks of an even number.

use cql_protocol::Consistency::{self, All, One, Quorum};
use sim::site::Site;
use topology::strategy::parse_factor;
use topology::{Factor, NodeIndex, OptionsError, Strategies, Strategy, StrategyOptions, Token, TokenRange, token_of};

use super::ring::{READ, Ring};

const CLASS: &str = "org.example.EvenRacks";

/// The next nodes on the ring; for ranges with tokens of `first` or more, those of them whose rack has an even number.
struct EvenRacks {
    copies: u32,
    first: Token,
}

impl EvenRacks {
    fn make(options: &StrategyOptions) -> Result<Box<dyn Strategy>, OptionsError> {
        let mut strategy = EvenRacks { copies: 1, first: Token::MIN };
        for (name, value) in options {
            match name.as_str() {
                "copies" => strategy.copies = parse_factor(value)?,
                "first" => {
                    let number = value.parse().map_err(|_| OptionsError::invalid("first is to be a token"))?;
                    strategy.first = Token(number);
                }
                _ => return Err(OptionsError::Unrecognized { option: name.clone() }),
            }
        }
        Ok(Box::new(strategy))
    }
}

fn is_even(rack: &str) -> bool {
    rack.trim_start_matches(|letter: char| !letter.is_ascii_digit())
        .parse()
        .is_ok_and(|number: u32| number.is_multiple_of(2))
}

impl Strategy for EvenRacks {
    fn factor(&self) -> Factor {
        Factor::Total(self.copies)
    }

    fn place(&self, range: TokenRange, ring: &topology::Ring) -> Vec<NodeIndex> {
        let is_of_even = range.end >= self.first || range.contains(Token::MAX);
        let mut found = Vec::new();
        for node in ring.walk(range.end) {
            let fits = !is_of_even || is_even(&ring.node(node).rack);
            if fits && !found.contains(&node) && found.len() < self.copies as usize {
                found.push(node);
            }
        }
        found
    }
}

fn strategies() -> Strategies {
    let mut strategies = Strategies::default();
    strategies.register(CLASS, EvenRacks::make);
    strategies
}

const WRITES: [&str; 8] = [
    "INSERT INTO ks.t (k, v) VALUES (0, 7)",
    "INSERT INTO ks.t (k, v) VALUES (1, 7)",
    "INSERT INTO ks.t (k, v) VALUES (2, 7)",
    "INSERT INTO ks.t (k, v) VALUES (3, 7)",
    "INSERT INTO ks.t (k, v) VALUES (4, 7)",
    "INSERT INTO ks.t (k, v) VALUES (5, 7)",
    "INSERT INTO ks.t (k, v) VALUES (6, 7)",
    "INSERT INTO ks.t (k, v) VALUES (7, 7)",
];
const READS: [&str; 8] = [
    "SELECT v FROM ks.t WHERE k = 0",
    READ,
    "SELECT v FROM ks.t WHERE k = 2",
    "SELECT v FROM ks.t WHERE k = 3",
    "SELECT v FROM ks.t WHERE k = 4",
    "SELECT v FROM ks.t WHERE k = 5",
    "SELECT v FROM ks.t WHERE k = 6",
    "SELECT v FROM ks.t WHERE k = 7",
];

fn is_of_even_racks(key: usize) -> bool {
    token_of(&(key as i32).to_be_bytes()).0 >= 0
}

/// Six nodes in racks 0 to 3: racks 0 and 1 have two nodes each.
#[test]
fn all_copies_of_a_range_of_keys_lie_in_racks_of_an_even_number() {
    let replication = format!("{{'class': '{CLASS}', 'copies': '3', 'first': '0'}}");
    let mut ring = Ring::start(&[3, 3], 4, &replication, strategies());
    for (write, read) in WRITES.into_iter().zip(READS) {
        for node in [0, 5] {
            ring.ask(node, Quorum, write).expect("all nodes are up");
            let rows = ring.ask(node, Quorum, read).expect("all nodes are up");
            assert_eq!(rows, [vec![Some(7i32.to_be_bytes().to_vec())]], "{read}");
        }
    }
    assert!((0..8).any(is_of_even_racks) && !(0..8).all(is_of_even_racks), "both kinds of keys are asked for");

    // Nodes 1, 3 and 5 are in racks of an odd number. Without them keys of the range have all copies, and others lack some.
    for (killed, up) in [(1, 5), (3, 4), (5, 3)] {
        ring.kill(killed, &[0], up);
    }
    let mut lacking = 0;
    for (key, (write, read)) in WRITES.into_iter().zip(READS).enumerate() {
        let said = [ring.says(0, All, write), ring.says(0, All, read)];
        match is_of_even_racks(key) {
            true => assert_eq!(said, ["ok", "ok"], "{write}: nodes 0, 2 and 4 have it"),
            false => lacking += usize::from(said.iter().all(|said| said.starts_with("unavailable"))),
        }
    }
    assert!(lacking > 0, "keys of other ranges have copies in all racks");

    // A level counts by the factor: three copies, of which one node is left for the range.
    ring.kill(2, &[0], 2);
    ring.kill(4, &[0], 1);
    let key = (0..8).find(|key| is_of_even_racks(*key)).expect("there is one");
    assert_eq!(ring.says(0, Quorum, WRITES[key]), "unavailable 1/2");
    assert_eq!(ring.says(0, One, READS[key]), "ok");
}

#[test]
fn a_statement_names_the_class_and_its_options_are_checked() {
    let replication = format!("{{'class': '{CLASS}', 'copies': '1'}}");
    let mut ring = Ring::start(&[1], 1, &replication, strategies());
    let mut refused = |text| ring.ask(0, Consistency::One, text).expect_err("the options do not fit").message;
    assert_eq!(
        refused("CREATE KEYSPACE a WITH replication = {'class': 'org.example.EvenRacks', 'colour': 'red'}"),
        "Unrecognized strategy option {colour} passed to EvenRacks for keyspace a"
    );
    assert_eq!(
        refused("CREATE KEYSPACE a WITH replication = {'class': 'org.example.EvenRacks', 'copies': '-1'}"),
        "Replication factor must be non-negative, found -1"
    );
    assert_eq!(
        refused("CREATE KEYSPACE a WITH replication = {'class': 'org.example.OddRacks'}"),
        "Unable to find replication strategy class 'org.example.OddRacks'"
    );
}

/// The folder is of a program that had the strategy.
#[test]
fn a_program_without_the_strategy_of_a_keyspace_does_not_start() {
    let replication = format!("{{'class': '{CLASS}', 'copies': '1'}}");
    let mut ring = Ring::start(&[1], 1, &replication, strategies());
    let machine = ring.site.nodes()[0];
    ring.site.world().kill(machine);
    ring.site.set_strategies(Strategies::default());
    ring.site.begin_start(0);
    let refused = ring.refusal(0);
    assert_eq!(
        refused,
        "keyspace ks cannot be placed: Unable to find replication strategy class 'org.example.EvenRacks'; start a helenus that has this replication strategy"
    );
}
