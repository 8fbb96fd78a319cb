package history

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/cmd/internal/readings"
	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A fixture is a fleet whose devices are registered by imports.
type fixture struct {
	*jobstest.Fleet
	t        *testing.T
	client   *tables.Client
	registry sas.Registry
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	f := &fixture{t: t, Fleet: &jobstest.Fleet{World: &jobstest.World{Account: account}, Readings: "readings",
		Names: must.Have(schema.ParseNames("own"))(t)}}
	f.client = f.World.Connect(t, nil)
	f.registry = sas.NewRegistry(f.client, f.Names)
	f.World.Create(t, append(processors.Tables(f.Names, "live"), f.Names.Devices(), f.Readings)...)
	f.Batch = jobs.Batch{First: schema.Place{Month: schema.Month{Year: 1, Month: 1}, Key: "a!a"},
		Last: schema.Place{Month: schema.Month{Year: 9999, Month: 12}, Key: "z!z"}}
	return f
}

func enrollment() schema.Enrollment {
	return schema.Enrollment{ID: "line4", Tenant: "contoso", Readings: "readings", Life: time.Hour, Prefix: "d"}
}

// run imports a text through a transport, and returns the summary and the problems by line.
func (f *fixture) run(text string, through policy.Transporter, change func(*Import)) (Summary, map[int]string, error) {
	f.t.Helper()
	client, wrong := f.World.Connect(f.t, through), map[int]string{}
	i := Import{Registry: sas.NewRegistry(client, f.Names), Readings: client.Table(f.Readings), Enrollment: enrollment(),
		Now: time.Now(), Wrong: func(p Problem) { wrong[p.Line] = p.Error }}
	if change != nil {
		change(&i)
	}
	in := must.Have(readings.Open(strings.NewReader(text), readings.Columns{}))(f.t)
	sum, err := i.Run(f.t.Context(), in)
	return sum, wrong, err
}

// imported imports a text without a problem.
func (f *fixture) imported(text string) Summary {
	f.t.Helper()
	sum, wrong, err := f.run(text, nil, nil)
	if err != nil || len(wrong) > 0 {
		f.t.Fatalf("%+v, %v, %v", sum, wrong, err)
	}
	return sum
}

// stored returns the rows of the readings table, and the notes of the memberships.
func (f *fixture) stored() (rows map[string]string, notes map[string]schema.Imports) {
	f.t.Helper()
	rows, notes = map[string]string{}, map[string]schema.Imports{}
	for _, e := range jobstest.Rows(f.t, f.client.Table(f.Readings), tables.Query{}) {
		rows[e.PartitionKey+" "+e.RowKey] = fmt.Sprint(e.Properties, e.Timestamp)
	}
	for _, e := range jobstest.Rows(f.t, f.registry.Fleet, tables.Query{}) {
		notes[e.RowKey] = must.Have(schema.MemberOf(e))(f.t).Imports
	}
	return rows, notes
}

// expire has the leases of killed imports end, as time does.
func (f *fixture) expire() {
	for _, e := range jobstest.Rows(f.t, f.registry.Fleet, tables.Query{}) {
		m := must.Have(schema.MemberOf(e))(f.t)
		for i := range m.Imports {
			if m.Imports[i].Until > 0 {
				m.Imports[i].Until = 1
			}
		}
		must.Succeed(f.t, m.Imports.Set(&e))
		must.Have(f.registry.Fleet.Do(f.t.Context(), tables.Merge(e, e.ETag)))(f.t)
	}
}

// twin returns a fleet with the same devices and readings, which no import has written into.
func (f *fixture) twin(n int) *jobstest.Fleet {
	names := must.Have(schema.ParseNames(fmt.Sprint("twin", n)))(f.t)
	f.World.Create(f.t, processors.Tables(names, "live")...)
	for _, e := range jobstest.Rows(f.t, f.registry.Fleet, tables.Query{}) {
		e.Set("Imports", tables.Value{})
		jobstest.Insert(f.t, f.client.Table(names.Fleet()), e)
	}
	return &jobstest.Fleet{World: f.World, Readings: f.Readings, Names: names, Batch: f.Batch}
}

func pipelineOf(t *testing.T, f *jobstest.Fleet) *jobs.Pipeline {
	p := f.Pipeline(t, nil)
	p.Settle, p.Portion = time.Nanosecond, 40
	p.Processors = []fold.Configured{latest.Processor.Default(), rollup.Processor.Default()}
	return p
}

// killed answers some requests, then none. It may do the last one. Storage has done all others when the import returns:
// without their answers, some would still be under way when expire pretends that a minute and more has passed.
type killed struct {
	left atomic.Int64
	last bool
}

var errKilled = errors.New("the process is dead")

func (k *killed) Do(req *http.Request) (*http.Response, error) {
	left := k.left.Add(-1)
	if left < 0 && !(left == -1 && k.last) {
		return nil, errKilled
	}
	resp, err := http.DefaultClient.Do(req.WithContext(context.WithoutCancel(req.Context())))
	if left < 0 {
		if err == nil {
			resp.Body.Close()
		}
		return nil, errKilled
	}
	return resp, err
}
