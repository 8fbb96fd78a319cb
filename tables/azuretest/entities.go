package azuretest

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Without Prefer an insert is 201 and repeats the entity, with its ETag in the
// header and in the body.
func (tables) InsertEchoesTheEntity(t *testing.T, a Account) {
	c := a.NewTable(t)
	var r *http.Response
	resp := value(c.AddEntity(captured(t, &r), row(t, "p", "r", props{"V": "x"}), nil))(t)
	e := decoded(t, resp.Value)
	expect(t, a, "status", r.StatusCode, 201)
	expect(t, a, "keys", e.PartitionKey+"/"+e.RowKey, "p/r")
	expect(t, a, "value", e.Properties["V"], any("x"))
	expect(t, a, "etag in the body", e.ETag, string(resp.ETag))
	expect(t, a, "etag in the header", r.Header.Get("ETag"), string(resp.ETag))
}

// With Prefer: return-no-content the answer is 204 without a body, and the ETag is in the
// header. The SDK does not send that header for single inserts; callers can add it.
func (tables) InsertPrefersNoContent(t *testing.T, a Account) {
	c := a.NewTable(t)
	var r *http.Response
	resp := value(c.AddEntity(captured(t, &r, "Prefer", "return-no-content"), row(t, "p", "r", props{"V": "x"}), nil))(t)
	expect(t, a, "status", r.StatusCode, 204)
	expect(t, a, "body", body(t, r), "")
	expect(t, a, "Preference-Applied", r.Header.Get("Preference-Applied"), "return-no-content")
	_, etag := stored(t, c, "p", "r")
	expect(t, a, "etag", resp.ETag, etag)
}

// An insert never replaces. A repeated insert whose first try succeeded is refused, too,
// so an add-only client takes 409 for success.
func (tables) InsertOfExistingIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"V": "first"})
	expect(t, a, "second insert", tryInsert(t, c, "p", "r", props{"V": "second"}), "409 EntityAlreadyExists")
	p, _ := stored(t, c, "p", "r")
	expect(t, a, "value", p["V"], any("first"))
}

// A missing entity is ResourceNotFound, although the reference lists EntityNotFound.
func (tables) MissingEntityIsNotFound(t *testing.T, a Account) {
	c := a.NewTable(t)
	expect(t, a, "get", outcome(c.GetEntity(t.Context(), "p", "r", nil)), "404 ResourceNotFound")
	expect(t, a, "delete", outcome(c.DeleteEntity(t.Context(), "p", "r", nil)), "404 ResourceNotFound")
	stale := &aztables.DeleteEntityOptions{IfMatch: to.Ptr(staleETag)}
	expect(t, a, "delete on an ETag", outcome(c.DeleteEntity(t.Context(), "p", "r", stale)), "404 ResourceNotFound")
}

// staleETag is well-formed, but no entity has it. Azure refuses a malformed one with 400.
const staleETag azcore.ETag = `W/"datetime'2001-01-01T00%3A00%3A00.0000001Z'"`

// An ETag is weak and holds the time of the write, percent-encoded. Furrow
// compares ETags as they are and never reads them.
func (tables) EtagsAreDatesInQuotes(t *testing.T, a Account) {
	c := a.NewTable(t)
	etag := string(insert(t, c, "p", "r", nil))
	form := regexp.MustCompile(`^W/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$`)
	expect(t, a, etag+" has the form", form.MatchString(etag), true)
}

// Every write changes the ETag, even a write in the same tick of the clock that changes
// nothing. Compare-and-swap depends on it.
func (tables) EtagChangesWithEveryWrite(t *testing.T, a Account) {
	c := a.NewTable(t)
	last := insert(t, c, "p", "r", props{"V": "x"})
	for range 20 {
		resp, err := c.UpdateEntity(t.Context(), row(t, "p", "r", props{"V": "x"}), &aztables.UpdateEntityOptions{
			IfMatch: &last, UpdateMode: aztables.UpdateModeReplace})
		must(t, err)
		expect(t, a, "same as the last", resp.ETag == last, false)
		last = resp.ETag
	}
	_, etag := stored(t, c, "p", "r")
	expect(t, a, "etag", etag, last)
}

