package archive_test

import (
	"archive/zip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An olderFleet has an archive that the last release without tables has made, of testdata/older.zip: every blob of its
// container (blobs/) and the raw rows of the days (rows.json).
//
// It was made with that release's own Days and Store (commit 4f71d439). Of the tenant acme & Söhne there are files of
// Parquet: of 20 and 21 November 2026 and of the first four hours of the 22nd, in two partitions of the fleet, in
// several files where FileBytes was small, with rollups and reports of the 20th. Of globex there are objects of JSON
// for each device and day. The rows have values of every type that storage knows.
type olderFleet struct {
	*tablesFleet
	members map[schema.DeviceID]schema.Member
	raw     map[string]tables.Entity // by device and key, as they were
	gone    map[string]bool          // of these, whose rows were deleted
}

var olderFirst = must2(schema.ParseDay("2026-11-20"))

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const acme, globex = schema.Tenant("acme & Söhne"), schema.Tenant("globex")

// olderShard is the second partition of the fleet. The other one is jobstest.Month.
var olderShard = schema.Month{Year: 2026, Month: 11, Shard: 3}

// newOlder loads it.
func newOlder(t testing.TB) *olderFleet {
	t.Helper()
	w := jobstest.NewWorld(t, 1, 1)
	names := must.Have(schema.ParseNames(azuretest.Name("o")[:17]))(t)
	w.Create(t, processors.Tables(names, "live")...)
	x := &olderFleet{tablesFleet: &tablesFleet{Fleet: &jobstest.Fleet{World: w, Names: names,
		Readings: azuretest.Name("older")}, source: names}, members: map[schema.DeviceID]schema.Member{},
		raw: map[string]tables.Entity{}, gone: map[string]bool{}}
	w.Create(t, x.Readings)
	x.again(t)
	store := x.maker(t, nil).Store
	zipped := must.Have(zip.OpenReader("testdata/older.zip"))(t)
	defer zipped.Close()
	for _, f := range zipped.File {
		content := must.Have(io.ReadAll(must.Have(f.Open())(t)))(t)
		if name, is := strings.CutPrefix(f.Name, "blobs/"); is {
			must.Succeed(t, store.Put(t.Context(), name, content, ""))
			continue
		}
		x.load(t, content)
	}
	return x
}

// load puts the rows, and the devices that have them.
func (x *olderFleet) load(t testing.TB, content []byte) {
	t.Helper()
	var rows []struct {
		Device, Key string
		Values      [][3]string // name, type and text
	}
	must.Succeed(t, json.Unmarshal(content, &rows))
	var all []tables.Entity
	for _, r := range rows {
		e := tables.Entity{PartitionKey: r.Device, RowKey: r.Key}
		for _, v := range r.Values {
			e.Set(v[0], olderValue(t, v[1], v[2]))
		}
		all = append(all, e)
		x.raw[r.Device+"/"+r.Key] = e
		device := schema.DeviceID(r.Device)
		if _, is := x.members[device]; is {
			continue
		}
		m := schema.Member{Device: device, Tenant: globex, Month: jobstest.Month, Readings: x.Readings,
			Site: schema.Site(fmt.Sprint("hall ", len(x.members)%2))}
		if strings.HasPrefix(r.Device, "acme:") {
			m.Tenant = acme
		}
		if r.Device == "acme:4" {
			m.Month = olderShard
		}
		x.members[device] = m
		x.put(t, m)
	}
	jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), all...)
}

