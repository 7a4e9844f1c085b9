//! The rounds: in each, every system has its turn, and within it every load and every level.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::StudyError;
use crate::arguments::Arguments;
use crate::file::{Before, Load, Study, System};
use crate::generator;
use crate::machine::{self, Machine};
use crate::progress::{self, Progress};
use crate::results::{Results, Sample};
use crate::server::{Server, Start};
use crate::status::Status;
use crate::summary::named;
use crate::template::Variables;

/// Runs a study. `keep` gets what is there after each round, so that a study that is ended, or a server that is, takes nothing of it along.
pub(crate) fn run(
    study: &Study,
    arguments: &Arguments,
    keep: impl Fn(&Results) -> Result<(), StudyError>,
) -> Result<Results, StudyError> {
    let study = chosen(study, arguments)?;
    std::fs::create_dir_all(&arguments.data)
        .map_err(|source| StudyError::Write { path: arguments.data.clone(), source })?;
    let data =
        arguments.data.canonicalize().map_err(|source| StudyError::Read { path: arguments.data.clone(), source })?;
    let machine = Machine::this(&data);
    let began = machine::now();
    let variables = Variables::of(study.variables.clone());
    let servers = study.systems.iter().map(|system| Server::of(system, &data, &variables)).collect::<Result<_, _>>()?;
    let mut turns = Turns {
        study: &study,
        servers,
        report: data.join("report.json"),
        samples: Vec::new(),
        progress: Progress::of(&study),
        step_began: Instant::now(),
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut results =
        Results { version, study: study.clone(), machine, ended: began.clone(), began, samples: Vec::new() };
    for round in 1..=study.repeats {
        turns.round(round)?;
        results.samples.append(&mut turns.samples);
        results.ended = machine::now();
        keep(&results)?;
    }
    Ok(results)
}

/// The study with what the command line says in place of the file.
fn chosen(study: &Study, arguments: &Arguments) -> Result<Study, StudyError> {
    let mut study = study.clone();
    for (list, what, names) in [
        (&arguments.systems, "system", study.systems.iter().map(|system| &system.name).collect::<Vec<_>>()),
        (&arguments.loads, "load", study.loads.iter().map(|load| &load.name).collect()),
    ] {
        if let Some(name) = list.iter().find(|name| !names.contains(name)) {
            return Err(StudyError::File { path: arguments.file.clone(), reason: format!("unknown {what} `{name}`") });
        }
    }
    study.systems.retain(|system| Arguments::wants(&arguments.systems, &system.name));
    study.loads.retain(|load| Arguments::wants(&arguments.loads, &load.name));
    study.repeats = arguments.repeats.unwrap_or(study.repeats);
    let own = std::env::current_exe().map_or_else(|_| "helenus".to_owned(), |path| path.display().to_string());
    study.variables.entry("helenus".to_owned()).or_insert(own);
    study.variables.extend(arguments.set.iter().cloned());
    Ok(study)
}

/// The servers, whose turn it is, and what they have shown in this round.
struct Turns<'a> {
    study: &'a Study,
    servers: Vec<Server>,
    report: PathBuf,
    samples: Vec<Sample>,
    progress: Progress,
    /// When the last step ended, and so this one began.
    step_began: Instant,
}

