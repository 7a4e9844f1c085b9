//! How hard the tests try: what fits a change's run, or what a night allows.

/// Whether the long settings are on (`cargo xtask soak`).
fn soak() -> bool {
    std::env::var_os("HELENUS_SOAK").is_some()
}

/// The first value for a change, the second for a soak.
pub fn pick<T>(change: T, soaking: T) -> T {
    if soak() { soaking } else { change }
}

/// The name of the settings, for messages.
pub fn effort() -> &'static str {
    pick("ci", "soak")
}
