package blob

import (
	"bytes"
	"log/slog"
	"runtime/metrics"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azcontainer "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A fixture is an open service behind an HTTP server.
type fixture struct {
	*wiretest.Server
	fs         vfs.FS
	dir        string
	store      *store.Store
	closeStore func()
	service    *Service
	log        bytes.Buffer
}

// open opens a service on what fs holds below dir.
func open(t testing.TB, fs vfs.FS, dir string) *fixture {
	t.Helper()
	f := &fixture{fs: fs, dir: dir}
	f.store, f.closeStore = wiretest.OpenStore(t, fs, fs.PathJoin(dir, "db"))
	var err error
	if f.service, err = f.again(); err != nil {
		t.Fatal(err)
	}
	f.Server = wiretest.Serve(t, f.service.Handler(time.Now, slog.New(slog.NewTextHandler(&f.log, nil))))
	return f
}

// again opens a service on the same store and directory.
func (f *fixture) again() (*Service, error) {
	return New(f.store, f.fs, f.fs.PathJoin(f.dir, "blobs"), wiretest.Account, []byte(wiretest.Key))
}

func (f *fixture) close() {
	f.Server.Close()
	f.closeStore()
}

// inMemory opens a service on an empty directory in memory.
func inMemory(t testing.TB) *fixture {
	t.Helper()
	fs := vfs.NewMem()
	must.Succeed(t, fs.MkdirAll("/data", 0o700))
	return open(t, fs, "/data")
}

func (f *fixture) client() *service.Client {
	f.Helper()
	cred := must.Have(azblob.NewSharedKeyCredential(wiretest.Account, wiretest.KeyText()))(f)
	c := must.Have(service.NewClientWithSharedKeyCredential(f.Base(), cred, nil))(f)
	return c
}

// container creates a container.
func (f *fixture) container(name string) *azcontainer.Client {
	f.Helper()
	c := f.client().NewContainerClient(name)
	must.Have(c.Create(f.Context(), nil))(f)
	return c
}

// withData is inMemory with the container "data".
func withData(t testing.TB) *fixture {
	t.Helper()
	f := inMemory(t)
	f.container("data")
	return f
}

// put writes a small blob.
func (f *fixture) put(path, body string, headers ...string) wiretest.Answer {
	f.Helper()
	return f.Do("PUT", path, body, append([]string{"x-ms-blob-type", "BlockBlob"}, headers...)...)
}

// sas is the query of a service SAS for a container (resource c) or a blob (b).
func sas(resource, canon, permissions string, more ...string) string {
	terms := append([]string{"sr", resource, "sp", permissions, "se", wiretest.Expiry}, more...)
	return wiretest.SAS(wire.Blob, canon, terms...).Encode()
}

// files lists the content files.
func (f *fixture) files() []string {
	f.Helper()
	names := must.Have(f.fs.List(f.fs.PathJoin(f.dir, "blobs")))(f)
	return names
}

// keys counts the store's keys with a prefix.
func (f *fixture) keys(prefix byte) (n int) {
	f.Helper()
	for _, err := range f.store.Walk([]byte{prefix}, []byte{prefix + 1}) {
		must.Succeed(f, err)
		n++
	}
	return n
}

// heap returns the bytes of live objects and of dead ones that are not collected yet.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
