//! Histories: texts in `testdata/`, each a sequence of commands with what they print. `HELENUS_EXPECT=write` writes what is printed now.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use raft::{BarrierId, Envelope, Index, Log, Message, NodeId, Options, RoleName};

use crate::world::{World, shown, voters};

/// The commands, as a wrong one is answered.
const COMMANDS: &str = "
group 1 2 3 [+ 4 5]      voters with empty logs, and nodes that may become voters
stand 1                  ticks until the node asks for votes
tick 1 [N]               ticks of one node, and what it wants done
propose 1 text           a change, at a leader
voters 1 = 2 3 4         a change of the voters, at a leader
barrier 1 7              a barrier named 7
transfer 1 2             hand-over
settle                   deliver all messages, until none is left
cut 1-2 1>3              from now on messages between these are lost: both ways, or one
heal                     no message is lost any more
stop 1 · start 1         a process ends, and begins from its disk
forget 1 N               a disk loses its entries after N, and the commit index; the process must be down
damage 1 N               a disk loses its entries after N, and keeps the commit index; the process must be down
compact 1 N              a snapshot stands for the log up to N
restore 1 from 2         the node gets another's committed log as a snapshot
lose 1                   the node hears that its disk is older than it was
learn 1 from 2           the node gets the entries that another has as committed
messages                 prints what is under way
deliver N · drop N       one message of those printed, from 0 on
status                   prints all nodes
";

struct History {
    world: World,
    cut: BTreeSet<(u128, u128)>,
}

fn number(word: &str) -> u128 {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}

fn index(word: &str) -> Index {
    Index(word.parse().unwrap_or_else(|_| panic!("{word} is no index")))
}

fn told(envelope: &Envelope) -> String {
    let Envelope { from, to, term, message } = envelope;
    let text = match message {
        Message::Vote { pre, transfer, last_index, last_term } => {
            let kind = if *pre { "PreVote" } else { "Vote" };
            format!("{kind} last {last_index}.{last_term}{}", if *transfer { " transfer" } else { "" })
        }
        Message::VoteReply { pre, granted } => {
            format!("{}VoteReply {}", if *pre { "Pre" } else { "" }, if *granted { "yes" } else { "no" })
        }
        Message::Append { previous_index, previous_term, entries, commit } => {
            let entries: Vec<String> = entries.iter().map(shown).collect();
            format!("Append after {previous_index}.{previous_term} commit {commit} [{}]", entries.join(" "))
        }
        Message::Appended { matched } => format!("Appended {matched}"),
        Message::Diverged { previous_index, hint, hint_term } => {
            format!("Diverged at {previous_index} hint {hint}.{hint_term}")
        }
        Message::Committed { commit, commit_term } => format!("Committed {commit}.{commit_term}"),
        Message::Heartbeat { commit, commit_term, round } => {
            format!("Heartbeat commit {commit}.{commit_term} round {round}")
        }
        Message::HeartbeatReply { round, commit, lost } => {
            format!("HeartbeatReply commit {commit} round {round}{}", if *lost { " lost" } else { "" })
        }
        Message::TransferNow => "TransferNow".to_owned(),
        Message::Outdated => "Outdated".to_owned(),
    };
    format!("{from}>{to} term {term} {text}")
}

