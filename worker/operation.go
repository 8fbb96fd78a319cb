package worker

import (
	"context"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// An OperationKind is what a request does with a queue.
type OperationKind uint8

const (
	OpCreate OperationKind = iota + 1
	OpPut
	OpGet
	OpPeek
	OpUpdate
	OpDelete
	OpDepth
	OpClear
	OpDeleteQueue
	opKinds
)

func (k OperationKind) String() string {
	return [...]string{"none", "create queue", "put", "get", "peek", "update", "delete", "depth", "clear",
		"delete queue"}[k]
}

// An Operation is one request and its answer. Each retry is another one, as on the bill.
type Operation struct {
	Kind   OperationKind
	Status int // of the answer; 0 if there was none
}

// observe reports every try of every operation, whose kind travels in its context.
func observe(on func(context.Context, Operation)) policy.Policy {
	return service.Observe[OperationKind](func(ctx context.Context, k OperationKind, t service.Try) {
		on(ctx, Operation{Kind: k, Status: t.Status})
	})
}
