package local_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// inspected is a server with three rows, a short and a long blob, and no problem.
func inspected(t *testing.T) (s *local.Running, dir string) {
	t.Helper()
	dir = t.TempDir()
	s = must.Have(local.Start(local.Config{Dir: dir}))(t)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	v := newVersions(t, s)
	must.Succeed(t, v.create())
	for n := range int64(3) {
		must.Succeed(t, v.one(0, n))
	}
	must.Succeed(t, v.one(1, 1))
	must.Succeed(t, v.one(2, 1))
	return s, dir
}

// TestInspectionCountsWhatThereIs while it is served, and the same over HTTP.
func TestInspectionCountsWhatThereIs(t *testing.T) {
	t.Parallel()
	s, _ := inspected(t)
	found := must.Have(s.Inspect(t.Context()))(t)
	if len(found.Problems) > 0 || len(found.Tables) != 1 || found.Tables[0].Name != "versions" ||
		found.Tables[0].Rows != 3 || found.Tables[0].Bytes == 0 || len(found.Queues) != 0 || len(found.Containers) != 1 ||
		found.Containers[0].Rows != 2 || found.Containers[0].Bytes < 200<<10 || found.Disk == 0 {
		t.Errorf("%+v", found)
	}
	fetched := must.Have(local.FetchInspection(t.Context(), http.DefaultClient, s.Account(), s.Key(), s.BlobURL))(t)
	if fetched.Disk = found.Disk; !reflect.DeepEqual(fetched.Tables, found.Tables) ||
		!reflect.DeepEqual(fetched.Containers, found.Containers) {
		t.Errorf("over HTTP: %+v, want %+v", fetched, found)
	}
	if _, err := local.FetchInspection(t.Context(), http.DefaultClient, s.Account(), "b3RoZXI=", s.BlobURL); err == nil {
		t.Error("another key may inspect")
	}
}

// TestInspectionFindsWhatIsWrong: a file that is gone, rows of no table, a row in no format, and a key of no kind.
func TestInspectionFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s, dir := inspected(t)
	files := must.Have(filepath.Glob(filepath.Join(dir, "blobs", "*")))(t)
	must.Succeed(t, os.Remove(files[0]))
	one := "\x00\x00\x00\x00\x00\x00\x00\x01"
	must.Succeed(t, s.SetRaw("e\x00\x00\x00\x00\x00\x00\x00\x63p\x00r", "row"))
	must.Succeed(t, s.SetRaw("e"+one+"p\x00r", "row"))
	must.Succeed(t, s.SetRaw("zebra", ""))
	must.Succeed(t, s.SetRaw("qlost", "{"))
	found := strings.Join(must.Have(s.Inspect(t.Context()))(t).Problems, "\n")
	for _, want := range []string{"container versions: the file of a blob", "belongs to nothing that exists",
		`table versions: the row "p\x00r": stored entity of 3 bytes`, `"zebra" is not known`, `the record of "lost"`} {
		if !strings.Contains(found, want) {
			t.Errorf("it does not find %s:\n%s", want, found)
		}
	}
	if n := strings.Count(found, "\n"); n != 4 {
		t.Errorf("%d problems are too many:\n%s", n+1, found)
	}
}

