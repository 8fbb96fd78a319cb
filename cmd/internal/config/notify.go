package config

import (
	"slices"
	"time"

	"furrow/jobs/notify"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// targets returns the key for who is notified. It is read before the rules, which name them.
func (r *reader) targets(to *[]notify.Target) key {
	const want = "a map of targets, such as ops: {webhook: {url: https://ops.example/hook, secretFile: /run/secrets/ops}}"
	return key{name: "notify", read: func(n ast.Node) {
		_, _ = r.pairs(n, want, func(name string, at, value ast.Node) {
			r.within("notify "+quote(name), func() {
				t := notify.Target{Name: schema.Target(name)}
				r.target(&t, at, value)
				*to = append(*to, t)
			})
		})
	}}
}

// target reads one target.
func (r *reader) target(to *notify.Target, at, n ast.Node) {
	before, kinds, waits := len(r.problems), 0, false
	var keys []key
	for name, read := range map[string]func(ast.Node) notify.Kind{"webhook": r.webhook, "alertmanager": r.alertmanager,
		"queue": r.queue, "smtp": r.smtp} {
		keys = append(keys, key{name: name, read: func(n ast.Node) {
			kinds++
			r.within(name, func() { to.Kind = read(n) })
		}})
	}
	place := func(k key) int { return slices.Index(kindNames(), k.name) }
	slices.SortFunc(keys, func(a, b key) int { return place(a) - place(b) })
	wait := r.duration("groupWait", &to.GroupWait, time.Second, time.Hour)
	readWait := wait.read
	wait.read = func(n ast.Node) { waits = true; readWait(n) }
	r.object(n, "a map like {webhook: {url: https://ops.example/hook, secretFile: /run/secrets/ops}, repeat: 24h}",
		append(keys, key{name: "groupBy", read: func(n ast.Node) { to.GroupBy = r.anyOf("groupBy", n) }}, wait,
			r.duration("repeat", &to.Repeat, time.Minute, 31*day))...)
	if len(r.problems) > before {
		return
	}
	if kinds != 1 {
		r.problem(at, "%d kinds of target; want one: %s", kinds, list(kindNames()))
		return
	}
	if len(to.GroupBy) > 0 && !waits {
		to.GroupWait = defaultGroupWait
	}
	if err := to.Check(); err != nil {
		r.problem(at, "%v", err)
	}
}

// defaultGroupWait is how long a group waits if the configuration does not say it.
const defaultGroupWait = 30 * time.Second

func kindNames() []string { return []string{"webhook", "alertmanager", "queue", "smtp"} }

func (r *reader) webhook(n ast.Node) notify.Kind {
	k := &notify.Webhook{}
	r.object(n, "a map like {url: https://ops.example/hook, secretFile: /run/secrets/ops}",
		r.plainText("url", &k.URL, true), r.plainText("secretFile", &k.SecretFile, true), r.private(&k.Private))
	return k
}

func (r *reader) alertmanager(n ast.Node) notify.Kind {
	k := &notify.Alertmanager{}
	r.object(n, "a map like {url: 'http://alertmanager:9093', private: true}", r.plainText("url", &k.URL, true),
		r.plainText("tokenFile", &k.TokenFile, false), r.private(&k.Private))
	return k
}

func (r *reader) queue(n ast.Node) notify.Kind {
	k := &notify.Queue{}
	r.object(n, "a map like {name: alerts}", r.plainText("name", &k.Queue, true))
	return k
}

func (r *reader) smtp(n ast.Node) notify.Kind {
	k := &notify.SMTP{}
	r.object(n, `a map like {server: "smtp.example:587", from: furrow@example.com, to: labels.email, passwordFile: `+
		`/run/secrets/smtp}`, r.plainText("server", &k.Server, true), r.plainText("from", &k.From, true),
		key{name: "to", must: true, read: func(n ast.Node) { k.To = r.anyOf("to", n) }},
		r.plainText("user", &k.User, false), r.plainText("passwordFile", &k.PasswordFile, false), r.private(&k.Private))
	return k
}

func (r *reader) plainText(name string, to *string, must bool) key {
	k := r.word(name, "a text", func(text string) bool {
		*to = text
		return text != ""
	})
	k.must = must
	return k
}

func (r *reader) private(to *bool) key {
	return r.word("private", "true, if addresses of private networks are meant, or false", func(text string) bool {
		*to = text == "true"
		return text == "true" || text == "false"
	})
}

// targetNames reads names of targets.
func (r *reader) targetNames(n ast.Node, targets []notify.Target) (names []schema.Target) {
	var all []string
	for _, t := range targets {
		all = append(all, string(t.Name))
	}
	for _, name := range r.anyOf("notify", n) {
		switch {
		case !slices.Contains(all, name):
			r.problem(n, "target %s is not in notify: of this configuration%s", quote(name), didYouMean(name, all))
		case slices.Contains(names, schema.Target(name)):
			r.problem(n, "target %s occurs twice", quote(name))
		default:
			names = append(names, schema.Target(name))
		}
	}
	return names
}
