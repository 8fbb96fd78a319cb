package sas

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

func TestSealedKeyOpensOnlyWithItsSealingKeyInItsPlace(t *testing.T) {
	m, k := NewSealingKey(), NewKey()
	sealed := must.Have(m.Seal(k, "line4", Primary, 7))(t)
	if got, err := m.Open(sealed, "line4", Primary); err != nil || !bytes.Equal(got, k) {
		t.Errorf("it opens as %q, %v", got, err)
	}
	if bytes.Contains(sealed, k) {
		t.Error("the key is in what is sealed")
	}
	again, err := m.Seal(k, "line4", Primary, 7)
	if err != nil || bytes.Equal(again, sealed) {
		t.Errorf("sealed twice, it is the same twice (%v)", err)
	}
	for what, open := range map[string]func() (Key, error){
		"another sealing key": func() (Key, error) { return NewSealingKey().Open(sealed, "line4", Primary) },
		"another enrollment":  func() (Key, error) { return m.Open(sealed, "line5", Primary) },
		"another rank":        func() (Key, error) { return m.Open(sealed, "line4", Secondary) },
		"a truncated key":     func() (Key, error) { return m.Open(sealed[:len(sealed)-1], "line4", Primary) },
		"a single byte":       func() (Key, error) { return m.Open(sealed[:1], "line4", Primary) },
	} {
		if k, err := open(); !errors.Is(err, ErrSealingKey) || k != nil {
			t.Errorf("with %s it opens: %v, %v", what, k, err)
		}
	}
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 1
		if _, err := m.Open(altered, "line4", Primary); err == nil {
			t.Errorf("with byte %d altered it opens", i)
		}
	}
	if _, err := (SealingKey{}).Seal(k, "line4", Primary, 7); !errors.Is(err, ErrNoSealingKey) {
		t.Errorf("sealed without a master key: %v", err)
	}
}

func TestSealingKeyKnowsTheOnesThatItReplaced(t *testing.T) {
	long := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("0123456789abcdef"), 6)) // without = signs
	for what, former := range map[string]string{"a short one": NewSealingKey().Base64(),
		"a wrapped one": long[:64] + "\n" + long[64:], "two": NewSealingKey().Base64() + "\r\nformer\r\n" + long} {
		old := must.Have(ParseSealingKey(former))(t)
		sealed := must.Have(old.Seal([]byte("a key of a device"), "line4", Primary, 7))(t)
		both := must.Have(ParseSealingKey(NewSealingKey().Base64() + "\nformer\n" + former + "\n"))(t)
		for _, m := range []SealingKey{both, must.Have(ParseSealingKey(both.Base64()))(t)} {
			if _, err := m.Open(sealed, "line4", Primary); err != nil {
				t.Errorf("%s does not open: %v", what, err)
			}
		}
		if _, err := both.WithoutFormer().Open(sealed, "line4", Primary); !errors.Is(err, ErrSealingKey) {
			t.Errorf("%s: the new one opens it alone: %v", what, err)
		}
		sealed = must.Have(both.Seal([]byte("a key of a device"), "line4", Primary, 7))(t)
		if _, err := both.WithoutFormer().Open(sealed, "line4", Primary); err != nil {
			t.Errorf("%s: the new one does not seal: %v", what, err)
		}
	}
	for _, wrong := range []string{"former", NewSealingKey().Base64() + " former", "former " + NewSealingKey().Base64()} {
		if _, err := ParseSealingKey(wrong); err == nil {
			t.Errorf("%s is parsed", wrong)
		}
	}
}

// Stored keys have to open forever, so the format cannot change.
func TestSealedKeysOfEarlierVersionsOpen(t *testing.T) {
	m := must.Have(ParseSealingKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))(t)
	sealed := must.Have(base64.StdEncoding.DecodeString("AdvWenL7oL4f9P+qjJKVJtQQ01khuaq1QnRXTvYnOy2wRGFqLDZlj9PRLs+H"))(t)
	k, err := m.Open(sealed, "line4", Secondary)
	if err != nil || string(k) != "sixteen bytes, k" {
		t.Errorf("it opens as %q, %v", []byte(k), err)
	}
}

func TestSealingKeyIsNeverPrinted(t *testing.T) {
	m := NewSealingKey()
	text := m.Base64()
	if got, err := ParseSealingKey("\n " + text + "\r\n"); err != nil || got.Base64() != text {
		t.Errorf("it is read back as %q, %v", got.Base64(), err)
	}
	holder := struct{ SealingKey SealingKey }{m}
	for _, printed := range []string{fmt.Sprint(m), fmt.Sprintf("%+v", m), fmt.Sprintf("%#v", m), fmt.Sprint(holder),
		fmt.Sprintf("%#v", holder)} {
		if !strings.Contains(printed, "(a master key)") || strings.Contains(printed, text) {
			t.Errorf("it is printed as %s", printed)
		}
	}
	for _, wrong := range []string{"", "c2VjcmV0", "secret!secret", text[:20] + "*" + text[20:], text + text} {
		if _, err := ParseSealingKey(wrong); err == nil || wrong != "" && strings.Contains(err.Error(), wrong) {
			t.Errorf("of %q the error is %v", wrong, err)
		}
	}
}
