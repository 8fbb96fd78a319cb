package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// A shelf is a container for one test.
type shelf struct {
	account   azuretest.Account
	container string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	a := azuretest.FromEnv(t)
	s := &shelf{a, azuretest.Name("c")}
	must.Succeed(t, s.store(t, nil).Create(t.Context()))
	t.Cleanup(func() {
		if _, err := a.Blobs(t).DeleteContainer(context.WithoutCancel(t.Context()), s.container, nil); err != nil {
			t.Error(err)
		}
	})
	return s
}

// store tries everything once, so that the Store and not the SDK meets a fault.
func (s *shelf) store(t testing.TB, through policy.Transporter) *Store {
	t.Helper()
	return s.connect(t, StoreConfig{Transport: through, Retry: policy.RetryOptions{MaxRetries: -1}})
}

func (s *shelf) connect(t testing.TB, c StoreConfig) *Store {
	t.Helper()
	account := must.Have(tables.ParseAccount(s.account.ConnectionString()))(t)
	c.Account, c.Container = account, s.container
	store := must.Have(Connect(c))(t)
	store.block = 16 << 10 // so that few readings are some blocks
	return store
}

func counting(c *service.Counts[Kind]) func(context.Context, Operation) {
	return func(_ context.Context, o Operation) { c.Add(o.Kind) }
}

// object downloads an object with the SDK; it returns nil if there is none.
func (s *shelf) object(t testing.TB, name string) ([]byte, map[string]string) {
	t.Helper()
	r, err := s.account.Blobs(t).DownloadStream(t.Context(), s.container, name, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return nil, nil
	}
	must.Succeed(t, err)
	defer r.Body.Close()
	b := must.Have(io.ReadAll(r.Body))(t)
	meta := map[string]string{"type": *r.ContentType}
	for k, v := range r.Metadata {
		meta[strings.ToLower(k)] = *v
	}
	return b, meta
}

// lines reads an object without our own code.
func lines(t testing.TB, object []byte) (out []string) {
	t.Helper()
	zip := must.Have(gzip.NewReader(bytes.NewReader(object)))(t)
	in := bufio.NewReader(zip)
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF && line == "" {
			return out
		}
		must.Succeed(t, err)
		var reading struct {
			Device, Key string
			Time        time.Time
			Values      map[string]any
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		d.UseNumber()
		must.Succeed(t, d.Decode(&reading))
		out = append(out, fmt.Sprint(reading.Device, reading.Key, reading.Time.UnixNano(), reading.Values))
	}
}

