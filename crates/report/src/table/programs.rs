//! Formats the table for programs. Unknown values are null or empty, never 0.

use serde_json::{Map, Value};

use super::{Cell, Column, Table};
use crate::machine::{Field, Record, ReportError, write_records};

impl Table {
    /// One record for each line, with the columns that have a key.
    pub fn records(&self) -> Vec<Record> {
        let columns: Vec<(usize, &Column)> =
            self.columns.iter().enumerate().filter(|(_, column)| !column.key.is_empty()).collect();
        let kinds: Vec<Option<&Field>> = columns.iter().map(|(place, _)| self.kind(*place)).collect();
        let record = |cells: &[Cell]| Record {
            fields: columns
                .iter()
                .zip(&kinds)
                .map(|((place, column), kind)| (column.key.clone(), of_kind(&cells[*place], *kind)))
                .collect(),
        };
        self.lines.iter().map(|line| record(&line.cells)).collect()
    }

    /// CSV: a line of keys, then one for each line of the table.
    ///
    /// # Errors
    /// If a text cannot be written as CSV.
    pub fn csv(&self) -> Result<String, ReportError> {
        write_records(&self.records())
    }

    /// JSON: a list with one object for each line of the table, one a line.
    ///
    /// # Errors
    /// If a text cannot be written as JSON.
    pub fn json(&self) -> Result<String, ReportError> {
        let object = |record: Record| -> Result<String, ReportError> {
            let fields = record.fields.into_iter().map(|(name, field)| (name, value(field)));
            Ok(serde_json::to_string(&fields.collect::<Map<_, _>>())?)
        };
        let lines = self.records().into_iter().map(object).collect::<Result<Vec<_>, _>>()?;
        Ok(if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) })
    }

    /// A cell of the column that has a value.
    fn kind(&self, place: usize) -> Option<&Field> {
        let cells = self.lines.iter().map(|line| &line.cells[place].field);
        let unknown = |field: &&Field| {
            matches!(field, Field::Number(None) | Field::Count(None)) || **field == Field::Text(String::new())
        };
        cells
            .clone()
            .find(|field| !unknown(field))
            .or_else(|| self.lines.first().map(|line| &line.cells[place].field))
    }
}

/// The cell's value, with the type of the column.
fn of_kind(cell: &Cell, kind: Option<&Field>) -> Field {
    match (&cell.field, kind) {
        (Field::Text(text), Some(Field::Number(_))) if text.is_empty() => Field::Number(None),
        (Field::Text(text), Some(Field::Count(_))) if text.is_empty() => Field::Count(None),
        (Field::Number(None), Some(Field::Count(_))) => Field::Count(None),
        (Field::Number(None), Some(Field::Text(_))) => Field::Text(String::new()),
        (field, _) => field.clone(),
    }
}

fn value(field: Field) -> Value {
    match field {
        Field::Text(text) => text.into(),
        Field::Flag(flag) => flag.into(),
        Field::Count(count) => count.into(),
        Field::Number(number) => number.into(),
    }
}
