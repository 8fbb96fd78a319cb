// Package route finds the operation that serves a request. Each service lists
// its operations in one table: what the URL names, the method, the query
// parameter comp, the permissions that a SAS needs, and the function that does it.
package route

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/properties"
	"furrow/tables/local/internal/wire"
)

// An Operation is one entry of a service's table.
type Operation[P Place] struct {
	Name    string // in Microsoft's reference
	On      string // what the URL names, for example "blobs"
	Method  string
	Head    bool   // HEAD does it, too
	Comp    string // the query parameter comp
	Allow   string // permissions of a service SAS, one is enough; or AccountKey or Itself
	Account string // what an account SAS needs, for AllowAccount
	Grows   bool   // refused while the disk is full
	Do      func(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at P) error
}

// Values of Allow that are not permissions.
const (
	AccountKey = ""  // no service SAS permits the operation
	Itself     = "*" // the operation checks the grant itself
)

// A Place is what a URL names.
type Place interface {
	// Resource is what a SAS must be for.
	Resource() auth.Resource
	// Key selects the operation. It is called for authenticated requests only.
	Key(r *wire.Request) (Key, error)
}

// A Key selects an Operation by its fields of the same names.
type Key struct{ On, Method, Comp string }

// A Router serves the requests of one service.
type Router[P Place] struct {
	Authorize  func(r *wire.Request, res auth.Resource) (*auth.Grant, error)
	Parse      func(r *wire.Request) (P, error)
	Check      func(r *wire.Request, at P) error // refuses what no operation serves
	Room       func(owner bool) error            // refuses what grows
	Operations []Operation[P]
	Properties *properties.Keeper
	Unserved   map[string]string // names, by comp, of operations that answer 501
}

// Serve authenticates a request, finds its operation, checks that the grant
// permits it, and does it.
func (rt *Router[P]) Serve(w http.ResponseWriter, r *wire.Request) error {
	if r.Method == http.MethodOptions {
		return rt.Properties.Preflight(w, r)
	}
	at, err := rt.Parse(r)
	if err != nil {
		return err
	}
	g, err := rt.Authorize(r, at.Resource())
	if err != nil {
		return err
	}
	if err := rt.Check(r, at); err != nil {
		return err
	}
	op, err := rt.find(r, at)
	if err != nil {
		return err
	}
	r.Operation = op.Name
	if r.Secondary && op.Comp != "stats" {
		return wire.NotImplemented("the secondary endpoint, except for its statistics")
	}
	if err := permit(g, op.Allow, op.Account); err != nil {
		return err
	}
	if op.Grows {
		if err := rt.Room(g.Owner); err != nil {
			return err
		}
	}
	return op.Do(w, r, g, at)
}

func (rt *Router[P]) find(r *wire.Request, at P) (*Operation[P], error) {
	key, err := at.Key(r)
	if err != nil {
		return nil, err
	}
	otherMethod := false
	for i := range rt.Operations {
		op := &rt.Operations[i]
		if op.On != key.On || op.Comp != key.Comp {
			continue
		}
		if op.Method == key.Method || op.Head && key.Method == http.MethodHead {
			return op, nil
		}
		otherMethod = true
	}
	if otherMethod {
		return nil, wire.ErrMethod
	}
	if name, ok := rt.Unserved[key.Comp]; ok {
		return nil, wire.NotImplemented(name)
	}
	return nil, wire.NotImplemented("comp=" + key.Comp + " on " + key.On)
}

func permit(g *auth.Grant, allow, account string) error {
	if g.Types != "" {
		return g.AllowAccount(account)
	}
	switch allow {
	case AccountKey:
		return g.OwnerOnly()
	case Itself:
		return nil
	}
	return g.Allow(allow)
}

// OfService returns the operations that all services have. They are on what a URL without a name names.
func OfService[P Place](on string, k *properties.Keeper) []Operation[P] {
	do := func(f func(http.ResponseWriter, *wire.Request) error) func(http.ResponseWriter, *wire.Request,
		*auth.Grant, P) error {
		return func(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ P) error { return f(w, r) }
	}
	return []Operation[P]{
		{Name: "Get Service Properties", On: on, Method: "GET", Comp: "properties", Account: "s:r", Do: do(k.Get)},
		{Name: "Set Service Properties", On: on, Method: "PUT", Comp: "properties", Account: "s:w", Do: do(k.Set)},
		{Name: "Get Service Stats", On: on, Method: "GET", Comp: "stats", Account: "s:r", Do: do(k.Stats)},
	}
}

// DelegatesBy returns Get User Delegation Key, which services have whose user delegation SAS are served.
func DelegatesBy[P Place](on string, v *auth.Verifier) Operation[P] {
	return Operation[P]{Name: "Get User Delegation Key", On: on, Method: "POST", Comp: "userdelegationkey",
		Do: func(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ P) error {
			answer, err := v.IssueDelegation(r)
			if err != nil {
				return err
			}
			return wire.XML(w, http.StatusOK, answer)
		}}
}