impl Turns<'_> {
    fn round(&mut self, round: u32) -> Result<(), StudyError> {
        for at in 0..self.servers.len() {
            let system = &self.study.systems[at];
            let status = self.status(round, &system.name, "begins");
            let mut start = self.begin(at, system)?;
            drop(status);
            self.step_ended();
            for load in self.study.loads.iter().filter(|load| load.is_for(&system.name)) {
                let status = self.status(round, &system.name, &load.name);
                if let Some(again) = self.prepare(at, load)? {
                    start = Some(again);
                }
                drop(status);
                for level in load.each_level() {
                    let status = self.status(round, &system.name, &named(&load.name, level));
                    let sample = self.measure(at, system, load, level, round, start.take())?;
                    drop(status);
                    self.step_ended();
                    println!("{} ({})", line(&sample, self.study.repeats), self.progress.text(None));
                    self.samples.push(sample);
                }
            }
            match system.keep {
                true => self.servers[at].pause()?,
                false if self.servers[at].is_ours() => self.servers[at].kill(),
                false => {}
            }
        }
        Ok(())
    }

    fn step_ended(&mut self) {
        let now = Instant::now();
        self.progress.step_ended(now - self.step_began);
        self.step_began = now;
    }

    /// Shows on a terminal what is done, since when, and how long all of it still takes.
    fn status(&self, round: u32, system: &str, what: &str) -> Status {
        let (progress, before) = (self.progress.clone(), self.step_began.elapsed());
        let what = format!("round {round}, {system}, {what}");
        // The time left comes first: what is under way may be long, and is cut.
        Status::show(move |since| {
            format!("{}: {what}, {}", progress.text(Some(before + since)), progress::lasting(since))
        })
    }

    /// Has a server ready for its turn.
    fn begin(&mut self, at: usize, system: &System) -> Result<Option<Start>, StudyError> {
        let server = &mut self.servers[at];
        if server.is_running() {
            server.wake()?;
            return Ok(None);
        }
        let start = if server.is_ours() { Some(server.start_fresh()?) } else { None };
        let variables = server.variables().with("measure", server.measure_options(&self.report));
        for line in &system.warm {
            let line = variables.fill(line)?;
            generator::must(&line).map_err(|reason| StudyError::Preparation {
                system: system.name.clone(),
                line: line.clone(),
                reason,
            })?;
            if system.settle {
                server.settle()?;
            }
        }
        Ok(start)
    }

    /// Does to a server what a load wants done before.
    fn prepare(&mut self, at: usize, load: &Load) -> Result<Option<Start>, StudyError> {
        let server = &mut self.servers[at];
        match load.before {
            Before::Nothing => return Ok(None),
            // Nobody here can, where the server runs elsewhere; the file says so to whoever reads it.
            _ if !server.is_ours() => return Ok(None),
            Before::Fresh => {
                server.kill();
                server.start_fresh()
            }
            Before::Restart => {
                server.end()?;
                server.start()
            }
            Before::Kill => {
                server.kill();
                server.start()
            }
        }
        .map(Some)
    }

    fn measure(
        &self,
        at: usize,
        system: &System,
        load: &Load,
        level: Option<f64>,
        round: u32,
        start: Option<Start>,
    ) -> Result<Sample, StudyError> {
        let server = &self.servers[at];
        let mut variables = server.variables().with("measure", server.measure_options(&self.report));
        variables = variables.with("report", self.report.display()).with("round", round);
        if let Some(level) = level {
            variables = variables.with("level", level);
        }
        let line = variables.fill(load.line(&system.name))?;
        let before = server.cpu_time();
        let mut ended = generator::run(&line, &self.report);
        let used = server.cpu_time().zip(before).map(|(now, before)| now.saturating_sub(before));
        if let Some(figures) = &mut ended.figures {
            // Who does not look at the server leaves it to us: with connecting and preparing, which come before the first operation.
            let each = used.map(|used| used.as_secs_f64() * 1e6 / figures.operations);
            figures.server_cpu_micros = figures.server_cpu_micros.or(each);
        }
        Ok(Sample {
            load: load.name.clone(),
            level,
            system: system.name.clone(),
            round,
            line: without(&line, &self.report),
            figures: ended.figures,
            error: ended.error,
            stderr: ended.stderr,
            stdout: ended.stdout,
            start_seconds: start.map(|start| start.seconds),
            idle_bytes: start.and_then(|start| start.idle_bytes),
            resident_bytes: server.resident_bytes(),
        })
    }
}

/// A line as it may be shown: where the report went concerns nobody.
fn without(line: &str, report: &Path) -> String {
    line.replace(&format!(" --json '{}'", report.display()), "")
}

/// A run as it is told while the study goes on.
fn line(sample: &Sample, repeats: u32) -> String {
    let load = named(&sample.load, sample.level);
    let head = format!("round {} of {repeats}: {:<12} {load}", sample.round, sample.system);
    let told = match &sample.figures {
        Some(figures) => {
            let cpu =
                figures.server_cpu_micros.map_or_else(String::new, |micros| format!(", {micros:.2} µs of CPU each"));
            format!("{:.0} operations/s{cpu}", figures.per_second)
        }
        None => "no figures".to_owned(),
    };
    match sample.message() {
        Some(message) => format!("{head}: {told}; {message}"),
        None => format!("{head}: {told}"),
    }
}
