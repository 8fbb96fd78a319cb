package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// Names of acts in the activity log: those of the commands.
const (
	AckAct  = "incident ack"
	NoteAct = "incident note"
	MuteAct = "mute add"
)

// ErrIncidentClosed means that a closed incident cannot be acknowledged.
var ErrIncidentClosed = errors.New("it is closed")

// ErrNoText means that a note has no text.
var ErrNoText = errors.New("a note needs a text")

// NoteIncident acknowledges an incident, or writes a note beside it.
func (f Fleet) NoteIncident(
	ctx context.Context, by Actor, i query.Incident, what, text string,
) (n schema.Note, err error) {
	n = schema.Note{ID: rand.Text(), What: what, Number: i.Number, At: tables.TicksOf(time.Now()), Who: by.Name,
		Text: text}
	act := schema.Act{What: NoteAct, Device: i.ID.Device, Tenant: i.Home.Tenant,
		Detail: strings.TrimSpace(i.ID.String() + " " + text)}
	if what == schema.Acknowledged {
		act.What = AckAct
		if i.Closed != nil {
			return n, fmt.Errorf("incident %s: %w since %s", i.ID, ErrIncidentClosed, i.Closed.At.Time().Format(time.RFC3339))
		}
	} else if text == "" {
		return n, ErrNoText
	}
	return n, f.Do(ctx, by, act, func(ctx context.Context) (string, error) {
		return "", f.reader().Incidents().AddNote(ctx, i, n)
	})
}

// Mute has nobody notified of the incidents that a mute matches. It gives the mute its ID.
func (f Fleet) Mute(ctx context.Context, by Actor, m schema.Mute) (schema.Mute, error) {
	m.ID, m.Who = strings.ToLower(rand.Text()[:10]), by.Name
	act := schema.Act{What: MuteAct, Tenant: m.Tenant, Detail: m.Matches()}
	return m, f.Do(ctx, by, act, func(ctx context.Context) (string, error) {
		return "", f.reader().Incidents().AddMute(ctx, m)
	})
}
