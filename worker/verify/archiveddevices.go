package verify

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// A standing tells whether memberships are as they were: whose rows are whose, and which may be deleted. It does not
// depend on their order.
type standing uint64

func (s *standing) add(m schema.Member) {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, m.Device, m.Month, m.Spans, m.Watermark) // a hash takes all
	*s ^= standing(h.Sum64())
}

// stands reports whether the memberships are those that the rows of the day were compared by.
func (d *archivedDay) stands(ctx context.Context) (bool, error) {
	var now standing
	if !d.Values {
		return true, nil
	}
	for m, err := range d.members(ctx) {
		if err != nil {
			return false, err
		}
		now.add(m)
	}
	return now == d.standing, nil
}

// dayDiffers is a difference in a day as a whole. Late rows do not explain it.
func dayDiffers(day schema.Day) *difference {
	return &difference{from: day.Start(), to: (day + 1).Start(), many: true}
}

// ofDevices returns why the archive may have other rows of a day than storage: its pipeline does not know yet that a
// device has moved, or still has to fold it again, or a device has left the fleet, whose data is kept. It also reports
// whether the memberships are those by which rows were counted.
func (s *shelf) ofDevices(ctx context.Context, day schema.Day) (why Reason, stands bool, err error) {
	in := tables.Range{Partitions: tables.Is(s.at.Month.String()), Rows: schema.MembersOf(s.at.Tenant)}
	tracks := tracksAhead{shelf: s, reason: Unknown}
	var stop func()
	tracks.next, stop = iter.Pull2(s.Client.Table(s.Names.Partitions(s.Archive.Pipeline)).Entities(ctx,
		tables.Query{Range: in, Select: trackProperties()}))
	defer stop()
	if err := tracks.step(); err != nil {
		return Unknown, false, err
	}
	var now standing
	for e, err := range s.Client.Table(s.Names.Fleet()).Entities(ctx, tables.Query{Range: in}) {
		if err != nil {
			return Unknown, false, err
		}
		m, errMember := schema.MemberOf(e)
		if err := errors.Join(errMember, tracks.leave(ctx, e.RowKey)); err != nil {
			return Unknown, false, err
		}
		now.add(m)
		p := s.pipe(m)
		if p.now = s.now; tracks.more && tracks.e.RowKey == e.RowKey {
			var errTrack error
			p.track, errTrack = trackOf(tracks.e)
			if err := errors.Join(errTrack, tracks.step()); err != nil {
				return Unknown, false, err
			}
		}
		p.track.admit(p.admits.ageFor(m), p.now, p.watermark())
		if is := p.explain(dayDiffers(day)); is == Moved || is == Refold {
			return is, true, nil
		}
	}
	err = tracks.leave(ctx, "\x7f")
	return tracks.reason, now == s.stands, err
}

// tracksAhead are tracking rows in the order of keys, beside memberships.
type tracksAhead struct {
	*shelf
	next   func() (tables.Entity, error, bool)
	e      tables.Entity
	more   bool
	reason Reason // Left, if one is of a device that has left the fleet
}

func (t *tracksAhead) step() (err error) {
	t.e, err, t.more = t.next()
	return err
}

// leave passes over rows without a membership, up to a key.
func (t *tracksAhead) leave(ctx context.Context, key string) error {
	for t.more && t.e.RowKey < key {
		at, err := schema.ParseMemberKey(t.e.RowKey)
		if err != nil {
			return err
		}
		reason, err := t.left(ctx, t.at.Tenant, at.Device())
		if err != nil {
			return err
		}
		if reason == Left {
			t.reason = Left
		}
		if err := t.step(); err != nil {
			return err
		}
	}
	return nil
}
