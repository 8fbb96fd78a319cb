package azuretest

import "testing"

func TestEnvironmentNamesTheAccount(t *testing.T) {
	const account = "AccountName=acct;AccountKey=a2V5;TableEndpoint=http://h:1/acct/"
	for _, c := range []struct {
		connection, kind string
		found, refused   bool
	}{
		{"", "", false, false},
		{account, "", false, true},
		{"", "azurite", false, true},
		{"https://acct.table.core.windows.net", "azure", false, true},
		{account, "azurite", true, false},
	} {
		env := map[string]string{"FURROW_TEST_STORAGE": c.connection, "FURROW_TEST_STORAGE_KIND": c.kind}
		a, found, err := fromEnv(func(name string) string { return env[name] })
		if found != c.found || (err != nil) != c.refused {
			t.Errorf("%q of kind %q: %v, %v", c.connection, c.kind, found, err)
		}
		if found && (a.Kind != Azurite || a.Name != "acct" || a.Key != "a2V5" || a.TableURL != "http://h:1/acct") {
			t.Errorf("read as %+v", a)
		}
	}
}
