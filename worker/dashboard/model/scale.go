package model

import "slices"

// scale returns the values of the first and the last colour: the range in which most numbers in view lie. It is nil
// where there are none.
func (l *layer) scale(inView []sum, of *selection) *[2]float64 {
	numbers := 0
	for i := range inView {
		numbers += inView[i].numbers
	}
	every := 1 + numbers/maxSamples
	samples, n := make([]float64, 0, min(numbers, maxSamples)), 0
	for i := range inView {
		for j := inView[i].from; j < inView[i].before; j++ {
			v := l.numbers[j]
			if v != v || l.doubtful[j] || !of.includes(l.devices[j]) {
				continue
			}
			if n%every == 0 {
				samples = append(samples, v)
			}
			n++
		}
	}
	if len(samples) == 0 {
		return nil
	}
	low, high := middle(samples)
	return &[2]float64{low, high}
}

// middle returns the 2nd and 98th percentile of samples, which it sorts. Samples that lie far outside of the middle
// half do not count: of a few devices, one broken one would otherwise take all colours.
func middle(samples []float64) (low, high float64) {
	slices.Sort(samples)
	at := func(percent int) float64 { return samples[(len(samples)-1)*percent/100] }
	const far = 5 // times the width of the middle half
	if apart := far * (at(75) - at(25)); apart > 0 && finite(apart) {
		from, to := at(25)-apart, at(75)+apart
		samples = slices.DeleteFunc(samples, func(v float64) bool { return v < from || v > to })
	}
	last := len(samples) - 1
	return samples[last*2/100], samples[last-last*2/100]
}
