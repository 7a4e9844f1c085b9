//! An analysis from the options of CREATE INDEX, with Cassandra's rules. (Source: Cassandra 5.0.6, `IndexMode`, `NonTokenizingOptions` of SAI and of SASI,
//! `StandardTokenizerOptions`, `DelimiterTokenizingOptions`.)
//!
//! SASI's stemming and stop words are refused: each needs tables of fifteen languages, which have to be Cassandra's to the letter.

use std::collections::BTreeMap;

use super::{Analysis, Analyzer, Case, Mode};

type Options = BTreeMap<String, String>;

/// An option that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Not a mode.
    #[error("Incorrect index mode: {0}")]
    Mode(String),
    /// Not an analyzer.
    #[error("Invalid analyzer class option specified [{0}]")]
    Analyzer(String),
    /// Lower and upper case at once.
    #[error("Options to normalize terms cannot be both uppercase and lowercase at the same time")]
    BothCases,
    /// Two ways to say one thing.
    #[error(
        "case_sensitive option cannot be specified together with either normalize_lowercase or normalize_uppercase"
    )]
    CaseTwice,
    /// A delimiter is one character.
    #[error("Only single character delimiters supported, was {0}")]
    Delimiter(String),
    /// Neither true nor false.
    #[error("Illegal value for boolean option '{name}': {value}")]
    Boolean {
        /// The option.
        name: &'static str,
        /// As it was given.
        value: String,
    },
    /// Nothing where true or false is wanted.
    #[error("Empty value for boolean option '{0}'")]
    EmptyBoolean(&'static str),
    /// Known, and not supported.
    #[error("the option {0} is not supported")]
    Unsupported(&'static str),
}

impl Analysis {
    /// The analysis of a storage-attached index with these options; others than the analysis' are left alone.
    ///
    /// # Errors
    ///
    /// If an option is neither true nor false.
    pub fn of_sai_options(options: &Options) -> Result<Analysis, OptionError> {
        let boolean = |name: &'static str, default: bool| match options.get(name) {
            None => Ok(default),
            Some(value) if value.is_empty() => Err(OptionError::EmptyBoolean(name)),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(value) => Err(OptionError::Boolean { name, value: value.clone() }),
        };
        Ok(Analysis::Sai {
            case_sensitive: boolean("case_sensitive", true)?,
            normalize: boolean("normalize", false)?,
            ascii: boolean("ascii", false)?,
        })
    }

    /// The analysis of a SASI index on a column, which is a text or not, with these options; others than the analysis' are left alone.
    ///
    /// # Errors
    ///
    /// If an option has no such value, contradicts another one, or is not supported.
    pub fn of_sasi_options(options: &Options, is_text: bool) -> Result<Analysis, OptionError> {
        let mode = match options.get("mode").map(|mode| mode.to_ascii_uppercase()).as_deref() {
            None | Some("PREFIX") => Mode::Prefix,
            Some("CONTAINS") => Mode::Contains,
            Some("SPARSE") => Mode::Sparse,
            Some(_) => return Err(OptionError::Mode(options["mode"].clone())),
        };
        let class = options.get("analyzer_class");
        let is_analyzed = options.get("analyzed").map_or(class.is_some(), |value| is_true(value));
        let analyzer = match class.map(|class| class.rsplit('.').next().unwrap_or(class)) {
            _ if !is_analyzed => Analyzer::NoOp,
            None if is_text => standard(options)?,
            None | Some("NoOpAnalyzer") => Analyzer::NoOp,
            Some("NonTokenizingAnalyzer") => non_tokenizing(options)?,
            Some("DelimiterAnalyzer") => delimiter(options)?,
            Some("StandardAnalyzer") => standard(options)?,
            Some(class) => return Err(OptionError::Analyzer(class.to_owned())),
        };
        Ok(Analysis::Sasi { mode, analyzer })
    }
}

/// As Java's `Boolean.parseBoolean`: anything else is false.
fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}

fn is_set(options: &Options, name: &str) -> bool {
    options.get(name).is_some_and(|value| is_true(value))
}

fn case(is_lower: bool, is_upper: bool) -> Result<Case, OptionError> {
    match (is_lower, is_upper) {
        (true, true) => Err(OptionError::BothCases),
        (true, false) => Ok(Case::Lower),
        (false, true) => Ok(Case::Upper),
        (false, false) => Ok(Case::Kept),
    }
}

fn non_tokenizing(options: &Options) -> Result<Analyzer, OptionError> {
    let [lower, upper] = ["normalize_lowercase", "normalize_uppercase"];
    let sensitive = options.get("case_sensitive");
    if sensitive.is_some() && (options.contains_key(lower) || options.contains_key(upper)) {
        return Err(OptionError::CaseTwice);
    }
    let is_insensitive = sensitive.is_some_and(|value| !is_true(value));
    let case = case(is_insensitive || is_set(options, lower), is_set(options, upper))?;
    Ok(Analyzer::NonTokenizing { case })
}

