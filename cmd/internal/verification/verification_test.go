package verification_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/verification"
	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/jobs/jobstest"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// randomConfig is a configuration that uses what there is, here and there.
func randomConfig(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	var b strings.Builder
	fmt.Fprintf(&b, "pipelines:\n  - name: live\n    settle: 1s\n    processors: [%s]\n", strings.Join([]string{"latest",
		pick("rollup: {windows: [1m, 1h, 1d]}", "rollup: {windows: [15m, 1h, 1d]}", "rollup: {windows: [1s, 30m, 1h]}"),
		pick("rate", "rate: {over: 13h}", "rate: {over: 7m}")}, ", "))
	b.WriteString("  - name: files\n    settle: 1s\n    processors: [archive: {closeAfter: 1s" +
		pick("", ", rollups: [1h]", ", rollups: [1m, 1d]") + "}]\n")
	b.WriteString(pick("", "reports: {windows: [1h], by: [tenant, site]}\n"))
	meaning := func(indent string) {
		line := func(text string) { b.WriteString(indent + text + "\n") }
		line("sensors:")
		line("  temp: " + pick("number", "state", "ignored", "{as: warmth}", "{scale: 1.8, offset: 32}",
			"{as: air, type: number, offset: -0.1}"))
		line("  total: " + pick("number", "{counter: true}", "{counter: true, scale: 0.001, as: litres}"))
		line("  door: " + pick("state", "number", "{as: gate}"))
		line("  " + pick("'air_*'", "'*_co2'", "'a*2'") + ": " + pick("{as: 'x_*'}", "{scale: 3}", "ignored", "state"))
		if r.IntN(3) == 0 {
			line("long: {name: tag, value: val}")
		}
		if r.IntN(3) == 0 {
			line("quality: " + pick("{sensor: ok, good: [good, 1]}", "{sensor: ok, good: [bad]}"))
		}
		if r.IntN(3) == 0 {
			line("heartbeat: " + pick("door == nil", "temp == nil && total == nil", "door == \"open\""))
		}
		if r.IntN(2) == 0 {
			line("position: {lat: lat, lon: lon}")
		}
	}
	if r.IntN(2) == 0 {
		b.WriteString("models:\n  special:\n    match: {tenant: t1}\n")
		meaning("    ")
	}
	if r.IntN(3) > 0 {
		meaning("")
	}
	return b.String()
}

// randomRows are readings of a device in the last three days, most of them in bursts.
func randomRows(r *rand.Rand, d schema.DeviceID, n int) (all []tables.Entity) {
	at, total := time.Now().Add(-70*time.Hour), 0.0
	for i := range n {
		at = at.Add([]time.Duration{0, time.Second, time.Minute, time.Minute, 7 * time.Minute, 3 * time.Hour,
			26 * time.Hour}[min(r.IntN(6), r.IntN(40))])
		if at.After(time.Now().Add(-time.Minute)) {
			break
		}
		e := tables.Entity{PartitionKey: string(d), RowKey: fmt.Sprintf("%s-%04d", tables.TicksOf(at), i)}
		set := func(name string, v tables.Value) {
			if r.IntN(3) > 0 {
				e.Set(name, v)
			}
		}
		if total += r.Float64(); r.IntN(20) == 0 {
			total = r.Float64()
		}
		set("temp", []tables.Value{tables.Double(r.NormFloat64() * 20), tables.String(fmt.Sprint(r.IntN(90))),
			tables.Int32(int32(r.IntN(50))), tables.String("warm"), tables.Boolean(true), tables.String("nan")}[min(r.IntN(6),
			r.IntN(6))])
		set("total", tables.Double(total))
		doors := []string{"open", "shut", "007", " 7 ", strings.Repeat("x", 300)}
		set("door", tables.String(doors[min(r.IntN(5), r.IntN(4))]))
		set("air", tables.String(fmt.Sprintf(`{"co2":%d,"p":[%v,{"deep":"%d"}],"n":null}`, r.IntN(900), r.Float64(), i)))
		set("lat", tables.Double(57+float64(r.IntN(3))))
		set("lon", tables.Double(-2))
		set("tag", tables.String([]string{"flow rate", "", "level", "temp"}[r.IntN(4)]))
		set("val", tables.Double(float64(r.IntN(9))))
		set("ok", tables.String([]string{"good", "good", "bad"}[r.IntN(3)]))
		set("big", tables.Int64(1<<53+int64(r.IntN(4))))
		set("when", tables.DateTime(tables.TicksOf(at)))
		set(schema.AckProperty, tables.String(`{"id":"x","state":"succeeded"}`)) // no sensor
		set("blob", tables.Binary([]byte{1, 2}))
		all = append(all, e)
	}
	return all
}

