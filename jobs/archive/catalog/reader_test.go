package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// blobs downloads the blobs of a world's table with the SDK, by their names below the table's folder.
func (w *world) blobs(t testing.TB) map[string][]byte {
	t.Helper()
	key := must.Have(azblob.NewSharedKeyCredential(w.Name, w.Key))(t)
	client := must.Have(azblob.NewClientWithSharedKeyCredential(w.Blob, key, nil))(t)
	all, root := map[string][]byte{}, string(w.tenant)+"/readings/"
	for pages := client.NewListBlobsFlatPager(w.container, &azblob.ListBlobsFlatOptions{Prefix: &root}); pages.More(); {
		page := must.Have(pages.NextPage(t.Context()))(t)
		for _, item := range page.Segment.BlobItems {
			object := must.Have(client.DownloadStream(t.Context(), w.container, *item.Name, nil))(t)
			var content bytes.Buffer
			must.Have(content.ReadFrom(object.Body))(t)
			must.Succeed(t, object.Body.Close())
			all[strings.TrimPrefix(*item.Name, root)] = content.Bytes()
		}
	}
	return all
}

// A replay is what a reader of the published protocol makes of a log. It shares nothing with the writer.
type replay struct {
	files   [][]string // paths of the live files, by version
	schemas []string   // by version
	problem string
}

// replayed follows the log of a folder from its first version.
func replayed(blobs map[string][]byte) (r replay) {
	live, schema := map[string]bool{}, ""
	for n := 0; ; n++ {
		log, is := blobs[fmt.Sprintf("_delta_log/%020d.json", n)]
		if !is {
			break
		}
		for line := range strings.Lines(string(log)) {
			var a struct {
				Add, Remove *struct{ Path string }
				MetaData    *struct{ SchemaString string }
				Protocol    *struct{ MinReaderVersion, MinWriterVersion int }
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				r.problem = err.Error()
			}
			path := func(s string) string { p, _ := url.PathUnescape(s); return p }
			switch {
			case a.Protocol != nil && (n > 0 || a.Protocol.MinReaderVersion != 1 || a.Protocol.MinWriterVersion != 2):
				r.problem = fmt.Sprint("version ", n, " has the protocol ", *a.Protocol)
			case a.MetaData != nil:
				schema = a.MetaData.SchemaString
			case a.Add != nil && live[path(a.Add.Path)]:
				r.problem = fmt.Sprint("version ", n, " adds a file that is there")
			case a.Add != nil:
				live[path(a.Add.Path)] = true
			case a.Remove != nil && !live[path(a.Remove.Path)]:
				r.problem = fmt.Sprint("version ", n, " removes a file that is not there")
			case a.Remove != nil:
				delete(live, path(a.Remove.Path))
			}
		}
		r.files = append(r.files, slices.Sorted(maps.Keys(live)))
		r.schemas = append(r.schemas, schema)
	}
	return r
}

// followed follows a log from its checkpoint, and compares that with the catalog.
func (w *world) followed(t testing.TB) string {
	t.Helper()
	blobs := w.blobs(t)
	var last struct{ Version int }
	if err := json.Unmarshal(blobs["_delta_log/_last_checkpoint"], &last); err != nil {
		return err.Error()
	}
	return w.followedFrom(t, blobs, last.Version)
}

// followedFrom follows a log from a checkpoint.
func (w *world) followedFrom(t testing.TB, blobs map[string][]byte, first int) string {
	t.Helper()
	live := map[string]bool{}
	checkpoint, is := blobs[fmt.Sprintf("_delta_log/%020d.checkpoint.parquet", first)]
	if !is {
		return fmt.Sprint("there is no checkpoint of version ", first)
	}
	for _, path := range checkpointed(t, checkpoint) {
		live[path] = true
	}
	for n := first + 1; blobs[fmt.Sprintf("_delta_log/%020d.json", n)] != nil; n++ {
		if err := follow(blobs[fmt.Sprintf("_delta_log/%020d.json", n)], live); err != nil {
			return err.Error()
		}
	}
	m := w.machine(t, nil)
	for f, err := range m.table.Files(t.Context(), day, day) {
		must.Succeed(t, err)
		path := strings.TrimPrefix(m.table.Path(&f), m.table.Folder())
		if !live[path] {
			return "the log lacks " + path
		}
		delete(live, path)
	}
	if len(live) > 0 {
		return fmt.Sprint("the log has ", live)
	}
	return ""
}

// follow follows one version.
func follow(version []byte, live map[string]bool) error {
	for line := range strings.Lines(string(version)) {
		var a struct{ Add, Remove *struct{ Path string } }
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			return err
		}
		if a.Add != nil {
			live[a.Add.Path] = true
		}
		if a.Remove != nil {
			delete(live, a.Remove.Path)
		}
	}
	return nil
}

// newest returns the files of the newest version.
func (r *replay) newest() []string { return r.files[len(r.files)-1] }

// checkpointed returns the paths of the live files that a checkpoint has, read by columns.
func checkpointed(t testing.TB, content []byte) (paths []string) {
	t.Helper()
	f := must.Have(file.NewParquetReader(bytes.NewReader(content)))(t)
	defer f.Close()
	at := f.MetaData().Schema.ColumnIndexByName("add.path")
	if at < 0 {
		t.Fatalf("a checkpoint has no column add.path, but %v", f.MetaData().Schema)
	}
	for g := range f.NumRowGroups() {
		column := must.Have(f.RowGroup(g).Column(at))(t).(*file.ByteArrayColumnChunkReader)
		values, levels := make([]parquet.ByteArray, f.RowGroup(g).NumRows()), make([]int16, f.RowGroup(g).NumRows())
		_, n, err := column.ReadBatch(f.RowGroup(g).NumRows(), values, levels, nil)
		must.Succeed(t, err)
		for _, value := range values[:n] {
			paths = append(paths, must.Have(url.PathUnescape(string(value)))(t))
		}
	}
	slices.Sort(paths)
	return paths
}
