package route

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

type place string

func (p place) Resource() auth.Resource { return auth.Resource{Name: string(p)} }

func (p place) Key(r *wire.Request) (Key, error) {
	return Key{On: string(p), Method: r.Method, Comp: r.Query.Get("comp")}, nil
}

func TestOperationIsFoundPermittedAndDone(t *testing.T) {
	do := func(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at place) error { return nil }
	operations := []Operation[place]{
		{Name: "Put Thing", On: "things", Method: "PUT", Do: do},
		{Name: "Get Thing", On: "things", Method: "GET", Allow: "rl", Do: do},
		{Name: "Write Thing", On: "things", Method: "POST", Allow: Itself, Do: do},
		{Name: "Count Things", On: "things", Method: "GET", Comp: "count", Allow: "r", Do: do},
	}
	owner := &auth.Grant{Owner: true}
	for _, c := range []struct {
		grant            *auth.Grant
		method, at, comp string
		want             string // operation, or the status and what the error says
	}{
		{owner, "PUT", "things", "", "Put Thing"},
		{owner, "GET", "things", "", "Get Thing"},
		{owner, "GET", "things", "count", "Count Things"},
		{&auth.Grant{Perms: "l"}, "GET", "things", "", "Get Thing"},
		{&auth.Grant{Perms: "w"}, "POST", "things", "", "Write Thing"},
		{&auth.Grant{Perms: "w"}, "GET", "things", "", "403 AuthorizationPermissionMismatch"},
		{&auth.Grant{Perms: "rl"}, "PUT", "things", "", "403 AuthorizationFailure"},
		{owner, "DELETE", "things", "", "405 UnsupportedHttpVerb"},
		{owner, "PUT", "things", "count", "405 UnsupportedHttpVerb"},
		{owner, "PUT", "things", "lease", "501 NotImplemented: This server does not serve leases."},
		{owner, "PUT", "things", "odd", "501 NotImplemented: This server does not serve comp=odd on things."},
		{owner, "PUT", "others", "count", "501 NotImplemented: This server does not serve comp=count on others."},
	} {
		rt := &Router[place]{Operations: operations, Unserved: map[string]string{"lease": "leases"},
			Authorize: func(*wire.Request, auth.Resource) (*auth.Grant, error) { return c.grant, nil },
			Parse:     func(*wire.Request) (place, error) { return place(c.at), nil },
			Check:     func(*wire.Request, place) error { return nil },
		}
		r := &wire.Request{Request: httptest.NewRequest(c.method, "/", nil), Query: url.Values{"comp": {c.comp}}}
		got := ""
		if err := rt.Serve(httptest.NewRecorder(), r); err != nil {
			got = err.Error()
		} else {
			got = r.Operation
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s %q: %s; want %s", c.method, c.at, c.comp, got, c.want)
		}
	}
}
