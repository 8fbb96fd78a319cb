package main

import (
	"context"
	"errors"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/simulate/fleets"
	"furrow/sas/device"
)

// writeAndRead is the example of the help, word for word.
func writeAndRead(ctx context.Context, connection string) (aztables.GetEntityResponse, error) {
	account, err := aztables.NewServiceClientFromConnectionString(connection, nil)
	if err != nil {
		return aztables.GetEntityResponse{}, err
	}
	readings := account.NewClient("readings")
	if _, err := readings.CreateTable(ctx, nil); err != nil {
		return aztables.GetEntityResponse{}, err
	}
	row := []byte(`{"PartitionKey": "pump-7", "RowKey": "0639000000000000000", "temperature": 21.5}`)
	if _, err := readings.AddEntity(ctx, row, nil); err != nil {
		return aztables.GetEntityResponse{}, err
	}
	return readings.GetEntity(ctx, "pump-7", "0639000000000000000", nil)
}

// sendReadings is the example of the help, word for word.
func sendReadings(ctx context.Context, endpoint, key, file string, temperatures []float64) error {
	client, err := device.Open(device.Config{
		Endpoint: endpoint, Device: "pump-7", Enrollment: "line4", Key: key,
		File:     file, // accepted readings survive a power cut; leave it out to keep them in memory
		OnReport: func(r device.Report) { log.Print(r.Reason, " ", r.Key, ": ", r.Err) },
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	var sending sync.WaitGroup
	sending.Go(func() { _ = client.Run(running) })
	for _, t := range temperatures {
		if err = client.Send(device.Reading{Values: map[string]any{"temperature": t}}); err != nil {
			break
		}
	}
	err = errors.Join(err, client.Flush(ctx))
	stop()
	sending.Wait()
	return errors.Join(err, client.Close())
}

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func readme(t *testing.T) string { return text(t, filepath.Join(root, "README.md")) }

// written is the README and the help topics that are not generated.
func written(t *testing.T) string {
	t.Helper()
	all := readme(t)
	for _, topic := range topics() {
		if !strings.Contains(topic.text, generatedNotice) {
			all += "\n" + topic.text
		}
	}
	return all
}

// fences returns the code blocks of a language in the README and help.
func fences(t *testing.T, language string) []string {
	t.Helper()
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllStringSubmatch(written(t), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("neither README nor help has a block of %s", language)
	}
	return blocks
}

func TestReadmeExampleInGoWorks(t *testing.T) {
	for _, block := range fences(t, "go") {
		if !strings.Contains(text(t, "readme_test.go"), block) {
			t.Errorf("this code of README or help is not what is tested here:\n%s", block)
		}
	}
	s := startStorage(t, "--data", t.TempDir(), "--show-key")
	got, err := writeAndRead(t.Context(), s.said.ConnectionString)
	if err != nil || !strings.Contains(string(got.Value), `"temperature":21.5`) {
		t.Errorf("it returns %s, %v", got.Value, err)
	}
}

func TestReadmeDeviceSendsItsReadings(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, "--storage", dir, "--no-worker")
	f := fixtureIn(t, dir)
	f.must("enrollment add line4 --tenant contoso")
	key := strings.TrimSpace(f.must("device key pump-7"))
	for range 2 {
		must(t, sendReadings(t.Context(), u.said.Endpoint, key, filepath.Join(dir, "readings"), []float64{21.5, 21.75, 22}))
	}
	ahead := time.Now().Add(time.Minute).Format(time.RFC3339) // the device's clock may be ahead of this one
	if got := f.must("query pump-7 --raw --to", ahead); strings.Count(got, ",temperature,") != 6 {
		t.Errorf("the readings are\n%s", got)
	}
	u.mustEnd(t)
}

// TestReadmeCommandsExist compares shell lines, and commands in backquotes, with the commands and flags.
func TestReadmeCommandsExist(t *testing.T) {
	var lines []string
	for _, block := range fences(t, "sh") {
		lines = append(lines, strings.Split(strings.TrimSpace(block), "\n")...)
	}
	for _, m := range regexp.MustCompile("`((?:\\./)?furrow [^`]+)`").FindAllStringSubmatch(written(t), -1) {
		lines = append(lines, m[1])
	}
	_, own := tour(t)
	pasted := "\n" + strings.Join(own, "\n") + "\n"
	for _, fleet := range fleets.Names() {
		_, _, after := tourOf(t, fleet)
		pasted += strings.Join(after, "\n")
	}
	sign, _, curl := certificateTour(t)
	pasted += "\n" + sign + curl
	for section := range runbooks() {
		pasted += "\n" + strings.Join(runbookCommands(t, section), "\n") + "\n"
	}
	checked := 0
	for _, line := range lines {
		line = strings.TrimPrefix(line, "./")
		fields := strings.Fields(line)
		switch {
		case fields[0] == "furrow" && len(fields) == 3 && fields[1] == "help":
			if _, ok := topicAsked(fields); !ok && fields[2] != "TOPIC" {
				t.Errorf("%s: there is no such topic", line)
			}
		case fields[0] == "furrow":
			checkCommand(t, fields[1:])
			checked++
		case line == "go test ./..." || line == "go build -o furrow ./cmd/furrow" || line == "go run ./cmd/furrow demo":
		case !strings.Contains(pasted, "\n"+line+"\n"):
			t.Errorf("README or help says to run %q, which no test runs", line)
		}
	}
	if checked < 40 {
		t.Errorf("only %d commands were found", checked)
	}
}

func checkCommand(t *testing.T, fields []string) {
	t.Helper()
	path, flags := splitCommand(fields)
	command := commandAt(path)
	if command == nil {
		t.Errorf("there is no command %q", path)
		return
	}
	for _, name := range flags {
		if name != "help" && flagOf(command, name) == nil {
			t.Errorf("furrow %s has no flag --%s", strings.Join(path, " "), name)
		}
	}
}

// splitCommand separates the names of a command from the names of its flags.
func splitCommand(fields []string) (path, flags []string) {
	for _, field := range fields {
		if name, ok := strings.CutPrefix(field, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			flags = append(flags, name)
		} else if len(flags) == 0 {
			path = append(path, field)
		}
	}
	return path, flags
}

// commandAt finds a command that help shows; the program itself has an empty path.
func commandAt(path []string) *cli.Command {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	at := &cli.Command{Subcommands: app.Commands, Flags: app.Flags}
	for _, name := range path {
		if at.ArgsUsage != "" && at.Command(name) == nil {
			return at // this word and the following ones are arguments
		}
		if at = at.Command(name); at == nil || at.Hidden {
			return nil
		}
	}
	return at
}

func flagOf(command *cli.Command, name string) cli.Flag {
	i := slices.IndexFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return command.Flags[i]
}

func TestReadmeLinksLeadSomewhere(t *testing.T) {
	for _, name := range []string{"README.md", ".github/CONTRIBUTING.md"} {
		path := filepath.Join(root, name)
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

// TestReadmeSaysWhatTheEstimateSays of a month of 10,000 devices, to the next five dollars.
func TestReadmeSaysWhatTheEstimateSays(t *testing.T) {
	said := regexp.MustCompile(`cost about \$(\d+) a month \(` + "`furrow ([^`]+)`").FindStringSubmatch(readme(t))
	if said == nil {
		t.Fatal("the README does not say what 10,000 devices cost")
	}
	t.Chdir(t.TempDir()) // where no configuration is
	code, out, errs := furrow(t.Context(), strings.Fields(said[2])...)
	total := regexp.MustCompile(`(?m)^ *total +([\d.]+)$`).FindStringSubmatch(out)
	if code != exitOK || total == nil {
		t.Fatalf("exit %d, %s\n%s", code, errs, out)
	}
	about, dollars := parsedFloat(t, said[1]), parsedFloat(t, total[1])
	if math.Abs(about-dollars) > 5 {
		t.Errorf("%s says $%v, and the README about $%v", said[2], dollars, about)
	}
}

func parsedFloat(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	must(t, err)
	return f
}
