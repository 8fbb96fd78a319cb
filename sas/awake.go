package sas

import (
	"context"
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// NoteAhead is how far ahead it is noted that a device may write which asks again before the last note is long over. It
// is awake all the time: its note is for longer than its tokens, so that forty renewals in an hour do not take forty
// notes.
const NoteAhead = 2 * time.Hour

// noteOver is how long a note may be over then.
const noteOver = 10 * time.Minute

// wake has the membership of a device say until when its tokens let it write, before the last of them is handed out:
// those of the record count as well, as an earlier release may have issued them. The record of a new device is inserted
// with its first token, and its membership after that; nothing is noted then, so every run looks at the device until
// its next token.
func (i *Issuer) wake(ctx context.Context, d *schema.Device, now time.Time) error {
	if d.ETag == "" {
		return nil
	}
	until := tables.Ticks(0)
	for _, t := range d.Tokens {
		until = max(until, t.Expiry)
	}
	if until <= d.Noted {
		return nil
	}
	if d.Noted >= tables.TicksOf(now.Add(-noteOver)) {
		until = max(until, tables.TicksOf(now.Add(NoteAhead)))
	}
	for range tries {
		m, _, err := i.Registry.member(ctx, *d)
		switch {
		case errors.Is(err, schema.ErrNewer), missing(err): // a newer program maintains it, or it is being removed
			return nil
		case err == nil && m.Next != "": // the record does not name its new tenant yet
			if _, err = i.Registry.finishMove(ctx, m); err == nil {
				return tables.ErrConflict
			}
		case err == nil && m.Awake < until:
			_, err = i.Registry.Fleet.Do(ctx, tables.Merge(m.Waking(until), m.ETag))
		}
		if !errors.Is(err, tables.ErrConflict) {
			if err == nil {
				d.Noted = until
			}
			return err
		}
	}
	return tables.ErrConflict
}
