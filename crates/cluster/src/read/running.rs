//! Futures that run within one task at the same time. Dropped, they end: what other nodes were asked is cancelled.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

type Boxed<'r, T> = Pin<Box<dyn Future<Output = T> + 'r>>;

/// Futures under way, each with a key.
pub(crate) struct Running<'r, K, T> {
    futures: Vec<(K, Boxed<'r, T>)>,
}

impl<'r, K, T> Running<'r, K, T> {
    /// None.
    pub(crate) fn new() -> Self {
        Running { futures: Vec::new() }
    }

    /// Adds one, which begins with the next wait.
    pub(crate) fn push(&mut self, key: K, future: impl Future<Output = T> + 'r) {
        self.futures.push((key, Box::pin(future)));
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        self.futures.len()
    }

    /// Waits for the next that ends; `None`: there is none.
    pub(crate) async fn next(&mut self) -> Option<(K, T)> {
        poll_fn(|context| {
            if self.futures.is_empty() {
                return Poll::Ready(None);
            }
            for index in 0..self.futures.len() {
                if let Poll::Ready(output) = self.futures[index].1.as_mut().poll(context) {
                    let (key, _) = self.futures.swap_remove(index);
                    return Poll::Ready(Some((key, output)));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Runs all to their ends, and gives their outputs in their order.
pub(super) async fn all<'r, T>(futures: impl Iterator<Item = impl Future<Output = T> + 'r>) -> Vec<T> {
    let mut running = Running::new();
    futures.enumerate().for_each(|(index, future)| running.push(index, future));
    let mut outputs: Vec<Option<T>> = (0..running.len()).map(|_| None).collect();
    while let Some((index, output)) = running.next().await {
        outputs[index] = Some(output);
    }
    outputs.into_iter().flatten().collect()
}
