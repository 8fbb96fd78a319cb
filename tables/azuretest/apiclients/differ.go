package apiclients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"time"
)

// A comparer knows how long the shortest time is that a client keeps.
type comparer time.Duration

// differ says where the value that a client read is not the value that was sent. Both are JSON, or what was sent is
// text.
func (c comparer) differ(sent, read string) string {
	got, err := parse(read)
	if err != nil {
		return "read no JSON: " + err.Error()
	}
	want, err := parse(sent)
	if err != nil {
		want = sent
	}
	return c.compare("", want, got)
}

func parse(text string) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// compare takes null for absent, and an empty list that was not sent, which Java makes.
func (c comparer) compare(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		return c.objects(at, want, got)
	case []any:
		list, is := got.([]any)
		if !is || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, not a list of %d", at, got, len(want))
		}
		for i := range want {
			if differs := c.compare(fmt.Sprint(at, "/", i), want[i], list[i]); differs != "" {
				return differs
			}
		}
		return ""
	}
	if want == got || sameNumber(want, got) || c.sameTime(want, got) {
		return ""
	}
	return fmt.Sprintf("%s is %v, not %v", at, got, want)
}

func (c comparer) objects(at string, want map[string]any, read any) string {
	got, is := read.(map[string]any)
	if !is {
		return fmt.Sprintf("%s is %v, not an object", at, read)
	}
	for name := range want {
		if differs := c.compare(at+"/"+name, want[name], got[name]); differs != "" {
			return differs
		}
	}
	for name, v := range got {
		if _, sent := want[name]; !sent && !empty(v) {
			return fmt.Sprintf("%s/%s is %v, and was not sent", at, name, v)
		}
	}
	return ""
}

func empty(v any) bool {
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	return v == nil || list != nil && len(list) == 0 || object != nil && len(object) == 0
}

func sameNumber(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, too := b.(json.Number)
	if !isNumber || !too {
		return false
	}
	left, ok := new(big.Rat).SetString(x.String())
	right, okay := new(big.Rat).SetString(y.String())
	return ok && okay && left.Cmp(right) == 0
}

func (c comparer) sameTime(a, b any) bool {
	x, isText := a.(string)
	y, too := b.(string)
	if !isText || !too {
		return false
	}
	left, err := time.Parse(time.RFC3339, x)
	right, wrong := time.Parse(time.RFC3339, y)
	return err == nil && wrong == nil && left.Truncate(time.Duration(c)).Equal(right.Truncate(time.Duration(c)))
}
