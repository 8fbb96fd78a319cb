package setup

import (
	"strings"
	"testing"

	"furrow/tables"
)

func TestConnectionStringsAreReadBack(t *testing.T) {
	for _, a := range []tables.Account{
		PathStyle("http", "furrow", "a2V5", "127.0.0.1:10000", "127.0.0.1:10001", "127.0.0.1:10002"),
		PathStyle("https", "furrow", "a2U9Pg==", "[::1]:1", "[::1]:2", "[::1]:3"),
	} {
		got, err := tables.ParseAccount(ConnectionString(a))
		if err != nil || got != a {
			t.Errorf("%s is read as %+v, %v", ConnectionString(a), got, err)
		}
	}
}

func TestConnectionStringsAreRefusedWithoutShowingTheKey(t *testing.T) {
	const secret = "c2VjcmV0IGtleSB0aGF0IG11c3Qgbm90IHNob3c="
	for text, want := range map[string]string{
		"":                     "empty",
		"AccountKey=" + secret: "AccountName",
		secret[:len(secret)-1]: "Name=value",
		"AccountName=a;AccountKey=" + secret + ";TableEndpoint=box:1": "not a URL",
	} {
		_, err := tables.ParseAccount(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%q: the error shows the key: %v", text, err)
		}
	}
}
