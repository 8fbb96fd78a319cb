package jobs_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestADeviceWithoutATokenIsNotLookedAt: it is, once, after its token has ended; then nobody asks for its readings or
// writes anything for it, until it gets another token. It falls silent in time all the same.
func TestADeviceWithoutATokenIsNotLookedAt(t *testing.T) {
	t.Parallel()
	const devices = 12
	n := newNight(t, devices, 0)
	for d := range devices {
		n.send(d, evening, 5*time.Minute)
	}
	at := evening
	minute := func() int32 { at = at.Add(time.Minute); return n.run(at) }
	for range 5 {
		if looks := minute(); looks != devices {
			t.Fatalf("%v: %d looks at %d devices with tokens", at.Sub(evening), looks, devices)
		}
	}
	asleep := minute() + minute() + minute()
	writes := n.writes.Load()
	for range 30 {
		if looks := minute(); looks != 0 {
			t.Fatalf("%v: %d looks at devices without tokens", at.Sub(evening), looks)
		}
	}
	if n.writes.Load() != writes || asleep < devices || asleep > 4*devices {
		t.Errorf("%d looks until all are asleep, and then %d writes", asleep, n.writes.Load()-writes)
	}
	n.send(7, at.Add(time.Second), time.Minute)
	if looks := minute(); looks != 1 || n.folded != devices+1 {
		t.Errorf("%d looks at the device that woke, and %d rows are folded", looks, n.folded)
	}
	for at.Before(evening.Add(47 * time.Minute)) {
		minute()
	}
	opened := 0
	for _, e := range jobstest.Rows(t, n.p.Client.Table(n.p.Names.Output(rules.Table)), tables.Query{}) {
		if strings.HasSuffix(e.PartitionKey, "!open") {
			opened++
		}
	}
	if opened != devices-1 {
		t.Errorf("%d incidents are open of %d silent devices", opened, devices-1)
	}
}

// TestRulesThatWaitForReadingsKeepNoDeviceAwake: they are for other devices, or began after the last reading.
func TestRulesThatWaitForReadingsKeepNoDeviceAwake(t *testing.T) {
	t.Parallel()
	hot := rules.Rule{Name: "hot", When: &rules.Threshold{Sensor: "oil0", Limit: rules.Limit{
		Above: &rules.Bound{Number: 200}}}}
	others := hot
	others.Match.Site = []string{"elsewhere"}
	for name, all := range map[string][]rules.Rule{"none": nil, "of others": {others}, "new": {hot}} {
		n := newNight(t, 1, 0)
		n.p.Processors = n.p.Processors[:2]
		n.send(0, evening, 5*time.Minute)
		for m := range time.Duration(10) {
			n.run(evening.Add((m + 1) * time.Minute))
		}
		n.p.Processors = append(n.p.Processors, jobstest.With(t, rules.Processor, &rules.Config{Rules: all}))
		n.p.Generation++
		looks := n.run(evening.Add(11 * time.Minute))
		for m := range time.Duration(5) {
			if again := n.run(evening.Add((m + 12) * time.Minute)); looks == 0 || again > 0 {
				t.Fatalf("%s: %d looks after the rules came, and then %d", name, looks, again)
			}
		}
	}
}

// TestADeviceThatNeverHadATokenIsNotLookedAt, but once, and when an import of its past ends.
func TestADeviceThatNeverHadATokenIsNotLookedAt(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 0)
	at := evening
	minute := func() int32 { at = at.Add(time.Minute); return n.run(at) }
	note := func(i schema.Import) {
		e := n.devices[0].Waking(schema.NeverAwake)
		must.Succeed(t, schema.Imports{i}.Set(&e))
		must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	}
	must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(t.Context(),
		tables.Merge(n.devices[0].Waking(schema.NeverAwake), tables.AnyETag)))(t)
	minute()
	for range 5 {
		if looks := minute(); looks != 0 {
			t.Fatalf("%d looks at a device that has never had a token", looks)
		}
	}
	i := schema.Import{ID: tables.TicksOf(at), From: tables.TicksOf(at.Add(-time.Hour)), To: tables.TicksOf(at)}
	i.Until = tables.TicksOf(at.Add(schema.ImportLease))
	note(i)
	n.store(0, at.Add(-30*time.Minute))
	minute()
	n.store(0, at.Add(-40*time.Minute))
	i.Until = 0
	note(i)
	for range 5 {
		minute()
	}
	if looks := minute(); looks != 0 || n.folded < 1 {
		t.Errorf("after an import there are %d looks, and %d rows are folded", looks, n.folded)
	}
	rows := 0
	for _, e := range jobstest.Rows(t, n.p.Client.Table(n.p.Names.Partitions("live")), tables.Query{}) {
		rows += int(e.Get(schema.TrackRows).Int())
	}
	if rows != 2 {
		t.Errorf("%d rows of the import are folded of 2", rows)
	}
}

