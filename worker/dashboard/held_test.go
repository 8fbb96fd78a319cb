package dashboard

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// accessRow answers queries of the table access without a connection, so that time can be simulated.
type accessRow struct {
	token   string
	removed atomic.Bool
	down    atomic.Bool // storage does not answer
	asked   atomic.Int64
}

func (a *accessRow) Do(r *http.Request) (*http.Response, error) {
	if a.asked.Add(1); a.down.Load() {
		return nil, errors.New("storage is down")
	}
	rows := fmt.Sprintf(`{"odata.etag":"W/\"1\"","PartitionKey":"access","RowKey":"alice","Name":"alice",`+
		`"Role":"viewer","By":"root","Hash":%q,"Created":"2026-11-20T00:00:00Z","Created@odata.type":"Edm.DateTime"}`,
		schema.TokenHash(a.token))
	if a.removed.Load() {
		rows = ""
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"value":[` + rows + `]}`)), Request: r}, nil
}

// directory returns a directory of the row alone.
func (a *accessRow) directory(t *testing.T) *access.Directory {
	client := must.Have(tables.Connect(tables.Config{Transport: a, Retry: policy.RetryOptions{MaxRetries: -1},
		Account: tables.Account{Name: "x", Key: "eA==", Table: "http://127.0.0.1:1/x"}}))(t)
	return &access.Directory{Store: access.NewStore(client, schema.Names{})}
}

// TestStreamsEndSoonAfterAccessIsRemoved removes the access at different moments between two checks.
func TestStreamsEndSoonAfterAccessIsRemoved(t *testing.T) {
	d := newDashboard(t, Config{})
	for after := time.Duration(0); after < 2*access.Recent; after += 700 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			row := &accessRow{token: "furrow_token"}
			d.c.Access = row.directory(t)
			asks := httptest.NewRequest("GET", "/", nil).WithContext(t.Context())
			who := must.Have(d.prove(asks, row.token))(t)
			if !who.known() {
				t.Fatal("the token is unknown")
			}
			r, end := d.whileHeld(httptest.NewRequest("GET", "/v1/stream", nil).WithContext(t.Context()), who)
			defer end()
			time.Sleep(after)
			if r.Context().Err() != nil {
				t.Errorf("the stream has ended after %v, before the access was removed", after)
			}
			row.removed.Store(true)
			removed := time.Now()
			<-r.Context().Done()
			if took := time.Since(removed); took > access.Recent {
				t.Errorf("removed after %v, the access holds for %v more", after, took)
			}
		})
	}
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		row := &accessRow{token: "furrow_token"}
		d := newDashboard(t, Config{Access: row.directory(t)})
		who := must.Have(d.prove(httptest.NewRequest("GET", "/", nil).WithContext(t.Context()), row.token))(t)
		who.ends = time.Now().Add(time.Hour)
		r, end := d.whileHeld(httptest.NewRequest("GET", "/v1/stream", nil).WithContext(t.Context()), who)
		defer end()
		<-r.Context().Done()
		if now := time.Now(); !now.Equal(who.ends) {
			t.Errorf("it ends at %v, and the session at %v", now, who.ends)
		}
	})
}

// TestActWithoutASessionLeadsToSigningIn sends the form of a page whose session has ended.
func TestActWithoutASessionLeadsToSigningIn(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	form, secret := once(t, v.get("/devices/d0000/revoke").Body.String()), v.form()
	v.post("/sign-out")
	w := g.postForm("/devices/d0000/revoke", v.cookie, "form", secret, "once", form, "how", "now")
	if page := w.Body.String(); w.Code != http.StatusUnauthorized || !strings.Contains(page,
		`name="to" value="/devices/d0000/revoke"`) || !strings.Contains(page, "nothing was done") {
		t.Errorf("%d %s", w.Code, page)
	}
	if g.status(t, "d0000") != schema.Active {
		t.Error("the device was revoked")
	}
}
