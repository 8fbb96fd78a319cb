package local_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// TestBackupHasWhatWasAcknowledged takes backups at random times while rows are inserted and blobs of several sizes are
// overwritten. Each of them opens, and has what was acknowledged before it.
func TestBackupHasWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := must.Have(local.Start(local.Config{Dir: dir}))(t)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	w := newVersions(t, s)
	must.Succeed(t, w.create())
	stop := w.write()
	seed := cmp.Or(*killSeed, uint64(time.Now().UnixNano()))
	t.Logf("seed %d, %d rounds", seed, killRounds())
	random := rand.New(rand.NewPCG(seed, 0))
	for range killRounds() {
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond) // the random moment is the test
		least := w.acknowledged()
		body := must.Have(local.FetchBackup(t.Context(), http.DefaultClient, s.Account(), s.Key(), s.BlobURL))(t)
		copied := t.TempDir()
		must.Succeed(t, errors.Join(extract(copied, body), body.Close()))
		served := must.Have(local.Start(local.Config{Dir: copied}))(t)
		newVersions(t, served).mustHave(least)
		must.Succeed(t, served.Close())
	}
	stop()
	t.Logf("%d rows and %d blobs were written", w.done[0].Load(), w.done[1].Load()+w.done[2].Load())
	left, err := os.ReadDir(filepath.Join(dir, "checkpoints"))
	if len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("checkpoints are left: %v, %v", left, err)
	}
}

// TestOnlyTheAccountKeyGetsABackup tries with a key of another account.
func TestOnlyTheAccountKeyGetsABackup(t *testing.T) {
	t.Parallel()
	s := must.Have(local.Start(local.Config{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	other := must.Have(local.Start(local.Config{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { must.Succeed(t, other.Close()) })
	_, err := local.FetchBackup(t.Context(), http.DefaultClient, s.Account(), other.Key(), s.BlobURL)
	if err == nil || !strings.Contains(err.Error(), "AuthenticationFailed") {
		t.Errorf("with another key: %v", err)
	}
}

// versions writes ever newer versions: a row each, and blobs that are kept in the store and in files.
type versions struct {
	t     *testing.T
	rows  *tables.Table
	blobs *azblob.Client
	done  [3]atomic.Int64 // versions acknowledged: rows, short blobs, long blobs
}

// sizes are those of blobs.
func sizes() [3]int { return [...]int{1: 1 << 10, 2: 200 << 10} }

func newVersions(t *testing.T, s *local.Running) *versions {
	t.Helper()
	client := must.Have(tables.Connect(tables.Config{Account: must.Have(tables.ParseAccount(s.ConnectionString()))(t)}))(t)
	blobs := must.Have(azblob.NewClientFromConnectionString(s.ConnectionString(), nil))(t)
	return &versions{t: t, rows: client.Table("versions"), blobs: blobs}
}

func (v *versions) create() error {
	_, err := v.blobs.CreateContainer(v.t.Context(), "versions", nil)
	return errors.Join(err, v.rows.Create(v.t.Context()))
}

// write writes until stop is called.
func (v *versions) write() (stop func()) {
	var running sync.WaitGroup
	var stopped atomic.Bool
	for i := range v.done {
		running.Go(func() {
			for !stopped.Load() {
				if err := v.one(i, v.done[i].Load()+1); err != nil {
					v.t.Error(err)
					return
				}
				v.done[i].Add(1)
			}
		})
	}
	return func() { stopped.Store(true); running.Wait() }
}

func (v *versions) one(i int, n int64) error {
	ctx := v.t.Context()
	if i == 0 {
		_, err := v.rows.Do(ctx, tables.Insert(tables.Entity{PartitionKey: "p", RowKey: fmt.Sprintf("%09d", n)}))
		return err
	}
	text := bytes.Repeat(fmt.Appendf(nil, "%09d,", n), sizes()[i]/10)
	_, err := v.blobs.UploadBuffer(ctx, "versions", fmt.Sprint(i), text, nil)
	return err
}

func (v *versions) acknowledged() (n [3]int64) {
	for i := range n {
		n[i] = v.done[i].Load()
	}
	return n
}

// mustHave checks that a copy has at least these versions, each of them whole.
func (v *versions) mustHave(least [3]int64) {
	v.t.Helper()
	var rows int64
	for page, err := range v.rows.Rows(v.t.Context(), tables.Query{}) {
		must.Succeed(v.t, err)
		for _, e := range page.Rows {
			if rows++; e.RowKey != fmt.Sprintf("%09d", rows) {
				v.t.Fatalf("row %d is %s", rows, e.RowKey)
			}
		}
	}
	if rows < least[0] {
		v.t.Errorf("%d rows, and %d were acknowledged", rows, least[0])
	}
	for i := 1; i < len(least); i++ {
		if least[i] == 0 {
			continue
		}
		answer := must.Have(v.blobs.DownloadStream(v.t.Context(), "versions", fmt.Sprint(i), nil))(v.t)
		text := must.Have(io.ReadAll(answer.Body))(v.t)
		n, err := strconv.ParseInt(string(text[:9]), 10, 64)
		if err != nil || n < least[i] || !bytes.Equal(text, bytes.Repeat(text[:10], sizes()[i]/10)) {
			v.t.Errorf("a blob of %d bytes begins with %q, and version %d was acknowledged", len(text), text[:10], least[i])
		}
	}
}

// extract writes the files of an archive to a directory.
func extract(dir string, from io.Reader) error {
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Join(dir, h.Name)
		text, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o700)
		}
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
