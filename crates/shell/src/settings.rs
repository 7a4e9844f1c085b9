//! All settings of a session: the command line before the environment before the files.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Access, AccessError, Login, PASSWORD_VARIABLE, Passwords};
use cql_protocol::Version;
use tls::{ClientIdentity, MaterialError, PEM_BYTES_MAX, Pem};

use crate::arguments::Arguments;
use crate::connection::{Interrupts, Target, Way};
use crate::cqlshrc::Sections;
use crate::files;
use crate::format::Style;

const HOST: &str = "127.0.0.1";
const PORT: u16 = 9042;
const CONNECT_SECONDS: u64 = 5;
const REQUEST_SECONDS: u64 = 10;
const TRACE_SECONDS: f64 = 10.0;
/// The most bytes of a file with a password.
const PASSWORD_BYTES_MAX: u64 = 4 << 10;

/// A session's settings.
pub(crate) struct Settings {
    pub(crate) way: Way,
    pub(crate) keyspace: Option<String>,
    /// Statements of the command line.
    pub(crate) execute: Option<String>,
    /// A file of statements.
    pub(crate) file: Option<PathBuf>,
    /// Prompts, pauses between pages, errors without a line's number.
    pub(crate) is_interactive: bool,
    pub(crate) style: Style,
    /// The file of history; `None`: there is none.
    pub(crate) history: Option<PathBuf>,
    /// A trace may take so long to be written.
    pub(crate) trace_wait: Duration,
    /// The file of settings, for COPY's options.
    pub(crate) sections: Sections,
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants are")]
pub(crate) enum SettingsError {
    #[error("{0}")]
    Access(#[from] AccessError),
    #[error("{0}")]
    Certificates(#[from] MaterialError),
    #[error("cannot read {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("--ssl needs the certificates that the server's is judged by: --cacert, or certfile in [ssl] of cqlshrc")]
    NoAuthority,
    #[error(
        "validate = false in [ssl] of cqlshrc is not supported: set certfile to the certificates that the server's is judged by"
    )]
    NoValidation,
    #[error("{name}: {given} is not supported; {supported}")]
    Unsupported { name: &'static str, given: String, supported: &'static str },
    #[error("cannot read the password: {0}")]
    Prompt(String),
}

impl Settings {
    /// Reads all places. Asks for a password, if a user has none and a person is there.
    ///
    /// # Errors
    /// One of them says what cannot be.
    pub(crate) fn of(arguments: Arguments, interrupts: impl FnOnce() -> Interrupts) -> Result<Settings, SettingsError> {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let folder = home.join(".cassandra");
        let default = folder.join("cqlshrc");
        let rc = arguments.cqlshrc.as_deref().map(files::expanded).unwrap_or(default);
        let sections = Sections::parse(&files::text_if_there(&rc).unwrap_or_default());
        check_encoding(&arguments, &sections)?;

        let is_script = arguments.file.is_some() || arguments.execute.is_some();
        let stdin = std::io::stdin().is_terminal();
        let is_interactive = !is_script && (arguments.tty || sections.switch("ui", "tty").unwrap_or(stdin));
        let given = [(arguments.color, true), (arguments.no_color, false)];
        let given = given.into_iter().find(|(is_given, _)| *is_given).map(|(_, value)| value);
        let is_coloured = given
            .or_else(|| sections.switch("ui", "color"))
            .unwrap_or_else(|| arguments.file.is_none() && is_colourful_terminal());

        let host = arguments.host.clone().or_else(|| std::env::var("CQLSH_HOST").ok());
        let host = host.or_else(|| sections.get("connection", "hostname").map(str::to_owned));
        let port = arguments.port.or_else(|| std::env::var("CQLSH_PORT").ok()?.parse().ok());
        let port = port.or_else(|| sections.number("connection", "port")).unwrap_or(PORT);
        let seconds = |given: Option<u64>, option: &str, default: u64| {
            Duration::from_secs(given.or_else(|| sections.number("connection", option)).unwrap_or(default))
        };
        let way = Way {
            target: Target::of(host.as_deref().unwrap_or(HOST), port),
            access: access(&arguments, &sections, &folder, is_interactive)?,
            connect_timeout: seconds(arguments.connect_timeout, "timeout", CONNECT_SECONDS)
                .max(Duration::from_millis(1)),
            request_timeout: seconds(arguments.request_timeout, "request_timeout", REQUEST_SECONDS),
            version: version(&arguments, &sections)?,
            interrupts: if is_interactive { interrupts() } else { Interrupts::default() },
        };
        let keyspace = arguments.keyspace.or_else(|| sections.get("authentication", "keyspace").map(str::to_owned));
        let is_history_off = arguments.disable_history || sections.switch("history", "disabled").unwrap_or(false);
        let history = std::env::var_os("CQL_HISTORY").map(PathBuf::from);
        let history = history.unwrap_or_else(|| folder.join("helenus_cql_history"));
        let trace = sections.number("tracing", "max_trace_wait").unwrap_or(TRACE_SECONDS);
        Ok(Settings {
            way,
            keyspace,
            execute: arguments.execute,
            file: arguments.file.as_deref().map(files::expanded),
            is_interactive,
            style: style(&sections, is_coloured),
            history: (!is_history_off).then_some(history),
            trace_wait: Duration::try_from_secs_f64(trace).unwrap_or(Duration::ZERO),
            sections,
        })
    }
}

fn style(sections: &Sections, is_coloured: bool) -> Style {
    let default = Style::default();
    let variable = std::env::var("CQLSH_DEFAULT_TIMESTAMP_FORMAT").ok().filter(|format| !format.is_empty());
    let time_format = sections.get("ui", "time_format").map(str::to_owned).or(variable);
    Style {
        is_coloured,
        time_format: time_format.unwrap_or(default.time_format),
        float_precision: sections.number("ui", "float_precision").unwrap_or(default.float_precision),
        double_precision: sections.number("ui", "double_precision").unwrap_or(default.double_precision),
        ..Style::default()
    }
}

fn is_colourful_terminal() -> bool {
    let terminal = std::env::var("TERM").unwrap_or_default();
    std::io::stdout().is_terminal() && !matches!(terminal.as_str(), "" | "dumb")
}

fn check_encoding(arguments: &Arguments, sections: &Sections) -> Result<(), SettingsError> {
    let given = arguments.encoding.as_deref().or_else(|| sections.get("ui", "encoding")).unwrap_or("utf8");
    let name: String = given.chars().filter(char::is_ascii_alphanumeric).collect();
    match name.eq_ignore_ascii_case("utf8") {
        true => Ok(()),
        false => {
            let supported = "all text is UTF-8";
            Err(SettingsError::Unsupported { name: "--encoding", given: given.to_owned(), supported })
        }
    }
}

fn version(arguments: &Arguments, sections: &Sections) -> Result<Option<Version>, SettingsError> {
    let Some(number) = arguments.protocol_version.or_else(|| sections.number("protocol", "version")) else {
        return Ok(None);
    };
    let known = Version::ALL.into_iter().find(|version| version.number() == number);
    let supported = "versions are 3, 4 and 5";
    let unknown = || SettingsError::Unsupported { name: "--protocol-version", given: number.to_string(), supported };
    known.ok_or_else(unknown).map(Some)
}

/// The login and the certificates.
fn access(
    arguments: &Arguments,
    sections: &Sections,
    folder: &Path,
    is_interactive: bool,
) -> Result<Access, SettingsError> {
    let options = &arguments.access;
    if options.password.is_some() && !arguments.insecure_password_without_warning {
        eprintln!(
            "\nWarning: other users of this machine can read a password on a command line.\n\
             A credentials file, --password-file or the variable {PASSWORD_VARIABLE} keeps it from them.\n"
        );
    }
    let credentials = credentials(arguments, sections, folder);
    let of_files = |name| credentials.get("plain_text_auth", name).or_else(|| sections.get("authentication", name));
    let username = options.username.clone().or_else(|| of_files("username").map(str::to_owned));
    let file = match &options.password_file {
        Some(path) => Some(
            files::bytes(&files::expanded(path), PASSWORD_BYTES_MAX)
                .map_err(|error| AccessError::PasswordFile { path: path.clone(), reason: error.to_string() })?,
        ),
        None => None,
    };
    let variable = std::env::var(PASSWORD_VARIABLE).ok();
    let mut given = options.password.clone();
    if given.is_none() && file.is_none() && username.is_some() {
        given = of_files("password").map(str::to_owned);
        if given.is_none() && variable.is_none() && is_interactive {
            given = Some(crate::editor::password().map_err(SettingsError::Prompt)?);
        }
    }
    let login = Login::of(username, Passwords { given, file, variable })?;
    Ok(Access { login, tls: identity(arguments, sections)? })
}

/// The credentials file, if its owner alone can read it.
fn credentials(arguments: &Arguments, sections: &Sections, folder: &Path) -> Sections {
    let named = arguments.credentials.clone();
    let named = named.or_else(|| sections.get("authentication", "credentials").map(PathBuf::from));
    let path = named.map_or_else(|| folder.join("credentials"), |path| files::expanded(&path));
    if !files::is_private(&path) {
        eprintln!(
            "\nWarning: the credentials file {} is not used: others can read it, or it is not yours. This mends it: chmod 600 {0}\n",
            path.display()
        );
        return Sections::default();
    }
    Sections::parse(&files::text_if_there(&path).unwrap_or_default())
}

fn identity(arguments: &Arguments, sections: &Sections) -> Result<Option<ClientIdentity>, SettingsError> {
    let options = &arguments.access;
    let is_asked = options.ssl || options.cacert.is_some() || sections.switch("connection", "ssl").unwrap_or(false);
    if !is_asked {
        return if options.cert.is_some() { Err(AccessError::CertificateWithoutTls.into()) } else { Ok(None) };
    }
    let of_section = |name| sections.get("ssl", name).map(|path| files::expanded(Path::new(path)));
    let variable = std::env::var_os("SSL_CERTFILE").map(PathBuf::from);
    let trusted = options.cacert.clone().or(variable).or_else(|| of_section("certfile"));
    if sections.switch("ssl", "validate") == Some(false) && options.cacert.is_none() {
        return Err(SettingsError::NoValidation);
    }
    let trusted = pem(&trusted.ok_or(SettingsError::NoAuthority)?)?;
    let certificate = options.cert.clone().or_else(|| of_section("usercert"));
    let Some(certificate) = certificate else { return Ok(Some(ClientIdentity::new(&trusted, None)?)) };
    let key = options.key.clone().or_else(|| options.cert.is_none().then(|| of_section("userkey")).flatten());
    let key = pem(&key.unwrap_or_else(|| certificate.clone()))?;
    Ok(Some(ClientIdentity::new(&trusted, Some((&pem(&certificate)?, &key)))?))
}

fn pem(path: &Path) -> Result<Pem, SettingsError> {
    match files::bytes(path, PEM_BYTES_MAX) {
        Ok(bytes) => Ok(Pem { name: path.display().to_string(), bytes }),
        Err(error) => Err(SettingsError::File { path: path.to_owned(), reason: error.to_string() }),
    }
}
