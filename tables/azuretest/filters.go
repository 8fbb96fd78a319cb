package azuretest

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// three creates a table with rows 1, 2 and 3 in partition p. Each has a property of every
// type, which grows with the row key.
func three(t *testing.T, a Account) *aztables.Client {
	c := a.NewTable(t)
	for n, rk := range map[int]string{1: "1", 2: "2", 3: "3"} {
		insert(t, c, "p", rk, props{
			"S": strings.Repeat("s", n),
			"I": int32(n),
			"L": aztables.EDMInt64(5_000_000_000 + int64(n)),
			"D": float64(n) + 0.5,
			"T": aztables.EDMDateTime(time.Date(2026, 11, 20, 0, 0, n, 0, time.UTC)),
			"G": aztables.EDMGUID("00000000-0000-0000-0000-00000000000" + rk),
			"B": aztables.EDMBinary{byte(n), 0xff},
			"F": n == 2,
		})
	}
	return c
}

// found returns the row keys that a filter finds in partition p.
func found(t *testing.T, c *aztables.Client, f string) string {
	t.Helper()
	return strings.ReplaceAll(keys(t, c, f), "p/", "")
}

// Every operator compares, on every type that has an order.
func (tables) OperatorsCompare(t *testing.T, a Account) {
	c := three(t, a)
	for property, middle := range map[string]string{
		"RowKey": "'2'", "S": "'ss'", "I": "2", "L": "5000000002L", "D": "2.5", "T": "datetime'2026-11-20T00:00:02Z'",
	} {
		for operator, want := range map[string]string{
			"eq": "2", "ne": "1 3", "lt": "1", "le": "1 2", "gt": "3", "ge": "2 3"} {
			f := property + " " + operator + " " + middle
			expect(t, a, f, found(t, c, f), want)
		}
	}
}

// Each type has its own literal. Binary may be written in two ways.
func (tables) LiteralsHaveTypes(t *testing.T, a Account) {
	c := three(t, a)
	for f, want := range map[string]string{
		"F eq true":  "2",
		"F eq false": "1 3",
		"F ne true":  "1 3",
		"G eq guid'00000000-0000-0000-0000-000000000002'": "2",
		"G ne guid'00000000-0000-0000-0000-000000000002'": "1 3",
		"B eq X'02ff'":      "2",
		"B eq binary'02FF'": "2",
		"I gt -1":           "1 2 3",
		"L gt 4999999999L":  "1 2 3",
		"T gt datetime'2026-11-20T00:00:01.9999Z'":    "2 3",
		"Timestamp gt datetime'2020-01-01T00:00:00Z'": "1 2 3",
	} {
		expect(t, a, f, found(t, c, f), want)
	}
	expect(t, a, "an exponent", found(t, c, "D lt 1.5e1"), "1 2 3", differs(Azurite, "", "knows no exponents"))
}

// "not" binds stronger than "and", and "and" stronger than "or".
func (tables) LogicHasPrecedence(t *testing.T, a Account) {
	c := three(t, a)
	for f, want := range map[string]string{
		"I eq 1 or I eq 3":                               "1 3",
		"I ge 2 and I le 2":                              "2",
		"I eq 1 or I eq 2 and I eq 3":                    "1",
		"(I eq 1 or I eq 2) and I ge 2":                  "2",
		"not (I eq 2)":                                   "1 3",
		"not (I eq 2) and I gt 1":                        "3",
		"not (I eq 1 or I eq 2)":                         "3",
		"((I eq 2))":                                     "2",
		"(PartitionKey eq 'p') and (RowKey gt '1')":      "2 3",
		"PartitionKey eq 'p' and (I eq 1 or S eq 'sss')": "1 3",
	} {
		expect(t, a, f, found(t, c, f), want)
	}
}

// A quote in a string literal is doubled. Nothing else is escaped.
func (tables) QuotesAreDoubled(t *testing.T, a Account) {
	c := a.NewTable(t)
	texts := map[string]string{"1": "it's", "2": "''", "3": `"a" and (b)`, "4": "x' or RowKey ne 'y", "5": "50%",
		"6": "a+b", "7": "日本語"}
	for rk, s := range texts {
		insert(t, c, "p", rk, props{"S": s})
	}
	for rk, s := range texts {
		expect(t, a, s, found(t, c, "S eq "+quoted(s)), rk)
	}
}

// A literal of another type than the property's matches nothing and is no error.
func (tables) TypesDoNotMix(t *testing.T, a Account) {
	c := three(t, a)
	for _, f := range []string{"S eq 2", "I eq '2'", "G eq '00000000-0000-0000-0000-000000000002'", "F eq 'true'"} {
		expect(t, a, f, found(t, c, f), "")
	}
	expect(t, a, "a time as text", found(t, c, "T eq '2026-11-20T00:00:02Z'"), "",
		differs(Azurite, "2", "compares times as text"))
}

// A comparison is false for rows without the property.
func (tables) AbsentPropertiesDoNotMatch(t *testing.T, a Account) {
	c := three(t, a)
	for _, f := range []string{"X eq 1", "X gt 0", "X lt 'z'"} {
		expect(t, a, f, found(t, c, f), "")
	}
	expect(t, a, "or", found(t, c, "X eq 1 or I eq 2"), "2")
}

// An invalid filter is refused. It does not match nothing.
func (tables) BadFiltersAreRefused(t *testing.T, a Account) {
	c := three(t, a)
	for _, f := range []string{"I eq", "I = 1", "(I eq 1", "I eq 1)", "I eq 1 and", "eq 1", "'x", "I eq 1 I eq 2",
		"I foo 1"} {
		expect(t, a, f, refusal(query(t, c, filter(f))), 400)
	}
	for _, f := range []string{"S eq 'x", "T eq datetime'x'"} {
		expect(t, a, f, refusal(query(t, c, filter(f))), 400, differs(Azurite, 0, "does not check literals"))
	}
}
