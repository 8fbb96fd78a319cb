package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// A mutation is something that went wrong in storage, behind the jobs' backs.
type mutation struct {
	name   string
	do     func(f *fixture)
	output string // of one of the differences
	at     int    // the number of the reading in whose hour, or bucket, that is
	counts bool   // it is found without --values
}

// swap replaces text in a property.
func swap(name, old, new string) func(*tables.Entity) {
	return func(e *tables.Entity) {
		was := e.Get(name).Text()
		if !strings.Contains(was, old) {
			panic(fmt.Sprintf("%s is %q, without %q", name, was, old))
		}
		e.Set(name, tables.String(strings.Replace(was, old, new, 1)))
	}
}

func (f *fixture) editBucket(w schema.Window, n int, change func(*tables.Entity)) {
	partition, row := f.bucket(w, n)
	f.edit(f.Names.Output("rollups"), partition, row, change)
}

func (f *fixture) raw(n int) (table, partition, row string) {
	return f.Readings, string(f.member().Device), f.at(n).String()
}

// late stores a row that no audit has seen.
func (f *fixture) late(n int) tables.Entity {
	e := tables.Entity{PartitionKey: string(f.member().Device), RowKey: f.at(n).Add(time.Second).String()}
	e.Set("t", tables.Double(1000))
	f.put(f.Readings, e)
	return e
}

// ledger changes the ledger.
func (f *fixture) ledger(change func(*tracking.Ledger)) {
	f.track(func(e *tables.Entity) {
		l := must.Have(tracking.ParseLedger(e.Get(schema.TrackLedger).Binary()))(f.t)
		change(l)
		e.Set(schema.TrackLedger, tables.Binary(l.Append(nil)))
	})
}

