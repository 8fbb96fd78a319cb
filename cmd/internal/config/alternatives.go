package config

import (
	"reflect"
	"slices"

	"furrow/jobs/notify"
	"furrow/jobs/rules"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// An alternative is one of the blocks that a key can have.
type alternative struct {
	to   interface{ Name() string } // a pointer to a struct
	want string
}

// alternativesOf returns the blocks that an interface can be, each of them empty.
func alternativesOf(of reflect.Value) (all []alternative) {
	if of.Type() == reflect.TypeFor[rules.Kind]() {
		for _, k := range rules.Kinds() {
			all = append(all, alternative{k.Kind, k.Want})
		}
		return all
	}
	return []alternative{
		{&notify.Webhook{}, "a map like {url: https://ops.example/hook, secretFile: /run/secrets/ops}"},
		{&notify.Alertmanager{}, "a map like {url: 'http://alertmanager:9093', private: true}"},
		{&notify.Queue{}, "a map like {name: alerts}"},
		{&notify.SMTP{}, `a map like {server: "smtp.example:587", from: furrow@example.com, to: labels.email, ` +
			`passwordFile: /run/secrets/smtp}`},
	}
}

// oneOf returns a key for each block that an interface can be.
func oneOf(r *reader, v reflect.Value) (all []key) {
	for _, one := range alternativesOf(v) {
		is := !v.IsNil() && v.Elem().Type() == reflect.TypeOf(one.to)
		all = append(all, key{name: one.to.Name(), zero: func() bool { return !is }, kind: kind{
			want: one.want,
			read: func(n ast.Node) {
				r.within(one.to.Name(), func() { r.block(one.to, n, n, one.want) })
				v.Set(reflect.ValueOf(one.to))
			},
			shown: func() any { return shown(v.Interface()) },
			keys:  func() []key { return keysOf(nil, one.to) },
		}})
	}
	return all
}

// when is the kind of a map with one of several blocks.
func (f field) when(v reflect.Value) kind {
	const want = "a map with one kind of condition, such as {silence: {after: 1h}}"
	keys := oneOf(f.r, v)
	names := namesOf(keys)
	return kind{want: want, read: func(n ast.Node) {
		m, ok := f.r.pairs(n, want, func(name string, at, value ast.Node) {
			if i := slices.Index(names, name); i >= 0 {
				keys[i].read(value)
				return
			}
			f.r.problem(at, "unknown condition %s%s; want %s", quote(name), didYouMean(name, names), list(names))
		})
		if ok && len(m.Values) != 1 {
			f.r.problem(n, "%s: %d conditions; want one, and a rule for each of the others", f.name, len(m.Values))
		}
	}, shown: func() (all any) {
		for _, k := range keys {
			if !k.zero() {
				all = ordered{yaml.MapItem{Key: k.name, Value: k.shown()}}
			}
		}
		return all
	}, keys: func() []key { return oneOf(nil, v) }}
}
