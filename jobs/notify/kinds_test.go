package notify_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables/azuretest/must"
)

// TestAlertmanagerGetsAlertsThatResolve reads them as Alertmanager's API describes them.
func TestAlertmanagerGetsAlertsThatResolve(t *testing.T) {
	type alert struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
	}
	var got [][]alert
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alerts []alert
		if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil || r.URL.Path != "/am/api/v2/alerts" ||
			r.Header.Get("Authorization") != "Bearer hush" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		got = append(got, alerts)
	}))
	defer server.Close()
	f := newFixture(t)
	n := f.notifier(f.client, notify.Target{Name: "am", Kind: &notify.Alertmanager{URL: server.URL + "/am/",
		TokenFile: f.secret("hush"), Private: true}, GroupBy: []string{"rule"}, GroupWait: time.Second})
	f.happen(n, "am", f.transition("pump-1", 1))
	f.advance(time.Minute)
	deliver(t, n, "am")
	f.happen(n, "am", f.transition("pump-1", 2), f.transition("pump-2", 1), f.transition("pump-2", 2))
	f.advance(time.Minute)
	deliver(t, n, "am")
	if len(got) != 2 || len(got[0]) != 1 || len(got[1]) != 2 {
		t.Fatalf("alerts: %+v", got)
	}
	fires, ends := got[0][0], got[1][0]
	if ends.Labels["device"] != "pump-1" {
		ends = got[1][1]
	}
	if fmt.Sprint(fires.Labels) != fmt.Sprint(ends.Labels) || fires.Labels["alertname"] != "hot" ||
		fires.Labels["label_pair"] != "24" || !fires.StartsAt.Equal(start) {
		t.Errorf("labels %v and then %v, since %v", fires.Labels, ends.Labels, fires.StartsAt)
	}
	if !fires.EndsAt.After(f.now()) || ends.EndsAt.After(f.now()) || ends.StartsAt.After(ends.EndsAt) {
		t.Errorf("it fires until %v, and ends at %v", fires.EndsAt, ends.EndsAt)
	}
}

// A mailServer takes mails over STARTTLS only, from who knows the password.
type mailServer struct {
	t     *testing.T
	cert  tls.Certificate
	roots *x509.CertPool
	at    string

	mu    sync.Mutex
	mails []string // recipient, newline, text
}

func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	s := &mailServer{t: t, cert: certified.TLS.Certificates[0], roots: x509.NewCertPool()}
	s.roots.AddCert(certified.Certificate())
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.at = l.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return s
}

func (s *mailServer) trusted() *x509.CertPool { return s.roots }

func (s *mailServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	r, encrypted, known, to := bufio.NewReader(conn), false, false, ""
	say := func(text string) { fmt.Fprint(conn, text+"\r\n") }
	say("220 mail.example")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch verb = strings.ToUpper(verb); {
		case verb == "EHLO" && encrypted:
			say("250-mail.example\r\n250 AUTH PLAIN")
		case verb == "EHLO":
			say("250-mail.example\r\n250 STARTTLS")
		case verb == "STARTTLS":
			say("220 go on")
			secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{s.cert}})
			conn, r, encrypted = secure, bufio.NewReader(secure), true
		case verb == "AUTH":
			secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			if known = err == nil && string(secret) == "\x00furrow@example.com\x00hush"; known {
				say("235 welcome")
			} else {
				say("535 no")
			}
		case verb == "RCPT" && strings.Contains(rest, "nobody"):
			say("550 no such user")
		case verb == "RCPT" && known:
			to = strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>")
			say("250 fine")
		case verb == "DATA" && known:
			say("354 go on")
			var text strings.Builder
			for line := ""; line != ".\r\n" && err == nil; {
				if line, err = r.ReadString('\n'); err == nil {
					text.WriteString(line)
				}
			}
			s.mu.Lock()
			s.mails = append(s.mails, to+"\n"+text.String())
			s.mu.Unlock()
			say("250 taken")
		case verb == "QUIT":
			say("221 bye")
			return
		case verb == "MAIL" || verb == "NOOP" || verb == "RSET":
			say("250 fine")
		default:
			say("503 not now")
		}
	}
}

