package main

import (
	"math"
	"math/bits"
)

// A chacha is a generator of random numbers: ChaCha with 8 rounds, a 64-bit counter and a 64-bit stream. Its numbers are those
// of the engine's generator (engine/flows/src/variate.rs) with the same seed and stream.
type chacha struct {
	state, block [16]uint32
	used         int
}

func newChaCha(seed, stream uint64) *chacha {
	one := &chacha{used: 16}
	copy(one.state[:], []uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574})
	// The key is the output of a PCG generator that begins with the seed.
	for place := 4; place < 12; place++ {
		seed = seed*0x5851_f42d_4c95_7f2d + 0xa176_54e4_6fbe_17f3
		one.state[place] = bits.RotateLeft32(uint32((seed>>18^seed)>>27), -int(seed>>59))
	}
	one.state[14], one.state[15] = uint32(stream), uint32(stream>>32)
	return one
}

func (one *chacha) quarter(a, b, c, d int) {
	block := &one.block
	block[a] += block[b]
	block[d] = bits.RotateLeft32(block[d]^block[a], 16)
	block[c] += block[d]
	block[b] = bits.RotateLeft32(block[b]^block[c], 12)
	block[a] += block[b]
	block[d] = bits.RotateLeft32(block[d]^block[a], 8)
	block[c] += block[d]
	block[b] = bits.RotateLeft32(block[b]^block[c], 7)
}

func (one *chacha) refill() {
	one.block, one.used = one.state, 0
	for range 4 {
		for column := range 4 {
			one.quarter(column, 4+column, 8+column, 12+column)
		}
		for column := range 4 {
			one.quarter(column, 4+(column+1)%4, 8+(column+2)%4, 12+(column+3)%4)
		}
	}
	for place := range one.block {
		one.block[place] += one.state[place]
	}
	if one.state[12]++; one.state[12] == 0 {
		one.state[13]++
	}
}

// next returns the next number of 64 bits.
func (one *chacha) next() uint64 {
	if one.used == len(one.block) {
		one.refill()
	}
	low, high := one.block[one.used], one.block[one.used+1]
	one.used += 2
	return uint64(high)<<32 | uint64(low)
}

// standard returns the next number in [0, 1).
func (one *chacha) standard() float64 { return float64(one.next()>>11) / (1 << 53) }

// openClosed returns the next number in (0, 1].
func (one *chacha) openClosed() float64 { return float64(one.next()>>11+1) / (1 << 53) }

// open returns the next number in (0, 1).
func (one *chacha) open() float64 { return oneToTwo(one.next()) - (1 - 1.0/(1<<53)) }

// oneToTwo returns the number in [1, 2) whose fraction are the highest of these bits.
func oneToTwo(bits uint64) float64 { return math.Float64frombits(bits>>12 | 1023<<52) }

// upTo returns the next number from least to most, all of which are equally likely.
func (one *chacha) upTo(least, most uint64) uint64 {
	count := most - least + 1
	if count == 0 {
		return one.next()
	}
	for threshold := -count % count; ; {
		if high, low := bits.Mul64(one.next(), count); low >= threshold {
			return least + high
		}
	}
}

// A ziggurat has the layers of a distribution (Marsaglia and Tsang, "The ziggurat method for generating random variables",
// 2000), whose right edges are x, and the density there.
type ziggurat struct {
	isSymmetric bool
	x, f        [257]float64
	density     func(float64) float64
	// tail draws a value beyond the lowest layer.
	tail func(random *chacha, u float64) float64
}

const (
	normalEdge      = 3.6541528853610088
	exponentialEdge = 7.69711747013104972
)

var (
	normalLayers = newZiggurat(normalEdge, 0.00492867323399, true,
		func(x float64) float64 { return math.Exp(-x * x / 2) },
		func(f float64) float64 { return math.Sqrt(-2 * math.Log(f)) },
		func(random *chacha, u float64) float64 {
			x, y := 1.0, 0.0
			for -2*y < x*x {
				x = math.Log(random.open()) / normalEdge
				y = math.Log(random.open())
			}
			if u < 0 {
				return x - normalEdge
			}
			return normalEdge - x
		})
	exponentialLayers = newZiggurat(exponentialEdge, 0.0039496598225815571993, false,
		func(x float64) float64 { return math.Exp(-x) },
		func(f float64) float64 { return -math.Log(f) },
		func(random *chacha, _ float64) float64 { return exponentialEdge - math.Log(random.standard()) })
)

// newZiggurat returns the layers of a density, each with this area, of which the lowest ends at edge. All but the lowest are
// as high as their area and their neighbour below require.
func newZiggurat(
	edge, area float64, isSymmetric bool, density, inverse func(float64) float64, tail func(*chacha, float64) float64,
) *ziggurat {
	one := &ziggurat{isSymmetric: isSymmetric, density: density, tail: tail}
	one.x[0], one.x[1] = area/density(edge), edge
	for layer := 2; layer < 256; layer++ {
		one.x[layer] = inverse(area/one.x[layer-1] + density(one.x[layer-1]))
	}
	for layer, x := range one.x {
		one.f[layer] = density(x)
	}
	return one
}

// draw returns the next value.
func (one *ziggurat) draw(random *chacha) float64 {
	for {
		bits := random.next()
		layer := bits & 0xff
		u := oneToTwo(bits) - (1 - 1.0/(1<<53))
		if one.isSymmetric {
			u = 2*oneToTwo(bits) - 3
		}
		x := u * one.x[layer]
		switch {
		case math.Abs(x) < one.x[layer+1]:
			return x
		case layer == 0:
			return one.tail(random, u)
		case one.f[layer+1]+(one.f[layer]-one.f[layer+1])*random.standard() < one.density(x):
			return x
		}
	}
}
