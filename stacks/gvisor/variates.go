package main

import (
	"fmt"
	"math"
	"sort"
)

// Draws from the random quantities of a scenario (engine/flows/src/variate.rs). They are those of the engine's agents with the
// same seed, because both draw from the same generator in the same way. Go rounds logarithms and powers otherwise than the C
// library in the last of 16 digits, which may change a value of more than 10^15 by one.

// A sequence is that of a quantity of a flow. Each is independent of the others.
type sequence uint64

const (
	ofSizes sequence = iota
	ofGaps
	ofSending
	ofSilence
)

const (
	// truncationTrials is the number of draws that decide whether a truncation keeps enough values.
	truncationTrials = 100_000
	// rarestKept is the number of draws of which a truncation must keep at least one.
	rarestKept = 100
)

// A quantity is a number of base units: bytes or nanoseconds.
type quantity interface{ ~uint64 }

// A variate is a constant or random quantity. Each distribution has some of the fields.
type variate[T quantity] struct {
	Distribution string         `json:"distribution"`
	Value        T              `json:"value"`
	Minimum      T              `json:"minimum"`
	Maximum      T              `json:"maximum"`
	Mean         T              `json:"mean"`
	Deviation    T              `json:"deviation"`
	Location     T              `json:"location"`
	Scale        T              `json:"scale"`
	Shape        float64        `json:"shape"`
	Shares       []share[T]     `json:"shares"`
	Values       []T            `json:"values"`
	Truncation   *truncation[T] `json:"truncation"`
}

type share[T quantity] struct {
	Value T       `json:"value"`
	Share float64 `json:"share"`
}

type truncation[T quantity] struct {
	Minimum *T `json:"minimum"`
	Maximum *T `json:"maximum"`
}

// draws returns the sequence of values that follows from a seed, one for each call.
func (one *variate[T]) draws(seed uint64, of sequence) (func() uint64, error) {
	random := newChaCha(seed, uint64(of))
	switch one.Distribution {
	case "constant":
		return func() uint64 { return uint64(one.Value) }, nil
	case "uniform":
		return func() uint64 { return random.upTo(uint64(one.Minimum), uint64(one.Maximum)) }, nil
	case "listed":
		if len(one.Values) > 0 {
			next := -1
			return func() uint64 {
				next = (next + 1) % len(one.Values)
				return uint64(one.Values[next])
			}, nil
		}
	case "mix":
		if len(one.Shares) > 0 {
			return one.mix(random), nil
		}
	default:
		if law := one.law(); law != nil {
			return one.truncated(law, random)
		}
	}
	return nil, fmt.Errorf("a random quantity with the distribution %q", one.Distribution)
}

func (one *variate[T]) mix(random *chacha) func() uint64 {
	var total float64
	cumulative := make([]float64, len(one.Shares))
	for place, share := range one.Shares {
		total += share.Share
		cumulative[place] = total
	}
	last := len(cumulative) - 1
	return func() uint64 {
		chosen := (oneToTwo(random.next()) - 1) * total
		place := sort.Search(last, func(place int) bool { return cumulative[place] > chosen })
		return uint64(one.Shares[place].Value)
	}
}

// truncated returns a sequence of the values of a law that its truncation keeps. It fails if those are hardly any.
func (one *variate[T]) truncated(law func(*chacha) float64, random *chacha) (func() uint64, error) {
	least, most := math.Inf(-1), math.Inf(1)
	if bounds := one.Truncation; bounds != nil {
		if bounds.Minimum != nil {
			least = float64(*bounds.Minimum)
		}
		if bounds.Maximum != nil {
			most = float64(*bounds.Maximum)
		}
		kept, trials := 0, newChaCha(0, 0)
		for range truncationTrials {
			if value := law(trials); value >= least && value <= most {
				kept++
			}
		}
		if kept < truncationTrials/rarestKept {
			return nil, fmt.Errorf("a truncation from %g to %g: it keeps %d of %d draws; expected: one that keeps 1%% or more",
				least, most, kept, truncationTrials)
		}
	}
	return func() uint64 {
		for {
			if value := law(random); value >= least && value <= most {
				return whole(value)
			}
		}
	}, nil
}

// whole returns the nearest whole number. What is out of range is at its end.
func whole(value float64) uint64 {
	switch rounded := math.Round(value); {
	case !(rounded > 0):
		return 0
	case rounded >= 1<<64:
		return math.MaxUint64
	default:
		return uint64(rounded)
	}
}

// law returns the draws of a continuous distribution; nil for another. A product is converted before it is added to, because
// some processors round a sum of products only once.
func (one *variate[T]) law() func(*chacha) float64 {
	mean, deviation := float64(one.Mean), float64(one.Deviation)
	location, scale, shape := float64(one.Location), float64(one.Scale), one.Shape
	switch one.Distribution {
	case "exponential":
		return exponential(mean)
	case "normal":
		return func(random *chacha) float64 { return mean + float64(deviation*normalLayers.draw(random)) }
	case "pareto":
		return func(random *chacha) float64 { return scale * math.Pow(random.openClosed(), -1/shape) }
	case "cauchy":
		return func(random *chacha) float64 {
			return location + float64(scale*math.Tan(math.Pi*random.standard()))
		}
	case "weibull":
		return func(random *chacha) float64 { return scale * math.Pow(-math.Log(random.openClosed()), 1/shape) }
	case "gamma":
		return gamma(shape, scale)
	}
	return nil
}

func exponential(mean float64) func(*chacha) float64 {
	rate := 1 / mean
	return func(random *chacha) float64 { return exponentialLayers.draw(random) * (1 / rate) }
}

// gamma returns the draws of a gamma distribution (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000).
func gamma(shape, scale float64) func(*chacha) float64 {
	if shape == 1 {
		return exponential(scale)
	}
	large := shape
	if shape < 1 {
		large++
	}
	d := large - 1.0/3
	c := 1 / math.Sqrt(9*d)
	unscaled := func(random *chacha) float64 {
		for {
			x := normalLayers.draw(random)
			root := 1 + float64(c*x)
			if root <= 0 {
				continue
			}
			v, u, square := root*root*root, random.open(), x*x
			if u < 1-float64(0.0331*square*square) ||
				math.Log(u) < float64(0.5*square)+float64(d*(1-v+math.Log(v))) {
				return v
			}
		}
	}
	if shape > 1 {
		return func(random *chacha) float64 { return unscaled(random) * (d * scale) }
	}
	return func(random *chacha) float64 {
		u := random.open()
		a := unscaled(random)
		return a * math.Pow(u, 1/shape) * d * scale
	}
}