func mutations() []mutation {
	return []mutation{
		{"a raw row is deleted", func(f *fixture) { f.remove(f.raw(7)) }, "rollups 1m", 7, true},
		{"a raw row is deleted that had no number", func(f *fixture) {
			f.edit(f.Readings, string(f.member().Device), f.at(7).String(), func(e *tables.Entity) {
				e.Properties = []tables.Property{{Name: "door", Value: tables.String("open")}}
			})
		}, "rollups 1m", 7, true},
		{"a raw value is another one", func(f *fixture) {
			table, partition, row := f.raw(8)
			f.edit(table, partition, row, func(e *tables.Entity) { e.Set("t", tables.Double(3)) })
		}, "rollups 1m", 8, false},
		{"a bucket is doubled", func(f *fixture) {
			f.editBucket(schema.Hour, 5, func(e *tables.Entity) { e.Set("t", tables.String("[120,2400,20,30,20,30]")) })
		}, "rollups 1h", 5, true},
		{"a bucket has one row less", func(f *fixture) { f.editBucket(schema.Hour, 5, swap("t", "[60,", "[59,")) },
			"rollups 1h", 5, false}, // door and air are counted still
		{"a day has one row less", func(f *fixture) {
			f.editBucket(schema.Daily, 5, swap("t", "[130,", "[129,"))
		}, "rollups 1d", 5, true},
		{"the last digit of a sum is another one", func(f *fixture) {
			f.editBucket(schema.Minute, 1, swap("t", "20.142857142857142,", "20.142857142857146,"))
		}, "rollups 1m", 1, false},
		{"a minimum is another one", func(f *fixture) {
			f.editBucket(schema.Hour, 70, func(e *tables.Entity) {
				parts := strings.Split(e.Get("t").Text(), ",")
				parts[2] = "1"
				e.Set("t", tables.String(strings.Join(parts, ",")))
			})
		}, "rollups 1h", 70, false},
		{"a bucket is gone", func(f *fixture) {
			partition, row := f.bucket(schema.Minute, 33)
			f.remove(f.Names.Output("rollups"), partition, row)
		}, "rollups 1m", 33, true},
		{"the last bucket is gone", func(f *fixture) {
			partition, row := f.bucket(schema.Minute, rowsOfDevice-1)
			f.remove(f.Names.Output("rollups"), partition, row)
		}, "rollups 1m", rowsOfDevice - 1, true},
		{"a bucket is of no time", func(f *fixture) {
			partition, row := f.bucket(schema.Hour, 3*60)
			e := tables.Entity{PartitionKey: partition, RowKey: row}
			e.Set("t", tables.String("[1,2,2,2,2,2]"))
			f.put(f.Names.Output("rollups"), e)
		}, "rollups 1h", 180, true},
		{"a sensor is gone from a bucket", func(f *fixture) {
			f.editBucket(schema.Hour, 5, func(e *tables.Entity) { drop(e, "air_co2") })
		}, "rollups 1h", 5, false},
		{"a bucket has a sensor too many", func(f *fixture) {
			f.editBucket(schema.Hour, 5, func(e *tables.Entity) { e.Set("ghost", tables.String("[1,1,1,1,1,1]")) })
		}, "rollups 1h", 5, false},
		{"the checkpoint was moved forward", func(f *fixture) {
			e := tables.Entity{PartitionKey: string(f.member().Device), RowKey: f.at(rowsOfDevice).String()}
			e.Set("t", tables.Double(1))
			f.put(f.Readings, e)
			f.track(func(e *tables.Entity) {
				e.Set(schema.TrackCheckpoint, tables.String(f.at(rowsOfDevice+1).String()))
			})
		}, "folded", rowsOfDevice, true},
		{"the checkpoint was moved back", func(f *fixture) {
			f.track(func(e *tables.Entity) { e.Set(schema.TrackCheckpoint, tables.String(f.at(100).String())) })
		}, "folded", 101, true},
		{"the ledger has swallowed a late row", func(f *fixture) {
			e := f.late(40)
			f.ledger(func(l *tracking.Ledger) { l.Add(e.RowKey) })
		}, "rollups 1m", 40, true},
		{"the ledger has a row too many", func(f *fixture) {
			f.ledger(func(l *tracking.Ledger) { l.Add(f.at(70).String()) })
		}, "folded", 70, true},
		{"the ledger has forgotten rows", func(f *fixture) {
			f.track(func(e *tables.Entity) { e.Set(schema.TrackLedger, tables.Binary(nil)) })
		}, "folded", 0, true},
		{"a unit is another one", func(f *fixture) {
			f.config.Model = func(schema.Member) *verify.Model {
				return &verify.Model{Named: map[string]verify.Meaning{"t": {Scale: 1.8, Offset: 32}}}
			}
		}, "rollups 1m", 0, false},
		{"a sensor has another name", func(f *fixture) {
			f.config.Model = func(schema.Member) *verify.Model {
				return &verify.Model{Named: map[string]verify.Meaning{"t": {As: "temperature"}}}
			}
		}, "latest", rowsOfDevice - 1, false},
		{"a newest value is an old one", func(f *fixture) {
			partition, row := f.latestKey()
			f.edit(f.Names.Output("latest"), partition, row,
				swap("t", f.at(rowsOfDevice-1).String(), f.at(rowsOfDevice-2).String()))
		}, "latest", rowsOfDevice - 1, true},
		{"a newest value is another one", func(f *fixture) {
			partition, row := f.latestKey()
			f.edit(f.Names.Output("latest"), partition, row, swap("door", "open", "shut"))
		}, "latest", rowsOfDevice - 1, false},
		{"a newest value is gone", func(f *fixture) {
			partition, row := f.latestKey()
			f.edit(f.Names.Output("latest"), partition, row, func(e *tables.Entity) { drop(e, "door") })
		}, "latest", rowsOfDevice - 1, true},
		{"a newest value is of another device", func(f *fixture) {
			partition, row := f.latestKey()
			f.edit(f.Names.Output("latest"), partition, row, func(e *tables.Entity) {
				e.Set("foreign", tables.String(`["`+f.at(3).String()+`",1]`))
			})
		}, "latest", 3, true},
		{"the newest reading without values is forgotten", func(f *fixture) {
			e := tables.Entity{PartitionKey: string(f.member().Device), RowKey: f.at(rowsOfDevice).String()}
			f.put(f.Readings, e)
			must.Succeed(f.t, f.Drain(f.t.Context(), f.pipeline()))
			partition, row := f.latestKey()
			f.edit(f.Names.Output("latest"), partition, row, func(e *tables.Entity) { drop(e, "_heard") })
		}, "latest", rowsOfDevice, true},
		{"all newest values are gone", func(f *fixture) {
			partition, row := f.latestKey()
			f.remove(f.Names.Output("latest"), partition, row)
		}, "latest", rowsOfDevice - 1, true},
		{"a rate of an hour is another one", func(f *fixture) {
			partition, row := f.bucket(schema.Hour, 5)
			f.edit(f.Names.Output("rates"), partition, row, swap("t", ",59,", ",58,"))
		}, "rates 1h", 5, false},
		{"the newest rates are gone", func(f *fixture) {
			partition, row := f.latestKey()
			f.remove(f.Names.Output("rates"), partition, row)
		}, "rates", rowsOfDevice - 1, false},
		{"a bucket for reports has one row less", func(f *fixture) {
			f.editReported(5, swap("_stored", "[60,", "[59,"))
		}, "buckets 1h", 5, false},
		{"a bucket for reports has another value", func(f *fixture) {
			f.editReported(65, swap("t", "[60,", "[60.5,"))
		}, "buckets 1h", 65, false},
		{"a reject is forgotten", func(f *fixture) {
			for _, e := range jobstest.Rows(f.t, f.client().Table(f.Names.Rejects()), tables.Query{}) {
				f.remove(f.Names.Rejects(), e.PartitionKey, e.RowKey)
			}
		}, "rejects", 17, false},
		{"a report has one reading less", func(f *fixture) { f.editReport(5, swap("_stored", "[60,", "[59,")) },
			"reports 1h", 5, false},
		{"a report of a day has one reading less", func(f *fixture) {
			p := schema.ReportPartition{Tenant: f.member().Tenant, Window: schema.Daily,
				Period: schema.Daily.PeriodOf(f.first), Month: f.member().Month}
			f.edit(f.Names.Reports(), p.String(), schema.ReportRow{By: schema.ByTenant,
				Bucket: f.first.Floor(tables.Day)}.String(), swap("_stored", "[130,", "[131,"))
		}, "reports 1d", 5, true},
		{"a report has another value", func(f *fixture) { f.editReport(65, swap("t", "[60,", "[61,")) },
			"reports 1h", 65, false},
		{"an output is of a device that nobody has", func(f *fixture) {
			partition, _ := f.latestKey()
			e := tables.Entity{PartitionKey: partition, RowKey: "contoso:d00x"}
			e.Set("t", tables.String(`["`+f.at(3).String()+`",1]`))
			f.put(f.Names.Output("latest"), e)
		}, "latest", -60 * 24 * 3, true},
		{"the newest rates are of a device that nobody has", func(f *fixture) {
			partition, _ := f.latestKey()
			e := tables.Entity{PartitionKey: partition, RowKey: "contoso:d00x"}
			e.Set("t", tables.String(`["`+f.at(3).String()+`",1,1,1,null,null]`))
			f.put(f.Names.Output("rates"), e)
		}, "rates", -60 * 24 * 3, true},
		{"the rates of a day are of another tenant's device", func(f *fixture) {
			partition, _ := f.bucket(schema.Daily, 5)
			row := schema.RollupRow{Device: f.World.Devices[1], Bucket: f.first.Floor(tables.Day)}
			e := tables.Entity{PartitionKey: partition, RowKey: row.String()}
			e.Set("t", tables.String("[1,2,2,2,2,2]"))
			f.put(f.Names.Output("rates"), e)
		}, "rates 1d", 5, true},
		{"rates are of a tenant that nobody has", func(f *fixture) {
			e := tables.Entity{PartitionKey: "zeta!" + f.member().Month.String(), RowKey: "contoso:d00"}
			e.Set("t", tables.String(`["`+f.at(3).String()+`",1,1,1,null,null]`))
			f.put(f.Names.Output("rates"), e)
		}, "rates", -1, true},
		{"an output is of a tenant that nobody has", func(f *fixture) {
			partition := schema.RollupPartition{Tenant: "nobody", Window: schema.Hour, Day: 7, Month: f.member().Month}
			e := tables.Entity{PartitionKey: partition.String(), RowKey: "contoso:d00!0000000000000000007"}
			e.Set("t", tables.String("[1,2,2,2,2,2]"))
			f.put(f.Names.Output("rollups"), e)
		}, "rollups", -1, true},
		{"the newest reading of a tenant that nobody has", func(f *fixture) {
			e := tables.Entity{PartitionKey: "zeta!" + f.member().Month.String(), RowKey: "contoso:d00"}
			e.Set("t", tables.String(`["`+f.at(3).String()+`",1]`))
			f.put(f.Names.Output("latest"), e)
		}, "latest", -1, true},
		{"a reject is counted that nobody keeps", func(f *fixture) {
			f.track(func(e *tables.Entity) { e.Set("Rejects", tables.Int64(e.Get("Rejects").Int()+1)) })
		}, "rejects", -1, true},
		{"the newest reject is forgotten", func(f *fixture) {
			var last tables.Entity
			for _, e := range jobstest.Rows(f.t, f.client().Table(f.Names.Rejects()), tables.Query{}) {
				if e.PartitionKey == string(f.member().Device) {
					last = e
				}
			}
			f.remove(f.Names.Rejects(), last.PartitionKey, last.RowKey)
		}, "rejects", -1, true},
		{"a day has a row of another tenant's device", func(f *fixture) {
			partition, _ := f.bucket(schema.Daily, 5)
			row := schema.RollupRow{Device: f.World.Devices[1], Bucket: f.first.Floor(tables.Day)}
			e := tables.Entity{PartitionKey: partition, RowKey: row.String()}
			e.Set("t", tables.String("[1,2,2,2,2,2]"))
			f.put(f.Names.Output("rollups"), e)
		}, "rollups 1d", 5, true},
		{"a minute has a row of another tenant's device", func(f *fixture) {
			partition, _ := f.bucket(schema.Minute, 5)
			row := schema.RollupRow{Device: f.World.Devices[1], Bucket: schema.Minute.Start(f.at(5))}
			e := tables.Entity{PartitionKey: partition, RowKey: row.String()}
			e.Set("t", tables.String("[1,2,2,2,2,2]"))
			f.put(f.Names.Output("rollups"), e)
		}, "rollups 1m", -60 * 24 * 3, false},
		{"the tracking row is gone", func(f *fixture) {
			m := f.member()
			f.remove(f.Names.Partitions("live"), m.Month.String(), string(m.Key()))
		}, "rollups 1h", 0, true},
		{"a day is sealed, and has a row that was never folded", func(f *fixture) {
			f.late(20)
			f.track(f.sealed)
		}, "rollups 1m", 20, true},
	}
}

