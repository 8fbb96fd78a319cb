package local_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// testdata/format-N is a directory as the first release with format N wrote it.
// It is never changed; a new one is added when Format grows.
var writeFormat = flag.Bool("format.write", false, "write testdata/format-N for the current format if it is missing")

const (
	storedEntity = `{"Binary":"AQL/","Binary@odata.type":"Edm.Binary","Bool":true,"Double":1.5,"Int32":7,` +
		`"Int64":"9007199254740993","Int64@odata.type":"Edm.Int64","PartitionKey":"it's","RowKey":"1","String":"grüße",` +
		`"Time":"2026-11-20T09:17:05.1234567Z","Time@odata.type":"Edm.DateTime"}`
	storedFileSize = 64<<10 + 1 // bytes; smaller blobs are stored in the database
)

func TestDirectoriesOfEveryFormatAreRead(t *testing.T) {
	current := filepath.Join("testdata", fmt.Sprint("format-", local.Format))
	if _, err := os.Stat(current); *writeFormat && os.IsNotExist(err) {
		fill(t, current)
	}
	for n := range local.Format {
		t.Run(fmt.Sprint("format", n+1), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			must.Succeed(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", fmt.Sprint("format-", n+1)))))
			before := formatOf(t, dir)
			for range 2 {
				verify(t, dir)
			}
			if after := formatOf(t, dir); after != before { // an older program could not read it any more
				t.Errorf("opening it raised its format from %s to %s", before, after)
			}
		})
	}
}

// formatOf is the format of a directory and of Pebble's files in it.
func formatOf(t *testing.T, dir string) string {
	t.Helper()
	own, err := os.ReadFile(filepath.Join(dir, "format"))
	pebble, errGlob := filepath.Glob(filepath.Join(dir, "db", "marker.format-version.*"))
	if err != nil || errGlob != nil || len(pebble) != 1 {
		t.Fatal(err, errGlob, pebble)
	}
	return strings.TrimSpace(string(own)) + " " + filepath.Base(pebble[0])
}

// open starts a server on dir, and returns a function that stops it.
func open(t *testing.T, dir string) (azuretest.Account, func()) {
	t.Helper()
	s := must.Have(local.Start(local.Config{Dir: dir}))(t)
	a := azuretest.Account{Name: s.Account(), Key: s.Key(), TableURL: s.TableURL, QueueURL: s.QueueURL,
		BlobURL: s.BlobURL}
	return a, func() {
		must.Succeed(t, s.Close())
	}
}

// done is the error of a call.
func done[V any](_ V, err error) error { return err }

func body(text string) io.ReadSeekCloser { return streaming.NopCloser(strings.NewReader(text)) }

func fill(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	a, stop := open(t, dir)
	table, queue := a.Tables(t).NewClient("Readings"), a.Queues(t).NewQueueClient("jobs")
	policy := &aztables.SignedIdentifier{ID: to.Ptr("cohort-0"),
		AccessPolicy: &aztables.AccessPolicy{Permission: to.Ptr("a")}}
	if err := errors.Join(
		done(table.CreateTable(ctx, nil)),
		done(table.AddEntity(ctx, []byte(storedEntity), nil)),
		done(table.SetAccessPolicy(ctx,
			&aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{policy}})),
		done(queue.Create(ctx, &azqueue.CreateOptions{Metadata: map[string]*string{"site": to.Ptr("north")}})),
		done(queue.EnqueueMessage(ctx, "a <message>", &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr[int32](-1)})),
	); err != nil {
		t.Fatal(err)
	}
	stop()
	a, stop = open(t, dir) // moves what was written from the log to a table
	blobs := a.Blobs(t)
	blocks := blobs.ServiceClient().NewContainerClient("archive").NewBlockBlobClient("blocks")
	if err := errors.Join(
		done(blobs.CreateContainer(ctx, "archive", nil)),
		done(blobs.UploadBuffer(ctx, "archive", "small", []byte("hello"), nil)),
		done(blobs.UploadBuffer(ctx, "archive", "dir/file", make([]byte, storedFileSize), nil)),
		done(blocks.StageBlock(ctx, "QQ==", body("of "), nil)),
		done(blocks.StageBlock(ctx, "Qg==", body("blocks"), nil)),
		done(blocks.CommitBlockList(ctx, []string{"QQ==", "Qg=="}, nil)),
	); err != nil {
		t.Fatal(err)
	}
	stop()
}

func verify(t *testing.T, dir string) {
	t.Helper()
	a, stop := open(t, dir)
	defer stop()
	ctx := t.Context()
	table, queue := a.Tables(t).NewClient("readings"), a.Queues(t).NewQueueClient("jobs")
	entity, errEntity := table.GetEntity(ctx, "it's", "1",
		&aztables.GetEntityOptions{Format: to.Ptr(aztables.MetadataFormatMinimal)})
	acl, errACL := table.GetAccessPolicy(ctx, nil)
	properties, errQueue := queue.GetProperties(ctx, nil)
	messages, errMessages := queue.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr[int32](32)})
	must.Succeed(t, errors.Join(errEntity, errACL, errQueue, errMessages))
	var got, want map[string]any
	must.Succeed(t, errors.Join(json.Unmarshal(entity.Value, &got), json.Unmarshal([]byte(storedEntity), &want)))
	for _, name := range []string{"odata.metadata", "odata.etag", "Timestamp"} {
		delete(got, name)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("entity %v, want %v", got, want)
	}
	if len(acl.SignedIdentifiers) != 1 || *acl.SignedIdentifiers[0].ID != "cohort-0" {
		t.Errorf("%d policies, want cohort-0", len(acl.SignedIdentifiers))
	}
	if len(messages.Messages) != 1 || *messages.Messages[0].MessageText != "a <message>" ||
		*properties.Metadata["Site"] != "north" {
		t.Errorf("%d messages, metadata %v", len(messages.Messages), properties.Metadata)
	}
	for name, want := range map[string]string{
		"small": "hello", "blocks": "of blocks", "dir/file": strings.Repeat("\x00", storedFileSize)} {
		content := make([]byte, len(want))
		if n, err := a.Blobs(t).DownloadBuffer(ctx, "archive", name, content,
			nil); string(content) != want || err != nil {
			t.Errorf("blob %s: %d bytes, %v", name, n, err)
		}
	}
}
