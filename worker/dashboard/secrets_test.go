package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangedSecretEndsTheFormerOne: programs with the former one are refused, and so is a session that began with it.
func TestChangedSecretEndsTheFormerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, away := Secrets{Password: "correct horse", Token: "battery staple"}, error(nil)
		d := newDashboard(t, Config{Secrets: now, Reread: func() (Secrets, error) { return now, away }})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go d.followSecrets(ctx)
		w := httptest.NewRecorder()
		who, err := d.find(ctx, "correct horse")
		if err != nil || !who.known() {
			t.Fatalf("%+v, %v", who, err)
		}
		d.sessions.begin(w, who)
		cookie := w.Result().Cookies()[0]
		knows := func(change func(*http.Request)) bool {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			change(r)
			who, _ := d.identify(r)
			return who.known()
		}
		session := func(r *http.Request) { r.AddCookie(cookie) }
		bearer := func(token string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
		}
		pass := func() { synctest.Wait(); time.Sleep(secretsInterval * 2) }

		if pass(); !knows(session) || !knows(bearer("battery staple")) {
			t.Fatal("a secret that did not change does not let in")
		}
		away = errors.New("the file is away")
		if pass(); !knows(session) {
			t.Error("a file that cannot be read ends sessions")
		}
		away, now = nil, Secrets{Password: "another horse", Token: "battery staple"}
		if pass(); knows(session) || !knows(bearer("battery staple")) {
			t.Error("the session with the former password lasts, or another secret ended with it")
		}
		now.Token = "another staple"
		if pass(); knows(bearer("battery staple")) || !knows(bearer("another staple")) {
			t.Error("the former token lets in, or the new one does not")
		}
	})
}
