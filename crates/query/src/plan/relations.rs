//! WHERE: from relations to what is said about each key column, with Cassandra's rules and words.

use std::collections::BTreeMap;

use cql_syntax::{Operator, Relation, Term};
use cql_types::CqlType;
use schema::{Column, ColumnKind, Table};

use super::element_relations::{contains, entry};
use super::terms::{Markers, Receiver, undefined_column};
use super::{
    ClusteringChoice, Comparison, Filter, InList, KeyChoice, Operand, Selected, SliceEnd, Source, TokenEnd, TokenValue,
};
use crate::error::{QueryError, invalid};

/// The statement that a WHERE belongs to: what is allowed differs, and messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    Select,
    Update,
    Delete,
}

impl StatementKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            StatementKind::Select => "SELECT",
            StatementKind::Update => "UPDATE",
            StatementKind::Delete => "DELETE",
        }
    }
}

/// What is said about one column.
#[derive(Debug)]
enum Restriction {
    Equal(Operand),
    In(InList),
    Slice(SliceRestriction),
}

/// The ends of a slice; each is given at most once.
#[derive(Debug, Default)]
struct SliceRestriction {
    start: Option<SliceEnd>,
    end: Option<SliceEnd>,
}

/// What is said about clustering columns from one position on.
#[derive(Debug)]
enum ClusteringRestriction {
    One(Restriction),
    Tuples { width: usize, tuples: Vec<Vec<Operand>> },
    TupleList { width: usize, list: Operand },
    TupleSlice { width: usize, slice: SliceRestriction },
}

/// What is said about the partition key's token.
#[derive(Debug, Default)]
pub(super) struct TokenRange {
    pub(super) start: Option<Box<TokenEnd>>,
    pub(super) end: Option<Box<TokenEnd>>,
}

/// All of a WHERE.
#[derive(Debug)]
pub(super) struct Restrictions {
    key: Vec<Option<Restriction>>,
    clustering: BTreeMap<usize, ClusteringRestriction>,
    token: Option<TokenRange>,
    others: Vec<(usize, Restriction)>,
    elements: Vec<ElementRestriction>,
    allow_filtering: bool,
}

/// What is said about an element of a column.
#[derive(Debug)]
struct ElementRestriction {
    index: usize,
    comparison: Comparison,
    operands: Vec<Operand>,
}

/// What is said about rows, in the form of prefix and slice.
#[derive(Debug, Default)]
pub(super) struct RowChoices {
    pub(super) choices: Vec<ClusteringChoice>,
    pub(super) start: Option<SliceEnd>,
    pub(super) end: Option<SliceEnd>,
}

impl Restrictions {
    pub(super) fn new(
        relations: &[Relation],
        table: &Table,
        kind: StatementKind,
        allow_filtering: bool,
        markers: &mut Markers,
    ) -> Result<Self, QueryError> {
        let mut restrictions = Restrictions {
            key: table.partition_key().iter().map(|_| None).collect(),
            clustering: BTreeMap::new(),
            token: None,
            others: Vec::new(),
            elements: Vec::new(),
            allow_filtering,
        };
        for relation in relations {
            restrictions.add(relation, table, kind, markers)?;
        }
        Ok(restrictions)
    }

    fn add(
        &mut self,
        relation: &Relation,
        table: &Table,
        kind: StatementKind,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        match relation {
            Relation::Column { column: name, operator, term } => {
                let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
                if matches!(operator, Operator::Contains | Operator::ContainsKey) {
                    let (comparison, operand) = contains(column, table, *operator, term, kind, markers)?;
                    return self.add_element(column, table, comparison, vec![operand]);
                }
                let restriction = column_restriction(column, table, *operator, term, markers)?;
                self.add_to_column(column, table, restriction)
            }
            Relation::Token { columns, operator, term } => {
                self.add_token(columns, *operator, term, table, kind, markers)
            }
            Relation::Tuple { columns, operator, term } => self.add_tuple(columns, *operator, term, table, markers),
            Relation::Element { column: name, key, operator, term } => {
                let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
                let operands = entry(column, table, key, *operator, term, markers)?;
                self.add_element(column, table, Comparison::Entry, operands)
            }
        }
    }