// editReport changes the report of an hour.
func (f *fixture) editReport(n int, change func(*tables.Entity)) {
	start := schema.Hour.Start(f.at(n))
	p := schema.ReportPartition{Tenant: f.member().Tenant, Window: schema.Hour, Period: schema.Hour.PeriodOf(start),
		Month: f.member().Month}
	f.edit(f.Names.Reports(), p.String(), schema.ReportRow{By: schema.ByTenant, Bucket: start}.String(), change)
}

// editReported changes a bucket of the table buckets.
func (f *fixture) editReported(n int, change func(*tables.Entity)) {
	partition, _ := f.bucket(schema.Hour, n)
	row := schema.BucketRow{Bucket: schema.Hour.Start(f.at(n)), Device: f.member().Device}
	f.edit(f.Names.Output(schema.BucketsTable), partition, row.String(), change)
}

// sealed has the coverage say that the day of the readings is sealed.
func (f *fixture) sealed(e *tables.Entity) { f.sealedFor(e, 0) }

// sealedFor has an audit seal all days up to that of the readings three weeks later, when tokens admitted rows so old.
func (f *fixture) sealedFor(e *tables.Entity, late time.Duration) {
	row := must.Have(tracking.RowOf(*e))(f.t)
	day := f.first.Floor(tables.Day)
	known := coverage.Known{At: day + 21*tables.Day, Late: late}
	row.Coverage.Seal(coverage.Window{To: day + tables.Day}, known)
	row.Ledger.Drop(coverage.Window{To: day + tables.Day})
	row.SetCoverage(e)
	e.Set(schema.TrackLedger, tables.Binary(row.Ledger.Append(nil)))
}

