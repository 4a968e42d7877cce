package router

import "math"

// draw returns a sample of the arm's probability of success in the case.
func (b *Bandit) draw(c Case, arm int) float64 {
	good, bad := b.posterior(c, arm)
	x, y := b.gamma(good), b.gamma(bad)
	if x+y == 0 { // both underflowed, which happens for shapes near 0
		return good / (good + bad)
	}
	return x / (x + y)
}

// gamma samples the gamma distribution with the given shape and scale 1, by the method of Marsaglia
// and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
func (b *Bandit) gamma(shape float64) float64 {
	if shape < 1 {
		return b.gamma(shape+1) * math.Pow(b.uniform(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for range 1000 { // a draw fails about once in 20, so only a broken source of randomness reaches the end
		x := b.normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(b.uniform()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
	return shape
}

// normal samples the standard normal distribution, by the method of Box and Muller, 1958.
func (b *Bandit) normal() float64 {
	return math.Sqrt(-2*math.Log(b.uniform())) * math.Cos(2*math.Pi*b.uniform())
}

// uniform returns a number in (0, 1].
func (b *Bandit) uniform() float64 {
	u := 1 - b.random()
	if !(u > 0 && u <= 1) {
		return 0.5
	}
	return u
}
