//! The SELECT list: from selectors to columns of the result.
//!
//! A selector is first a [`Draft`]: what has a type of its own is planned, and a constant, a marker or a literal waits for the type of its
//! place, which a call's parameters, a cast or the literal around it give.

use cql_syntax::{BindMarker, Selection, Selector, SelectorExpression, Term};
use cql_types::{CqlType, Field, Literal};
use functions::{Argument, Fit, ResolveError, Untyped};
use schema::plan::qualified;
use schema::user_type::meant;
use schema::{Column, ColumnKind, ColumnMask, Table, UserTypes};

use super::expression::{Aggregate, Expression};
use super::terms::{Markers, Receiver, undefined_column, unknown_function};
use super::{Part, PartOf, Selected, calls, masks, shown, token_type};
use crate::catalog::Found;
use crate::error::{QueryError, invalid};

/// One column of the result.
pub(super) struct ResultColumn {
    pub(super) name: String,
    /// As messages show it, if not by its name: a cast to the type that its column has is that column, but is shown as it was written.
    shown: Option<String>,
    pub(super) ty: CqlType,
    pub(super) expression: Expression,
}

impl ResultColumn {
    pub(super) fn new(name: String, ty: CqlType, expression: Expression) -> Self {
        ResultColumn { name, shown: None, ty, expression }
    }

    fn shown(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.name)
    }
}

/// The columns of a SELECT, in the making.
pub(super) struct Selectors<'p> {
    pub(super) table: &'p Table,
    pub(super) markers: &'p mut Markers,
    /// The user-defined types of the table's keyspace.
    pub(super) types: &'p UserTypes,
    /// Whether the table is a stored one, whose columns may have several cells.
    pub(super) is_stored: bool,
    pub(super) parts: Vec<Part>,
    pub(super) aggregates: Vec<Aggregate>,
    /// True if values of masked columns are as their masks show them.
    pub(super) masked: bool,
    /// The table's columns that were named, in order.
    pub(super) used: Vec<&'p Column>,
    /// What a selector is refused for once all its calls are known.
    refused: Option<QueryError>,
}

