//! The console's files: what the browser gets, in the binary as in the repository. See `docs/internals/console.md`.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

/// One file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    /// Where it is served.
    pub(crate) path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! asset {
    ($path:literal, $kind:ident, $file:literal) => {
        Asset { path: $path, kind: $kind, text: include_str!(concat!("../console/", $file)) }
    };
}

/// All of them. The page may name no other.
pub(crate) const ASSETS: [Asset; 17] = [
    asset!("/", HTML, "index.html"),
    asset!("/console", HTML, "index.html"),
    asset!("/console/console.css", CSS, "console.css"),
    asset!("/console/icon.svg", SVG, "icon.svg"),
    asset!("/console/theme.js", SCRIPT, "theme.js"),
    asset!("/console/app.js", SCRIPT, "app.js"),
    asset!("/console/rates.js", SCRIPT, "rates.js"),
    asset!("/console/format.js", SCRIPT, "format.js"),
    asset!("/console/charts.js", SCRIPT, "charts.js"),
    asset!("/console/lists.js", SCRIPT, "lists.js"),
    asset!("/console/ring.js", SCRIPT, "ring.js"),
    asset!("/console/circle.js", SCRIPT, "circle.js"),
    asset!("/console/cql.js", SCRIPT, "cql.js"),
    asset!("/console/login.js", SCRIPT, "login.js"),
    asset!("/console/uplot.js", SCRIPT, "vendor/uplot-1.6.32/uPlot.iife.min.js"),
    asset!("/console/uplot.css", CSS, "vendor/uplot-1.6.32/uPlot.min.css"),
    asset!("/console/uplot-license.txt", PLAIN, "vendor/uplot-1.6.32/LICENSE"),
];

/// What the browser must not do on the page's behalf: run a script or load a thing from anywhere else, or show the page in a frame.
const POLICY: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

impl IntoResponse for Asset {
    fn into_response(self) -> Response {
        let mut response = self.text.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        for (name, value) in POLICY {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the whole page weighs, uncompressed.
    const BYTES_MAX: usize = 128 << 10;

    fn of(path: &str) -> &'static Asset {
        ASSETS.iter().find(|asset| asset.path == path).unwrap_or_else(|| panic!("{path} is not served"))
    }

    /// The paths that a text has in quotes.
    fn named(text: &str) -> Vec<&str> {
        text.split(['"', '\'']).filter(|part| part.starts_with("/console/") || part.starts_with("./")).collect()
    }

    #[test]
    fn all_that_the_page_names_is_served() {
        let mut found = 0;
        for asset in ASSETS.iter().filter(|asset| !asset.path.contains("uplot")) {
            for path in named(asset.text) {
                let path = path.replacen("./", "/console/", 1);
                assert_eq!(of(&path).path, path, "{} names it", asset.path);
                found += 1;
            }
        }
        assert!(found >= 12, "only {found} names were found");
    }

    #[test]
    fn nothing_is_inline_or_from_elsewhere() {
        let page = of("/").text;
        for banned in ["<style", " style=", " onclick", " onload", "javascript:", "<iframe"] {
            assert!(!page.contains(banned), "{banned}");
        }
        for script in page.split("<script").skip(1) {
            assert!(script.split('>').next().is_some_and(|tag| tag.contains("src=")), "an inline script: {script:.60}");
        }
        for asset in ASSETS.iter().filter(|asset| asset.kind != PLAIN && !asset.path.contains("uplot")) {
            for (at, _) in asset.text.match_indices("://") {
                let link = &asset.text[asset.text[..at].rfind(['"', '\'']).unwrap_or(0)..];
                // A namespace is a name, not an address.
                assert!(link.starts_with("\"http://www.w3.org/"), "{}: {link:.60}", asset.path);
            }
            for banned in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!asset.text.contains(banned), "{}: {banned}", asset.path);
            }
        }
    }

    #[test]
    fn the_page_is_small() {
        let bytes: usize = ASSETS.iter().skip(1).map(|asset| asset.text.len()).sum();
        println!("the console weighs {bytes} bytes");
        assert!(bytes < BYTES_MAX, "{bytes} bytes");
    }
}
