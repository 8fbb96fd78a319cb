package verify_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/worker/verify"
)

// TestEstimateAgreesWithCountedRequests within a tenth, with and without values, of a day with readings or a week that
// has others.
func TestEstimateAgreesWithCountedRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t, fold.Sensors{}, plain)
	for _, days := range []tables.Ticks{1, 7} {
		for _, values := range []bool{false, true} {
			of := map[string]int{}
			c := f.config
			c.Values = values
			c.From, c.To = f.first.Floor(tables.Day)-(days-1)*tables.Day, f.first.Floor(tables.Day)+tables.Day
			estimate := must.Have(c.Estimate(t.Context()))(t)
			through := f.laterBy()
			c.Client = f.World.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
				table, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/devstoreaccount1/"), "(")
				of[table]++
				return through(r)
			}))
			for _, err := range c.Run(t.Context()) {
				must.Succeed(t, err)
			}
			counted := 0
			var each []string
			for _, table := range slices.Sorted(maps.Keys(of)) {
				counted += of[table]
				each = append(each, fmt.Sprintf("%s %d", table, of[table]))
			}
			if off := math.Abs(float64(estimate.Requests)/float64(counted) - 1); off > 0.1 {
				t.Errorf("values %v, %d days: %d requests are estimated, and %d counted: %s", values, days, estimate.Requests,
					counted, strings.Join(each, ", "))
			}
		}
	}
}

// TestAQuestionSinceEverCostsWhatIsStored, and not the days of its span: nor does its estimate.
func TestAQuestionSinceEverCostsWhatIsStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, fold.Sensors{}, plain)
	ask := func(from, to tables.Ticks) (requests, estimated int64, found []verify.Device) {
		c := f.config
		c.Values, c.From, c.To = true, from, to
		estimated = must.Have(c.Estimate(t.Context()))(t).Requests
		through := f.laterBy()
		c.Client = f.World.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
			requests++
			return through(r)
		}))
		for d, err := range c.Run(t.Context()) {
			must.Succeed(t, err)
			d.Looks = 0
			found = append(found, d)
		}
		return requests, estimated, found
	}
	day := f.first.Floor(tables.Day)
	month, _, want := ask(day-30*tables.Day, day+tables.Day)
	ever, estimated, got := ask(tables.TicksOf(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)),
		tables.TicksOf(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)))
	if ever > month*6/5 || estimated > 3*ever {
		t.Errorf("it takes %d requests, %d are estimated, and %d are for a month", ever, estimated, month)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it finds\n%+v\nand a month has\n%+v", got, want)
	}
}
