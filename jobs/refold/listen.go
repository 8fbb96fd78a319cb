package refold

import (
	"context"
	"time"

	"furrow/jobs/folding"
)

// listen looks for rows above the checkpoint of a device that rests because it has no token. Somebody else has written
// them, with the account's key, or an older release or a clock that was wrong has kept its note from being right. A
// device job is put for it then: no row waits for longer than the turn of such a look. A full audit looks at
// those, too, whose next row is not expected yet. Rows of an import that no job knows yet are nobody else's, and the
// next run looks at the device anyway.
func (a *auditor) listen(ctx context.Context, d *folding.Device) error {
	r, turn := d.Row.Was.Rest, TurnOf(a.Writer.Pipeline, d.Member.Month, a.task.Since, a.task.Slot)
	asleep := r.Until != 0 && r.Until == d.Member.Awake
	late := a.task.Depth == Late && asleep && turn.beyond()
	if !a.Rests || d.Err != nil || r.Of == 0 || a.task.Depth != Full && !late ||
		d.Member.Imports.Unknown(d.Row.Imported) {
		return nil
	}
	above := d.Row.Unread()
	above.To = a.now.Add(-time.Minute).String()
	has, err := folding.HasRow(ctx, a.Writer.Client, d.Member, above)
	if has {
		a.result.Unheard = append(a.result.Unheard, Unheard{d.Member, asleep})
	}
	return err
}
