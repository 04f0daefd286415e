"""Measurement protocols of other programs, spoken by nettrial itself: ndt7 (M-Lab), and STAMP with TWAMP
Light (IETF). Only `ndt7` needs libraries beyond nettrial's own, the extra `nettrial[ndt7]`."""
