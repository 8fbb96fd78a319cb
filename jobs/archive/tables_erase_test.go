package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// vanish removes a device and all its readings, as an erasure does before the archive's turn comes.
func (x *tablesFleet) vanish(t testing.TB, device schema.DeviceID) {
	t.Helper()
	c, place := x.World.Connect(t, nil), x.World.Place(device)
	drop := func(table, pk, rk string) {
		must.Have(c.Table(table).Do(t.Context(), tables.Delete(pk, rk, tables.AnyETag)))(t)
	}
	drop(x.source.Fleet(), place.Month.String(), string(place.Key))
	drop(x.source.Partitions("live"), place.Month.String(), string(place.Key))
	for e, err := range c.Table(x.Readings).Entities(t.Context(), tables.Query{Range: tables.Partition(string(device))}) {
		must.Succeed(t, err)
		drop(x.Readings, e.PartitionKey, e.RowKey)
	}
}

// nowhere looks for a text in all blobs and in all rows of the catalog: decoded, and in what describes them.
func (x *tablesFleet) nowhere(t testing.TB, text string, about ...any) {
	t.Helper()
	for name, content := range objects(t, x.World.Account, x.Names.Archive()) {
		if strings.Contains(name, text) || bytes.Contains(content, []byte(text)) ||
			strings.HasSuffix(name, ".parquet") && strings.Contains(textsOf(t, content), text) {
			t.Errorf("%s: %s is still in %s", fmt.Sprint(about...), text, name)
		}
	}
	for e, err := range x.World.Connect(t, nil).Table(x.rows).Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		if strings.Contains(fmt.Sprint(e), text) || strings.Contains(unpacked(t, &e), text) {
			t.Errorf("%s: %s is still in row %s", fmt.Sprint(about...), text, e.RowKey)
		}
	}
}

// textsOf returns all texts of a file of Parquet.
func textsOf(t testing.TB, content []byte) string {
	t.Helper()
	var all strings.Builder
	r := must.Have(file.NewParquetReader(bytes.NewReader(content)))(t)
	defer r.Close()
	for g := range r.NumRowGroups() {
		for c := range r.MetaData().Schema.NumColumns() {
			column, is := must.Have(r.RowGroup(g).Column(c))(t).(*file.ByteArrayColumnChunkReader)
			if !is {
				continue
			}
			values, levels, repeated := make([]parquet.ByteArray, 1000), make([]int16, 1000), make([]int16, 1000)
			for column.HasNext() {
				_, n, err := column.ReadBatch(1000, values, levels, repeated)
				must.Succeed(t, err)
				for _, v := range values[:n] {
					all.Write(v)
					all.WriteByte('\n')
				}
			}
		}
	}
	return all.String()
}

// TestErasedDevicesAreNowhere: the readings of others stay. The erasure is killed at each of its operations, and
// repeated.
func TestErasedDevicesAreNowhere(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 19, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		m, device := x.maker(t, nil), x.World.Devices[0]
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		x.vanish(t, device)
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: n, Stop: func(func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}}
		_, err := x.maker(t, gate).Erase(ctx, x.day.Month, x.day.Tenant, device)
		kill()
		if more = int(gate.N.Load()) > n; more != (err != nil) {
			t.Fatalf("operation %d: %v", n, err)
		}
		must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
		x.nowhere(t, string(device), "killed at operation ", n)
		same(t, x.newest(t), x.want(t), "killed at operation ", n)
		return more
	})
}

// TestNoMakerBringsBackAnErasedDevice: one stands still at each of its operations, while the device is erased.
func TestNoMakerBringsBackAnErasedDevice(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for _, first := range []bool{false, true} { // it makes the day for the first time
		effort.Each(t, 13, func(t *testing.T, n int) (more bool) {
			x := newTables(t)
			device := x.World.Devices[0]
			if !first {
				must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
			}
			gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				x.vanish(t, device)
				must.Have(x.maker(t, nil).Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
				return send()
			}}
			must.Succeed(t, x.maker(t, gate).MakeDay(t.Context(), x.day))
			if int(gate.N.Load()) <= n {
				return false
			}
			// The maker may have stood still before it put something.
			must.Have(x.maker(t, nil).Clean(t.Context(), x.day.Tenant))(t)
			x.nowhere(t, string(device), "first ", first, ", operation ", n)
			same(t, x.newest(t), x.want(t), "first ", first, ", operation ", n)
			return true
		})
	}
}

// TestAnErasureHasWhatAKilledMakerHasPut: a maker is killed at each of its operations. The erasure does not wait until
// a file that is about to be put is old.
func TestAnErasureHasWhatAKilledMakerHasPut(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 19, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		device := x.World.Devices[0]
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}}
		_ = x.maker(t, faults.Func(func(r *http.Request) (*http.Response, error) {
			if ctx.Err() != nil { // nor does it clean up
				return nil, context.Canceled
			}
			return gate.Do(r)
		})).MakeDay(ctx, x.day)
		x.vanish(t, device)
		must.Have(x.maker(t, nil).Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
		x.nowhere(t, string(device), "killed at operation ", n)
		return int(gate.N.Load()) > n
	})
}

// TestNoMakerCommitsAmidAnErasure: one has read the device, and stands still before it commits anything. The erasure
// stands still at each of its operations, the maker goes on to its end, and then the erasure.
func TestNoMakerCommitsAmidAnErasure(t *testing.T) {
	t.Parallel()
	effort.Each(t, 11, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		device := x.World.Devices[0]
		stopped, proceed, over := make(chan struct{}), make(chan struct{}), make(chan error)
		var once sync.Once
		maker := x.maker(t, faults.Func(func(r *http.Request) (*http.Response, error) {
			if commits(t, r) {
				once.Do(func() {
					stopped <- struct{}{}
					<-proceed
				})
			}
			return http.DefaultTransport.RoundTrip(r)
		}))
		go func() { over <- maker.MakeDay(t.Context(), x.day) }()
		<-stopped
		x.vanish(t, device)
		goOn := func() {
			close(proceed)
			must.Succeed(t, <-over)
		}
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			goOn()
			return send()
		}}
		must.Have(x.maker(t, gate).Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
		if more = int(gate.N.Load()) > n; !more {
			goOn()
		}
		must.Have(x.maker(t, nil).Clean(t.Context(), x.day.Tenant))(t)
		x.nowhere(t, string(device), "the erasure at operation ", n)
		same(t, x.newest(t), x.want(t), "the erasure at operation ", n)
		return more
	})
}

// commits reports whether a request is a transaction that makes a file a live one.
func commits(t testing.TB, r *http.Request) bool {
	t.Helper()
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "$batch") {
		return false
	}
	body := must.Have(io.ReadAll(r.Body))(t)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(`"RowKey":"f!`))
}

// newest returns what the live files of the table have, by the catalog.
func (x *tablesFleet) newest(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	table := x.maker(t, nil).Readings(x.day.Tenant)
	all := objects(t, x.World.Account, x.Names.Archive())
	for f, err := range table.Files(t.Context(), x.day.Day, x.day.Day) {
		must.Succeed(t, err)
		for id, values := range x.readingsOf(t, all[table.Path(&f)], "date="+f.Date.String()) {
			if found[id] != "" {
				t.Errorf("%s is there twice", id)
			}
			found[id] = values
		}
	}
	return found
}
