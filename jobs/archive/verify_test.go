package archive_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// TestVerifyFindsWhatIsWrong: files that are gone, changed or damaged, and readings that came later or are gone.
func TestVerifyFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	f, d, folder := fewFiles(t)
	m := must.Have(small(d).MakeDay(t.Context(), folder, archive.Asked{}))(t)
	day := d.Source.TenantDay(folder.Month, folder.Tenant, folder.Day)
	verify := func(day *groups.TenantDay) string {
		var all []string
		for wrong, err := range d.Store.Verify(t.Context(), folder, m, day) {
			must.Succeed(t, err)
			all = append(all, wrong)
		}
		return strings.Join(all, "\n")
	}
	expect := func(what, got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q does not say %q", what, got, w)
			}
		}
		if len(want) == 0 && got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
	expect("right files", verify(&day))

	table := f.World.Connect(t, nil).Table(f.Readings)
	late := tables.Entity{PartitionKey: string(f.World.Devices[0]), RowKey: folder.Day.Start().String() + "-late"}
	jobstest.Insert(t, table, late)
	expect("a late reading", verify(&day), "reading "+late.PartitionKey+" "+late.RowKey+" is missing")
	expect("a late reading that is not looked for", verify(nil))
	must.Have(table.Do(t.Context(), tables.Delete(late.PartitionKey, late.RowKey, tables.AnyETag)))(t)
	gone := ""
	for id := range expected(t, f, func(d schema.Day) bool { return d == folder.Day }) {
		if strings.HasPrefix(id, late.PartitionKey+"/") {
			gone = id[len(late.PartitionKey)+1:]
		}
	}
	must.Have(table.Do(t.Context(), tables.Delete(late.PartitionKey, gone, tables.AnyETag)))(t)
	expect("a deleted reading", verify(&day), gone+" is in no table")

	key := must.Have(azblob.NewSharedKeyCredential(f.World.Account.Name, f.World.Account.Key))(t)
	blobs := must.Have(azblob.NewClientWithSharedKeyCredential(f.World.Account.Blob, key, nil))(t)
	got := must.Have(blobs.DownloadStream(t.Context(), f.Names.Archive(), m.Files[0].Name, nil))(t)
	content := must.Have(io.ReadAll(got.Body))(t)
	put := func(name string, content []byte) {
		must.Have(blobs.UploadBuffer(t.Context(), f.Names.Archive(), name, content, nil))(t)
	}
	put(m.Files[1].Name, content)
	expect("another file", verify(nil), "the manifest says", "belongs into another file")
	put(m.Files[1].Name, bytes.Repeat([]byte("x"), 100))
	expect("a damaged file", verify(nil), "is no Parquet")
	must.Have(blobs.DeleteBlob(t.Context(), f.Names.Archive(), m.Files[1].Name, nil))(t)
	expect("a deleted file", verify(nil), m.Files[1].Name+": it is missing")
	n := 0
	for found, err := range d.Store.Folders(t.Context(), "t0") {
		must.Succeed(t, err)
		if n++; found != folder {
			t.Errorf("folder %v, want %v", found, folder)
		}
	}
	if n != 1 {
		t.Errorf("%d folders", n)
	}
}
