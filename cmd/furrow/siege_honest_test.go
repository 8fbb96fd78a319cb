package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// An honestDevice sends a reading at its pace, and renews its token.
type honestDevice struct {
	*siege
	id, tenant string
	key        sas.Key
	client     http.Client
	token      sas.Answer
	held       []sas.Answer // all tokens, of a device that attacks
	accepted   int
	last       tables.Ticks // of the last reading
}

func (d *honestDevice) live(ctx context.Context, first time.Duration, until time.Time) {
	d.client.Transport = &http.Transport{MaxIdleConnsPerHost: 1}
	defer d.client.CloseIdleConnections()
	next := time.Now().Add(first)
	for renewal := next; next.Before(until) && ctx.Err() == nil; next = next.Add(siegeEvery) {
		time.Sleep(time.Until(next))
		if !next.Before(renewal) {
			d.mustRenew(ctx)
			renewal = next.Add(siegeRenew)
		}
		d.send(ctx)
	}
}

// mustRenew gets a token, and tries again each second.
func (d *honestDevice) mustRenew(ctx context.Context) {
	began := time.Now()
	for d.renew(ctx) != nil && ctx.Err() == nil {
		time.Sleep(time.Second)
	}
	d.answers.renewed(time.Since(began))
}

func (d *honestDevice) renew(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.said.Endpoint+"/v1/devices/"+d.id+"/token", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", d.key.Prove(d.tenant+"/registrations/"+d.id, time.Now().Add(time.Hour)))
	status, body, err := d.do(r)
	d.answers.add("token", status, 0, nil)
	if err != nil || status != http.StatusOK {
		return errors.Join(fmt.Errorf("status %d", status), err)
	}
	return json.Unmarshal(body, &d.token)
}

func (d *honestDevice) do(r *http.Request) (status int, body []byte, err error) {
	answer, err := d.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// send sends a reading, and tries again until it is accepted.
func (d *honestDevice) send(ctx context.Context) {
	began := time.Now()
	d.last = tables.TicksOf(began)
	body := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,"temperature":21.5,"note":"%0200d"}`, d.token.PartitionKey,
		d.last.String(), 0)
	for ctx.Err() == nil {
		tried := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.token.URL+"?"+d.token.SAS, bytes.NewReader(body))
		if err != nil {
			panic(err) // the token's URL
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Prefer": {"return-no-content"}}
		status, _, _ := d.do(r) // 0 without an answer
		d.answers.add("insert", status, time.Since(tried), &d.answers.inserts)
		if status == http.StatusNoContent || status == http.StatusConflict { // an answer was lost
			d.accepted++
			d.answers.accepted(time.Since(began))
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// view looks at a tenant's overview and devices, as an open page does.
func (s *siege) view(ctx context.Context, tenant string, until time.Time) {
	client := http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for ; time.Now().Before(until) && ctx.Err() == nil; time.Sleep(time.Second) {
		for _, path := range []string{"v1/overview", "v1/devices?limit=20"} {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.said.Dashboard+path, nil)
			if err != nil {
				panic(err) // the dashboard's URL
			}
			r.Header.Set("Authorization", "Bearer "+s.viewers[tenant])
			began, status := time.Now(), 0
			if answer, err := client.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				status = answer.StatusCode
			}
			s.answers.add("view", status, time.Since(began), &s.answers.views)
		}
	}
}
