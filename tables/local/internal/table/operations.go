package table

import (
	"net/http"
	"strings"

	"furrow/tables/local/internal/route"
	"furrow/tables/local/internal/wire"
)

func (s *Service) router() *route.Router[target] {
	return &route.Router[target]{
		Authorize:  s.auth.Authorize,
		Room:       s.store.Room.Check,
		Parse:      func(r *wire.Request) (target, error) { return parsePath(r.Path) },
		Check:      checkServed,
		Properties: s.own,
		Operations: s.operations(),
		Unserved: map[string]string{
			"": "the Table service's service document",
		},
	}
}

func (s *Service) operations() []route.Operation[target] {
	return append(route.OfService[target](onAccount, s.own), []route.Operation[target]{
		route.DelegatesBy[target](onAccount, s.auth),
		{Name: "Query Tables", On: onTables, Method: "GET", Account: "c:l", Do: s.queryTables},
		{Name: "Create Table", On: onTables, Method: "POST", Account: "c:cw", Do: s.create},
		{Name: "Get Table", On: onTable, Method: "GET", Account: "c:l", Do: s.getTable},
		{Name: "Delete Table", On: onTable, Method: "DELETE", Account: "c:d", Do: s.drop},
		{Name: "Get Table ACL", On: onEntities, Method: "GET", Head: true, Comp: "acl", Do: s.getACL},
		{Name: "Set Table ACL", On: onEntities, Method: "PUT", Comp: "acl", Do: s.setACL},

		{Name: "Query Entities", On: onEntities, Method: "GET", Head: true, Allow: "r", Account: "o:r", Do: s.query},
		{Name: "Insert Entity", On: onEntities, Method: "POST", Allow: route.Itself, Grows: true, Account: "o:*",
			Do: s.write},
		{Name: "Get Entity", On: onEntity, Method: "GET", Head: true, Allow: "r", Account: "o:r", Do: s.get},
		{Name: "Update Entity", On: onEntity, Method: "PUT", Allow: route.Itself, Grows: true, Account: "o:*", Do: s.write},
		{Name: "Merge Entity", On: onEntity, Method: "PATCH", Allow: route.Itself, Grows: true, Account: "o:*", Do: s.write},
		{Name: "Merge Entity", On: onEntity, Method: "MERGE", Allow: route.Itself, Grows: true, Account: "o:*", Do: s.write},
		{Name: "Delete Entity", On: onEntity, Method: "DELETE", Allow: route.Itself, Account: "o:*", Do: s.write},
		{Name: "Entity Group Transaction", On: onBatch, Method: "POST", Allow: route.Itself, Account: "o:*", Do: s.batch},
	}...)
}

// checkServed refuses requests for what this server does not serve, by name.
func checkServed(r *wire.Request, at target) error {
	if at.table == "$metadata" {
		return wire.NotImplemented("$metadata")
	}
	if strings.Contains(r.Header.Get("Content-Type"), "atom+xml") {
		return errAtom
	}
	for name := range r.Query {
		switch name {
		case "$filter", "$select", "$top", "$format":
		default:
			if strings.HasPrefix(name, "$") {
				return wire.NotImplemented("the query option " + name) // ignoring it would give a wrong result
			}
		}
	}
	return nil
}

var errAtom = &wire.Error{Status: http.StatusUnsupportedMediaType, Code: "AtomFormatNotSupported",
	Message: "Atom format is not supported. Use application/json."}
