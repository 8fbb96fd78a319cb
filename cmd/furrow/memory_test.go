package main

import "testing"

// TestMemoryLimitLeavesRoomForGarbage of half the live heap, however much the stacks of connections take.
func TestMemoryLimitLeavesRoomForGarbage(t *testing.T) {
	for _, stacks := range []int64{0, 45 << 20, 300 << 20} {
		last := int64(0)
		for live := int64(0); live < 4<<30; live += 10 << 20 {
			limit := memoryLimit(upMemory, live, stacks)
			if limit < upMemory || limit-stacks-live < live/2 || limit < last {
				t.Errorf("with a live heap of %d MiB and stacks of %d MiB, the limit is %d MiB", live>>20, stacks>>20,
					limit>>20)
			}
			last = limit
		}
	}
}
