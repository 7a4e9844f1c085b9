//! The import of another cluster's roles: planned on this node's state, made by the leader as one list of changes.

use admin::{Answer, Refusal, RolesOrder};
use auth::{Actor, RolesImport};
use query::{AccessChangesError, plan_roles_import, propose_access_changes};

use super::{Done, Operator};

impl Operator {
    pub(super) async fn import_roles(&self, order: RolesOrder) -> Done {
        let Some(login) = &order.login else {
            let words = "roles are imported by a superuser who has logged in: set authenticator first";
            return Err(Refusal::Refused(words.to_owned()));
        };
        let actor = Actor::Role(login.role());
        let planned = plan_roles_import(&self.engine, actor, (&order.roles, order.replaces));
        let RolesImport { changes, imported, skipped } =
            planned.map_err(|error| Refusal::Forbidden(error.to_string()))?;
        if !order.is_dry && !changes.is_empty() {
            propose_access_changes(&self.engine, actor, changes).await.map_err(|error| match error {
                AccessChangesError::Refused(words) => Refusal::Refused(format!("nothing is imported: {words}")),
                AccessChangesError::Failed(words) => Refusal::Failed(words),
            })?;
        }
        Ok(Answer::ImportedRoles { imported, skipped })
    }
}