// TestADeviceThatSendsEvery: it is looked at when its next row has come, about once for each, and rarely while it is
// overdue. No row waits for longer than a run and a cadence.
func TestADeviceThatStatesItsIntervalIsLookedAtWhenItSends(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const devices, rounds = 10, 6
	n := newNight(t, devices, 30*time.Minute)
	sends := map[time.Time][]int{} // by the minute after it
	total := 0
	for d := range devices {
		for r := range rounds {
			at := evening.Add(time.Duration(3*d+30*r) * time.Minute)
			sends[at] = append(sends[at], d)
			total++
		}
	}
	looks := int32(0)
	for at := evening; at.Before(evening.Add(rounds * 30 * time.Minute)); at = at.Add(time.Minute) {
		due := n.folded
		for _, d := range sends[at] {
			n.send(d, at.Add(time.Duration(rng.IntN(2000))*time.Millisecond), 24*time.Hour)
			due++
		}
		count := n.run(at.Add(time.Minute))
		if at.Sub(evening) > 31*time.Minute {
			looks += count
			if n.folded != due {
				t.Errorf("%v: %d rows are folded of %d", at.Sub(evening), n.folded, due)
			}
		}
	}
	if n.folded != total || looks > int32(total)*3/2 {
		t.Errorf("%d rows are folded of %d, with %d looks", n.folded, total, looks)
	}
	silent := int32(0)
	for at := evening.Add(rounds * 30 * time.Minute); at.Before(evening.Add((rounds + 4) * 30 * time.Minute)); {
		at = at.Add(time.Minute)
		silent += n.run(at)
	}
	if silent < 5*devices || silent > 14*devices {
		t.Errorf("%d devices that are overdue for two hours are looked at %d times", devices, silent)
	}
}

// TestADeviceThatWakesEarlyIsLookedAt: of one that states its interval, a reading before its time waits for the next
// one unless a new note of its token, or a ring, which changes the note, has come.
func TestADeviceThatWakesEarlyIsLookedAt(t *testing.T) {
	t.Parallel()
	n := newNight(t, 3, time.Hour)
	for d := range n.devices {
		n.send(d, evening, 24*time.Hour)
	}
	at := evening
	minute := func() int32 { at = at.Add(time.Minute); return n.run(at) }
	minute()
	minute()
	if looks := minute(); looks != 0 || n.folded != 3 {
		t.Fatalf("%d looks at devices that send once an hour, and %d rows are folded", looks, n.folded)
	}
	n.store(0, at.Add(time.Second))
	n.send(1, at.Add(time.Second), 25*time.Hour)
	if looks := minute(); looks != 1 || n.folded != 4 {
		t.Errorf("one of two has a new note: %d looks, and %d rows are folded", looks, n.folded)
	}
	if looks := minute(); looks != 0 {
		t.Errorf("%d looks in the run after that", looks)
	}
}