// TestEveryProcessorIsVerified: what one makes is computed once more, unless it takes each row once and has nothing to
// be compared with, or is verified by the tables of the archive.
func TestEveryProcessorIsVerified(t *testing.T) {
	for _, p := range processors.All() {
		of := config.Default().Pipelines[0]
		of.Processors = []config.Processor{{Processor: p, Config: p.New()}}
		c := must.Have(verification.Of(nil, schema.Names{}, []config.Pipeline{of}, 1))(t)
		if len(c.Pipelines[0].Outputs) == 0 && !p.Once && !p.Marks {
			t.Errorf("%s is not verified: pipelineOf names nothing that computes its outputs once more", p.Name)
		}
	}
}

// TestRandomConfigurationsDoNotDiffer: under any configuration, the outputs of real jobs are what is computed without
// their code, to the last digit. That holds for every size of the portions in which jobs fold.
func TestRandomConfigurationsDoNotDiffer(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(len(effort.Of(60, 12))) {
		t.Run(fmt.Sprint("seed=", seed+n), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed+n, 0))
			text := randomConfig(r)
			c, err := config.Parse("furrow.yaml", []byte(text))
			must.Succeed(t, err)
			w := jobstest.NewWorldSince(t, time.Hour, 3, 0)
			w.Create(t, w.Readings)
			f, client := w.NewFleet(t), w.Connect(t, nil)
			stored := 0
			for _, d := range w.Devices {
				rows := randomRows(r, d, 50+r.IntN(250))
				jobstest.Insert(t, client.Table(f.Readings), rows...)
				stored += len(rows)
			}
			store := must.Have(archive.Connect(archive.StoreConfig{Account: w.Account, Container: f.Names.Archive()}))(t)
			must.Succeed(t, store.Create(t.Context()))
			for _, of := range c.Pipelines {
				of.Format = archive.Format
				p := must.Have(of.Build(client, f.Names, store))(t)
				if m, is := p.Groups[schema.ArchiveMark].(*archive.Tables); is {
					for _, d := range w.Devices {
						archived(t, r, m, w.Member(d, ""))
					}
					continue
				}
				p.Portion = 1 + r.IntN(100)
				must.Succeed(t, f.Drain(t.Context(), p))
				for range 2 {
					jobstest.Work(t, p, jobs.Message{Kind: jobs.Month, Pipeline: p.Name, Month: jobstest.Month,
						Run: tables.TicksOf(time.Now())})
				}
			}

			v := must.Have(verification.Of(client, f.Names, c.Pipelines, archive.Format))(t)
			v.Pipelines = v.Pipelines[:1] // the archive is made, and not folded
			v.Archive.Read = verification.FilesOf(store)
			v.To = tables.TicksOf(time.Now()).Ceil(tables.Day)
			v.From, v.Values = v.To-9*tables.Day, true
			seen, cells := int64(0), int64(0)
			for d, err := range v.Run(t.Context()) {
				must.Succeed(t, err)
				for _, x := range d.Differences {
					if x.Reason != verify.NotDue { // the last bucket of a report
						t.Error(x)
					}
				}
				for _, day := range d.Days {
					seen += day.Stored
				}
				for _, of := range d.Compared {
					if of.Output == "archive cells" {
						cells += of.Values
					}
				}
			}
			if seen != int64(stored) || cells == 0 {
				t.Errorf("it has seen %d rows of %d, and %d cells of the archive", seen, stored, cells)
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// archived makes the days that are over of a tenant's archive. Some tables have
// nearly as many columns as they may have before: sensors share one then.
func archived(t *testing.T, r *rand.Rand, m *archive.Tables, of schema.Member) {
	t.Helper()
	today := schema.DayOf(tables.TicksOf(time.Now()))
	for day := today - 4; day < today; day++ {
		if day == today-3 && r.IntN(3) == 0 {
			many := make([]catalog.Series, catalog.MaxColumns-3)
			for n := range many {
				many[n] = catalog.Series{Sensor: fmt.Sprint("other", n), Type: delta.Double}
			}
			must.Have(m.Readings(of.Tenant).Columns(t.Context(), many))(t)
		}
		must.Succeed(t, m.MakeDay(t.Context(), archive.TableDay{Tenant: of.Tenant, Month: of.Month, Day: day}))
	}
}
