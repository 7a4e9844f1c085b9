//! Types of entries and their categories, with the names that Cassandra 5.0 has.

use std::fmt;

/// A group of types, by which operators choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are Cassandra's")]
pub enum Category {
    Query,
    Dml,
    Ddl,
    Dcl,
    Auth,
    Error,
    Prepare,
    Other,
}

impl Category {
    /// All of them.
    pub const ALL: [Category; 8] = [
        Category::Query,
        Category::Dml,
        Category::Ddl,
        Category::Dcl,
        Category::Auth,
        Category::Error,
        Category::Prepare,
        Category::Other,
    ];

    /// Cassandra's name.
    pub fn name(self) -> &'static str {
        match self {
            Category::Query => "QUERY",
            Category::Dml => "DML",
            Category::Ddl => "DDL",
            Category::Dcl => "DCL",
            Category::Auth => "AUTH",
            Category::Error => "ERROR",
            Category::Prepare => "PREPARE",
            Category::Other => "OTHER",
        }
    }

    /// The category with this name, in letters of either case.
    pub fn named(name: &str) -> Option<Category> {
        Category::ALL.into_iter().find(|category| category.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of categories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Categories(u8);

impl Categories {
    /// None.
    pub const NONE: Categories = Categories(0);

    /// These.
    pub fn of(categories: impl IntoIterator<Item = Category>) -> Categories {
        Categories(categories.into_iter().fold(0, |bits, category| bits | (1 << category as u8)))
    }

    /// True if the category is one of them.
    #[inline]
    pub fn contains(self, category: Category) -> bool {
        self.0 & (1 << category as u8) != 0
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

macro_rules! types {
    ($($kind:ident, $name:literal, $category:ident;)*) => {
        /// The type of an entry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are Cassandra's")]
        pub enum EntryType {
            $($kind,)*
        }

        impl EntryType {
            /// All of them.
            pub const ALL: &'static [EntryType] = &[$(EntryType::$kind,)*];

            /// Cassandra's name.
            pub fn name(self) -> &'static str {
                match self { $(EntryType::$kind => $name,)* }
            }

            /// Its category.
            pub fn category(self) -> Category {
                match self { $(EntryType::$kind => Category::$category,)* }
            }
        }
    };
}

types! {
    Select, "SELECT", Query;
    Update, "UPDATE", Dml;
    Delete, "DELETE", Dml;
    Batch, "BATCH", Dml;
    Truncate, "TRUNCATE", Ddl;
    CreateKeyspace, "CREATE_KEYSPACE", Ddl;
    AlterKeyspace, "ALTER_KEYSPACE", Ddl;
    DropKeyspace, "DROP_KEYSPACE", Ddl;
    CreateTable, "CREATE_TABLE", Ddl;
    AlterTable, "ALTER_TABLE", Ddl;
    DropTable, "DROP_TABLE", Ddl;
    CreateIndex, "CREATE_INDEX", Ddl;
    DropIndex, "DROP_INDEX", Ddl;
    CreateType, "CREATE_TYPE", Ddl;
    AlterType, "ALTER_TYPE", Ddl;
    DropType, "DROP_TYPE", Ddl;
    CreateView, "CREATE_VIEW", Ddl;
    AlterView, "ALTER_VIEW", Ddl;
    DropView, "DROP_VIEW", Ddl;
    CreateFunction, "CREATE_FUNCTION", Ddl;
    DropFunction, "DROP_FUNCTION", Ddl;
    CreateAggregate, "CREATE_AGGREGATE", Ddl;
    DropAggregate, "DROP_AGGREGATE", Ddl;
    CreateTrigger, "CREATE_TRIGGER", Ddl;
    DropTrigger, "DROP_TRIGGER", Ddl;
    CreateRole, "CREATE_ROLE", Dcl;
    AlterRole, "ALTER_ROLE", Dcl;
    DropRole, "DROP_ROLE", Dcl;
    CreateIdentity, "CREATE_IDENTITY", Dcl;
    DropIdentity, "DROP_IDENTITY", Dcl;
    Grant, "GRANT", Dcl;
    Revoke, "REVOKE", Dcl;
    ListRoles, "LIST_ROLES", Dcl;
    ListUsers, "LIST_USERS", Dcl;
    ListPermissions, "LIST_PERMISSIONS", Dcl;
    PrepareStatement, "PREPARE_STATEMENT", Prepare;
    UseKeyspace, "USE_KEYSPACE", Other;
    Describe, "DESCRIBE", Other;
    RequestFailure, "REQUEST_FAILURE", Error;
    LoginError, "LOGIN_ERROR", Auth;
    UnauthorizedAttempt, "UNAUTHORIZED_ATTEMPT", Auth;
    LoginSuccess, "LOGIN_SUCCESS", Auth;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_it_is_made_of_and_no_more() {
        for one in Category::ALL {
            let set = Categories::of([one]);
            for other in Category::ALL {
                assert_eq!(set.contains(other), one == other);
            }
            assert_eq!(Category::named(&one.name().to_lowercase()), Some(one));
        }
        assert!(Categories::NONE.is_empty() && !Categories::of(Category::ALL).is_empty());
        assert_eq!(Category::named("JMX"), None);
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<_> = EntryType::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EntryType::ALL.len());
    }
}