// The server sets Timestamp, whatever the client sends.
func (tables) TimestampIsTheServers(t *testing.T, a Account) {
	c := a.NewTable(t)
	var r *http.Response
	old := aztables.EDMDateTime(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC))
	must(t, errOf(c.AddEntity(captured(t, &r), row(t, "p", "r", props{"Timestamp": old}), nil)))
	resp := value(c.GetEntity(t.Context(), "p", "r", nil))(t)
	server := value(http.ParseTime(r.Header.Get("Date")))(t)
	apart := time.Time(decoded(t, resp.Value).Timestamp).Sub(server).Abs()
	expect(t, a, "timestamp near the Date header", apart < 5*time.Second, true)
}

// Keys may contain all characters except / \ # ? and control characters. A quote is
// doubled in the URL and single in the stored key.
func (tables) OddKeysWork(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, k := range []string{"it's", "a b", "a+b&c=d", "x:y;z@w", "(1,2)", "grüße", "日本語", "😀", "''", "a''b", `"q"`,
		"-._~!*$|"} {
		insert(t, c, k, k, props{"V": k})
		p, etag := stored(t, c, k, k)
		expect(t, a, "get "+k, p["V"], any(k))
		changed := row(t, k, k, props{"V": "new"})
		expect(t, a, "update "+k, outcome(update(t, c, aztables.UpdateModeMerge, etag, changed)), "ok")
		expect(t, a, "query "+k, keys(t, c, "PartitionKey eq "+quoted(k)+" and RowKey eq "+quoted(k)), k+"/"+k)
		expect(t, a, "delete "+k, outcome(c.DeleteEntity(t.Context(), k, k, nil)), "ok")
	}
}

// Keys that differ by case are different keys.
func (tables) KeysAreCaseSensitive(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"V": "small"})
	insert(t, c, "p", "R", props{"V": "large"})
	insert(t, c, "P", "r", props{"V": "other"})
	p, _ := stored(t, c, "p", "R")
	expect(t, a, "value", p["V"], any("large"))
	expect(t, a, "partition", keys(t, c, "PartitionKey eq 'p'"), "p/R p/r")
}

// Without an ETag the SDK deletes the entity whatever its version is.
func (tables) DeleteRemoves(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "1", nil)
	etag := insert(t, c, "p", "2", nil)
	expect(t, a, "delete", outcome(c.DeleteEntity(t.Context(), "p", "1", nil)), "ok")
	o := &aztables.DeleteEntityOptions{IfMatch: &etag}
	expect(t, a, "delete on the ETag", outcome(c.DeleteEntity(t.Context(), "p", "2", o)), "ok")
	expect(t, a, "left", keys(t, c, "PartitionKey eq 'p'"), "")
}

// A stale ETag is 412, and the entity stays.
func (tables) DeleteOnStaleETagIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", nil)
	o := &aztables.DeleteEntityOptions{IfMatch: to.Ptr(staleETag)}
	expect(t, a, "delete", outcome(c.DeleteEntity(t.Context(), "p", "r", o)), "412 UpdateConditionNotSatisfied")
	expect(t, a, "left", keys(t, c, "PartitionKey eq 'p'"), "p/r")
}

// An insert without both keys is refused. (The SDK then returns an error of its own.)
func (tables) KeysMustBeThere(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, entity := range []string{`{"RowKey":"r"}`, `{"PartitionKey":"p"}`, `{}`} {
		var r *http.Response
		if _, err := c.AddEntity(captured(t, &r), []byte(entity), nil); err == nil {
			t.Errorf("inserted %s", entity)
		}
		expect(t, a, "insert "+entity, r.StatusCode, 400)
	}
}
