package archive

import (
	"context"
	"errors"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
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
// Rollups and reports need all readings of a bucket, and they are committed with those: days that have some are made as
// a whole. So are days of devices that have moved or left: files may have readings that are theirs no longer.
func (g *readingsMaking) leave(ctx context.Context, d catalog.Day) error {
	if g.asked == nil || g.of.Hour > 0 || d.Watermark == 0 || g.older.has() || len(g.sums.all) > 0 ||
		len(g.gone) > mostBeside {
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
	return nil
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

// has reports whether a reading is there. Readings come in order.
func (s *staying) has(ctx context.Context, g *readingsMaking, one *groups.DayReading) (bool, error) {
	if len(g.stay) == 0 || !g.reads(one.Member.Device) {
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
