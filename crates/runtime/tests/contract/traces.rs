//! The trace of a request: where it is the present one, and where not.

use runtime::{Group, ReactorKind};

use crate::{on_every_reactor, run_one};

on_every_reactor!(a_trace_follows_its_request_into_tasks_of_its_group);

fn a_trace_follows_its_request_into_tasks_of_its_group(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let (first, second) = (rt.tracing().begin([1; 16]), rt.tracing().begin([2; 16]));
        let present = |rt: &runtime::Runtime| rt.tracing().present().map(|trace| trace.id()[0]);
        let other = rt.clone();
        // One that is there already has none, though it runs beside a request that is traced.
        let before = rt.spawn(Group::Query, async move {
            other.yield_now().await;
            present(&other)
        });
        let request = async {
            assert_eq!(present(&rt), Some(1));
            rt.yield_now().await;
            let within = rt.clone();
            let of_request = rt.spawn(Group::Query, async move {
                within.yield_now().await;
                let deeper = within.clone();
                within.spawn(Group::Query, async move { present(&deeper) }).await
            });
            let within = rt.clone();
            let of_others = rt.spawn(Group::Maintenance, async move { present(&within) });
            let nested = rt.tracing().under(second, async { present(&rt) }).await;
            assert_eq!((of_request.await, of_others.await, nested), (Some(1), None, Some(2)));
            rt.tracing().step(|| "done".to_owned());
        };
        rt.tracing().under(first.clone(), request).await;
        assert_eq!((before.await, present(&rt)), (None, None));
        rt.tracing().step(|| panic!("no request is traced"));
        let steps: Vec<String> = first.steps().into_iter().map(|step| step.activity).collect();
        assert_eq!(steps, ["done"]);
    });
}
