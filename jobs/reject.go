package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"furrow/tables"
)

// reject writes what was refused. A second time it writes the same again.
func (j *job) reject(ctx context.Context) error {
	table := j.pipeline.Client.Table(j.pipeline.Names.Rejects())
	for _, d := range j.work {
		if !d.live() || len(d.refused) == 0 {
			continue
		}
		at := map[string]int{}
		var ops []tables.Op
		for _, r := range d.refused {
			key := rejectKey(r.Row)
			if i, twice := at[key]; twice { // another value of one row
				e := &ops[i].Entity
				e.Set("Reason", tables.String(clip(e.Get("Reason").Text()+"; "+r.reason(), maxReason)))
				continue
			}
			e := tables.Entity{PartitionKey: string(d.member.Device), RowKey: key}
			e.Set("Reason", tables.String(clip(r.reason(), maxReason)))
			e.Set("Row", tables.String(r.text))
			at[key] = len(ops)
			ops = append(ops, tables.InsertOrReplace(e))
		}
		groups, err := tables.Cut(ops)
		if err != nil {
			return err
		}
		for _, g := range groups {
			if err := again(ctx, func() error { _, err := table.Submit(ctx, g); return err }); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bounds of a reject, in bytes.
const (
	maxReason  = 2 << 10
	maxRowText = 16 << 10
)

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (r *refusedRow) reason() string {
	if r.Sensor == "" {
		return r.Reason
	}
	return r.Sensor + ": " + r.Reason
}

// rowText is a row for people: its properties as they were.
func rowText(row *tables.Entity) string {
	if row == nil {
		return ""
	}
	s := row.RowKey
	for _, p := range row.Properties {
		s += fmt.Sprintf(" %s=%s", p.Name, p.Value)
		if len(s) > maxRowText {
			break
		}
	}
	return clip(s, maxRowText)
}

// rejectKey is the row key of a reject: the reading's own, where that can be written.
func rejectKey(row string) string {
	if tables.CheckKey(row) == nil {
		return row
	}
	sum := sha256.Sum256([]byte(row))
	return "sha256-" + hex.EncodeToString(sum[:])
}
