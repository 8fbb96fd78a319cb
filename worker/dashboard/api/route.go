package api

import "net/http"

// A Handler answers a request. When it returns an error, it has written nothing.
type Handler func(w http.ResponseWriter, r *http.Request) error

// A Route is a path and what serves it.
type Route struct {
	Pattern string   // as http.ServeMux takes it
	Params  []string // names that the query may have
	Handle  Handler
}

// Take returns the route of a handler, with the parameters that it takes: Q is a struct as Parsing has it.
func Take[Q any](pattern string, handle func(http.ResponseWriter, *http.Request, Q) error) Route {
	parse := Parsing[Q]()
	return Route{pattern, NamesOf[Q](), func(w http.ResponseWriter, r *http.Request) error {
		q, err := parse(r.URL.RawQuery)
		if err != nil {
			return err
		}
		return handle(w, r, q)
	}}
}

// Register adds routes to mux. fail answers requests whose query is invalid or whose handler fails.
func Register(mux *http.ServeMux, routes []Route, fail func(http.ResponseWriter, *http.Request, error)) {
	for _, route := range routes {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := route.Handle(w, r); err != nil {
				fail(w, r, err)
			}
		})
	}
}
