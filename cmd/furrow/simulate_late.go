package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/jobs/refold"
	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/urfave/cli/v2"
)

// lateReadings records what devices have sent, to count late readings at the end: those below their device's
// checkpoint, which no run reads. New devices that sent in order have none.
type lateReadings struct {
	mu      sync.Mutex
	newest  map[schema.DeviceID]time.Time // readings
	devices map[schema.DeviceID]*sentBy   // that were registered before, or did not send in order
}

// sentBy summarizes the readings of a device.
type sentBy struct {
	oldest time.Time // of those that came after a newer one; if none did, of all
	late   bool      // a reading came after a newer one
	stored int64     // rows: readings, and acknowledgements of commands
}

func (l *lateReadings) accepted(m simulate.Member, r device.Reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, newest := l.devices[m.ID], l.newest[m.ID]
	late := r.Time.Before(newest) && !r.Time.IsZero()
	if late && d == nil {
		d = &sentBy{}
		l.devices[m.ID] = d
	}
	if d != nil && (newest.IsZero() || late && (!d.late || r.Time.Before(d.oldest))) {
		d.oldest, d.late = r.Time, late
	}
	if r.Time.After(newest) {
		l.newest[m.ID] = r.Time
	}
}

func (l *lateReadings) ended(m simulate.Member, s device.Stats) {
	if d := l.devices[m.ID]; d != nil {
		d.stored += s.Stored + s.Acks.Stored
	}
}

// A lateLine is the number of readings that wait for an audit, in JSON.
type lateLine struct {
	Late     *int64          `json:"late,omitempty"`     // absent if counting took too long
	LateMore bool            `json:"lateMore,omitempty"` // there may be more: a run is under way, or a worker was killed
	Pipeline schema.Pipeline `json:"latePipeline,omitempty"`
	Until    *time.Time      `json:"lateUntil,omitempty"` // latest time of the audit that finds them
}

func (l lateLine) text() string {
	switch {
	case l.Pipeline == "":
		return ""
	case l.Late == nil, *l.Late == 0 && l.LateMore:
		return "Some readings were sent out of order. Late ones are in no output until an audit finds them: furrow audit " +
			"run --wait\n"
	case *l.Late == 0:
		return ""
	}
	least := ""
	if l.LateMore {
		least = "At least "
	}
	return fmt.Sprintf("%s%s arrived late. An audit of pipeline %s finds them by %s,\nor now: furrow audit run "+
		"--pipeline %s --wait\n", least, many(*l.Late, "reading"), l.Pipeline, l.Until.Format(time.RFC3339), l.Pipeline)
}

// countFor is the maximum time for counting late readings.
const countFor = 20 * time.Second

// count counts the late readings of the first pipeline: rows up to a device's checkpoint that were not folded. It
// also runs after Ctrl-C.
func (l *lateReadings) count(c *cli.Context, d *deviceAdmin, members []simulate.Member) (lateLine, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context), countFor)
	defer cancel()
	file, err := configFile(c)
	if err != nil {
		return lateLine{}, err
	}
	holds, err := d.Generations().Holding(ctx, file)
	if err != nil || len(holds.Config.Pipelines) == 0 {
		return lateLine{}, err
	}
	first := holds.Config.Pipelines[0]
	over, err := d.runsOver(ctx, first.Name, first.Cadence)
	if err != nil {
		return lateLine{}, err
	}
	line := lateLine{Pipeline: first.Name, LateMore: !over}
	late, until, err := l.ofPipeline(ctx, d, line.Pipeline, members)
	if err == nil {
		line.Late = &late
	}
	if late > 0 {
		line.Until = &until
	}
	if ctx.Err() != nil {
		err = nil
	}
	return line, err
}

func (l *lateReadings) ofPipeline(ctx context.Context, d *deviceAdmin, p schema.Pipeline,
	members []simulate.Member) (late int64, until time.Time, err error) {
	admits, err := d.admits(ctx)
	if err != nil {
		return 0, until, err
	}
	months := map[schema.Month]bool{}
	for _, m := range members {
		months[schema.MonthOf(m.Deployed, 0)] = true
	}
	for month := range months {
		shards := tables.Keys{From: month.String(), Before: month.String() + "/"}
		q := tables.Query{Range: tables.Range{Partitions: shards, Rows: schema.DeviceTracks()},
			Select: schema.TrackProperties()}
		for page, err := range d.Tables.Table(d.Names.Partitions(p)).Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				return 0, until, nil
			}
			if err != nil {
				return 0, until, err
			}
			for _, e := range page.Rows {
				track, err := schema.TrackOf(e)
				if err != nil {
					return 0, until, err
				}
				n, err := l.ofDevice(ctx, d, track)
				if err != nil {
					return 0, until, err
				}
				if n == 0 {
					continue
				}
				late += n
				at := tables.TicksOf(l.devices[schema.MemberKey(e.RowKey).Device()].oldest)
				next := refold.NextAudit(p, month, at, tables.TicksOf(page.Time), admits).Time()
				if next.After(until) {
					until = next
				}
			}
		}
	}
	return late, until.Truncate(time.Second), nil
}

// admits returns the maximum age of rows that a token of any enrollment admits.
func (d *deviceAdmin) admits(ctx context.Context) (most time.Duration, err error) {
	all, err := d.Enrollments.All(ctx)
	for _, e := range all {
		most = max(most, e.Admits+sas.ClockSkew)
	}
	return most, err
}

// ofDevice counts late readings of a device.
func (l *lateReadings) ofDevice(ctx context.Context, d *deviceAdmin, track schema.Track) (int64, error) {
	sent, folded, last := l.devices[track.Place.Device()], track.Rows, track.Checkpoint
	if sent == nil || last == "" {
		return 0, nil
	}
	rows := tables.Range{Partitions: tables.Is(string(track.Place.Device())), Rows: tables.Keys{To: last}}
	there := int64(0)
	for page, err := range d.Tables.Table(d.Names.Readings()).Rows(ctx, tables.Query{Range: rows,
		Select: []string{"RowKey"}}) {
		if err != nil {
			return 0, err
		}
		there += int64(len(page.Rows))
	}
	return max(0, there-folded), nil
}

// awaitRunsFor is how long simulate waits for runs at most. A killed worker never ends one.
const awaitRunsFor = 10 * time.Second

// runsOver waits until the runs are over that have begun before, and reports whether they are. A run that read a device
// while rows were stored moves its checkpoint when it commits, and only then some of those rows turn out to be late.
func (d *deviceAdmin) runsOver(ctx context.Context, p schema.Pipeline, cadence time.Duration) (bool, error) {
	runs := worker.Runs{Table: d.Tables.Table(d.Names.Runs())}
	since := tables.TicksOf(time.Now().Add(-2*cadence - 10*time.Minute))
	var end tables.Ticks
	for began := time.Now(); time.Since(began) < awaitRunsFor; {
		all, now, err := runs.FiguresSince(ctx, p, since)
		if errors.Is(err, tables.ErrNoTable) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if end == 0 {
			end = tables.TicksOf(now)
		}
		if !slices.ContainsFunc(all, func(r worker.RunFigures) bool { return underWay(r, end) }) {
			return true, nil
		}
		if !simulate.Pause(ctx, auditPoll) {
			break
		}
	}
	return false, nil
}

// underWay reports whether a run has begun before a time and is not known to be over.
func underWay(r worker.RunFigures, at tables.Ticks) bool {
	return r.Run.Slot <= at && r.Run.Skipped == "" && r.Run.Started != 0 && !r.Done()
}
