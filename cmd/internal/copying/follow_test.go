package copying

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// notesOf returns the notes at the destination of a device.
func notesOf(t *testing.T, c *Copy, device schema.DeviceID) schema.Imports {
	t.Helper()
	return memberOf(t, c, device).Imports
}

// memberOf returns the membership at the destination of a device.
func memberOf(t *testing.T, c *Copy, device schema.DeviceID) schema.Member {
	t.Helper()
	for e := range c.To.Table(c.Names.Fleet()).Entities(t.Context(), tables.Query{}) {
		if m, err := schema.MemberOf(e); err == nil && m.Device == device {
			return m
		}
	}
	t.Errorf("device %s has no membership at the destination", device)
	return schema.Member{}
}

// TestFollowedReadingsWakeTheirDevices: they come with the account's key, and a device may rest at the destination,
// with a checkpoint beyond them.
func TestFollowedReadingsWakeTheirDevices(t *testing.T) {
	t.Parallel()
	c, _, at := newFollowed(t)
	if n := must.Have(c.Follow(t.Context()))(t); n != 2 {
		t.Errorf("%d readings are followed of 2", n)
	}
	for _, device := range []schema.DeviceID{"pump-7", "pump-8"} {
		if notes := notesOf(t, c, device); len(notes) != 1 || !notes[0].Late || notes[0].From != at ||
			notes[0].To <= at || notes[0].Until != 0 {
			t.Errorf("the membership of %s says %+v", device, notes)
		}
	}
}

// newFollowed returns a copy that is finished, and readings of two devices that came to the source after that.
func newFollowed(t *testing.T) (c *Copy, into azuretest.Account, at tables.Ticks) {
	t.Helper()
	source := newLiving(t)
	source.stopWorking()
	source.stopWriting()
	into = azuretest.Local(t)
	c = copyTo(t, source.World.Connect(t, nil), source.Names, into)
	at = tables.TicksOf(time.Now().Add(-time.Hour))
	devices := []schema.DeviceID{"pump-7", "pump-8"}
	for _, device := range devices {
		d := schema.Device{ID: device, Tenant: "acme", Month: jobstest.Month, Readings: source.Readings,
			Status: schema.Active}
		must.Have(sas.NewRegistry(c.From, c.Names).Register(t.Context(), d))(t)
	}
	must.Have(c.Finish(t.Context()))(t)
	for _, device := range devices {
		e := tables.Entity{PartitionKey: string(device), RowKey: at.String()}
		e.Set("temperature", tables.Double(21.5))
		jobstest.Insert(t, c.From.Table(source.Readings), e)
	}
	return c, into, at
}

// through returns a client whose transport is told whether a request inserts readings of pumps.
func through(
	t *testing.T, in azuretest.Account, do func(r *http.Request, inserts bool) (*http.Response, error),
) *tables.Client {
	t.Helper()
	world := &jobstest.World{Account: must.Have(tables.ParseAccount(in.ConnectionString()))(t)}
	return world.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			sent = must.Have(io.ReadAll(r.Body))(t)
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
		return do(r, bytes.Contains(sent, []byte(`"temperature":21.5`)))
	}))
}

// TestStoppedFollowWakesTheDevicesOfItsReadings: the next one finds them at the destination, and knows nothing of them.
func TestStoppedFollowWakesTheDevicesOfItsReadings(t *testing.T) {
	t.Parallel()
	c, into, at := newFollowed(t)
	ctx, stop := context.WithCancel(t.Context())
	to := c.To
	c.To = through(t, into, func(r *http.Request, inserts bool) (*http.Response, error) {
		if inserts {
			defer stop() // after the first insert
		}
		return http.DefaultClient.Do(r)
	})
	if n, err := c.Follow(ctx); err == nil {
		t.Errorf("a stopped copy follows %d readings, and says nothing", n)
	}
	c.To = to
	must.Have(c.Follow(t.Context()))(t)
	for _, device := range []schema.DeviceID{"pump-7", "pump-8"} {
		if notes := notesOf(t, c, device); len(notes) == 0 || notes[0].From != at {
			t.Errorf("the membership of %s says %+v", device, notes)
		}
	}
}

// TestKilledFollowLeavesANote whose lease ends after storage has done what it was sent: an end of the note before that
// would have the pipelines pass the readings that come then.
func TestKilledFollowLeavesANote(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{true, false} {
		c, into, at := newFollowed(t)
		to, inserted := c.To, false
		c.To = through(t, into, func(r *http.Request, inserts bool) (*http.Response, error) {
			if inserted = inserted || inserts; inserts || killed && inserted {
				return nil, errors.New("no answer")
			}
			return http.DefaultClient.Do(r)
		})
		if n, err := c.Follow(t.Context()); err == nil {
			t.Errorf("a copy without answers follows %d readings, and says nothing", n)
		}
		c.To = to
		if notes := notesOf(t, c, "pump-7"); len(notes) != 1 || notes[0].From != at || notes[0].Until == 0 {
			t.Errorf("killed %t: the membership says %+v", killed, notes)
		}
	}
}