// put puts a device into the fleet, with a tracking row.
func (x *olderFleet) put(t testing.TB, m schema.Member) {
	t.Helper()
	client := x.World.Connect(t, nil)
	must.Have(client.Table(x.source.Fleet()).Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
	track := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	track.Set(schema.TrackCheckpoint, tables.String((olderFirst + 3).Start().String()))
	must.Have(client.Table(x.source.Partitions("live")).Do(t.Context(), tables.InsertOrReplace(track)))(t)
}

func olderValue(t testing.TB, kind, text string) tables.Value {
	t.Helper()
	switch kind {
	case "Edm.Double":
		return tables.Double(must.Have(strconv.ParseFloat(text, 64))(t))
	case "Edm.Int32":
		return tables.Int32(int32(must.Have(strconv.ParseInt(text, 10, 32))(t)))
	case "Edm.Int64":
		return tables.Int64(must.Have(strconv.ParseInt(text, 10, 64))(t))
	case "Edm.Boolean":
		return tables.Boolean(text == "true")
	case "Edm.Binary":
		return tables.Binary(must.Have(hex.DecodeString(text))(t))
	case "Edm.DateTime":
		return tables.DateTime(tables.Ticks(must.Have(strconv.ParseInt(text, 10, 64))(t)))
	case "Edm.Guid":
		return tables.GUID(text)
	}
	return tables.String(text)
}

// retire does what retention does with a device: all its rows below a day are gone, or every nth.
func (x *olderFleet) retire(t testing.TB, device schema.DeviceID, before schema.Day, nth int) {
	t.Helper()
	m := x.members[device]
	m.Watermark = before.Start()
	x.members[device] = m
	x.put(t, m)
	n := 0
	for _, id := range slices.Sorted(maps.Keys(x.raw)) {
		key, is := strings.CutPrefix(id, string(device)+"/")
		if !is || key >= before.Start().String() || x.gone[id] {
			continue
		}
		if n++; n%nth == 0 {
			x.drop(t, id)
		}
	}
}

// drop deletes a row of storage.
func (x *olderFleet) drop(t testing.TB, id string) {
	t.Helper()
	device, key, _ := strings.Cut(id, "/")
	must.Have(x.World.Connect(t, nil).Table(x.Readings).Do(t.Context(), tables.Delete(device, key, tables.AnyETag)))(t)
	x.gone[id] = true
}

// left has a device leave the fleet, with its data kept.
func (x *olderFleet) left(t testing.TB, device schema.DeviceID) {
	t.Helper()
	f := *x.Fleet
	f.Names = x.source
	leave(t, &f, x.members[device])
}

// erase does to a device what an erasure does before the archive's turn comes.
func (x *olderFleet) erase(t testing.TB, device schema.DeviceID) {
	t.Helper()
	client, m := x.World.Connect(t, nil), x.members[device]
	for _, table := range []string{x.source.Fleet(), x.source.Partitions("live")} {
		must.Have(client.Table(table).Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)))(t)
	}
	for id := range x.raw {
		if strings.HasPrefix(id, string(device)+"/") {
			if !x.gone[id] {
				x.drop(t, id)
			}
			delete(x.raw, id)
		}
	}
}

// wants returns the cells that the tables should have, by tenant, device and key. Where a row is gone, these are what
// the older form has of it: Parquet had no kinds besides numbers and texts, and JSON has texts of what JSON has no
// form of.
func (x *olderFleet) wants(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for id, e := range x.raw {
		m := x.members[schema.DeviceID(e.PartitionKey)]
		if x.gone[id] && m.Tenant == globex {
			e = asJSON(e)
		}
		sample, _ := (&fold.Sensors{}).Sample(must.Have(schema.ReadingOf(e))(t))
		if x.gone[id] && m.Tenant == acme {
			sample.Exact = nil
		}
		all[string(m.Tenant)+"/"+id] = columnar.Cells(&sample)
	}
	return all
}

// asJSON returns a row as it is after a way through JSON.
func asJSON(e tables.Entity) tables.Entity {
	out := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
	for _, p := range e.Properties {
		v := p.Value
		switch f := v.Float(); v.Type() {
		case tables.TypeBinary:
			v = tables.String(base64.StdEncoding.EncodeToString(v.Binary()))
		case tables.TypeGUID:
			v = tables.String(v.Text())
		case tables.TypeDateTime:
			v = tables.String(v.Ticks().Time().Format("2006-01-02T15:04:05.9999999Z"))
		case tables.TypeDouble:
			if math.IsNaN(f) {
				v = tables.String("NaN")
			}
			if math.IsInf(f, -1) {
				v = tables.String("-Infinity")
			}
		}
		out.Set(p.Name, v)
	}
	return out
}

