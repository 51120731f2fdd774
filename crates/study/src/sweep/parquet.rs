//! Writes rows of runs as a Parquet file, and reads them.
//!
//! Uses only the columns of the crate `parquet`; its Arrow support would take longer to compile
//! than this whole library.

use std::sync::Arc;

use joulepath_report::Field;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde::{Deserialize, Serialize};

/// A column. Every cell but the run's index may be unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name, including the unit.
    pub name: String,
    /// Type of its cells.
    pub kind: Kind,
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Integers from 0.
    Count,
    /// Floating point.
    Number,
    /// UTF-8.
    Text,
}

/// A row in the order of the columns. An empty text means unknown.
pub(super) type Row = Vec<Field>;

/// A file of these rows, which must be in the order of their runs, with `about` as metadata.
pub(super) fn encode(
    columns: &[Column],
    rows: &[&Row],
    about: &[(&str, String)],
) -> Result<Vec<u8>> {
    let fields = columns
        .iter()
        .map(|column| field(column).map(Arc::new))
        .collect::<Result<_>>()?;
    let schema = Type::group_type_builder("run")
        .with_fields(fields)
        .build()?;
    let about = about
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()))
        .collect();
    let properties = WriterProperties::builder()
        .set_created_by(concat!("joulepath ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(about))
        .build();
    let mut writer = SerializedFileWriter::new(vec![], Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (index, column) in columns.iter().enumerate() {
        let cells = || rows.iter().map(move |row| &row[index]);
        match column.kind {
            // Parquet stores unsigned integers as signed ones with the same bits.
            Kind::Count => write::<Int64Type>(
                &mut group,
                cells().map(|cell| count(cell).map(|n| n as i64)),
            ),
            Kind::Number => write::<DoubleType>(&mut group, cells().map(number)),
            Kind::Text => write::<ByteArrayType>(&mut group, cells().map(text)),
        }?;
    }
    group.close()?;
    writer.into_inner()
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical, converted) = match column.kind {
        Kind::Count => (
            Physical::INT64,
            Some(LogicalType::integer(64, false)),
            ConvertedType::UINT_64,
        ),
        Kind::Number => (Physical::DOUBLE, None, ConvertedType::NONE),
        Kind::Text => (
            Physical::BYTE_ARRAY,
            Some(LogicalType::String),
            ConvertedType::UTF8,
        ),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .with_converted_type(converted)
        .build()
}

fn count(cell: &Field) -> Option<u64> {
    match cell {
        Field::Count(count) => *count,
        _ => None,
    }
}

fn number(cell: &Field) -> Option<f64> {
    match cell {
        Field::Number(number) => *number,
        _ => None,
    }
}

fn text(cell: &Field) -> Option<ByteArray> {
    match cell {
        Field::Text(text) if !text.is_empty() => Some(text.as_str().into()),
        _ => None,
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut levels) = (vec![], vec![]);
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("no column is left".into()))?;
    column
        .typed::<T>()
        .write_batch(&values, Some(&levels), None)?;
    column.close()
}

/// The metadata under `key`.
pub(super) fn about<R: ChunkReader + 'static>(file: R, key: &str) -> Result<Option<String>> {
    let reader = SerializedFileReader::new(file)?;
    let all = reader.metadata().file_metadata().key_value_metadata();
    let found = all.and_then(|all| all.iter().find(|entry| entry.key == key));
    Ok(found.and_then(|entry| entry.value.clone()))
}

/// Number of rows.
pub(super) fn rows<R: ChunkReader + 'static>(file: R) -> Result<u64> {
    let reader = SerializedFileReader::new(file)?;
    Ok(reader.metadata().file_metadata().num_rows() as u64)
}

/// The columns with these names, each with a cell for every row.
pub(super) fn decode<R: ChunkReader + 'static>(file: R, names: &[&str]) -> Result<Vec<Vec<Field>>> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let place = |name: &&str| {
        let found = schema
            .columns()
            .iter()
            .position(|column| column.name() == *name);
        found.ok_or_else(|| ParquetError::General(format!("there is no column `{name}`")))
    };
    let places: Vec<usize> = names.iter().map(place).collect::<Result<_>>()?;
    let mut columns: Vec<Vec<Field>> = vec![vec![]; names.len()];
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        for (column, &place) in columns.iter_mut().zip(&places) {
            column.extend(cells(&*group, place)?);
        }
    }
    Ok(columns)
}

fn cells(group: &dyn RowGroupReader, place: usize) -> Result<Vec<Field>> {
    let rows = group.metadata().num_rows() as usize;
    let (mut levels, mut cells) = (vec![], vec![]);
    match group.get_column_reader(place)? {
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut values = vec![];
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            let mut values = values.into_iter();
            let cell = |level: &i16| {
                Field::Count(
                    (*level > 0)
                        .then(|| values.next())
                        .flatten()
                        .map(|n| n as u64),
                )
            };
            cells.extend(levels.iter().map(cell));
        }
        ColumnReader::DoubleColumnReader(mut reader) => {
            let mut values = vec![];
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            let mut values = values.into_iter();
            cells.extend(
                levels
                    .iter()
                    .map(|level| Field::Number((*level > 0).then(|| values.next()).flatten())),
            );
        }
        ColumnReader::ByteArrayColumnReader(mut reader) => {
            let mut values: Vec<ByteArray> = vec![];
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            let mut values = values.into_iter();
            for level in &levels {
                let value = (*level > 0).then(|| values.next()).flatten();
                let text = value
                    .map(|value| value.as_utf8().map(str::to_owned))
                    .transpose()?;
                cells.push(Field::Text(text.unwrap_or_default()));
            }
        }
        _ => {
            return Err(ParquetError::General(
                "a column has a type that no study uses".into(),
            ));
        }
    }
    if cells.len() != rows {
        return Err(ParquetError::General(format!(
            "{} cells for {rows} rows",
            cells.len()
        )));
    }
    Ok(cells)
}
