package tables

import (
	"errors"
	"fmt"
)

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
	for i, op := range ops {
		n := op.size()
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
func (op Op) size() int {
	n := around + 3*(len(op.Entity.PartitionKey)+len(op.Entity.RowKey))
	body, err := appendEntity(nil, &op.Entity)
	if err != nil {
		return n // Submit returns the error
	}
	return n + len(body)
}
