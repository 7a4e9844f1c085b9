//! The command line of `helenus study`.

use std::path::PathBuf;

use clap::Args;

/// Benchmark servers side by side as a study file describes, and write raw data and a report.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Study file (docs/guide/study.md describes the format)
    pub file: PathBuf,

    /// Override a variable of the study; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,

    /// Number of rounds [default: the study's]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,

    /// Run only these systems, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub systems: Vec<String>,

    /// Run only these loads, separated by commas, in the study's order
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub loads: Vec<String>,

    /// Output directory of raw data and report
    #[arg(long, value_name = "DIR", default_value = "study-results")]
    pub out: PathBuf,

    /// Data directory of the servers; its contents are deleted
    #[arg(long, value_name = "DIR", default_value = "study-data")]
    pub data: PathBuf,

    /// Write the report of existing raw data (FILE) again and run nothing
    #[arg(long)]
    pub render: bool,
}

impl Arguments {
    /// Where the raw data of a study that began then go.
    pub(crate) fn results_path(&self, began: &str) -> PathBuf {
        let name = self.file.file_stem().map_or_else(|| "study".into(), |stem| stem.to_string_lossy());
        self.out.join(format!("{name}-{}.json", began.replace(':', "")))
    }

    /// True if that list wants a system or a load.
    pub(crate) fn wants(list: &[String], name: &str) -> bool {
        list.is_empty() || list.iter().any(|wanted| wanted == name)
    }
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}
