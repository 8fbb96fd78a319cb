package blob

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// long is a size that takes a file.
const long = content.Inline + 1000

func blockID(n int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%05d", n)) }

func body(b []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(b)) }

func stage(t *testing.T, b *blockblob.Client, id string, content []byte) {
	t.Helper()
	if _, err := b.StageBlock(t.Context(), id, body(content), nil); err != nil {
		t.Error(err)
	}
}

// upload writes a blob of blocks, each of the given size.
func upload(t *testing.T, b *blockblob.Client, fill byte, blocks, size int) {
	t.Helper()
	var ids []string
	for i := range blocks {
		ids = append(ids, base64.StdEncoding.EncodeToString([]byte{fill, byte(i)}))
		stage(t, b, ids[i], bytes.Repeat([]byte{fill}, size))
	}
	o := &blockblob.CommitBlockListOptions{Metadata: map[string]*string{"fill": new(string(fill))}}
	if _, err := b.CommitBlockList(t.Context(), ids, o); err != nil {
		t.Error(err)
	}
}

// A reader gets one version whole: its bytes, its length and its metadata agree,
// while the blob is replaced again and again.
func TestReaderSeesOneVersion(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("x")
	upload(t, b, 'a', 2, long)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Some blocks are in the store, others in files.
			upload(t, b, 'a'+byte(i%26), 1+i%4, long/2+i%3*long/2)
		}
	})
	seen := map[string]bool{}
	for range 300 {
		resp := must.Have(b.DownloadStream(t.Context(), nil))(t)
		all := must.Have(io.ReadAll(resp.Body))(t)
		fill := *resp.Metadata["Fill"]
		if int64(len(all)) != *resp.ContentLength || strings.Trim(string(all), fill) != "" {
			t.Fatalf("%d bytes of %d of version %q", len(all), *resp.ContentLength, fill)
		}
		seen[string(*resp.ETag)] = true
	}
	close(stop)
	writer.Wait()
	if len(seen) < 10 {
		t.Errorf("only %d versions were seen", len(seen))
	}
}

