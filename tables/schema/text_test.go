package schema

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"furrow/tables"
)

func TestTextsOfTenantsInKeys(t *testing.T) {
	for text, key := range map[string]string{
		"contoso":             "contoso",
		"Größe & Co / #1":     "Gr=C3=B6=C3=9Fe=20=26=20Co=20=2F=20=231",
		"ünïcode 'quoted'!":   "=C3=BCn=C3=AFcode=20=27quoted=27=21",
		"a+b=c~d%e:f":         "a=2Bb=3Dc=7Ed=25e=3Af",
		"Co.":                 "Co=2E",
		"...":                 "..=2E",
		"日本":                  "=E6=97=A5=E6=9C=AC",
		"e\u0301":             "e=CC=81", // not composed to é
		"-._" + "a-Z.0_9":     "-._a-Z.0_9",
		"👩\u200d🚀 \ufffd end": "=F0=9F=91=A9=E2=80=8D=F0=9F=9A=80=20=EF=BF=BD=20end",
	} {
		tenant, err := ParseTenant(text)
		if err != nil || tenant.Key() != key {
			t.Errorf("%q has the key %q, %v; want %q", text, tenant.Key(), err, key)
		}
		if back, err := ParseTenantKey(key); err != nil || string(back) != text {
			t.Errorf("%q is read back as %q, %v", key, back, err)
		}
	}
	if strings.ToLower(Tenant("Co").Key()) != Tenant("co").Key() || Tenant("Co").Key() == Tenant("co").Key() {
		t.Error("letters lose their case in keys")
	}
}

func TestTextsThatCannotBeTenantsSitesOrLabels(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "is empty",
		" a":                     "white space",
		"a\u00a0":                "white space",
		"a\tb":                   "control character at position 2",
		"a\x00":                  "control character",
		"ü\u0085b":               "control character at position 2",
		"a\u2028b":               "control character",
		"a\xff":                  "not valid UTF-8",
		strings.Repeat("ü", 129): "has 129 characters",
		strings.Repeat("日", 43):  "takes 387 characters in keys",
	} {
		_, errTenant := ParseTenant(text)
		_, errSite := ParseSite(text)
		errValue := CheckLabels(map[string]string{"model": text})
		errName := CheckLabels(map[string]string{text: "model"})
		for _, err := range []error{errTenant, errSite, errValue, errName} {
			if err == nil || !strings.Contains(err.Error(), want) || !utf8.ValidString(err.Error()) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		}
	}
	for _, text := range []string{".", ".."} {
		if _, err := ParseTenant(text); err == nil {
			t.Errorf("%q would be a step in the path of a URL", text)
		}
	}
	for _, text := range []string{strings.Repeat("ü", 64), strings.Repeat("&", 128), strings.Repeat("x", 128)} {
		if _, err := ParseTenant(text); err != nil {
			t.Error(err)
		}
	}
}

func TestOtherSpellingsOfAKeyAreRefused(t *testing.T) {
	for _, key := range []string{"", "=c3=b6", "=41", "a=", "a=2", "a=ZZ", "a b", "a.", "=2e", "%41", "a%20b", "a+b",
		"a~b", "a:b", "ö", "=FF", "=00", "=20a"} {
		if tenant, err := ParseTenantKey(key); err == nil {
			t.Errorf("%q is read as %q", key, tenant)
		}
	}
}

func FuzzTenantKey(f *testing.F) {
	for _, s := range []string{"contoso", "Größe & Co / #1 ünïcode 'quoted'", "a=2Fb", "a/b", "Co.", "=C3=B6", "a+b~c%d"} {
		f.Add(s, s+"!")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, b} {
			if tenant, err := ParseTenantKey(s); err == nil && tenant.Key() != s {
				t.Errorf("%q is another key of %q, whose key is %q", s, tenant, tenant.Key())
			}
			tenant, err := ParseTenant(s)
			if err != nil {
				continue
			}
			key := tenant.Key()
			if back, err := ParseTenantKey(key); err != nil || back != tenant {
				t.Errorf("%q has the key %q, which is read back as %q, %v", s, key, back, err)
			}
			if strings.Contains(key, Separator) || strings.HasSuffix(key, ".") || len(key) > maxEscaped ||
				tables.CheckKey(key) != nil {
				t.Errorf("%q has the key %q", s, key)
			}
			if OfTenant(tenant).Contains(LatestPartition{Tenant: Tenant(s + "x"), Month: Month{2026, 11, 0}}.String()) {
				t.Errorf("the range of %q contains keys of %q", s, s+"x")
			}
		}
		if a != b && escape(a) == escape(b) {
			t.Errorf("%q and %q have the same key", a, b)
		}
	})
}

func TestDurationsHaveOneNotation(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "1m": time.Minute, "1h30m": 90 * time.Minute,
		"250ms": 250 * time.Millisecond,
		"8d":    8 * day, "1d12h": 36 * time.Hour, "2w": 14 * day, "1w1d1h": 8*day + time.Hour, "13000w": MaxDuration,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
		if again, err := ParseDuration(FormatDuration(want)); err != nil || again != want {
			t.Errorf("%v is formatted as %q, which is parsed as %v, %v", want, FormatDuration(want), again, err)
		}
	}
	for _, text := range []string{"", "1", "soon", "-1h", "+1h", "1h-1m", "-1d", "1.5d", "1h1d", "1d1w", "d",
		"99999999999d", "13000w1s", "1000000000h", "1 d", "0x1p2h"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", text, got)
		}
	}
}
