//! The import of another cluster's roles, which `nodetool import-roles` sends. A path of our own: Cassandra's operators copy the files of `system_auth`.

use std::time::Duration;

use auth::{ForeignGrant, ForeignRole, ForeignRoles};
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::routing::post;
use serde_json::{Map, Value, json};

use super::is_json;
use crate::access::Role;
use crate::ask::{Answer, Question, RolesOrder};
use crate::json::{Json, Reply};
use crate::need::ROLES_PATH;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

/// The most bytes of a body: four times those that the changes may have.
pub(crate) const BODY_BYTES_MAX: usize = 16 << 20;
const BODY_TIME_MAX: Duration = Duration::from_secs(60);

pub(super) fn routes() -> Router<App> {
    Router::new().route(ROLES_PATH, post(import))
}

async fn import(State(app): State<App>, parameters: Parameters, request: Request) -> Reply {
    parameters.only(&["replace", "dry_run"])?;
    let (replaces, is_dry) = (parameters.flag("replace", false)?, parameters.flag("dry_run", false)?);
    if !is_json(request.headers()) {
        return Err(Problem::wrong_type("roles are sent as Content-Type: application/json"));
    }
    // A body may be long, so few are in memory at a time.
    let _place = app
        .statements()
        .try_acquire()
        .map_err(|_| Problem::unavailable("too many console statements in flight; retry later"))?;
    let login = request.extensions().get::<Role>().map(|Role(login)| login.clone());
    let body = tokio::time::timeout(BODY_TIME_MAX, to_bytes(request.into_body(), BODY_BYTES_MAX)).await;
    let body = body.map_err(|_| Problem::bad_request("cannot read the request body"))?;
    let body = body.map_err(|_| Problem::too_large(format!("the request body exceeds {BODY_BYTES_MAX} bytes")))?;
    let roles = read(&body).map_err(|what| Problem::bad_request(format!("the roles of files: {what}")))?;
    let order = Box::new(RolesOrder { login, roles, replaces, is_dry });
    match app.ask(0, Question::ImportRoles(order)).await? {
        Answer::ImportedRoles { imported, skipped } => Ok(Json(json!({"imported": imported, "skipped": skipped}))),
        _ => Err(Problem::mixed_up()),
    }
}

/// The rows of a body. Values are in no refusal: one may be a hash.
fn read(body: &[u8]) -> Result<ForeignRoles, String> {
    let value: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON at column {}", error.column()))?;
    let all = Fields::of(&value)?;
    all.only(&["roles", "grants", "identities", "cidr_groups", "left_out"])?;
    let role = |fields: Fields<'_>| {
        let known = ["name", "is_superuser", "can_login", "hash", "member_of", "datacenters", "cidr_groups"];
        fields.only(&known)?;
        Ok(ForeignRole {
            name: fields.text("name")?,
            is_superuser: fields.flag("is_superuser")?,
            may_log_in: fields.flag("can_login")?,
            hash: fields.0.get("hash").filter(|hash| !hash.is_null()).map(|_| fields.text("hash")).transpose()?,
            member_of: fields.texts("member_of")?,
            datacenters: fields.texts("datacenters")?.into_iter().collect(),
            cidr_groups: fields.texts("cidr_groups")?.into_iter().collect(),
        })
    };
    let grant = |fields: Fields<'_>| {
        fields.only(&["role", "resource", "permissions"])?;
        let (role, resource) = (fields.text("role")?, fields.text("resource")?);
        Ok(ForeignGrant { role, resource, permissions: fields.texts("permissions")? })
    };
    Ok(ForeignRoles {
        roles: all.list("roles", role)?,
        grants: all.list("grants", grant)?,
        identities: all.list("identities", |fields| Ok((fields.text("identity")?, fields.text("role")?)))?,
        cidr_groups: all.list("cidr_groups", |fields| Ok((fields.text("name")?, fields.texts("ranges")?)))?,
        left_out: all.list("left_out", |fields| Ok((fields.text("name")?, fields.text("reason")?)))?,
    })
}

/// An object of the body.
struct Fields<'v>(&'v Map<String, Value>);

impl<'v> Fields<'v> {
    fn of(value: &'v Value) -> Result<Fields<'v>, String> {
        value.as_object().map(Fields).ok_or_else(|| "an object is expected".to_owned())
    }

    /// Refuses a field that is not known: a restriction with a misspelt name must not be none.
    fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!("unknown field {name}")),
            None => Ok(()),
        }
    }

    fn text(&self, name: &str) -> Result<String, String> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| format!("{name} is no string"))
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        self.0.get(name).and_then(Value::as_bool).ok_or_else(|| format!("{name} is neither true nor false"))
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let list = self.0.get(name).and_then(Value::as_array);
        let texts = list.and_then(|list| list.iter().map(|value| value.as_str().map(str::to_owned)).collect());
        texts.ok_or_else(|| format!("{name} is no list of strings"))
    }

    fn list<T>(&self, name: &str, of: impl Fn(Fields<'v>) -> Result<T, String>) -> Result<Vec<T>, String> {
        let list = self.0.get(name).and_then(Value::as_array).ok_or_else(|| format!("{name} is no list"))?;
        list.iter().map(|value| of(Fields::of(value)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(role: &str) -> String {
        format!(r#"{{"roles": [{role}], "grants": [], "identities": [], "cidr_groups": [], "left_out": []}}"#)
    }

    const ROLE: &str = r#"{"name": "ada", "is_superuser": false, "can_login": true, "hash": "$2a$x", "member_of": ["team"], "datacenters": [], "cidr_groups": []}"#;

    #[test]
    fn rows_are_read_and_what_is_none_is_refused_without_its_values() {
        let roles = read(body(ROLE).as_bytes()).expect("rows");
        assert_eq!((&*roles.roles[0].name, &roles.roles[0].member_of[..]), ("ada", &["team".to_owned()][..]));
        assert_eq!(roles.roles[0].hash.as_deref(), Some("$2a$x"));
        for (wrong, words) in [
            (ROLE.replace("\"datacenters\"", "\"datacentres\""), "unknown field datacentres"),
            (ROLE.replace("true", "\"$2a$x\""), "can_login is neither true nor false"),
            (ROLE.replace("[\"team\"]", "[1]"), "member_of is no list of strings"),
            (ROLE.replace("\"$2a$x\"", "7"), "hash is no string"),
            ("\"$2a$x\"".to_owned(), "an object is expected"),
            ("$2a$x".to_owned(), "no JSON at column 12"),
        ] {
            assert_eq!(read(body(&wrong).as_bytes()).expect_err("it is refused"), words);
        }
    }
}