// A download that is running when its blob is replaced or deleted gets the version
// that it began with. The files of that version are removed when it ends.
func TestOverwriteWhileReading(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("x")
	old := bytes.Repeat([]byte{'a'}, 24<<20) // more than the connection's buffers hold
	stage(t, b, blockID(0), old)
	stage(t, b, blockID(1), []byte("short"))
	must.Have(b.CommitBlockList(t.Context(), []string{blockID(0), blockID(1)}, nil))(t)
	resp := must.Have(b.DownloadStream(t.Context(), nil))(t)
	f.put("/data/x", "new").Want(t, 201, "")
	if got := f.files(); len(got) != 1 {
		t.Fatalf("%d files during the download, want 1", len(got))
	}
	f.Do("DELETE", "/data/x", "").Want(t, 202, "")
	all, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(all, append(old, "short"...)) {
		t.Fatalf("%d bytes, %v; want the old version whole", len(all), err)
	}
	f.Server.Close() // waits for the handler
	if got := f.files(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

// Overwritten, deleted and uncommitted contents are removed, and those of a deleted
// container. Other containers keep theirs.
func TestNothingIsLeftBehind(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	b := c.NewBlockBlobClient("x")
	want := func(what string, contents, keys int) {
		t.Helper()
		n := len(f.files()) + f.keys(store.PrefixBytes)
		k := f.keys(store.PrefixFile) + f.keys(store.PrefixBlocks) + f.keys(store.PrefixStaged) + f.keys(store.PrefixBlob)
		if n != contents || k != keys && keys >= 0 {
			t.Fatalf("%s: %d contents and %d keys, want %d and %d", what, n, k, contents, keys)
		}
	}
	for _, size := range []int{100, long} {
		upload(t, b, 'a', 3, size)
		upload(t, b, 'b', 2, size)
		want("overwritten", 2, -1)
		stage(t, b, "QQ==", make([]byte, size))
		stage(t, b, "QQ==", make([]byte, size+1))
		want("a block put twice", 3, -1)
		f.Do("DELETE", "/data/x", "").Want(t, 202, "")
		want("deleted", 0, 0)
	}
	upload(t, b, 'a', 3, long)
	upload(t, c.NewBlockBlobClient("y"), 'a', 3, 500)
	upload(t, f.container("other").NewBlockBlobClient("z"), 'a', 1, long)
	f.Do("DELETE", "/data?restype=container", "").Want(t, 202, "")
	want("container deleted", 1, 3) // of the other container: a file's marker, a blob and its blocks
}

// A body that ends before its length leaves the blob unchanged and no file. A client
// that still listens gets 400.
func TestCutUploadLeavesNothing(t *testing.T) {
	f := inMemory(t)
	f.container("data")
	f.put("/data/x", "old").Want(t, 201, "")
	for _, path := range []string{"/data/x", "/data/x?comp=block&blockid=QQ=="} {
		for _, length := range []int64{10_000, 10 << 20} {
			req := f.Request("PUT", path, nil, "x-ms-blob-type", "BlockBlob")
			req.ContentLength = length
			f.Sign(req)
			req.ContentLength = 0
			conn := must.Have(net.Dial("tcp", req.URL.Host))(t)
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", req.URL.RequestURI(),
				req.URL.Host, length)
			req.Header.Write(conn)
			fmt.Fprintf(conn, "\r\n%s", strings.Repeat("z", int(length/2)))
			conn.(*net.TCPConn).CloseWrite()
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") ||
				!strings.Contains(string(answer), "IncompleteBody") {
				t.Errorf("%s cut at %d: %s %v", path, length/2, answer, err)
			}
			conn.Close()
		}
	}
	if a := f.Do("GET", "/data/x", ""); a.Body != "old" {
		t.Errorf("content %q", a.Body)
	}
	if n := len(f.files()) + f.keys(store.PrefixStaged); n != 0 {
		t.Errorf("%d files and blocks are left", n)
	}
}

// A crash between file and record leaves a file that the next open removes. Files with
// other names stay.
func TestReopenRemovesOrphans(t *testing.T) {
	f := inMemory(t)
	upload(t, f.container("data").NewBlockBlobClient("x"), 'a', 2, long)
	must.Have(f.service.content.Write(bytes.NewReader(make([]byte, long)), long))(t)
	other, err := f.fs.Create("/data/blobs/README", vfs.WriteCategoryUnspecified)
	if err != nil || other.Close() != nil {
		t.Fatal(err)
	}
	if n := len(f.files()); n != 4 {
		t.Fatalf("%d files, want 4", n)
	}
	f.close()
	f = open(t, f.fs, f.dir)
	if n := len(f.files()); n != 3 {
		t.Errorf("%d files after opening again, want 3", n)
	}
	if a := f.Do("GET", "/data/x", ""); len(a.Body) != 2*long {
		t.Errorf("%d bytes", len(a.Body))
	}
}

// A missing file is an error that names its blob.
func TestReopenNamesTheBlobOfAMissingFile(t *testing.T) {
	f := inMemory(t)
	upload(t, f.container("data").NewBlockBlobClient("dir/x"), 'a', 1, long)
	must.Succeed(t, f.fs.Remove(f.fs.PathJoin("/data/blobs", f.files()[0])))
	f.Server.Close()
	_, err := f.again()
	missing, ok := errors.AsType[*content.Missing](err)
	if !ok || missing.Owner == 0 || !strings.Contains(err.Error(), "blob data/dir/x: ") {
		t.Errorf("got %v", err)
	}
}

// The next open removes uncommitted blocks that are a week old. Younger blocks and
// committed ones stay.
func TestReopenEndsIdleBlocks(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	x := c.NewBlockBlobClient("x")
	upload(t, x, 'a', 2, long)
	for i := range 3 {
		stage(t, x, blockID(i), make([]byte, long))
	}
	must.Succeed(t, f.service.expire(time.Now().Add(idleBlocks-time.Hour)))
	if n := f.keys(store.PrefixStaged); n != 4 {
		t.Fatalf("%d records of blocks before their time, want 4", n)
	}
	must.Succeed(t, f.service.expire(time.Now().Add(idleBlocks+time.Hour)))
	if n, m := f.keys(store.PrefixStaged), len(f.files()); n != 0 || m != 2 {
		t.Fatalf("%d records of blocks and %d files, want 0 and 2", n, m)
	}
	if a := f.Do("GET", "/data/x", ""); len(a.Body) != 2*long {
		t.Errorf("%d bytes", len(a.Body))
	}
}

// Uploads take bounded memory, however many run at a time.
func TestUploadsTakeBoundedMemory(t *testing.T) {
	f := open(t, vfs.Default, t.TempDir())
	f.container("data")
	const clients, size = 32, 16 << 20
	grown := watchHeap(t)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			req := f.Request("PUT", fmt.Sprintf("/data/%d?comp=block&blockid=QQ==", i), io.LimitReader(zeros{}, size))
			req.ContentLength = size
			resp, err := http.DefaultTransport.RoundTrip(f.Sign(req))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				t.Errorf("answer %s", resp.Status)
			}
		})
	}
	all.Wait()
	if got := grown(); got > 100<<20 {
		t.Errorf("the heap grew by %d MiB for %d MiB of uploads", got>>20, clients*size>>20)
	}
	f.Do("HEAD", "/data/0", "").Want(t, 404, "BlobNotFound") // a block without a commit is no blob
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// watchHeap samples the heap until grown is called, which returns by how much the heap
// grew at most.
func watchHeap(t *testing.T) (grown func() uint64) {
	t.Helper()
	stop, most := make(chan struct{}), make(chan uint64)
	before := heap()
	go func() {
		var top uint64
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				top = max(top, heap())
			case <-stop:
				most <- max(top, heap(), before) - before
				return
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}

// An answer that cannot be completed is cut off, so that the client notices that it is
// incomplete. The log says why.
func TestDamagedContentCutsTheAnswer(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("x")
	upload(t, b, 'a', 2, long)
	for _, name := range f.files() {
		must.Succeed(t, f.fs.Remove(f.fs.PathJoin("/data/blobs", name)))
	}
	resp, err := http.DefaultTransport.RoundTrip(f.Sign(f.Request("GET", "/data/x", nil)))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("the answer looked whole")
	}
	f.Server.Close()
	if !strings.Contains(f.log.String(), "answer cut off") {
		t.Errorf("logged %s", f.log.String())
	}
}
