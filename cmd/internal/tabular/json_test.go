package tabular

import (
	"errors"
	"io"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestObjectsOfJSONTakeBoundedMemory reads a file that is one object, as programs write that wrap their answer in one.
func TestObjectsOfJSONTakeBoundedMemory(t *testing.T) {
	rows := strings.Repeat(`{"v":1,"pad":"`+strings.Repeat("x", 880)+"\"},\n", 10)
	text := func(n int) io.Reader {
		parts := []io.Reader{strings.NewReader("{\n\"data\": [\n")}
		for range n {
			parts = append(parts, strings.NewReader(rows))
		}
		return io.MultiReader(append(parts, strings.NewReader("{}]}\n{\"v\":2}\n"))...)
	}
	const skipped, refused = 200, 4000 // times 9 KB
	f := must.Have(Open(text(skipped), Options{}))(t)
	_, err := f.Next()
	if _, line := errors.AsType[*LineError](err); !line || f.Line != 1 {
		t.Errorf("an object longer than a line: %v", err)
	}
	if r := must.Have(f.Next())(t); len(r) != 1 || r[0].Text != "2" {
		t.Errorf("the one after it is %v", r)
	}
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	f = must.Have(Open(text(refused), Options{}))(t)
	if _, err := f.Next(); err == nil || err.Error() != "object 1 is longer than 16 MiB" {
		t.Errorf("an object that would fill the memory: %v", err)
	}
	array := must.Have(Open(io.MultiReader(strings.NewReader("[\n"), strings.NewReader(strings.Repeat(rows, refused)),
		strings.NewReader("{\"v\":3}]")), Options{}))(t)
	n := 0
	for ; err == nil || n == 0; n++ {
		_, err = array.Next()
	}
	if !errors.Is(err, io.EOF) || n != 10*refused+2 {
		t.Errorf("an array of as many: %d objects, %v", n-1, err)
	}
}
