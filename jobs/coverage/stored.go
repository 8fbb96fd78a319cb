package coverage

import (
	"errors"
	"time"

	"furrow/jobs/internal/pack"
	"furrow/tables"
)

const version = 1

// Append encodes all but the watermark, which the row has by itself. A part takes a few bytes.
func (c Coverage) Append(b []byte) []byte {
	b = pack.Int(append(b, version), c.events)
	b = pack.Int(pack.Int(b, int64(c.Known.At)), int64(c.Known.Late))
	b = pack.Int(pack.Int(b, int64(c.Repeat.From/tables.Day)), int64(c.Repeat.To/tables.Day))
	b = pack.Int(pack.Int(b, int64(c.Repeat.At)), int64(c.RebuildTo))
	b = pack.Int(b, len(c.parts))
	var before tables.Ticks
	for _, p := range c.parts {
		b = pack.Int(b, int64((p.From-before)/tables.Day))
		b = pack.Int(b, int64((p.To-p.From)/tables.Day))
		sealed := 0
		if p.Sealed {
			sealed = 1
		}
		b = pack.Int(b, int64(p.Why)<<1|int64(sealed))
		before = p.To
	}
	return b
}

// ErrVersion says that another version of the program has stored a coverage.
var ErrVersion = errors.New("the coverage is of a version that this program does not know")

var errCoverage = errors.New("the coverage is damaged")

// Parse reads what Append wrote.
func Parse(b []byte) (c Coverage, err error) {
	if len(b) == 0 || b[0] != version {
		return c, ErrVersion
	}
	r := pack.NewReader(b[1:])
	c.events = r.Int()
	c.Known = Known{tables.Ticks(r.Int()), time.Duration(r.Int())}
	c.Repeat.Window = Window{days(r.Int()), days(r.Int())}
	c.Repeat.At, c.RebuildTo = tables.Ticks(r.Int()), tables.Ticks(r.Int())
	var before tables.Ticks
	for range r.Count() {
		p := Part{Window: Window{From: before + days(r.Int())}}
		p.To = p.From + days(r.Int())
		flags := r.Int()
		p.Sealed, p.Why = flags&1 == 1, Reason(flags>>1)
		if p.From < before || p.Empty() || p.To > end || p.plain() || flags != int64(p.Why)<<1|flags&1 {
			return Coverage{}, errCoverage
		}
		c.parts, before = append(c.parts, p), p.To
	}
	late := c.Known.Late >= 0 && c.Known.At >= 0 && c.Repeat.At >= 0 && c.RebuildTo >= 0
	if r.Err() != nil || !late || len(c.parts) > MaxParts || c.Repeat.From > c.Repeat.To {
		return Coverage{}, errCoverage
	}
	return c, nil
}

// days returns so many days, limited to all time.
func days(n int64) tables.Ticks {
	return tables.Ticks(min(max(n, 0), int64(end/tables.Day))) * tables.Day
}
