package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func entity(t *testing.T, rk string) []byte {
	t.Helper()
	b := must.Have(json.Marshal(map[string]string{"PartitionKey": "p", "RowKey": rk}))(t)
	return b
}

// The SDK's pager returns every row once and in order, whichever pages are empty.
func TestEmptyPagesLoseNoRows(t *testing.T) {
	a := azuretest.Local(t)
	plans := []faults.Plan{faults.Script{0: faults.EmptyPage},
		faults.Script{0: faults.EmptyPage, 1: faults.EmptyPage, 4: faults.EmptyPage, 5: faults.EmptyPage}}
	top := &aztables.ListEntitiesOptions{Top: to.Ptr[int32](3)}
	for seed := range uint64(5) {
		plans = append(plans, faults.Random{Seed: seed, Rates: map[faults.Fault]float64{faults.EmptyPage: 0.5}})
	}
	name := azuretest.Name("t")
	owner := a.MakeTable(t, name)
	for i := range 10 {
		must.Have(owner.AddEntity(t.Context(), entity(t, fmt.Sprint(i)), nil))(t)
	}
	for _, plan := range plans {
		tr := &faults.Transport{Plan: plan}
		a.Transport = tr
		got, empty := "", 0
		for p := a.Tables(t).NewClient(name).NewListEntitiesPager(top); p.More(); {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatalf("%v: %v", plan, err)
			}
			if len(page.Entities) == 0 {
				empty++
			}
			for _, b := range page.Entities {
				var e struct{ RowKey string }
				must.Succeed(t, json.Unmarshal(b, &e))
				got += e.RowKey
			}
		}
		if got != "0123456789" {
			t.Errorf("%v: rows %s, after %v", plan, got, tr.Injected())
		}
		if empty != len(tr.Injected()) {
			t.Errorf("%v: %d empty pages of %v", plan, empty, tr.Injected())
		}
	}
}

// The SDKs of all three services read the codes of the refusals.
func TestRefusalsCarryAzuresCodes(t *testing.T) {
	a := azuretest.Account{Name: "acct", Key: "a2V5", TableURL: "http://t.example/acct",
		QueueURL: "http://q.example/acct", BlobURL: "http://b.example/acct"}
	for fault, want := range map[faults.Fault]string{faults.ServerBusy: "503 ServerBusy",
		faults.TimedOut: "500 OperationTimedOut"} {
		a.Transport = &faults.Transport{Plan: faults.Script{0: fault, 1: fault, 2: fault, 3: fault}}
		_, table := a.Tables(t).CreateTable(t.Context(), "t", nil)
		_, batch := a.Tables(t).NewClient("t").SubmitTransaction(t.Context(),
			[]aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: entity(t, "r")}}, nil)
		_, queue := a.Queues(t).CreateQueue(t.Context(), "q", nil)
		_, blob := a.Blobs(t).CreateContainer(t.Context(), "c", nil)
		for service, err := range map[string]error{"table": table, "batch": batch, "queue": queue, "blob": blob} {
			re, ok := errors.AsType[*azcore.ResponseError](err)
			if !ok {
				t.Errorf("%s: %v", service, err)
			} else if got := fmt.Sprint(re.StatusCode, " ", re.ErrorCode); got != want {
				t.Errorf("%s: %s; want %s", service, got, want)
			}
		}
	}
}

// An insert whose answer is lost, or that is done twice, is stored, and repeating it
// conflicts. Add-only writers must take both for success.
func TestRepeatedInsertConflicts(t *testing.T) {
	a := azuretest.Local(t)
	a.Transport = &faults.Transport{Plan: faults.Script{1: faults.AnswerLost, 3: faults.Twice, 4: faults.TimedOutDone}}
	c := a.NewTable(t) // operation 0
	code := func(rk string) string {
		_, err := c.AddEntity(t.Context(), entity(t, rk), nil)
		if re, ok := errors.AsType[*azcore.ResponseError](err); ok {
			return re.ErrorCode
		}
		return fmt.Sprint(err != nil)
	}
	const exists = "EntityAlreadyExists"
	for _, c := range [][2]string{{"a", "true"}, {"a", exists}, {"b", exists}, {"c", "OperationTimedOut"}, {"c", exists}} {
		if got := code(c[0]); got != c[1] {
			t.Errorf("insert of %s: %s; want %s", c[0], got, c[1])
		}
	}
}
