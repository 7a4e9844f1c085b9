//! Roles and permissions as one shard sees them: the state with its epoch, by which verdicts are remembered.

use auth::{Access, Actor, Settings, Subject};

use crate::control::AccessUpdate;

/// The access state of one shard at one moment, and how it is judged by.
#[derive(Debug, Clone)]
pub struct AccessSnapshot {
    access: Access,
    settings: Settings,
    epoch: u64,
}

impl AccessSnapshot {
    /// The first one of a shard.
    pub(crate) fn new(access: Access, settings: Settings) -> AccessSnapshot {
        AccessSnapshot { access, settings, epoch: 0 }
    }

    /// The state.
    pub fn state(&self) -> &Access {
        &self.access
    }

    /// How clients log in, and if permissions are checked.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Rises with each change of the state on this shard, and names it on this shard alone: a verdict holds as long as it is the same.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// An actor, judged by this state.
    pub fn subject<'a>(&'a self, actor: Actor<'a>) -> Subject<'a> {
        Subject::new(&self.access, actor, self.settings)
    }

    /// The next one.
    pub(crate) fn after(&self, update: &AccessUpdate) -> AccessSnapshot {
        let access = match update {
            AccessUpdate::Changes(changes) => self.access.with_all(changes),
            AccessUpdate::Whole(changes) => Access::default().with_all(changes),
        };
        // An entry whose changes fit no more has no effect, and costs no verdict.
        let epoch = self.epoch + u64::from(access != self.access);
        AccessSnapshot { access, settings: self.settings, epoch }
    }
}

#[cfg(test)]
mod tests {
    use auth::{AccessChange, Attributes};

    use super::*;

    const SETTINGS: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };

    fn put(name: &str) -> AccessChange {
        AccessChange::PutRole(name.to_owned(), Attributes::default())
    }

    #[test]
    fn the_epoch_rises_with_what_changes_the_state() {
        let first = AccessSnapshot::new(Access::default(), SETTINGS);
        let second = first.after(&AccessUpdate::Changes(vec![put("a"), put("b")]));
        assert_eq!((first.epoch(), second.epoch()), (0, 1));
        let without = AccessUpdate::Changes(vec![AccessChange::DropRole("c".to_owned())]);
        assert_eq!(second.after(&without).epoch(), 1, "there is no such role");
        // Another node's state in place of this one's: what it has not is gone.
        let whole = second.after(&AccessUpdate::Whole(vec![put("b")]));
        assert_eq!((whole.epoch(), whole.state().roles().len()), (2, 1));
        assert_eq!(whole.after(&AccessUpdate::Whole(vec![put("b")])).epoch(), 2, "it is the same");
    }
}
