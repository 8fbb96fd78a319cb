package fold

import "iter"

// Union yields the samples of all sequences in the order of their keys, which each of them is in. Of several with one
// key, it yields that of the first sequence that has one. It ends with the first error.
func Union(all ...iter.Seq2[Sample, error]) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		var ahead []*pulled
		for _, seq := range all {
			p := &pulled{}
			next, stop := iter.Pull2(seq)
			defer stop()
			p.next = next
			if p.advance(); p.more {
				ahead = append(ahead, p)
			}
		}
		for len(ahead) > 0 {
			first := ahead[0]
			for _, p := range ahead {
				if p.err != nil {
					yield(Sample{}, p.err)
					return
				}
				if p.sample.Key.Compare(first.sample.Key) < 0 {
					first = p
				}
			}
			sample := first.sample
			if !yield(sample, nil) {
				return
			}
			left := ahead[:0]
			for _, p := range ahead {
				if p.sample.Key == sample.Key {
					p.advance()
				}
				if p.more {
					left = append(left, p)
				}
			}
			ahead = left
		}
	}
}

// A pulled is a sequence with the sample that comes next.
type pulled struct {
	next   func() (Sample, error, bool)
	sample Sample
	err    error
	more   bool
}

func (p *pulled) advance() { p.sample, p.err, p.more = p.next() }