// TestInspectionFindsContentsThatAreCut: files that lost their end, of a blob and of an uncommitted block, and a block
// whose content is gone.
func TestInspectionFindsContentsThatAreCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := must.Have(local.Start(local.Config{Dir: dir}))(t)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	blobs := must.Have(container.NewClientFromConnectionString(s.ConnectionString(), "cut", nil))(t)
	must.Have(blobs.Create(t.Context(), nil))(t)
	must.Have(blobs.NewBlockBlobClient("whole").UploadBuffer(t.Context(), []byte("short"), nil))(t)
	must.Have(blobs.NewBlockBlobClient("long").UploadBuffer(t.Context(), make([]byte, 200<<10), nil))(t)
	must.Have(blobs.NewBlockBlobClient("open").StageBlock(t.Context(), "MDAx",
		streaming.NopCloser(bytes.NewReader(make([]byte, 100<<10))), nil))(t)
	if found := must.Have(s.Inspect(t.Context()))(t).Problems; len(found) > 0 {
		t.Fatal(found)
	}
	for _, file := range must.Have(filepath.Glob(filepath.Join(dir, "blobs", "*")))(t) {
		must.Succeed(t, os.Truncate(file, 1000))
	}
	one := "\x00\x00\x00\x00\x00\x00\x00\x01"
	must.Succeed(t, s.SetRaw("k"+one+"lost", "\x01\x00\x0ann0123456789abcd"))
	must.Succeed(t, s.SetRaw("b"+one+"unreadable", "{"))
	found := must.Have(s.Inspect(t.Context()))(t).Problems
	all := strings.Join(found, "\n")
	for _, want := range []string{"container cut: the blob long: the file ", "container cut: the blob open: the file ",
		"has 1000 bytes instead of 204800", "has 1000 bytes instead of 102400",
		"the blob lost: content 6e6e3031323334353637383961626364 is missing", "the blob unreadable: record of a blob"} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not find %s:\n%s", want, all)
		}
	}
	if len(found) != 4 {
		t.Errorf("%d problems:\n%s", len(found), all)
	}
}

// TestFlippedByteOfABlobIsFound by the inspection, and is not served: the download fails, and the log names the file.
func TestFlippedByteOfABlobIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log bytes.Buffer
	s := must.Have(local.Start(local.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	closed := sync.OnceValue(s.Close)
	t.Cleanup(func() { must.Succeed(t, closed()) })
	blobs := must.Have(container.NewClientFromConnectionString(s.ConnectionString(), "flipped", nil))(t)
	must.Have(blobs.Create(t.Context(), nil))(t)
	long := blobs.NewBlockBlobClient("long")
	must.Have(long.UploadBuffer(t.Context(), make([]byte, 300<<10), nil))(t)
	file := must.Have(filepath.Glob(filepath.Join(dir, "blobs", "*")))(t)[0]
	content := must.Have(os.ReadFile(file))(t)
	content[200<<10] = 1
	must.Succeed(t, os.WriteFile(file, content, 0o600))
	found := must.Have(s.Inspect(t.Context()))(t).Problems
	want := "the blob long: content file " + file + ": the bytes from 196608 to 262143 are not those that were written"
	if len(found) != 1 || !strings.Contains(found[0], want) {
		t.Errorf("%q, want %s", found, want)
	}
	whole := must.Have(long.DownloadStream(t.Context(), nil))(t)
	if got, err := io.ReadAll(whole.Body); err == nil || len(got) > 192<<10 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	part := &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 100, Count: 100}}
	first := must.Have(long.DownloadStream(t.Context(), part))(t)
	if got, err := io.ReadAll(first.Body); err != nil || len(got) != 100 {
		t.Errorf("a part without it: %d bytes, %v", len(got), err)
	}
	must.Succeed(t, closed())
	if !strings.Contains(log.String(), file) {
		t.Errorf("the log does not name %s:\n%s", file, log.String())
	}
}

// TestInspectionBesideWritersFindsNoProblem: rows, short and long blobs come and go.
func TestInspectionBesideWritersFindsNoProblem(t *testing.T) {
	t.Parallel()
	s := must.Have(local.Start(local.Config{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	v := newVersions(t, s)
	must.Succeed(t, v.create())
	stop := v.write()
	defer stop()
	client := must.Have(tables.Connect(tables.Config{Account: must.Have(tables.ParseAccount(s.ConnectionString()))(t)}))(t)
	for range 10 {
		must.Succeed(t, client.Table("passing").Create(t.Context()))
		if found := must.Have(s.Inspect(t.Context()))(t); len(found.Problems) > 0 {
			t.Fatal(found.Problems)
		}
		must.Succeed(t, client.Table("passing").Delete(t.Context()))
	}
}
