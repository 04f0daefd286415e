package main

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestQuantitiesAreExactOrErrors(t *testing.T) {
	for text, expected := range map[string]uint64{"1.5 s": 1_500_000_000, "0 ns": 0, "20 ms": 20_000_000, "2min": 120_000_000_000} {
		var found span
		if err := json.Unmarshal([]byte(`"`+text+`"`), &found); err != nil || uint64(found) != expected {
			t.Errorf("%s: %d, %v", text, found, err)
		}
	}
	for _, text := range []string{"", "s", "1", "1 B", "1.5 ns", "-1 s", "1e3 s", "1/3 s", "99999999999 min"} {
		if found, err := parseQuantity(text, spanUnits); err == nil {
			t.Errorf("%q is %d", text, found)
		}
	}
	if found, err := parseQuantity("128 KiB", sizeUnits); err != nil || found != 131_072 {
		t.Errorf("%d, %v", found, err)
	}
}

func TestOnlyTheCookieAndAKnownPurposeAreAdmitted(t *testing.T) {
	secret := cookie{1, 2, 3}
	if found, admitted := secret.admit(secret.opening(toCarry)); !admitted || found != toCarry {
		t.Error("the cookie was not admitted")
	}
	for place := range openingBytes {
		opening := secret.opening(toInspect)
		opening[place] ^= 2
		if _, admitted := secret.admit(opening); admitted {
			t.Errorf("another byte %d was admitted", place)
		}
	}
	if _, admitted := secret.admit(secret[:]); admitted {
		t.Error("a cookie without a purpose was admitted")
	}
}

func TestWhatIsPutIsGot(t *testing.T) {
	one := header{1, 2, math.MaxUint64}
	message := make([]byte, 30)
	one.put(message)
	if found, ok := getHeader(message); !ok || found != one {
		t.Errorf("%+v", found)
	}
	if _, ok := getHeader(message[:headerBytes-1]); ok {
		t.Error("a short message has a header")
	}
	bytes, scale := uint64(4096), uint8(7)
	known := getRoom(room{SendBufferBytes: &bytes, WindowScale: &scale}.put())
	if *known.SendBufferBytes != 4096 || *known.WindowScale != 7 || known.WindowBytes != nil {
		t.Errorf("%+v", known)
	}
}

func TestDurationsAreSummarised(t *testing.T) {
	var all durations
	if all.distribution() != (distribution{}) || all.encoded() != nil {
		t.Error("no values have a summary")
	}
	for value := range uint64(2000) {
		all.record((value + 1) * 1000)
	}
	found := all.distribution()
	if found.Count != 2000 || found.Minimum != 1 || found.Maximum != 2000 || math.Abs(found.Mean-1000.5) > 1e-6 {
		t.Errorf("%+v", found)
	}
	if math.Abs(found.P50-1000) > 2 || math.Abs(found.P99-1980) > 4 || found.P99_9 == nil || found.P99_99 != nil {
		t.Errorf("%+v", found)
	}
	decoded, err := hdrhistogram.Decode([]byte(*all.encoded()))
	if err != nil || decoded.TotalCount() != 2000 {
		t.Errorf("%v, %v", decoded, err)
	}
}

func TestRequestsKeepTheirBeatAndNoBurstFollows(t *testing.T) {
	end, interval := span(10_000), span(100)
	one := &schedule{settings: &traffic{Duration: &end, Interval: &interval}}
	one.take(0)
	one.take(110) // a little late: the next is due at 200 all the same
	if one.dueNs != 200 {
		t.Error(one.dueNs)
	}
	one.take(750)
	if one.dueNs != 850 {
		t.Error(one.dueNs)
	}
	one.take(9_950)
	if !one.isOver(9_950) {
		t.Error("a request is due after the end")
	}
	count := uint64(1)
	if counted := (&schedule{settings: &traffic{Count: &count}, number: 1}); !counted.isOver(0) {
		t.Error("a request follows the last")
	}
}

func TestLostLateAndDuplicateAnswersAreCounted(t *testing.T) {
	one := &unanswered{lostAfterNs: 100, lost: map[uint64]bool{}}
	for number := range uint64(4) {
		one.sent(number * 10)
	}
	if sentNs, first := one.answered(1, 50); !first || sentNs != 10 {
		t.Error("an answer in time does not count")
	}
	for _, number := range []uint64{1, 0, 9} { // a duplicate, one that is reordered, and one that was never asked for
		one.answered(number, 60)
	}
	one.expire(200)
	one.answered(2, 210) // late
	one.answered(2, 220) // a duplicate
	expected := packetCounts{Sent: 4, Received: 2, Lost: 2, Reordered: 1, Duplicated: 2, LossBursts: 1, LongestLossBurst: 2}
	if one.counts != expected {
		t.Errorf("%+v", one.counts)
	}
}

func TestTheEndOfADurationIsTold(t *testing.T) {
	ahead := &side{ClockOffset: &clockOffset{AheadNs: 1_000_000_000}}
	for one, wantedNs := range map[*side]uint64{ahead: 2_000_000_000, {}: 1_000_000_000} {
		before := nowNs()
		heard := heardEnd(toldEnd(one, time.Now().Add(time.Second)))
		if after := nowNs(); heard < before+wantedNs || heard > after+wantedNs {
			t.Error(heard-before, after-before, wantedNs)
		}
	}
	if heardEnd(toldEnd(ahead, time.Time{})) != math.MaxUint64 {
		t.Error("a transfer without a duration has an end")
	}
}
