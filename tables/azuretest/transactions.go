package azuretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func action(kind aztables.TransactionType, etag *azcore.ETag, entity []byte) aztables.TransactionAction {
	return aztables.TransactionAction{ActionType: kind, IfMatch: etag, Entity: entity}
}

func add(entity []byte) aztables.TransactionAction {
	return action(aztables.TransactionTypeAdd, nil, entity)
}

func submit(t *testing.T, c *aztables.Client, actions ...aztables.TransactionAction) error {
	t.Helper()
	return errOf(c.SubmitTransaction(t.Context(), actions, nil))
}

// A failed transaction is answered with 202. The error is in the multipart body, which
// the SDK returns unread in RawResponse.
type failed struct {
	answer string // as answer gives it
	index  int    // of the operation that failed; -1 if unknown
}

func transactionFailure(re *azcore.ResponseError) failed {
	b, err := runtime.Payload(re.RawResponse)
	if err != nil {
		return failed{err.Error(), -1}
	}
	var e struct {
		Error struct {
			Code    string
			Message struct{ Value string }
		} `json:"odata.error"`
	}
	inner := regexp.MustCompile(`HTTP/1\.1 (\d{3})`).FindSubmatch(b)
	start := bytes.Index(b, []byte(`{"odata.error"`))
	if inner == nil || start < 0 {
		return failed{"202 without an error in its parts", -1}
	}
	if err := json.NewDecoder(bytes.NewReader(b[start:])).Decode(&e); err != nil {
		return failed{err.Error(), -1}
	}
	f := failed{string(inner[1]) + " " + e.Error.Code, -1}
	number, _, _ := strings.Cut(e.Error.Message.Value, ":")
	if n, err := strconv.Atoi(number); err == nil {
		f.index = n
	}
	return f
}

func failedAt(t *testing.T, err error) int {
	t.Helper()
	re, ok := err.(*azcore.ResponseError)
	if !ok || re.StatusCode != 202 {
		t.Errorf("%v is no failed transaction", err)
		return -1
	}
	return transactionFailure(re).index
}

// One transaction may add, merge, replace and delete.
func (tables) TransactionDoesEveryKind(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, rk := range []string{"merge", "replace", "delete"} {
		insert(t, c, "p", rk, props{"Old": "x"})
	}
	must(t, submit(t, c,
		add(row(t, "p", "add", props{"New": "x"})),
		action(aztables.TransactionTypeUpdateMerge, to.Ptr(azcore.ETagAny), row(t, "p", "merge", props{"New": "x"})),
		action(aztables.TransactionTypeUpdateReplace, to.Ptr(azcore.ETagAny), row(t, "p", "replace", props{"New": "x"})),
		action(aztables.TransactionTypeInsertMerge, nil, row(t, "p", "insertmerge", props{"New": "x"})),
		action(aztables.TransactionTypeInsertReplace, nil, row(t, "p", "insertreplace", props{"New": "x"})),
		action(aztables.TransactionTypeDelete, nil, row(t, "p", "delete", nil)),
	))
	rows := value(query(t, c, nil))(t)
	got := ""
	for _, r := range rows {
		got += fmt.Sprintf(" %s%v", r.RowKey, r.Properties)
	}
	expect(t, a, "rows", got,
		" addmap[New:x] insertmergemap[New:x] insertreplacemap[New:x] mergemap[New:x Old:x] replacemap[New:x]")
}

// A transaction with one bad operation changes nothing.
func (tables) TransactionIsAtomic(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "there", props{"V": "old"})
	insert(t, c, "p", "kept", nil)
	err := submit(t, c,
		add(row(t, "p", "new", nil)),
		action(aztables.TransactionTypeInsertReplace, nil, row(t, "p", "changed", nil)),
		action(aztables.TransactionTypeDelete, nil, row(t, "p", "kept", nil)),
		add(row(t, "p", "there", props{"V": "new"})),
	)
	expect(t, a, "transaction", answer(err), "409 EntityAlreadyExists")
	expect(t, a, "rows", keys(t, c, "PartitionKey eq 'p'"), "p/kept p/there")
	p, _ := stored(t, c, "p", "there")
	expect(t, a, "value", p["V"], any("old"))
}

// The error's message begins with the index of the operation that failed, counted from 0.
// The SDK's error has only the status 202; code and index are in the body.
func (tables) TransactionNamesTheFailedOperation(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "2", nil)
	var adds []aztables.TransactionAction
	for _, rk := range []string{"0", "1", "2", "3"} {
		adds = append(adds, add(row(t, "p", rk, nil)))
	}
	err := submit(t, c, adds...)
	expect(t, a, "transaction", answer(err), "409 EntityAlreadyExists")
	expect(t, a, "index", failedAt(t, err), 2)

	err = submit(t, c, add(row(t, "p", "0", nil)), action(aztables.TransactionTypeDelete, nil, row(t, "p", "9", nil)))
	expect(t, a, "delete of a missing row", answer(err), "404 ResourceNotFound")
	expect(t, a, "index", failedAt(t, err), 1)
}

// If-Match applies to each operation of a transaction.
func (tables) TransactionHoldsOnETags(t *testing.T, a Account) {
	c := a.NewTable(t)
	first, second := insert(t, c, "p", "1", nil), insert(t, c, "p", "2", nil)
	must(t, submit(t, c,
		action(aztables.TransactionTypeUpdateReplace, &first, row(t, "p", "1", props{"V": "x"})),
		action(aztables.TransactionTypeUpdateMerge, &second, row(t, "p", "2", props{"V": "x"}))))

	_, first = stored(t, c, "p", "1")
	for _, kind := range []aztables.TransactionType{aztables.TransactionTypeUpdateReplace,
		aztables.TransactionTypeUpdateMerge, aztables.TransactionTypeDelete} {
		err := submit(t, c,
			action(aztables.TransactionTypeUpdateReplace, &first, row(t, "p", "1", props{"V": "y"})),
			action(kind, to.Ptr(staleETag), row(t, "p", "2", props{"V": "y"})))
		expect(t, a, string(kind), answer(err), "412 UpdateConditionNotSatisfied")
		expect(t, a, "index", failedAt(t, err), 1)
	}
	_, now := stored(t, c, "p", "1")
	expect(t, a, "first row untouched", now, first)
}

