//! JSON Schema of the documents.

use crate::{Event, ImportAnswer, ImportRequest, Measure, Request};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};

/// The roots of everything that crosses the engine's standard input and output.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Protocol {
    request: Request,
    measure: Measure,
    event: Event,
    import_request: ImportRequest,
    import_answer: ImportAnswer,
}

/// The schema (draft 2020-12) of requests, measurements, imports and their answers, and in its definitions of every type in them.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Protocol>()
}