// has returns the cells that the published tables of readings have. Where an erasure has ended the versions that the
// log began with, it goes by the catalog.
func (x *olderFleet) has(t testing.TB) map[string]string {
	t.Helper()
	found, all := map[string]string{}, objects(t, x.World.Account, x.Names.Archive())
	for _, tenant := range []schema.Tenant{acme, globex} {
		root := delta.Folder(string(tenant)) + "/readings/"
		live := followed(t, all, root)
		if all[root+delta.LastCheckpoint] != nil {
			live = delta.Live{}
			table := x.maker(t, nil).Readings(tenant)
			for _, f := range must.Have(collected(table.AllFiles(t.Context())))(t) {
				live.Add(strings.TrimPrefix(table.Path(&f), root))
			}
		}
		for path := range live {
			for id, cells := range cellsOf(t, all[root+path]) {
				if id = string(tenant) + "/" + id; found[id] != "" {
					t.Errorf("%s is there twice", id)
				}
				found[id] = cells
			}
		}
	}
	return found
}

// followed returns the files that the published log of a table has live, by their names below its folder.
func followed(t testing.TB, all map[string][]byte, root string) delta.Live {
	t.Helper()
	live := delta.Live{}
	for n := int64(0); all[root+delta.VersionFile(n)] != nil; n++ {
		must.Succeed(t, live.Follow(all[root+delta.VersionFile(n)]))
	}
	return live
}

// cellsOf returns the cells of a file of readings, by device and key.
func cellsOf(t testing.TB, content []byte) map[string]string {
	t.Helper()
	found := map[string]string{}
	for one := range storedIn(t, content) {
		found[fmt.Sprint(one.Device, "/", one.Sample.Key)] = columnar.Cells(&one.Sample)
	}
	return found
}

// olderBlobs are the names of what is in the forms of earlier releases.
func (x *olderFleet) olderBlobs(t testing.TB) (names []string) {
	t.Helper()
	for name := range objects(t, x.World.Account, x.Names.Archive()) {
		if !strings.HasPrefix(name, delta.Folder(string(acme))+"/") && !strings.HasPrefix(name, string(globex)+"/") {
			names = append(names, name)
		}
	}
	return names
}

var olderMonths = []schema.Month{jobstest.Month, olderShard}

// markAll leaves the marks that changed settings leave, and that of the day that was open, which its rows have left.
func (x *olderFleet) markAll(t testing.TB, m *archive.Tables) {
	t.Helper()
	for _, month := range olderMonths {
		must.Succeed(t, m.Source.MarkAll(t.Context(), m, month))
		x.mark(t, m, schema.Mark{Month: month, Tenant: acme, Name: (olderFirst + 2).String()})
	}
}

func (x *olderFleet) mark(t testing.TB, m *archive.Tables, mark schema.Mark) {
	t.Helper()
	mark.Kind = schema.ArchiveMark
	must.Have(m.Source.Tracking().Do(t.Context(), tables.InsertOrReplace(mark.Entity())))(t)
}

// work works off the marks.
func (x *olderFleet) work(ctx context.Context, m *archive.Tables) error {
	for _, month := range olderMonths {
		for more := true; more; {
			w, err := m.Source.Work(ctx, m, month, schema.ArchiveMark)
			if err != nil {
				return err
			}
			for key, err := range w.Strange {
				return fmt.Errorf("%s: %w", key, err)
			}
			more = w.More
		}
	}
	return nil
}

// migrated checks that the tables have what they should, and that nothing else is left.
func (x *olderFleet) migrated(t testing.TB, about ...any) {
	t.Helper()
	same(t, x.has(t), x.wants(t), about...)
	if left := x.olderBlobs(t); len(left) > 0 {
		slices.Sort(left)
		t.Fatalf("%s: %d blobs of the older form are left: %q", fmt.Sprint(about...), len(left), left)
	}
}

// some has some rows gone, one device left, and one erased of each tenant.
func (x *olderFleet) some(t testing.TB) {
	t.Helper()
	x.retire(t, "acme:1", olderFirst+2, 1)
	x.retire(t, "acme:2", olderFirst+1, 2)
	x.retire(t, "acme:4", olderFirst+2, 3)
	x.retire(t, "g:1", olderFirst+2, 1)
	x.retire(t, ".hidden", olderFirst+1, 2)
	x.left(t, "acme:1")
	x.left(t, ".hidden")
}
