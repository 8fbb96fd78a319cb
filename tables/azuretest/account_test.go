package azuretest

import (
	"strings"
	"testing"
)

func TestConnectionStringsAreRead(t *testing.T) {
	for s, want := range map[string]Account{
		"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5;EndpointSuffix=core.windows.net": {Name: "acct",
			Key:      "a2V5",
			TableURL: "https://acct.table.core.windows.net", QueueURL: "https://acct.queue.core.windows.net",
			BlobURL: "https://acct.blob.core.windows.net"},
		"accountname=acct; AccountKey=a2U9; TableEndpoint=http://h:1/acct/; " +
			"DefaultEndpointsProtocol=http;EndpointSuffix=example.org;": {Name: "acct", Key: "a2U9",
			TableURL: "http://h:1/acct", QueueURL: "http://acct.queue.example.org", BlobURL: "http://acct.blob.example.org"},
	} {
		if got, err := ParseConnectionString(s); got != want || err != nil {
			t.Errorf("ParseConnectionString(%q) = %+v, %v; want %+v", s, got, err, want)
		}
	}
}

func TestDevelopmentStorageIsTheEmulators(t *testing.T) {
	a, err := ParseConnectionString("UseDevelopmentStorage=true")
	if err != nil || a.Name != "devstoreaccount1" || a.TableURL != "http://127.0.0.1:10002/devstoreaccount1" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestBadConnectionStringsAreRefusedWithoutTheKey(t *testing.T) {
	const key = "c2VjcmV0"
	for _, s := range []string{"", "AccountName=a", "AccountKey=" + key, "AccountName=a;AccountKey=!" + key,
		"AccountName=a;" + key} {
		_, err := ParseConnectionString(s)
		if err == nil {
			t.Errorf("ParseConnectionString(%q) passed", s)
		} else if strings.Contains(err.Error(), key) {
			t.Errorf("ParseConnectionString(%q): the error has the key: %v", s, err)
		}
	}
}

func FuzzConnectionStringRoundTrips(f *testing.F) {
	f.Add(developmentStorage)
	f.Add("UseDevelopmentStorage=true")
	f.Add("AccountName=a;AccountKey=a2V5;TableEndpoint=http://h:1/a//")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseConnectionString(s)
		if err != nil {
			return
		}
		b, err := ParseConnectionString(a.ConnectionString())
		if err != nil || a.Name != b.Name || a.Key != b.Key {
			t.Errorf("%q read as %+v, and again as %+v, %v", s, a, b, err)
		}
	})
}

func TestEnvironmentNamesTheAccount(t *testing.T) {
	env := map[string]string{}
	read := func() (Account, bool, error) { return fromEnv(func(k string) string { return env[k] }) }
	if _, ok, err := read(); ok || err != nil {
		t.Errorf("an empty environment: %v, %v; want none", ok, err)
	}
	env["FURROW_TEST_STORAGE"] = developmentStorage
	if _, _, err := read(); err == nil {
		t.Error("an account of no kind passed")
	}
	env["FURROW_TEST_STORAGE_KIND"] = "azurite"
	if a, ok, err := read(); !ok || err != nil || a.Kind != Azurite || a.Name != "devstoreaccount1" {
		t.Errorf("got %+v, %v, %v", a, ok, err)
	}
	env["FURROW_TEST_STORAGE"] = ""
	if _, _, err := read(); err == nil {
		t.Error("a kind without an account passed")
	}
}
