"""STAMP and TWAMP Light: packets, error estimates, the reflector's limits, and the figures of a session.
Sender and reflector run in this process, over loopback."""

import contextlib
import ipaddress
import json
import random
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettrial.admission import Log
from nettrial.errors import BadInput
from nettrial.measuring import stamp
from nettrial.protocols.stamp import packet as wire
from nettrial.protocols.stamp import reflector as reflecting
from nettrial.protocols.stamp.clock import ErrorEstimate, ntp, own_estimate, unix_ns
from nettrial.protocols.stamp.figures import METRICS, outcome
from nettrial.protocols.stamp.key import key_of
from nettrial.protocols.stamp.port import Arrival, Port
from nettrial.protocols.stamp.reflector import Reflector, reflect_one
from nettrial.protocols.stamp.sender import ReflectorSession, Sender, StampNotReached, StampReply, StampResult

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "stamp.json").read_text())
"""Packets of stamp-suite 1.0.0, and the key of its authenticated packets."""
KEY = b"sixteen bytes or more"
NOW = 1_795_484_281_863_642_121
SECOND = 10**9


@given(st.integers(0, 2**62))
def test_a_timestamp_stands_for_its_time_in_every_era(now):
    assert 0 <= now - unix_ns(ntp(now), now + 5 * SECOND) <= 1
    assert unix_ns(((now // SECOND) % 2**32) << 32 | now % SECOND, now, ptp=True) == now


@given(st.floats(0, 1e9))
def test_an_error_is_never_understated_and_at_most_by_a_part_too_large(seconds):
    field = ErrorEstimate(True, False, seconds).field()
    found = ErrorEstimate.of(field)
    assert (found.synchronised, found.ptp) == (True, False)
    assert field & 255 >= 1, "RFC 4656 forbids a multiplier of 0"
    assert seconds <= found.seconds <= seconds * (1 + 1 / 64) + 2**-31


def test_the_fields_are_where_the_rfcs_have_them():
    sent = wire.Sent(sequence=0x01020304, sent=0x1112131415161718, estimate=0x8001, ssid=0x0A0B)
    plain = bytes(wire.sender_packet(sent, 48, None))
    assert plain[:16] == bytes.fromhex("01020304 1112131415161718 8001 0a0b")
    assert plain[16:44] == bytes(28)
    assert plain[44:] == bytes.fromhex("80 01 0000"), "Extra Padding, unrecognised until it is recognised"
    secured = bytes(wire.sender_packet(sent, 112, KEY))
    assert secured[:4] + secured[16:28] == bytes.fromhex("01020304 1112131415161718 8001 0a0b")
    assert secured[96:] == wire.digest(secured[:96], KEY)
    for key, size in ((None, 48), (KEY, 120)):
        answer = wire.reflected_packet(bytes(wire.sender_packet(sent, size, key)), 7, 8, 9, 64, key)
        wire.stamp(answer, 10, key)
        assert len(answer) == size
        found = wire.read_reflected(bytes(answer), key)
        assert (found.sequence, found.received, found.sent, found.ttl) == (7, 8, 10, 64)
        assert (found.sender_sequence, found.sender_sent, found.ssid) == (sent.sequence, sent.sent, sent.ssid)
        assert answer[wire.base_size(key)] == 0, "the reflector knows Extra Padding"


@pytest.mark.parametrize("mode", ["open", "authenticated"])
def test_packets_of_another_program_are_read(mode):
    key = bytes.fromhex(VECTORS["key"]) if mode == "authenticated" else None
    sent, reflected = (bytes.fromhex(VECTORS[mode][kind]) for kind in ("sender", "reflector"))
    assert wire.read_sent(sent, key).sequence == 0
    found = wire.read_reflected(reflected, key)
    assert found.sender_sequence == wire.read_sent(bytes.fromhex(VECTORS[mode]["asked"]), key).sequence
    assert found.sender_sent == wire.read_sent(bytes.fromhex(VECTORS[mode]["asked"]), key).sent
    assert abs(unix_ns(found.sent, NOW) - unix_ns(found.received, NOW)) < SECOND
    if key:
        with pytest.raises(wire.NotATestPacket, match="HMAC"):
            wire.read_reflected(reflected, KEY)


def arrival(payload, port=50_000, address="192.0.2.1", at=NOW):
    return Arrival(bytes(payload), (address, port), at, True, 255, 0, b"")


def sent(number=0, size=44, key=None, at=NOW):
    return bytes(wire.sender_packet(wire.Sent(number, ntp(at), 1, 0), size, key))


def answer(reflector, payload, **more):
    return reflector.answer(arrival(payload, **more), more.get("at", NOW) + 1000, 1)


@given(st.binary(max_size=300), st.booleans())
def test_no_input_is_answered_with_more_and_none_ends_the_reflector(payload, secured):
    key = KEY if secured else None
    reflector = Reflector(Log(lambda _: None), key)
    found = answer(reflector, payload)
    assert found is None or len(found) == len(payload) >= wire.TWAMP_LEAST
    if secured:
        assert found is None, "its HMAC can't be right"
        sealed = sent(key=key, size=112) + payload  # Any extensions may follow.
        assert len(answer(reflector, sealed) or b"") == len(sealed)


@given(st.binary(max_size=300), st.booleans(), st.integers(0, 200))
def test_answers_of_anyone_are_packets_or_are_none(payload, secured, place):
    key = KEY if secured else None
    reflector = Reflector(Log(lambda _: None), key)
    genuine = answer(reflector, sent(key=key, size=wire.base_size(key)))
    answer(reflector, payload)  # The session is known now.
    start = place % len(genuine)
    genuine[start : start + len(payload)] = payload
    for packet in (payload, bytes(genuine)):
        for read in (wire.read_sent, wire.read_reflected):
            with contextlib.suppress(wire.NotATestPacket):
                read(packet, key)


def test_flags_say_what_became_of_extensions():
    def extension(kind, value, flags=0x80):
        return bytes([flags, kind, len(value) >> 8, len(value) & 255]) + value

    def flags(payload, key):
        found = bytes(answer(Reflector(Log(lambda _: None), key), payload))
        return [found[at] for at, *_ in wire._extensions(found, wire.base_size(key))[0]]

    padding, unknown = extension(1, b"xxxx"), extension(200, b"yyyy")
    assert flags(sent() + padding + unknown, None) == [0, wire.UNKNOWN]
    assert flags(sent() + unknown[:-1], None) == [wire.UNKNOWN | wire.MALFORMED]
    base = sent(3, 112, KEY)
    sealed = extension(8, wire.digest(base[:4] + unknown, KEY))
    assert flags(base + padding, KEY) == [0]
    assert flags(base + unknown + sealed + padding, KEY) == [wire.UNKNOWN, 0, 0]
    assert flags(base + unknown, KEY) == [wire.UNKNOWN | wire.NOT_GENUINE]
    forged = extension(8, bytes(16))
    assert flags(base + unknown + forged, KEY) == [wire.UNKNOWN | wire.NOT_GENUINE, wire.NOT_GENUINE]
    # The answer's HMAC covers its own sequence number and its current flags.
    found = bytes(answer(Reflector(Log(lambda _: None), KEY), base + unknown + sealed))
    at = len(base) + len(unknown)
    assert found[at + 4 :] == wire.digest(found[:4] + found[len(base) : at], KEY)


def test_two_reflectors_do_not_answer_each_other():
    here, there = Reflector(Log(lambda _: None)), Reflector(Log(lambda _: None))
    payload, bounces, now = sent(), 0, NOW
    while bounces < 10:
        now += 1000
        one = here if bounces % 2 == 0 else there
        found = one.answer(arrival(payload, port=862, at=now), now, 1)
        if found is None:
            break
        bounces += 1
        wire.stamp(found, ntp(now), None)
        payload = bytes(found)
    assert bounces == 2
    assert answer(here, sent(), port=7) is None, "echo answers everything"


def numbers(reflector, sources, at=NOW):
    """Returns the reflector's numbers in the answers to packets of these addresses and ports."""
    answers = [answer(reflector, sent(), address=address, port=port, at=at) for address, port in sources]
    return [None if each is None else wire.read_reflected(bytes(each), None).sequence for each in answers]


def test_sessions_are_bounded_and_the_idlest_makes_room(monkeypatch):
    monkeypatch.setattr(reflecting, "MOST_SESSIONS", 3)
    monkeypatch.setattr(reflecting, "MOST_SESSIONS_EACH", 2)
    reflector = Reflector(Log(lambda _: None))
    one, two, three = [("192.0.2.1", port) for port in (2001, 2002, 2003)]
    assert numbers(reflector, [one, two, one, three]) == [0, 0, 1, 0]
    assert numbers(reflector, [one, two]) == [2, 0], "a network's idlest session made room for its third"
    # The addresses of one /64 are one network.
    six = [(f"2001:db8::{number}", 2001) for number in (1, 2, 3)]
    assert numbers(reflector, [*six, two, six[2]]) == [0, 0, 0, 1, 1]
    later = NOW + int((reflecting.IDLE_SECONDS + 1) * SECOND)
    assert numbers(reflector, [one], later) == [0], "idle sessions end"
    assert len(reflector._sessions) == len(reflector._each) == 1


def test_a_sessions_rate_is_bounded():
    said = []
    reflector = Reflector(Log(said.append))
    answered = numbers(reflector, [("192.0.2.1", 2003)] * (reflecting.MOST_RATE + 9))
    assert sum(each is not None for each in answered) == reflecting.MOST_RATE
    assert any("packets a second" in line for line in said)


def test_packets_of_any_number_of_forged_addresses_shut_nobody_out():
    """An honest sender's packets are answered, and counted in one session, among 200 others each."""
    reflector, draw = Reflector(Log(lambda _: None)), random.Random(1)
    found = []
    for number in range(30):
        forged = [
            (str(ipaddress.ip_address(draw.getrandbits(32) | 1 << 24)), draw.randrange(1024, 65536))
            for _ in range(200)
        ]
        numbers(reflector, forged, NOW + number)
        found += numbers(reflector, [("192.0.2.1", 5000)], NOW + number)
    assert found == list(range(30))
    assert len(reflector._sessions) <= reflecting.MOST_SESSIONS


def test_a_twamp_sender_gets_as_many_bytes_as_it_sent():
    for size in (41, 42, 43, 44, 60):
        assert len(answer(Reflector(Log(lambda _: None)), sent()[:14] + bytes(size - 14))) == size
    assert answer(Reflector(Log(lambda _: None)), sent()[:40]) is None


@pytest.mark.parametrize(
    ("family", "address", "key", "size"),
    [(socket.AF_INET, "127.0.0.1", None, 44), (socket.AF_INET6, "::1", KEY, 300)],
)
def test_a_session_measures_over_loopback(family, address, key, size):
    port, packets = Port(family), 20
    port.socket.bind((address, 0))
    await_timestamps(family, port)
    reflector = Reflector(Log(lambda _: None), key)

    def run():
        for _ in range(packets):
            reflect_one(reflector, port, key, 1e-6)

    thread = threading.Thread(target=run)
    thread.start()
    session = ReflectorSession(address, port.socket.getsockname()[1], packets, 0.001, size, 46, key)
    result = Sender(session).run()
    thread.join()
    port.close()
    assert (result.sent, len(result.answers), result.foreign) == (packets, packets, 0)
    assert [each.reflector_number for each in result.answers] == list(range(packets))
    assert {each.ttl for each in result.answers} == {255}
    for each in result.answers:
        assert each.sent_ns <= each.received_ns <= each.reflected_ns <= each.arrived_ns
    if own_estimate(0.0).synchronised is False:
        assert any("not synchronised" in text for text in outcome(result).warnings)
    assert (result.departures, result.arrivals) == (True, True), "Linux has both"


def await_timestamps(family, port):
    """Waits until the kernel takes timestamps of arrivals: it begins some time after the first socket
    requests them."""
    with socket.socket(family, socket.SOCK_DGRAM) as other:
        for _ in range(10_000):
            other.sendto(b"", port.socket.getsockname())
            if port.receive().by_kernel:
                return
            time.sleep(0.01)
    raise AssertionError("the kernel takes no timestamps")


def test_without_answers_the_reason_is_said():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        ended = Sender(ReflectorSession("127.0.0.1", port, 3, 0.001, 44))
        ended.kill()
        assert ended.run().sent == 0
    with pytest.raises(StampNotReached, match="nothing listens"):
        Sender(ReflectorSession("127.0.0.1", port, 3, 0.05, 44)).run()


def test_an_answer_on_a_long_path_is_awaited():
    port = Port(socket.AF_INET)
    port.socket.bind(("127.0.0.1", 0))

    def run():
        arrival = port.receive()
        time.sleep(1.2)
        payload = answer(Reflector(Log(lambda _: None)), arrival.payload)
        port.socket.sendto(payload, arrival.source)

    thread = threading.Thread(target=run)
    thread.start()
    result = Sender(ReflectorSession("127.0.0.1", port.socket.getsockname()[1], 1, 0.001, 44)).run()
    thread.join()
    port.close()
    assert [each.number for each in result.answers] == [0]


def test_forged_answers_are_none():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        forger.bind(("127.0.0.1", 0))
        draw = random.Random(3)

        def run():
            _, sender = forger.recvfrom(100)
            for length in (0, 3, 44, 44, 112, 1000):
                forger.sendto(draw.randbytes(length), sender)

        thread = threading.Thread(target=run)
        thread.start()
        with pytest.raises(StampNotReached, match="6 packets came back, and none is an answer"):
            Sender(ReflectorSession("127.0.0.1", forger.getsockname()[1], 1, 0.001, 44)).run()
        thread.join()


def made(pairs, sent=None, **more):
    """Returns a result whose answers have these sequence numbers of sender and reflector. Delays are 1 ms
    forward, 2 ms at the reflector and 3 ms backward; the clocks agree."""
    answers = [
        StampReply(
            number, other, *(NOW + ms * 10**6 for ms in (0, 1, 3, 6)), 255, ErrorEstimate(True, False, 1e-3)
        )
        for number, other in pairs
    ]
    known = {"departures": True, "own": ErrorEstimate(True, False, 2e-3)}
    return StampResult(sent=sent or len({number for number, _ in pairs}), answers=answers, **known | more)


def figures(result):
    return {(each.direction, each.metric): each.value for each in outcome(result).figures}


def test_delays_are_those_of_the_four_timestamps():
    found = figures(made([(number, number) for number in range(100)]))
    assert found["round trip", "rtt"] == 4
    assert found["forward", "owd"] == found["forward", "owd_p99"] == 1
    assert found["backward", "owd"] == 3
    assert found["forward", "owd_error"] == 3
    assert found["forward", "delay_variation_p50"] == 0


COUNTED = {
    "nothing lost": ([(0, 0), (1, 1)], 2, (0, 0, 0), (0, 0), (0, 0)),
    # Packet 1 did not arrive at the reflector; the answer to packet 3 was lost.
    "a loss each way": ([(0, 0), (2, 1), (4, 3)], 5, (40, 20, 25), (0, 0), (0, 0)),
    # Packet 0 arrived twice at the reflector, which sent two answers with different numbers.
    "doubled forward": ([(0, 0), (0, 1), (1, 2)], 2, (0, 0, 0), (100 / 3, 0), (0, 0)),
    # One answer arrived twice; packet 2 was lost in the forward direction.
    "doubled backward": ([(0, 0), (0, 0), (1, 1), (3, 2)], 4, (25, 25, 0), (0, 25), (0, 0)),
    "reordered forward": ([(1, 0), (0, 1), (2, 2)], 3, (0, 0, 0), (0, 0), (100 / 3, 0)),
    "reordered backward": ([(2, 1), (0, 0), (3, 2)], 4, (25, 25, 0), (0, 0), (0, 100 / 3)),
}


@pytest.mark.parametrize(("pairs", "sent", "loss", "doubled", "late"), COUNTED.values(), ids=COUNTED)
def test_a_stateful_reflectors_numbers_give_losses_duplicates_and_reordering_a_direction(
    pairs, sent, loss, doubled, late
):
    found = figures(made(pairs, sent))
    way = ("round trip", "forward", "backward")
    assert [found[each, "loss"] for each in way] == pytest.approx(loss)
    assert [found[each, "duplication"] for each in way[1:]] == pytest.approx(doubled)
    assert [found[each, "reordering"] for each in way[1:]] == pytest.approx(late)


@pytest.mark.parametrize(
    ("pairs", "sent", "reason"),
    [
        ([(0, 0), (2, 2)], 3, "no direction follows"),
        ([(0, 0), (2, 1)], 9, "after the last answer"),
        ([(0, 40), (2, 42)], 3, "do not begin with the session"),
        ([(0, 2**32 - 1), (2, 0)], 3, "do not begin with the session"),
        ([(0, 0), (1, 1), (2, 0), (4, 1)], 5, "began to count anew"),
    ],
)
def test_a_loss_without_a_direction_has_none(pairs, sent, reason):
    found = figures(made(pairs, sent))
    assert reason in found["forward", "loss"]
    assert reason in found["backward", "loss"]
    assert isinstance(found["round trip", "loss"], float)


def timed(*times_ms, synchronised=True):
    """Returns a result whose answers have these times T1 to T4, in milliseconds."""
    estimate = ErrorEstimate(synchronised, False, 1e-3)
    answers = [
        StampReply(number, number, *(NOW + round(ms * 10**6) for ms in times), 255, estimate)
        for number, times in enumerate(times_ms)
    ]
    return StampResult(
        sent=len(answers), answers=answers, departures=True, own=ErrorEstimate(True, False, 2e-3)
    )


def test_delays_that_cannot_be_are_absent_with_the_reason():
    """A reflector's T3 - T2 once was -3309624959903 ms, and the round-trip time the opposite."""
    wrong = (0, 1, 1 - 3309624959903, 6)
    found = figures(timed(wrong, wrong))
    delays = [
        value for (_, metric), value in found.items() if metric not in ("loss", "reordering", "duplication")
    ]
    assert len(delays) == 4 + 7 + 7
    assert all("it had a packet for -3.30962e+12 ms, which came back after 6 ms" in value for value in delays)
    assert found["round trip", "loss"] == 0


@pytest.mark.parametrize("wrong", [(0, 1, 0.5, 6), (0, 1, 8, 6), (0, -9e9, 9e9, 6)])
def test_an_answer_with_impossible_times_does_not_count(wrong):
    result = timed((0, 1, 3, 6), wrong)
    found = figures(result)
    assert (found["round trip", "rtt"], found["forward", "owd"], found["backward", "owd"]) == (4, 1, 3)
    assert any(text.startswith("1 of 2 packets have no delays") for text in outcome(result).warnings)


def test_synchronised_clocks_cannot_be_hours_apart():
    found = figures(timed((0, 3_600_000, 3_600_002, 6)))
    assert found["round trip", "rtt"] == 4
    assert (
        "the error estimates can't be right: a one-way delay of 3.6e+06 ms" in found["forward", "owd_error"]
    )
    unsynchronised = figures(timed((0, 3_600_000, 3_600_002, 6), synchronised=False))
    assert "not synchronised" in unsynchronised["forward", "owd_error"]


def test_what_limits_the_figures_is_said():
    pairs = [(0, 0), (1, 1)]
    good = outcome(made(pairs))
    assert [text for text in good.warnings if "right within" in text]
    lost = outcome(
        made(pairs, own=ErrorEstimate(False, False, 1e-6), departures=False, arrivals=False, foreign=1)
    )
    assert len(lost.warnings) == 4
    assert isinstance(figures(made(pairs, own=ErrorEstimate(False, False, 0)))["forward", "owd_error"], str)
    odd = made(pairs)
    odd.answers[0] = StampReply(0, 0, NOW, NOW - 5, NOW - 5, NOW, 0, ErrorEstimate(True, True, 0))
    odd.answers[1:] = []
    assert "PTP" in str(figures(odd)["forward", "owd"])
    assert any("one time" in text for text in outcome(odd).warnings)
    behind = made([])
    behind.answers.append(StampReply(0, 0, NOW, NOW - 5, NOW, NOW + 5, 0, ErrorEstimate(True, False, 0)))
    behind.sent = 1
    assert any("negative" in text for text in outcome(behind).warnings)


def test_a_key_is_hexadecimal_digits_or_text(tmp_path):
    file = tmp_path / "key"
    for text, key in ((KEY.hex() + "\n", KEY), ("sixteen letters, as text\n", b"sixteen letters, as text")):
        file.write_text(text)
        assert key_of(file, "testing", "key") == key
    assert key_of(None, "testing", "key") is None
    for text in ("short", "", "00" * 15):
        file.write_text(text)
        with pytest.raises(BadInput, match="16 bytes or more"):
            key_of(file, "testing", "key")
    with pytest.raises(BadInput, match="No such file"):
        key_of(tmp_path / "none", "testing", "key")


def test_every_figure_has_a_known_name():
    found = [(each.direction, each.metric) for each in outcome(made([(0, 0), (1, 1)])).figures]
    assert found == [(direction, metric) for direction, metrics in METRICS.items() for metric in metrics]


def test_without_an_estimate_of_the_reflectors_clock_the_error_of_one_way_delays_is_not_known():
    result = made([(0, 0), (1, 1)])
    result.answers[1] = replace(result.answers[1], estimate=ErrorEstimate(True, False, 0))
    found = figures(result)
    assert "its multiplier is 0" in found["forward", "owd_error"]
    assert "its multiplier is 0" in found["backward", "owd_error"]
    assert any("an error that is not known" in warning for warning in outcome(result).warnings)
    assert found["round trip", "rtt"] == 4


def test_a_packet_is_sent_every_20_ms_unless_an_interval_is_given():
    found = stamp.session("192.0.2.1", None, 1.0)
    assert (found.interval, found.packets, found.port) == (0.02, 50, 862)
    assert stamp.session("192.0.2.1", 9, 1.0, interval=0.1).packets == 10
