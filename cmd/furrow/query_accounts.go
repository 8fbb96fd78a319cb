package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"furrow/cmd/internal/config"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// An asked is an account of a fleet, and the question that it is asked.
type asked struct {
	query.Fleet
	stores   *stores
	number   int // of its --storage
	config   *config.Config
	question query.Question
}

// every returns the stated interval of a device.
func (f asked) every(ctx context.Context, m schema.Member) (time.Duration, error) {
	if every := f.config.Model(m).Every; every > 0 || m.Enrollment == "" {
		return every, nil
	}
	e, err := f.stores.enrollments().Get(ctx, m.Enrollment)
	if errors.Is(err, sas.ErrNoEnrollment) {
		return 0, nil
	}
	return sas.StatedInterval(e), err
}

// stating adds the interval that is stated to the newest values of one device. Of several, what enrollments state is
// not read. Before one that seems to be silent, now becomes the time up to which readings are folded.
func (f asked) stating(
	ctx context.Context, found iter.Seq2[query.Newest, error], now *time.Time,
) iter.Seq2[query.Newest, error] {
	known := false
	return func(yield func(query.Newest, error) bool) {
		for n, err := range found {
			if err == nil && f.question.Scope.OfDevice() && n.Last > 0 {
				n.Every, err = f.every(ctx, f.question.Scope.Member())
			}
			if err == nil && !known && !n.SilentSince(*now).IsZero() {
				known = true
				*now, err = f.folded(ctx, *now)
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// folded returns the time up to which the readings of an account are folded, at a time.
func (f asked) folded(ctx context.Context, now time.Time) (time.Time, error) {
	p := f.config.Pipelines[0]
	return f.Progress().FoldedUntil(ctx, p.Name, p.Cadence, p.Settle, now)
}

// unheard reports whether the question is about one device that has no reading.
func (f asked) unheard(ctx context.Context) bool {
	if !f.question.Scope.OfDevice() {
		return false
	}
	m := f.question.Scope.Member()
	m.Spans, m.Watermark = nil, 0
	waiting, err := f.Progress().Waiting(ctx, m, "")
	return waiting == 0 && (err == nil || errors.Is(err, tables.ErrNoTable))
}

// ask opens the accounts and asks each a question. Those that cannot be read, or do not know a device that others know,
// are left out.
func (a *accounts) ask(q query.Question, scope func(query.Devices) (query.Scope, error)) (all []asked, err error) {
	var unknown error
	for i := range a.where {
		one, err := a.askOne(i, q, scope)
		if _, none := errors.AsType[*query.UnknownError](err); none && a.several() {
			unknown = cmp.Or(unknown, err)
			continue
		}
		if err := a.missing(i, err); err != nil {
			return nil, err
		}
		if err == nil {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, cmp.Or(unknown, a.complete())
	}
	return all, nil
}

// askOne opens an account. It has to have the model that the question selects.
func (a *accounts) askOne(i int, q query.Question, scope func(query.Devices) (query.Scope, error)) (asked, error) {
	s, err := a.open(i)
	if err != nil {
		return asked{}, err
	}
	one := asked{Fleet: s.reader(), stores: s, number: i, question: q}
	if one.question.Scope, err = scope(one.Devices()); err != nil {
		return one, err
	}
	held, err := s.Generations().Holding(a.c.Context, config.File{})
	if err == nil && q.Filter.Model != "" {
		_, err = modelNamed(held.Config, q.Filter.Model)
	}
	if err != nil {
		return one, err
	}
	one.config, one.question.Models = held.Config, modelsOf(held.Config)
	return one, nil
}

// ofFleet is the scope of a question about all devices.
func ofFleet(query.Devices) (none query.Scope, err error) { return none, nil }

// printEach prints the records of all accounts, one account after the other. Without records it prints what none says
// of the first one.
func printEach[T, R any](
	a *accounts, all []asked, read func(asked) iter.Seq2[T, error], row func(T) R, none func(asked) (string, error),
) error {
	found := func(yield func(R, error) bool) {
		left := a.c.Int("limit")
		for _, one := range all {
			for t, err := range read(one) {
				if err != nil && !new(query.Skipped).Add(err) {
					if err = a.missing(one.number, err); err == nil {
						break // to the next account
					}
				}
				if !yield(row(t), err) {
					return
				}
				if err != nil {
					continue
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
	err := answer(a.c, found, func() (string, error) { return firstOf(all, none) })
	return cmp.Or(err, a.complete())
}

// firstOf returns what the first account says of an empty answer that does not fail.
func firstOf(all []asked, none func(asked) (string, error)) (text string, first error) {
	for _, one := range all {
		text, err := none(one)
		if err == nil {
			return text, nil
		}
		first = cmp.Or(first, err)
	}
	return "", first
}

// modelsOf returns what questions need of the models of a configuration.
func modelsOf(c *config.Config) *query.Models {
	of := map[*config.Model]*query.Model{}
	all := &query.Models{Of: func(d schema.Member) *query.Model { return of[c.Model(d)] }}
	for i := range c.Models {
		m := &c.Models[i]
		sensors := m.Meant()
		known := &query.Model{Name: m.Name, Sensors: &sensors}
		for _, sensor := range m.Sensors {
			if sensor.Unit != "" {
				known.Unit = m.Unit
			}
		}
		of[m] = known
		all.All = append(all.All, known)
	}
	return all
}
