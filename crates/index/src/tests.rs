//! Components against a sorted map, page by page.

mod damage;
mod golden;
mod histories;
mod measure;
mod model;
mod reading;
mod witnesses;

use planted::Planted;

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
pub(crate) fn planted_by_test() -> Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return Planted::named(&name).expect("HELENUS_PLANT names a bug");
    }
    Planted::NONE
}
