package archive

import (
	"context"
	"errors"
	"iter"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// mostBeside is how many files a day has at most beside which late rows come: of more, it is made as a whole, while one
// transaction still replaces them all.
const mostBeside = 20

// leave leaves files of a whole day as they are where marks name devices: the readings that none of them has come into
// a file beside them, together with those of small files once there are enough of these. Where nothing is left, the
// day is made of its own files.
//
// Rollups and reports need all readings of a bucket: they are made again of what files have that stay, and of the rest.
// Days of devices that have moved or left are made as a whole: files may have readings that are theirs no longer.
func (g *readingsMaking) leave(ctx context.Context, d catalog.Day) error {
	if g.asked == nil || g.of.Hour > 0 || d.Watermark == 0 || g.older.has() || len(g.gone) > mostBeside {
		return nil
	}
	if always, err := g.always(ctx); err != nil || !always {
		return err
	}
	one, others := fewer(units(g.gone), g.small())
	g.gone, g.stay, g.months = nil, filesOf(others), []schema.Month{g.of.Month}
	for _, f := range filesOf(one) {
		g.replace(f)
	}
	if len(g.sums.all) == 0 {
		g.shared = g.months
	}
	return nil
}

// pastOf yields what files have of a device: those that go, and those that stay where rollups and reports are made of
// them. It notes which of both a reading comes from.
func (g *readingsMaking) pastOf(ctx context.Context, device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	gone := g.past.readings(ctx, g, device)
	if len(g.sums.all) == 0 || len(g.stay) == 0 {
		return gone
	}
	return func(yield func(fold.Sample, error) bool) {
		from, beside := newTableReader(gone), newTableReader(g.beside.past.readings(ctx, g, device))
		defer from.close()
		defer beside.close()
		for from.more || beside.more {
			next := from
			if g.stayed = !from.more || from.err == nil && beside.before(from.sample.Key); g.stayed {
				next = beside
			}
			if !yield(next.sample, next.err) || next.err != nil {
				return
			}
			next.advance()
		}
	}
}

// staysIn reports whether a reading is in a file that stays.
func (g *readingsMaking) staysIn(ctx context.Context, one *groups.DayReading) (bool, error) {
	if g.stored == one.Member.Device {
		return g.beside.has(ctx, g, one)
	}
	return g.stayed, nil
}

// mostLate is of how many devices late rows come into a file of their own: each takes a request more.
const mostLate = 50

// always reports whether the devices that are asked for have always belonged to the tenant, as they do now.
func (g *readingsMaking) always(ctx context.Context) (bool, error) {
	if len(g.asked) > mostLate {
		return false, nil
	}
	fleet := g.Source.Client.Table(g.Source.Names.Fleet())
	for _, device := range g.asked {
		of := schema.Member{Tenant: g.of.Tenant, Device: device}
		e, err := fleet.Get(ctx, g.of.Month.String(), string(of.Key()))
		if errors.Is(err, tables.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if m, err := schema.MemberOf(e); err != nil || len(m.Spans) > 0 {
			return false, nil // of an unreadable one, nothing is known
		}
	}
	return true, nil
}

// errOtherCells says that a reading is in a file that stays, with other values: the settings have changed since.
var errOtherCells = errors.New("a file that stays has other values")

// A staying is what files that stay have of one device after another.
type staying struct {
	past   tablePast
	device schema.DeviceID
	reader *tableReader // of the device's readings
}

func (s *staying) reset(files []catalog.File) error {
	s.reader.close()
	s.device, s.reader = "", nil
	return s.past.reset(files)
}

// has reports whether a reading of storage is there. Readings come in order.
func (s *staying) has(ctx context.Context, g *readingsMaking, one *groups.DayReading) (bool, error) {
	if len(g.stay) == 0 {
		return false, nil
	}
	if s.device != one.Member.Device {
		s.reader.close()
		s.device, s.reader = one.Member.Device, newTableReader(s.past.readings(ctx, g, one.Member.Device))
	}
	for s.reader.before(one.Sample.Key) {
		s.reader.advance()
	}
	if s.reader.err != nil || !s.reader.more || s.reader.sample.Key != one.Sample.Key {
		return false, s.reader.err
	}
	if columnar.Cells(&s.reader.sample) != columnar.Cells(&one.Sample) {
		return true, errOtherCells
	}
	return true, nil
}
