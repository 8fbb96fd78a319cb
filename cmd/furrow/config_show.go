package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/tables/schema"
)

// A shownText is the text of a configuration and a title that says where it comes from.
type shownText struct {
	title string
	text  string
	read  func() (*config.Config, error)
}

func configShowCommand() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "Print the current configuration, an earlier generation, or a file, with all defaults",
		Description: examples("config show", "config show 3 --original > site.yaml", "config show site.yaml --json"),
		ArgsUsage:   "[GENERATION|FILE]",
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "config", Usage: "`FILE` to print instead of the stored configuration"},
			boolFlag("original", "Print the original text, with comments and without defaults"),
			jsonFlag()),
		Action: configShow,
	}
}

func configShow(c *cli.Context) error {
	if c.Bool("json") && c.Bool("original") {
		return usagef(c, "--json and --original exclude each other")
	}
	shown, err := namedText(c, configPath(c))
	if err != nil {
		return err
	}
	if c.Bool("original") {
		_, err = fmt.Fprint(c.App.Writer, shown.text)
		return err
	}
	loaded, err := shown.read()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		text, err := loaded.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s\n", text)
		return err
	}
	text, err := loaded.YAML()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "# %s\n%s", shown.title, text)
	return err
}

// namedText returns a file or generation, or else the current configuration.
func namedText(c *cli.Context, what string) (shownText, error) {
	if what == "" {
		return heldText(c)
	}
	if n, is := generationOf(what); is {
		s, err := openStorage(c)
		if err != nil {
			return shownText{}, err
		}
		return generationText(c.Context, s.Generations(), n)
	}
	return fileText(what)
}

// heldText returns the current configuration.
func heldText(c *cli.Context) (shownText, error) {
	s, err := openStorage(c)
	if err != nil {
		return shownText{}, fmt.Errorf("%w; 'furrow config show FILE' shows a file", err)
	}
	stored, found, err := s.Generations().Newest(c.Context, 0)
	switch {
	case err != nil:
		return shownText{}, err
	case found:
		return textOfGeneration(stored), nil
	}
	shown, err := fileText(os.Getenv(configVariable))
	shown.title = "not stored yet: " + shown.title
	return shown, err
}

// fileText returns the text of a file. See config.Open for an empty path.
func fileText(path string) (shownText, error) {
	file, err := config.Open(path)
	text := file.Text
	if file.Name == "" {
		text = defaultConfig
	}
	return shownText{sourceOf(path), text, file.Config}, err
}

func generationText(ctx context.Context, s generations.Store, n int64) (shownText, error) {
	stored, err := s.Get(ctx, n)
	return textOfGeneration(stored), err
}

func textOfGeneration(stored schema.Configuration) shownText {
	title := fmt.Sprintf("generation %d, stored %s by %s: %s", stored.Generation, timeOf(stored),
		cmp.Or(stored.By, "nobody"), stored.Change)
	return shownText{title, stored.Text, func() (*config.Config, error) {
		loaded, err := generations.Read(stored)
		return loaded.Config, err
	}}
}

func timeOf(stored schema.Configuration) string {
	return stored.Stored.Time().UTC().Format(time.RFC3339)
}

// generationOf parses an argument that is a number. To name a file whose name is a number, write ./ before it.
func generationOf(argument string) (int64, bool) {
	n, err := strconv.ParseInt(argument, 10, 64)
	return n, err == nil && n > 0 && n <= schema.MaxGeneration
}
