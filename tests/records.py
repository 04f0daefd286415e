"""A record with known figures."""

from nettrial.scenario import Record


def distribution(mean: float, p99: float | None = None) -> dict[str, float]:
    """One with this mean."""
    p99 = p99 if p99 is not None else mean
    return {
        "count": 100,
        "mean": mean,
        "deviation": 0,
        "minimum": mean,
        "p50": mean,
        "p90": mean,
        "p99": p99,
        "maximum": p99,
    }


def record(trial: str = "") -> Record:
    """What a trial of `jumbo-ipv6` could have given. `trial` marks it, so that records can be told apart."""
    flow = {
        "transport": "tcp",
        "ip": 6,
        "congestion_control": "cubic",
        "mss_bytes": 1428,
        "active_ns": 2_000_000_000,
        "connect_us": distribution(100),
        "retransmissions_pkts": 3,
        "srtt_us": distribution(900),
        "min_rtt_us": 80,
        "intervals": [],
    }
    transfer = {
        "name": "transfer",
        "connections": 47,
        "bytes": 235_000_000,
        "goodput_bps": 941.5e6,
        "completion_us": distribution(41_000),
    }
    probe = {
        "name": "probe",
        "connections": 1,
        "bytes": 25_600,
        "rtt_us": distribution(1200, 2500),
        "jitter_rfc3550_us": 30,
        "delay_difference_mean_us": 50,
    }
    host = {
        "processor": 0,
        "processor_shared_with": [],
        "cpu_percent": 66.5,
        "cpu_busy_ns": 1_330_000_000,
        "service_demand_us_per_kb": 5.25,
    }
    return Record.model_validate(
        {
            "format": 1,
            "backend": "lab",
            "engine_version": f"0.1.0{trial}",
            "started_unix_ns": 1,
            "phases": {"network_ns": 1, "checks_ns": 1, "traffic_ns": 1, "tear_down_ns": 1},
            "flows": [{**flow, **transfer}, {**flow, **probe}],
            "hosts": [{"name": "sender", **host}, {"name": "receiver", **host}],
            "ends": [],
            "checks": [],
            "warnings": [],
            "absent": [],
        }
    )
