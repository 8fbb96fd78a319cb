package sas

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// The example in Microsoft's "Symmetric key attestation" of IoT Hub DPS.
func TestDerivedKeysEqualThoseOfDPS(t *testing.T) {
	group, err := ParseKey("8isrFI1sGsIlvvFSSFRiMfCNzv21fjbE/+ah/lSh3lF8e2YG1Te7w1KpZhJFFXJrqYKi9yegxkqIChbqOS9Egw==")
	must.Succeed(t, err)
	const want = "Jsm0lyGpjaVYVP2g3FnmnmG9dI/9qU24wNoykUmermc="
	if got := group.Of("sn-007-888-abc-mac-a1-b2-c3-d4-e5-f6").Base64(); got != want {
		t.Errorf("the derived key is %s", got)
	}
}

func TestKeysAreParsedAndNeverPrinted(t *testing.T) {
	k := NewKey()
	if again, err := ParseKey(k.Base64()); err != nil || string(again) != string(k) || string(k) == string(NewKey()) {
		t.Errorf("%v", err)
	}
	if text := fmt.Sprintf("%v %s", k, k); strings.Contains(text, k.Base64()) || text != "(a key) (a key)" {
		t.Errorf("it shows %s", text)
	}
	for _, text := range []string{"", "short", "AAAA", "?", Key(make([]byte, 65)).Base64()} {
		if _, err := ParseKey(text); err == nil || len(text) > 4 && strings.Contains(err.Error(), text) {
			t.Errorf("%q is read, or quoted: %v", text, err)
		}
	}
}

func TestProofIsValidForItsKeyUntilItsExpiry(t *testing.T) {
	now := time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)
	key, old, other := NewKey().Of("pump-7"), NewKey().Of("pump-7"), NewKey().Of("pump-7")
	p, err := ParseProof(old.Prove("furrow/registrations/pump 7", now.Add(time.Minute)) + "&skn=registration")
	if err != nil || p.Resource != "furrow/registrations/pump 7" {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, c := range map[string]struct {
		at   time.Time
		keys []Key
		want error
	}{
		"its key":                {now, []Key{old}, nil},
		"the second of two keys": {now, []Key{key, old}, nil},
		"the first of two keys":  {now, []Key{old, key}, nil},
		"another key":            {now, []Key{other}, ErrProofWrong},
		"no key":                 {now, nil, ErrProofWrong},
		"a second before":        {now.Add(time.Minute - time.Second), []Key{old}, nil},
		"at its expiry":          {now.Add(time.Minute), []Key{old}, ErrProofExpired},
		"a day before":           {now.Add(time.Minute - maxProofLife), []Key{old}, nil},
		"more than a day before": {now.Add(time.Minute - maxProofLife - time.Second), []Key{old}, ErrProofTooLong},
		"another key, long":      {now.Add(-48 * time.Hour), []Key{other}, ErrProofWrong},
	} {
		if err := p.Verify(c.at, c.keys...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for name, spoil := range map[string]func(*Proof){
		"another resource": func(p *Proof) { p.signed = "furrow/registrations/pump 8\n1" },
		"no signature":     func(p *Proof) { p.signature = nil },
	} {
		spoilt := p
		spoil(&spoilt)
		if err := spoilt.Verify(now, old); !errors.Is(err, ErrProofWrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Clients of other languages escape a slash as %2f, or not at all.
func TestProofIsValidHoweverItsResourceIsEscaped(t *testing.T) {
	key := NewKey()
	for _, sr := range []string{"furrow%2Fpump-7", "furrow%2fpump-7", "furrow/pump-7"} {
		sig := url.QueryEscape(base64.StdEncoding.EncodeToString(key.sign(sr + "\n2000000000")))
		p, err := ParseProof("SharedAccessSignature sr=" + sr + "&sig=" + sig + "&se=2000000000")
		if err != nil || p.Resource != "furrow/pump-7" || p.Verify(time.Unix(2e9-1, 0), key) != nil {
			t.Errorf("%s: %+v, %v", sr, p, err)
		}
	}
}

func TestAlteredProofIsInvalid(t *testing.T) {
	key := NewKey()
	good := key.Prove("a", time.Unix(2e9, 0))
	for _, header := range []string{strings.Replace(good, "sr=a", "sr=b", 1), strings.Replace(good, "se=2", "se=3", 1)} {
		if p, err := ParseProof(header); err != nil || !errors.Is(p.Verify(time.Unix(1, 0), key), ErrProofWrong) {
			t.Errorf("%s is valid, or cannot be parsed: %v", header, err)
		}
	}
}

func TestMalformedProofsAreRefused(t *testing.T) {
	good := NewKey().Prove("r", time.Unix(2e9, 0))
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for _, header := range []string{"", "Bearer x", proofScheme, "SharedAccessSignature sr=r", good + "&se=1",
		good + "&sr=r", replace("se=", "se=x"), replace("sig=", "sig=%"), replace("sr=r", "sr="), replace("se=2", "se=-2"),
		replace("se=2", "se=99999999999"), good + "&x=" + strings.Repeat("y", maxProof)} {
		if p, err := ParseProof(header); !errors.Is(err, ErrProof) {
			t.Errorf("%.80q is %+v, %v", header, p, err)
		}
	}
}

func FuzzProof(f *testing.F) {
	key := NewKey()
	f.Add(key.Prove("a/b c", time.Unix(1, 0)))
	f.Add("SharedAccessSignature sr=a&sig=AAAA&se=1&skn=registration")
	f.Fuzz(func(t *testing.T, header string) {
		p, err := ParseProof(header)
		if err != nil {
			return
		}
		if err := p.Verify(time.Unix(0, 0), NewKey()); !errors.Is(err, ErrProofWrong) {
			t.Errorf("%q is valid for a new key: %v", header, err)
		}
		proof := key.Prove(p.Resource, p.Expiry)
		if len(proof) > maxProof { // its resource was not escaped
			return
		}
		again, err := ParseProof(proof)
		if err != nil || again.Resource != p.Resource || !again.Expiry.Equal(p.Expiry) ||
			again.Verify(p.Expiry.Add(-time.Second), key) != nil {
			t.Errorf("%q is proved again as %+v, %v", header, again, err)
		}
	})
}