fn delimiter(options: &Options) -> Result<Analyzer, OptionError> {
    let Some(text) = options.get("delimiter") else { return Ok(Analyzer::Delimiter(',')) };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        // Java's characters are those of the basic plane.
        (Some(one), None) if one.len_utf16() == 1 => Ok(Analyzer::Delimiter(one)),
        _ => Err(OptionError::Delimiter(text.clone())),
    }
}

fn standard(options: &Options) -> Result<Analyzer, OptionError> {
    for name in ["tokenization_enable_stemming", "tokenization_skip_stop_words"] {
        // Without a locale neither does anything.
        if is_set(options, name) && options.contains_key("tokenization_locale") {
            return Err(OptionError::Unsupported(name));
        }
    }
    let [lower, upper] = ["tokenization_normalize_lowercase", "tokenization_normalize_uppercase"];
    Ok(Analyzer::Standard { case: case(is_set(options, lower), is_set(options, upper))? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sasi(options: &[(&str, &str)]) -> Result<Analysis, OptionError> {
        let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Analysis::of_sasi_options(&options, true)
    }

    fn analyzer(class: &str, options: &[(&str, &str)]) -> Result<Analyzer, OptionError> {
        let class = ["org.apache.cassandra.index.sasi.analyzer.", class].concat();
        match sasi(&[&[("analyzer_class", &class[..])], options].concat())? {
            Analysis::Sasi { analyzer, mode: Mode::Prefix } => Ok(analyzer),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_of_sasi_are_read_as_cassandra_reads_them() {
        assert_eq!(sasi(&[]), Ok(Analysis::Sasi { mode: Mode::Prefix, analyzer: Analyzer::NoOp }));
        let contains = sasi(&[("mode", "contains"), ("analyzed", "true")]);
        let standard = Analyzer::Standard { case: Case::Kept };
        assert_eq!(contains, Ok(Analysis::Sasi { mode: Mode::Contains, analyzer: standard.clone() }));
        assert_eq!(sasi(&[("mode", "x")]), Err(OptionError::Mode("x".to_owned())));
        let plain = |case| Ok(Analyzer::NonTokenizing { case });
        assert_eq!(analyzer("NonTokenizingAnalyzer", &[("case_sensitive", "false")]), plain(Case::Lower));
        assert_eq!(analyzer("NonTokenizingAnalyzer", &[("normalize_uppercase", "true")]), plain(Case::Upper));
        assert_eq!(analyzer("NonTokenizingAnalyzer", &[("analyzed", "false")]), Ok(Analyzer::NoOp));
        let both = [("normalize_uppercase", "true"), ("normalize_lowercase", "true")];
        assert_eq!(analyzer("NonTokenizingAnalyzer", &both), Err(OptionError::BothCases));
        let twice = [("normalize_uppercase", "false"), ("case_sensitive", "true")];
        assert_eq!(analyzer("NonTokenizingAnalyzer", &twice), Err(OptionError::CaseTwice));
        assert_eq!(analyzer("DelimiterAnalyzer", &[]), Ok(Analyzer::Delimiter(',')));
        assert_eq!(analyzer("DelimiterAnalyzer", &[("delimiter", "|")]), Ok(Analyzer::Delimiter('|')));
        assert!(analyzer("DelimiterAnalyzer", &[("delimiter", "||")]).is_err());
        assert!(analyzer("OtherAnalyzer", &[]).is_err());
        let stemming = [("tokenization_enable_stemming", "true"), ("tokenization_locale", "en")];
        let refused = OptionError::Unsupported("tokenization_enable_stemming");
        assert_eq!(analyzer("StandardAnalyzer", &stemming), Err(refused));
        assert_eq!(analyzer("StandardAnalyzer", &stemming[..1]), Ok(standard));
        let upper = analyzer("StandardAnalyzer", &[("tokenization_normalize_uppercase", "TRUE")]);
        assert_eq!(upper, Ok(Analyzer::Standard { case: Case::Upper }));
    }

    #[test]
    fn options_of_sai_are_true_or_false() {
        let sai = |value: &str| Analysis::of_sai_options(&[("ascii".to_owned(), value.to_owned())].into());
        assert_eq!(sai("True"), Ok(Analysis::Sai { case_sensitive: true, normalize: false, ascii: true }));
        let error = sai("1").expect_err("it is neither");
        assert_eq!(sai(""), Err(OptionError::EmptyBoolean("ascii")));
        assert_eq!(error.to_string(), "Illegal value for boolean option 'ascii': 1");
    }
}
