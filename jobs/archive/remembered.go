package archive

import (
	"sync"

	"furrow/tables"
	"furrow/tables/schema"
)

// waiting notes what is too young to be made again, so that other jobs find that out for nothing.
type waiting struct {
	mu    sync.Mutex
	until map[TableDay]tables.Ticks
}

func (w *waiting) note(d TableDay, until tables.Ticks) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil || len(w.until) > 10_000 {
		w.until = map[TableDay]tables.Ticks{}
	}
	w.until[d] = until
}

func (w *waiting) has(d TableDay, now tables.Ticks) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	until := w.until[d]
	return until > now && until <= now.Add(replaceAfter+quiet) // unless a clock was ahead when it was noted
}

// known notes the tenants whose tables this process has found.
type known struct {
	mu  sync.Mutex
	all map[schema.Tenant]bool
}

func (k *known) has(t schema.Tenant) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[t]
}

func (k *known) note(t schema.Tenant, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) > 100_000 {
		k.all = map[schema.Tenant]bool{}
	}
	k.all[t] = is
}
