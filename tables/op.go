package tables

import (
	"errors"
	"fmt"
	"net/http"
)

// An Op is a write of one entity, alone or in a transaction.
type Op struct {
	Kind    Kind
	Entity  Entity // for a Delete only the keys
	IfMatch ETag   // of Replace, Merge and Delete
}

// Insert adds an entity. It fails with ErrExists if the entity exists.
func Insert(e Entity) Op { return Op{Kind: KindInsert, Entity: e} }

// InsertOrReplace adds or replaces an entity.
func InsertOrReplace(e Entity) Op { return Op{Kind: KindInsertOrReplace, Entity: e} }

// Replace replaces a version of an entity. It fails with ErrConflict if another version is
// stored, and with ErrNotFound if none is.
func Replace(e Entity, version ETag) Op { return Op{KindReplace, e, version} }

// Merge sets some properties of a version of an entity. It fails as Replace does.
func Merge(e Entity, version ETag) Op { return Op{KindMerge, e, version} }

// Delete deletes a version of an entity. It fails as Replace does.
func Delete(pk, rk string, version ETag) Op {
	return Op{KindDelete, Entity{PartitionKey: pk, RowKey: rk}, version}
}

// check returns why storage would refuse op, or do something that the caller does not mean.
func (op Op) check() error {
	switch op.Kind {
	case KindReplace, KindMerge, KindDelete:
		if op.IfMatch == "" {
			return fmt.Errorf("%s: no version is given; use AnyETag to write any version", op.Entity.name())
		}
	case KindInsert, KindInsertOrReplace:
		if op.IfMatch != "" {
			return fmt.Errorf("%s: %s ignores versions", op.Entity.name(), op.Kind)
		}
	default:
		return errors.New("create operations with Insert, Replace, Merge, Delete and the like")
	}
	if op.Kind == KindDelete {
		return nil // stored entities may have keys that Check refuses
	}
	return op.Entity.Check()
}

// method returns the HTTP method that does op.
func (op *Op) method() string {
	switch op.Kind {
	case KindInsert:
		return http.MethodPost
	case KindMerge:
		return http.MethodPatch
	case KindDelete:
		return http.MethodDelete
	}
	return http.MethodPut
}

// around is the size of an operation in a transaction without its entity and keys:
// boundaries, headers and the URL of the service with its SAS.
const around = 2048

// Cut divides operations on one partition into transactions that storage accepts, in
// order. It returns an error if a row occurs twice.
func Cut(ops []Op) (groups [][]Op, err error) {
	if err := checkOps(ops); err != nil {
		return nil, err
	}
	start, size := 0, 0
	for i := range ops {
		n := ops[i].size()
		if i-start == MaxOps || i > start && size+n > cutAt {
			groups, start, size = append(groups, ops[start:i:i]), i, 0
		}
		size += n
	}
	return append(groups, ops[start:]), nil
}

// checkOps returns an error if a transaction cannot have these operations.
func checkOps(ops []Op) error {
	if len(ops) == 0 {
		return errors.New("there are no operations")
	}
	partition := ops[0].Entity.PartitionKey
	seen := make(map[string]bool, len(ops))
	for i, op := range ops {
		if err := op.check(); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		if op.Entity.PartitionKey != partition {
			return fmt.Errorf("operation %d is in partition %s, the first one in %s; a transaction has one", i,
				Quote(op.Entity.PartitionKey), Quote(partition))
		}
		if seen[op.Entity.RowKey] {
			return fmt.Errorf("operation %d: row %s occurs twice", i, Quote(op.Entity.RowKey))
		}
		seen[op.Entity.RowKey] = true
	}
	return nil
}

// size returns an upper bound of op's size in a transaction. One operation always fits: an
// entity of 1 MiB has little more than 3 MiB in JSON, if it has only control characters.
func (op *Op) size() int {
	e := &op.Entity
	n := around + 4*(len(e.PartitionKey)+len(e.RowKey))
	if op.Kind == KindDelete {
		return n
	}
	for i := range e.Properties {
		n += e.Properties[i].size()
	}
	return n
}