// TestLateRowsThatADeviceNamesAreFoldedInTheNextRun: below the checkpoint, where otherwise an audit finds them. Where
// none is below it, a note costs no more than a look.
func TestLateRowsThatADeviceNamesAreFoldedInTheNextRun(t *testing.T) {
	t.Parallel()
	n := newNight(t, 2, time.Hour)
	at := evening
	minute := func() int32 { at = at.Add(time.Minute); return n.run(at) }
	for d := range n.devices {
		n.send(d, evening, 24*time.Hour)
	}
	minute()
	minute()
	name := func(d int, from time.Time, id tables.Ticks) {
		e := n.devices[d].Waking(tables.TicksOf(evening.Add(24*time.Hour)) + id)
		note := schema.Import{ID: tables.TicksOf(at) + id, From: tables.TicksOf(from),
			To: tables.TicksOf(at.Add(24 * time.Hour)), Late: true}
		must.Succeed(t, schema.Imports{note}.Set(&e))
		must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	}
	count := func() (rows, late int64) {
		for _, e := range jobstest.Rows(t, n.p.Client.Table(n.p.Names.Partitions("live")), tables.Query{}) {
			rows += e.Get(schema.TrackRows).Int()
			late += e.Get(schema.TrackLate).Int()
		}
		return rows, late
	}
	for _, ago := range []time.Duration{3 * time.Hour, 26 * time.Hour} {
		n.store(0, evening.Add(-ago))
	}
	name(0, evening.Add(-26*time.Hour), 1)
	minute()
	if rows, late := count(); rows != 4 || late != 2 {
		t.Errorf("%d rows of 4 are folded in the next run, and %d of 2 are late", rows, late)
	}
	minute()
	name(1, at.Add(-time.Second), 2)
	looks := int32(0)
	for range 30 {
		looks += minute()
	}
	if rows, late := count(); rows != 4 || late != 2 || looks > 12 {
		t.Errorf("%d rows and %d late ones in half an hour after that, with %d looks at two devices", rows, late, looks)
	}
}

// TestNoRowOfATokenWaits: devices wake, get a token, send, and fall asleep at random, with clocks that are behind or
// ahead. After each run everything is folded that was stored before its horizon; no audit helps.
func TestNoRowOfATokenWaits(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const devices, minutes = 15, 150
	n := newNight(t, devices, 0)
	var until, last [devices]time.Time
	var rows []time.Time
	for minute := range minutes {
		began := evening.Add(time.Duration(minute) * time.Minute)
		for d := range devices {
			if rng.IntN(12) > 0 {
				continue
			}
			at, token := began.Add(time.Duration(rng.IntN(50))*time.Second), time.Duration(0)
			if until[d].Before(at) {
				token = time.Duration(1+rng.IntN(5*60)) * time.Second
				until[d] = at.Add(token)
			}
			n.wake(d, at, token)
			for range 1 + rng.IntN(3) {
				key := at.Add(time.Duration(rng.IntN(180)-40) * time.Second)
				if !key.After(last[d]) {
					key = last[d].Add(time.Second)
				}
				if last[d] = key; key.After(began.Add(-5 * time.Second)) { // else a row of before that was folded
					n.store(d, key)
					rows = append(rows, key)
				}
			}
		}
		n.run(began.Add(time.Minute))
		due, horizon := 0, began.Add(52*time.Second)
		for _, key := range rows {
			if !key.After(horizon) {
				due++
			}
		}
		if n.folded != due {
			t.Fatalf("minute %d: %d rows are folded of %d", minute, n.folded, due)
		}
	}
	if looks := n.looks.Load(); looks > devices*minutes*2/3 {
		t.Errorf("%d looks at %d devices in %d runs: they never rest", looks, devices, minutes)
	}
}

// TestAChangeEndsARest, once: of the settings, of the configuration as a whole, of the stated interval, and of the
// membership.
func TestAChangeEndsARest(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 0)
	n.p.Processors = n.p.Processors[:2] // no rule
	fleet := n.p.Client.Table(n.p.Names.Fleet())
	change := func(change func(*schema.Member)) {
		t.Helper()
		m := n.devices[0]
		found := must.Have(fleet.Get(t.Context(), m.Month.String(), string(m.Key())))(t)
		m = must.Have(schema.MemberOf(found))(t)
		change(&m)
		e := must.Have(m.Entity())(t)
		must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(e)))(t)
	}
	n.send(0, evening, time.Second)
	at := evening
	minute := func() int32 { at = at.Add(time.Minute); return n.run(at) }
	for range 4 {
		minute()
	}
	past := tables.TicksOf(evening.Add(-time.Hour))
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"settings", func() { n.p.Settings = "latest:1" }},
		{"generation", func() { n.p.Generation++ }},
		{"interval", func() { n.p.SendEvery = func(schema.EnrollmentID) time.Duration { return time.Hour } }},
		{"label", func() { change(func(m *schema.Member) { m.Labels = map[string]string{"floor": "1"} }) }},
		{"another label", func() { change(func(m *schema.Member) { m.Labels = map[string]string{"floor": "2"} }) }},
		{"site", func() { change(func(m *schema.Member) { m.Site = "hall" }) }},
		{"model", func() { change(func(m *schema.Member) { m.Model = "x" }) }},
		{"enrollment", func() { change(func(m *schema.Member) { m.Enrollment = "plant" }) }},
		{"import", func() {
			change(func(m *schema.Member) { m.Imports = schema.Imports{{ID: past, From: past, To: past + 1}} })
		}},
		{"revocation", func() { change(func(m *schema.Member) { m.Revoked = true }) }},
		{"token", func() { change(func(m *schema.Member) { m.Awake++ }) }},
	} {
		if looks := minute(); looks != 0 {
			t.Errorf("before a new %s there are %d looks", c.what, looks)
		}
		c.do()
		first := minute()
		for range 3 { // days that are made again, posts that are taken out of a state
			minute()
		}
		if again := minute(); first == 0 || again != 0 {
			t.Errorf("%s: %d looks at once, and %d some runs later", c.what, first, again)
		}
	}
}

