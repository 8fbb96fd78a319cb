package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestPipelinesAreBuiltAsConfigured(t *testing.T) {
	c := mustParse(t, everything)
	built := must.Have(c.Pipelines[0].Build(nil, schema.Names{}, nil))(t)
	var names []string
	for _, p := range built.Processors {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "latest rollup" {
		t.Errorf("its processors are %s", got)
	}
	for i, m := range built.Models {
		if len(m.Processors) != 2 || m.Settings == built.Settings && m.Name != "stated" {
			t.Errorf("model %d is %+v", i, m)
		}
	}
	if len(built.Groups) != 1 || built.Groups[schema.ReportMark] == nil {
		t.Errorf("it makes %v", built.Groups)
	}
	if last := built.Keep[len(built.Keep)-1]; last.Archive != 60*24*time.Hour || last.Activity != 14*24*time.Hour ||
		last.Buckets[schema.Hour] != 9*24*time.Hour || last.Reports[schema.Hour] != 730*24*time.Hour {
		t.Errorf("of all it keeps %+v", last)
	}
	if k := built.Keep[1]; k.Rejects != 30*24*time.Hour || k.Commands != 90*24*time.Hour ||
		k.Incidents != 365*24*time.Hour {
		t.Errorf("of a tenant it keeps %+v", k)
	}
	if len(built.Keep) != 3 || built.Keep[0].Where == nil || built.Keep[0].Readings != 14*24*time.Hour {
		t.Errorf("it keeps %+v", built.Keep)
	}
	built.Processors, built.Models, built.Keep, built.Groups = nil, nil, nil, nil
	want := &jobs.Pipeline{
		Name: "live", Batch: 99, Cadence: 90 * time.Second, Settle: 20 * time.Second,
		Notifier: &notify.Notifier{Pipeline: "live"}, Settings: c.Pipelines[0].Settings(&c.Models[3]),
		Sensors: fold.Sensors{
			Named: map[string]fold.Meaning{"door": {Is: fold.State}, "temperature": {Is: fold.Number},
				"debug": {Is: fold.Ignored}, "kwh": {Is: fold.Number}},
			Counters: map[string]fold.Counter{"kwh": {Dips: .01}},
			Position: fold.Position{Lat: "gps_lat", Lon: "gps_lon"},
			Quality:  "q", Sequence: "fCnt",
			Good: []string{"good", "192", "true", "1.5", "1.50"},
		},
	}
	if !reflect.DeepEqual(built, want) {
		t.Errorf("it is %+v; want %+v", built, want)
	}
}

// TestArchiveNeedsAContainer, and waits until the fleet's format says that no worker makes the former files.
func TestArchiveNeedsAContainer(t *testing.T) {
	p := Default().Pipelines[1]
	if _, err := p.Build(nil, schema.Names{}, nil); err == nil || !p.Archives() {
		t.Error("the archive is built without a container")
	}
	for level, holds := range map[int64]bool{0: true, 1: true, 2: false} {
		p.Format = level
		built := must.Have(p.Build(nil, schema.Names{}, &archive.Store{}))(t)
		if made, is := built.Groups[schema.ArchiveMark].(*archive.Tables); !is || made.Hold != holds {
			t.Errorf("format %d: it is %+v", level, built.Groups)
		}
	}
}

func TestNoSettingReliesOnDefaultsOfJobs(t *testing.T) {
	p := newPipeline()
	p.Name, p.Processors, p.Models = "live", Default().Pipelines[0].Processors[:1], []Model{{}}
	must.Have(p.Build(nil, schema.Names{}, nil))(t)
	// Zero means the default to jobs, so a zero from a file would have no effect.
	if p.Batch == 0 || p.Settle == 0 || p.Cadence == 0 {
		t.Errorf("a setting is zero: %+v", p)
	}
}

func TestFilesAndJobsAcceptTheSameSensors(t *testing.T) {
	for name, taken := range map[string]bool{
		"temperature": true, "_x": true, "Größe": true, strings.Repeat("x", maxSensorName): true,
		strings.Repeat("x", maxSensorName+1): false, fold.FenceProperty: false, fold.PartsProperty: false,
	} {
		sensors := fold.Sensors{}
		s, refused := sensors.Sample(schema.Reading{Properties: []tables.Property{{Name: name, Value: tables.Double(1)}}})
		if (len(refused) == 0) != taken || (len(s.Values) == 1) != taken || (checkSensor(name) == "") != taken {
			t.Errorf("sensor %.20s: jobs refuse %v, a file is told %q; want it taken: %v", name, refused, checkSensor(name),
				taken)
		}
	}
}

func TestGoodValuesMatchWhatDevicesSend(t *testing.T) {
	p := mustParse(t, "pipelines:\n  - name: live\n    processors: [latest]\nquality: {sensor: q, good: [192, 1.50, "+
		"True, fine]}\n")
	sensors := p.Models[0].Meant()
	for _, v := range []tables.Value{tables.Int32(192), tables.Int64(192), tables.Double(192), tables.Double(1.5),
		tables.Boolean(true), tables.String("fine")} {
		s, _ := sensors.Sample(schema.Reading{Properties: []tables.Property{{Name: "q", Value: v},
			{Name: "t", Value: tables.Double(1)}}})
		if len(s.Values) != 1 || s.Values[0].Doubtful {
			t.Errorf("%v is not good", v)
		}
	}
}
