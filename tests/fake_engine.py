#!/usr/bin/env -S python3 -E -S
"""Speaks the engine's protocol without a network, for tests that run unprivileged.

Environment variables change its behaviour. Those that name trials contain numbers separated by commas.

- FAKE_PATH: the end of a path examination: `refused`, `cannot`, or else the report in vectors/path.json
- FAKE_WORK: the estimated duration of a simulated trial in seconds
- FAKE_SAME=1: all trials have equal figures
- FAKE_PROCESSORS: the number of CPUs
- FAKE_KERNEL: the kernel's name and version
- FAKE_SECONDS: the duration of a trial in seconds
- FAKE_LOG=1: logs lines of the engine and of a library
- FAKE_ESCAPES=1: the message of a failure contains control sequences that clear a terminal
- FAKE_MISSING=1: the machine lacks two requirements
- FAKE_LACKS=1: the machine lacks QEMU, which every host needs for its guest
- FAKE_WARN, FAKE_FAIL: the trials that have a warning, or fail
- FAKE_DISTURBED: the trials whose attempts are disturbed, each with the number of attempts, such as 3x1; the
  attempts are counted in files `attempts-NUMBER` in the directory
- FAKE_DIE: the trials that end the engine
- FAKE_HANG: the trials that never end
- FAKE_GARBAGE: the trials that are answered with an unknown event
- FAKE_OTHER: the trials that are answered with the record of another trial
- FAKE_WAIT: the trials that create a file `waits-NUMBER` in the directory, and wait for a file `go-on`
- FAKE_STUCK=1: the engine does not end when its input ends

With the backend `hosts`, its inventory's machines are present unless the directory has a file `gone-MACHINE`.
Each trial writes a line to `log-MACHINE` when it begins and when it ends.

A run starts it two or three times, so it loads little: no site-packages, no pathlib, and random numbers only
for records."""

import json
import os
import sys
import time

TESTS = os.path.dirname(__file__)
RUNNER = os.getppid()
"""The process that started this engine, whose end ends a waiting trial."""


def trials(variable):
    return os.environ.get(variable, "").split(",")


def preflight():
    missing = []
    if os.environ.get("FAKE_MISSING") and not simulated():
        missing = [
            {"what": "unshare(CLONE_NEWUSER)", "why": "Operation not permitted", "remedy": "run as root"},
            {"what": "queueing discipline htb", "why": "not found", "remedy": "modprobe sch_htb"},
        ]
    environment = {
        "engine_version": "0.1.0",
        "kernel": os.environ.get("FAKE_KERNEL", "Linux 6.18.0 #1 SMP x86_64"),
        "processor": "A CPU",
        "processors": int(os.environ.get("FAKE_PROCESSORS", 2)),
        "privileges": "root",
        "congestion_controls": ["cubic", "reno"],
        "sysctls": {"net.ipv4.tcp_ecn": "2"},
    }
    missing += [
        {"what": f"machine {name}", "why": "no route to host", "remedy": "switch it on"} for name in gone()
    ]
    limits = [{"what": "a third CPU", "why": "there are 2", "remedy": "a larger machine"}]
    limits = [] if simulated() else limits
    return {
        "event": "preflight",
        "preflight": {
            "missing": missing,
            "limits": limits,
            "capabilities": capabilities(),
            "environment": environment,
        },
    }


def inventory():
    return json.loads(sys.argv[2]) if sys.argv[1] == "hosts" else {"machines": {}}


def gone():
    return [name for name in inventory()["machines"] if os.path.exists(f"gone-{name}")]


def note(text):
    for name in inventory()["machines"]:
        with open(f"log-{name}", "a") as log:
            log.write(f"{text}\n")


def capabilities():
    with open(f"{TESTS}/../nettrial/capabilities.json") as stated:
        return json.load(stated)[sys.argv[1]]


