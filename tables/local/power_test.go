package local_test

import (
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The disk keeps what was synced, and a random part of the rest.
func TestPowerCutKeepsEveryAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	dir, disk := t.TempDir(), vfs.NewCrashableMem()
	must.Succeed(t, disk.MkdirAll(dir, 0o700))
	for name := dir; name != filepath.Dir(name); name = filepath.Dir(name) {
		parent, err := disk.OpenDir(filepath.Dir(name))
		if err != nil || parent.Sync() != nil || parent.Close() != nil {
			t.Fatal(err)
		}
	}
	endOften(t, func(random *rand.Rand) (azuretest.Account, func()) {
		s := must.Have(local.OpenOn(disk, local.Config{Dir: dir}))(t)
		p := &powered{}
		tables, queues, blobs := p.serve(s.Tables()), p.serve(s.Queues()), p.serve(s.Blobs())
		stop := sync.OnceFunc(func() {
			for _, server := range []*httptest.Server{tables, queues, blobs} {
				server.Close()
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(stop) // of the last server, which keeps its power
		account := "/" + s.Account()
		return azuretest.Account{Name: s.Account(), Key: s.Key(), TableURL: tables.URL + account,
				QueueURL: queues.URL + account, BlobURL: blobs.URL + account}, func() {
				p.mu.Lock()
				p.off = true
				disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
				p.mu.Unlock()
				stop()
			}
	})
}

// A powered server answers as long as it has power.
type powered struct {
	mu  sync.RWMutex
	off bool
}

// serve serves h. A request that is not answered when the power goes gets no answer.
func (p *powered) serve(h http.Handler) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		p.mu.RLock()
		defer p.mu.RUnlock()
		if p.off {
			panic(http.ErrAbortHandler) // closes the connection
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		io.Copy(w, answer.Body)
	}))
}
