package archive

import (
	"context"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Kind is what an operation does.
type Kind uint8

const (
	KindCreate Kind = iota + 1
	KindPut
	KindPutBlock
	KindCommit
	KindList
	KindDelete
	KindGet
	KindLook
	kinds
)

func (k Kind) String() string {
	return [...]string{"none", "create container", "put object", "put block", "commit blocks",
		"list objects", "delete object", "get object", "look at object"}[k]
}

// An Operation is one request and its answer. Each retry is another one, as on the bill.
type Operation struct {
	Kind   Kind
	Object string // its name; empty for the container
	Bytes  int64  // of the request's body
	Status int    // of the answer; 0 if there was none
}

// A call says what a request is for, and travels to observe in its context.
type call struct {
	kind   Kind
	object string
}

func (c call) within(ctx context.Context) context.Context { return service.Within(ctx, c) }

// observe reports every try of every operation.
func observe(on func(context.Context, Operation)) policy.Policy {
	return service.Observe[call](func(ctx context.Context, c call, t service.Try) {
		on(ctx, Operation{Kind: c.kind, Object: c.object, Bytes: t.Sent, Status: t.Status})
	})
}
