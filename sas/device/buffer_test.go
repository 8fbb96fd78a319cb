package device

import (
	"fmt"
	"testing"
)

// TestSendingMovesNoOtherReading: a device that was offline for long has very many, and sends a few at a time. What
// waits behind them stays where it is.
func TestSendingMovesNoOtherReading(t *testing.T) {
	b := mustOpen(t, "")
	for i := range 1000 {
		mustAdd(t, b, fmt.Sprint(i))
	}
	for sent := 0; sent < 1000; sent += 100 {
		next := &b.entries[99]
		last := &b.entries[len(b.entries)-1]
		b.remove(b.next(100)...)
		if left, _ := b.waiting(b.mark()); left != len(b.entries) || left != 900-sent {
			t.Fatalf("%d of %d readings wait after %d", left, len(b.entries), sent+100)
		}
		if len(b.entries) > 0 && (last != &b.entries[len(b.entries)-1] || *next != nil) {
			t.Fatal("readings were moved, or those that were sent are kept in memory")
		}
	}
	if b.bytes != 0 {
		t.Errorf("%d bytes are left", b.bytes)
	}
}
