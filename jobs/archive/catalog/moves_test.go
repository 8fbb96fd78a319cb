package catalog_test

import (
	"context"
	"errors"
	"slices"

	"furrow/tables/schema"
)

// move is a device that goes to another tenant with one of its readings: a day is made with that, and a day without.
func (m *machine) move(ctx context.Context) error {
	there := m.another()
	m.give(there, "b/2")
	return errors.Join(there.machine(m.t, m.asked).createAndMake(ctx), m.make(ctx, june))
}

// moveBack is a device that comes back with that reading.
func (m *machine) moveBack(ctx context.Context) error {
	there := m.another()
	there.give(m.world, "b/2")
	return errors.Join(m.make(ctx, june), there.machine(m.t, m.asked).createAndMake(ctx))
}

// another returns the table of another tenant, which has a device of its own. It need not be there yet.
func (w *world) another() *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.there == nil {
		w.there = &world{account: w.account, t: w.t, tenant: w.tenant + "-2",
			source: map[schema.Month][]string{july: {"e/1"}}}
	}
	return w.there
}

// give gives a reading of June to another tenant, if this one has it.
func (w *world) give(to *world, reading string) {
	w.mu.Lock()
	i := slices.Index(w.source[june], reading)
	if i >= 0 {
		w.source[june] = slices.Delete(w.source[june], i, i+1)
	}
	w.mu.Unlock() // before the other's: two that give each other something do not wait for each other
	if i >= 0 {
		to.send(june, reading)
	}
}

func (m *machine) createAndMake(ctx context.Context) error {
	return errors.Join(m.table.Create(ctx, firstColumns()), m.make(ctx, june))
}
