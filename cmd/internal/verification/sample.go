package verification

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// A sample is one verification of a share of the devices.
type sample struct {
	*Nightly
	runs     *tables.Table
	config   *verify.Config
	state    schema.Verification
	from, to schema.Day

	rows        map[rowOf]*schema.Verified
	unexplained int64
	differ      []schema.Differing
	last        schema.Place // device
	kept        time.Time    // when that was stored last
}

type rowOf struct {
	day    schema.Day
	tenant schema.Tenant
}

// folded is the output of verify that says how many readings were folded.
const folded = "folded"

func (s *sample) verify(ctx context.Context) error {
	began := s.Now()
	s.kept = began
	if err := s.hold(ctx); err != nil {
		return err
	}
	if err := s.resume(ctx); err != nil {
		return err
	}
	if s.last.Key == "" {
		if err := s.again(ctx); err != nil {
			return err
		}
	}
	if err := s.each(ctx, s.config, func(d *verify.Device) error { return s.next(ctx, d) }); err != nil {
		return err
	}
	if err := s.hold(ctx); err != nil { // nobody else verifies, so that nobody else writes
		return err
	}
	sum, err := s.write(ctx, "")
	if err != nil {
		return err
	}
	s.state.Number, s.state.Through, s.state.At = s.state.Number+1, s.to, tables.TicksOf(s.Now())
	s.state.By, s.state.Until, s.state.Unexplained, s.state.Differ = "", 0, s.unexplained, s.differ
	s.state.After, s.state.Ends, s.state.Found, s.state.More = "", 0, nil, 0
	s.state.Last, s.state.Last.Share = sum, s.config.Share
	s.Log.InfoContext(ctx, "sample verified", "from", s.from, "to", s.to, "devices", sum.Devices, "stored", sum.Stored,
		"unexplained", s.unexplained, "took", s.Now().Sub(began).Round(time.Millisecond))
	return s.save(ctx)
}

