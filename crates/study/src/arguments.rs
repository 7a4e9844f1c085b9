//! The command line of `helenus study`.

use std::path::PathBuf;

use clap::Args;

/// Compare servers as a study file says, in turn, and write raw data and a page.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The study, as docs/guide/study.md describes it
    pub file: PathBuf,

    /// Say another value for one of the study's variables; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,

    /// Rounds, in place of the study's
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,

    /// Only these systems
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub systems: Vec<String>,

    /// Only these loads, in the study's order
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub loads: Vec<String>,

    /// The folder for raw data and page
    #[arg(long, value_name = "FOLDER", default_value = "study-results")]
    pub out: PathBuf,

    /// The folder for the servers' data, which is emptied
    #[arg(long, value_name = "FOLDER", default_value = "study-data")]
    pub data: PathBuf,

    /// The file is raw data: write its page anew, run nothing
    #[arg(long)]
    pub render: bool,
}

impl Arguments {
    /// Where the raw data of a study that began then go.
    pub(crate) fn results_path(&self, began: &str) -> PathBuf {
        let name = self.file.file_stem().map_or_else(|| "study".into(), |stem| stem.to_string_lossy());
        self.out.join(format!("{name}-{}.json", began.replace(':', "")))
    }

    /// Whether a system or a load is wanted by that list.
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
