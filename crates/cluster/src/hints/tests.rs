//! Hints on simulated machines: the store under power cuts, files that clients would like to write, and three nodes of which some are away.

mod forged;
mod nodes;
mod store;

use planted::Planted;

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
fn planted() -> Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return Planted::named(&name).expect("HELENUS_PLANT names a bug");
    }
    Planted::NONE
}
