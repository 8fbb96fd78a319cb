package tables

import (
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
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

// InsertOrMerge adds an entity, or sets some of its properties.
func InsertOrMerge(e Entity) Op { return Op{Kind: KindInsertOrMerge, Entity: e} }

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
	case KindInsert, KindInsertOrReplace, KindInsertOrMerge:
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

func (op Op) mode() aztables.UpdateMode {
	if op.Kind == KindReplace || op.Kind == KindInsertOrReplace {
		return aztables.UpdateModeReplace
	}
	return aztables.UpdateModeMerge
}