// each calls do with each device of a verification, and keeps the row of the sample meanwhile.
func (s *sample) each(ctx context.Context, c *verify.Config, do func(*verify.Device) error) error {
	for d, err := range c.Run(ctx) {
		if err != nil {
			return err
		}
		if err := do(&d); err != nil {
			return err
		}
		if s.state.Until < tables.TicksOf(s.Now()).Add(holdFor/2) {
			if err := s.hold(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// next adds what comes next. Between two partitions of the fleet, it now and then keeps what it has counted.
func (s *sample) next(ctx context.Context, d *verify.Device) error {
	defer s.count(d)
	if d.Device == "" {
		return nil
	}
	was := s.last
	ends := was.Key != "" && (was.Month != d.Place.Month || was.Key.Tenant() != d.Place.Key.Tenant())
	if ends && s.Now().Sub(s.kept) >= keepEvery {
		if err := s.keep(ctx); err != nil {
			return err
		}
	}
	s.last = d.Place
	return nil
}

// keep stores what was counted, and up to where.
func (s *sample) keep(ctx context.Context) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	if _, err := s.write(ctx, s.last.String()); err != nil {
		return err
	}
	s.state.After, s.state.Ends, s.state.Found, s.state.More = s.last.String(), s.to.Start(), s.differ, s.unexplained
	s.kept = s.Now()
	return s.hold(ctx)
}

// resume takes over what keep has stored. It begins with the first device if there is nothing, if the share has
// changed, or if the rows are of a keep that did not get to its end.
func (s *sample) resume(ctx context.Context) error {
	at, err := schema.ParsePlace(s.state.After)
	if err != nil || at.Key == "" {
		return err
	}
	rows := map[rowOf]*schema.Verified{}
	for e, err := range s.runs.Entities(ctx, tables.Query{Range: schema.VerifiedIn(s.from, s.to-1)}) {
		if err != nil {
			return err
		}
		v, err := schema.VerifiedOf(e)
		if err != nil {
			return err
		}
		if v.UpTo != "" && (v.UpTo != s.state.After || v.Share != s.config.Share) {
			return nil
		}
		if v.UpTo != "" {
			rows[rowOf{v.Day, v.Tenant}] = &v
		}
	}
	s.rows, s.differ, s.unexplained, s.last = rows, s.state.Found, s.state.More, at
	// What devices of its tenant share is counted, too, so it goes on behind the last of them that may be.
	s.config.After = schema.Place{Month: at.Month, Key: schema.Member{Tenant: at.Key.Tenant(), Device: "~"}.Key()}
	return nil
}

// count adds a device of the sample, or what devices share.
func (s *sample) count(d *verify.Device) {
	for _, day := range d.Days {
		row := s.row(day.Day, d.Tenant)
		if d.Device != "" {
			row.Devices++
		}
		row.Stored, row.Rejected = row.Stored+day.Stored, row.Rejected+day.Rejected
		if day.Made != nil {
			row.Made, row.Missing = row.Made+day.Made.Rows, row.Missing+day.Made.Missing
		}
		for _, c := range day.Counts {
			if c.Output == folded {
				row.Folded, row.ToFold = row.Folded+c.Rows, row.ToFold+c.Want
			}
		}
	}
	for _, x := range d.Differences {
		row, n := s.row(x.Day, d.Tenant), 1+int64(x.More)
		if row.Reasons[string(x.Reason)] += n; !x.Explained() {
			row.Unexplained += n
		}
	}
	s.differs(d)
}

// row returns the row of a tenant's day. What a difference says of a day before or after counts for the day next to it.
func (s *sample) row(text string, tenant schema.Tenant) *schema.Verified {
	day, err := schema.ParseDay(text)
	if err != nil {
		day = s.from
	}
	of := rowOf{max(s.from, min(day, s.to-1)), tenant}
	if s.rows[of] == nil {
		s.rows[of] = &schema.Verified{Day: of.day, Tenant: tenant, Share: s.config.Share, Reasons: map[string]int64{}}
	}
	return s.rows[of]
}

// differs notes a device with differences that nothing explains, or what devices of a tenant share. Shares of several
// samples may have the same.
func (s *sample) differs(d *verify.Device) {
	i := slices.IndexFunc(d.Differences, func(x verify.Difference) bool { return !x.Explained() })
	known := func(o schema.Differing) bool {
		return o.Device == d.Device && o.Tenant == d.Tenant && o.Begin == d.Begin
	}
	if i < 0 || slices.ContainsFunc(s.differ, known) {
		return
	}
	s.unexplained += int64(d.Unexplained())
	if first := d.Differences[i]; len(s.differ) < schema.MaxDiffering {
		s.differ = append(s.differ, schema.Differing{Tenant: d.Tenant, Device: d.Device, Begin: d.Begin, Day: first.Day,
			Output: first.Output, Count: int64(d.Unexplained())})
	}
}

// again looks at devices that differed before. What devices of a tenant share is looked at with a share that begins
// with it.
func (s *sample) again(ctx context.Context) error {
	for _, d := range s.state.Differ {
		day, err := schema.ParseDay(d.Day)
		if err != nil {
			continue
		}
		c := *s.config
		c.Tenant, c.Device, c.Begin, c.From = d.Tenant, d.Device, d.Begin, min(c.From, day.Start())
		if c.Device != "" {
			c.Share = 0
		}
		each := func(found *verify.Device) error {
			s.differs(found)
			return nil
		}
		if err := s.each(ctx, &c, each); err != nil && !errors.Is(err, verify.ErrNoDevice) {
			return err
		}
	}
	return nil
}

// write writes the rows, which count up to a place. At the end, where that is empty, it then writes for each day their
// sum, which it returns for all days.
func (s *sample) write(ctx context.Context, upTo string) (all schema.Verified, err error) {
	sums, now := map[schema.Day]*schema.Verified{}, tables.TicksOf(s.Now())
	for day := s.from; day < s.to; day++ {
		sums[day] = &schema.Verified{Day: day, At: now, Share: s.config.Share}
	}
	var ops []tables.Op
	for _, of := range slices.SortedFunc(maps.Keys(s.rows), func(a, b rowOf) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.tenant, b.tenant))
	}) {
		row := s.rows[of]
		row.At, row.UpTo = now, upTo
		sums[of.day].Add(*row)
		ops = append(ops, tables.InsertOrReplace(row.Entity()))
	}
	for day := s.from; day < s.to && upTo == ""; day++ {
		all.Add(*sums[day])
		ops = append(ops, tables.InsertOrReplace(sums[day].Entity()))
	}
	for some := range slices.Chunk(ops, tables.MaxOps) {
		if _, err := s.runs.Submit(ctx, some); err != nil {
			return all, err
		}
	}
	return all, nil
}

// hold keeps others from verifying for a while, or fails with tables.ErrConflict or tables.ErrExists if one does.
func (s *sample) hold(ctx context.Context) error {
	s.state.By, s.state.Until = s.Name, tables.TicksOf(s.Now()).Add(holdFor)
	return s.save(ctx)
}

// giveBack ends a sample that failed.
func (s *sample) giveBack(ctx context.Context) error {
	if ctx.Err() != nil {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer end()
	}
	s.state.By, s.state.Until = "", 0
	return s.save(ctx)
}

// save writes the row of the sample in place of the version that this process has read or written.
func (s *sample) save(ctx context.Context) error {
	e, err := s.state.Entity()
	if err != nil {
		return err
	}
	op := tables.Insert(e)
	if s.state.ETag != "" {
		op = tables.Replace(e, s.state.ETag)
	}
	written, err := s.runs.Do(ctx, op)
	if err == nil {
		s.state.ETag = written.ETags[0]
	}
	return err
}
