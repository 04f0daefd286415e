"""Records with known figures."""

from nettrial.scenario import Record


def distribution(mean: float, p99: float | None = None) -> dict[str, float]:
    """Returns a distribution with this mean."""
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
    """Returns a possible record of `jumbo-ipv6`. `trial` distinguishes records."""
    flow = {
        "transport": "tcp",
        "ip": 6,
        "congestion_control": "cubic",
        "mss_bytes": 1428,
        "active_ns": 2_000_000_000,
        "connect_us": distribution(100),
        "retransmissions_pkts": 3,
        "marks_pkts": 11,
        "srtt_us": distribution(900),
        "min_rtt_us": 80,
        "intervals": [],
    }
    time = {"began_ns": 1_000_000, "ended_ns": 2_001_000_000, "active_ns": 2_000_000_000}
    transfer = {
        "name": "transfer",
        "connections": 47,
        "bytes": 235_000_000,
        "span": {**time, "bytes": 235_375_000},
        "ended_ns": 2_001_000_000,
        "goodput_bps": 941.5e6,
        "completion_us": distribution(41_000),
    }
    probe = {
        "name": "probe",
        "connections": 1,
        "bytes": 25_600,
        "span": {**time, "bytes": 25_600},
        "ended_ns": 2_001_000_000,
        "rtt_us": distribution(1200, 2500),
        "jitter_rfc3550_us": 30,
        "delay_difference_mean_us": 50,
    }
    host = {
        "processor": 0,
        "processor_shared_with": [],
        "cpu_percent": 66.5,
        "cpu_busy_ns": 1_330_000_000,
        "shaper_percent": 7.5,
        "service_demand_us_per_kb": 5.25,
        "radio": {
            "interface": "wlan0",
            "before": {"sent_pkts": 1000, "retries": 10},
            "after": {"sent_bps": 270_000_000, "signal_dbm": -52, "sent_pkts": 6000, "retries": 310},
        },
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


CONTROLLER = {
    "openflow": "1.3",
    "connect_ns": 30_000_000,
    "discovery_ns": 40_000_000,
    "ready_ns": 80_000_000,
    "packet_ins": 12,
    "packet_outs": 13,
    "changes": 14,
    "setup_us": {
        "count": 2,
        "mean": 1500.0,
        "deviation": 707.0,
        "minimum": 1000.0,
        "p50": 1000.0,
        "p90": 2000.0,
        "p99": 2000.0,
        "maximum": 2000.0,
    },
    "cpu_ns": 20_000_000,
    "switches_cpu_ns": 90_000_000,
    "lost_pkts": 0,
    "rules": {
        "count": 2,
        "mean": 4.5,
        "deviation": 0.7,
        "minimum": 4.0,
        "p50": 4.0,
        "p90": 5.0,
        "p99": 5.0,
        "maximum": 5.0,
    },
}

CHANNEL = {
    "access_point": "ap",
    "elapsed_ps": 1000,
    "idle_ps": 400,
    "collisions_ps": 100,
    "stations": [
        {
            "node": "sender",
            "interface": "eth0",
            "airtime": {"data_ps": 300, "errors_ps": 50, "overhead_ps": 150},
            "collided_ps": 70,
            "exchanges": 30,
            "beacons": 0,
            "collisions": 10,
            "mpdus_pkts": 200,
            "retries_pkts": 20,
            "lost_mpdus_pkts": 10,
            "delivered_pkts": 170,
            "queue_drops_pkts": 4,
            "retry_drops_pkts": 3,
            "queued_pkts": 5,
            "aggregates": [10, 0, 20],
            "queue_delay_mean_ns": 2_500_000,
            "queue_delay_max_ns": 9_000_000,
            "contention_delay_mean_ns": 125_000,
            "contention_delay_max_ns": 900_000,
        }
    ],
}
"""A radio channel of one station."""


def full_record() -> Record:
    """Returns a record with a figure for every metric, which no single trial has, because traffic has
    different figures."""
    tails = {"p99_9": 3100.0, "p99_99": 3200.0, "p99_999": 3300.0}
    delays = {**distribution(1200, 2500), "count": 200_000, **tails}
    interval = {
        "at_ns": 1,
        "bytes": 1,
        "srtt_us": 900,
        "min_rtt_us": 80,
        "retransmissions_pkts": 0,
    }
    subflow = {
        "local": "10.0.0.1:1",
        "remote": "10.0.0.2:2",
        "min_rtt_us": 80,
        "retransmissions_pkts": 0,
        "marks_pkts": 0,
        "congestion_control": "cubic",
    }
    made = record().model_dump(by_alias=True, exclude_none=True)
    made["flows"][0].update(
        ip_bytes=250_000_000,
        wire_bytes=256_000_000,
        transactions_per_second=833.25,
        rtt_us=delays,
        owd_us=delays,
        owd_error_us=15.0,
        recovery_ns=350_000_000,
        mechanisms={
            f"{part}_us": distribution(number, 2 * number)
            for number, part in enumerate(("sending", "queue", "wire", "reading", "answering"), start=1)
        },
        delay_variation_us=delays,
        jitter_rfc3550_us=30.0,
        delay_difference_mean_us=50.0,
        packets={
            "sent_pkts": 1000,
            "received_pkts": 980,
            "lost_pkts": 20,
            "reordered_pkts": 49,
            "duplicated_pkts": 98,
            "loss_bursts": 8,
            "longest_loss_burst_pkts": 7,
            "send_errors_pkts": 0,
        },
        pacing={
            "asked_bps": 10e6,
            "sent_bps": 9.9e6,
            "lateness_us": distribution(5, 42),
            "cpu_percent": 12.0,
        },
        subflows=[
            {**subflow, "bytes": 300, "srtt_us": 1000, "cwnd_pkts": 10},
            {**subflow, "bytes": 100, "srtt_us": 3000, "cwnd_pkts": 30},
        ],
        sizes=[
            {
                "size_bytes": size,
                "rtt_us": [rtt, rtt + 2],
                "rtt_minimum_us": [rtt - 1, rtt],
                "total_us": [1000, 1000],
                "resent_pkts": 2,
            }
            for size, rtt in ((1000, 10), (10_900, 20), (11_000, 30))
        ],
        intervals=[
            {**interval, "cwnd_pkts": 10, "delivery_rate_bps": 900_000_000},
            {**interval, "cwnd_pkts": 30, "delivery_rate_bps": 700_000_000},
            {**interval, "cwnd_pkts": 0},
        ],
    )
    end = {
        "wire_bytes": 1,
        "frames_pkts": 100,
        "drops_pkts": 4,
        "queue_pkts": distribution(12, 90),
        "packet_sizes": [{"size_bytes": 1500, "packets": 90}, {"size_bytes": 60, "packets": 10}],
    }
    made["ends"] = [{"node": "sender", "interface": "eth0", **end}]
    made["channels"] = [CHANNEL]
    made["controller"] = CONTROLLER
    return Record.model_validate(made)
