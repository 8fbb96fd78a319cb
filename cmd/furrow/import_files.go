package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/history"
	"furrow/tables/schema"
)

// An importFile is a file that is read, with the progress of that.
type importFile struct {
	*os.File
	work  *longWork
	size  int64
	done  atomic.Int64 // bytes of the current round
	close func() error
}

// openImport opens the file.
func openImport(c *cli.Context, w *longWork) (f *importFile, err error) {
	f = &importFile{work: w}
	if f.File, f.close, err = openFile(c, c.Args().First()); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.size = info.Size()
	f.begin("understanding")
	return f, nil
}

// openFile opens a file that can be read twice. The standard input and other streams are copied first.
func openFile(c *cli.Context, name string) (file *os.File, done func() error, err error) {
	in, err := openInput(c, name)
	if err != nil {
		return nil, nil, err
	}
	if file, is := in.(*os.File); is {
		info, err := file.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder: name its files one by one", name)
		}
		if err != nil || info.Mode().IsRegular() {
			return file, file.Close, err
		}
	}
	defer in.Close() // it was only read
	if file, err = os.CreateTemp("", "furrow-import-*"); err != nil {
		return nil, nil, err
	}
	done = func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }
	if _, err = io.Copy(file, in); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return file, done, nil
}

// begin begins another round over the file.
func (f *importFile) begin(what string) {
	f.work.begin(what)
	f.done.Store(0)
}

func (f *importFile) ReadAt(b []byte, at int64) (int, error) {
	if f.work.ctx.Err() != nil {
		return 0, context.Cause(f.work.ctx)
	}
	if at == 0 { // it begins again
		f.done.Store(0)
	}
	n, err := f.File.ReadAt(b, at)
	f.did(n)
	return n, err
}

func (f *importFile) did(n int) {
	done := f.done.Add(int64(n))
	if f.work.show.stage == "understanding" {
		f.work.reached(f.share(done))
	}
}

// share says how much of the file is read, and how long the rest takes.
func (f *importFile) share(done int64) string { return f.work.share(done, f.size, "the file's bytes") }

// progress shows how far an import is.
func (f *importFile) progress(read, written int64) {
	text := f.work.speed(read, "line") + ", " + many(written, "row") + " written"
	if written == 0 {
		text += ", " + f.share(f.done.Load())
	}
	f.work.reached(text)
}

// importFiles write what an import reports to where the flags say.
type importFiles struct {
	c          *cli.Context
	shown      int
	problems   *jsonFile // nil without --errors
	conflicts  *jsonFile
	list       *jsonFile
	registered []schema.DeviceID
}

// A jsonFile has a value on each line. Nil ignores all of them.
type jsonFile struct {
	file *os.File
	out  *bufio.Writer
	err  error
}

// createJSON opens the file that a flag names, which must not be the one that is read; nil if it names none. What the
// file has is replaced, or stays with os.O_APPEND.
func createJSON(c *cli.Context, flag string, how int) (*jsonFile, error) {
	name := c.String(flag)
	if name == "" {
		return nil, nil
	}
	written, err := os.Stat(name)
	if read, _ := os.Stat(c.Args().First()); err == nil && os.SameFile(read, written) {
		return nil, usagef(c, "--%s %s is the file that is read: name another one", flag, name)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o666)
	return &jsonFile{file: file, out: bufio.NewWriter(file)}, err
}

// checkDistinct refuses flags that name one file: they would write over each other's lines.
func checkDistinct(c *cli.Context, flags ...string) error {
	for i, flag := range flags {
		for _, other := range flags[:i] {
			if isSameFile(c.String(flag), c.String(other)) {
				return usagef(c, "--%s and --%s name the same file: name two", other, flag)
			}
		}
	}
	return nil
}

// isSameFile reports whether two names are those of one file. Streams such as /dev/stderr take lines of several.
func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, errOther := os.Stat(b)
	if err != nil || errOther != nil {
		return a != "" && filepath.Clean(a) == filepath.Clean(b)
	}
	return one.Mode().IsRegular() && os.SameFile(one, other)
}

func newImportFiles(c *cli.Context) (f *importFiles, err error) {
	if err := checkDistinct(c, "errors", "conflicts", "registered"); err != nil {
		return nil, err
	}
	f = &importFiles{c: c}
	for _, one := range []struct {
		into **jsonFile
		flag string
		how  int
	}{{&f.problems, "errors", os.O_TRUNC}, {&f.conflicts, "conflicts", os.O_TRUNC},
		{&f.list, "registered", os.O_APPEND}} { // an import that is run again does not register devices again
		file, err := createJSON(c, one.flag, one.how)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		*one.into = file
	}
	return f, nil
}

func (f *importFiles) add(found history.Problem) {
	f.problems.write(found)
	if f.shown++; f.shown > mostSaid {
		return
	}
	device := ""
	if found.Device != "" {
		device = ", device " + string(found.Device)
	}
	fmt.Fprintf(f.c.App.ErrWriter, "line %d%s: %s\n", found.Line, device, found.Error)
}

func (f *importFiles) clash(found history.Conflict) { f.conflicts.write(found) }

func (f *importFiles) register(device schema.DeviceID) {
	f.registered = append(f.registered, device)
	if f.list != nil && !f.c.Bool("dry-run") {
		_, err := fmt.Fprintln(f.list.file, device) // at once, as a process may be killed
		f.list.err = errors.Join(f.list.err, err)
	}
}

func (j *jsonFile) write(value any) {
	if j != nil && j.err == nil {
		j.err = json.NewEncoder(j.out).Encode(value)
	}
}

func (j *jsonFile) close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.err, j.out.Flush(), j.file.Close())
}

func (f *importFiles) close() error {
	return errors.Join(f.problems.close(), f.conflicts.close(), f.list.close())
}
