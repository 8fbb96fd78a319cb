package web_test

import (
	"fmt"
	"furrow/worker/dashboard/model"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// A fleet is made up.
type fleet struct {
	now     time.Time
	devices []model.Row
	sensors []model.Sensor
	tenants []model.Tenant
}

var cities = []struct {
	name     string
	lat, lon float64
	n        int
}{
	{"berlin", 52.52, 13.40, 9}, {"oslo", 59.91, 10.75, 4}, {"madrid", 40.42, -3.70, 5}, {"austin", 30.27, -97.74, 8},
	{"boston", 42.36, -71.06, 6}, {"lima", -12.05, -77.04, 3}, {"nairobi", -1.29, 36.82, 4}, {"pune", 18.52, 73.86, 7},
	{"osaka", 34.69, 135.50, 6}, {"perth", -31.95, 115.86, 2}, {"auckland", -36.85, 174.76, 2},
	{"suva", -18.14, 178.44, 1},
}

func number(v float64) *float64 { return &v }

func madeFleet(n int, now time.Time) *fleet {
	r := rand.New(rand.NewPCG(1, 2))
	f := &fleet{now: now}
	tenants := []string{"contoso", "fabrikam", "tailspin-toys"}
	counts := map[string]*model.Tenant{}
	for _, t := range tenants {
		counts[t] = &model.Tenant{Tenant: t}
	}
	weight := 0
	for _, c := range cities {
		weight += c.n
	}
	for i := range n {
		at := r.IntN(weight)
		c := cities[0]
		for _, c = range cities {
			if at -= c.n; at < 0 {
				break
			}
		}
		lat, lon := c.lat+r.NormFloat64()*0.6, c.lon+r.NormFloat64()*0.8
		if i%3 == 0 {
			lat, lon = c.lat+r.NormFloat64()*0.01, c.lon+r.NormFloat64()*0.015
		}
		tenant := tenants[min(2, r.IntN(5)/2)]
		state := model.OK
		switch k := r.IntN(100); {
		case k < 4:
			state = model.Silent
		case k < 6:
			state = model.Held
		case k < 7:
			state = model.Revoked
		}
		age := time.Duration(r.IntN(90)) * time.Second
		if state == model.Silent {
			age = time.Duration(2+r.IntN(70)) * time.Hour
		}
		t := now.Add(-age)
		row := model.Row{Device: fmt.Sprintf("%s:%s:pump-%05d", tenant, c.name, i), Tenant: tenant, Site: c.name, Lat: &lat,
			Lon:    &lon,
			Labels: map[string]string{"model": []string{"mk1", "mk2"}[i%2]}, Month: "2026-1" + string(rune('0'+i%2)),
			State: state, Time: &t,
			Value: 26 - math.Abs(lat)*0.4 + r.NormFloat64()*3}
		if i%40 == 0 {
			row.Lat, row.Lon = nil, nil
		}
		f.devices = append(f.devices, row)
		of := counts[tenant]
		of.Devices++
		of.ReadingsToday += 960
		if state == model.Silent {
			of.Silent++
		}
		if state == model.Held {
			of.Held++
		}
	}
	for _, t := range tenants {
		f.tenants = append(f.tenants, *counts[t])
	}
	f.sensors = []model.Sensor{{Name: "temperature", Unit: "°C", Kind: "number", Devices: n, Min: number(2),
		Max: number(28)},
		{Name: "battery", Unit: "V", Kind: "number", Devices: n, Min: number(2.9), Max: number(3.7)},
		{Name: "door", Kind: "state", Devices: n / 4}}
	return f
}

func series(now time.Time, window string, from, to time.Time) *model.Series {
	r := rand.New(rand.NewPCG(3, 4))
	step := map[string]time.Duration{"1m": time.Minute, "1h": time.Hour, "1d": 24 * time.Hour,
		"raw": 20 * time.Second}[window]
	s := &model.Series{Sensor: "temperature", Unit: "°C", Window: window, From: from, To: to, Operations: 4}
	for t := from.Truncate(step); t.Before(to); t = t.Add(step) {
		if f := float64(t.Sub(from)) / float64(to.Sub(from)); f > 0.55 && f < 0.6 {
			continue
		}
		day := float64(t.Unix()%86400) / 86400
		mean := 14 - 6*math.Cos(2*math.Pi*day) + 3*math.Sin(float64(t.Unix())/500000) + r.NormFloat64()*0.4
		if window == "raw" {
			s.Points = append(s.Points, model.Point{Time: t, Value: &mean})
			continue
		}
		low, high := mean-1-r.Float64()*1.5, mean+1+r.Float64()*1.5
		if r.IntN(300) == 0 {
			high += 8
		}
		s.Points = append(s.Points, model.Point{Time: t, Count: 60, Mean: &mean, Min: &low, Max: &high, Devices: 320})
	}
	return s
}

func (f *fleet) device(id string) (model.DeviceAnswer, bool) {
	for _, d := range f.devices {
		if d.Device != id {
			continue
		}
		lag, at := 38.0, f.now.Add(-38*time.Second)
		a := model.DeviceAnswer{State: d.State, Operations: 5,
			Device: model.Record{Device: id, Month: d.Month, Tenant: d.Tenant, Site: d.Site, Lat: d.Lat, Lon: d.Lon,
				Labels: d.Labels, Readings: "readings", Enrollment: "factory-7", Status: "active",
				Tokens: []model.Token{{Policy: "c2-0007", From: f.now.Add(-7 * 24 * time.Hour), To: f.now.Add(time.Hour),
					Expires: f.now.Add(50 * time.Minute), Fingerprint: "9f31c2aa"},
					{Policy: "c2-0006", From: f.now.Add(-8 * 24 * time.Hour), To: f.now.Add(-time.Hour),
						Expires: f.now.Add(-10 * time.Minute), Fingerprint: "77b0e1d4"}}},
			Latest: []model.Latest{{Sensor: "battery", Value: 3.31, Unit: "V", Time: *d.Time, AgeSeconds: 30},
				{Sensor: "door", Value: "closed", Time: *d.Time},
				{Sensor: "temperature", Value: d.Value, Unit: "°C", Time: *d.Time},
				{Sensor: "vibration_rms", Value: 184221.0, Unit: "µm/s", Time: *d.Time, Doubtful: true}},
			Pipelines: []model.DevicePipeline{{Pipeline: "live", Checkpoint: "0639313425612345678", CheckpointTime: &at,
				LagSeconds: &lag, Rows: 182233, Rejects: 2, RejectsKept: 2, Late: 14},
				{Pipeline: "archive", Checkpoint: "0639313425612345678", CheckpointTime: &at, LagSeconds: &lag, Rows: 182233}},
		}
		if d.State == model.Revoked {
			a.Device.Status = "revoked"
		}
		if d.State == model.Held {
			a.Pipelines[0].Held = &model.Hold{Until: f.now.Add(11 * time.Minute),
				Reason: "fold: temperature: state is 70 KiB, more than a property holds", Attempts: 4}
			a.Pipelines[0].Rejects, a.Pipelines[0].RejectsKept = 1234, 100
			a.Rejects = []model.Reject{{Row: "0639313425612345678-a", Time: &at, Sensor: "temperature",
				Reason: "temperature: it is not finite", Value: "-1e999"},
				{Row: "<script>alert(1)</script>", Reason: "row key: not 19 digits",
					Value: strings.Repeat("<script>alert(1)</script> ", 12)}}
		}
		return a, true
	}
	return model.DeviceAnswer{}, false
}

func (f *fleet) pipelines() model.PipelinesAnswer {
	r := rand.New(rand.NewPCG(5, 6))
	var a model.PipelinesAnswer
	for i, name := range []string{"live", "archive"} {
		cadence := []float64{60, 3600}[i]
		lag := 34.0 + 400*float64(i)
		p := model.PipelineStatus{Pipeline: name, CadenceSeconds: cadence, LagSeconds: &lag, Backlog: int64(12 - 12*i),
			Poison: int64(1 - i), Held: 37 - 37*i,
			Workers: []model.Worker{{Name: "worker-5f7c-1", Seen: f.now.Add(-7 * time.Second)},
				{Name: "worker-5f7c-2", Seen: f.now.Add(-21 * time.Second)}},
			CostPerMonth: &model.Cost{Total: 14.22, ByKind: map[string]float64{"tables query": 6.1, "tables transaction": 5.2,
				"queue get": 1.9, "queue put": 0.9, "blobs put": 0.12}}}
		if i == 0 {
			p.Causes = []model.Cause{{What: "held", Reason: "fold: temperature: state is 70 KiB, more than a property holds",
				N: 37}, {What: "poison", Reason: "message: unknown kind \"mster\"", N: 1}}
		}
		slot := f.now.Truncate(time.Duration(cadence) * time.Second)
		for n := range 30 {
			l := 30 + r.Float64()*12
			run := model.Run{Done: n > 0, Slot: slot.Add(-time.Duration(n) * time.Duration(cadence) * time.Second), Seconds: 8 +
				r.Float64()*4, Devices: 1940, Readings: 1900 + int64(r.IntN(200)), LagSeconds: &l,
				Jobs:       map[string]int64{"master done": 1, "month done": 2, "device done": 1938, "device held": 2},
				Operations: map[string]int64{"tables query": 2100, "tables transaction": 160, "queue get": 52, "queue put": 41}}
			if n == 7 {
				run = model.Run{Slot: run.Slot, Skipped: "the queue holds 14 of 40 batches of the last run"}
			}
			p.Runs = append(p.Runs, run)
		}
		a.Pipelines = append(a.Pipelines, p)
	}
	a.Operations = 9
	return a
}
