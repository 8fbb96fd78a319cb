package sas

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A fakeStorage holds one record of policies and the table's list. It answers at once, without a
// network, so that tests can run in a synctest bubble.
type fakeStorage struct {
	mu      sync.Mutex
	record  string // as JSON
	version int
	list    string // as XML
	lists   int    // how often the list was read
	down    bool
	slow    time.Duration // until a list is answered
}

func (s *fakeStorage) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	body, _ := io.ReadAll(req.Body)
	etag := fmt.Sprintf("W/%d", s.version)
	switch acl := req.URL.Query().Get("comp") == "acl"; {
	case s.down:
		w.WriteHeader(http.StatusForbidden)
	case acl && req.Method == http.MethodGet:
		s.lists++
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, s.list)
	case acl:
		s.list = string(body)
		w.WriteHeader(http.StatusNoContent)
	case req.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json;odata=minimalmetadata")
		fmt.Fprintf(w, `{"value":[{"odata.etag":%q,%s]}`, etag, s.record[1:])
	case req.Header.Get("If-Match") != etag:
		w.Header().Set("x-ms-error-code", "UpdateConditionNotSatisfied")
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		s.version++
		s.record = string(body)
		w.Header().Set("ETag", fmt.Sprintf("W/%d", s.version))
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *fakeStorage) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if s.mu.Lock(); req.URL.Query().Get("comp") == "acl" {
		defer time.Sleep(s.slow)
	}
	s.mu.Unlock()
	if req.Body == nil {
		req.Body = http.NoBody
	}
	s.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// put changes the record as another process would.
func (s *fakeStorage) put(t *testing.T, p *Policies, change func(*schema.Policies)) {
	t.Helper()
	record, _, err := p.read(t.Context(), "readings")
	must.Succeed(t, err)
	change(&record)
	must.Succeed(t, p.swap(t.Context(), record))
}

// withFakeStorage runs a test while Run manages policies with one completed change.
func withFakeStorage(t *testing.T, test func(t *testing.T, s *fakeStorage, p *Policies)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStorage{list: "<SignedIdentifiers/>"}
		c, err := tables.Connect(tables.Config{
			Account:   tables.Account{Name: "acme", Key: "a2V5", Table: "https://acme.table.core.windows.net"},
			Transport: transporter{s},
			Retry:     policy.RetryOptions{MaxRetries: -1},
		})
		must.Succeed(t, err)
		record := schema.Policies{Readings: "readings", Number: 3,
			Changes: []schema.Change{{Number: 3, Device: "pump-7", To: schema.Revoked, Done: true}}}
		for _, policy := range record.All() {
			*policy = newPolicy()
		}
		e := must.Have(record.Entity())(t)
		s.record = fmt.Sprintf(`{"PartitionKey":"readings","RowKey":"policies","Number":3,"Cohorts":%q,"Spare":%q,`+
			`"Changes":%q}`, e.Get("Cohorts").Text(), e.Get("Spare").Text(), e.Get("Changes").Text())

		p := &Policies{Client: c, Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		test(t, s, p)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run ends with %v", err)
		}
	})
}

// openChanges returns how many changes the record has.
func openChanges(t *testing.T, p *Policies) int {
	t.Helper()
	record, _, err := p.read(t.Context(), "readings")
	must.Succeed(t, err)
	return len(record.Changes)
}

