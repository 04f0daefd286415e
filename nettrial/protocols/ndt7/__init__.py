"""ndt7, the protocol of M-Lab's speed tests: a download and an upload, each over one WebSocket connection.

Source: version 0.11.0 of the specification (github.com/m-lab/ndt-server, spec/ndt7-protocol.md). Only
`client`, `server` and `certificate` need the extra `nettrial[ndt7]`; they are imported when used."""
