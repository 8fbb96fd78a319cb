package blob

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// createAppend creates an empty append blob.
func (f *fixture) createAppend(path string) {
	f.Helper()
	f.Do("PUT", path, "", "x-ms-blob-type", "AppendBlob", "Content-Length", "0").Want(f, 201, "")
}

func (f *fixture) append(path, body string) {
	f.Helper()
	f.Do("PUT", path+"?comp=appendblock", body).Want(f, 201, "")
}

// Every range of an append blob is that of its blocks in a row, also in a server that has been opened again.
func TestAppendBlobIsItsBlocksInARow(t *testing.T) {
	f := withData(t)
	f.createAppend("/data/x")
	f.createAppend("/data/x/y") // a neighbor in the store
	random := rand.New(rand.NewPCG(1, 2))
	var want strings.Builder
	for i := range 60 {
		block := strings.Repeat(string('a'+rune(i%26)), 1+random.IntN(200))
		if i%20 == 7 {
			block = strings.Repeat("#", long)
		}
		f.append("/data/x", block)
		f.append("/data/x/y", "other")
		want.WriteString(block)
	}
	f.close()
	f = open(t, f.fs, f.dir)
	whole := want.String()
	if got := f.Do("GET", "/data/x", "").Want(t, 200, "").Body; got != whole {
		t.Fatalf("%d bytes, want %d", len(got), len(whole))
	}
	for range 200 {
		from := random.IntN(len(whole))
		to := min(from+random.IntN(2000), len(whole)-1)
		a := f.Do("GET", "/data/x", "", "x-ms-range", fmt.Sprintf("bytes=%d-%d", from, to)).Want(t, 206, "")
		if a.Body != whole[from:to+1] {
			t.Fatalf("bytes %d to %d of %d: %.100q", from, to, len(whole), a.Body)
		}
	}
}

// What an append blob consisted of is removed when it is replaced or deleted.
func TestNothingIsLeftOfAnAppendBlob(t *testing.T) {
	f := withData(t)
	empty := f.total()
	for what, end := range map[string]func(){
		"deleted":  func() {},
		"replaced": func() { f.put("/data/x", "").Want(t, 201, "") },
		"created":  func() { f.createAppend("/data/x") },
	} {
		f.createAppend("/data/x")
		for _, size := range []int{1, 100, long} {
			f.append("/data/x", strings.Repeat("z", size))
		}
		end()
		f.Do("DELETE", "/data/x", "").Want(t, 202, "")
		if n := f.total(); n != empty || len(f.files()) > 0 {
			t.Errorf("%s: %d keys, want %d, and files %v", what, n, empty, f.files())
		}
	}
}

// total counts all keys of the store.
func (f *fixture) total() (n int) {
	for prefix := range 255 {
		n += f.keys(byte(prefix))
	}
	return n
}

func TestAppendBlobHas50000Blocks(t *testing.T) {
	f := withData(t)
	f.createAppend("/data/x")
	c := must.Have(f.service.containers.lookup("data"))(t)
	record := must.Have(json.Marshal(record{Append: true, Appended: maxAppended - 1, Changed: 1, Created: 1}))(t)
	b := f.store.Batch()
	b.Set(blobKey(c.ID, "x"), record)
	must.Succeed(t, f.store.Apply(b)())
	f.append("/data/x", "last")
	f.Do("PUT", "/data/x?comp=appendblock", "more").Want(t, 409, "BlockCountExceedsLimit")
	f.Do("GET", "/data/x", "").Want(t, 200, "").WantBody(t, "last").
		WantHeaders(t, "x-ms-blob-committed-block-count", "50000")
}

func TestBadAppendsAreRefused(t *testing.T) {
	f := withData(t)
	f.Do("PUT", "/data/x", "body", "x-ms-blob-type", "AppendBlob").Want(t, 400, "InvalidHeaderValue")
	f.createAppend("/data/x")
	for _, name := range []string{"x-ms-blob-condition-appendpos", "x-ms-blob-condition-maxsize"} {
		for _, value := range []string{"-1", "x", "1.5", "99999999999999999999"} {
			f.Do("PUT", "/data/x?comp=appendblock", "b", name, value).Want(t, 400, "InvalidHeaderValue")
		}
	}
	f.Do("PUT", "/data/x?comp=appendblock", "").Want(t, 400, "InvalidHeaderValue")
	for permissions, status := range map[string]int{"a": 201, "w": 201, "c": 403, "rd": 403} {
		req := f.Request("PUT", "/data/x?comp=appendblock&"+sas("c", "data", permissions), strings.NewReader("b"))
		if a := f.Send(req); a.Status != status {
			t.Errorf("append with %s: %d, want %d", permissions, a.Status, status)
		}
	}
}
