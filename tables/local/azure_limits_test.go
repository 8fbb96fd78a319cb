package local

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/queue"
	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// In a rehearsal, the account key is held to Azure's targets too, for partitions and for queues.
func TestAzureLimitsHoldForTheAccountKey(t *testing.T) {
	s := must.Have(Open(Config{Dir: t.TempDir(), Key: []byte(wiretest.Key), AzureLimits: true}))(t)
	defer s.Close()
	now := time.Now()
	clock := func() time.Time { return now }
	t.Run("tables", func(t *testing.T) {
		at := wiretest.Serve(t, s.bounded(s.table.Handler(clock, slog.New(slog.DiscardHandler))))
		rehearseRows(t, s, at.Base(), &now)
	})
	t.Run("queues", func(t *testing.T) {
		q := must.Have(queue.New(s.store, s.Account(), s.config.Key, clock))(t)
		rehearseMessages(wiretest.Serve(t, s.bounded(q.Handler(slog.New(slog.DiscardHandler)))), &now)
	})
}

func rehearseRows(t *testing.T, s *Server, url string, now *time.Time) {
	cred := must.Have(aztables.NewSharedKeyCredential(s.Account(), s.Key()))(t)
	o := azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}
	client := must.Have(aztables.NewServiceClientWithSharedKey(url, cred, &aztables.ClientOptions{ClientOptions: o}))(t)
	rows := client.NewClient("rows")
	must.Have(rows.CreateTable(t.Context(), nil))(t)
	row := func(partition string, n int) []byte {
		return fmt.Appendf(nil, `{"PartitionKey":"%s","RowKey":"%d"}`, partition, n)
	}
	for i := range 20 {
		var actions []aztables.TransactionAction
		for n := range 100 {
			actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd,
				Entity: row("p", 100*i+n)})
		}
		must.Have(rows.SubmitTransaction(t.Context(), actions, nil))(t)
	}
	insert := func(partition string, n int) error {
		_, err := rows.AddEntity(t.Context(), row(partition, n), nil)
		return err
	}
	wantBusy(t, "an insert", insert("p", 2000))
	_, err := rows.GetEntity(t.Context(), "p", "0", nil)
	wantBusy(t, "a read", err)
	if err := insert("other", 0); err != nil {
		t.Errorf("in another partition: %v", err)
	}
	*now = now.Add(time.Second)
	if err := insert("p", 2000); err != nil {
		t.Errorf("in the next second: %v", err)
	}
}

// rehearseMessages takes turns at putting and getting, which count alike.
func rehearseMessages(s *wiretest.Server, now *time.Time) {
	s.Do("PUT", "/jobs", "").Want(s, 201, "")
	s.Do("PUT", "/other", "").Want(s, 201, "")
	const text = "<QueueMessage><MessageText>x</MessageText></QueueMessage>"
	for range 1000 {
		s.Do("POST", "/jobs/messages", text).Want(s, 201, "")
	}
	for range 40 {
		s.Do("GET", "/jobs/messages?numofmessages=25", "").Want(s, 200, "")
	}
	s.Do("POST", "/jobs/messages", text).Want(s, 503, "ServerBusy").WantHeaders(s, "Retry-After", "1")
	s.Do("POST", "/other/messages", text).Want(s, 201, "")
	*now = now.Add(time.Second)
	s.Do("POST", "/jobs/messages", text).Want(s, 201, "")
}

func wantBusy(t *testing.T, what string, err error) {
	t.Helper()
	re, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok || re.StatusCode != 503 || re.ErrorCode != "ServerBusy" || re.RawResponse.Header.Get("Retry-After") != "1" {
		t.Errorf("%s beyond the limit: %v", what, err)
	}
}
