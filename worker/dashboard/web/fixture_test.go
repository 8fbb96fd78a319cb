package web_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	"furrow/worker/answers"
	"furrow/worker/budget"
	"furrow/worker/cost"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// commands returns commands in every state, and a desired configuration.
func commands() api.Commands {
	all := api.Commands{Device: "pump-7", Desired: &answers.Command{ID: "0639308592000000000-d", State: "succeeded",
		Body: map[string]any{"limit": 180}, Sent: theTime(), Who: "olga", Result: map[string]any{"limit": 180}}}
	for i, state := range []string{"queued", "received", "succeeded", "failed", "canceled", "expired"} {
		all.Commands = append(all.Commands, answers.Command{ID: fmt.Sprintf("063930859200000000%d-a", i), State: state,
			Body: map[string]any{"heater": "off"}, Sent: theTime(), Expires: theTime(), Who: "rule hot",
			Incident: "hot~pump-7~20261120T081500Z"})
	}
	return all
}

func theTime() time.Time { return time.Date(2026, 11, 21, 16, 20, 0, 0, time.UTC) }

func number(v float64) *float64 { return &v }

func sensors() []model.Sensor {
	temperature := model.Sensor{Name: "temperature", Unit: "°C", Kind: "number", Min: number(2), Max: number(28)}
	return []model.Sensor{temperature, {Name: "door", Kind: "state", Devices: 500}}
}

// devices returns devices in every state, with a position or without, which have numbers, texts or no value.
func devices() (all []model.Row) {
	t := theTime().Add(-time.Minute)
	states := []model.State{model.OK, model.Silent, model.Held, model.Revoked}
	for i := range 50 {
		row := model.Row{Device: fmt.Sprintf("contoso:berlin:pump-%05d", i), Tenant: "contoso", Site: "berlin",
			Labels: map[string]string{"model": "mk1"}, Month: "2026-10", State: states[i%4], Time: &t,
			Value: []any{21.5, "open", nil}[i%3]}
		if i%10 > 0 {
			row.Lat, row.Lon = number(float64(i)), number(float64(3*i))
		}
		all = append(all, row)
	}
	return all
}

func theMap() model.Map {
	m := model.Map{At: theTime(), Sensor: "temperature", Unit: "°C", Scale: &[2]float64{2, 28}, Total: 2000, InView: 1950,
		Clusters: []model.Cluster{{ID: "z3/1/2", Lat: 50, Lon: 10, N: 812, Mean: number(9), Min: number(1), Max: number(12),
			Silent: 3, Held: 1, BBox: model.Box{5, 45, 15, 55}},
			{ID: "z3/1/3", Lat: -30, Lon: 120, N: 2, BBox: model.Box{120, -30, 120, -30}}}}
	for _, d := range devices() {
		if d.Lat != nil {
			m.Devices = append(m.Devices, model.Dot{Device: d.Device, Lat: *d.Lat, Lon: *d.Lon, Value: d.Value, State: d.State,
				Time: d.Time})
		}
	}
	return m
}

func series(window string, step time.Duration, n int) *model.Series {
	from := theTime().Add(-time.Duration(n) * step)
	s := &model.Series{Sensor: "temperature", Unit: "°C", Window: window, From: from, To: theTime()}
	for i := range n {
		v := 14 - 6*math.Cos(float64(i)/100)
		p := model.Point{Time: from.Add(time.Duration(i) * step), Value: &v}
		if window != "raw" {
			p.Value, p.Mean, p.Min, p.Max, p.Count = nil, &v, number(v-1), number(v+2), 60
		}
		s.Points = append(s.Points, p)
	}
	return s
}

// states returns a series of states, a minute each.
func states(all ...string) *model.Series {
	s := &model.Series{Sensor: "door", Window: "raw", From: theTime().Add(-time.Hour), To: theTime()}
	for i, state := range all {
		from := s.From.Add(time.Duration(i) * time.Minute)
		s.States = append(s.States, model.StateSpan{From: from, To: from.Add(time.Minute), State: state})
	}
	return s
}

