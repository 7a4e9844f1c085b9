//! A command line from its words to its verdict.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::hdr_log::HdrLog;
use super::output::{Output, create};
use super::phase::{self, Plan};
use super::population::Population;
use super::progress::{Progress, Told};
use super::report::Report;
use super::search;
use super::settings::{Kind, Length, Limit, RateSettings, Settings, Truncate};
use super::sweep::{Bound, Sweep};
use super::target::{self, Target};
use crate::StressError;
use crate::cpu_time::CpuTimes;

/// How long there is rest between two runs that write, while a number of tasks is searched for.
const REST: Duration = Duration::from_secs(15);

/// Runs a command line, of which the first word is a command. Fails also if an operation failed or a rate was not kept: the report
/// is printed then too.
pub(crate) fn run(words: &[String]) -> Result<(), StressError> {
    let settings = Settings::parse(words)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(cpus) = settings.own.cpus {
        builder.worker_threads(cpus);
    }
    let runtime = builder.enable_all().build().map_err(|source| StressError::Threads { source })?;
    runtime.block_on(drive(&settings, &words[0]))
}

/// What a command line's runs have in common.
struct Drive<'a> {
    settings: &'a Settings,
    target: Arc<Target>,
    seed: u64,
    output: Output,
    hdr_log: Option<HdrLog>,
    reports: Vec<Report>,
    sweep: Option<Sweep>,
}

/// Sets up, warms up, measures, reports and judges.
pub(crate) async fn drive(settings: &Settings, command: &str) -> Result<(), StressError> {
    let output = Output::new(settings.log.file.as_deref())?;
    let hdr_log = settings.log.hdr_file.as_deref().map(HdrLog::create).transpose()?;
    let session = target::connect(settings).await?;
    if settings.command.makes_schema() {
        target::create_schema(&session, settings).await?;
    }
    let target = Arc::new(Target::prepare(session, settings).await?);
    let seed = settings.own.seed.unwrap_or_else(seed_of_time);
    let mut drive = Drive { settings, target, seed, output, hdr_log, reports: Vec::new(), sweep: None };
    let outcome = drive.runs().await;
    // What was measured is told, however it ended.
    if let Some(path) = &settings.own.json {
        drive.write_json(path, command)?;
    }
    drive.output.line(if outcome.is_ok() { "END" } else { "FAILURE" });
    drive.output.finish()?;
    drive.hdr_log.map_or(Ok(()), HdrLog::finish)?;
    outcome
}

fn seed_of_time() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

