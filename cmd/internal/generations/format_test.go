package generations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestApplyRaisesTheFormatWhenNoOlderProcessLives: neither a rollback nor an older program lowers it again.
func TestApplyRaisesTheFormatWhenNoOlderProcessLives(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	older := f.store(t, nil)
	newer := older
	newer.Format = schema.Format + 1
	must.Have(older.Apply(ctx, "a.yaml", text(1), "ann"))(t)
	old := NewFollower(older, Loaded{Generation: 1, Format: schema.Format, Config: config.Default()},
		schema.Process{Name: "worker-1", Version: "v1.2.3", Format: schema.Format}, slog.New(slog.DiscardHandler))
	old.Every = time.Millisecond
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- old.Run(running) }()
	awaitProcess := func(want int) {
		t.Helper()
		for n := -1; n != want; time.Sleep(time.Millisecond) {
			n = 0
			for page, err := range older.Table.Rows(ctx, tables.Query{Range: schema.Processes()}) {
				must.Succeed(t, err)
				n += len(page.Rows)
			}
		}
	}
	awaitProcess(1)

	_, err := newer.Apply(ctx, "b.yaml", text(2), "bob")
	who := fmt.Sprintf("worker-1 (version v1.2.3 reads up to format %d)", schema.Format)
	if !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), who) {
		t.Errorf("while an older worker lives: %v", err)
	}
	offered := must.Have(newer.Offer(ctx, "b.yaml", text(2), "bob"))(t)
	if !errors.Is(offered.Refused, ErrOlder) || offered.Stored || offered.Holds.Generation != 1 {
		t.Errorf("an offer returns %+v", offered)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	awaitProcess(0)

	raised := must.Have(newer.Apply(ctx, "a.yaml", text(1), "bob"))(t)
	if !raised.Stored || raised.Holds.Format != schema.Format+1 || !strings.Contains(raised.Holds.Change,
		fmt.Sprintf("format %d becomes %d", schema.Format, schema.Format+1)) {
		t.Errorf("the same text again: %+v", raised)
	}
	if again := must.Have(newer.Apply(ctx, "a.yaml", text(1), "bob"))(t); again.Stored {
		t.Errorf("and once more: %+v", again)
	}
	for what, act := range map[string]func() (Change, error){
		"applies":    func() (Change, error) { return older.Apply(ctx, "c.yaml", text(3), "ann") },
		"rolls back": func() (Change, error) { return older.Rollback(ctx, 1, "ann") },
		"offers":     func() (Change, error) { return older.Offer(ctx, "c.yaml", text(3), "ann") },
	} {
		if change, err := act(); !errors.Is(err, schema.ErrNewer) {
			t.Errorf("an older program %s: %+v, %v", what, change, err)
		}
	}
	head, _, err := older.Newest(ctx, 0)
	if err != nil || head.Generation != 2 {
		t.Fatalf("an older program sees %+v, %v", head, err)
	}
	if _, err := Read(head); !errors.Is(err, schema.ErrNewer) {
		t.Errorf("an older program can use it: %v", err)
	}
	if all, err := older.History(ctx); err != nil || len(all) != 2 {
		t.Errorf("an older program lists %+v, %v", all, err)
	}
	must.Have(newer.Apply(ctx, "d.yaml", text(4), "bob"))(t)
}

func TestRowOfAKilledProcessExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := must.Have(schema.Process{Name: "worker-1", Format: 7}.Entity())(t)
		e.Timestamp = tables.TicksOf(time.Now())
		p, err := schema.ProcessOf(e)
		if err != nil || p.Format != 7 || !p.Lives(time.Now().Add(schema.ProcessGone-time.Second)) ||
			p.Lives(time.Now().Add(schema.ProcessGone)) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