// The parts of the answer have the new ETags, in the order of the operations. The SDK
// drops them, so callers must capture the response.
func (tables) TransactionReturnsETags(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "b", nil)
	var r *http.Response
	_, err := c.SubmitTransaction(captured(t, &r), []aztables.TransactionAction{
		add(row(t, "p", "c", nil)),
		action(aztables.TransactionTypeUpdateMerge, to.Ptr(azcore.ETagAny), row(t, "p", "b", nil)),
		action(aztables.TransactionTypeInsertReplace, nil, row(t, "p", "a", nil)),
	}, nil)
	must(t, err)
	var got []string
	for _, m := range regexp.MustCompile(`(?mi)^etag: *(.*?)\r?$`).FindAllStringSubmatch(body(t, r), -1) {
		got = append(got, m[1])
	}
	var want []string
	for _, rk := range []string{"c", "b", "a"} {
		_, etag := stored(t, c, "p", rk)
		want = append(want, string(etag))
	}
	expect(t, a, "etags", strings.Join(got, " "), strings.Join(want, " "))
}

// Without an ETag the SDK sends UpdateMerge and UpdateReplace without If-Match, which makes
// them upserts. An update of an existing entity needs an ETag, or *.
func (tables) MergeWithoutETagInserts(t *testing.T, a Account) {
	c := a.NewTable(t)
	must(t, submit(t, c,
		action(aztables.TransactionTypeUpdateMerge, nil, row(t, "p", "merge", nil)),
		action(aztables.TransactionTypeUpdateReplace, nil, row(t, "p", "replace", nil))))
	expect(t, a, "rows", keys(t, c, "PartitionKey eq 'p'"), "p/merge p/replace")

	missing := row(t, "p", "missing", nil)
	err := submit(t, c, action(aztables.TransactionTypeUpdateMerge, to.Ptr(azcore.ETagAny), missing))
	expect(t, a, "merge of a missing row with *", answer(err), "404 ResourceNotFound")
}

// A transaction has at most 100 operations.
func (tables) HundredIsTheMost(t *testing.T, a Account) {
	c := a.NewTable(t)
	var actions []aztables.TransactionAction
	for _, rk := range numbered(101) {
		actions = append(actions, add(row(t, "p", rk, nil)))
	}
	err := submit(t, c, actions...)
	got := answer(err)
	if strings.HasPrefix(got, "malformed HTTP response") {
		got = "unreadable"
	}
	unreadable := "frames this refusal so that it cannot be read"
	expect(t, a, "101 operations", got, "400 InvalidInput", differs(Azurite, "unreadable", unreadable))
	outer, index := 0, 0
	if re, is := errors.AsType[*azcore.ResponseError](err); is {
		outer, index = re.StatusCode, transactionFailure(re).index
	}
	expect(t, a, "status of the transaction", outer, http.StatusAccepted, differs(Azurite, 0, unreadable))
	expect(t, a, "the operation that failed", index, 99, differs(Azurite, 0, unreadable))
	expect(t, a, "100 operations", answer(submit(t, c, actions[:100]...)), "ok")
}

// All rows of a transaction are in one partition.
func (tables) TransactionStaysInOnePartition(t *testing.T, a Account) {
	c := a.NewTable(t)
	err := submit(t, c, add(row(t, "p", "r", nil)), add(row(t, "q", "r", nil)))
	const partitions = "lets a transaction span partitions"
	expect(t, a, "transaction", answer(err), "400 CommandsInBatchActOnDifferentPartitions",
		differs(Azurite, "ok", partitions))
	expect(t, a, "rows", keys(t, c, "RowKey ge ''"), "", differs(Azurite, "p/r q/r", partitions))
}

// A row may occur once in a transaction.
func (tables) RowAppearsOnceInATransaction(t *testing.T, a Account) {
	c := a.NewTable(t)
	err := submit(t, c, add(row(t, "p", "r", nil)),
		action(aztables.TransactionTypeInsertMerge, nil, row(t, "p", "r", props{"V": "x"})))
	expect(t, a, "transaction", answer(err), "400 InvalidDuplicateRow")
	expect(t, a, "rows", keys(t, c, "PartitionKey eq 'p'"), "")
}

// A transaction's request has at most 4 MiB, including the headers of the parts.
func (tables) TransactionIsBoundedInBytes(t *testing.T, a Account) {
	c := a.NewTable(t)
	sized := func(rows, kib int) (actions []aztables.TransactionAction) {
		for _, rk := range numbered(rows) {
			p := props{}
			for i := range kib / 30 {
				p[fmt.Sprintf("S%d", i)] = strings.Repeat("x", 30<<10)
			}
			actions = append(actions, add(row(t, "p", rk, p)))
		}
		return actions
	}
	expect(t, a, "5 MiB", answer(submit(t, c, sized(10, 510)...)), "413 RequestBodyTooLarge")
	expect(t, a, "rows", keys(t, c, "PartitionKey eq 'p'"), "")
	expect(t, a, "3.5 MiB", answer(submit(t, c, sized(7, 510)...)), "ok")
}
