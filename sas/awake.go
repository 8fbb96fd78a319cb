package sas

import (
	"context"
	"errors"
	"fmt"
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
// with its first token, and its membership, with the note, after that. Where somebody else has inserted that, nothing
// may be noted: then every run looks at the device until its next note.
func (i *Issuer) wake(ctx context.Context, d *schema.Device, now time.Time) error {
	until := tables.Ticks(0)
	for _, t := range d.Tokens {
		until = max(until, t.Expiry)
	}
	if d.ETag == "" {
		d.Noted = until
	}
	if until <= d.Noted {
		return nil
	}
	if d.Noted >= tables.TicksOf(now.Add(-noteOver)) {
		until = max(until, tables.TicksOf(now.Add(NoteAhead)))
	}
	m, err := i.noteOnce(ctx, *d, until)
	if err != nil {
		return err
	}
	if d.NotedIn = m.ETag; m.ETag != "" {
		d.Noted = m.Awake
	}
	return nil
}

// noteOnce needs no look at the membership where nobody has changed it since the last note. If somebody has, it is a
// conflict. What has the version in a record says what the record says, so a note by an old record takes nothing back.
func (i *Issuer) noteOnce(ctx context.Context, d schema.Device, until tables.Ticks) (schema.Member, error) {
	if d.NotedIn == "" {
		return i.note(ctx, d, func(awake tables.Ticks) tables.Ticks { return max(awake, until) })
	}
	m := d.Member()
	m.ETag = d.NotedIn
	err := i.merge(ctx, &m, until)
	if tables.Absent(err) {
		err = fmt.Errorf("%w: %w", tables.ErrConflict, err)
	}
	return m, err
}

// merge changes a membership whose version is that of m, and m.
func (i *Issuer) merge(ctx context.Context, m *schema.Member, awake tables.Ticks) error {
	written, err := i.Registry.Fleet.Do(ctx, tables.Merge(m.Waking(awake), m.ETag))
	if err == nil {
		m.Awake, m.ETag = awake, written.ETags[0]
	}
	return err
}

// Ring has the next run of every pipeline look at a device which has a token, whatever it rests for: its note changes,
// by less than matters. A device without one that is known is looked at in every run. If late is not zero, rows from
// that time on have been stored after later ones: each pipeline folds those again that its checkpoint had passed.
func (i *Issuer) Ring(ctx context.Context, device schema.DeviceID, late tables.Ticks) error {
	d, err := i.Registry.Get(ctx, device)
	if err != nil {
		return err
	}
	_, err = i.note(ctx, d, func(awake tables.Ticks) tables.Ticks { return awake + min(awake, 1) })
	if err != nil || late == 0 {
		return err
	}
	until := late
	for _, t := range d.Tokens {
		until = max(until, t.To)
	}
	_, err = i.Registry.NoteImport(ctx, d, schema.Import{From: late, To: until + 1, Late: true}, true)
	if errors.Is(err, schema.ErrNewer) || tables.Absent(err) { // as for other notes
		return nil
	}
	return err
}

// note changes until when the membership of a device says that its tokens let it write, and returns the membership. It
// has no version where somebody else maintains it.
func (i *Issuer) note(ctx context.Context, d schema.Device, change func(tables.Ticks) tables.Ticks) (
	schema.Member, error,
) {
	for range tries {
		m, _, err := i.Registry.memberOf(ctx, d, d.Tenant)
		switch {
		case errors.Is(err, schema.ErrNewer), tables.Absent(err): // a newer program maintains it, or it is being removed
			return schema.Member{}, nil
		case err == nil && m.Next != "": // the record does not name its new tenant yet
			if _, err = i.Registry.finishMove(ctx, m); err == nil {
				return m, tables.ErrConflict
			}
		case err == nil && change(m.Awake) != m.Awake:
			err = i.merge(ctx, &m, change(m.Awake))
		}
		if !errors.Is(err, tables.ErrConflict) {
			return m, err
		}
	}
	return schema.Member{}, tables.ErrConflict
}