    /// Adds a condition on an element, which is always looked at row by row.
    fn add_element(
        &mut self,
        column: &Column,
        table: &Table,
        comparison: Comparison,
        operands: Vec<Operand>,
    ) -> Result<(), QueryError> {
        if column.kind == ColumnKind::Clustering && !self.allow_filtering {
            return Err(invalid(
                "Clustering columns can only be restricted with CONTAINS with a secondary index or filtering",
            ));
        }
        let index = table.column_index(&column.name).unwrap_or_default();
        self.elements.push(ElementRestriction { index, comparison, operands });
        Ok(())
    }

    fn add_to_column(&mut self, column: &Column, table: &Table, restriction: Restriction) -> Result<(), QueryError> {
        let position = usize::from(column.position);
        match column.kind {
            ColumnKind::PartitionKey => merge(&mut self.key[position], restriction, &column.name),
            ColumnKind::Clustering => {
                let restriction = match (self.clustering.get_mut(&position), restriction) {
                    (Some(ClusteringRestriction::TupleSlice { slice: known, .. }), Restriction::Slice(slice)) => {
                        return known.merge(slice, &column.name);
                    }
                    (_, restriction) => restriction,
                };
                self.check_clustering_order(position, &restriction, table)?;
                let mut known = match self.clustering.remove(&position) {
                    None => None,
                    Some(ClusteringRestriction::One(known)) => Some(known),
                    Some(_) => return Err(tuple_conflict(&column.name)),
                };
                if self.covered_by_tuple(position) {
                    return Err(tuple_conflict(&column.name));
                }
                merge(&mut known, restriction, &column.name)?;
                if let Some(known) = known {
                    self.clustering.insert(position, ClusteringRestriction::One(known));
                }
                Ok(())
            }
            ColumnKind::Static | ColumnKind::Regular => {
                let index = table.column_index(&column.name).unwrap_or_default();
                let known = self.others.iter().position(|(known, _)| *known == index);
                let mut merged = known.map(|place| self.others.remove(place).1);
                merge(&mut merged, restriction, &column.name)?;
                self.others.extend(merged.map(|restriction| (index, restriction)));
                Ok(())
            }
        }
    }

    /// Refuses what follows a slice, unless rows are filtered.
    fn check_clustering_order(
        &self,
        position: usize,
        restriction: &Restriction,
        table: &Table,
    ) -> Result<(), QueryError> {
        let Some((&last, last_restriction)) = self.clustering.last_key_value() else { return Ok(()) };
        if self.allow_filtering {
            return Ok(());
        }
        let name = |position: usize| table.clustering().get(position).map_or("", |column| column.name.as_str());
        if last_restriction.is_slice() && position > last {
            return Err(invalid(format!(
                "Clustering column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                name(position),
                name(last)
            )));
        }
        if position < last && matches!(restriction, Restriction::Slice(_)) {
            return Err(invalid(format!(
                "PRIMARY KEY column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                name(position + 1),
                name(position)
            )));
        }
        Ok(())
    }

    fn covered_by_tuple(&self, position: usize) -> bool {
        self.clustering.iter().any(|(&first, restriction)| first <= position && position < first + restriction.width())
    }

    fn add_token(
        &mut self,
        columns: &[String],
        operator: Operator,
        term: &Term,
        table: &Table,
        kind: StatementKind,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        if kind != StatementKind::Select {
            let name = kind.name();
            return Err(invalid(format!("The token function cannot be used in WHERE clauses for {name} statements")));
        }
        for name in columns {
            table.column(name).ok_or_else(|| undefined_column(name, table))?;
        }
        let names: Vec<&str> = table.partition_key().iter().map(|column| column.name.as_str()).collect();
        if columns.iter().any(|column| !names.contains(&column.as_str())) || columns.len() != names.len() {
            return Err(invalid(
                "The token() function must be applied to all partition key components or none of them",
            ));
        }
        if columns.iter().zip(&names).any(|(column, name)| column != name) {
            return Err(invalid(format!(
                "The token function arguments must be in the partition key order: {}",
                names.join(", ")
            )));
        }
        let value = || token_value(term, table, markers);
        let range = self.token.get_or_insert_default();
        add_token_end(range, operator, value, &names)
    }

