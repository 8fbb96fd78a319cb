package queue

import (
	"furrow/tables/local/internal/route"
	"furrow/tables/local/internal/wire"
)

func (s *Service) router() *route.Router[path] {
	return &route.Router[path]{Authorize: s.auth.Authorize, Room: s.store.Room.Check, Properties: s.own,
		Parse: parsePath, Check: checkQueue,
		Operations: s.operations()}
}

func (s *Service) operations() []route.Operation[path] {
	return append(route.OfService[path](onAccount, s.own), []route.Operation[path]{
		route.DelegatesBy[path](onAccount, s.auth),
		{Name: "List Queues", On: onAccount, Method: "GET", Comp: "list", Account: "s:l", Do: s.list},

		{Name: "Create Queue", On: onQueue, Method: "PUT", Account: "c:cw", Do: s.create},
		{Name: "Delete Queue", On: onQueue, Method: "DELETE", Account: "c:d", Do: s.delete},
		{Name: "Get Queue Metadata", On: onQueue, Method: "GET", Head: true, Comp: "metadata", Allow: "r",
			Account: "c:r", Do: s.getMetadata},
		{Name: "Set Queue Metadata", On: onQueue, Method: "PUT", Comp: "metadata", Grows: true, Account: "c:w",
			Do: s.setMetadata},
		{Name: "Get Queue ACL", On: onQueue, Method: "GET", Head: true, Comp: "acl", Do: s.getACL},
		{Name: "Set Queue ACL", On: onQueue, Method: "PUT", Comp: "acl", Do: s.setACL},

		{Name: "Put Message", On: onMessages, Method: "POST", Allow: "a", Grows: true, Account: "o:a", Do: s.put},
		{Name: "Get Messages", On: onMessages, Method: "GET", Allow: "p", Account: "o:p", Do: s.get},
		{Name: "Peek Messages", On: onMessages, Method: "GET", Comp: peekonly, Allow: "r", Account: "o:r", Do: s.peek},
		{Name: "Clear Messages", On: onMessages, Method: "DELETE", Account: "o:d", Do: s.clear},
		{Name: "Update Message", On: onMessage, Method: "PUT", Allow: "u", Account: "o:u", Do: s.update},
		{Name: "Delete Message", On: onMessage, Method: "DELETE", Allow: "p", Account: "o:p", Do: s.remove},
	}...)
}

// checkQueue refuses names that no queue can have.
func checkQueue(_ *wire.Request, at path) error {
	if at.queue == "" {
		return nil
	}
	return wire.CheckName(at.queue)
}
