package route

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/properties"
	"furrow/tables/local/internal/wire"
)

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