    fn add_tuple(
        &mut self,
        names: &[String],
        operator: Operator,
        term: &Term,
        table: &Table,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        let columns = tuple_columns(names, table)?;
        let Some(first) = columns.first() else { return Err(invalid("A tuple of columns must not be empty")) };
        let position = usize::from(first.position);
        let mut values = |term: &Term| tuple_operands(term, &columns, table, markers);
        match operator {
            Operator::Equal => {
                for (operand, column) in values(term)?.into_iter().zip(&columns) {
                    self.add_to_column(column, table, Restriction::Equal(operand))?;
                }
                Ok(())
            }
            Operator::In => {
                let width = columns.len();
                let restriction = match term {
                    Term::Tuple(items) => {
                        let tuples = items.iter().map(values).collect::<Result<Vec<_>, _>>()?;
                        ClusteringRestriction::Tuples { width, tuples }
                    }
                    marker => {
                        let list = CqlType::List { element: Box::new(tuple_type(&columns)), frozen: true };
                        let receiver = Receiver::new(table, format!("in({})", names.join(",")), list);
                        ClusteringRestriction::TupleList { width, list: markers.operand(marker, &receiver)? }
                    }
                };
                self.put_tuple(position, restriction, first)
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                let slice = slice_restriction(operator, values(term)?);
                self.check_clustering_order(position, &Restriction::Slice(SliceRestriction::default()), table)?;
                match self.clustering.get_mut(&position) {
                    Some(ClusteringRestriction::TupleSlice { slice: known, width }) => {
                        *width = columns.len().max(*width);
                        return known.merge(slice, &names.join(", "));
                    }
                    // `a > 1 AND (a, b) < (3, 4)`: both begin with the same column.
                    Some(ClusteringRestriction::One(Restriction::Slice(known))) => {
                        let mut known = std::mem::take(known);
                        known.merge(slice, &first.name)?;
                        let slice = ClusteringRestriction::TupleSlice { width: columns.len(), slice: known };
                        self.clustering.insert(position, slice);
                        return Ok(());
                    }
                    _ => {}
                }
                self.put_tuple(position, ClusteringRestriction::TupleSlice { width: columns.len(), slice }, first)
            }
            _ => Err(invalid(format!("Unsupported relation on ({})", names.join(", ")))),
        }
    }

    fn put_tuple(
        &mut self,
        position: usize,
        restriction: ClusteringRestriction,
        first: &Column,
    ) -> Result<(), QueryError> {
        let covered = position..position + restriction.width();
        if covered.clone().any(|place| self.clustering.contains_key(&place) || self.covered_by_tuple(place)) {
            return Err(tuple_conflict(&first.name));
        }
        self.clustering.insert(position, restriction);
        Ok(())
    }

    /// Whether anything is said about clustering columns.
    pub(super) fn has_clustering(&self) -> bool {
        !self.clustering.is_empty()
    }

