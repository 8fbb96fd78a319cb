package tracking

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"furrow/tables"
)

// A state of more bytes than a property takes is stored in several: State_rollup, State_rollup_1 and so on. The first
// begins with the length of the whole state, because a merge does not remove what is left of a longer state.
const (
	stateHead  = 4
	stateChunk = 60 << 10
)

// SetStates sets the states of processors, with a prefix. A nil state removes one.
func SetStates(e *tables.Entity, prefix string, states map[string][]byte) {
	for name, state := range states {
		b := append(binary.BigEndian.AppendUint32(make([]byte, 0, stateHead+len(state)), uint32(len(state))), state...)
		for n := 0; n == 0 || len(b) > 0; n++ {
			chunk := min(stateChunk, len(b))
			e.Set(stateName(prefix+name, n), tables.Binary(b[:chunk]))
			b = b[chunk:]
		}
	}
}

// stateName returns the property of a part of a state.
func stateName(first string, part int) string {
	if part == 0 {
		return first
	}
	return first + "_" + strconv.Itoa(part)
}

var errState = errors.New("the state is shorter than its length says")

// statesOf reads the states of processors with a prefix from a row.
func statesOf(e *tables.Entity, prefix string) (map[string][]byte, error) {
	states := map[string][]byte{}
	for _, p := range e.Properties {
		name, is := strings.CutPrefix(p.Name, prefix)
		if !is || strings.Contains(name, "_") { // a processor's name has none
			continue
		}
		state, err := stateOf(e, p.Name, p.Value.Binary())
		if err != nil {
			return states, fmt.Errorf("processor %s: %w", name, err)
		}
		if len(state) > 0 {
			states[name] = state
		}
	}
	return states, nil
}

func stateOf(e *tables.Entity, first string, b []byte) ([]byte, error) {
	if len(b) < stateHead {
		return nil, errState
	}
	size := int(binary.BigEndian.Uint32(b))
	if b = b[stateHead:]; size > tables.MaxEntity {
		return nil, errState
	}
	for n := 1; len(b) < size; n++ {
		more := e.Get(stateName(first, n)).Binary()
		if len(more) == 0 {
			return nil, errState
		}
		b = append(b, more...)
	}
	if size == 0 {
		return nil, nil
	}
	return b[:size:size], nil
}