func TestRunComparesEveryFewSeconds(t *testing.T) {
	withFakeStorage(t, func(t *testing.T, s *fakeStorage, _ *Policies) {
		s.mu.Lock()
		s.lists = 0
		s.mu.Unlock()
		time.Sleep(10 * time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lists < 100 || s.lists > 150 {
			t.Errorf("%d times in ten minutes", s.lists)
		}
	})
}

func TestChangeIsClosedAfterAMinuteOfAgreement(t *testing.T) {
	withFakeStorage(t, func(t *testing.T, s *fakeStorage, p *Policies) {
		if c := p.Counts(); c != (PolicyCounts{Tables: 1, Open: 1, Repairs: 1}) {
			t.Errorf("after the first round: %+v", c)
		}
		time.Sleep(55 * time.Second)
		if openChanges(t, p) != 1 {
			t.Error("it is closed before a minute has passed")
		}
		time.Sleep(15 * time.Second)
		if openChanges(t, p) != 0 {
			t.Error("it is open after more than a minute")
		}
	})
}

// TestChangeIsClosedWhereARoundTakesLong: one over hundreds of tables does.
func TestChangeIsClosedWhereARoundTakesLong(t *testing.T) {
	for _, slow := range []time.Duration{15 * time.Second, 5 * time.Minute} {
		withFakeStorage(t, func(t *testing.T, s *fakeStorage, p *Policies) {
			s.mu.Lock()
			s.slow = slow
			s.mu.Unlock()
			time.Sleep(2*time.Minute + 6*slow)
			if openChanges(t, p) != 0 {
				t.Errorf("with rounds of %v, it stays open", slow)
			}
		})
	}
}

func TestDriftIsRepairedAndTheMinuteStartsAgain(t *testing.T) {
	for what, drift := range map[string]func(s *fakeStorage, p *Policies){
		"an old list": func(s *fakeStorage, _ *Policies) { s.list = "<SignedIdentifiers/>" },
		"an old policy instead of another": func(s *fakeStorage, _ *Policies) {
			s.list = s.list[:strings.LastIndex(s.list, "<SignedIdentifier>")] +
				"<SignedIdentifier><Id>old</Id><AccessPolicy></AccessPolicy></SignedIdentifier></SignedIdentifiers>"
		},
		"an expiry": func(s *fakeStorage, _ *Policies) {
			s.list = strings.Replace(s.list, "<AccessPolicy>", "<AccessPolicy><Expiry>2026-01-01T00:00:00Z</Expiry>", 1)
		},
		"a change of the record": nil,
	} {
		withFakeStorage(t, func(t *testing.T, s *fakeStorage, p *Policies) {
			s.mu.Lock()
			right := s.list
			s.mu.Unlock()
			time.Sleep(50 * time.Second)
			if drift == nil {
				s.put(t, p, func(r *schema.Policies) { r.Number++ })
			} else {
				s.mu.Lock()
				if drift(s, p); s.list == right {
					t.Fatalf("%s: nothing has changed", what)
				}
				s.mu.Unlock()
			}
			time.Sleep(10 * time.Second)
			s.mu.Lock()
			if s.list != right {
				t.Errorf("%s is not repaired: %s", what, s.list)
			}
			s.mu.Unlock()
			time.Sleep(45 * time.Second)
			if openChanges(t, p) != 1 {
				t.Errorf("%s: the change is closed before a minute has passed", what)
			}
			time.Sleep(20 * time.Second)
			if openChanges(t, p) != 0 {
				t.Errorf("%s: the change is open after more than a minute", what)
			}
			if n := p.Counts().Repairs; (n == 2) != (drift != nil) {
				t.Errorf("%s: %d repairs", what, n)
			}
		})
	}
}

// A policy that was missing from storage for a while counts as new.
func TestLostPolicyHasToWaitAgain(t *testing.T) {
	withFakeStorage(t, func(t *testing.T, s *fakeStorage, p *Policies) {
		p.Delay = 30 * time.Second
		time.Sleep(10 * time.Minute)
		if now, err := p.Current(t.Context(), "readings", victim); now.Wait != 0 || err != nil {
			t.Errorf("in force for minutes: %+v, %v", now, err)
		}
		if age := p.Counts().SpareAge; age < 9*time.Minute {
			t.Errorf("the spare is %v old", age)
		}
		s.mu.Lock()
		s.list = "<SignedIdentifiers/>"
		s.mu.Unlock()
		time.Sleep(6 * time.Second)
		if now, err := p.Current(t.Context(), "readings", victim); now.Wait < 24*time.Second || err != nil {
			t.Errorf("lost and set again: %+v, %v", now, err)
		}
	})
}

func TestRunOutlivesAnOutage(t *testing.T) {
	withFakeStorage(t, func(t *testing.T, s *fakeStorage, p *Policies) {
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.down = false
		s.mu.Unlock()
		if c := p.Counts(); c.Errors < 8 || c.Errors > 16 {
			t.Errorf("after a minute without storage: %+v", c)
		}
		time.Sleep(10 * time.Second)
		if c := p.Counts(); c.Tables != 1 || c.Open != 1 {
			t.Errorf("afterwards: %+v", c)
		}
	})
}
