package delta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
)

// Live is which files a table has, as a reader of its log finds them: what their adds call them, by their names.
type Live map[string]string

// Add adds a file.
func (l Live) Add(path string) { l[unescaped(path)] = path }

// Remove removes a file.
func (l Live) Remove(path string) { delete(l, unescaped(path)) }

// unescaped returns the name of a file: others may have escaped more of it than is needed.
func unescaped(path string) string {
	if name, err := url.PathUnescape(path); err == nil {
		return name
	}
	return path
}

// Follow makes the changes of a version, whoever has written it. It looks at nothing but the names of files.
func (l Live) Follow(version []byte) error {
	for line := range bytes.Lines(version) {
		var a struct {
			Add, Remove *struct {
				Path string `json:"path"`
			}
		}
		err := json.Unmarshal(line, &a, jsontext.AllowDuplicateNames(true), json.MatchCaseInsensitiveNames(true))
		if err != nil {
			return fmt.Errorf("version of a table: %w", err)
		}
		if a.Remove != nil {
			l.Remove(a.Remove.Path)
		}
		if a.Add != nil {
			l.Add(a.Add.Path)
		}
	}
	return nil
}

// ReadCheckpoint returns the files that a checkpoint has, whoever has written it.
func ReadCheckpoint(file []byte) (l Live, err error) {
	defer func() {
		if found := recover(); found != nil { // the library does not expect every damage
			err = fmt.Errorf("the checkpoint is damaged: %v", found)
		}
	}()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("the checkpoint is no Parquet: %w", err)
	}
	path, is := f.Schema().Lookup("add", "path")
	if !is {
		return nil, errors.New("the checkpoint has no files")
	}
	l = Live{}
	for _, group := range f.RowGroups() {
		if err := l.read(group.ColumnChunks()[path.ColumnIndex]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// read adds the files of a column of paths.
func (l Live) read(column parquet.ColumnChunk) error {
	pages := column.Pages()
	defer pages.Close()
	values := make([]parquet.Value, 1000)
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the checkpoint is damaged: %w", err)
		}
		rows := page.Values()
		for n := 0; !errors.Is(err, io.EOF); {
			if n, err = rows.ReadValues(values); err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("the checkpoint is damaged: %w", err)
			}
			for _, v := range values[:n] {
				if !v.IsNull() {
					l.Add(string(v.ByteArray()))
				}
			}
		}
	}
}