def check(scenario):
    problems = []
    for number, link in enumerate(scenario["links"]):
        for side, end in enumerate(link["ends"]):
            if end["mtu"] == "500 B":
                problems.append(
                    {
                        "pointer": f"/links/{number}/ends/{side}/mtu",
                        "setting": "mtu",
                        "object": f"link {link['ends'][0]['node']} - {link['ends'][1]['node']}",
                        "value": end["mtu"],
                        "expected": "1280 B to 65535 B",
                        "hint": "1280 is IPv6's smallest MTU (RFC 8200 section 5)",
                    }
                )
    if os.environ.get("FAKE_LACKS"):
        for number, node in enumerate(scenario["nodes"]):
            if node["kind"] == "host":
                problems.append(
                    {
                        "pointer": f"/nodes/{number}/system",
                        "setting": "system",
                        "object": f"node {node['name']}",
                        "value": f"system-of-{node['name']}",
                        "expected": "qemu-system-x86_64 on PATH, where it is missing",
                        "hint": "install QEMU: apt-get install qemu-system-x86",
                        "of_machine": True,
                    }
                )
    answer = {"event": "checked", "problems": problems}
    if simulated():
        answer["estimate"] = {"packet_hops": 10**9, "seconds": float(os.environ.get("FAKE_WORK", 1))}
    return answer


def distribution(draw, mean):
    values = sorted(draw.gauss(mean, mean / 10) for _ in range(100))
    return {
        "count": 100,
        "mean": sum(values) / 100,
        "deviation": mean / 10,
        "minimum": values[0],
        "p50": values[50],
        "p90": values[90],
        "p99": values[99],
        "maximum": values[99],
    }


def flow_record(draw, flow, mtu):
    transfer = flow["traffic"]["kind"] == "transfer"
    goodput = 1e9 * (mtu - 72) / (mtu + 38) * draw.uniform(0.98, 1)
    record = {
        "name": flow["name"],
        "transport": flow["transport"],
        "ip": flow["ip"],
        "congestion_control": "cubic",
        "mss_bytes": mtu - 72,
        "connections": 48 if transfer else 1,
        "bytes": 240_000_000 if transfer else 25_600,
        "active_ns": 2_000_000_000,
        "span": {
            "began_ns": 0,
            "ended_ns": 2_000_000_000,
            "active_ns": 2_000_000_000,
            "bytes": round(goodput / 4) if transfer else 25_600,
        },
        "ended_ns": 2_000_000_000,
        "connect_us": distribution(draw, 100),
        "retransmissions_pkts": 0,
        "marks_pkts": 0,
        "srtt_us": distribution(draw, 900),
        "min_rtt_us": 80,
        "intervals": [],
    }
    if transfer:
        return {**record, "goodput_bps": goodput, "completion_us": distribution(draw, 41_000)}
    return {
        **record,
        "rtt_us": distribution(draw, 1000 + mtu / 10),
        "jitter_rfc3550_us": draw.uniform(20, 40),
        "delay_difference_mean_us": draw.uniform(30, 60),
    }


def simulated():
    return sys.argv[1:] in (["sim"], ["fluid"])


def disturbances(trial):
    wanted = dict(each.split("x") for each in trials("FAKE_DISTURBED") if each)
    if simulated() or str(trial) not in wanted:
        return {}
    with open(f"attempts-{trial}", "a") as attempts:
        made = attempts.tell()
        attempts.write("x")
    other = 60.0 if made < int(wanted[str(trial)]) else 0.5
    return {"disturbances": [{"machine": "this machine", "other_work_percent": other, "stolen_percent": 0.0}]}


