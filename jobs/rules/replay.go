package rules

import (
	"errors"
	"iter"
	"slices"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Replay yields the transitions of a device from one time to another, as if each of its samples had been found at its
// own time. What is known of the device is so at the first of these times.
func (f *Fold) Replay(
	d schema.Member, known fold.Known, samples iter.Seq2[fold.Sample, error], from, to tables.Ticks,
) iter.Seq2[schema.Transition, error] {
	return func(yield func(schema.Transition, error) bool) {
		r := replay{fold: f, member: d, known: known, yield: yield}
		if !r.time(from) {
			return
		}
		for s, err := range samples {
			if err != nil {
				yield(schema.Transition{}, err)
				return
			}
			if at := s.Key.Ticks; !r.time(at) || !r.watch([]fold.Sample{s}, fold.Moment{Horizon: at}) {
				return
			}
			r.known.Heard, r.known.New = s.Key.Ticks, false
		}
		r.time(to)
	}
}

var errStopped = errors.New("nobody wants to know more")

// A replay is one call of Replay.
type replay struct {
	fold   *Fold
	member schema.Member
	known  fold.Known
	state  []byte
	yield  func(schema.Transition, error) bool
}

func (r *replay) time(at tables.Ticks) (goOn bool) {
	return r.watch(nil, fold.Moment{Horizon: at, Until: at})
}

// watch folds until everything was taken, and yields what is posted.
func (r *replay) watch(samples []fold.Sample, at fold.Moment) (goOn bool) {
	at.Known = r.known
	for left := 1; left > 0; {
		out, err := r.fold.Watch(r.member, r.state, samples, at)
		if err == nil {
			r.state, left = out.State, out.Left
			err = r.posted()
		}
		if err == errStopped {
			return false
		}
		if err != nil {
			r.yield(schema.Transition{}, err)
			return false
		}
	}
	return true
}

func (r *replay) posted() error {
	if !hasOutbox(r.state) {
		return nil
	}
	st, due, err := decode(r.state)
	if err != nil {
		return err
	}
	for _, p := range st.outbox {
		if !r.yield(p.transition(r.member), nil) {
			return errStopped
		}
	}
	st.outbox = nil
	r.state = st.encoded(due)
	return nil
}

// Watches reports whether any rule is for a device.
func (f *Fold) Watches(d schema.Member) bool {
	return slices.ContainsFunc(f.rules, func(r *Rule) bool { return r.Watches(d) })
}