/// A selector that waits for a type, or has one.
#[allow(clippy::large_enum_variant, reason = "there are as many as a statement has selectors, while it is planned")]
enum Draft<'s> {
    Typed(ResultColumn),
    Literal(&'s Literal),
    Marker(&'s BindMarker),
    Null,
    List(Vec<Draft<'s>>),
    Set(Vec<Draft<'s>>),
    Map(Vec<(Draft<'s>, Draft<'s>)>),
    Udt(Vec<(&'s str, Draft<'s>)>),
    Tuple(Vec<Draft<'s>>),
}

/// A draft, and what it is refused for once the whole selector is drafted.
struct Drafted<'s> {
    draft: Draft<'s>,
    refused: Option<QueryError>,
}

/// What the arguments of a call are called in a result, and how messages show them.
#[derive(Default)]
struct Titles {
    names: Vec<String>,
    shown: Vec<String>,
}

impl Titles {
    /// Those of a call whose title `title` makes of its arguments'.
    fn of_call(&self, title: impl Fn(&[&str]) -> String) -> (String, Option<String>) {
        let of = |titles: &[String]| title(&titles.iter().map(String::as_str).collect::<Vec<_>>());
        (of(&self.names), (self.shown != self.names).then(|| of(&self.shown)))
    }
}

impl<'p> Selectors<'p> {
    pub(super) fn new(found: &'p Found, types: &'p UserTypes, markers: &'p mut Markers) -> Self {
        Selectors {
            table: &found.table,
            markers,
            types,
            is_stored: !found.is_system,
            parts: Vec::new(),
            aggregates: Vec::new(),
            masked: false,
            used: Vec::new(),
            refused: None,
        }
    }

    pub(super) fn all(&mut self, selection: &Selection) -> Result<Vec<ResultColumn>, QueryError> {
        match selection {
            Selection::All => {
                self.used.extend(self.table.columns());
                Ok(self.table.columns().iter().map(|column| self.whole(column)).collect())
            }
            Selection::List(selectors) => {
                let mut columns = Vec::with_capacity(selectors.len());
                for selector in selectors {
                    columns.push(self.one(selector)?);
                }
                Ok(columns)
            }
        }
    }

    fn one(&mut self, selector: &Selector) -> Result<ResultColumn, QueryError> {
        let mut column = self.call(&selector.expression)?;
        if let Some(alias) = &selector.alias {
            column.name.clone_from(alias);
        }
        Ok(column)
    }

    /// A whole selector, or a call of GROUP BY.
    pub(super) fn call(&mut self, expression: &SelectorExpression) -> Result<ResultColumn, QueryError> {
        let drafted = self.drafted(expression)?;
        self.settle_drafted(drafted, None)
    }

    /// Keeps what the selector is refused for once it is drafted as a whole, unless calls around this part of it are refused: those come first.
    pub(super) fn refuse(&mut self, error: QueryError) {
        self.refused.get_or_insert(error);
    }

    /// The draft of an expression, and what it is refused for.
    fn drafted<'s>(&mut self, expression: &'s SelectorExpression) -> Result<Drafted<'s>, QueryError> {
        let before = self.refused.take();
        let draft = self.draft(expression)?;
        let refused = std::mem::replace(&mut self.refused, before);
        Ok(Drafted { draft, refused })
    }

    fn draft_all<'s>(
        &mut self,
        expressions: impl IntoIterator<Item = &'s SelectorExpression>,
    ) -> Result<Vec<Drafted<'s>>, QueryError> {
        expressions.into_iter().map(|expression| self.drafted(expression)).collect()
    }

    fn settle_drafted(&mut self, drafted: Drafted<'_>, wanted: Option<&CqlType>) -> Result<ResultColumn, QueryError> {
        match drafted.refused {
            Some(error) => Err(error),
            None => self.settle(drafted.draft, wanted),
        }
    }

    /// Whether any of the selectors names a column of such a kind. What is behind the first that does is not looked at.
    pub(super) fn names(
        &mut self,
        selection: &Selection,
        is_meant: impl Fn(ColumnKind) -> bool,
    ) -> Result<bool, QueryError> {
        let Selection::List(selectors) = selection else { return Ok(false) };
        for selector in selectors {
            self.used.clear();
            self.draft(&selector.expression)?;
            if self.used.iter().any(|column| is_meant(column.kind)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The column of that name.
    pub(super) fn column(&mut self, name: &str) -> Result<&'p Column, QueryError> {
        let table = self.table;
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        self.used.push(column);
        Ok(column)
    }

    fn whole(&self, column: &Column) -> ResultColumn {
        ResultColumn::new(column.name.clone(), column.ty.clone(), self.value(column))
    }

    /// The mask of a column, if its values are shown through it.
    pub(super) fn mask<'c>(&self, column: &'c Column) -> Option<&'c ColumnMask> {
        column.mask.as_deref().filter(|_| self.masked)
    }

    /// A column's value as the client may see it.
    pub(super) fn value(&self, column: &Column) -> Expression {
        let selected = self.selected(column);
        match self.mask(column) {
            Some(mask) => masks::masked(mask, column, selected),
            None => Expression::Selected(selected),
        }
    }

    /// A column as its values are read.
    pub(super) fn selected(&self, column: &Column) -> Selected {
        let selected = Selected::of_column(column);
        if self.is_stored { selected.of_stored(self.table) } else { selected }
    }

    fn draft<'s>(&mut self, expression: &'s SelectorExpression) -> Result<Draft<'s>, QueryError> {
        use SelectorExpression as E;
        let mut all = |items: &'s [E]| items.iter().map(|item| self.draft(item)).collect::<Result<Vec<_>, _>>();
        Ok(match expression {
            E::Column(name) => {
                let column = self.column(name)?;
                Draft::Typed(self.whole(column))
            }
            E::CountRows => Draft::Typed(self.aggregate(None, Vec::new(), "count".to_owned())?),
            E::Function { keyspace, name, arguments } => {
                Draft::Typed(self.function(keyspace.as_deref(), name, arguments)?)
            }
            E::Element { .. } | E::Slice { .. } | E::Field { .. } => Draft::Typed(self.part(expression)?),
            E::Operation { operator, left, right } => {
                let drafts = self.draft_all([&**left, &**right])?;
                let operator = calls::arithmetic(*operator);
                let call =
                    functions::operator(operator, &drafts[0].draft.argument(), &drafts[1].draft.argument(), None);
                let call = call.map_err(|error| refused(&error, &drafts))?;
                Draft::Typed(self.called(call, drafts))
            }
            E::Negation(of) => {
                let drafts = self.draft_all([&**of])?;
                let call = functions::negation(&drafts[0].draft.argument(), None);
                let call = call.map_err(|error| refused(&error, &drafts))?;
                Draft::Typed(self.called(call, drafts))
            }
            E::Cast { expression, ty } => Draft::Typed(self.cast(expression, ty)?),
            E::TypeHint { ty, expression } => Draft::Typed(self.hint(ty, expression)?),
            E::Term(Term::Literal(literal)) => Draft::Literal(literal),
            E::Term(Term::Marker(marker)) => Draft::Marker(marker),
            E::Term(Term::Null) => Draft::Null,
            E::Term(term) => return Err(invalid(format!("{term} is not supported in a selection yet"))),
            E::List(items) => Draft::List(all(items)?),
            E::Set(items) => Draft::Set(all(items)?),
            E::Tuple(items) => Draft::Tuple(all(items)?),
            E::Map(entries) => self.map(entries)?,
        })
    }

    /// A map's literal, or that of a user-defined type: names that are no columns before the colons are its fields.
    fn map<'s>(&mut self, entries: &'s [(SelectorExpression, SelectorExpression)]) -> Result<Draft<'s>, QueryError> {
        let field = |entry: &'s (SelectorExpression, SelectorExpression)| match &entry.0 {
            SelectorExpression::Column(name) if self.table.column(name).is_none() => Some(name.as_str()),
            _ => None,
        };
        if let Some(fields) = entries.iter().map(field).collect::<Option<Vec<_>>>() {
            let drafts = fields.into_iter().zip(entries).map(|(name, entry)| Ok((name, self.draft(&entry.1)?)));
            return Ok(Draft::Udt(drafts.collect::<Result<_, QueryError>>()?));
        }
        let drafts = entries.iter().map(|entry| Ok((self.draft(&entry.0)?, self.draft(&entry.1)?)));
        Ok(Draft::Map(drafts.collect::<Result<_, QueryError>>()?))
    }

    fn function(
        &mut self,
        keyspace: Option<&str>,
        name: &str,
        arguments: &[SelectorExpression],
    ) -> Result<ResultColumn, QueryError> {
        let is_native = keyspace.is_none_or(|keyspace| keyspace == "system");
        if let (Some(what), [argument], None) = (PartOf::function(name), arguments, keyspace) {
            return self.written(name, what, argument);
        }
        // The token of a masked key is that of its masked values.
        let is_key_shown = self.table.partition_key().iter().all(|column| self.mask(column).is_none());
        if is_native && name == "token" && is_key_shown && self.is_key(arguments) {
            let names: Vec<&str> = arguments.iter().filter_map(column_name).collect();
            for name in &names {
                self.column(name)?;
            }
            let name = format!("system.token({})", names.join(", "));
            return Ok(ResultColumn::new(name, token_type(self.table), Expression::Selected(Selected::Token)));
        }
        let before = self.aggregates.len();
        let drafts = self.draft_all(arguments)?;
        let known: Vec<Argument<'_>> = drafts.iter().map(|drafted| drafted.draft.argument()).collect();
        if functions::is_aggregate(keyspace, name) {
            let call = functions::resolve_aggregate(name, &known).map_err(|error| refused(&error, &drafts))?;
            let is_nested = self.aggregates.len() > before;
            let types = call.arguments().to_vec();
            let (settled, titles) = self.settle_all(drafts, &types);
            if is_nested {
                self.refuse(invalid("aggregate functions cannot be used as arguments of aggregate functions"));
            }
            let (name, shown) = titles.of_call(|titles| call.column_name(titles));
            return Ok(ResultColumn { shown, ..self.aggregate(Some(call), settled, name)? });
        }
        let call = match (is_native, name) {
            (true, "token") => {
                let key: Vec<CqlType> = self.table.partition_key().iter().map(|column| column.ty.clone()).collect();
                functions::token(&key, &known)
            }
            _ => functions::resolve(keyspace, name, &known, None),
        };
        let call = call.map_err(|error| refused(&error, &drafts))?;
        Ok(self.called(call, drafts))
    }

    /// The value of a call whose parameters are known.
    fn called(&mut self, call: functions::Call, drafts: Vec<Drafted<'_>>) -> ResultColumn {
        let types = call.arguments().to_vec();
        let (arguments, titles) = self.settle_all(drafts, &types);
        let (name, shown) = titles.of_call(|titles| call.column_name(titles));
        let ty = call.returns().clone();
        ResultColumn { name, shown, ty, expression: Expression::Call { call, arguments } }
    }

    /// What a call's arguments are in the places of its parameters. Where one is refused the selector is, and what is given for it is of no use.
    fn settle_all(&mut self, drafts: Vec<Drafted<'_>>, types: &[CqlType]) -> (Vec<Expression>, Titles) {
        let mut settled = Vec::with_capacity(drafts.len());
        let mut titles = Titles::default();
        for (index, drafted) in drafts.into_iter().enumerate() {
            titles.shown.push(drafted.draft.shown());
            titles.names.push(drafted.draft.name());
            match self.settle_drafted(drafted, types.get(index)) {
                Ok(column) => settled.push(column.expression),
                Err(error) => self.refuse(error),
            }
        }
        (settled, titles)
    }

    fn aggregate(
        &mut self,
        call: Option<functions::AggregateCall>,
        arguments: Vec<Expression>,
        name: String,
    ) -> Result<ResultColumn, QueryError> {
        let index = u16::try_from(self.aggregates.len()).map_err(|_| invalid("Too many aggregates are selected"))?;
        let ty = call.as_ref().map_or(CqlType::Bigint, |call| call.returns().clone());
        self.aggregates.push(Aggregate { call, arguments });
        Ok(ResultColumn::new(name, ty, Expression::Aggregate(index)))
    }

    fn cast(&mut self, expression: &SelectorExpression, ty: &str) -> Result<ResultColumn, QueryError> {
        let to = CqlType::parse(ty).map_err(|error| invalid(error.to_string()))?;
        let draft = self.draft(expression)?;
        let from = self.settle(draft, None)?;
        let shown = format!("cast({} as {to})", from.shown());
        if from.ty == to {
            return Ok(ResultColumn { shown: Some(shown), ..from });
        }
        // The refusal names the first column that is selected, as Cassandra's does.
        let named = self.used.first().map_or(&from.name, |column| &column.name);
        let call = match functions::cast(&from.ty, &to, ty) {
            Ok(call) => call,
            Err(error) => {
                let error = invalid(error.message(&|_| named.clone()));
                self.refuse(error);
                let name = format!("cast({} as {to})", from.name);
                return Ok(ResultColumn { name, shown: Some(shown), ty: to, expression: from.expression });
            }
        };
        let name = call.column_name(&[&from.name]);
        let expression = Expression::Call { call, arguments: vec![from.expression] };
        Ok(ResultColumn { name, shown: Some(shown), ty: to, expression })
    }

    /// `(type) expression`.
    fn hint(&mut self, ty: &str, expression: &SelectorExpression) -> Result<ResultColumn, QueryError> {
        let parsed = CqlType::parse(ty).map_err(|error| invalid(error.to_string()))?;
        let ty = meant(parsed, &self.table.keyspace, self.types)?;
        let mut draft = self.draft(expression)?;
        let hint = qualified(&ty, &self.table.keyspace);
        let (name, shown) = (format!("({hint}){}", draft.name()), format!("({hint}){}", draft.shown()));
        if !draft.argument().fit(&ty).is_assignable() {
            self.refuse(invalid(format!("Cannot assign value {shown} to {shown} of type {ty}")));
            draft = Draft::Null;
        }
        let column = self.settle(draft, Some(&ty))?;
        Ok(ResultColumn { name, shown: Some(shown), ty, expression: column.expression })
    }

    fn settle(&mut self, draft: Draft<'_>, wanted: Option<&CqlType>) -> Result<ResultColumn, QueryError> {
        let (name, shown) = (draft.name(), draft.shown());
        let draft = match draft {
            Draft::Typed(column) => return Ok(column),
            // One between parentheses is itself, unless a tuple is wanted. What is wanted must be known.
            Draft::Tuple(mut items)
                if items.len() == 1 && wanted.is_some_and(|wanted| !matches!(wanted, CqlType::Tuple(_))) =>
            {
                let inner = items.pop().expect("there is one");
                return Ok(ResultColumn { name, shown: Some(shown), ..self.settle(inner, wanted)? });
            }
            other => other,
        };
        // What a place wants decides between a list and a vector, and of a number's size.
        let ty = wanted.cloned().or_else(|| draft.exact_type()).ok_or_else(|| {
            invalid(format!(
                "Cannot infer type for term {shown} in selection clause (try using a cast to force a type)"
            ))
        })?;
        let term = match draft {
            Draft::Literal(literal) => Some(Term::Literal(literal.clone())),
            Draft::Marker(marker) => Some(Term::Marker(marker.clone())),
            Draft::Null => Some(Term::Null),
            _ => None,
        };
        if let Some(term) = term {
            let receiver = Receiver::new(self.table, "[selection]", ty.clone());
            let operand = self.markers.operand(&term, &receiver)?;
            return Ok(ResultColumn::new(name, ty, Expression::Operand(operand)));
        }
        let parts = self.settle_parts(draft, &ty, &shown)?;
        let expression = Expression::Composed { ty: ty.clone(), parts };
        Ok(ResultColumn { name, shown: Some(shown), ty, expression })
    }

    /// The parts of a literal of that type.
    fn settle_parts(&mut self, draft: Draft<'_>, ty: &CqlType, name: &str) -> Result<Vec<Expression>, QueryError> {
        let mut one = |draft: Draft<'_>, ty: &CqlType| -> Result<Expression, QueryError> {
            if !draft.argument().fit(ty).is_assignable() {
                return Err(invalid(format!("Invalid literal {name}: value {} is not of type {ty}", draft.name())));
            }
            Ok(self.settle(draft, Some(ty))?.expression)
        };
        match (draft, ty) {
            (Draft::List(items), CqlType::List { element, .. } | CqlType::Vector { element, .. })
            | (Draft::Set(items), CqlType::Set { element, .. }) => {
                items.into_iter().map(|item| one(item, element)).collect()
            }
            (Draft::Set(items), _) if items.is_empty() => Ok(Vec::new()),
            (Draft::Map(entries), CqlType::Map { key, value, .. }) => {
                let mut parts = Vec::with_capacity(entries.len() * 2);
                for (of_key, of_value) in entries {
                    parts.push(one(of_key, key)?);
                    parts.push(one(of_value, value)?);
                }
                Ok(parts)
            }
            (Draft::Tuple(items), CqlType::Tuple(types)) if items.len() <= types.len() => {
                items.into_iter().zip(types).map(|(item, ty)| one(item, ty)).collect()
            }
            (Draft::Udt(mut given), CqlType::Udt { fields, name: of, .. }) => {
                if let Some((field, _)) = given.iter().find(|(name, _)| !has_field(fields, name)) {
                    return Err(invalid(format!("Unknown field '{field}' in value of user defined type {of}")));
                }
                let mut parts = Vec::with_capacity(fields.len());
                for field in fields {
                    let place = given.iter().rposition(|(name, _)| *name == field.name);
                    let draft = place.map_or(Draft::Null, |place| given.swap_remove(place).1);
                    parts.push(one(draft, &field.ty)?);
                }
                Ok(parts)
            }
            _ => Err(invalid(format!("Invalid literal {name} of type {}", ty))),
        }
    }

    /// Whether the arguments are the partition key's columns, in their order.
    fn is_key(&self, arguments: &[SelectorExpression]) -> bool {
        let key = self.table.partition_key();
        arguments.len() == key.len()
            && arguments.iter().zip(key).all(|(argument, column)| column_name(argument) == Some(column.name.as_str()))
    }
}

