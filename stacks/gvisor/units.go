package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// A size is a number of bytes, in documents a text such as "128 KiB".
type size uint64

// A span is a number of nanoseconds, in documents a text such as "20 ms".
type span uint64

// A rate is a number of bits per second, in documents a text such as "10 Mbit/s".
type rate uint64

var rateUnits = map[string]int64{"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}

var sizeUnits = map[string]int64{
	"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

var spanUnits = map[string]int64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}

// parseQuantity returns the number of base units in a text. A text that is not a whole number of them is an error.
func parseQuantity(text string, units map[string]int64) (uint64, error) {
	end := strings.IndexFunc(text, func(letter rune) bool { return (letter < '0' || letter > '9') && letter != '.' })
	if end > 0 && end <= 40 {
		scale, known := units[strings.TrimSpace(text[end:])]
		number, isNumber := new(big.Rat).SetString(text[:end])
		if known && isNumber {
			number.Mul(number, new(big.Rat).SetInt64(scale))
			if number.IsInt() && number.Num().IsUint64() {
				return number.Num().Uint64(), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is not a quantity such as \"20 ms\" or \"9000 B\"", text)
}

func unmarshalQuantity(document []byte, units map[string]int64) (uint64, error) {
	var text string
	if err := json.Unmarshal(document, &text); err != nil {
		return 0, err
	}
	return parseQuantity(text, units)
}

// UnmarshalJSON reads a size from a text.
func (one *size) UnmarshalJSON(document []byte) error {
	value, err := unmarshalQuantity(document, sizeUnits)
	*one = size(value)
	return err
}

// UnmarshalJSON reads a span from a text.
func (one *span) UnmarshalJSON(document []byte) error {
	value, err := unmarshalQuantity(document, spanUnits)
	*one = span(value)
	return err
}

// UnmarshalJSON reads a rate from a text.
func (one *rate) UnmarshalJSON(document []byte) error {
	value, err := unmarshalQuantity(document, rateUnits)
	*one = rate(value)
	return err
}

// MarshalJSON writes a span as a text.
func (one span) MarshalJSON() ([]byte, error) {
	return json.Marshal(fmt.Sprintf("%d ns", uint64(one)))
}

func (one span) duration() time.Duration { return time.Duration(one) }
