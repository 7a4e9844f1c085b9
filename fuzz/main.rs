//! One libFuzzer binary for all targets, since each further one links every crate again.
//!
//! `fuzz --target=NAME FOLDER… FILE…` runs one target; `fuzz --seeds=FOLDER` writes the first inputs. libFuzzer leaves flags with two dashes
//! to the program, and hands all others to itself.

#![no_main]

// Named by `storage`'s format of segments, which `targets/log_records.rs` compiles by its path.
#[path = "../crates/storage/src/batch_head.rs"]
mod batch_head;
mod every_form;
mod seeds;
mod targets;

use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use targets::Target;

/// Chosen before the first input.
static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(init: begin(), |data: &[u8]| {
    let run = TARGET.get().expect("begin() has chosen one");
    run(data);
});

/// Reads the program's own flags: chooses the target, or writes the seeds and ends.
fn begin() {
    if let Some(folder) = flag("--seeds=") {
        seeds::write_all(Path::new(&folder));
        exit(0);
    }
    let Some(target) = flag("--target=").and_then(|name| targets::named(&name)) else {
        eprintln!("say --target=NAME, one of {}; or --seeds=FOLDER", targets::names());
        exit(2);
    };
    TARGET.get_or_init(|| target);
}

fn flag(name: &str) -> Option<String> {
    std::env::args().skip(1).find_map(|argument| Some(argument.strip_prefix(name)?.to_owned()))
}
