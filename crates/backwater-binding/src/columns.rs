//! Columns of Arrow tables, of all integer and text types that data frame libraries choose.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_schema::DataType;
use backwater::ScenarioError;

/// Returns an error for a value in a row.
pub fn at(column: &str, row: usize, value: &str, reason: &str) -> ScenarioError {
    let mut error = ScenarioError::new(format!("row {row} (from 0): `{value}`: {reason}")).key(column);
    error.value = Some(value.to_owned());
    error
}

pub type Integers<'a> = Box<dyn Iterator<Item = Option<i128>> + 'a>;

/// Returns whole numbers of any type, one at a time.
pub fn integers<'a>(array: &'a dyn Array, name: &str, hint: &str) -> Result<Integers<'a>, ScenarioError> {
    fn wide<T: ArrowPrimitiveType>(array: &dyn Array) -> Integers<'_>
    where
        T::Native: Into<i128>,
    {
        Box::new(array.as_primitive::<T>().iter().map(|value| value.map(Into::into)))
    }
    Ok(match array.data_type() {
        DataType::Int8 => wide::<Int8Type>(array),
        DataType::Int16 => wide::<Int16Type>(array),
        DataType::Int32 => wide::<Int32Type>(array),
        DataType::Int64 => wide::<Int64Type>(array),
        DataType::UInt8 => wide::<UInt8Type>(array),
        DataType::UInt16 => wide::<UInt16Type>(array),
        DataType::UInt32 => wide::<UInt32Type>(array),
        DataType::UInt64 => wide::<UInt64Type>(array),
        // A column of nulls alone has no better type.
        DataType::Null => Box::new(std::iter::repeat_n(None, array.len())),
        other => {
            let reason = format!("the column holds {other}, not whole numbers");
            return Err(ScenarioError::new(reason).key(name).hint(hint));
        }
    })
}

/// Returns numbers from 0 that may be null. `before` is the number of rows before these.
pub fn perhaps(array: &dyn Array, name: &str, before: usize, hint: &str) -> Result<Vec<Option<u64>>, ScenarioError> {
    // If a value is missing, pandas turns a column of whole numbers into one of floats.
    if *array.data_type() == DataType::Float64 {
        let whole = |(row, value): (usize, Option<f64>)| match value.filter(|value| !value.is_nan()) {
            Some(value) if value.fract() != 0.0 || !(0.0..=MOST_EXACT).contains(&value) => {
                Err(at(name, before + row, &value.to_string(), "no whole number from 0 to 2^53"))
            }
            value => Ok(value.map(|value| value as u64)),
        };
        return array.as_primitive::<Float64Type>().iter().enumerate().map(whole).collect();
    }
    let number = |(row, value): (usize, Option<i128>)| match value {
        None => Ok(None),
        Some(value) => match u64::try_from(value) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(at(name, before + row, &value.to_string(), "below 0")),
        },
    };
    integers(array, name, hint)?.enumerate().map(number).collect()
}

/// Floats are exact up to here.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns lists of numbers from 0: the end of each list, and the numbers of all. A null list is empty.
pub fn lists(
    array: &dyn Array,
    name: &str,
    before: usize,
    hint: &str,
) -> Result<(Vec<usize>, Vec<u64>), ScenarioError> {
    let (begins, values): (Vec<usize>, _) = match array.data_type() {
        DataType::Null => return Ok((vec![0; array.len()], Vec::new())),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            (lists.value_offsets().iter().map(|at| *at as usize).collect(), lists.values())
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            (lists.value_offsets().iter().map(|at| *at as usize).collect(), lists.values())
        }
        other => {
            let reason = format!("the column holds {other}, not lists of whole numbers");
            return Err(ScenarioError::new(reason).key(name).hint(hint));
        }
    };
    let (mut ends, mut all) = (Vec::with_capacity(array.len()), Vec::new());
    for (row, bounds) in begins.windows(2).enumerate() {
        // The numbers of a null list have no meaning.
        if !array.is_null(row) {
            let part = values.slice(bounds[0], bounds[1] - bounds[0]);
            for value in integers(part.as_ref(), name, hint)? {
                let wrong = |value: &str, reason: &str| at(name, before + row, value, reason);
                let value = value.ok_or_else(|| wrong("null", "no id of an operation"))?;
                all.push(u64::try_from(value).map_err(|_| wrong(&value.to_string(), "below 0"))?);
            }
        }
        ends.push(all.len());
    }
    Ok((ends, all))
}

/// Returns texts of any type. An empty text becomes `None`, and those of a list are joined by blanks.
pub fn texts(array: &dyn Array, column: &str, hint: &str) -> Result<Vec<Option<String>>, ScenarioError> {
    let some = |text: Option<&str>| text.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(some).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(some).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(some).collect(),
        // A column of nulls alone has no better type.
        DataType::Null => vec![None; array.len()],
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = texts(dictionary.values().as_ref(), column, hint)?;
            if values.is_empty() {
                return Ok(vec![None; array.len()]);
            }
            let keys = dictionary.normalized_keys();
            let value = |(row, key): (usize, usize)| {
                if array.is_null(row) { None } else { values.get(key).cloned().flatten() }
            };
            keys.into_iter().enumerate().map(value).collect()
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>().iter();
            lists
                .map(|list| list.map_or(Ok(None), |names| joined(names.as_ref(), column, hint)))
                .collect::<Result<_, _>>()?
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>().iter();
            lists
                .map(|list| list.map_or(Ok(None), |names| joined(names.as_ref(), column, hint)))
                .collect::<Result<_, _>>()?
        }
        other => {
            let reason = format!("the column holds {other}, not text");
            return Err(ScenarioError::new(reason).key(column).hint(hint));
        }
    })
}

fn joined(names: &dyn Array, column: &str, hint: &str) -> Result<Option<String>, ScenarioError> {
    let names: Vec<String> = texts(names, column, hint)?.into_iter().flatten().collect();
    Ok(if names.is_empty() { None } else { Some(names.join(" ")) })
}
