//! CREATE, ALTER and DROP.

use cql_types::CqlType;

use super::{Parser, Result, access, first_of, unsupported};
use crate::ast::{
    AlterKeyspace, AlterTable, AlterTableAction, AlterType, AlterTypeAction, ColumnDefinition, CreateKeyspace,
    CreateTable, CreateType, DropElement, DropKeyspace, DropTable, DropType, ElementKind, Mask, PrimaryKey, Properties,
    PropertyValue, Statement, TableName, Term,
};
use crate::identifier::is_unreserved_keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result<Statement> {
        self.advance()?;
        if self.take_keyspace_keyword()? {
            let if_not_exists = self.if_not_exists()?;
            let keyspace = self.keyspace_name()?;
            let properties = self.with_properties()?;
            return Ok(Statement::CreateKeyspace(CreateKeyspace { if_not_exists, keyspace, properties }));
        }
        if self.take_table_keyword()? {
            return Ok(Statement::CreateTable(self.create_table()?));
        }
        if self.take_keyword("TYPE")? {
            return Ok(Statement::CreateType(self.create_type()?));
        }
        if let Some(statement) = access::create_role(self)? {
            return Ok(Statement::Access(statement));
        }
        if self.take_keyword("OR")? {
            self.expect_keyword("REPLACE")?;
        }
        self.unsupported_element("CREATE")
    }

    pub(super) fn alter(&mut self) -> Result<Statement> {
        self.advance()?;
        if self.take_keyspace_keyword()? {
            let if_exists = self.if_exists()?;
            let keyspace = self.keyspace_name()?;
            let properties = self.with_properties()?;
            return Ok(Statement::AlterKeyspace(AlterKeyspace { if_exists, keyspace, properties }));
        }
        if self.take_keyword("TYPE")? {
            return Ok(Statement::AlterType(self.alter_type()?));
        }
        if let Some(statement) = access::alter_role(self)? {
            return Ok(Statement::Access(statement));
        }
        if !self.take_table_keyword()? {
            return self.unsupported_element("ALTER");
        }
        let if_exists = self.if_exists()?;
        let table = self.table_name()?;
        let action = self.alter_table_action()?;
        Ok(Statement::AlterTable(AlterTable { if_exists, table, action }))
    }

    pub(super) fn drop_statement(&mut self) -> Result<Statement> {
        self.advance()?;
        if self.take_keyspace_keyword()? {
            let if_exists = self.if_exists()?;
            return Ok(Statement::DropKeyspace(DropKeyspace { if_exists, keyspace: self.keyspace_name()? }));
        }
        if self.take_table_keyword()? {
            let if_exists = self.if_exists()?;
            return Ok(Statement::DropTable(DropTable { if_exists, table: self.table_name()? }));
        }
        if self.take_keyword("TYPE")? {
            let if_exists = self.if_exists()?;
            return Ok(Statement::DropType(DropType { if_exists, name: self.type_name()? }));
        }
        if let Some(statement) = access::drop_role(self)? {
            return Ok(Statement::Access(statement));
        }
        match self.drop_element()? {
            Some(drop) => Ok(Statement::DropElement(drop)),
            None => self.unsupported_element("DROP"),
        }
    }

    /// GRANT, REVOKE, LIST or ADD.
    pub(super) fn access_statement(&mut self) -> Result<Statement> {
        let word = self.advance()?;
        if word.is_keyword("LIST")
            && let Some(what) = first_of(&unsupported::LISTS, self)
        {
            return self.unsupported(&format!("LIST {what}"));
        }
        let statement = match () {
            () if word.is_keyword("GRANT") => access::grant(self)?,
            () if word.is_keyword("REVOKE") => access::revoke(self)?,
            () if word.is_keyword("LIST") => access::list(self)?,
            () => access::add_identity(self)?,
        };
        Ok(Statement::Access(statement))
    }

    /// What is behind DROP, if it is an index, a view, a function, an aggregate or a trigger.
    fn drop_element(&mut self) -> Result<Option<DropElement>> {
        if self.take_keyword("TRIGGER")? {
            let (if_exists, name) = (self.if_exists()?, self.name()?);
            self.expect_keyword("ON")?;
            let TableName { keyspace, table } = self.table_name()?;
            return Ok(Some(DropElement { if_exists, keyspace, name, kind: ElementKind::Trigger(table) }));
        }
        let mut kind = if self.take_keyword("INDEX")? {
            ElementKind::Index
        } else if self.take_keyword("MATERIALIZED")? {
            self.expect_keyword("VIEW")?;
            ElementKind::MaterializedView
        } else if self.take_keyword("FUNCTION")? {
            ElementKind::Function(None)
        } else if self.take_keyword("AGGREGATE")? {
            ElementKind::Aggregate(None)
        } else {
            return Ok(None);
        };
        let if_exists = self.if_exists()?;
        let (keyspace, name) = self.qualified_name()?;
        if let ElementKind::Function(arguments) | ElementKind::Aggregate(arguments) = &mut kind {
            *arguments = self.argument_types()?;
        }
        Ok(Some(DropElement { if_exists, keyspace, name, kind }))
    }

    /// `(type, type, …)`, if it is there.
    pub(super) fn argument_types(&mut self) -> Result<Option<Vec<CqlType>>> {
        if !self.take_symbol("(")? {
            return Ok(None);
        }
        let types = if self.token.is_symbol(")") { Vec::new() } else { self.comma_separated(Self::cql_type)? };
        self.expect_symbol(")")?;
        Ok(Some(types))
    }

    fn create_type(&mut self) -> Result<CreateType> {
        let (if_not_exists, name) = (self.if_not_exists()?, self.type_name()?);
        self.expect_symbol("(")?;
        let mut fields = vec![self.type_field()?];
        while self.take_symbol(",")? {
            // Here too a comma may stand before the end.
            if !self.token.is_symbol(",") && !self.token.is_symbol(")") {
                self.count_item()?;
                fields.push(self.type_field()?);
            }
        }
        self.expect_symbol(")")?;
        Ok(CreateType { if_not_exists, name, fields })
    }

    fn type_field(&mut self) -> Result<(String, CqlType)> {
        Ok((self.name()?, self.cql_type()?))
    }

    fn alter_type(&mut self) -> Result<AlterType> {
        let (if_exists, name) = (self.if_exists()?, self.type_name()?);
        let action = if self.take_keyword("ADD")? {
            let if_not_exists = self.if_not_exists()?;
            let (field, ty) = self.type_field()?;
            AlterTypeAction::Add { if_not_exists, field, ty }
        } else if self.take_keyword("RENAME")? {
            let if_exists = self.if_exists()?;
            let mut fields = vec![rename(self)?];
            while self.take_keyword("AND")? {
                fields.push(rename(self)?);
            }
            AlterTypeAction::Rename { if_exists, fields }
        } else if self.take_keyword("ALTER")? {
            let field = self.name()?;
            self.expect_keyword("TYPE")?;
            AlterTypeAction::Alter { field, ty: self.cql_type()? }
        } else {
            return Err(self.unexpected());
        };
        Ok(AlterType { if_exists, name, action })
    }

    fn take_keyspace_keyword(&mut self) -> Result<bool> {
        Ok(self.take_keyword("KEYSPACE")? || self.take_keyword("SCHEMA")?)
    }

    fn take_table_keyword(&mut self) -> Result<bool> {
        Ok(self.take_keyword("TABLE")? || self.take_keyword("COLUMNFAMILY")?)
    }

    fn unsupported_element(&mut self, verb: &str) -> Result<Statement> {
        match first_of(&unsupported::ELEMENTS, self) {
            Some(what) => self.unsupported(&format!("{verb} {what}")),
            None => Err(self.unexpected()),
        }
    }

    fn create_table(&mut self) -> Result<CreateTable> {
        let mut create = CreateTable {
            if_not_exists: self.if_not_exists()?,
            table: self.table_name()?,
            columns: Vec::new(),
            primary_keys: Vec::new(),
            clustering_order: Vec::new(),
            compact_storage: false,
            properties: Vec::new(),
        };
        self.expect_symbol("(")?;
        self.table_element(&mut create)?;
        while self.take_symbol(",")? {
            // Cassandra's grammar lets a comma stand before the end, and several in a row.
            if !self.token.is_symbol(",") && !self.token.is_symbol(")") {
                self.table_element(&mut create)?;
            }
        }
        self.expect_symbol(")")?;
        if self.take_keyword("WITH")? {
            self.table_property(&mut create)?;
            while self.take_keyword("AND")? {
                self.table_property(&mut create)?;
            }
        }
        Ok(create)
    }

    /// A column, or PRIMARY KEY by itself.
    fn table_element(&mut self, create: &mut CreateTable) -> Result<()> {
        if self.take_keyword("PRIMARY")? {
            self.expect_keyword("KEY")?;
            let key = self.primary_key()?;
            create.primary_keys.push(key);
            return Ok(());
        }
        let column = self.column_definition()?;
        if self.take_keyword("PRIMARY")? {
            self.expect_keyword("KEY")?;
            create.primary_keys.push(PrimaryKey { partition: vec![column.name.clone()], clustering: Vec::new() });
        }
        create.columns.push(column);
        Ok(())
    }

    fn column_definition(&mut self) -> Result<ColumnDefinition> {
        // A column takes as long as several terms.
        self.count_item()?;
        self.count_item()?;
        let name = self.name()?;
        let ty = self.cql_type()?;
        let is_static = self.take_keyword("STATIC")?;
        let mask = if self.token.is_keyword("MASKED") { Some(self.mask()?) } else { None };
        Ok(ColumnDefinition { name, ty, is_static, mask })
    }

    /// `MASKED WITH DEFAULT` or `MASKED WITH function(term, …)`.
    fn mask(&mut self) -> Result<Mask> {
        self.expect_keyword("MASKED")?;
        self.expect_keyword("WITH")?;
        // Without parentheses behind it the word is no function's name.
        if self.token.is_keyword("DEFAULT") && !self.peek_second()?.is_symbol("(") {
            self.advance()?;
            return Ok(Mask::Default);
        }
        match self.call()? {
            Term::Function { keyspace, name, arguments } => Ok(Mask::Function { keyspace, name, arguments }),
            _ => Err(self.unexpected()),
        }
    }

    /// `(p, c)` or `((p, q), c)`.
    fn primary_key(&mut self) -> Result<PrimaryKey> {
        self.expect_symbol("(")?;
        let partition = if self.token.is_symbol("(") { self.parenthesised(Self::name)? } else { vec![self.name()?] };
        let mut clustering = Vec::new();
        while self.take_symbol(",")? {
            clustering.push(self.name()?);
        }
        self.expect_symbol(")")?;
        Ok(PrimaryKey { partition, clustering })
    }

    fn table_property(&mut self, create: &mut CreateTable) -> Result<()> {
        if self.token.is_keyword("COMPACT") && self.peek_second()?.is_keyword("STORAGE") {
            self.advance()?;
            self.advance()?;
            create.compact_storage = true;
            return Ok(());
        }
        if self.token.is_keyword("CLUSTERING") && self.peek_second()?.is_keyword("ORDER") {
            self.advance()?;
            self.advance()?;
            self.expect_keyword("BY")?;
            let order = self.parenthesised(|parser| {
                let column = parser.name()?;
                let descending = parser.take_keyword("DESC")?;
                if !descending && !parser.take_keyword("ASC")? {
                    return Err(parser.unexpected());
                }
                Ok((column, descending))
            })?;
            create.clustering_order.extend(order);
            return Ok(());
        }
        let property = self.property()?;
        create.properties.push(property);
        Ok(())
    }

    /// `WITH name = value AND …`
    fn with_properties(&mut self) -> Result<Properties> {
        self.expect_keyword("WITH")?;
        let mut properties = vec![self.property()?];
        while self.take_keyword("AND")? {
            properties.push(self.property()?);
        }
        Ok(properties)
    }

    fn property(&mut self) -> Result<(String, PropertyValue)> {
        self.count_item()?;
        self.count_item()?;
        let name = self.name()?;
        self.expect_symbol("=")?;
        Ok((name, self.property_value()?))
    }

    fn property_value(&mut self) -> Result<PropertyValue> {
        if let Some(literal) = self.literal()? {
            return Ok(PropertyValue::Literal(literal));
        }
        if self.token.kind == TokenKind::Word && is_unreserved_keyword(self.token.text) {
            return Ok(PropertyValue::Word(self.name()?));
        }
        self.expect_symbol("{")?;
        let mut entries = Vec::new();
        if self.take_symbol("}")? {
            return Ok(PropertyValue::Map(entries));
        }
        loop {
            self.count_item()?;
            let key = self.literal()?.ok_or_else(|| self.unexpected())?;
            self.expect_symbol(":")?;
            let value = self.literal()?.ok_or_else(|| self.unexpected())?;
            entries.push((key, value));
            if !self.take_symbol(",")? {
                break;
            }
        }
        self.expect_symbol("}")?;
        Ok(PropertyValue::Map(entries))
    }

    fn alter_table_action(&mut self) -> Result<AlterTableAction> {
        if self.take_keyword("ADD")? {
            let if_not_exists = self.if_not_exists()?;
            let columns = self.one_or_parenthesised(Self::column_definition)?;
            return Ok(AlterTableAction::Add { if_not_exists, columns });
        }
        if self.take_keyword("ALTER")? {
            return self.alter_column();
        }
        if self.take_keyword("DROP")? {
            if self.token.is_keyword("COMPACT") && self.peek_second()?.is_keyword("STORAGE") {
                self.advance()?;
                self.advance()?;
                return Ok(AlterTableAction::DropCompactStorage);
            }
            let if_exists = self.if_exists()?;
            let columns = self.one_or_parenthesised(Self::name)?;
            let timestamp = if self.take_keyword("USING")? { Some(self.timestamp()?) } else { None };
            return Ok(AlterTableAction::Drop { if_exists, columns, timestamp });
        }
        if self.take_keyword("RENAME")? {
            let if_exists = self.if_exists()?;
            let mut columns = vec![rename(self)?];
            while self.take_keyword("AND")? {
                columns.push(rename(self)?);
            }
            return Ok(AlterTableAction::Rename { if_exists, columns });
        }
        if self.token.is_keyword("WITH") {
            return Ok(AlterTableAction::With(self.with_properties()?));
        }
        Err(self.unexpected())
    }

    /// What follows ALTER TABLE … ALTER.
    fn alter_column(&mut self) -> Result<AlterTableAction> {
        let (if_exists, column) = (self.if_exists()?, self.name()?);
        if self.token.is_keyword("MASKED") {
            return Ok(AlterTableAction::Mask { if_exists, column, mask: Some(self.mask()?) });
        }
        if self.take_keyword("DROP")? {
            self.expect_keyword("MASKED")?;
            return Ok(AlterTableAction::Mask { if_exists, column, mask: None });
        }
        if if_exists {
            return Err(self.unexpected());
        }
        self.expect_keyword("TYPE")?;
        Ok(AlterTableAction::Alter { column, ty: self.cql_type()? })
    }

    fn timestamp(&mut self) -> Result<i64> {
        self.expect_keyword("TIMESTAMP")?;
        if self.token.kind != TokenKind::Integer {
            return Err(self.unexpected());
        }
        let place = *self;
        self.advance()?.text.parse().map_err(|_| place.error("the timestamp is out of range"))
    }

    /// `item` or `(item, item)`.
    fn one_or_parenthesised<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.token.is_symbol("(") { self.parenthesised(item) } else { Ok(vec![item(self)?]) }
    }
}

/// `a TO b`
fn rename(parser: &mut Parser<'_>) -> Result<(String, String)> {
    let from = parser.name()?;
    parser.expect_keyword("TO")?;
    Ok((from, parser.name()?))
}