// each yields readings.
func each(readings ...schema.Reading) iter.Seq2[schema.Reading, error] {
	return func(yield func(schema.Reading, error) bool) {
		for _, r := range readings {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// some returns n readings with so many bytes that do not compress. kind distinguishes them from others.
func some(kind, n, bytes int) (readings []schema.Reading) {
	random := rand.NewChaCha8([32]byte{byte(kind)})
	start := tables.TicksOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	for i := range n {
		b := make([]byte, bytes)
		random.Read(b) // never fails
		readings = append(readings, schema.Reading{Device: "d1",
			Key: schema.RowKey{Ticks: start.Add(time.Duration(i) * time.Second)},
			Properties: []tables.Property{{Name: "kind", Value: tables.Int32(int32(kind))},
				{Name: "bytes", Value: tables.Binary(b)}}})
	}
	return readings
}

// packed returns the object of readings as written without faults.
func packed(t testing.TB, s *shelf, readings []schema.Reading) []byte {
	t.Helper()
	name := azuretest.Name("packed")
	must.Succeed(t, s.store(t, nil).Write(t.Context(), name, 1, each(readings...)))
	b, _ := s.object(t, name)
	if len(lines(t, b)) != len(readings) {
		t.Fatalf("%d of %d readings are there", len(lines(t, b)), len(readings))
	}
	return b
}

func TestObjectHasEveryReadingOnceInOrder(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	readings := append([]schema.Reading{everyType()}, some(1, 500, 10)...)
	must.Succeed(t, s.store(t, nil).Write(t.Context(), "readings/tenant=a%3Ab/date=2026-11-20/%5Fd.jsonl.gz", 42,
		each(readings...)))
	b, meta := s.object(t, "readings/tenant=a%3Ab/date=2026-11-20/%5Fd.jsonl.gz")
	if meta["fence"] != "42" || meta["readings"] != "501" || meta["type"] != "application/gzip" {
		t.Errorf("metadata %v", meta)
	}
	got := lines(t, b)
	if len(got) != len(readings) {
		t.Fatalf("%d readings of %d", len(got), len(readings))
	}
	for i, r := range readings {
		line := must.Have(appendLine(nil, &r))(t)
		if want := lines(t, zipped(t, line)); got[i] != want[0] {
			t.Fatalf("reading %d is %s; want %s", i, got[i], want[0])
		}
	}
	zip := must.Have(gzip.NewReader(bytes.NewReader(b)))(t)
	first, err := bufio.NewReader(zip).ReadString('\n')
	if err != nil || first != wantEveryType {
		t.Errorf("the first line is %s, %v", first, err)
	}
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := zip.Write(text)
	must.Succeed(t, errors.Join(err, zip.Close()))
	return b.Bytes()
}

func TestEqualReadingsMakeEqualObjects(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for _, readings := range [][]schema.Reading{some(1, 100, 10), some(1, 100, 1<<10)} {
		if !bytes.Equal(packed(t, s, readings), packed(t, s, readings)) {
			t.Error("the second object differs from the first")
		}
	}
}

func TestNoReadingsMakeNoObject(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := s.store(t, nil)
	must.Succeed(t, store.Write(t.Context(), "none", 1, each()))
	if b, _ := s.object(t, "none"); b != nil {
		t.Errorf("an object of %d bytes", len(b))
	}
	broken := errors.New("the table is gone")
	err := store.Write(t.Context(), "none", 1, func(yield func(schema.Reading, error) bool) {
		_ = yield(some(1, 1, 1)[0], nil) && yield(schema.Reading{}, broken)
	})
	if b, _ := s.object(t, "none"); !errors.Is(err, broken) || b != nil {
		t.Errorf("half of the readings make an object of %d bytes, %v", len(b), err)
	}
}

func TestFenceDecidesWhoReplaces(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	store := s.store(t, nil)
	for _, w := range []struct {
		fence     tables.Ticks
		kind      int
		overtaken bool
	}{{5, 1, false}, {4, 2, true}, {5, 3, false}, {6, 4, false}, {1, 5, true}} {
		err := store.Write(t.Context(), "o", w.fence, each(some(w.kind, 3, 10)...))
		if errors.Is(err, commit.ErrOvertaken) != w.overtaken || !w.overtaken && err != nil {
			t.Errorf("fence %d: %v", w.fence, err)
		}
		if b, _ := s.object(t, "o"); bytes.Equal(b, packed(t, s, some(w.kind, 3, 10))) == w.overtaken {
			t.Errorf("fence %d: the object is not as it should be", w.fence)
		}
	}
}

// TestForeignObjects: an object that somebody has put there by hand is replaced, but not one with an unknown fence.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	must.Have(s.account.Blobs(t).UploadBuffer(t.Context(), s.container, "o", []byte("by hand"), nil))(t)
	must.Succeed(t, s.store(t, nil).Write(t.Context(), "o", 1, each(some(1, 3, 10)...)))
	c := s.account.Blobs(t).ServiceClient().NewContainerClient(s.container).NewBlobClient("o")
	bad := "high"
	must.Have(c.SetMetadata(t.Context(), map[string]*string{"fence": &bad}, nil))(t)
	if err := s.store(t, nil).Write(t.Context(), "o", 1, each(some(1, 3, 10)...)); err == nil ||
		!strings.Contains(err.Error(), `"high"`) {
		t.Errorf("over a fence that is none: %v", err)
	}
}

func TestErrorsAreNamed(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	must.Succeed(t, s.store(t, nil).Create(t.Context())) // it exists, which is fine
	missing := &shelf{s.account, azuretest.Name("c")}
	var counter service.Counts[Kind]
	absent := missing.connect(t, StoreConfig{OnOperation: counting(&counter)})
	err := absent.Write(t.Context(), "o", 1, each(some(1, 1, 1)...))
	if !errors.Is(err, ErrNoContainer) || !strings.Contains(err.Error(), missing.container+"/o") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("without a container: %v", err)
	}
	if got := fmt.Sprint(counter.Map()); got != "map[put object:1]" {
		t.Errorf("what will not be done is tried again: %s", got)
	}
	busy := &faults.Transport{Plan: faults.Random{Rates: map[faults.Fault]float64{faults.ServerBusy: 1}}}
	if err := s.store(t, busy).Write(t.Context(), "o", 1, each(some(1, 1, 1)...)); !errors.Is(err, tables.ErrBusy) {
		t.Errorf("busy: %v", err)
	}
	if _, err := Connect(StoreConfig{Account: tables.Account{Name: "a", Key: "no base64!",
		Blob: "http://localhost/a"}}); err == nil || strings.Contains(err.Error(), "no base64!") {
		t.Errorf("a key that is none: %v", err)
	}
	if _, err := Connect(StoreConfig{Account: tables.Account{Name: "a", Key: "aa=="}}); err == nil {
		t.Error("no blob service is fine")
	}
	gone, err := Connect(StoreConfig{Account: tables.Account{Name: "a", Blob: "http://127.0.0.1:1/a", SAS: "sig=secret"},
		Container: "c", Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	if err := gone.Write(t.Context(), "o", 1, each(some(1, 1, 1)...)); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("no answer: %v", err)
	}
}

func TestOperationsAreCounted(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	var counter service.Counts[Kind]
	var sent atomic.Int64
	store := s.connect(t, StoreConfig{OnOperation: func(_ context.Context, o Operation) {
		counter.Add(o.Kind)
		if sent.Add(o.Bytes); o.Object != "o" || o.Status == 0 || o.Took <= 0 {
			t.Errorf("%+v", o)
		}
	}})
	for _, w := range []struct {
		size int
		want map[Kind]int64
	}{
		{10, map[Kind]int64{KindPut: 1}},
		{10, map[Kind]int64{KindPut: 3, KindLook: 1}}, // replaced
		{1 << 10, map[Kind]int64{KindPut: 3, KindLook: 2, KindPutBlock: 3, KindCommit: 2}},
	} {
		must.Succeed(t, store.Write(t.Context(), "o", 1, each(some(1, count, w.size)...)))
		if got := counter.Map(); fmt.Sprint(got) != fmt.Sprint(w.want) {
			t.Errorf("%v; want %v", got, w.want)
		}
	}
	if sent.Load() < count<<10 {
		t.Errorf("%d bytes", sent.Load())
	}
}

// A nowhere accepts everything and stores nothing.
type nowhere struct{ bytes, largest int64 }

func (n *nowhere) Do(r *http.Request) (*http.Response, error) {
	size, err := io.Copy(io.Discard, r.Body)
	n.bytes, n.largest = n.bytes+size, max(n.largest, size)
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: http.NoBody, Request: r},
		errors.Join(err, r.Body.Close())
}

var large = flag.Int64("large", 20, "how many MB of readings a large day has")

// TestLargeDayTakesBoundedMemory: the same, however large the day is.
func TestLargeDayTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory, and the race detector takes several times as much")
	}
	to := &nowhere{}
	store := must.Have(Connect(StoreConfig{Account: tables.Account{Name: "a", Blob: "http://nowhere/a", SAS: "sig=x"},
		Container: "c", Transport: to}))(t)
	var text, n int64
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	readings := func(yield func(schema.Reading, error) bool) {
		r := schema.Reading{Device: "contoso:us-5260:Giles-7163712301905"}
		random := rand.New(rand.NewPCG(1, 2))
		var line []byte
		for ; text < *large<<20; n++ {
			r.Key.Ticks++
			r.Properties = r.Properties[:0]
			for i := range 10 {
				r.Properties = append(r.Properties, tables.Property{Name: "sensor" + strconv.Itoa(i),
					Value: tables.Double(random.NormFloat64())})
			}
			line, _ = appendLine(line[:0], &r)
			if text += int64(len(line)); !yield(r, nil) {
				return
			}
			if n%10_000 == 0 {
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
			}
		}
	}
	start := time.Now()
	must.Succeed(t, store.Write(t.Context(), "o", 1, readings))
	t.Logf("%d readings, %d MB, in %d MB, the largest request %d bytes, took %v, and at most %d MB of heap",
		n, text>>20, to.bytes>>20, to.largest, time.Since(start), most>>20)
	if most > 32<<20 || to.largest > blockSize {
		t.Error("that is too much")
	}
}

// TestBlocksLeftBehindAreNoPart: the next commit drops blocks of a writer that died.
func TestBlocksLeftBehindAreNoPart(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dead := s.store(t, nil).newBody("o", gzipFile)
	must.Succeed(t, dead.write(t.Context(), bytes.Repeat([]byte("x"), dead.block+1)))
	readings := some(1, count, 1<<10)
	must.Succeed(t, s.store(t, nil).Write(t.Context(), "o", 1, each(readings...)))
	if b, _ := s.object(t, "o"); !bytes.Equal(b, packed(t, s, readings)) {
		t.Error("the object is not as it should be")
	}
	if err := dead.put(t.Context(), &blob.ModifiedAccessConditions{}); !errors.Is(err, errBlocksGone) {
		t.Errorf("the dead writer's blocks: %v", err)
	}
}

func TestKindsHaveNames(t *testing.T) {
	var names []string
	for k := range kinds {
		names = append(names, k.String())
	}
	if slices.Sort(names); len(slices.Compact(names)) != int(kinds) {
		t.Error(names)
	}
}
