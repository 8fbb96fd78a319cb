package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// A heldOpen is a write whose sender keeps the last byte of its body.
type heldOpen struct {
	conn net.Conn
	last byte
}

// holdOpen sends all of a request except for the last byte, once the server reads the body: the token
// has been checked by then.
func holdOpen(t *testing.T, method, target string, token url.Values, body string, headers ...string) *heldOpen {
	t.Helper()
	u := must.Have(url.Parse(target + "?" + token.Encode()))(t)
	conn := must.Have(net.Dial("tcp", u.Host))(t)
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n%s\r\n", method,
		u.RequestURI(), u.Host, len(body), strings.Join(headers, ""))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server says %q, %v", line, err)
	}
	must.Have(io.WriteString(conn, body[:len(body)-1]))(t)
	return &heldOpen{conn, body[len(body)-1]}
}

// finish sends the last byte and returns the status of the answer.
func (h *heldOpen) finish(t *testing.T) int {
	t.Helper()
	status, _ := h.answer(t)
	return status
}

// answer sends the last byte and returns the status and the body of the answer.
func (h *heldOpen) answer(t *testing.T) (status int, body string) {
	t.Helper()
	must.Have(h.conn.Write([]byte{h.last}))(t)
	r := bufio.NewReader(h.conn)
	if line, err := r.Peek(2); err != nil || string(line) == "\r\n" {
		r.Discard(2) // the end of 100 Continue
	}
	resp := must.Have(http.ReadResponse(r, nil))(t)
	return resp.StatusCode, string(must.Have(io.ReadAll(resp.Body))(t))
}

// TestAWriteHeldOpenIsCheckedAgainWhenItIsApplied: a token may expire or be revoked while its request is under way.
func TestAWriteHeldOpenIsCheckedAgainWhenItIsApplied(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := must.Have(Start(Config{Dir: t.TempDir(), Account: wiretest.Account, Key: []byte(wiretest.Key), Memory: true,
		Now: now}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	tables, errT := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), nil)
	queues, errQ := azqueue.NewServiceClientFromConnectionString(s.ConnectionString(), nil)
	blobs, errB := container.NewClientFromConnectionString(s.ConnectionString(), "held", nil)
	if errT != nil || errQ != nil || errB != nil {
		t.Fatal(errT, errQ, errB)
	}
	table, queue := tables.NewClient("held"), queues.NewQueueClient("held")
	must.Have(table.CreateTable(ctx, nil))(t)
	must.Have(queue.Create(ctx, nil))(t)
	must.Have(blobs.Create(ctx, nil))(t)
	id, add, long := "full", "a", time.Now().Add(24*time.Hour).UTC()
	expiry := wiretest.Expiry
	for _, service := range []struct {
		name   wire.Service
		method string
		target string
		terms  []string
		body   string
		header string
		set    func(ctx context.Context, revoked bool) error
	}{
		{wire.Table, "POST", s.TableURL + "/held", []string{"tn", "held", "spk", "d", "epk", "d"},
			`{"PartitionKey":"d","RowKey":"1"}`, "Content-Type: application/json\r\n",
			func(ctx context.Context, revoked bool) error {
				policies := []*aztables.SignedIdentifier{{ID: &id,
					AccessPolicy: &aztables.AccessPolicy{Permission: &add, Expiry: &long}}}
				if revoked {
					policies = nil
				}
				_, err := table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{TableACL: policies})
				return err
			}},
		{wire.Queue, "POST", s.QueueURL + "/held/messages", nil,
			`<QueueMessage><MessageText>x</MessageText></QueueMessage>`, "",
			func(ctx context.Context, revoked bool) error {
				policies := []*azqueue.SignedIdentifier{{ID: &id,
					AccessPolicy: &azqueue.AccessPolicy{Permission: &add, Expiry: &long}}}
				if revoked {
					policies = nil
				}
				_, err := queue.SetAccessPolicy(ctx, &azqueue.SetAccessPolicyOptions{QueueACL: policies})
				return err
			}},
		{wire.Blob, "PUT", s.BlobURL + "/held/b", []string{"sr", "c"}, "content", "x-ms-blob-type: BlockBlob\r\n",
			func(ctx context.Context, revoked bool) error {
				create := "c"
				policies := []*container.SignedIdentifier{{ID: &id,
					AccessPolicy: &container.AccessPolicy{Permission: &create, Expiry: &long}}}
				if revoked {
					policies = nil
				}
				_, err := blobs.SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{ContainerACL: policies})
				return err
			}},
	} {
		t.Run(string(service.name), func(t *testing.T) {
			token := func(terms ...string) url.Values {
				return wiretest.SAS(service.name, "held", append(terms, service.terms...)...)
			}
			must.Succeed(t, service.set(ctx, false))
			revoked := holdOpen(t, service.method, service.target, token("si", id), service.body, service.header)
			perms := map[wire.Service]string{wire.Table: "a", wire.Queue: "a", wire.Blob: "c"}[service.name]
			end := now().Add(time.Minute).Truncate(time.Second)
			expired := holdOpen(t, service.method, service.target,
				token("sp", perms, "se", end.UTC().Format(time.RFC3339)), service.body, service.header)
			valid := holdOpen(t, service.method, service.target, token("sp", perms, "se", expiry), service.body, service.header)
			must.Succeed(t, service.set(ctx, true))
			ahead.Add(int64(time.Minute))
			for name, c := range map[string]struct {
				h    *heldOpen
				want int
			}{"revoked": {revoked, 403}, "expired": {expired, 403}} {
				if got := c.h.finish(t); got != c.want {
					t.Errorf("a token that is %s before the body ends: %d", name, got)
				}
			}
			if got := valid.finish(t); got/100 != 2 {
				t.Errorf("a token that is valid: %d", got)
			}
			if service.name != wire.Table {
				return
			}
			row := must.Have(table.GetEntity(ctx, "d", "1", nil))(t)
			var stored aztables.Entity
			if err := json.Unmarshal(row.Value, &stored); err != nil || time.Time(stored.Timestamp).Before(end) {
				t.Errorf("applied after %s with Timestamp %s, %v", end, time.Time(stored.Timestamp), err)
			}
		})
	}
}