func drop(e *tables.Entity, name string) {
	for i, p := range e.Properties {
		if p.Name == name {
			e.Properties = append(e.Properties[:i], e.Properties[i+1:]...)
			return
		}
	}
	panic(name + " is not there")
}

// TestEveryMutationIsFound: whatever is changed in storage behind the jobs' backs is found, with the device, the
// output and the time, and nothing of other devices.
func TestEveryMutationIsFound(t *testing.T) {
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fold.Sensors{}, plain)
			if all, _ := f.found(); len(all) > 0 {
				t.Fatalf("before it, there are differences:\n%s", text(all))
			}
			m.do(f)
			for _, f.config.Values = range []bool{true, false} {
				all, sum := f.found()
				found := unexplained(all)
				if !f.config.Values && !m.counts {
					continue
				}
				if !names(f, found, m) || sum.Unexplained == 0 {
					t.Errorf("values %v: it is not named: want %s at %s; found\n%s", f.config.Values, m.output,
						f.at(m.at).Time().Format(time.TimeOnly), text(all))
				}
				for _, d := range found {
					other := d.Device == f.World.Devices[1] && d.Tenant != f.member().Tenant
					if other && m.output != "rejects" && f.config.Model(f.member()).Named == nil {
						t.Errorf("another device: %v", d)
					}
				}
			}
		})
	}
}