// TestMailsGoToTheAddressesInLabels sends by STARTTLS, with a password, to whom the label of each device names.
func TestMailsGoToTheAddressesInLabels(t *testing.T) {
	f, s := newFixture(t), newMailServer(t)
	password := filepath.Join(t.TempDir(), "password")
	must.Succeed(t, os.WriteFile(password, []byte("hush"), 0o600))
	kind := &notify.SMTP{Server: s.at, From: "Furrow <furrow@example.com>", To: []string{"labels.email"},
		PasswordFile: password, Private: true}
	n := f.notifier(f.client, notify.Target{Name: "patient", Kind: kind, GroupBy: []string{"rule"},
		GroupWait: time.Second})
	n.Roots = s.trusted
	lost, strange := f.transition("pump-3", 1), f.transition("pump-4", 1)
	lost.Labels, strange.Labels["email"] = nil, "nobody@example.com"
	ids := f.happen(n, "patient", f.transition("pump-1", 1), f.transition("pump-2", 1), f.transition("pump-1", 2), lost,
		strange)
	f.advance(time.Minute)
	deliver(t, n, "patient")
	slices.Sort(s.mails)
	if len(s.mails) != 2 || !strings.HasPrefix(s.mails[0], "pump-1@example.com\n") ||
		!strings.Contains(s.mails[0], "Subject: 2 changes of incidents: rule hot") ||
		!strings.Contains(s.mails[1], "Subject: [critical] hot opened on pump-2") ||
		!strings.Contains(s.mails[0], "oil is 191") || !strings.Contains(s.mails[0], "closed after 5m") {
		t.Errorf("%d mails:\n%s", len(s.mails), strings.Join(s.mails, "\n---\n"))
	}
	records := f.records()
	if r := records[ids[3]]; r.Outcome != "given up" || !strings.Contains(r.Error, "has no address") {
		t.Errorf("without a label: %+v", r)
	}
	if r := records[ids[4]]; r.Outcome != "failed" || !strings.Contains(r.Error, "550") {
		t.Errorf("a refused recipient: %+v", r)
	}
	if s := f.state("patient"); s.Failures != 0 || s.Sent != 3 {
		t.Errorf("state %+v; one refused recipient is no reason to stop the others", s)
	}
	must.Succeed(t, os.WriteFile(password, []byte("wrong"), 0o600))
	if _, err := n.Test(t.Context(), "patient", "me@example.com"); err == nil || !strings.Contains(err.Error(), "535") {
		t.Errorf("with a wrong password: %v", err)
	}
	n.Roots = x509.NewCertPool
	if _, err := n.Test(t.Context(), "patient", "me@example.com"); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("with an unknown certificate: %v", err)
	}
	kind.Private = false
	if _, err := n.Test(t.Context(), "patient", "me@example.com"); err == nil ||
		!strings.Contains(err.Error(), "private address") {
		t.Errorf("a server on this machine: %v", err)
	}
}

// TestARefusedRecipientKeepsNoMailFromOthers: the server knows one of two addresses no more. The other mail counts
// as arrived, and the target says who is refused. If both are refused, it is tried again.
func TestARefusedRecipientKeepsNoMailFromOthers(t *testing.T) {
	for to, want := range map[string]int{"ops@example.com": 1, "nobody@mail.example": 0} {
		f, s := newFixture(t), newMailServer(t)
		kind := &notify.SMTP{Server: s.at, From: "furrow@example.com", To: []string{"nobody@example.com", to},
			PasswordFile: f.secret("hush"), Private: true}
		n := f.notifier(f.client, notify.Target{Name: "ops", Kind: kind})
		n.Roots = s.trusted
		f.happen(n, "ops", f.transition("pump-1", 1))
		if r := deliver(t, n, "ops"); len(s.mails) != want || r.Sent != want || r.Failed != 1-want {
			t.Errorf("%d mails %q, %+v; want %d to %s", len(s.mails), s.mails, r, want, to)
		}
		if text := f.state("ops").Error; !strings.Contains(text, "nobody@example.com") {
			t.Errorf("the target says %q", text)
		}
	}
}

// TestMailsAreNeverSentInTheClear talks to a server without STARTTLS.
func TestMailsAreNeverSentInTheClear(t *testing.T) {
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	said := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "220 old.example\r\n")
		r, all := bufio.NewReader(conn), ""
		for {
			line, err := r.ReadString('\n')
			if all += line; err != nil || err == io.EOF {
				said <- all
				return
			}
			fmt.Fprint(conn, "250 fine\r\n")
		}
	}()
	f := newFixture(t)
	n := f.notifier(f.client, notify.Target{Name: "mail", Kind: &notify.SMTP{Server: l.Addr().String(),
		From: "furrow@example.com", To: []string{"ops@example.com"}, Private: true}})
	if _, err := n.Test(t.Context(), "mail", ""); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("%v", err)
	}
	if all := <-said; strings.Contains(all, "MAIL") || strings.Contains(all, "RCPT") {
		t.Errorf("the server has heard %q", all)
	}
}