impl History {
    fn run(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut out = String::new();
        match words[..] {
            ["group", ref ids @ ..] => {
                let (voting, others) = ids.split_at(ids.iter().position(|id| *id == "+").unwrap_or(ids.len()));
                let others: Vec<u128> = others.iter().skip(1).map(|id| number(id)).collect();
                let voting = voters(voting.iter().map(|id| number(id)));
                self.world = World::new(&voting, &others, self.world.options);
                self.cut.clear();
            }
            ["stand", id] => {
                let id = NodeId(number(id));
                for _ in 0..10 * self.world.options.election_ticks {
                    self.world.raft(id).elapse();
                    if self.world.raft(id).role() != RoleName::Follower {
                        break;
                    }
                }
                self.world.work(id);
            }
            ["tick", id, ref times @ ..] => {
                for _ in 0..times.first().map_or(1, |times| number(times)) {
                    self.world.raft(NodeId(number(id))).elapse();
                    self.world.work(NodeId(number(id)));
                }
            }
            ["propose", id, text] => {
                let outcome = self.world.raft(NodeId(number(id))).propose(text.as_bytes());
                self.told_place(&mut out, NodeId(number(id)), outcome);
            }
            ["voters", id, "=", ref ids @ ..] => {
                let wanted: BTreeSet<NodeId> = ids.iter().map(|id| NodeId(number(id))).collect();
                let outcome = self.world.raft(NodeId(number(id))).change_voters(&wanted);
                self.told_place(&mut out, NodeId(number(id)), outcome);
            }
            ["barrier", id, name] => {
                let name = BarrierId(u64::try_from(number(name)).expect("small"));
                if let Err(error) = self.world.raft(NodeId(number(id))).barrier(name) {
                    writeln!(out, "refused: {error}").expect("a text takes all");
                }
                self.world.work(NodeId(number(id)));
            }
            ["transfer", id, to] => {
                if let Err(error) = self.world.raft(NodeId(number(id))).transfer(NodeId(number(to))) {
                    writeln!(out, "refused: {error}").expect("a text takes all");
                }
                self.world.work(NodeId(number(id)));
            }
            ["settle"] => {
                let cut = self.cut.clone();
                self.world.settle(|envelope| !cut.contains(&(envelope.from.0, envelope.to.0)));
            }
            ["cut", ref links @ ..] => {
                for link in links {
                    if let Some((a, b)) = link.split_once('-') {
                        self.cut.extend([(number(a), number(b)), (number(b), number(a))]);
                    } else {
                        let (from, to) = link.split_once('>').expect("a link is a-b or a>b");
                        self.cut.insert((number(from), number(to)));
                    }
                }
            }
            ["heal"] => self.cut.clear(),
            ["stop", id] => self.world.stop(NodeId(number(id))),
            ["start", id] => {
                self.world.start(NodeId(number(id)));
                self.world.work(NodeId(number(id)));
            }
            [loss @ ("forget" | "damage"), id, last] => {
                let node = self.world.node(NodeId(number(id)));
                assert!(node.raft.is_none(), "the process is down");
                node.disk.entries.retain(|entry| entry.index <= index(last));
                if loss == "forget" {
                    node.disk.commit = node.disk.commit.min(index(last));
                }
            }
            ["compact", id, last] => {
                let id = NodeId(number(id));
                if let Err(error) = self.world.raft(id).compact(index(last)) {
                    writeln!(out, "refused: {error}").expect("a text takes all");
                }
                let origin = self.world.raft(id).log().origin().clone();
                let disk = &mut self.world.node(id).disk;
                disk.entries.retain(|entry| entry.index > origin.index);
                disk.origin = origin;
            }
            ["restore", id, "from", other] => {
                let mut log: Log = self.world.raft(NodeId(number(other))).log().clone();
                let commit = self.world.raft(NodeId(number(other))).commit_index();
                log.compact(commit).expect("it is there");
                let id = NodeId(number(id));
                self.world.raft(id).restore(log.origin().clone()).expect("it is later");
                let disk = &mut self.world.node(id).disk;
                disk.entries.retain(|entry| entry.index > log.origin().index);
                (disk.commit, disk.origin) = (commit, log.origin().clone());
                self.world.work(id);
            }
            ["lose", id] => {
                self.world.raft(NodeId(number(id))).lose();
                self.world.work(NodeId(number(id)));
            }
            ["learn", id, "from", other] => {
                let other = self.world.raft(NodeId(number(other)));
                let (log, commit) = (other.log().clone(), other.commit_index());
                let learner = self.world.raft(NodeId(number(id)));
                let previous = learner.commit_index();
                let mut entries = log.from(previous.next()).expect("it is there").to_vec();
                entries.retain(|entry| entry.index <= commit);
                let previous = (previous, log.term(previous).expect("it is there"));
                if let Err(error) = learner.learn(previous, entries) {
                    writeln!(out, "refused: {error}").expect("a text takes all");
                }
                self.world.work(NodeId(number(id)));
            }
            ["messages"] => {
                for (place, envelope) in self.world.messages.iter().enumerate() {
                    writeln!(out, "{place}: {}", told(envelope)).expect("a text takes all");
                }
            }
            ["deliver", place] => {
                let place = usize::try_from(number(place)).expect("small");
                let to = self.world.messages[place].to;
                self.world.deliver(place);
                self.world.work(to);
            }
            ["drop", place] => {
                let place = usize::try_from(number(place)).expect("small");
                drop(self.world.messages.remove(place));
            }
            ["status"] => out += &self.world.status(),
            _ => panic!("'{line}' is no command. These are:\n{COMMANDS}"),
        }
        for (node, barrier, index) in self.world.barriers.drain(..) {
            let outcome = index.map_or("failed".to_owned(), |index| format!("passed at {index}"));
            writeln!(out, "{node}: barrier {} {outcome}", barrier.0).expect("a text takes all");
        }
        for (node, trouble) in self.world.troubles.drain(..) {
            writeln!(out, "{node}: {trouble:?}").expect("a text takes all");
        }
        out
    }

    fn told_place(&mut self, out: &mut String, id: NodeId, outcome: Result<(raft::Term, Index), raft::ProposeError>) {
        match outcome {
            Ok((term, index)) => writeln!(out, "at {index}.{term}").expect("a text takes all"),
            Err(error) => writeln!(out, "refused: {error}").expect("a text takes all"),
        }
        self.world.work(id);
    }
}

/// The history with what its commands print now.
fn replayed(text: &str) -> String {
    let options = Options { heartbeat_ticks: 1, election_ticks: 5, ..Options::default() };
    let mut history = History { world: World::new(&voters([1]), &[], options), cut: BTreeSet::new() };
    let mut out = String::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            writeln!(out, "{line}").expect("a text takes all");
            let command = command.split('#').next().unwrap_or_default();
            out += &history.run(command);
        } else if line.is_empty() || line.starts_with('#') {
            writeln!(out, "{line}").expect("a text takes all");
        }
    }
    out
}

#[test]
fn histories_are_as_they_were_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("there are histories")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    assert!(paths.len() > 10, "there are {} histories", paths.len());
    let is_writing = std::env::var("HELENUS_EXPECT").is_ok_and(|value| value == "write");
    let mut wrong = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let now = replayed(&text);
        if now != text && is_writing {
            std::fs::write(&path, &now).expect("it can be written");
        } else if now != text {
            wrong.push(format!("{} prints now:\n{now}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nHELENUS_EXPECT=write accepts it", wrong.join("\n"));
}
