package archive

import (
	"sync"

	"furrow/tables"
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
