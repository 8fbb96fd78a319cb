package blob

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkPutBlob writes blobs below and above the size at which a content gets a file.
func BenchmarkPutBlob(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 65 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			f := openB(b)
			b.SetBytes(int64(size))
			sent := make([]byte, size)
			query := sas("c", "data", "rw")
			b.SetParallelism(16)
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					f.ask(b, "PUT", fmt.Sprintf("/data/%p-%d?%s", p, i, query), sent, http.StatusCreated)
				}
			})
		})
	}
}

// BenchmarkGetRange reads 64 KiB at the end of blobs of different numbers of blocks.
func BenchmarkGetRange(b *testing.B) {
	for _, blocks := range []int{1, 1000, 50_000} {
		b.Run(fmt.Sprint(blocks), func(b *testing.B) {
			f := openB(b)
			query := sas("c", "data", "rw")
			f.ask(b, "PUT", "/data/x?comp=block&blockid=QQ==&"+query, make([]byte, 64<<10), http.StatusCreated)
			list := "<BlockList>" + strings.Repeat("<Latest>QQ==</Latest>", blocks) + "</BlockList>"
			f.ask(b, "PUT", "/data/x?comp=blocklist&"+query, []byte(list), http.StatusCreated)
			b.SetBytes(64 << 10)
			for b.Loop() {
				f.ask(b, "GET", "/data/x?"+query, nil, http.StatusPartialContent, "Range",
					fmt.Sprintf("bytes=%d-", (blocks-1)<<16))
			}
		})
	}
}

func openB(b *testing.B) *fixture {
	b.Helper()
	f := open(b, vfs.Default, b.TempDir())
	if a := f.Do("PUT", "/data?restype=container", ""); a.Status != http.StatusCreated {
		b.Fatal(a)
	}
	return f
}

// ask sends a request that carries its own authorization.
func (f *fixture) ask(b *testing.B, method, path string, sent []byte, status int, headers ...string) {
	req := f.Request(method, path, bytes.NewReader(sent), append(headers, "x-ms-blob-type", "BlockBlob")...)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != status {
		b.Fatal(resp.Status, err)
	}
}
