//! `helenus study`: a comparison of servers from a text file, repeated in turn, told as JSON and as one page.
//!
//! A [`file::Study`] names systems and loads → [`run`] starts the systems ([`server`]) and has the generator load each of them in turn
//! ([`generator`], [`said`]), while [`progress`] tells the time left → [`results::Results`], which are the raw data → [`summary`] with medians and ratios ([`statistics`]) → [`page`].
//! The generator is a process of its own, and a run is known by its report and by the CPU time of the two: this crate sees no frame and no driver.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it starts servers and waits for them, beside no shard: it has clocks, files and processes of its own"
)]

mod arguments;
mod error;
mod figures;
mod file;
mod generator;
mod limits;
mod machine;
mod page;
mod progress;
mod results;
mod run;
mod said;
mod server;
mod statistics;
mod status;
mod summary;
mod template;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

pub use arguments::Arguments;
pub use error::StudyError;

use file::Study;
use results::Results;

/// Does what the arguments say. The exit code is 1 if a run failed or a figure is not what the study asks for.
pub fn run(arguments: &Arguments) -> Result<ExitCode, StudyError> {
    if arguments.render {
        let text = read(&arguments.file)?;
        let results = serde_json::from_str(&text)
            .map_err(|error| StudyError::Results { path: arguments.file.clone(), reason: error.to_string() })?;
        return tell(&results, &arguments.file.with_extension("html"));
    }
    let study = Study::parse(&arguments.file, &read(&arguments.file)?)?;
    let keep = |results: &Results| {
        let text = serde_json::to_string_pretty(results).expect("names are texts");
        write(&arguments.results_path(&results.began), &text)
    };
    let results = run::run(&study, arguments, keep)?;
    let path = arguments.results_path(&results.began);
    println!("raw data: {}", path.display());
    tell(&results, &path.with_extension("html"))
}

/// Writes the page, prints the tables and judges.
fn tell(results: &Results, page: &Path) -> Result<ExitCode, StudyError> {
    let summary = summary::Summary::of(results);
    write(page, &page::page(results, &summary))?;
    println!("page: {}\n\n{}", page.display(), summary.text());
    Ok(if summary.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(path: &Path) -> Result<String, StudyError> {
    fs::read_to_string(path).map_err(|source| StudyError::Read { path: path.to_owned(), source })
}

fn write(path: &Path, text: &str) -> Result<(), StudyError> {
    let failed = |source| StudyError::Write { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}