// TestFollowGoesOnWithoutADeviceThatIsRemoved meanwhile: after its reading is inserted, and before its note ends.
func TestFollowGoesOnWithoutADeviceThatIsRemoved(t *testing.T) {
	t.Parallel()
	c, into, _ := newFollowed(t)
	to, removed := c.To, 0
	c.To = through(t, into, func(r *http.Request, inserts bool) (*http.Response, error) {
		resp, err := http.DefaultClient.Do(r)
		if inserts {
			d := []schema.DeviceID{"pump-7", "pump-8"}[removed]
			_, failed := sas.NewRegistry(to, c.Names).Update(t.Context(), d, func(d *schema.Device) error {
				d.Status = schema.Removing
				return nil
			})
			m := schema.Member{Month: jobstest.Month, Tenant: "acme", Device: d}
			_, err := to.Table(c.Names.Fleet()).Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()),
				tables.AnyETag))
			must.Succeed(t, errors.Join(failed, err))
			removed++
		}
		return resp, err
	})
	if n, err := c.Follow(t.Context()); n != 2 || err != nil {
		t.Errorf("%d readings are followed of 2: %v", n, err)
	}
}

// TestFollowBringsNothingBackThatTheDestinationHasDeleted: the last token for the source may live for 90 days, and the
// source goes on to have what retention or device remove --data deletes at the destination.
func TestFollowBringsNothingBackThatTheDestinationHasDeleted(t *testing.T) {
	t.Parallel()
	c, _, at := newFollowed(t)
	registry, late := sas.NewRegistry(c.To, c.Names), at+1
	_, err := registry.Update(t.Context(), "pump-7", func(d *schema.Device) error {
		d.Status = schema.Erased
		return nil
	})
	must.Succeed(t, err)
	m := memberOf(t, c, "pump-8")
	raised := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	raised.Set(schema.MemberWatermark, tables.Int64(int64(late)))
	must.Have(c.To.Table(c.Names.Fleet()).Do(t.Context(), tables.Merge(raised, tables.AnyETag)))(t)
	e := tables.Entity{PartitionKey: "pump-8", RowKey: late.String()}
	e.Set("temperature", tables.Double(22.5))
	jobstest.Insert(t, c.From.Table(m.Readings), e)
	n := must.Have(c.Follow(t.Context()))(t)
	for _, device := range []string{"pump-7", "pump-8"} {
		for _, e := range jobstest.Rows(t, c.To.Table(m.Readings), tables.Query{Range: tables.Partition(device)}) {
			if device != "pump-8" || e.RowKey != late.String() {
				t.Errorf("reading %s of %s is back", e.RowKey, device)
			}
		}
	}
	if notes := notesOf(t, c, "pump-8"); n != 1 || len(notes) != 1 || notes[0].From != late {
		t.Errorf("%d readings are followed of 1, and the membership says %+v", n, notes)
	}
}

// TestFollowWaitsForTheEndOfARemoval: readings that it inserted while device remove --data deletes those of a device
// would be left when that has ended. The removal of pump-8 begins after its record was read.
func TestFollowWaitsForTheEndOfARemoval(t *testing.T) {
	t.Parallel()
	c, _, at := newFollowed(t)
	registry, until := sas.NewRegistry(c.To, c.Names), at.Add(24*time.Hour)
	becomes := func(device schema.DeviceID, to schema.Status) {
		t.Helper()
		_, err := registry.Update(t.Context(), device, func(d *schema.Device) error {
			d.Status = to
			return nil
		})
		must.Succeed(t, err)
	}
	becomes("pump-7", schema.Removing)
	readings := c.To.Table(memberOf(t, c, "pump-7").Readings)
	for _, device := range []schema.DeviceID{"pump-7", "pump-8"} {
		m := memberOf(t, c, device)
		must.Have(c.To.Table(c.Names.Fleet()).Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()),
			tables.AnyETag)))(t)
	}
	n, waits, err := c.readingsAgain(t.Context(), until)
	for _, device := range []string{"pump-7", "pump-8"} {
		if rows := jobstest.Rows(t, readings, tables.Query{Range: tables.Partition(device)}); len(rows) > 0 {
			t.Errorf("%s has readings again while they are deleted: %v", device, rows)
		}
	}
	if n != 0 || waits == "" || err != nil {
		t.Errorf("%d readings are followed, and those of %q wait: %v", n, waits, err)
	}
	becomes("pump-7", schema.Removed)
	becomes("pump-8", schema.Erased)
	if n := must.Have(c.Follow(t.Context()))(t); n != 1 {
		t.Errorf("%d readings are followed after the removals, want 1 that is kept", n)
	}
}