// incidents returns one of each severity: open, acknowledged and closed.
func incidents() (all []answers.Incident) {
	for i, severity := range model.Severities() {
		at := theTime().Add(-time.Duration(i+1) * time.Hour)
		one := answers.Incident{ID: fmt.Sprintf("hot~contoso:berlin:pump-%05d~20261121T080000Z", i), Rule: "hot",
			Device: fmt.Sprintf("contoso:berlin:pump-%05d", i), Tenant: "contoso", Site: "berlin", Severity: severity,
			State: model.IncidentStates()[i], Muted: i == 1, First: at, Opened: at, Since: at, Value: "195",
			Text: "oil is 195 °C"}
		if i == 2 {
			closed := at.Add(time.Minute)
			one.Closed = &closed
		}
		all = append(all, one)
	}
	return all
}

func latest(sensor string, value any, unit string) model.Latest {
	return model.Latest{Sensor: sensor, NewestValue: answers.NewestValue{Value: value, Unit: unit, Doubtful: true}}
}

// heldDevice returns a device that fills every part of its page.
func heldDevice() model.DeviceAnswer {
	lag, at := 38.0, theTime().Add(-38*time.Second)
	return model.DeviceAnswer{State: model.Held,
		Device: answers.Record{Device: "contoso:berlin:pump-00007", Month: "2026-10", Tenant: "contoso", Site: "berlin",
			Lat: number(52.52), Lon: number(13.4), Labels: map[string]string{"model": "mk1"}, Readings: "readings",
			Enrollment: "factory-7", Status: "active", Tokens: []answers.Token{{Policy: "c2-0007", From: at.AddDate(0, 0, -7),
				To: at.Add(time.Hour), Expires: at.Add(50 * time.Minute), Fingerprint: "9f31c2aa"}}},
		Latest: []model.Latest{{Sensor: "door", NewestValue: answers.NewestValue{Value: "closed", Time: at}},
			{Sensor: "temperature", AgeSeconds: 38,
				NewestValue: answers.NewestValue{Value: 21.5, Unit: "°C", Time: at, Doubtful: true}}},
		Pipelines: []model.DevicePipeline{{Pipeline: "live", Checkpoint: "0639313425612345678", CheckpointTime: &at,
			LagSeconds: &lag, Rows: 182233, Rejects: 1234, RejectsKept: 100, Late: 14,
			LastBatch: &model.LastBatch{Rows: 12, Seconds: 0.0031},
			Held:      &model.Hold{Until: at.Add(time.Hour), Reason: "fold: temperature: state is 70 KiB", Attempts: 4}},
			{Pipeline: "archive"}},
		Rejects: []answers.Reject{{Row: "0639313425612345678-a", Time: at, Sensor: "temperature",
			Reason: "temperature: not finite", Value: "-1e999"},
			{Row: "<script>alert(1)</script>", Reason: "row key: not 19 digits", Value: strings.Repeat("<script> ", 12)}}}
}

// spent returns a budget of 50 dollars a month with the share that is projected.
func spent(share float64) *model.Budget {
	from, through := theTime().Add(-72*time.Hour), theTime()
	return &model.Budget{Budget: budget.Budget{USDPerMonth: 50, Spent: 5 * share, Projected: 50 * share, Share: share,
		From: &from, Through: &through, Prices: "Azure, 2026"}, Close: share >= 0.7}
}

// pipeline returns a pipeline with 30 runs, one of them skipped.
func pipeline(name string, cadence time.Duration) model.PipelineStatus {
	lag := 34.0
	p := model.PipelineStatus{Pipeline: name, CadenceSeconds: cadence.Seconds(), LagSeconds: &lag, Backlog: 12, Poison: 1,
		Held: 37, Workers: []model.Worker{{Name: "worker-5f7c-1", Seen: theTime().Add(-7 * time.Second)}},
		CostPerMonth: &model.Cost{Total: 14.22, ByKind: map[string]float64{"tables query": 6.1, "queues get": 1.9}},
		Causes:       []model.Cause{{What: "held", Reason: "fold: temperature: state is 70 KiB", N: 37}}}
	for n := range 30 {
		run := model.Run{Done: n > 0, Slot: theTime().Add(-time.Duration(n) * cadence), Seconds: float64(8 + n%4),
			Devices: 1940, Readings: 1900, LagSeconds: &lag, Jobs: map[string]int64{"master done": 1, "device held": 2},
			Operations: map[string]int64{"tables query": 2100, "queues get": 52}}
		if n == 7 {
			run = model.Run{Slot: run.Slot, Skipped: "the queue holds 14 of 40 batches of the last run"}
		}
		p.Runs = append(p.Runs, run)
	}
	return p
}

