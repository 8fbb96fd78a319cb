package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/web"
)

func (d *Dashboard) signInRoutes() []api.Route {
	return []api.Route{
		api.Take("GET "+web.SignInPath, func(w http.ResponseWriter, r *http.Request, _ api.None) error {
			d.web.SignIn(w, r, http.StatusOK, "/", "")
			return nil
		}),
		api.Take("POST "+web.SignInPath, d.signIn),
		api.Take("POST "+web.SignOutPath, d.signOut),
	}
}

// signIn begins a session for a token or password, and shows the page that was asked for.
func (d *Dashboard) signIn(w http.ResponseWriter, r *http.Request, _ api.None) error {
	secret, to := strings.TrimSpace(r.PostForm.Get("token")), local(r.PostForm.Get("to"))
	who, err := d.prove(r, secret)
	if p, is := errors.AsType[*api.Problem](err); is && p.Code == api.Unauthorized {
		_ = challenging(w, p)
		d.web.SignIn(w, r, p.Status, to, p.Detail)
		return nil
	}
	if err != nil {
		return err
	}
	d.sessions.signOut(w, r)
	d.sessions.begin(w, who)
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request, _ api.None) error {
	d.sessions.signOut(w, r)
	http.Redirect(w, r, web.SignInPath, http.StatusSeeOther)
	return nil
}

// local returns an address on this dashboard: the given one, or the first page where that leads elsewhere.
func local(address string) string {
	if !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n\t") {
		return "/"
	}
	return address
}
