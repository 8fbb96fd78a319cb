package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// await waits until the endpoint knows the members' enrollments and that they admit Backfill, which it learns
// within sas.Recent. A device that asks too early would give up for minutes, or set old readings aside. It asks
// for a token for one member of each enrollment.
func (r *runner) await(ctx context.Context) error {
	asked := map[schema.EnrollmentID]bool{}
	for _, m := range r.Members {
		id, key := r.Credential(m)
		if asked[id] {
			continue
		}
		asked[id] = true
		if err := r.awaitOne(ctx, m, id, key); err != nil && ctx.Err() == nil {
			return fmt.Errorf("endpoint %s: %w", r.Endpoint, err)
		}
	}
	return nil
}

func (r *runner) awaitOne(ctx context.Context, m Member, id schema.EnrollmentID, key string) error {
	const tries = 4 // an answer may be lost
	deadline := time.Now().Add(r.Known)
	for failed := 0; ; {
		known, why, err := r.ask(ctx, m, id, key)
		if err != nil {
			failed++
		}
		switch {
		case failed == tries:
			return fmt.Errorf("%w; is it running? furrow sas, or furrow up, starts it", err)
		case known:
			return nil
		case err == nil && time.Now().After(deadline):
			return fmt.Errorf("it does not know enrollment %s as stored: %s", id, why)
		case !setup.Pause(ctx, 500*time.Millisecond):
			return nil // ctx has ended
		}
	}
}

// ask asks for a token, and tells whether the endpoint accepted the proof. The device handles all other answers.
func (r *runner) ask(ctx context.Context, m Member, id schema.EnrollmentID,
	text string) (known bool, why string, err error) {
	key, err := sas.ParseKey(text)
	if err != nil {
		return false, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(r.Endpoint, "/")+"/v1/devices/"+
		url.PathEscape(string(m.ID))+"/token", nil)
	if err != nil {
		return false, "", err
	}
	request.Header.Set("Authorization", key.Prove(string(id)+"/registrations/"+string(m.ID),
		time.Now().Add(10*time.Minute)))
	answer, err := (&http.Client{Transport: r.Transport, Timeout: max(30*time.Second, r.Known)}).Do(request)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err != nil {
		return false, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode == http.StatusOK && err == nil {
		known, why := r.admits(body)
		return known, why, nil
	}
	if answer.StatusCode != http.StatusUnauthorized {
		return true, "", nil
	}
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if err != nil || json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		return false, "", fmt.Errorf("it answers %s, unlike a furrow endpoint", answer.Status)
	}
	return false, problem.Code + ": " + problem.Detail, nil
}

// admits tells whether a token admits rows as old as Backfill, give or take the minute that the request took.
func (r *runner) admits(body []byte) (ok bool, why string) {
	var a sas.Answer
	if err := json.Unmarshal(body, &a); err != nil {
		return false, "its answer cannot be read: " + err.Error()
	}
	wanted := a.ServerTime.Add(time.Minute - r.Backfill)
	if r.Backfill == 0 || a.EarliestRowKey <= tables.TicksOf(wanted) {
		return true, ""
	}
	return false, "its tokens admit rows from " + a.EarliestRowKey.Time().Format(time.RFC3339) + " on, not from " +
		wanted.Format(time.RFC3339)
}