// TestAQueryHeldOpenIsCheckedAgain: that of a transaction comes in its body, which may take long to arrive.
func TestAQueryHeldOpenIsCheckedAgain(t *testing.T) {
	t.Parallel()
	s := must.Have(Start(Config{Dir: t.TempDir(), Account: wiretest.Account, Key: []byte(wiretest.Key),
		Memory: true}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	tables := must.Have(aztables.NewServiceClientFromConnectionString(s.ConnectionString(), nil))(t)
	table := tables.NewClient("held")
	must.Have(table.CreateTable(t.Context(), nil))(t)
	must.Have(table.AddEntity(t.Context(), []byte(`{"PartitionKey":"d","RowKey":"1","Body":"secret"}`), nil))(t)
	id, read, long := "full", "r", time.Now().Add(24*time.Hour).UTC()
	policy := &aztables.SignedIdentifier{ID: &id,
		AccessPolicy: &aztables.AccessPolicy{Permission: &read, Expiry: &long}}
	must.Have(table.SetAccessPolicy(t.Context(),
		&aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{policy}}))(t)
	query := func(terms ...string) *heldOpen {
		token := wiretest.SAS(wire.Table, "held", append(terms, "tn", "held", "spk", "d", "epk", "d")...)
		return holdOpen(t, "POST", s.TableURL+"/$batch", token, "--b\r\nContent-Type: application/http\r\n\r\n"+
			"GET "+s.TableURL+"/held() HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--b--",
			"Content-Type: multipart/mixed; boundary=b\r\n")
	}
	revoked, valid := query("si", id), query("sp", read, "se", wiretest.Expiry)
	must.Have(table.SetAccessPolicy(t.Context(), nil))(t)
	if _, body := revoked.answer(t); !strings.Contains(body, "HTTP/1.1 403") || strings.Contains(body, "secret") {
		t.Errorf("a token that was revoked before the body ended: %s", body)
	}
	if _, body := valid.answer(t); !strings.Contains(body, "secret") {
		t.Errorf("a token that is valid: %s", body)
	}
}
