//! A binary heap over a vector whose order is a closure's: entries are compared through what they refer to, which the standard library's heap cannot.

/// Makes `items` a heap whose first is the least.
pub(crate) fn heapify<T>(items: &mut [T], is_less: impl Fn(&T, &T) -> bool) {
    for at in (0..items.len() / 2).rev() {
        sift_down(items, at, &is_less);
    }
}

/// Adds an item.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T, is_less: impl Fn(&T, &T) -> bool) {
    items.push(item);
    let mut at = items.len() - 1;
    while at > 0 && is_less(&items[at], &items[(at - 1) / 2]) {
        items.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/// Removes the least.
pub(crate) fn pop<T>(items: &mut Vec<T>, is_less: impl Fn(&T, &T) -> bool) -> Option<T> {
    if items.is_empty() {
        return None;
    }
    let least = items.swap_remove(0);
    sift_down(items, 0, &is_less);
    Some(least)
}

/// Restores the order after the least was replaced by another.
pub(crate) fn settle<T>(items: &mut [T], is_less: impl Fn(&T, &T) -> bool) {
    sift_down(items, 0, &is_less);
}

fn sift_down<T>(items: &mut [T], mut at: usize, is_less: &impl Fn(&T, &T) -> bool) {
    loop {
        let mut child = 2 * at + 1;
        if child >= items.len() {
            return;
        }
        if child + 1 < items.len() && is_less(&items[child + 1], &items[child]) {
            child += 1;
        }
        if !is_less(&items[child], &items[at]) {
            return;
        }
        items.swap(at, child);
        at = child;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_order_however_they_came() {
        let less = |a: &u32, b: &u32| a < b;
        let mut items: Vec<u32> = (0..100).map(|n| n * 7919 % 101).collect();
        let mut sorted = items.clone();
        heapify(&mut items, less);
        for added in [3, 200, 50] {
            push(&mut items, added, less);
            sorted.push(added);
        }
        items[0] = 77;
        settle(&mut items, less);
        sorted.sort_unstable();
        sorted[0] = 77;
        sorted.sort_unstable();
        let left: Vec<u32> = std::iter::from_fn(|| pop(&mut items, less)).collect();
        assert_eq!(left, sorted);
    }
}
