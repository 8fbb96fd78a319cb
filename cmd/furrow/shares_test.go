package main

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// TestSharesAreAsDocumented compares what everybody shares, and who may have how much of it, with furrow help limits.
// Tests of the packages show that these bounds hold.
func TestSharesAreAsDocumented(t *testing.T) {
	documented := text(t, "reference/limits.md")
	in := map[string]source{}
	for _, s := range sources(t) {
		in[s.file] = s
	}
	for _, b := range []struct{ file, name, is, says string }{
		{"tables/local/serve.go", "maxConnections", "4096", "| storage: connections of all services | 4,096 |"},
		{"tables/local/serve.go", "maxPerAddress", "1024", "| 1,024; beyond that the idlest ends |"},
		{"tables/local/serve.go", "maxHead", "64 << 10", "64 KiB at\nstorage"},
		{"tables/local/internal/wire/bodies.go", "maxBodies", "64 << 20", "| storage: bodies with the account key | 64 MiB"},
		{"tables/local/internal/wire/bodies.go", "tokenBodies", "48 << 20", "with tokens | 48 MiB; the slowest ends"},
		{"tables/local/internal/wire/bodies.go", "largeBodies", "36 << 20", "| 36 MiB; the slowest ends"},
		{"tables/local/internal/wire/bodies.go", "ownBodies", "5 << 20", "half, and 5 MiB always"},
		{"tables/local/internal/wire/bodies.go", "smallBody", "64 << 10", "bodies beyond 64 KiB"},
		{"sas/endpoint/server.go", "defaultConnections", "8192", "| endpoint: connections | 8,192 |"},
		{"sas/endpoint/server.go", "maxHeader", "12 << 10", "16 KiB at the dashboard and at the endpoint"},
		{"sas/endpoint/connections.go", "addressPart", "16", "three quarters, and 512 always"},
		{"sas/endpoint/limits.go", "DefaultRate", "1000", "`--rate` 1,000 a second"},
		{"sas/endpoint/limits.go", "DefaultDeviceRate", "6", "`--device-rate` 6 a minute"},
		{"sas/endpoint/limits.go", "DefaultSlots", "256", "| endpoint: requests that use storage | 256 at a time |"},
		{"sas/endpoint/limits.go", "reservePart", "4", "when a quarter of the burst is left"},
		{"sas/endpoint/limits.go", "tenantPart", "16", "a sixteenth of the rate"},
		{"worker/dashboard/server.go", "maxConnections", "1024", "| dashboard: connections | 1,024 |"},
		{"worker/dashboard/server.go", "maxPerAddress", "256", "| 256; beyond that the idlest ends |"},
		{"worker/dashboard/server.go", "maxHeader", "16 << 10", "a head of 16 KiB at the dashboard"},
		{"worker/dashboard/auth.go", "maxForm", "64 << 10", "a form of 64 KiB"},
		{"worker/dashboard/tries.go", "freeTries", "10", "| 10, then one after"},
		{"worker/dashboard/tries.go", "wideTries", "100", "100 wrong secrets"},
		{"worker/dashboard/auth.go", "maxFields", "100", "100 fields"},
		{"tables/shares/heads.go", "maxFields", "256", "with 256 lines"},
		{"tables/shares/heads.go", "headRoom", "8 << 10", "| 8 KiB of memory for each connection that it may have |"},
		{"sas/endpoint/requestlog.go", "lineTime", "time.Minute", "a line a minute about a refusal"},
		{"worker/dashboard/tries.go", "maxDelay", "30 * time.Second", "4 … 30 s"},
		{"worker/dashboard/tries.go", "sayWrong", "time.Minute", "a line a minute"},
		{"worker/dashboard/api/questions.go", "maxStreams", "64", "| dashboard: live streams | 64 |"},
		{"worker/dashboard/api/questions.go", "maxQuestions", "16", "| dashboard: questions for many rows | 16 at a time |"},
		{"worker/dashboard/api/params.go", "maxQuery", "4 << 10", "a query of 4 KiB"},
		{"worker/dashboard/model/decide.go", "decidingTime", "10 * time.Second", "each for 10 s at most"},
		{"jobs/condition/pattern.go", "maxPatterns", "1000", "stand for 1,000 characters"},
	} {
		if is := constant(in[b.file].parsed, b.name); is != b.is || !strings.Contains(documented, b.says) {
			t.Errorf("%s of %s is %s, want %s; furrow help limits must say %q", b.name, b.file, is, b.is, b.says)
		}
	}
}

// constant returns the expression of a constant of a file.
func constant(file *ast.File, name string) (is string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 && v.Names[0].Name == name {
			is = types.ExprString(v.Values[0])
		}
		return true
	})
	return is
}
