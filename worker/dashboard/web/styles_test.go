package web

import (
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestFilesLoadNothingFromElsewhere allows the namespace of SVG, which is not a request.
func TestFilesLoadNothingFromElsewhere(t *testing.T) {
	addresses := regexp.MustCompile(`(?i)(https?|wss?|ftp):\\?/\\?/[^\s"'<>)]*`)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".bin") {
			return err
		}
		b, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		for _, a := range addresses.FindAllString(string(b), -1) {
			if a != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", path, a)
			}
		}
		if strings.HasSuffix(path, ".css") && regexp.MustCompile(`url\(|@import`).Match(b) {
			t.Errorf("%s loads something", path)
		}
		if regexp.MustCompile(`\b(eval|Function)\(|innerHTML|document\.write`).Match(b) && strings.HasSuffix(path, ".js") {
			t.Errorf("%s turns text into code or markup", path)
		}
		return nil
	})
	must.Succeed(t, err)
}

// A palette has the colours of a theme by name.
type palette map[string]colour

type colour [3]float64

func themes(t *testing.T) (light, dark palette) {
	t.Helper()
	b := must.Have(fs.ReadFile(files, "static/furrow.css"))(t)
	light, dark = palette{}, palette{}
	for _, m := range regexp.MustCompile(`(--[a-z0-9-]+): (?:light-dark\((#[0-9a-f]{6}), `+
		`(#[0-9a-f]{6})\)|(#[0-9a-f]{6}));`).FindAllStringSubmatch(string(b), -1) {
		if m[4] != "" {
			m[2], m[3] = m[4], m[4]
		}
		light[m[1]], dark[m[1]] = parsed(t, m[2]), parsed(t, m[3])
	}
	if len(light) < 40 {
		t.Fatalf("only %d colours were found", len(light))
	}
	return light, dark
}

func parsed(t *testing.T, s string) (c colour) {
	t.Helper()
	for i := range c {
		v := must.Have(strconv.ParseUint(s[1+2*i:3+2*i], 16, 8))(t)
		c[i] = float64(v) / 255
	}
	return c
}

// luminance is the relative luminance of WCAG.
func (c colour) luminance() float64 {
	var sum float64
	for i, part := range [3]float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 12.92
		if c[i] > 0.04045 {
			v = math.Pow((c[i]+0.055)/1.055, 2.4)
		}
		sum += part * v
	}
	return sum
}

func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast checks WCAG AA: 4.5 for text, and 3 for shapes against their background.
func TestContrast(t *testing.T) {
	light, dark := themes(t)
	check := func(least float64, on []string, over ...string) {
		for theme, p := range map[string]palette{"light": light, "dark": dark} {
			for _, a := range over {
				for _, b := range on {
					if p[a] == p[b] {
						t.Errorf("%s: %s on %s: at least one is not a colour", theme, a, b)
					}
					if got := contrast(p[a], p[b]); got < least {
						t.Errorf("%s: %s on %s has a contrast of %.2f, less than %.1f", theme, a, b, got, least)
					}
				}
			}
		}
	}
	check(4.5, []string{"--paper", "--card", "--sunk"}, "--ink", "--muted", "--accent", "--held", "--revoked")
	check(4.5, []string{"--soft"}, "--accent", "--ink")
	check(4.5, []string{"--accent"}, "--on-accent")
	check(4.5, []string{"--silent-soft"}, "--silent")
	check(4.5, []string{"--held-soft"}, "--held")
	check(4.5, []string{"--revoked-soft"}, "--revoked")
	check(3, []string{"--card", "--paper"}, "--field", "--accent")
	check(3, []string{"--land", "--sea", "--card"}, "--mark-edge", "--silent-mark", "--held-mark", "--revoked-mark")
	check(3, []string{"--card"}, "--o1", "--o2", "--o3")
}

// TestColoursGetLighter proves that values can be compared without seeing colours, and that text on them is readable.
func TestColoursGetLighter(t *testing.T) {
	light, dark := themes(t)
	for _, p := range []palette{light, dark} {
		before := -1.0
		for i := range colours {
			c, found := p["--c"+strconv.Itoa(i)]
			if !found {
				t.Fatalf("there is no colour %d", i)
			}
			if at := c.luminance(); at <= before*1.05 {
				t.Errorf("colour %d is not lighter than the one before it", i)
			} else {
				before = at
			}
			if white, black := contrast(c, colour{1, 1, 1}), contrast(c, parsed(t, "#0b1115")); max(white, black) < 4.2 {
				t.Errorf("no text is readable on colour %d", i)
			}
		}
	}
}

// TestBaseMapHasTheColoursOfTheStyles is needed because an SVG image cannot use the page's styles.
func TestBaseMapHasTheColoursOfTheStyles(t *testing.T) {
	css := must.Have(fs.ReadFile(files, "static/furrow.css"))(t)
	s := must.Have(newStatic())(t)
	svg := string(s.files["world.svg"])
	for _, name := range []string{"--sea", "--land", "--coast", "--border"} {
		m := regexp.MustCompile(name + `: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindStringSubmatch(string(css))
		if m == nil || !strings.Contains(svg, m[1]) || !strings.Contains(svg, m[2]) {
			t.Errorf("the base map has another %s", name)
		}
	}
}
