//! The order of a change: which step follows which, what a failing step leaves, and one change at a time.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;

type StepNotes = Rc<RefCell<Vec<String>>>;

/// A change that notes its steps, and fails at one of them.
struct Noted {
    name: &'static str,
    notes: StepNotes,
    rt: Runtime,
    record: Record,
    is_change: bool,
    fails_at: &'static str,
    /// A fact to be made durable within its preparation.
    first: Option<Box<Noted>>,
}

impl Noted {
    fn new(name: &'static str, notes: &StepNotes, rt: &Runtime, record: Record) -> Noted {
        Noted { name, notes: notes.clone(), rt: rt.clone(), record, is_change: true, fails_at: "", first: None }
    }

    fn note(&self, step: &str) -> Result<(), String> {
        self.notes.borrow_mut().push(format!("{} {step}", self.name));
        if step == self.fails_at { Err(format!("{step} failed")) } else { Ok(()) }
    }
}

impl Steps for Noted {
    type Error = String;

    fn plan(&mut self) -> Result<bool, String> {
        self.note("plan").map(|()| self.is_change)
    }

    fn check(&mut self) -> Result<(), String> {
        self.note("check")
    }

    async fn prepare(&mut self, turn: &Turn<'_>) -> Result<Record, String> {
        self.note("prepare")?;
        if let Some(first) = &mut self.first {
            // The type of a future cannot hold itself; the product's nested changes are of another type.
            Box::pin(turn.carry_out(&mut **first)).await?;
        }
        self.rt.yield_now().await;
        Ok(self.record.clone())
    }

    fn not_durable(&self, error: MetadataError) -> String {
        error.to_string()
    }

    async fn apply_on_all(&mut self) -> Result<(), String> {
        self.rt.yield_now().await;
        self.note("apply")
    }

    async fn finish(&mut self) -> Result<(), String> {
        self.rt.yield_now().await;
        self.note("finish")
    }
}

fn put(name: &str) -> Record {
    schema_record(vec![keyspace(name)])
}

/// Carries out what `make` makes, one after the other, each in a task of its own; gives the steps and the records.
fn carried_out(
    test: &str,
    make: impl FnOnce(&StepNotes, &Runtime) -> Vec<Noted> + Send,
) -> (Vec<String>, Vec<Result<(), String>>, Vec<Record>) {
    let folder = Folder::new(test);
    on_runtime(|rt| async move {
        let (log, _) = open_log(&rt, &folder.0).await.expect("the log opens");
        let (proposer, notes) = (Rc::new(Proposer::new(log)), StepNotes::default());
        let tasks: Vec<_> = make(&notes, &rt)
            .into_iter()
            .map(|mut steps| {
                let proposer = proposer.clone();
                rt.spawn(runtime::Group::Query, async move { proposer.turn().await.carry_out(&mut steps).await })
            })
            .collect();
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await);
        }
        let steps = notes.borrow().clone();
        (steps, results, records_on(&rt, &folder.0).await)
    })
}

#[test]
fn changes_are_made_one_after_the_other_in_their_order() {
    let (steps, results, records) = carried_out("turns-of-changes", |notes, rt| {
        vec![Noted::new("a", notes, rt, put("a")), Noted::new("b", notes, rt, put("b"))]
    });
    assert_eq!(results, [Ok(()), Ok(())]);
    let order = ["plan", "check", "prepare", "apply", "finish"];
    let expected: Vec<String> = ["a", "b"].iter().flat_map(|name| order.map(|step| format!("{name} {step}"))).collect();
    assert_eq!(steps, expected);
    assert_eq!(records, [put("a"), put("b")]);
}

#[test]
fn a_step_that_fails_ends_the_change_and_gives_its_turn_on() {
    let order = ["plan", "check", "prepare", "apply", "finish"];
    for (place, step) in order.into_iter().enumerate() {
        let (steps, results, records) = carried_out(&format!("fails-{step}"), |notes, rt| {
            let failing = Noted { fails_at: step, ..Noted::new("a", notes, rt, put("a")) };
            vec![failing, Noted::new("b", notes, rt, put("b"))]
        });
        assert_eq!(results, [Err(format!("{step} failed")), Ok(())]);
        assert_eq!(steps.len(), place + 1 + order.len(), "{steps:?}");
        // From the record on the change counts.
        let is_durable = place >= 3;
        assert_eq!(records.contains(&put("a")), is_durable, "{step}");
        assert_eq!(records.last(), Some(&put("b")));
    }
}

#[test]
fn nothing_to_change_is_checked_and_not_recorded() {
    let (steps, results, records) =
        carried_out("nothing", |notes, rt| vec![Noted { is_change: false, ..Noted::new("a", notes, rt, put("a")) }]);
    assert_eq!((steps.len(), results, records), (2, vec![Ok(())], Vec::new()));
}

#[test]
fn a_preparation_may_make_a_fact_durable_within_its_turn() {
    let (steps, results, records) = carried_out("within", |notes, rt| {
        let first = Some(Box::new(Noted::new("first", notes, rt, truncation(1))));
        vec![Noted { first, ..Noted::new("a", notes, rt, put("a")) }, Noted::new("b", notes, rt, put("b"))]
    });
    assert_eq!(results, [Ok(()), Ok(())]);
    assert_eq!(steps[2..5], ["a prepare", "first plan", "first check"]);
    assert_eq!(records, [truncation(1), put("a"), put("b")]);
}

#[test]
fn a_change_too_large_is_refused_and_applied_nowhere() {
    let (steps, results, records) = carried_out("too-large", |notes, rt| {
        let large = schema_record(vec![keyspace(&"x".repeat(65 << 20))]);
        vec![Noted::new("a", notes, rt, large), Noted::new("b", notes, rt, put("b"))]
    });
    assert!(results[0].as_ref().is_err_and(|error| error.contains("exceed the limit of 67108864")), "{results:?}");
    assert_eq!(steps[..4], ["a plan", "a check", "a prepare", "b plan"]);
    assert_eq!((&results[1], records), (&Ok(()), vec![put("b")]));
}
