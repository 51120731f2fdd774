//! Tables over the Arrow PyCapsule interface.
//!
//! Only Arrow's arrays and C data interface are needed (`arrow-array`): `pyo3-arrow` would add
//! compute kernels and NumPy to replace a dozen lines.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use joulepath_report::{Field, Record};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::stored::{Reduced, reduced};

/// Columns of equal length.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Batch {
    batch: RecordBatch,
}

impl Batch {
    /// Columns by name; unknown values are null.
    pub(crate) fn of(columns: Vec<(String, Values)>) -> Self {
        if columns.is_empty() {
            return Batch {
                batch: RecordBatch::new_empty(Arc::new(Schema::empty())),
            };
        }
        let columns = columns
            .into_iter()
            .map(|(name, values)| (name, values.array(), true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns);
        Batch {
            batch: batch.expect("all columns have one length"),
        }
    }

    /// One row per record. All records have the same names.
    pub(crate) fn of_records(records: &[Record]) -> Self {
        let names = records.first().map_or(&[][..], |first| &first.fields);
        let column = |(index, (name, _)): (usize, &(String, Field))| {
            (
                name.clone(),
                Values::of(records.iter().map(|record| &record.fields[index].1)),
            )
        };
        Self::of(names.iter().enumerate().map(column).collect())
    }
}

/// A named text field of a record.
pub(crate) fn text(name: &str, text: impl ToString) -> (String, Field) {
    (name.to_owned(), Field::Text(text.to_string()))
}

/// The values of a column.
pub(crate) enum Values {
    Text(Vec<String>),
    Flag(Vec<bool>),
    Count(Vec<Option<u64>>),
    Number(Vec<Option<f64>>),
}

impl Values {
    /// All fields have the kind of the first one.
    fn of<'a>(fields: impl Iterator<Item = &'a Field>) -> Self {
        let mut values: Option<Values> = None;
        for field in fields {
            let values = values.get_or_insert_with(|| match field {
                Field::Text(_) => Values::Text(vec![]),
                Field::Flag(_) => Values::Flag(vec![]),
                Field::Count(_) => Values::Count(vec![]),
                Field::Number(_) => Values::Number(vec![]),
            });
            match (values, field) {
                (Values::Text(all), field) => all.push(field.to_string()),
                (Values::Flag(all), Field::Flag(flag)) => all.push(*flag),
                (Values::Count(all), Field::Count(count)) => all.push(*count),
                (Values::Number(all), Field::Number(number)) => all.push(*number),
                _ => unreachable!("records of one table have values of the same kinds"),
            }
        }
        values.unwrap_or(Values::Text(vec![]))
    }

    fn array(self) -> ArrayRef {
        match self {
            Values::Text(all) => Arc::new(StringArray::from(all)),
            Values::Flag(all) => Arc::new(BooleanArray::from(all)),
            Values::Count(all) => Arc::new(UInt64Array::from(all)),
            Values::Number(all) => Arc::new(Float64Array::from(all)),
        }
    }
}

#[pymethods]
impl Batch {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let schema = self.batch.schema();
        let column = |(index, field): (usize, &Arc<arrow_schema::Field>)| {
            let kind = match field.data_type() {
                DataType::Float64 => "number",
                DataType::UInt64 => "count",
                DataType::Boolean => "flag",
                _ => "text",
            };
            Ok((field.name().clone(), kind, self.column(py, index)?))
        };
        let columns = schema
            .fields()
            .iter()
            .enumerate()
            .map(column)
            .collect::<PyResult<Vec<_>>>()?;
        reduced(py, "Batch", columns)
    }

    /// Unpickles from name, kind and values of each column.
    #[staticmethod]
    fn restore(state: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let column = |(name, kind, values): (String, String, Bound<'_, PyAny>)| {
            let values = match kind.as_str() {
                "number" => Values::Number(values.extract()?),
                "count" => Values::Count(values.extract()?),
                "flag" => Values::Flag(values.extract()?),
                _ => Values::Text(values.extract()?),
            };
            Ok((name, values))
        };
        Ok(Batch::of(
            state.into_iter().map(column).collect::<PyResult<_>>()?,
        ))
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column; unknown values are None.
    fn column<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyList>> {
        let column = self
            .batch
            .columns()
            .get(index)
            .ok_or_else(|| PyIndexError::new_err("no such column"))?;
        let values = (0..column.len())
            .map(|row| value(py, column, row))
            .collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, values)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(|error| arrow(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// A stream of one batch that shares this table's memory. A requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer answer with its own schema.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn arrow(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn value(py: Python<'_>, column: &ArrayRef, row: usize) -> PyResult<Py<PyAny>> {
    let column = column.as_any();
    if let Some(numbers) = column.downcast_ref::<Float64Array>() {
        return numbers
            .is_valid(row)
            .then(|| numbers.value(row))
            .into_py_any(py);
    }
    if let Some(counts) = column.downcast_ref::<UInt64Array>() {
        return counts
            .is_valid(row)
            .then(|| counts.value(row))
            .into_py_any(py);
    }
    if let Some(flags) = column.downcast_ref::<BooleanArray>() {
        return flags.value(row).into_py_any(py);
    }
    let texts = column
        .downcast_ref::<StringArray>()
        .expect("columns are made of `Values`");
    texts.value(row).into_py_any(py)
}
