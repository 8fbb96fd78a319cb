package blob

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// long is a size that takes a file.
const long = content.Inline + 1000

func blockID(n int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%05d", n)) }

// upload writes a blob of blocks, each of the given size.
func upload(b *blockblob.Client, t *testing.T, fill byte, blocks, size int) error {
	var ids []string
	for i := range blocks {
		id := base64.StdEncoding.EncodeToString([]byte{fill, byte(i)})
		if _, err := b.StageBlock(t.Context(), id, body(bytes.Repeat([]byte{fill}, size)), nil); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	_, err := b.CommitBlockList(t.Context(), ids,
		&blockblob.CommitBlockListOptions{Metadata: map[string]*string{"fill": new(string(fill))}})
	return err
}

// A reader gets one version whole: its bytes, its length and its metadata agree,
// while the blob is replaced again and again.
func TestReaderSeesOneVersion(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("x")
	if err := upload(b, t, 'a', 2, long); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Blocks are in the store at times and in files at others.
			if err := upload(b, t, 'a'+byte(i%26), 1+i%4, long/2+i%3*long/2); err != nil {
				t.Error(err)
				return
			}
		}
	})
	seen := map[string]bool{}
	for range 300 {
		resp, err := b.DownloadStream(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
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

// A download that is under way when its blob is replaced or deleted gets the
// version that it began with, and that version's files go when it is done.
func TestOverwriteWhileReading(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("x")
	old := random(1, 24<<20) // more than the connection's buffers hold
	for i := range 3 {
		if _, err := b.StageBlock(t.Context(), blockID(i), body(old[i<<23:(i+1)<<23]), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.StageBlock(t.Context(), blockID(3), body([]byte("short")), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CommitBlockList(t.Context(), []string{blockID(0), blockID(1), blockID(2), blockID(3)},
		nil); err != nil {
		t.Fatal(err)
	}
	resp, err := b.DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Upload(t.Context(), body([]byte("new")), nil); err != nil {
		t.Fatal(err)
	}
	if got := f.files(); len(got) != 3 {
		t.Fatalf("%d files while the download goes on, want 3", len(got))
	}
	if _, err := b.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(all, append(old, "short"...)) {
		t.Fatalf("%d bytes, %v; want the old version whole", len(all), err)
	}
	f.Server.Close() // waits for the handler
	if got := f.files(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

// What nobody refers to any more is removed: overwritten, deleted, and
// uncommitted contents, and a container's.
func TestNothingIsLeftBehind(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	b := c.NewBlockBlobClient("x")
	nothing := func(what string) {
		t.Helper()
		if n, m := len(f.files()), f.keys(store.PrefixFile)+f.keys(store.PrefixBytes)+f.keys(store.PrefixBlocks)+
			f.keys(store.PrefixStaged)+f.keys(store.PrefixBlob); n+m > 0 {
			t.Fatalf("%s: %d files and %d keys are left", what, n, m)
		}
	}
	for _, size := range []int{100, long} {
		if err := upload(b, t, 'a', 3, size); err != nil {
			t.Fatal(err)
		}
		if err := upload(b, t, 'b', 2, size); err != nil {
			t.Fatal(err)
		}
		if n := len(f.files()) + f.keys(store.PrefixBytes); n != 2 {
			t.Fatalf("after an overwrite: %d contents, want 2", n)
		}
		if _, err := b.StageBlock(t.Context(), "QQ==", body(make([]byte, size)), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := b.StageBlock(t.Context(), "QQ==", body(make([]byte, size+1)), nil); err != nil {
			t.Fatal(err)
		}
		if n := len(f.files()) + f.keys(store.PrefixBytes); n != 3 {
			t.Fatalf("after a block was put twice: %d contents, want 3", n)
		}
		if _, err := b.Delete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		nothing("delete")
	}
	if err := upload(b, t, 'a', 3, long); err != nil {
		t.Fatal(err)
	}
	if err := upload(c.NewBlockBlobClient("y"), t, 'a', 3, 500); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	nothing("delete of the container")
}

// A body that ends before its length leaves the blob as it was and no file, and
// is answered with 400 where the client still listens.
func TestCutUploadLeavesNothing(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	if _, err := c.NewBlockBlobClient("x").Upload(t.Context(), body([]byte("old")), nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/data/x", "/data/x?comp=block&blockid=QQ=="} {
		for _, length := range []int64{10_000, 10 << 20} {
			req := f.Request("PUT", path, nil, "x-ms-blob-type", "BlockBlob")
			req.ContentLength = length
			f.Sign(req)
			req.ContentLength = 0
			conn, err := net.Dial("tcp", req.URL.Host)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", req.URL.RequestURI(),
				req.URL.Host, length)
			req.Header.Write(conn)
			fmt.Fprintf(conn, "\r\n%s", strings.Repeat("z", int(length/2)))
			conn.(*net.TCPConn).CloseWrite()
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer),
				"IncompleteBody") {
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

// A crash between file and record leaves a file that the next open removes; what
// is not ours stays.
func TestReopenRemovesOrphans(t *testing.T) {
	f := inMemory(t)
	if err := upload(f.container("data").NewBlockBlobClient("x"), t, 'a', 2, long); err != nil {
		t.Fatal(err)
	}
	if _, err := f.service.content.Write(bytes.NewReader(make([]byte, long)), long); err != nil {
		t.Fatal(err)
	}
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

// A file that is referred to and gone is an error that names the blob.
func TestReopenNamesTheBlobOfAMissingFile(t *testing.T) {
	f := inMemory(t)
	if err := upload(f.container("data").NewBlockBlobClient("dir/x"), t, 'a', 1, long); err != nil {
		t.Fatal(err)
	}
	if err := f.fs.Remove(f.fs.PathJoin("/data/blobs", f.files()[0])); err != nil {
		t.Fatal(err)
	}
	f.Server.Close()
	_, err := f.again()
	if missing, ok := errors.AsType[*content.Missing](err); !ok || missing.Owner == 0 || !strings.Contains(err.Error(),
		"blob data/dir/x: ") {
		t.Errorf("got %v", err)
	}
}

// Blocks that are left alone for a week are gone after the next open; younger
// ones, and what was committed, stay.
func TestReopenEndsIdleBlocks(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	x := c.NewBlockBlobClient("x")
	if err := upload(x, t, 'a', 2, long); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := x.StageBlock(t.Context(), blockID(i), body(make([]byte, long)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.service.expire(time.Now().Add(idleBlocks - time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := f.keys(store.PrefixStaged); n != 4 {
		t.Fatalf("%d records of blocks before their time, want 4", n)
	}
	if err := f.service.expire(time.Now().Add(idleBlocks + time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, m := f.keys(store.PrefixStaged), len(f.files()); n != 0 || m != 2 {
		t.Fatalf("%d records of blocks and %d files, want 0 and 2", n, m)
	}
	if a := f.Do("GET", "/data/x", ""); len(a.Body) != 2*long {
		t.Errorf("%d bytes", len(a.Body))
	}
}

// The power may go at any moment: what was acknowledged is there, whole, and the
// directory opens.
func TestPowerCutKeepsCommittedBlobs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 5 {
		fs := vfs.NewCrashableMem()
		if err := fs.MkdirAll("data", 0o700); err != nil {
			t.Fatal(err)
		}
		root, err := fs.OpenDir("")
		if err != nil || root.Sync() != nil || root.Close() != nil {
			t.Fatal(err)
		}
		f := open(t, fs, "data")
		c := f.container("data")
		var acknowledged, deleted sync.Map // name → fill
		stop := make(chan struct{})
		var clients sync.WaitGroup
		for worker := range 4 {
			clients.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					name := fmt.Sprintf("%d/%d", worker, i)
					fill := byte('a' + i%26)
					b := c.NewBlockBlobClient(name)
					if err := upload(b, t, fill, 1+i%3, 100+i%2*long); err != nil {
						t.Error(err)
						return
					}
					if i%4 < 3 {
						acknowledged.Store(name, fill)
						continue
					}
					if _, err := b.Delete(t.Context(), nil); err != nil {
						t.Error(err)
						return
					}
					deleted.Store(name, true)
				}
			})
		}
		time.Sleep(time.Duration(10+rnd.IntN(60)) * time.Millisecond) // any moment will do
		want, gone := map[string]byte{}, map[string]bool{}
		acknowledged.Range(func(k, v any) bool { want[k.(string)] = v.(byte); return true })
		deleted.Range(func(k, v any) bool { gone[k.(string)] = true; return true })
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
		close(stop)
		clients.Wait()
		f.close()
		checkAfterCut(t, crashed, want, gone)
	}
}

func checkAfterCut(t *testing.T, fs vfs.FS, want map[string]byte, gone map[string]bool) {
	t.Helper()
	f := open(t, fs, "data")
	defer f.close()
	if len(want) == 0 {
		t.Log("the power went before anything was acknowledged")
	}
	for name, fill := range want {
		resp, err := f.client().NewContainerClient("data").NewBlobClient(name).DownloadStream(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, err := io.ReadAll(resp.Body)
		if err != nil || int64(len(all)) != *resp.ContentLength || strings.Trim(string(all), string(fill)) != "" {
			t.Fatalf("%s: %d bytes, %v", name, len(all), err)
		}
	}
	for name := range gone {
		if a := f.Do("HEAD", "/data/"+name, ""); a.Status != http.StatusNotFound {
			t.Fatalf("%s was deleted and is back: %d", name, a.Status)
		}
	}
	if n, m := len(f.files()), f.keys(store.PrefixFile); n != m {
		t.Fatalf("%d files and %d references", n, m)
	}
}

// Uploads are not held in memory, however many there are at a time.
func TestUploadsTakeBoundedMemory(t *testing.T) {
	f := open(t, vfs.Default, t.TempDir())
	c := f.container("data")
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
	_, err := c.NewBlobClient("0").GetProperties(t.Context(), &blob.GetPropertiesOptions{})
	wantCode(t, err, "BlobNotFound")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// watchHeap samples the heap until the function that it returns gives the most
// that it grew by.
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

// An answer that cannot be completed is cut off, so that the client does not
// take what it has for the whole; the log says why.
func TestDamagedContentCutsTheAnswer(t *testing.T) {
	f := inMemory(t)
	b := f.container("data").NewBlockBlobClient("x")
	if err := upload(b, t, 'a', 2, long); err != nil {
		t.Fatal(err)
	}
	for _, name := range f.files() {
		if err := f.fs.Remove(f.fs.PathJoin("/data/blobs", name)); err != nil {
			t.Fatal(err)
		}
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
