package jobs

import (
	"errors"

	"furrow/tables"
	"furrow/tables/schema"
)

// A mark says on a tracking row that a message is under way for the device: a chain that goes on with one far behind,
// or a refold. Each link of a chain commits a new id with its message's, so that a message put twice finds another id
// and does nothing: chains cannot multiply. Like a hold it is a courtesy.
type mark struct {
	id    string       // of the message; empty: there is none
	until tables.Ticks // then it has expired, and whoever finds it puts the message again
}

func chainMark(f *tables.Fields) mark {
	return mark{f.String(schema.TrackChainMark), f.Ticks(schema.TrackChainUntil)}
}

func refoldMark(f *tables.Fields) mark {
	return mark{f.String(schema.TrackRefoldMark), f.Ticks(schema.TrackRefoldUntil)}
}

func (m mark) setChain(e *tables.Entity) { m.set(e, schema.TrackChainMark, schema.TrackChainUntil) }

func (m mark) setRefold(e *tables.Entity) {
	m.set(e, schema.TrackRefoldMark, schema.TrackRefoldUntil)
}

// set sets the properties of a mark. A merge removes no property, so a mark that is taken away is written as an empty
// text and the earliest time that storage has.
func (m mark) set(e *tables.Entity, id, until string) {
	e.Set(id, tables.String(m.id))
	e.Set(until, tables.DateTime(max(m.until, firstDateTime)))
}

// isChanged tells whether a write was refused because the row is another version, or gone.
func isChanged(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