    /// Whether anything is said about columns outside of the key.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty() || !self.elements.is_empty()
    }

    /// Whether anything is said about regular columns, or about elements of clustering columns.
    pub(super) fn has_regulars(&self, table: &Table) -> bool {
        let others = self.others.iter().map(|(index, _)| *index);
        let mut restricted = others.chain(self.elements.iter().map(|element| element.index));
        restricted.any(|index| matches!(table.columns()[index].kind, ColumnKind::Regular | ColumnKind::Clustering))
    }

    /// Whether the clustering column at `position` is restricted to one value.
    pub(super) fn is_fixed(&self, position: usize) -> bool {
        matches!(self.clustering.get(&position), Some(ClusteringRestriction::One(Restriction::Equal(_))))
    }

    /// The range of tokens, if token() is restricted.
    pub(super) fn take_token(&mut self) -> Option<TokenRange> {
        self.token.take()
    }

    /// Whether nothing is said about the partition key.
    pub(super) fn has_no_key(&self) -> bool {
        self.key.iter().all(Option::is_none)
    }

    /// Whether the key is said in full, by `=` and IN.
    pub(super) fn has_whole_key(&self) -> bool {
        self.key.iter().all(|restriction| matches!(restriction, Some(Restriction::Equal(_) | Restriction::In(_))))
    }

    /// A statement about static columns says nothing about rows.
    pub(super) fn check_no_clustering(&self, kind: StatementKind) -> Result<(), QueryError> {
        match (self.has_clustering(), kind) {
            (false, _) => Ok(()),
            (true, StatementKind::Select) => {
                Err(invalid("Cannot restrict clustering columns when selecting only static columns"))
            }
            (true, kind) => Err(invalid(format!(
                "Invalid restrictions on clustering columns since the {} statement modifies only static columns",
                kind.name()
            ))),
        }
    }

    /// A modification's WHERE is about the key alone.
    pub(super) fn check_no_other_columns(&self, table: &Table) -> Result<(), QueryError> {
        let names: Vec<&str> = self.others.iter().map(|(index, _)| table.columns()[*index].name.as_str()).collect();
        match names.is_empty() {
            true => Ok(()),
            // The space at the end is Cassandra's.
            false => Err(invalid(format!("Non PRIMARY KEY columns found in where clause: {} ", names.join(", ")))),
        }
    }

    /// Choices for all clustering columns, for a statement about whole rows.
    pub(super) fn whole_clustering(
        &self,
        table: &Table,
        kind: StatementKind,
    ) -> Result<Vec<ClusteringChoice>, QueryError> {
        if self.clustering.values().any(ClusteringRestriction::is_slice) {
            return Err(invalid(format!(
                "Slice restrictions are not supported on the clustering columns in {} statements",
                kind.name()
            )));
        }
        let covered = |position: usize| self.covered_by_tuple(position);
        let missing = table.clustering().iter().enumerate().filter(|(position, _)| !covered(*position));
        let missing: Vec<&str> = missing.map(|(_, column)| column.name.as_str()).collect();
        if !missing.is_empty() {
            return Err(invalid(format!("Some clustering keys are missing: {}", missing.join(", "))));
        }
        Ok(self.clustering.values().filter_map(ClusteringRestriction::choice).collect())
    }

    /// A modification says every column of the partition key.
    pub(super) fn check_key_is_there(&self, table: &Table) -> Result<(), QueryError> {
        let missing = self.key.iter().zip(table.partition_key()).filter(|(restriction, _)| restriction.is_none());
        let missing: Vec<&str> = missing.map(|(_, column)| column.name.as_str()).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(invalid(format!("Some partition key parts are missing: {}", missing.join(", ")))),
        }
    }

    /// The partition key's choices, for a modification.
    pub(super) fn into_keys(self, table: &Table, kind: StatementKind) -> Result<Vec<KeyChoice>, QueryError> {
        self.check_key_is_there(table)?;
        let choice = |restriction| match restriction {
            Restriction::Equal(operand) => Ok(KeyChoice::One(operand)),
            Restriction::In(list) => Ok(KeyChoice::In(list)),
            Restriction::Slice(_) => Err(invalid(format!(
                "Only EQ and IN relation are supported on the partition key (unless you use the token() function) for {} statements",
                kind.name()
            ))),
        };
        self.key.into_iter().flatten().map(choice).collect()
    }

    /// What is said about rows as a prefix and a slice behind it. What cannot be said so stays, to be filtered; that takes
    /// ALLOW FILTERING, and the sentence without it names the first column that stands in the way.
    pub(super) fn take_rows(&mut self, table: &Table, filtering: bool) -> Result<RowChoices, QueryError> {
        let mut rows = RowChoices::default();
        let mut position = 0;
        while let Some(restriction) = self.clustering.remove(&position) {
            let width = restriction.width();
            match restriction {
                ClusteringRestriction::One(Restriction::Equal(operand)) => {
                    rows.choices.push(ClusteringChoice::One(operand));
                }
                ClusteringRestriction::One(Restriction::In(list)) => rows.choices.push(ClusteringChoice::In(list)),
                ClusteringRestriction::Tuples { tuples, .. } => rows.choices.push(ClusteringChoice::Tuples(tuples)),
                ClusteringRestriction::TupleList { list, width } => {
                    rows.choices.push(ClusteringChoice::TupleList { list, width });
                }
                ClusteringRestriction::One(Restriction::Slice(slice))
                | ClusteringRestriction::TupleSlice { slice, .. } => {
                    rows.start = slice.start;
                    rows.end = slice.end;
                    position += width;
                    break;
                }
            }
            position += width;
        }
        match self.clustering.keys().next() {
            None => Ok(rows),
            Some(_) if filtering => Ok(rows),
            Some(&stray) => {
                let name = |position: usize| table.clustering().get(position).map_or("", |column| column.name.as_str());
                Err(invalid(format!(
                    "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
                    name(stray),
                    name(position)
                )))
            }
        }
    }

    /// What is left after [`Restrictions::take_rows`], and the key if it was not taken: conditions on rows.
    pub(super) fn into_filters(self, table: &Table) -> Result<Vec<Filter>, QueryError> {
        let mut filters = Vec::new();
        for (restriction, column) in self.key.into_iter().zip(table.partition_key()) {
            if let Some(restriction) = restriction {
                push_filters(restriction, column, &mut filters);
            }
        }
        for (position, restriction) in self.clustering {
            let Some(column) = table.clustering().get(position) else { continue };
            match restriction {
                ClusteringRestriction::One(restriction) => push_filters(restriction, column, &mut filters),
                ClusteringRestriction::TupleSlice { .. } => {
                    return Err(invalid("Multi-column slice restrictions cannot be used for filtering."));
                }
                ClusteringRestriction::Tuples { .. } | ClusteringRestriction::TupleList { .. } => {
                    return Err(invalid("Multicolumn IN filters are not supported"));
                }
            }
        }
        for (index, restriction) in self.others {
            push_filters(restriction, &table.columns()[index], &mut filters);
        }
        for ElementRestriction { index, comparison, operands } in self.elements {
            let column = &table.columns()[index];
            filters.push(Filter {
                column: Selected::of_column(column),
                comparison,
                operands: InList::Operands(operands),
                ty: column.ty.clone(),
                name: column.name.clone(),
            });
        }
        Ok(filters)
    }

    /// The partition key's choices, for a SELECT that names its partitions.
    pub(super) fn take_keys(&mut self) -> Vec<KeyChoice> {
        let choice = |restriction: &mut Option<Restriction>| match restriction.take() {
            Some(Restriction::Equal(operand)) => Some(KeyChoice::One(operand)),
            Some(Restriction::In(list)) => Some(KeyChoice::In(list)),
            _ => None,
        };
        self.key.iter_mut().filter_map(choice).collect()
    }
}

