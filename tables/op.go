package tables

import (
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// An Op is a write of one entity, to be done alone or in a transaction.
type Op struct {
	Kind    Kind
	Entity  Entity // of a deletion, the keys
	IfMatch ETag   // of Replace, Merge and Delete
}

// Insert adds an entity; it fails with ErrExists where there is one.
func Insert(e Entity) Op { return Op{Kind: KindInsert, Entity: e} }

// InsertOrReplace writes an entity, whatever was there.
func InsertOrReplace(e Entity) Op { return Op{Kind: KindInsertOrReplace, Entity: e} }

// InsertOrMerge writes an entity's properties and leaves the others that were there.
func InsertOrMerge(e Entity) Op { return Op{Kind: KindInsertOrMerge, Entity: e} }

// Replace writes an entity where version stands; it fails with ErrConflict where
// another does, and with ErrNotFound where none does.
func Replace(e Entity, version ETag) Op { return Op{KindReplace, e, version} }

// Merge writes an entity's properties where version stands, and leaves the
// others. It fails as Replace does.
func Merge(e Entity, version ETag) Op { return Op{KindMerge, e, version} }

// Delete deletes an entity where version stands. It fails as Replace does.
func Delete(pk, rk string, version ETag) Op {
	return Op{KindDelete, Entity{PartitionKey: pk, RowKey: rk}, version}
}

// check says why storage would refuse op, or do what its caller did not mean.
func (op Op) check() error {
	switch op.Kind {
	case KindReplace, KindMerge, KindDelete:
		if op.IfMatch == "" {
			return fmt.Errorf("%s: no version is given; to write whatever is there, say AnyETag", op.Entity.name())
		}
	case KindInsert, KindInsertOrReplace, KindInsertOrMerge:
		if op.IfMatch != "" {
			return fmt.Errorf("%s: %s heeds no version", op.Entity.name(), op.Kind)
		}
	default:
		return errors.New("an operation is made by Insert, Replace, Merge, Delete and their like")
	}
	if op.Kind == KindDelete {
		return nil // what is stored may have keys that we would not write
	}
	return op.Entity.Check()
}

func (op Op) mode() aztables.UpdateMode {
	if op.Kind == KindReplace || op.Kind == KindInsertOrReplace {
		return aztables.UpdateModeReplace
	}
	return aztables.UpdateModeMerge
}