// names reports whether a difference has the device, the output and the time of a mutation.
func names(f *fixture, found []verify.Difference, m mutation) bool {
	for _, d := range found {
		at, want := tables.TicksOf(d.At), f.at(m.at)
		if d.Tenant == f.member().Tenant && d.Output == m.output && at <= want && want < at+tables.Hour ||
			d.Output == m.output && strings.HasSuffix(m.output, "1d") && at == want.Floor(tables.Day) ||
			d.Output == m.output && m.at < 0 {
			return true
		}
	}
	return false
}

// TestLateRowWaits: a row that storage accepted after its time is late, and explained, until an audit has found it.
func TestLateRowWaits(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	old := f.config
	// The first reading is up to four hours ahead; the late one is not.
	e := tables.Entity{PartitionKey: string(f.member().Device), RowKey: f.first.Add(-5 * time.Hour).String()}
	e.Set("t", tables.Double(5))
	f.put(f.Readings, e)
	all, _ := f.found()
	if len(all) == 0 || len(unexplained(all)) > 0 || !strings.Contains(text(all), string(verify.Late)) {
		t.Fatalf("a late row is\n%s", text(all))
	}
	jobstest.Work(t, f.pipeline(), f.Audit("full"))
	jobstest.Work(t, f.pipeline(), f.month())
	f.config = old
	if all, _ := f.found(); len(all) > 0 {
		t.Errorf("after an audit, it is\n%s", text(all))
	}
}

// TestRowsBelowTheWatermarkWaitForNobody: retention keeps some of them by a condition, and a new pipeline begins above.
func TestRowsBelowTheWatermarkWaitForNobody(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	m := f.member()
	f.remove(f.Names.Partitions("live"), m.Month.String(), string(m.Key()))
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(f.at(rowsOfDevice).Ceil(tables.Day)+tables.Day)))
	must.Have(f.client().Table(f.Names.Fleet()).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	found, _ := f.found()
	for _, d := range found {
		if d.Device == m.Device && d.Output == "folded" && d.Reason != verify.Retained {
			t.Errorf("%v", d)
		}
	}
	if !strings.Contains(text(found), string(verify.Retained)) {
		t.Error(text(found))
	}
}

// TestBucketsThatAreDoneAreCompared: the last one of a device is not due while more of it may come. A reading of the
// day after closes that of a day, although only the day is verified, and that of a device that rests has been written.
func TestBucketsThatAreDoneAreCompared(t *testing.T) {
	for name, ends := range map[string]func(f *fixture){
		"": func(*fixture) {},
		"later reading": func(f *fixture) {
			f.ahead += 24 * time.Hour
			e := tables.Entity{PartitionKey: string(f.member().Device), RowKey: f.at(24 * 60).String()}
			e.Set("t", tables.Double(1))
			f.put(f.Readings, e)
			must.Succeed(t, f.Drain(t.Context(), f.pipeline()))
			f.config.To = f.first.Floor(tables.Day) + tables.Day
		},
		"rest": func(f *fixture) {
			f.track(func(e *tables.Entity) {
				rest := schema.Rest{Claim: e.Get(schema.TrackCommitted).Text(), Next: tables.MaxTicks}
				e.Set(schema.TrackRest, tables.String(rest.String()))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, fold.Sensors{}, plain)
			ends(f)
			partition, _ := f.bucket(schema.Daily, 5)
			row := schema.BucketRow{Bucket: schema.Daily.Start(f.first), Device: f.member().Device}
			f.edit(f.Names.Output(schema.BucketsTable), partition, row.String(), swap("_stored", "[130,", "[129,"))
			all, _ := f.found()
			if is := names(f, unexplained(all), mutation{output: "buckets 1d"}); is != (name != "") {
				t.Errorf("it is named is %v:\n%s", is, text(all))
			}
		})
	}
}
