package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// all returns what the groups of a pattern match in a text, joined with spaces.
func all(text, pattern string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, strings.Join(m[1:], " "))
	}
	return found
}

func TestBicepRunsCommandsThatExist(t *testing.T) {
	inEmptyDirectory(t)
	dir := deployed(t, "azure", "")
	main, app := fileIn(t, dir, "main.bicep"), fileIn(t, dir, "app.bicep")
	modules := strings.Split(main, "\nmodule ")[1:]
	if len(modules) != 4 {
		t.Fatalf("%d apps; want four", len(modules))
	}
	common := all(all(app, `args: concat\(\[role, (.*?)\]`)[0], `'(.*?)'`)
	for _, module := range modules {
		line := append(all(module, `role: '(\w+)'`), common...)
		flags := all(module, `args: \[(.*?)\]`)
		port := all(module, `\bport: (\d+)`)
		if len(flags) > 0 {
			line = append(line, all(flags[0], `'(.*?)'`)...)
		}
		validCommandLine(t, line)
		if len(flags) != len(port) || len(port) > 0 && !slices.Contains(line, ":"+port[0]) {
			t.Errorf("%q does not listen on the port %v that is reached from outside", line, port)
		}
	}
	if at := fmt.Sprint(metricsPort); !slices.Contains(common, ":"+at) ||
		!slices.Equal(all(app, `path: '(\S+)', port: (\d+)`), []string{"/healthz " + at, "/readyz " + at}) {
		t.Errorf("it does not ask for health where metrics are served: %v", common)
	}
}

// TestBicepSetsVariablesThatAreRead compares the variables of the apps with those of the flags. Azure's own SDK reads
// AZURE_CLIENT_ID.
func TestBicepSetsVariablesThatAreRead(t *testing.T) {
	inEmptyDirectory(t)
	dir := deployed(t, "azure", "")
	read := []string{"AZURE_CLIENT_ID", "FURROW_MASTER_KEY"}
	for _, f := range slices.Concat(storageFlags(), masterFlags()) {
		if with, ok := f.(cli.DocGenerationFlag); ok {
			read = append(read, with.GetEnvVars()...)
		}
	}
	set := append(all(fileIn(t, dir, "app.bicep"), `name: '([A-Z_]+)'`),
		all(fileIn(t, dir, "main.bicep"), `variable: '([A-Z_]+)'`)...)
	if len(set) != 5 {
		t.Errorf("the apps have the variables %q; want five", set)
	}
	for _, name := range set {
		if !slices.Contains(read, name) {
			t.Errorf("nothing reads %s", name)
		}
	}
}

func TestBicepScalesWorkersByAllTheirQueues(t *testing.T) {
	inEmptyDirectory(t)
	writeFile(t, "site.yaml", "pipelines:\n  - {name: fast, cadence: 1m, processors: [latest]}\n")
	main := fileIn(t, deployed(t, "azure", "--config site.yaml --names-prefix acme --account contosofleet"), "main.bicep")
	got := all(main, `\{ name: '(\S+)', length: '(\d+)' \}`)
	if want := []string{"acmejobs-fast 32", "acmejobs-fast-catchup 16"}; !slices.Equal(got, want) {
		t.Errorf("the queues are %q; want %q", got, want)
	}
	if !strings.Contains(main, "param account string = 'contosofleet'") || !strings.Contains(main, "name: 'acmearchive'") {
		t.Errorf("it does not name the account and the container:\n%s", main)
	}
}

// builtInRoles are Azure's. learn.microsoft.com: "Azure built-in roles".
func builtInRoles() map[string]string {
	return map[string]string{
		"0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
		"965033a5-c8eb-4f35-b82f-fef460a3606d": "Storage Table Delegator",
		"974c5e8b-45b9-4653-ba55-5f855dd0fb88": "Storage Queue Data Contributor",
		"ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
		"2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
		"4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
	}
}