impl ClusteringRestriction {
    fn width(&self) -> usize {
        match self {
            ClusteringRestriction::One(_) => 1,
            ClusteringRestriction::Tuples { width, .. }
            | ClusteringRestriction::TupleList { width, .. }
            | ClusteringRestriction::TupleSlice { width, .. } => *width,
        }
    }

    fn is_slice(&self) -> bool {
        matches!(self, ClusteringRestriction::One(Restriction::Slice(_)) | ClusteringRestriction::TupleSlice { .. })
    }

    /// A copy as a choice, if it is one.
    fn choice(&self) -> Option<ClusteringChoice> {
        match self {
            ClusteringRestriction::One(Restriction::Equal(operand)) => Some(ClusteringChoice::One(operand.clone())),
            ClusteringRestriction::One(Restriction::In(list)) => Some(ClusteringChoice::In(list.clone())),
            ClusteringRestriction::Tuples { tuples, .. } => Some(ClusteringChoice::Tuples(tuples.clone())),
            ClusteringRestriction::TupleList { list, width } => {
                Some(ClusteringChoice::TupleList { list: list.clone(), width: *width })
            }
            ClusteringRestriction::One(Restriction::Slice(_)) | ClusteringRestriction::TupleSlice { .. } => None,
        }
    }
}

impl SliceRestriction {
    /// Takes over the end that `other` gives.
    fn merge(&mut self, other: SliceRestriction, name: &str) -> Result<(), QueryError> {
        for (place, given, which) in [(&mut self.start, other.start, "start"), (&mut self.end, other.end, "end")] {
            if given.is_some() && place.is_some() {
                return Err(invalid(format!("More than one restriction was found for the {which} bound on {name}")));
            }
            if given.is_some() {
                *place = given;
            }
        }
        Ok(())
    }
}

