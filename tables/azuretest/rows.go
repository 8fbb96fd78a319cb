package azuretest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// props are the properties of an entity, in the types of aztables.
type props map[string]any

// row returns the JSON of an entity. aztables.EDMEntity would double the quotes in keys.
func row(t *testing.T, pk, rk string, p props) []byte {
	t.Helper()
	m := map[string]any{"PartitionKey": pk, "RowKey": rk}
	for k, v := range p {
		m[k] = v
		switch v.(type) {
		case aztables.EDMDateTime:
			m[k+"@odata.type"] = "Edm.DateTime"
		case aztables.EDMBinary:
			m[k+"@odata.type"] = "Edm.Binary"
		case aztables.EDMGUID:
			m[k+"@odata.type"] = "Edm.Guid"
		case aztables.EDMInt64:
			m[k+"@odata.type"] = "Edm.Int64"
		}
	}
	b := value(json.Marshal(m))(t)
	return b
}

// insert adds a row and returns its ETag.
func insert(t *testing.T, c *aztables.Client, pk, rk string, p props) azcore.ETag {
	t.Helper()
	resp := value(c.AddEntity(t.Context(), row(t, pk, rk, p), nil))(t)
	return resp.ETag
}

// insertAll adds rows of one partition in transactions.
func insertAll(t *testing.T, c *aztables.Client, pk string, rks []string) {
	t.Helper()
	for len(rks) > 0 {
		n := min(len(rks), 100)
		var actions []aztables.TransactionAction
		for _, rk := range rks[:n] {
			actions = append(actions, add(row(t, pk, rk, nil)))
		}
		must(t, errOf(c.SubmitTransaction(t.Context(), actions, nil)))
		rks = rks[n:]
	}
}

// stored reads the properties and the ETag of a row.
func stored(t *testing.T, c *aztables.Client, pk, rk string) (props, azcore.ETag) {
	t.Helper()
	resp := value(c.GetEntity(t.Context(), pk, rk, nil))(t)
	return decoded(t, resp.Value).Properties, resp.ETag
}

func decoded(t *testing.T, b []byte) aztables.EDMEntity {
	t.Helper()
	var e aztables.EDMEntity
	must(t, json.Unmarshal(b, &e))
	return e
}

// query reads every page.
func query(t *testing.T, c *aztables.Client, o *aztables.ListEntitiesOptions) ([]aztables.EDMEntity, error) {
	t.Helper()
	var all []aztables.EDMEntity
	for p := c.NewListEntitiesPager(o); p.More(); {
		page, err := p.NextPage(t.Context())
		if err != nil {
			return all, err
		}
		for _, b := range page.Entities {
			all = append(all, decoded(t, b))
		}
	}
	return all, nil
}

func filter(f string) *aztables.ListEntitiesOptions {
	return &aztables.ListEntitiesOptions{Filter: to.Ptr(f)}
}

// keys returns the keys that a filter finds, as "pk/rk pk/rk", or the error.
func keys(t *testing.T, c *aztables.Client, f string) string {
	t.Helper()
	rows, err := query(t, c, filter(f))
	if err != nil {
		return answer(err)
	}
	var s []string
	for _, r := range rows {
		s = append(s, r.PartitionKey+"/"+r.RowKey)
	}
	return strings.Join(s, " ")
}

// quoted returns a string literal of a filter.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// captured returns t's context, with which an SDK call stores its response in r.
func captured(t *testing.T, r **http.Response, header ...string) context.Context {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return policy.WithCaptureResponse(policy.WithHTTPHeader(t.Context(), h), r)
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b := value(runtime.Payload(r))(t)
	return string(b)
}
