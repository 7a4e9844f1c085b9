//! Answers to other nodes on control connections, and the judgement of those that dial.

use std::net::Ipv4Addr;
use std::rc::{Rc, Weak};

use internode::{
    ANY_NODE, Answering, Hello, Listening, Malformed, Purpose, Verbs, Verdict, control_verbs, register_asked,
};
use membership::{Greeting, Introduction, JoinAnswer, PlanError, Refusal, Request, Standing};
use metadata::group::{Answer, GroupMessage, Heartbeat, node_id};
use topology::HostId;
use topology::nodes::{Address, Boot};

use super::contact::DISCOVER;
use super::recover::{FOLLOW, LOG_END};
use super::{Inner, contact};

/// Asks a member to register the asking node; the body is the request.
pub(super) const JOIN: u8 = 19;

/// More snapshot than one answer has room for.
const STATE_BYTES_MAX: usize = 8 << 20;

impl Inner {
    /// The port's part: who is accepted, and which verbs are answered.
    pub(super) fn listening(self: &Rc<Self>) -> Listening {
        let of = Rc::downgrade(self);
        let judge = move |hello: &Hello| of.upgrade().map_or(Verdict::Stranger, |inner| inner.judge(hello));
        let control = Answering { incoming: self.incoming.clone(), verbs: Rc::new(verbs(&Rc::downgrade(self))) };
        Listening {
            local: self.local.clone(),
            judge: Rc::new(judge),
            requests: Rc::clone(&self.requests),
            control: Some(control),
        }
    }

    fn judge(&self, hello: &Hello) -> Verdict {
        let (own, other) = (self.local.group(), hello.group);
        // Reads and writes of another group's plans are none of this one's.
        let is_named = other.id != 0 || hello.purpose != Purpose::Control;
        if own.id != 0 && is_named && own != other {
            return Verdict::OtherGroup;
        }
        if hello.wanted == ANY_NODE {
            // It looks for its cluster, or for what became of it; what it asks for is judged with its request.
            return Verdict::Welcome;
        }
        let registry = self.registry.borrow();
        let boot = Boot { number: hello.boot.number, word: hello.boot.word };
        // The hello has no address; that of a node that asks to join is judged with its request.
        let nowhere = Address::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let greeting = Greeting { host_id: hello.host_id, boot, internode: nowhere };
        match membership::judge_planted(&registry, &greeting, self.planted) {
            Ok(Standing::Known) => Verdict::Welcome,
            // One that joined a moment ago, or that knows this node's group before it does.
            Ok(Standing::Unknown)
                if hello.purpose == Purpose::Control && (hello.wanted == ANY_NODE || other == own) =>
            {
                Verdict::Welcome
            }
            Ok(Standing::Unknown) => Verdict::Stranger,
            Err(Refusal::Removed { .. }) => Verdict::Removed,
            Err(Refusal::OldDisk { .. }) => Verdict::OldDisk,
            Err(Refusal::AddressTaken { .. }) => Verdict::AddressTaken,
        }
    }