fn merge(known: &mut Option<Restriction>, new: Restriction, name: &str) -> Result<(), QueryError> {
    match (known.as_mut(), new) {
        (None, new) => {
            *known = Some(new);
            Ok(())
        }
        (Some(Restriction::Slice(slice)), Restriction::Slice(new)) => slice.merge(new, name),
        (Some(Restriction::Equal(_)), _) | (Some(_), Restriction::Equal(_)) => {
            Err(invalid(format!("{name} cannot be restricted by more than one relation if it includes an Equal")))
        }
        (Some(Restriction::In(_)), _) | (Some(_), Restriction::In(_)) => {
            Err(invalid(format!("{name} cannot be restricted by more than one relation if it includes a IN")))
        }
    }
}

fn tuple_conflict(name: &str) -> QueryError {
    invalid(format!(
        "Column \"{name}\" cannot be restricted by both a tuple notation inequality and a single column inequality ({name})"
    ))
}

fn slice_restriction(operator: Operator, operands: Vec<Operand>) -> SliceRestriction {
    let is_inclusive = matches!(operator, Operator::LessOrEqual | Operator::GreaterOrEqual);
    let end = Some(SliceEnd { operands, is_inclusive });
    match operator {
        Operator::Greater | Operator::GreaterOrEqual => SliceRestriction { start: end, end: None },
        _ => SliceRestriction { start: None, end },
    }
}

fn column_restriction(
    column: &Column,
    table: &Table,
    operator: Operator,
    term: &Term,
    markers: &mut Markers,
) -> Result<Restriction, QueryError> {
    let receiver = Receiver::column(table, column);
    let name = &column.name;
    if column.ty.is_multi_cell() && !matches!(operator, Operator::NotEqual | Operator::IsNot) {
        let ty = &column.ty;
        return Err(invalid(match ty.is_collection() {
            true => format!("Collection column '{name}' ({ty}) cannot be restricted by a '{operator}' relation"),
            false => format!("Non-frozen UDT column '{name}' ({ty}) cannot be restricted by any relation"),
        }));
    }
    match operator {
        Operator::Equal => Ok(Restriction::Equal(markers.operand(term, &receiver)?)),
        Operator::In => match term {
            Term::Tuple(items) => {
                let operands = items.iter().map(|item| markers.operand(item, &receiver)).collect::<Result<_, _>>()?;
                Ok(Restriction::In(InList::Operands(operands)))
            }
            marker => {
                let list = CqlType::List { element: Box::new(column.ty.clone()), frozen: false };
                let receiver = Receiver::new(table, format!("in({name})"), list);
                Ok(Restriction::In(InList::Marker(markers.operand(marker, &receiver)?)))
            }
        },
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            if column.ty == CqlType::Duration {
                return Err(invalid("Slice restrictions are not supported on duration columns"));
            }
            Ok(Restriction::Slice(slice_restriction(operator, vec![markers.operand(term, &receiver)?])))
        }
        Operator::NotEqual => Err(invalid(format!("Unsupported \"!=\" relation: {name} != {term}"))),
        Operator::IsNot => Err(invalid(format!("Unsupported restriction: {name} IS NOT NULL"))),
        Operator::Contains | Operator::ContainsKey => panic!("these are about elements"),
        Operator::Like => Err(invalid(format!(
            "LIKE restriction is only supported on properly indexed columns. {name} LIKE ... is not valid."
        ))),
    }
}

