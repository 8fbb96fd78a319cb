package main

import "testing"

func TestMemoryLimitLeavesRoomForGarbage(t *testing.T) {
	last := int64(0)
	for live := int64(0); live < 4<<30; live += 10 << 20 {
		limit := memoryLimit(upMemory, live)
		if limit < upMemory || limit < live+live/2 || limit < last {
			t.Errorf("with a live heap of %d MiB, the limit is %d MiB", live>>20, limit>>20)
		}
		last = limit
	}
}