impl Drive<'_> {
    async fn runs(&mut self) -> Result<(), StressError> {
        let settings = self.settings;
        if settings.command.length == Length::Operations(0) {
            self.output.line("N=0: SCHEMA CREATED, NOTHING ELSE DONE.");
            return Ok(());
        }
        if settings.log.settings {
            self.output.line(&format!("Rows: {}; seed: {}", settings.population, self.seed));
        }
        let (least, most) = match settings.rate {
            RateSettings::Threads { threads, .. } => (threads, threads),
            RateSettings::Search { least, most, .. } => (least, most),
        };
        if settings.command.warmup {
            self.warm_up(most).await?;
        }
        if settings.command.truncate == Truncate::Once {
            target::truncate(self.target.session(), settings).await?;
        }
        if let Some(start) = settings.own.start_at {
            wait_for(start).await?;
        }
        match (settings.rate, settings.own.sweep) {
            (RateSettings::Threads { threads, .. }, Some(bound)) => self.sweep(threads, bound).await,
            (RateSettings::Threads { threads, limit }, None) => self.measure(threads, limit).await,
            (RateSettings::Search { auto, .. }, _) => self.search(least, most, auto).await,
        }
    }

    async fn warm_up(&mut self, threads: usize) -> Result<(), StressError> {
        for plan in Plan::warmups(self.settings, threads, self.seed) {
            let Length::Operations(count) = plan.length else { continue };
            let kind = plan.kinds[0].0;
            self.output.line(&format!("Warming up {} with {count} iterations...", kind.name()));
            let population = Population::new(&self.settings.population, self.seed);
            let mut progress = Progress::silent(self.settings.log.interval);
            let ending = phase::run(plan, self.target.clone(), population, &mut progress).await;
            if let Some(failure) = ending.failure {
                return Err(StressError::Stopped { failure });
            }
        }
        Ok(())
    }

    /// Runs the load with more and more tasks.
    async fn search(&mut self, least: usize, most: usize, auto: bool) -> Result<(), StressError> {
        let target = match self.settings.command.length {
            Length::Error { target, .. } => target,
            _ => 0.0,
        };
        let mut threads = least;
        loop {
            self.output.line(&format!("\nRunning with {threads} threadCount"));
            self.measure(threads, Limit::None).await?;
            let rates: Vec<f64> = self.reports.iter().map(|report| report.rate_of(&report.measured.total())).collect();
            if let Some(before) = self.reports.iter().rev().nth(1) {
                let percent = 100.0 * search::improvement(&rates, 1);
                self.output.line(&format!("Improvement over {} threadCount: {percent:.0}%", before.threads));
            }
            threads = search::next_threads(threads);
            if threads > most || (auto && !search::improves(&rates, target)) {
                return Ok(());
            }
            if self.settings.command.kinds.iter().any(|(kind, _)| kind.is_write()) {
                self.output.line("Sleeping for 15s");
                tokio::time::sleep(REST).await;
            }
        }
    }

    /// Runs the load as fast as it goes, then at fixed rates.
    async fn sweep(&mut self, threads: usize, bound: Bound) -> Result<(), StressError> {
        self.measure(threads, Limit::None).await?;
        let saturation = self.reports.last().map_or(0.0, |report| report.rate_of(&report.measured.total()));
        let mut sweep = Sweep::below(saturation, bound);
        while let Some(rate) = sweep.next() {
            self.output.line(&format!("\nRunning at {rate} op/s"));
            match self.measure(threads, Limit::Fixed(rate)).await {
                // That is among what is asked.
                Ok(()) | Err(StressError::Late { .. }) => {}
                Err(error) => return Err(error),
            }
            if let Some(report) = self.reports.last() {
                sweep.note(report);
            }
        }
        self.output.line(&sweep.text(&self.reports));
        let best = sweep.best();
        self.sweep = Some(sweep);
        best.map(drop).ok_or(StressError::NoRate { bound: bound.to_string() })
    }

    /// A measured run, its report and what is to be said against it.
    async fn measure(&mut self, threads: usize, limit: Limit) -> Result<(), StressError> {
        let settings = self.settings;
        if settings.command.truncate == Truncate::Always {
            target::truncate(self.target.session(), settings).await?;
        }
        let kinds: Vec<Kind> = settings.command.kinds.iter().map(|(kind, _)| *kind).collect();
        self.output.line(&format!(
            "Running {} with {threads} threads {}",
            kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "),
            length(settings.command.length)
        ));
        let plan = Plan::measured(settings, threads, limit, self.seed);
        let population = Population::new(&settings.population, self.seed);
        let before = CpuTimes::so_far(&settings.own.pids)?;
        let mut progress = Progress::begin(settings.log.interval, kinds, &mut self.output, self.hdr_log.as_mut());
        let ending = phase::run(plan, self.target.clone(), population, &mut progress).await;
        let cpu = before.until_now(&settings.own.pids)?;
        let Told { measured, elapsed, stretches } = progress.into_total();
        let late = match (limit, ending.backlog) {
            (Limit::Fixed(rate), Some(backlog)) => backlog.failure(rate),
            _ => None,
        };
        // Of a run that was stopped nothing can be said.
        let is_judged = matches!(limit, Limit::Fixed(_)) && ending.failure.is_none();
        let is_rate_kept = is_judged.then_some(late.is_none());
        let rate = limit.per_second();
        let report = Report { threads, rate, is_rate_kept, measured, elapsed, stretches, cpu };
        if settings.log.summary {
            self.output.line(&report.text());
        }
        let done_per_second = report.rate_of(&report.measured.total());
        self.reports.push(report);
        match (ending.failure, late, limit) {
            (Some(failure), ..) => Err(StressError::Stopped { failure }),
            (None, Some(reason), Limit::Fixed(asked)) => {
                Err(StressError::Late { asked, done: done_per_second, reason })
            }
            _ => Ok(()),
        }
    }

    fn write_json(&self, path: &std::path::Path, command: &str) -> Result<(), StressError> {
        let failed = |source| StressError::Report { path: path.to_owned(), source };
        let reports: Vec<_> = self.reports.iter().map(|report| report.json(command)).collect();
        let value = match (&self.sweep, &self.settings.rate, reports.first()) {
            (Some(sweep), ..) => serde_json::json!({ "sweep": sweep.json(), "runs": reports }),
            (None, RateSettings::Threads { .. }, Some(report)) if reports.len() == 1 => report.clone(),
            _ => serde_json::Value::Array(reports),
        };
        let mut file = create(path)?;
        serde_json::to_writer_pretty(&mut file, &value).map_err(|error| failed(error.into()))?;
        std::io::Write::write_all(&mut file, b"\n").map_err(failed)
    }
}

/// Waits for the instant at which all processes begin.
async fn wait_for(start: SystemTime) -> Result<(), StressError> {
    let now = SystemTime::now();
    match start.duration_since(now) {
        Ok(left) => tokio::time::sleep(left).await,
        Err(late) => return Err(StressError::TooLate { late: late.duration() }),
    }
    Ok(())
}

/// How long a run goes on, in words.
fn length(length: Length) -> String {
    match length {
        Length::Operations(count) => format!("for {count} iteration"),
        Length::Time(time) => format!("{} seconds", time.as_secs_f64()),
        Length::Error { target, .. } => format!("until stderr of mean < {target}"),
    }
}
