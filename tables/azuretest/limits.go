package azuretest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func tryInsert(t *testing.T, c *aztables.Client, pk, rk string, p props) string {
	t.Helper()
	return outcome(c.AddEntity(t.Context(), row(t, pk, rk, p), nil))
}

// A string has at most 64 KiB in UTF-16, which is 32K characters, whatever their size in
// UTF-8.
func (tables) StringIsAtMost32KCharacters(t *testing.T, a Account) {
	c := a.NewTable(t)
	const most = 32 << 10
	expect(t, a, "32K letters", tryInsert(t, c, "p", "1", props{"S": strings.Repeat("x", most)}), "ok")
	if a.Kind != Azurite { // which sometimes breaks characters of several bytes between two chunks of a request
		expect(t, a, "32K wide letters", tryInsert(t, c, "p", "2", props{"S": strings.Repeat("日", most)}), "ok")
	}
	const refused = "400 PropertyValueTooLarge"
	expect(t, a, "one more", tryInsert(t, c, "p", "3", props{"S": strings.Repeat("x", most+1)}), refused)
	expect(t, a, "16K pairs and one", tryInsert(t, c, "p", "4", props{"S": strings.Repeat("😀", most/2) + "x"}), refused)
}

// A binary has at most 64 KiB before it is encoded in base64.
func (tables) BinaryIsAtMost64KiB(t *testing.T, a Account) {
	c := a.NewTable(t)
	sized := func(n int) props { return props{"B": aztables.EDMBinary(make([]byte, n))} }
	expect(t, a, "64 KiB", tryInsert(t, c, "p", "1", sized(64<<10)), "ok")
	expect(t, a, "one more", tryInsert(t, c, "p", "2", sized(64<<10+1)), "400 PropertyValueTooLarge")
}

// An entity has at most 1 MiB. (Names count, and characters count two bytes. Furrow stays
// well below.)
func (tables) EntityIsAtMost1MiB(t *testing.T, a Account) {
	c := a.NewTable(t)
	sized := func(n int) props {
		p := props{}
		for i := range n {
			p[fmt.Sprintf("B%02d", i)] = aztables.EDMBinary(make([]byte, 64<<10))
		}
		return p
	}
	expect(t, a, "960 KiB", tryInsert(t, c, "p", "1", sized(15)), "ok")
	expect(t, a, "1,088 KiB", tryInsert(t, c, "p", "2", sized(17)), "400 EntityTooLarge",
		differs(Azurite, "ok", "accepts inserted entities of up to 4 MiB"))
}

const uncounted = "does not count properties"

// An entity has at most 252 properties besides the three of the system.
func (tables) PropertiesAreAtMost252(t *testing.T, a Account) {
	c := a.NewTable(t)
	p := props{}
	for i := range 252 {
		p[fmt.Sprintf("P%03d", i)] = int32(i)
	}
	expect(t, a, "252", tryInsert(t, c, "p", "1", p), "ok")
	p["P252"] = int32(252)
	expect(t, a, "253", tryInsert(t, c, "p", "2", p), "400 TooManyProperties", differs(Azurite, "ok", uncounted))

	half := props{}
	for i := range 10 {
		half[fmt.Sprintf("Q%d", i)] = int32(i)
	}
	merge := &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge}
	expect(t, a, "252 and 10 merged", outcome(c.UpsertEntity(t.Context(), row(t, "p", "1", half), merge)),
		"400 TooManyProperties", differs(Azurite, "ok", uncounted))
}

const anyName = "takes any property name"

// A property's name has at most 255 characters and is a C# identifier: no dash, no space,
// no digit first.
func (tables) PropertyNamesAreBounded(t *testing.T, a Account) {
	c := a.NewTable(t)
	expect(t, a, "255 characters", tryInsert(t, c, "p", "1", props{strings.Repeat("n", 255): "x"}), "ok")
	expect(t, a, "256 characters", tryInsert(t, c, "p", "2", props{strings.Repeat("n", 256): "x"}),
		"400 PropertyNameTooLong", differs(Azurite, "ok", anyName))
	expect(t, a, "letters beyond ASCII", tryInsert(t, c, "p", "3", props{"größe_2": "x"}), "ok")
	for _, name := range []string{"with-dash", "with space", "1st", "a/b"} {
		expect(t, a, name, tryInsert(t, c, "p", Name("r"), props{name: "x"}), "400 PropertyNameInvalid",
			differs(Azurite, "ok", anyName))
	}
}

// A key has at most 1 KiB. (The reference says 1 KiB, which is 512 characters in UTF-16;
// newer pages say 1,024 characters. Furrow's keys are far shorter.)
func (tables) KeysAreBounded(t *testing.T, a Account) {
	c := a.NewTable(t)
	most, more := strings.Repeat("k", 512), strings.Repeat("k", 1025)
	expect(t, a, "512 characters", tryInsert(t, c, most, most, nil), "ok")
	for _, k := range [][2]string{{more, "r"}, {"p", more}} {
		expect(t, a, "1,025 characters", tryInsert(t, c, k[0], k[1], nil)[:3], "400")
	}
}

// Keys may contain neither / \ # ? nor control characters.
func (tables) KeysHaveForbiddenCharacters(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, k := range []string{"a/b", `a\b`, "a#b", "a?b", "a\tb", "a\nb", "a\x00b", "a\u007fb", "a\u0085b"} {
		for _, keys := range [][2]string{{k, "r"}, {"p", k}} {
			expect(t, a, fmt.Sprintf("insert %q", keys), tryInsert(t, c, keys[0], keys[1], nil), "400 OutOfRangeInput",
				differs(Azurite, "400 InvalidInput", "has one code for all bad input"))
		}
	}
}
