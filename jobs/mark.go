package jobs

import (
	"errors"

	"furrow/tables"
	"furrow/tables/schema"
)

// A mark on a tracking row says that a message is under way for the device: a chain that continues with a device far
// behind, or a refold. Each link of a chain commits a new ID with its message's, so a message that was put twice finds
// another ID and does nothing: chains cannot multiply. Like a hold it is a courtesy.
type mark struct {
	id    string       // ID of the message; empty if there is none
	until tables.Ticks // then it expires, and whoever finds it puts the message again
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

// set sets the properties of a mark. A merge removes no property, so a removed mark is written as an empty text and the
// earliest time that storage accepts.
func (m mark) set(e *tables.Entity, id, until string) {
	e.Set(id, tables.String(m.id))
	e.Set(until, tables.DateTime(max(m.until, firstDateTime)))
}

// isChanged reports whether a write was refused because the row has another version or is gone.
func isChanged(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
