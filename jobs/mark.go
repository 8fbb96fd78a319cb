package jobs

import (
	"errors"

	"furrow/tables"
)

// A mark says on a tracking row that a message is under way for the device: a chain
// that goes on with one far behind, or a refold. Each link of a chain commits a new
// id with its message's, so that a message put twice finds another id and does
// nothing: chains cannot multiply. Like a hold it is a courtesy.
type mark struct {
	id    string       // of the message; empty: there is none
	until tables.Ticks // then it has expired, and whoever finds it puts the message again
}

func markOf(f *tables.Fields, name string) mark {
	return mark{f.String(name + "Mark"), f.Ticks(name + "Until")}
}

// set gives e the mark. A merge leaves no property out, so what is taken away
// becomes empty, and the earliest time that storage has.
func (m mark) set(e *tables.Entity, name string) {
	e.Set(name+"Mark", tables.String(m.id))
	e.Set(name+"Until", tables.DateTime(max(m.until, firstDateTime)))
}

// isChanged tells whether a write was refused because the row is another version,
// or gone.
func isChanged(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
