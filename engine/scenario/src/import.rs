//! Measurements of iperf3, whose JSON the engine reads: a line with the text of a file, and a line with what the
//! text has. Nothing is added to iperf3's figures, and those that a document lacks are absent.

use crate::{FlowRecord, IpVersion, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line to an engine that reads measurements of iperf3. Answered by [`ImportAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The text of a file: a JSON document, an array of documents, or documents one after the other, as iperf3's
    /// server and `iperf3 --json-stream` print them. At most [`ImportRequest::MOST_BYTES`] bytes in UTF-8.
    pub text: String,
}

impl ImportRequest {
    /// The most bytes of a text.
    pub const MOST_BYTES: usize = 64 << 20;
}

/// A line from an engine that reads measurements of iperf3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum ImportAnswer {
    /// The text was read.
    #[schemars(title = "ImportedAnswer")]
    Imported {
        /// The documents in it, in their order.
        documents: Vec<ImportedDocument>,
    },
    /// The line could not be read as a request, or its text is too long.
    #[schemars(title = "ImportRefusedAnswer")]
    Refused {
        /// Why.
        message: String,
    },
}

/// A document in the text of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "document", rename_all = "snake_case", deny_unknown_fields)]
pub enum ImportedDocument {
    /// A test of iperf3.
    #[schemars(title = "Iperf3Document")]
    Iperf3 {
        /// The test.
        test: Box<Iperf3Test>,
    },
    /// A document of iperf3 that can't be used.
    #[schemars(title = "RefusedDocument")]
    Refused {
        /// Why.
        refusal: Iperf3Refusal,
    },
    /// A part of the text that is no document of iperf3: the JSON of another program, or a rest that is not JSON.
    #[schemars(title = "OtherDocument")]
    Other {
        /// The place of its first byte in the text, in UTF-8.
        from_byte: u64,
        /// The place after its last byte.
        to_byte: u64,
    },
}

/// A test of iperf3, as a document describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iperf3Test {
    /// The program and its version, such as `iperf 3.12`.
    pub version: String,
    /// The system of the host that wrote the document; empty if the document does not say.
    pub system: String,
    /// The beginning of the test, seconds since 1970-01-01 UTC; absent if the document does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_s: Option<u64>,
    /// The transport.
    pub transport: Transport,
    /// The version of IP.
    pub ip: IpVersion,
    /// The number of streams in each direction.
    pub streams: u32,
    /// The directions of the test: one, or the one from the client and then the one from the server.
    pub directions: Vec<Iperf3Direction>,
}

/// The streams of one direction of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iperf3Direction {
    /// True if the server sent.
    pub reverse: bool,
    /// The figures. A distribution without values and an empty list are absent.
    pub record: FlowRecord,
    /// The figures that are absent for another reason than that the document does not have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Iperf3Gap>,
}

/// The reason why a direction lacks figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "gap", rename_all = "snake_case", deny_unknown_fields)]
pub enum Iperf3Gap {
    /// The document is the server's, which sent and knows nothing of what the client received: the receiver's
    /// figures.
    #[schemars(title = "ReceiverUnknownGap")]
    ReceiverUnknown {},
    /// The document reports neither loss nor jitter, so that nothing says whether a packet arrived: the receiver's
    /// figures.
    #[schemars(title = "ArrivalsUnknownGap")]
    ArrivalsUnknown {},
    /// No packet arrived: the jitter.
    #[schemars(title = "NothingArrivedGap")]
    NothingArrived {},
    /// The intervals do not end one after the other: the intervals.
    #[schemars(title = "IntervalsOutOfOrderGap")]
    IntervalsOutOfOrder {},
    /// The counts of packets contradict the bytes that arrived: the counts.
    #[schemars(title = "ContradictoryCountsGap")]
    ContradictoryCounts {
        /// The packets that arrived according to the counts.
        arrived_pkts: u64,
        /// The packets of which the bytes are that arrived.
        arrived_by_bytes_pkts: u64,
    },
}

/// The reason why a document of iperf3 can't be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "refusal", rename_all = "snake_case", deny_unknown_fields)]
pub enum Iperf3Refusal {
    /// A field has another value than iperf3 writes.
    #[schemars(title = "BadFieldRefusal")]
    BadField {
        /// The path to the field, such as `end.sum.bytes`.
        place: String,
        /// The value, as in the document; shortened if it is long.
        value: String,
        /// The values that are expected, in words.
        expected: String,
    },
    /// The test failed.
    #[schemars(title = "TestFailedRefusal")]
    TestFailed {
        /// iperf3's message.
        error: String,
    },
    /// A server was ended while it waited for a client: there was no test.
    #[schemars(title = "NoClientRefusal")]
    NoClient {
        /// iperf3's message.
        error: String,
    },
    /// There is no `start.test_start`.
    #[schemars(title = "NoSettingsRefusal")]
    NoSettings {},
    /// There is no address in `start.connected`.
    #[schemars(title = "NoAddressRefusal")]
    NoAddress {},
    /// There are no sums of the test.
    #[schemars(title = "NoSumsRefusal")]
    NoSums {},
    /// A rate is not that of its bytes in their time.
    #[schemars(title = "OtherRateRefusal")]
    OtherRate {
        /// The rate, bits per second.
        bits_per_second: f64,
        /// The bytes.
        bytes: u64,
        /// Their time, seconds.
        seconds: f64,
    },
    /// No figure of the test is known.
    #[schemars(title = "NoFigureRefusal")]
    NoFigure {
        /// The reasons, as far as the document has them.
        gaps: Vec<Iperf3Gap>,
    },
}