    /// A message of the group has come. Those of nodes that are not of it are dropped.
    fn receive(&self, from: HostId, body: &[u8]) -> Result<(), Malformed> {
        let Some(driver) = self.driver.get() else { return Ok(()) };
        if self.registry.borrow().node(from).is_none() {
            return Ok(());
        }
        let arrived = self.wire.borrow_mut().receive(node_id(from), body).map_err(Malformed::new)?;
        arrived.replies.into_iter().for_each(|reply| self.control.send(from, reply));
        match arrived.message {
            // It does not know any more what it voted for, acknowledged and decided. What it asks for it gets.
            Some(message) if !self.disks.is_older(from) || is_question(&message) => {
                driver.receive(node_id(from), message);
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// A sign of life has come, with a request or as an answer. False if its sender is starting.
    pub(super) fn hear_heartbeat(&self, from: HostId, heartbeat: &Heartbeat) -> Result<bool, Malformed> {
        if self.registry.borrow().has_left(from) {
            // When it dials again it is refused, and learns of its removal.
            return Err(Malformed::new("the node was removed from the cluster"));
        }
        let registered = self.registry.borrow().node(from).map(|node| node.start.boot.number);
        if registered.is_some_and(|boot| heartbeat.boot < boot) {
            // It was accepted before a later start of this host id registered. When it dials again it is refused, and ends.
            return Err(Malformed::new("a later start of the node is registered"));
        }
        let (Some(_), Some(driver)) = (registered, self.driver.get()) else { return Ok(false) };
        let doubted_since = self.registry.borrow().doubted_since(from);
        let is_known = self.disks.hear(from, doubted_since, heartbeat);
        if let Some(heard) = heartbeat.older {
            driver.with_member(|member, _| member.hear_of_older_disk(heard));
        }
        match heartbeat.is_lost {
            true => self.lost.borrow_mut().insert(from),
            false => self.lost.borrow_mut().remove(&from),
        };
        if !self.disks.is_older(from) {
            driver.receive(node_id(from), GroupMessage::Applied { epoch: heartbeat.epoch });
        }
        Ok(is_known)
    }

    /// This node's sign of life to another one. While the node starts its epoch is 0, which is no place of a log.
    pub(super) fn heartbeat(&self, to: HostId, is_whole: bool) -> Heartbeat {
        let (boot, is_ready) = (self.boot.number, self.is_ready.get());
        let vitals = Some(self.vital.own(&self.runtime));
        let mut heartbeat = Heartbeat { boot, is_ready, vitals, ..Heartbeat::default() };
        if let Some(driver) = self.driver.get() {
            driver.with_member(|member, _| {
                (heartbeat.epoch, heartbeat.began) = (member.applied(), member.began());
                heartbeat.is_lost = member.raft().is_lost();
            });
        }
        self.disks.describe(to, is_whole, &mut heartbeat);
        heartbeat
    }

    /// This node's word about itself.
    pub(super) fn own_introduction(&self) -> Introduction {
        // One that recovers is of the group as it was.
        let group = self.group.get().or(self.log_end.get().map(|end| end.group));
        Introduction { group, ..self.search.borrow().introduction() }
    }

    /// This node's word about itself, to one that asks.
    fn introduce(&self, from: HostId, asker: &Introduction) -> Introduction {
        if self.group.get().is_none() {
            self.search.borrow_mut().asked_by(asker);
        } else if from == asker.host_id {
            contact::hear_address(self, from, asker.address);
        }
        self.own_introduction()
    }

    /// Has the group register a node that asks to join.
    async fn accept(self: Rc<Self>, request: Vec<u8>) -> JoinAnswer {
        let not_now = |reason: &str| JoinAnswer::NotNow(reason.to_owned());
        let Ok(request) = Request::decode(&request) else { return JoinAnswer::Refused("malformed request".to_owned()) };
        let Request::Register(registration) = &request else {
            return JoinAnswer::Refused("a node asks to be registered, and for nothing else".to_owned());
        };
        let (Some(group), Some(driver)) = (self.group.get(), self.driver.get()) else {
            return not_now("this node is starting");
        };
        match self.propose(&request).await {
            Answer::Applied { .. } => {}
            Answer::Refused { reason, .. } if reason.is_empty() => {}
            Answer::Refused { reason, .. } => {
                return JoinAnswer::Refused(String::from_utf8_lossy(&reason).into_owned());
            }
            // A leader has the last word; without one, what this member knows is more use to an operator than a wait.
            _ => {
                return match membership::plan(&self.registry.borrow(), &request) {
                    Err(PlanError::Refused(refusal)) => JoinAnswer::Refused(refusal.to_string()),
                    _ => not_now("the metadata group has no leader now"),
                };
            }
        }
        let snapshot = driver.with_member(|member, _| {
            let registry = member.state().cluster().of::<membership::TopologyDomain>();
            registry.node(registration.host_id).map(|_| member.snapshot())
        });
        let Some(snapshot) = snapshot else { return not_now("the asked member lags") };
        let bytes: usize = snapshot.parts.iter().map(|part| part.bytes.len()).sum();
        match bytes > STATE_BYTES_MAX {
            true => {
                JoinAnswer::Refused(format!("the cluster's state of {bytes} bytes is too large for a node to join"))
            }
            false => JoinAnswer::Accepted(group, snapshot.into()),
        }
    }
}

/// True if the message says nothing that its sender has decided.
fn is_question(message: &GroupMessage) -> bool {
    matches!(message, GroupMessage::Since { .. } | GroupMessage::Propose { .. } | GroupMessage::WhoLeads { .. })
}

fn verbs(of: &Weak<Inner>) -> Verbs {
    let inner = of.clone();
    let group = move |from, body: &[u8]| inner.upgrade().map_or(Ok(()), |inner| inner.receive(from, body));
    let inner = of.clone();
    let heartbeat = move |from, body: &[u8]| {
        let Some(inner) = inner.upgrade() else { return Ok(Vec::new()) };
        let heartbeat = Heartbeat::decode(body).map_err(Malformed::new)?;
        inner.hear_heartbeat(from, &heartbeat)?;
        // It was refused, or starting, when this node dialled it last.
        inner.control.hurry(from);
        Ok(inner.heartbeat(from, heartbeat.is_whole).in_answer_to(&heartbeat).to_bytes())
    };
    let mut verbs = control_verbs(group, heartbeat);
    let inner = of.clone();
    register_asked(&mut verbs, DISCOVER, "a question for the group", move |from, body| {
        let asker = Introduction::decode(body).map_err(Malformed::new)?;
        let answer = inner.upgrade().map(|inner| inner.introduce(from, &asker).to_bytes());
        Ok(std::future::ready(answer.unwrap_or_default()))
    });
    let inner = of.clone();
    register_asked(&mut verbs, LOG_END, "a question for the log's end", move |_, _| {
        let end = inner.upgrade().map_or(Ok(Vec::new()), |inner| inner.log_end())?;
        Ok(std::future::ready(end))
    });
    let inner = of.clone();
    register_asked(&mut verbs, FOLLOW, "a request to follow a recovery", move |from, _| {
        let answer = inner.upgrade().map(|inner| inner.recovered_state(from).to_bytes());
        Ok(std::future::ready(answer.unwrap_or_default()))
    });
    let inner = of.clone();
    register_asked(&mut verbs, JOIN, "a request to join", move |_, body| Ok(joined(inner.clone(), body.to_vec())));
    verbs
}

async fn joined(of: Weak<Inner>, request: Vec<u8>) -> Vec<u8> {
    match of.upgrade() {
        Some(inner) => inner.accept(request).await.to_bytes(),
        None => JoinAnswer::NotNow("this node is ending".to_owned()).to_bytes(),
    }
}