// TestRowsThatNoTokenWroteAreFound: those of an enrollment that says so in the next run, and others by an audit, which
// comes for each partition every three hours.
func TestRowsThatNoTokenWroteAreFound(t *testing.T) {
	t.Parallel()
	for _, said := range []bool{true, false} {
		n := newNight(t, 3, 0)
		n.p.Others = func(schema.EnrollmentID) bool { return said }
		n.p.Processors = n.p.Processors[:2] // a rule of silence would look after 45 minutes
		for d := range n.devices {
			n.send(d, evening, time.Second)
		}
		at := evening
		for range 10 {
			at = at.Add(time.Minute)
			n.run(at)
		}
		n.store(1, at)
		n.run(at.Add(time.Minute))
		if found := n.folded == 4; found != said {
			t.Errorf("an enrollment says that others write: %t; the next run finds their row: %t", said, found)
		}
		if said {
			continue
		}
		audits := 0
		n.audits = true
		for n.folded < 4 && audits < 4*60/5 {
			at = at.Add(5 * time.Minute)
			n.run(at)
			audits++
		}
		if n.folded != 4 || audits > 3*60/5+1 {
			t.Errorf("after %d runs with audits %d rows are folded of 4", audits, n.folded)
		}
		notes := jobstest.Rows(t, n.p.Client.Table(n.p.Names.Runs()), tables.Query{Range: schema.UnheardRows("live")})
		if len(notes) != 1 {
			t.Fatalf("%d enrollments are noted", len(notes))
		}
		want := schema.Unheard{Pipeline: "live", Enrollment: "plant1", Device: "d000001", Devices: 1, At: tables.TicksOf(at)}
		if got := must.Have(schema.UnheardOf(notes[0]))(t); got != want {
			t.Errorf("the note is %+v, want %+v", got, want)
		}
	}
}

// TestADeviceRestsThoughAWorkerDied after it had claimed the device for its last row.
func TestADeviceRestsThoughAWorkerDied(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 0)
	n.send(0, evening, 5*time.Minute)
	n.run(evening.Add(time.Minute))
	n.store(0, evening.Add(2*time.Minute))
	died := tables.TicksOf(evening.Add(150 * time.Second))
	claim := tables.Entity{PartitionKey: n.devices[0].Month.String(), RowKey: string(n.devices[0].Key())}
	claim.Set(schema.TrackFence, tables.Int64(int64(died)))
	claim.Set(schema.TrackClaim, tables.String("of a worker that died"))
	claim.Set(schema.TrackClaimUntil, tables.DateTime(died))
	must.Have(n.p.Client.Table(n.p.Names.Partitions("live")).Do(t.Context(), tables.Merge(claim, tables.AnyETag)))(t)
	at := evening.Add(2 * time.Minute)
	for range 70 {
		at = at.Add(time.Minute)
		n.run(at)
	}
	if n.folded != 2 {
		t.Fatalf("%d rows are folded", n.folded)
	}
	for range 5 {
		at = at.Add(time.Minute)
		if looks := n.run(at); looks != 0 {
			t.Fatalf("%v: %d looks at a device without a token", at.Sub(evening), looks)
		}
	}
}