// retention returns what is kept of a tenant and of all others, and what waits.
func retention(name string) model.Retention {
	from := theTime()
	return model.Retention{Devices: 2000, More: true, Unreadable: 1, Kept: []model.Kept{
		{Some: true, Match: map[string][]string{"tenant": {name, "x"}, "labels.class": {name}}, Where: name,
			Tables: []model.KeptTable{{Table: "readings", Kept: "30d", Below: from}, {Table: "rollups", Window: "1m",
				Kept: "14d", Below: from}}}, {Some: true}, {}},
		Waiting: []model.WaitingDevices{{Cause: "held", Why: name, Devices: 3, Device: name, Tenant: name, Reason: name},
			{Cause: "behind", Why: "a pipeline has not folded them", Devices: 1, From: &from, Device: name}}}
}

// archive returns the tables of a tenant. Another program writes into the log of one.
func archive(tenant, name string) model.Archive {
	at, published := theTime(), int64(11)
	return model.Archive{Tenant: tenant, Archives: name == "", From: at.AddDate(0, 0, -31), To: at,
		Waiting: []model.ArchiveWaiting{{Pipeline: "archive" + name, Storage: name, Days: 3, Seconds: 7200},
			{Pipeline: "x" + name, Seconds: math.NaN()}},
		Tables: []model.ArchiveTable{{Table: "readings" + name, Storage: name, Path: "archive/contoso/readings" + name,
			Days: 1095, First: "2023-11-22", Last: "2026-11-20", Rows: 9e8, Files: 1100, Bytes: 9 << 30, Version: 12,
			Published: &published, Waiting: &at, Foreign: true},
			{Table: "rollups-1h" + name, First: name, Last: name, Bytes: -1, Version: -1}},
		Days: []model.ArchiveDay{{Date: "2026-11-20" + name, Readings: 86400, Rollups: 50, Reports: 25, Files: 5,
			Bytes: 1 << 20, Open: true}, {Date: "2026-11-19", Files: -1, Watermark: &at}},
		Versions: []answers.ArchiveVersion{{Table: "readings", Storage: name, Version: 12, At: at, Operation: "MERGE" + name,
			FilesAdded: 1, FilesGone: 2, RowsAdded: 5, RowsGone: 8},
			{Table: "readings", Version: 11, At: at, Why: "day closed" + name, RowsAdded: 8, Published: true}}}
}

// completeness returns what samples have counted of a tenant. A device differs.
func completeness(tenant, name string) model.Completeness {
	at, stored, folded := theTime(), 0.99999, math.NaN()
	line := model.VerifyCount{Tenant: tenant, Share: 0.01, Devices: 5, Made: 100_000, Missing: 1, Stored: 99_999,
		Unexplained: 2, StoredShare: &stored, FoldedShare: &folded}
	day := line
	day.Day = "2026-11-20" + name
	return model.Completeness{Tenant: tenant, Verifies: name == "", Share: 0.01, At: &at, Unexplained: 2,
		Differ: []model.VerifyDiffers{{Tenant: tenant, Device: "pump" + name, Day: "2026-11-20", Output: "latest" + name},
			{Tenant: tenant}},
		Tenants: []model.VerifyCount{line}, Days: []model.VerifyCount{day, {Day: name, Share: math.Inf(1), Made: -1}}}
}

// costs returns what a tenant and another one cost.
func costs(tenant string) cost.Costs {
	through := theTime()
	lines := []cost.TenantCost{{Tenant: tenant, Devices: 2000, Readings: 86_400_000, Bytes: 9 << 30,
		Operations: map[string]float64{"tables query": 1e8, "queues put": 2e6},
		USD:        cost.USD{Inserts: 3.11, Work: 4.2, Storage: 0.4, Total: 7.71}}, {Tenant: "x", Devices: 1}}
	return cost.Costs{From: "2026-10-01", To: "2026-10-31", Tenants: lines, Fleet: &lines[0], Through: &through,
		Prices: "a list"}
}
