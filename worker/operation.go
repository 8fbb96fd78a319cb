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
	Queue  string
	Status int // of the answer; 0 if there was none
}

// A call says what a request is for, and travels to observe in its context.
type call struct {
	kind  OperationKind
	queue string
}

func (c call) within(ctx context.Context) context.Context { return service.Within(ctx, c) }

// observe reports every try of every operation.
func observe(on func(context.Context, Operation)) policy.Policy {
	return service.Observe[call](func(ctx context.Context, c call, t service.Try) {
		on(ctx, Operation{Kind: c.kind, Queue: c.queue, Status: t.Status})
	})
}
