package azuretest

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

const unenforced = "checks the signature over a key range, and never the range"

// unranged expects a status for a key outside a token's range. Azurite does not check ranges.
func unranged(t *testing.T, a Account, what string, got, azure int) {
	t.Helper()
	expect(t, a, what, got, azure, differs(Azurite, 0, unenforced))
}

// All writes outside a token's range are 403, and writes inside succeed. The range
// includes both ends. (The code of the 403 is not documented.)
func (tables) RangeHoldsForWrites(t *testing.T, a Account) {
	ctx := t.Context()
	for key, inside := range map[[2]string]bool{{"b", "2"}: true, {"b", "1"}: false, {"b", "9"}: true, {"c", "0"}: true,
		{"c", "5"}: true, {"c", "6"}: false, {"a", "9"}: false, {"d", "0"}: false} {
		owner, c := granted(t, a, aztables.SASSignatureValues{Permissions: "raud",
			StartPartitionKey: "b", StartRowKey: "2", EndPartitionKey: "c", EndRowKey: "5"})
		pk, rk := key[0], key[1]
		answers := map[string]error{}
		_, answers["add"] = c.AddEntity(ctx, row(t, pk, rk, nil), nil)
		must(t, errOf(owner.UpsertEntity(ctx, row(t, pk, rk, nil), nil)))
		_, answers["upsert"] = c.UpsertEntity(ctx, row(t, pk, rk, nil), nil)
		_, answers["update"] = c.UpdateEntity(ctx, row(t, pk, rk, nil),
			&aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		_, answers["merge"] = c.UpdateEntity(ctx, row(t, pk, rk, nil), nil)
		_, answers["delete"] = c.DeleteEntity(ctx, pk, rk, nil)
		for op, err := range answers {
			if inside {
				expect(t, a, op+" of "+pk+rk, answer(err), "ok")
			} else {
				unranged(t, a, op+" of "+pk+rk, status(err), 403)
			}
		}
	}
}

// A device's token has the same partition at both ends, and a range of row keys. Only
// those rows of that partition can be written.
func (tables) RangeOfOnePartition(t *testing.T, a Account) {
	_, c := granted(t, a, aztables.SASSignatureValues{Permissions: "a",
		StartPartitionKey: "contoso:d1", StartRowKey: "0639", EndPartitionKey: "contoso:d1", EndRowKey: "0640"})
	add := func(pk, rk string) error {
		return errOf(c.AddEntity(t.Context(), row(t, pk, rk, nil), nil))
	}
	expect(t, a, "inside", answer(add("contoso:d1", "0639000000000000001")), "ok")
	unranged(t, a, "before the window", status(add("contoso:d1", "0638999999999999999")), 403)
	unranged(t, a, "after the window", status(add("contoso:d1", "0640000000000000000")), 403)
	unranged(t, a, "a longer id", status(add("contoso:d10", "0639000000000000001")), 403)
	unranged(t, a, "another partition", status(add("contoso:d2", "0639000000000000001")), 403)
	unranged(t, a, "other case", status(add("Contoso:d1", "0639000000000000001")), 403)
}

// A range may be open at either end.
func (tables) RangeMayBeOpen(t *testing.T, a Account) {
	_, from := granted(t, a, aztables.SASSignatureValues{Permissions: "a", StartPartitionKey: "m"})
	_, until := granted(t, a, aztables.SASSignatureValues{Permissions: "a", EndPartitionKey: "m"})
	add := func(c *aztables.Client, pk string) error {
		return errOf(c.AddEntity(t.Context(), row(t, pk, "r", nil), nil))
	}
	expect(t, a, "from m: m", answer(add(from, "m")), "ok")
	expect(t, a, "from m: z", answer(add(from, "z")), "ok")
	unranged(t, a, "from m: l", status(add(from, "l")), 403)
	expect(t, a, "until m: m", answer(add(until, "m")), "ok")
	expect(t, a, "until m: a", answer(add(until, "a")), "ok")
	unranged(t, a, "until m: n", status(add(until, "n")), 403)
}

// A query is silently limited to the token's range.
func (tables) RangeLimitsQueries(t *testing.T, a Account) {
	owner, c := granted(t, a, aztables.SASSignatureValues{Permissions: "r",
		StartPartitionKey: "b", StartRowKey: "2", EndPartitionKey: "c", EndRowKey: "2"})
	for _, pk := range []string{"a", "b", "c", "d"} {
		insertAll(t, owner, pk, []string{"1", "2", "3"})
	}
	for f, want := range map[string][2]string{
		"RowKey ge ''":                          {"b/2 b/3 c/1 c/2", "a/1 a/2 a/3 b/1 b/2 b/3 c/1 c/2 c/3 d/1 d/2 d/3 p/r"},
		"PartitionKey eq 'b'":                   {"b/2 b/3", "b/1 b/2 b/3"},
		"PartitionKey eq 'c' and RowKey gt '1'": {"c/2", "c/2 c/3"},
		"PartitionKey eq 'a'":                   {"", "a/1 a/2 a/3"},
	} {
		expect(t, a, f, keys(t, c, f), want[0], differs(Azurite, want[1], unenforced))
	}
}

// For a get, a row outside the range does not exist; the get is not forbidden.
func (tables) RangeHidesRows(t *testing.T, a Account) {
	owner, c := granted(t, a, aztables.SASSignatureValues{Permissions: "r", StartPartitionKey: "b", EndPartitionKey: "c"})
	insert(t, owner, "b", "1", nil)
	expect(t, a, "inside", outcome(c.GetEntity(t.Context(), "b", "1", nil)), "ok")
	unranged(t, a, "outside", refusal(c.GetEntity(t.Context(), "p", "r", nil)), 404)
}

const noTransactions = "refuses every transaction by SAS: its path has no table"

// A SAS can authorize a transaction. The token names the table, and each operation needs
// the permission that it needs alone.
func (tables) TokenAllowsTransactions(t *testing.T, a Account) {
	_, c := granted(t, a, aztables.SASSignatureValues{Permissions: "a"})
	err := submit(t, c, add(row(t, "p", "1", nil)), add(row(t, "p", "2", nil)))
	expect(t, a, "adds", answer(err), "ok", differs(Azurite, "403 AuthorizationFailure", noTransactions))
	err = submit(t, c, add(row(t, "p", "3", nil)), action(aztables.TransactionTypeDelete, nil, row(t, "p", "r", nil)))
	expect(t, a, "an add and a delete", answer(err), "403 AuthorizationPermissionMismatch",
		differs(Azurite, "403 AuthorizationFailure", noTransactions))
}

// A transaction with a row outside the range is refused.
func (tables) RangeHoldsInTransactions(t *testing.T, a Account) {
	owner, c := granted(t, a, aztables.SASSignatureValues{Permissions: "a",
		StartPartitionKey: "d1", StartRowKey: "1", EndPartitionKey: "d1", EndRowKey: "5"})
	err := submit(t, c, add(row(t, "d1", "1", nil)), add(row(t, "d1", "5", nil)))
	expect(t, a, "inside", answer(err), "ok", differs(Azurite, "403 AuthorizationFailure", noTransactions))
	if submit(t, c, add(row(t, "d1", "2", nil)), add(row(t, "d1", "6", nil))) == nil {
		t.Error("a transaction with a row outside the range passed")
	}
	if submit(t, c, add(row(t, "d2", "2", nil))) == nil {
		t.Error("a transaction in another partition passed")
	}
	expect(t, a, "rows", keys(t, owner, "PartitionKey ge 'd1' and PartitionKey le 'd2'"), "d1/1 d1/5",
		differs(Azurite, "", noTransactions))
}

// The pages of a limited query are the rows of the range.
func (tables) RangeLimitsPages(t *testing.T, a Account) {
	if a.Kind == Azurite {
		t.Skip("Azurite does not limit queries; RangeLimitsQueries asserts it")
	}
	owner, c := granted(t, a, aztables.SASSignatureValues{Permissions: "r",
		StartPartitionKey: "b", StartRowKey: "0003", EndPartitionKey: "c", EndRowKey: "0003"})
	for _, pk := range []string{"a", "b", "c", "d"} {
		insertAll(t, owner, pk, numbered(8))
	}
	rows := value(query(t, c, &aztables.ListEntitiesOptions{Top: to.Ptr[int32](2)}))(t)
	got := ""
	for _, r := range rows {
		got += " " + r.PartitionKey + r.RowKey[3:]
	}
	expect(t, a, "rows", got, " b3 b4 b5 b6 b7 c0 c1 c2 c3")
}
