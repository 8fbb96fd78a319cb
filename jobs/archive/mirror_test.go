package archive_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestReadersOfACopySeeOneVersionAfterTheOther: whenever a copy is stopped, its log names no file that it lacks. In the
// end it has what the archive has, and an erased device is nowhere in it.
func TestReadersOfACopySeeOneVersionAfterTheOther(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	m := x.maker(t, nil)
	name := azuretest.Name("copy")
	seed := rand.Uint64()
	t.Log("seed", seed)
	rates := map[faults.Fault]float64{faults.Cut: 0.2, faults.AnswerLost: 0.1}
	to := must.Have(archive.Connect(archive.StoreConfig{Account: x.World.Account, Container: name,
		Transport: &faults.Transport{Plan: faults.Random{Seed: seed, Rates: rates}},
		Retry:     policy.RetryOptions{MaxRetries: -1}}))(t)
	root := delta.Folder(string(x.day.Tenant)) + "/"
	whole := func(about string) {
		t.Helper()
		all, source := objects(t, x.World.Account, name), objects(t, x.World.Account, x.Names.Archive())
		for path, content := range all {
			if !strings.Contains(path, delta.LogFolder) || !strings.HasSuffix(path, ".json") {
				continue
			}
			added, table := delta.Live{}, path[:strings.Index(path, delta.LogFolder)]
			must.Succeed(t, added.Follow(content))
			for name := range added {
				_, there := all[table+name]
				_, atSource := source[table+name]
				if !there && atSource {
					t.Errorf("%s: %s names %s, which is not there", about, path, name)
				}
			}
		}
	}
	for round := range 4 {
		switch round {
		case 1, 2:
			late := tables.Entity{PartitionKey: string(x.World.Devices[0]),
				RowKey: fmt.Sprint(x.day.Day.Start(), "-late", round)}
			must.Have(x.World.Connect(t, nil).Table(x.Readings).Do(t.Context(), tables.Insert(late)))(t)
		case 3:
			x.vanish(t, x.World.Devices[0])
			erased := must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, x.World.Devices[0]))(t)
			if len(erased.Copies) != 1 || erased.Copies[0] != name {
				t.Errorf("an erasure tells of the copies %v", erased.Copies)
			}
		}
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		for try := 0; ; try++ {
			_, err := m.Mirror(t.Context(), x.day.Tenant, to, func(archive.Copied) {})
			whole(fmt.Sprint("round ", round, ", try ", try))
			if err == nil {
				break
			}
			if try == 200 {
				t.Fatal(err)
			}
		}
		here, there := objects(t, x.World.Account, x.Names.Archive()), objects(t, x.World.Account, name)
		for path, content := range here {
			if strings.HasPrefix(path, root) && string(there[path]) != string(content) {
				t.Errorf("round %d: the copy has another %s, or none", round, path)
			}
			delete(there, path)
		}
		if len(there) > 0 {
			t.Errorf("round %d: the copy has %d objects too many", round, len(there))
		}
	}
	for path, content := range objects(t, x.World.Account, name) {
		text := string(content)
		if strings.HasSuffix(path, ".parquet") {
			text = textsOf(t, content)
		}
		if strings.Contains(text, string(x.World.Devices[0])) {
			t.Errorf("the erased device is in %s", path)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Mirror(ctx, x.day.Tenant, to, func(archive.Copied) {}); err == nil {
		t.Error("a copy that is stopped does not say so")
	}
}

// TestCopyGoesToNoContainerWithOtherTables: a token for it reads all that is there.
func TestCopyGoesToNoContainerWithOtherTables(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	other := x.day
	other.Tenant = "t1"
	must.Succeed(t, m.MakeDay(t.Context(), other))
	to := must.Have(m.Store.Sibling(azuretest.Name("copy")))(t)
	must.Have(m.Mirror(t.Context(), x.day.Tenant, to, func(archive.Copied) {}))(t)
	for name, to := range map[string]*archive.Store{"the archive": m.Store, "the copy of another tenant": to} {
		n, err := m.Mirror(t.Context(), other.Tenant, to, func(archive.Copied) {})
		if err == nil || !strings.Contains(err.Error(), "name another container") || n.Written > 0 {
			t.Errorf("%s has %d objects more: %v", name, n.Written, err)
		}
	}
	must.Have(m.Mirror(t.Context(), x.day.Tenant, to, func(archive.Copied) {}))(t)
	if all := must.Have(m.Catalog.Copies(t.Context(), other.Tenant))(t); len(all) > 0 {
		t.Errorf("a copy that was refused is noted: %v", all)
	}
}

// TestCopyLosesTablesThatAreNoLongerListed: the last device of a tenant was erased, and the copy is made again only
// once the list of tables no longer names them. What somebody else keeps beside the tables stays.
func TestCopyLosesTablesThatAreNoLongerListed(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	name := azuretest.Name("copy")
	to := must.Have(m.Store.Sibling(name))(t)
	n := must.Have(m.Mirror(t.Context(), x.day.Tenant, to, func(archive.Copied) {}))(t)
	own := delta.Folder(string(x.day.Tenant)) + "/mine/of somebody else"
	must.Succeed(t, to.Put(t.Context(), own, []byte("x"), ""))
	for _, device := range x.World.Devices {
		if x.World.Member(device, "").Tenant == x.day.Tenant {
			x.vanish(t, device)
			must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
		}
	}
	rows := x.World.Connect(t, nil).Table(x.rows)
	for _, e := range jobstest.Rows(t, rows, tables.Query{Range: tables.Partition("tables")}) {
		must.Have(rows.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
	}
	again := must.Have(m.Mirror(t.Context(), x.day.Tenant, to, func(archive.Copied) {}))(t)
	if again.Deleted != n.Objects {
		t.Errorf("%d of %d objects were deleted", again.Deleted, n.Objects)
	}
	for path := range objects(t, x.World.Account, name) {
		if path != own {
			t.Errorf("the copy still has %s", path)
		}
	}
}

// TestCopyCountsEachObjectOnce: a table is begun again when a file leaves it meanwhile.
func TestCopyCountsEachObjectOnce(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
	gone := false
	m := x.maker(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".parquet") && !gone {
			gone = true
			return &http.Response{StatusCode: http.StatusNotFound, Request: r, Body: http.NoBody,
				Header: http.Header{"X-Ms-Error-Code": {"BlobNotFound"}}}, nil
		}
		return http.DefaultClient.Do(r)
	}))
	to := must.Have(x.maker(t, nil).Store.Sibling(azuretest.Name("copy")))(t)
	n := must.Have(m.Mirror(t.Context(), x.day.Tenant, to, func(archive.Copied) {}))(t)
	want := int64(len(objects(t, x.World.Account, x.Names.Archive())))
	if n.Objects != want || n.Written != want || !gone {
		t.Errorf("%+v of %d objects", n, want)
	}
}
