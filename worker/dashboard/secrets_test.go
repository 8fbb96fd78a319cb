package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangedSecretEndsTheFormerOne: programs with the former one are refused, and so is a session that began with it.
func TestChangedSecretEndsTheFormerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, away := Secrets{Password: "correct horse", Token: "battery staple"}, error(nil)
		var mu sync.Mutex // guards both
		d := newDashboard(t, Config{Secrets: now, Reread: func() (Secrets, error) {
			mu.Lock()
			defer mu.Unlock()
			return now, away
		}})
		change := func(to Secrets, err error) {
			mu.Lock()
			defer mu.Unlock()
			now, away = to, err
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go d.followSecrets(ctx)
		w := httptest.NewRecorder()
		who := d.named("correct horse")
		if !who.known() {
			t.Fatalf("%+v", who)
		}
		d.sessions.begin(w, who)
		cookie := w.Result().Cookies()[0]
		knows := func(signed func(*http.Request)) bool {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			signed(r)
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
		change(now, errors.New("the file is away"))
		if pass(); !knows(session) {
			t.Error("a file that cannot be read ends sessions")
		}
		change(Secrets{Password: "another horse", Token: "battery staple"}, nil)
		if pass(); knows(session) || !knows(bearer("battery staple")) {
			t.Error("the session with the former password lasts, or another secret ended with it")
		}
		change(Secrets{Password: "another horse", Token: "another staple"}, nil)
		if pass(); knows(bearer("battery staple")) || !knows(bearer("another staple")) {
			t.Error("the former token lets in, or the new one does not")
		}
	})
}