/// Why a call of these arguments cannot be resolved.
fn refused(error: &ResolveError, drafts: &[Drafted<'_>]) -> QueryError {
    match error {
        ResolveError::Unknown { name } => unknown_function(name),
        error => {
            let shown = |index: usize| drafts.get(index).map(|drafted| drafted.draft.shown()).unwrap_or_default();
            invalid(error.message(&shown))
        }
    }
}

fn column_name(expression: &SelectorExpression) -> Option<&str> {
    match expression {
        SelectorExpression::Column(name) => Some(name),
        _ => None,
    }
}

fn has_field(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| field.name == name)
}

impl Draft<'_> {
    /// As the result's column is called.
    fn name(&self) -> String {
        self.title(&|column| &column.name)
    }

    /// As messages show it.
    fn shown(&self) -> String {
        self.title(&ResultColumn::shown)
    }

    /// Its text, with columns as `of` has them.
    fn title(&self, of: &dyn Fn(&ResultColumn) -> &str) -> String {
        let all = |drafts: &[Draft<'_>]| drafts.iter().map(|one| one.title(of)).collect::<Vec<_>>().join(", ");
        match self {
            Draft::Typed(column) => of(column).to_owned(),
            Draft::Literal(literal) => shown::literal(literal),
            Draft::Marker(_) => "?".to_owned(),
            Draft::Null => "NULL".to_owned(),
            Draft::List(items) => format!("[{}]", all(items)),
            Draft::Set(items) => format!("{{{}}}", all(items)),
            Draft::Tuple(items) => format!("({})", all(items)),
            Draft::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{}: {}", key.title(of), value.title(of)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Draft::Udt(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{name}: {}", value.title(of)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// What is known of it where a call is resolved.
    fn argument(&self) -> Argument<'_> {
        match self {
            Draft::Typed(column) => Argument::Typed(&column.ty),
            Draft::Literal(literal) => Argument::literal(literal),
            Draft::Marker(_) => Argument::Marker,
            Draft::Null => Argument::Null,
            Draft::List(_) | Draft::Set(_) | Draft::Map(_) | Draft::Udt(_) | Draft::Tuple(_) => Argument::Untyped(self),
        }
    }

    /// The type that it has by itself.
    fn exact_type(&self) -> Option<CqlType> {
        let first = |items: &[Draft<'_>]| items.iter().find_map(Draft::exact_type).map(Box::new);
        match self {
            Draft::Typed(column) => Some(column.ty.clone()),
            // Cassandra wants it said whether `{a: b}` is a map, and `(a)` a tuple.
            Draft::Literal(_) | Draft::Marker(_) | Draft::Null | Draft::Udt(_) | Draft::Map(_) => None,
            Draft::List(items) => Some(CqlType::List { element: first(items)?, frozen: false }),
            Draft::Set(items) => Some(CqlType::Set { element: first(items)?, frozen: false }),
            Draft::Tuple(items) if items.len() == 1 => None,
            Draft::Tuple(items) => items.iter().map(Draft::exact_type).collect::<Option<_>>().map(CqlType::Tuple),
        }
    }
}

impl Untyped for Draft<'_> {
    fn fit(&self, ty: &CqlType) -> Fit {
        let all = |items: &mut dyn Iterator<Item = Fit>| items.min().unwrap_or(Fit::Weak);
        match (self, ty) {
            (Draft::List(items), CqlType::List { element, .. }) | (Draft::Set(items), CqlType::Set { element, .. }) => {
                all(&mut items.iter().map(|item| item.argument().fit(element)))
            }
            (Draft::List(items), CqlType::Vector { element, dimension }) if items.len() == *dimension as usize => {
                all(&mut items.iter().map(|item| item.argument().fit(element)))
            }
            (Draft::Set(items), CqlType::Map { .. }) if items.is_empty() => Fit::Weak,
            (Draft::Map(entries), CqlType::Map { key, value, .. }) => {
                let fit =
                    |entry: &(Draft<'_>, Draft<'_>)| entry.0.argument().fit(key).min(entry.1.argument().fit(value));
                all(&mut entries.iter().map(fit))
            }
            (Draft::Tuple(items), CqlType::Tuple(types)) if items.len() <= types.len() => {
                all(&mut items.iter().zip(types).map(|(item, ty)| item.argument().fit(ty)))
            }
            (Draft::Tuple(items), ty) if items.len() == 1 => items[0].argument().fit(ty),
            (Draft::Udt(given), CqlType::Udt { fields, .. }) => {
                let fit = |(name, draft): &(&str, Draft<'_>)| {
                    let field = fields.iter().find(|field| field.name == *name);
                    field.map_or(Fit::No, |field| draft.argument().fit(&field.ty))
                };
                all(&mut given.iter().map(fit))
            }
            _ => Fit::No,
        }
    }

    fn natural_type(&self) -> Option<CqlType> {
        let first = |items: &[Draft<'_>]| items.iter().find_map(|item| item.argument().natural_type()).map(Box::new);
        self.exact_type().or_else(|| match self {
            Draft::List(items) => Some(CqlType::List { element: first(items)?, frozen: false }),
            Draft::Set(items) => Some(CqlType::Set { element: first(items)?, frozen: false }),
            Draft::Map(entries) => {
                let key = entries.iter().find_map(|entry| entry.0.argument().natural_type())?;
                let value = entries.iter().find_map(|entry| entry.1.argument().natural_type())?;
                Some(CqlType::Map { key: Box::new(key), value: Box::new(value), frozen: false })
            }
            Draft::Tuple(items) if items.len() == 1 => items[0].argument().natural_type(),
            Draft::Tuple(items) => {
                let types = items.iter().map(|item| item.argument().natural_type());
                types.collect::<Option<_>>().map(CqlType::Tuple)
            }
            _ => None,
        })
    }

    fn list_len(&self) -> Option<usize> {
        match self {
            Draft::List(items) => Some(items.len()),
            _ => None,
        }
    }
}