def record(trial, scenario):
    import random

    seed = 0 if os.environ.get("FAKE_SAME") else scenario["seed"] if simulated() else trial
    draw = random.Random(seed)
    mtu = int(scenario["links"][0]["ends"][0]["mtu"].split()[0])
    hosts = [node["name"] for node in scenario["nodes"] if node["kind"] == "host"]
    warning = {
        "code": "processor_saturated",
        "object": "CPU 0 (sender)",
        "message": "in use 99% of the time",
        "consequence": "throughput may be the CPU's and not the network's",
    }
    return {
        "format": 1,
        "backend": sys.argv[1],
        **disturbances(trial),
        **({"set": inventory()["set"]} if inventory().get("set") else {}),
        "engine_version": "0.1.0",
        "started_unix_ns": 0 if simulated() else time.time_ns(),
        "phases": {"network_ns": 10**7, "checks_ns": 10**8, "traffic_ns": 2 * 10**9, "tear_down_ns": 10**7},
        "flows": [flow_record(draw, flow, mtu) for flow in scenario["workload"]],
        "hosts": [
            {
                "name": host,
                **({} if simulated() else {"processor": number}),
                "processor_shared_with": [],
                "cpu_percent": draw.uniform(60, 70),
                "cpu_busy_ns": 1_300_000_000,
                "service_demand_us_per_kb": draw.uniform(4, 6),
            }
            for number, host in enumerate(hosts)
        ],
        "ends": [],
        "checks": [],
        "warnings": [warning] if trial in trials("FAKE_WARN") else [],
        "absent": [],
    }


def run(trial, scenario):
    log = os.environ.get("NETTRIAL_LOG")
    note(f"begins {trial}")
    time.sleep(float(os.environ.get("FAKE_SECONDS", 0)))
    if trial in trials("FAKE_DIE"):
        print("thread 'main' panicked at somewhere", file=sys.stderr)
        sys.exit(101)
    if trial in trials("FAKE_HANG"):
        time.sleep(3600)
    if trial in trials("FAKE_WAIT"):
        open(f"waits-{trial}", "a").close()
        while not os.path.exists("go-on"):
            if os.getppid() != RUNNER:
                sys.exit(1)
            time.sleep(0.01)
    if gone():
        return {"event": "failed", "trial": trial, "kind": "other", "message": f"{gone()[0]} has vanished"}
    note(f"ends {trial}")
    if os.environ.get("FAKE_LOG"):
        print(f"2026-01-01T00:00:00Z  INFO nettrial_lab: builds trial {trial}", file=sys.stderr)
        print(f"2026-01-01T00:00:00Z DEBUG nettrial_lab: NETTRIAL_LOG={log}", file=sys.stderr)
        print("a library says this", file=sys.stderr, flush=True)
    if trial in trials("FAKE_FAIL"):
        escapes = "\x1b[2J\x9b2J\r" if os.environ.get("FAKE_ESCAPES") else ""
        message = f"building the network: no such device{escapes}"
        return {"event": "failed", "trial": trial, "kind": "other", "message": message}
    if trial in trials("FAKE_GARBAGE"):
        return {"event": "nonsense"}
    if trial in trials("FAKE_OTHER"):
        trial = "another"
    return {"event": "record", "trial": trial, "record": record(trial, scenario)}


def path(request):
    how = os.environ.get("FAKE_PATH")
    if how == "refused":
        problem = {"pointer": "/host", "setting": "host", "object": "the path", "value": request["host"]}
        problem |= {"expected": "a host's name or address", "hint": "it has no IPv6 address"}
        return {"answer": "bad_request", "problem": problem}
    if how == "cannot":
        lack = {"what": "IPv4 to 10.0.3.2", "why": "Network is unreachable", "remedy": "look at the routes"}
        return {"answer": "cannot", "missing": [lack]}
    with open(f"{TESTS}/vectors/path.json") as report:
        return {"answer": "report", "report": json.load(report)}


def main():
    if sys.argv[1:] == ["path"]:
        print(json.dumps(path(json.loads(sys.stdin.readline()))), flush=True)
        return
    if sys.argv[1:] not in (["lab"], ["sim"], ["fluid"], ["virtual"]) and sys.argv[1] != "hosts":
        sys.exit(f"no such backend: {sys.argv[1:]}")
    for line in sys.stdin:
        request = json.loads(line)
        if request["request"] == "preflight":
            event = preflight()
        elif request["request"] == "check":
            event = check(request["scenario"])
        else:
            if (threads := request["threads"]) > 1:
                with open(f"threads-{request['trial']}", "w") as file:
                    file.write(str(threads))
            event = run(request["trial"], request["scenario"])
        print(json.dumps(event), flush=True)
    if os.environ.get("FAKE_STUCK"):
        time.sleep(3600)


main()