// TestBicepGivesTheRolesThatItsReadmeLists reads both, so that nobody gets a role that is not written down.
func TestBicepGivesTheRolesThatItsReadmeLists(t *testing.T) {
	short := rolesOfReference(t)
	inEmptyDirectory(t)
	dir := deployed(t, "azure", "")
	main := fileIn(t, dir, "main.bicep")
	names := map[string]string{} // of roles, by variable
	for id, name := range builtInRoles() {
		variable := all(main, `(?m)^var (\w+) = '`+id+`'$`)
		if len(variable) != 1 {
			t.Fatalf("%s (%s) has the variables %q", name, id, variable)
		}
		names[variable[0]] = name
	}
	apps := all(all(main, `var apps = \[(.*)\]`)[0], `'(\w+)'`)
	var given []string
	give := func(app, variable, to string) {
		given = append(given, fmt.Sprintf("furrow-%s: %s on %s", apps[app[0]-'0'], names[variable], to))
	}
	onArchive := all(main, `(?s)(var rolesOnArchive = \[.*?\n\])`)[0]
	for to, part := range map[string]string{"the container of the archive": onArchive,
		"the account": strings.Replace(main, onArchive, "", 1)} {
		for _, line := range all(part, `\{ app: (\d), role: (\w+) \}`) {
			app, role, _ := strings.Cut(line, " ")
			give(app, role, to)
		}
	}
	give(all(main, `guid\(vault\.id, apps\[(\d)\]`)[0], "keyVaultSecretsUser", "the key vault")
	var listed []string
	app := ""
	for _, row := range regexp.MustCompile(`(?m)^\| (\S*) ?\| (.*?) \| (.*?) \| .* \|$`).
		FindAllStringSubmatch(fileIn(t, dir, "README.md"), -1) {
		if row[1] != "" {
			app = row[1]
		}
		if row[2] != "role" {
			listed = append(listed, app+": "+row[2]+" on "+row[3])
		}
	}
	given, listed = slices.Sorted(slices.Values(given)), slices.Sorted(slices.Values(listed))
	if !slices.Equal(short, withoutScopes(given)) {
		t.Errorf("it gives\n%s\nand help azure lists\n%s", strings.Join(given, "\n"), strings.Join(short, "\n"))
	}
	if len(given) != 12 || !slices.Equal(given, listed) {
		t.Errorf("it gives\n%s\nand README.md lists\n%s", strings.Join(given, "\n"), strings.Join(listed, "\n"))
	}
	ofEndpoint := all(main, `(?s)var rolesOfEndpoint = accountKeys \? \[\] : \[(.*?)\n\]`)
	if len(ofEndpoint) != 1 || len(all(ofEndpoint[0], `\{ app: (0), role: \w+ \}`)) != 2 ||
		len(all(main, `\{ app: (0), role: \w+ \}`)) != 2 {
		t.Errorf("the endpoint has roles on an account with keys: %q", ofEndpoint)
	}
	if n := strings.Count(main, "Microsoft.Authorization/roleAssignments@"); n != 3 {
		t.Errorf("%d resources give roles; the test reads three", n)
	}
}

// rolesOfReference returns the roles of help azure as lines such as "furrow-sas: Storage Table Delegator".
func rolesOfReference(t *testing.T) (lines []string) {
	t.Helper()
	for _, row := range regexp.MustCompile("(?m)^\\| `furrow (\\w+)`.*? \\| (.*?) ?\\| (.*?) ?\\| (.*?) ?\\|$").
		FindAllStringSubmatch(text(t, "reference/azure.md"), -1) {
		for i, service := range []string{"Table", "Queue", "Blob"} {
			for _, role := range words(row[2+i]) {
				if !strings.HasPrefix(role, "for ") {
					lines = append(lines, fmt.Sprintf("furrow-%s: Storage %s %s", row[1], service, role))
				}
			}
		}
	}
	return slices.Sorted(slices.Values(lines))
}

// withoutScopes returns the roles for storage, without what they are on.
func withoutScopes(given []string) (lines []string) {
	for _, line := range given {
		if role, _, _ := strings.Cut(line, " on "); strings.Contains(role, "Storage") {
			lines = append(lines, role)
		}
	}
	return lines
}