/// The columns of a multi-column relation: clustering columns that follow one another.
fn tuple_columns<'t>(names: &[String], table: &'t Table) -> Result<Vec<&'t Column>, QueryError> {
    let mut columns: Vec<&Column> = Vec::with_capacity(names.len());
    for name in names {
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if column.kind != ColumnKind::Clustering {
            return Err(invalid(format!(
                "Multi-column relations can only be applied to clustering columns but was applied to: {name}"
            )));
        }
        if columns.iter().any(|known| known.name == *name) {
            return Err(invalid(format!("Column \"{name}\" appeared twice in a relation: ({})", names.join(", "))));
        }
        if columns.last().is_some_and(|last| last.position + 1 != column.position) {
            return Err(invalid(format!(
                "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: ({})",
                names.join(", ")
            )));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn tuple_operands(
    term: &Term,
    columns: &[&Column],
    table: &Table,
    markers: &mut Markers,
) -> Result<Vec<Operand>, QueryError> {
    if let Term::Marker(marker) = term {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let receiver = Receiver::new(table, format!("({})", names.join(",")), tuple_type(columns));
        let Source::Bound(marker) = markers.marker(marker, &receiver)? else { panic!("a marker is bound") };
        let component =
            |(index, column): (u16, &&Column)| Operand::new(Source::Component { marker, index }, column.ty.clone());
        return Ok((0u16..).zip(columns).map(component).collect());
    }
    let Term::Tuple(items) = term else {
        return Err(invalid(format!("Invalid value for a tuple of {} columns: {term}", columns.len())));
    };
    if items.len() != columns.len() {
        return Err(invalid(format!("Expected {} elements in value tuple, but got {}", columns.len(), items.len())));
    }
    let operand = |(item, column): (&Term, &&Column)| markers.operand(item, &Receiver::column(table, column));
    items.iter().zip(columns).map(operand).collect()
}

/// The type of a value for several columns.
fn tuple_type(columns: &[&Column]) -> CqlType {
    CqlType::Tuple(columns.iter().map(|column| column.ty.clone()).collect())
}

fn token_value(term: &Term, table: &Table, markers: &mut Markers) -> Result<TokenValue, QueryError> {
    if let Term::Function { name, arguments, .. } = term
        && name == "token"
    {
        let columns = table.partition_key();
        if arguments.len() != columns.len() {
            return Err(invalid(format!(
                "Invalid number of arguments in call to function system.token: {} required but {} provided",
                columns.len(),
                arguments.len()
            )));
        }
        let operand = |(index, (argument, column)): (usize, (&Term, &Column))| {
            let receiver = Receiver::new(table, format!("arg{index}(system.token)"), column.ty.clone());
            markers.operand(argument, &receiver)
        };
        let operands = arguments.iter().zip(columns).enumerate().map(operand).collect::<Result<_, _>>()?;
        return Ok(TokenValue::OfKey(operands));
    }
    let receiver = Receiver::new(table, "partition key token", CqlType::Bigint);
    Ok(TokenValue::Number(markers.operand(term, &receiver)?))
}

fn add_token_end(
    range: &mut TokenRange,
    operator: Operator,
    mut value: impl FnMut() -> Result<TokenValue, QueryError>,
    names: &[&str],
) -> Result<(), QueryError> {
    let mut put = |is_start: bool, is_inclusive: bool| -> Result<(), QueryError> {
        let place = if is_start { &mut range.start } else { &mut range.end };
        if place.is_some() {
            let which = if is_start { "start" } else { "end" };
            return Err(invalid(format!(
                "More than one restriction was found for the {which} bound on {}",
                names.join(", ")
            )));
        }
        *place = Some(Box::new(TokenEnd { value: value()?, is_inclusive }));
        Ok(())
    };
    match operator {
        Operator::Greater => put(true, false),
        Operator::GreaterOrEqual => put(true, true),
        Operator::Less => put(false, false),
        Operator::LessOrEqual => put(false, true),
        Operator::Equal => {
            put(true, true)?;
            put(false, true)
        }
        Operator::In => Err(invalid("IN cannot be used with the token function")),
        _ => Err(invalid("Unsupported relation on the token function")),
    }
}

fn push_filters(restriction: Restriction, column: &Column, filters: &mut Vec<Filter>) {
    let selected = Selected::of_column(column);
    let mut push = |comparison, operands| {
        filters.push(Filter {
            column: selected,
            comparison,
            operands,
            ty: column.ty.clone(),
            name: column.name.clone(),
        });
    };
    match restriction {
        Restriction::Equal(operand) => push(Comparison::EqualToAny, InList::Operands(vec![operand])),
        Restriction::In(list) => push(Comparison::EqualToAny, list),
        Restriction::Slice(SliceRestriction { start, end }) => {
            if let Some(SliceEnd { operands, is_inclusive }) = start {
                let comparison = if is_inclusive { Comparison::GreaterOrEqual } else { Comparison::Greater };
                push(comparison, InList::Operands(operands));
            }
            if let Some(SliceEnd { operands, is_inclusive }) = end {
                let comparison = if is_inclusive { Comparison::LessOrEqual } else { Comparison::Less };
                push(comparison, InList::Operands(operands));
            }
        }
    }
}
