//! Values of a copy in PostgreSQL's binary format. Rows consist of numbers and bytes, and the type
//! of the column determines the format.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use caseload_store::copy::rows::Value;

type Fault = Box<dyn Error + Sync + Send>;

/// A value to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentValue<'a>(pub(super) Value<'a>);

impl ToSql for SentValue<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Fault> {
        match self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
            Value::Integer(number) => match *ty {
                Type::BOOL => return (number != 0).to_sql(ty, out),
                Type::INT2 => return i16::try_from(number)?.to_sql(ty, out),
                Type::INT4 => return i32::try_from(number)?.to_sql(ty, out),
                Type::INT8 => return number.to_sql(ty, out),
                _ => return Err(format!("a column of type {ty} cannot store a number").into()),
            },
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A received value.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedValue<'a>(pub(super) Value<'a>);

impl<'a> FromSql<'a> for ReceivedValue<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Fault> {
        let value = match *ty {
            Type::BOOL => Value::Integer(i64::from(bool::from_sql(ty, raw)?)),
            Type::INT2 => Value::Integer(i64::from(i16::from_sql(ty, raw)?)),
            Type::INT4 => Value::Integer(i64::from(i32::from_sql(ty, raw)?)),
            Type::INT8 => Value::Integer(i64::from_sql(ty, raw)?),
            Type::BYTEA | Type::TEXT => Value::Bytes(raw),
            _ => return Err(format!("a copy does not support columns of type {ty}").into()),
        };
        Ok(Self(value))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Fault> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
