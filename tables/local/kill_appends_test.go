package local_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"furrow/tables/azuretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
)

// An appendLoad appends blocks to one blob. Some are in the store, others in files.
type appendLoad struct {
	worker int
	blob   *appendblob.Client
	tried  int
	acked  int
}

func (l *appendLoad) prepare(t *testing.T, a azuretest.Account) error {
	container := a.Blobs(t).ServiceClient().NewContainerClient("appends")
	l.blob = container.NewAppendBlobClient(fmt.Sprint("log", l.worker))
	if err := ignore(done(container.Create(t.Context(), nil)), "ContainerAlreadyExists"); err != nil || l.tried > 0 {
		return err
	}
	return done(l.blob.Create(t.Context(), nil))
}

func (l *appendLoad) block(n int) string {
	return strings.Repeat(fmt.Sprintf("%d/%d ", l.worker, n), 1+n%3*20_000)
}

func (l *appendLoad) step(ctx context.Context) error {
	l.tried++
	body := streaming.NopCloser(strings.NewReader(l.block(l.tried)))
	if _, err := l.blob.AppendBlock(ctx, body, nil); err != nil {
		return err
	}
	l.acked = l.tried
	return nil
}

func (l *appendLoad) verify(ctx context.Context) error {
	answer, err := l.blob.DownloadStream(ctx, nil)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var want strings.Builder
	for n := 1; n <= l.acked; n++ {
		want.WriteString(l.block(n))
	}
	if string(got) == want.String() {
		l.tried = l.acked
		return nil
	}
	if want.WriteString(l.block(l.tried)); string(got) == want.String() {
		l.acked = l.tried
		return nil
	}
	return fmt.Errorf("append blob %d has %d bytes, of neither %d nor %d blocks", l.worker, len(got), l.acked, l.tried)
}
